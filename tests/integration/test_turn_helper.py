"""A session's model calls: the real server and the official SDKs, against a provider as strict as the real ones."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from hango.compaction import (
    COMPACT_CONVERSATION,
    AsyncClient,
    AsyncSession,
    Client,
    Compaction,
    ContextOverflow,
    NotServed,
    Session,
    compact_conversation,
    compaction_of,
)
from hango.compaction.v1.compaction_pb2 import COMPACTION_REASON_TOOL
from hango.compaction.v1.compaction_service_pb2 import TOKEN_COUNT_SOURCE_ANCHORED
from tests.builders.provider_rules import anthropic_violations, openai_violations
from tests.builders.turns import Store
from tests.integration.conftest import Server

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
ROOMY = 10_000_000


class Refusing:
    """A provider whose window holds `window` tokens of three bytes; `script` is what it does first, call by call.

    A step is "overflow", "full" (the stop reason), "busy" (it throttles), or a number of tool calls to make.
    """

    def __init__(self, window: int = ROOMY, script: list[str | int] | None = None) -> None:
        self.window = window
        self.script = list(script or ())
        self.bodies: list[bytes] = []
        self.url = ""

    @property
    def sizes(self) -> list[int]:
        return [len(body) for body in self.bodies]

    def answer(self, path: str, data: bytes) -> tuple[int, Json]:
        self.bodies.append(data)
        body, tokens = json.loads(data), len(data) // 3
        format = Anthropic if path.endswith("/messages") else OpenAI
        broken = format.violations(body)
        if broken:
            return 400, format.error("invalid_request_error", f"broken: {broken}")
        step = self.script.pop(0) if self.script else ""
        if step == "overflow" or tokens > self.window:
            return 400, format.overflow(tokens, min(self.window, tokens - 1))
        if step == "busy":
            return 429, format.error(
                "rate_limit_error", "This request would exceed the rate limit of 30,000 tokens per minute"
            )
        return 200, format.reply(tokens, is_full=step == "full", calls=step if isinstance(step, int) else 0)


class Anthropic:
    violations = staticmethod(anthropic_violations)

    @staticmethod
    def error(kind: str, message: str) -> Json:
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}

    @staticmethod
    def overflow(tokens: int, most: int) -> Json:
        return Anthropic.error("invalid_request_error", f"prompt is too long: {tokens} tokens > {most} maximum")

    @staticmethod
    def reply(tokens: int, *, is_full: bool, calls: int) -> Json:
        uses = [
            {"type": "tool_use", "id": f"toolu_new_{n}", "name": COMPACT_CONVERSATION, "input": {}}
            for n in range(calls)
        ]
        reason = "model_context_window_exceeded" if is_full else "tool_use" if calls else "end_turn"
        usage = {"input_tokens": 10, "cache_read_input_tokens": tokens - 10, "output_tokens": 7}
        content = uses or [{"type": "text", "text": "Done."}]
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5"}
        return {**message, "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}


class OpenAI:
    violations = staticmethod(openai_violations)

    @staticmethod
    def error(kind: str, message: str, code: str | None = None) -> Json:
        return {"error": {"message": message, "type": kind, "param": "messages", "code": code}}

    @staticmethod
    def overflow(tokens: int, most: int) -> Json:
        text = (
            f"This model's maximum context length is {most} tokens. However, your messages resulted in {tokens} tokens."
        )
        return OpenAI.error("invalid_request_error", text, "context_length_exceeded")

    @staticmethod
    def reply(tokens: int, *, is_full: bool, calls: int) -> Json:
        function = {"name": COMPACT_CONVERSATION, "arguments": "{}"}
        uses = [{"id": f"call_new_{n}", "type": "function", "function": function} for n in range(calls)]
        message: Json = {"role": "assistant", "content": None if uses else "" if is_full else "Done."}
        message |= {"tool_calls": uses} if uses else {}
        reason = "length" if is_full else "tool_calls" if calls else "stop"
        usage = {"prompt_tokens": tokens, "completion_tokens": 0 if is_full else 7, "total_tokens": tokens + 7}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-5.1",
            "choices": [choice],
            "usage": usage,
        }


@contextmanager
def serving(provider: Refusing) -> Iterator[Refusing]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, value = provider.answer(self.path, self.rfile.read(int(self.headers["content-length"])))
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        provider.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield provider
        finally:
            http.shutdown()
            thread.join()


class Sdk:
    """One official SDK, waiting or awaiting, with a session over the server; the same methods for all four."""

    def __init__(self, name: str, target: str, provider: Refusing) -> None:
        self.format, _, way = name.partition("-")
        self.is_async = way == "async"
        self.target = target
        self.url = provider.url
        self.too_large = anthropic.BadRequestError if self.format == "anthropic" else openai.BadRequestError
        self.too_often = anthropic.RateLimitError if self.format == "anthropic" else openai.RateLimitError

    def body(self, sessions: Path) -> Json:
        body: Json = json.loads((sessions / f"explore-{self.format}.json").read_bytes())
        return body

    def turn(self, session_id: str, *bodies: Any, **options: Any) -> tuple[list[Any], Any]:
        """The results of one turn, and the session as it is then. A body may be a function of the results so far."""
        if self.is_async:
            return asyncio.run(self._turn_async(session_id, bodies, options))
        with Client.connect(self.target) as client, self._sdk() as sdk:
            session, results = Session(client, session_id, **options), list[Any]()
            with session.turn() as turn:
                for body in bodies:
                    results.append(turn.call(self._made(body, session, results), self._send(sdk)))
            return results, session

    async def _turn_async(self, session_id: str, bodies: tuple[Any, ...], options: Json) -> tuple[list[Any], Any]:
        async with AsyncClient.connect(self.target) as client, self._sdk() as sdk:
            session, results = AsyncSession(client, session_id, **options), list[Any]()
            async with session.turn() as turn:
                for body in bodies:
                    results.append(await turn.call(self._made(body, session, results), self._send(sdk)))
            return results, session

    @staticmethod
    def _made(body: Any, session: Any, results: list[Any]) -> Any:
        return body(session, results) if callable(body) else body

    def _sdk(self) -> Any:
        if self.format == "anthropic":
            kind: Any = anthropic.AsyncAnthropic if self.is_async else anthropic.Anthropic
            return kind(api_key="none", base_url=self.url, max_retries=0)
        kind = openai.AsyncOpenAI if self.is_async else openai.OpenAI
        return kind(api_key="none", base_url=f"{self.url}/v1", max_retries=0)

    def _send(self, sdk: Any) -> Callable[[Json], Any]:
        create = sdk.messages.create if self.format == "anthropic" else sdk.chat.completions.create
        return lambda request: create(**request)


SDKS = ["anthropic", "anthropic-async", "openai", "openai-async"]
Started = Callable[..., tuple[Sdk, Refusing]]


@pytest.fixture(params=SDKS)
def start(request: pytest.FixtureRequest, server: Server) -> Iterator[Started]:
    """Starts a provider and gives the SDK that calls it."""
    opened = []

    def started(*arguments: Any) -> tuple[Sdk, Refusing]:
        context = serving(Refusing(*arguments))
        provider = context.__enter__()
        opened.append(context)
        return Sdk(request.param, server.target, provider), provider

    yield started
    for context in opened:
        context.__exit__(None, None, None)


def name_of(request: pytest.FixtureRequest) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


@pytest.fixture
def session_id(request: pytest.FixtureRequest) -> str:
    return name_of(request)


def test_an_overflow_is_compacted_and_answered(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(120_000)
    body = sdk.body(sessions)
    before = json.dumps(body)
    [result], session = sdk.turn(session_id, body)
    assert result.overflow_count == 1
    assert result.compaction.outcome == "SUMMARIZED"
    assert len(provider.bodies) == 2
    assert provider.sizes[1] < 120_000 * 3 < provider.sizes[0]
    assert session.last_usage.message_count == len(body["messages"])
    assert session.last_usage.input_tokens == provider.sizes[1] // 3
    assert json.dumps(body) == before


def test_two_overflows_end_in_truncation(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(ROOMY, ["overflow", "overflow"])
    [result], session = sdk.turn(session_id, sdk.body(sessions))
    assert (result.overflow_count, result.compaction.outcome) == (2, "TRUNCATED")
    assert sorted(set(provider.sizes), reverse=True) == provider.sizes
    assert len(provider.sizes) == 3
    assert session.record == result.compaction.record


def test_three_overflows_end_in_the_providers_own_error(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(ROOMY, ["overflow", "overflow", "overflow"])
    store = Store()
    with pytest.raises(sdk.too_large) as caught:
        sdk.turn(session_id, sdk.body(sessions), store=store)
    record = compaction_of(caught.value)
    assert record is not None
    assert record.summary
    assert sorted(set(provider.sizes), reverse=True) == provider.sizes
    assert len(provider.sizes) == 3
    [(_, tokens, compactions)] = store.rows
    assert tokens == record.compacted_input_tokens
    assert compactions >= 2


def test_a_window_below_every_rung_ends_in_the_providers_own_error(
    start: Started, sessions: Path, session_id: str
) -> None:
    sdk, provider = start(400)
    with pytest.raises(sdk.too_large):
        sdk.turn(session_id, sdk.body(sessions))
    assert sorted(set(provider.sizes), reverse=True) == provider.sizes


def test_a_full_window_is_compacted_and_answered(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(ROOMY, ["full", "full"])
    [result], _ = sdk.turn(session_id, sdk.body(sessions))
    assert result.overflow_count == 2
    assert sorted(set(provider.sizes), reverse=True) == provider.sizes


def test_a_window_that_stays_full_raises_with_the_reply(start: Started, sessions: Path, session_id: str) -> None:
    sdk, _ = start(ROOMY, ["full", "full", "full"])
    with pytest.raises(ContextOverflow) as caught:
        sdk.turn(session_id, sdk.body(sessions))
    assert caught.value.reply.usage
    assert caught.value.compaction == compaction_of(caught.value)


def test_a_throttled_call_passes_and_is_no_overflow(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(ROOMY, ["busy"])
    with pytest.raises(sdk.too_often):
        sdk.turn(session_id, sdk.body(sessions))
    assert len(provider.bodies) == 1


def gone_on(body: Json) -> Json:
    """The log with an answer of the model and a request of the user more."""
    added = [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go on."}]
    return {**body, "messages": [*body["messages"], *added]}


def begun(body: Json, count: int) -> Json:
    """The log up to a step of the model that has at least so many messages before it."""
    messages = body["messages"]
    stop = next(at for at, message in enumerate(messages) if at >= count and message["role"] == "assistant")
    return {**body, "messages": messages[:stop], "tools": [*body["tools"]]}


def with_results(format: str, body: Json, reply: Any, session: Any) -> Json:
    """The log with a reply as the SDK gave it, which asks for compactions, and what the session answers to each."""
    if format == "anthropic":
        results = [
            {"type": "tool_result", "tool_use_id": use.id, "content": session.request_compaction()}
            for use in reply.content
        ]
        added = [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]
    else:
        message = reply.choices[0].message
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": session.request_compaction()}
            for call in message.tool_calls
        ]
        added = [message, *results]
    return {**body, "messages": [*body["messages"], *added]}


def test_the_tool_called_twice_in_a_batch_compacts_once(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(ROOMY, [2])
    log = [begun(sdk.body(sessions), 40)]
    log[0]["tools"].append(compact_conversation(sdk.format))

    def second(session: Any, results: list[Any]) -> Json:
        log.append(with_results(sdk.format, log[0], results[0].reply, session))
        return log[1]

    store = Store()
    results, _ = sdk.turn(session_id, log[0], second, lambda session, results: gone_on(log[1]), store=store)
    assert [result.compaction.outcome for result in results] == ["UNCHANGED", "SUMMARIZED", "REUSED"]
    assert results[1].record.reason == COMPACTION_REASON_TOOL
    assert results[2].record == results[1].record
    assert provider.sizes[1] < provider.sizes[0]
    assert store.rows == [(session_id, provider.sizes[2] // 3, 1)]


def test_a_session_goes_on_after_a_restart(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(120_000)
    body = sdk.body(sessions)
    [first], session = sdk.turn(session_id, body)
    record, usage = session.record.SerializeToString(), session.last_usage.SerializeToString()
    [second], _ = sdk.turn(
        session_id,
        gone_on(body),
        record=Compaction.FromString(record),
        last_usage=type(session.last_usage).FromString(usage),
    )
    assert second.compaction.outcome == "REUSED"
    assert second.record == first.record
    assert provider.sizes[-1] - provider.sizes[-2] < 200
    assert second.compaction.response.token_count_source == TOKEN_COUNT_SOURCE_ANCHORED


def test_counters_are_written_once_a_turn(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(120_000)
    body, store = sdk.body(sessions), Store()
    [first], session = sdk.turn(session_id, body, store=store)
    sdk.turn(session_id, body, record=session.record, store=store)
    sent = [size // 3 for size in provider.sizes]
    assert [row[1] for row in store.rows] == sent[1:]
    assert [row[2] for row in store.rows][1:] == [0]
    assert first.overflow_count == 1


@pytest.mark.parametrize("name", SDKS)
def test_an_agent_goes_on_without_the_service(name: str, start_server: Callable[..., Server], sessions: Path) -> None:
    server = start_server()
    with serving(Refusing(120_000)) as provider:
        sdk = Sdk(name, server.target, provider)
        body = sdk.body(sessions)

        def stopped(session: Any, results: list[Any]) -> Json:
            server.process.terminate()
            server.process.wait(30)
            return gone_on(body)

        [_, second], session = sdk.turn("away", body, stopped, timeout=10)
        assert isinstance(second.degraded, NotServed)
        assert provider.sizes[-1] < 120_000 * 3
        assert provider.sizes[-1] - provider.sizes[-2] < 200
        assert session.last_usage.sequence == session.record.sequence


def code(document: str) -> str:
    """The block of a document that makes a session."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    [found] = [block for block in blocks if "Session(" in block]
    return str(found)


@pytest.mark.parametrize(
    ("document", "window", "script", "printed"),
    [("README.md", 120_000, [], "end_turn 1"), ("docs/turn-helper.md", ROOMY, [2], "end_turn")],
)
def test_snippets_run(
    document: str,
    window: int,
    script: list[str | int],
    printed: str,
    environment: Callable[..., dict[str, str]],
    tmp_path: Path,
) -> None:
    with serving(Refusing(window, script)) as provider:
        variables = environment(
            HANGO_HISTORY_ROOT=str(tmp_path),
            ANTHROPIC_BASE_URL=provider.url,
            ANTHROPIC_AUTH_TOKEN="none",  # noqa: S106
        )
        command = [sys.executable, "-c", code(document)]
        done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == printed
