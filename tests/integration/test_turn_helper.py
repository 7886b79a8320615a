"""A session's model calls: the real server and the official SDKs, against a provider as strict as the real ones."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
import sqlalchemy

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
from hango.compaction.sessions import SqlSessions
from hango.compaction.v1.compaction_pb2 import COMPACTION_REASON_TOOL
from hango.compaction.v1.compaction_service_pb2 import TOKEN_COUNT_SOURCE_ANCHORED
from tests.builders.provider import Exchange, Provider, Reply, failure, overflow, text
from tests.builders.turns import Store
from tests.integration.conftest import Server

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]


def too_large(tokens: int = 210_000, most: int = 200_000) -> Reply:
    """The refusal of an oversized request, in the words of either provider."""

    def play(exchange: Exchange) -> None:
        if not exchange.is_openai:
            overflow(tokens, most).play(exchange)
            return
        words = (
            f"This model's maximum context length is {most} tokens. However, your messages resulted in {tokens} tokens."
        )
        error = {
            "message": words,
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
        exchange.tell(400, {"error": error})

    return Reply("overflow", play)


def full() -> Reply:
    """A message that stopped because the window was full."""

    def play(exchange: Exchange) -> None:
        told = exchange.message([])
        if exchange.is_openai:
            told["choices"][0]["finish_reason"] = "length"
            told["usage"]["completion_tokens"] = 0
        exchange.tell(200, {**told, **({} if exchange.is_openai else {"stop_reason": "model_context_window_exceeded"})})

    return Reply("full", play)


def asking(count: int) -> Reply:
    """A message with so many calls of `compact_conversation` in one batch."""

    def play(exchange: Exchange) -> None:
        ids = [f"new_{number}" for number in range(count)]
        if not exchange.is_openai:
            uses = [{"type": "tool_use", "id": id, "name": COMPACT_CONVERSATION, "input": {}} for id in ids]
            exchange.tell(200, {**exchange.message(uses), "stop_reason": "tool_use"})
            return
        told, function = exchange.message([]), {"name": COMPACT_CONVERSATION, "arguments": "{}"}
        calls = [{"id": id, "type": "function", "function": function} for id in ids]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        exchange.tell(200, {**told, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]})

    return Reply("asking", play)


def sizes(provider: Provider) -> list[int]:
    """Bytes of what was sent, oldest first."""
    return [len(json.dumps(seen.body)) for seen in provider.seen]


def falls(numbers: list[int]) -> bool:
    return all(before > after for before, after in pairwise(numbers))


class Sdk:
    """One official SDK, waiting or awaiting, with a session over the server; the same methods for all four."""

    def __init__(self, name: str, target: str, provider: Provider) -> None:
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
Started = Callable[..., tuple[Sdk, Provider]]


@pytest.fixture(params=SDKS)
def start(request: pytest.FixtureRequest, server: Server) -> Iterator[Started]:
    """Starts a provider and gives the SDK that calls it."""
    with ExitStack() as opened:

        def started(*replies: Reply, window: int | None = None) -> tuple[Sdk, Provider]:
            provider = opened.enter_context(Provider(*replies, window=window))
            return Sdk(request.param, server.target, provider), provider

        yield started


@pytest.fixture
def session_id(request: pytest.FixtureRequest) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


def test_an_overflow_is_compacted_and_answered(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(window=100_000)
    body = sdk.body(sessions)
    before = json.dumps(body)
    [result], session = sdk.turn(session_id, body)
    assert (result.overflow_count, result.compaction.outcome) == (1, "SUMMARIZED")
    assert len(provider.seen) == 2
    assert falls(sizes(provider))
    assert session.last_usage.message_count == len(body["messages"])
    assert session.last_usage.input_tokens == result.usage.input_tokens == sizes(provider)[1] // 4
    assert json.dumps(body) == before


def test_two_overflows_end_in_truncation(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(too_large(), too_large(), text())
    [result], session = sdk.turn(session_id, sdk.body(sessions))
    assert (result.overflow_count, result.compaction.outcome) == (2, "TRUNCATED")
    assert len(provider.seen) == 3
    assert falls(sizes(provider))
    assert session.record == result.compaction.record


def test_three_overflows_end_in_the_providers_own_error(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(too_large())
    store = Store()
    with pytest.raises(sdk.too_large) as caught:
        sdk.turn(session_id, sdk.body(sessions), store=store)
    record = compaction_of(caught.value)
    assert record is not None
    assert record.summary
    assert len(provider.seen) == 3
    assert falls(sizes(provider))
    [(_, tokens, compactions)] = store.rows
    assert tokens == record.compacted_input_tokens
    assert compactions >= 2


def test_a_window_below_every_rung_ends_in_the_providers_own_error(
    start: Started, sessions: Path, session_id: str
) -> None:
    sdk, provider = start(window=400)
    with pytest.raises(sdk.too_large):
        sdk.turn(session_id, sdk.body(sessions))
    assert falls(sizes(provider))


def test_a_full_window_is_compacted_and_answered(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(full(), full(), text())
    [result], _ = sdk.turn(session_id, sdk.body(sessions))
    assert result.overflow_count == 2
    assert falls(sizes(provider))


def test_a_window_that_stays_full_raises_with_the_reply(start: Started, sessions: Path, session_id: str) -> None:
    sdk, _ = start(full())
    with pytest.raises(ContextOverflow) as caught:
        sdk.turn(session_id, sdk.body(sessions))
    assert caught.value.reply.usage
    assert caught.value.compaction == compaction_of(caught.value)


def test_a_throttled_call_passes_and_is_no_overflow(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(failure(429, "This request would exceed the rate limit of 30,000 input tokens per minute."))
    with pytest.raises(sdk.too_often):
        sdk.turn(session_id, sdk.body(sessions))
    assert len(provider.seen) == 1


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
    sdk, provider = start(asking(2), text())
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
    assert falls(sizes(provider)[:2])
    assert store.rows == [(session_id, sizes(provider)[2] // 4, 1)]


def test_a_session_goes_on_after_a_restart(start: Started, sessions: Path, session_id: str) -> None:
    sdk, provider = start(window=100_000)
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
    assert sizes(provider)[-1] - sizes(provider)[-2] < 200
    assert second.compaction.response.token_count_source == TOKEN_COUNT_SOURCE_ANCHORED


def test_two_turns_with_a_retried_call_are_two_updates(
    start: Started, sessions: Path, session_id: str, tmp_path: Path
) -> None:
    sdk, provider = start(window=100_000)
    body = sdk.body(sessions)
    with SqlSessions.open(f"sqlite:///{tmp_path / 'sessions.db'}").upgrade() as store:
        store.add(session_id)
        statements: list[str] = []
        sqlalchemy.event.listen(store.engine, "before_cursor_execute", lambda *seen: statements.append(seen[2]))
        [first], session = sdk.turn(session_id, body, store=store)
        sdk.turn(session_id, gone_on(body), record=session.record, store=store)
        assert first.overflow_count == 1
        assert [statement.split()[:2] for statement in statements] == [["UPDATE", "sessions"]] * 2
        assert store.counters(session_id) == (sizes(provider)[-1] // 4, session.record.sequence)


@pytest.mark.parametrize("name", SDKS)
def test_an_agent_goes_on_without_the_service(name: str, start_server: Callable[..., Server], sessions: Path) -> None:
    server = start_server()
    with Provider(window=100_000) as provider:
        sdk = Sdk(name, server.target, provider)
        body = sdk.body(sessions)

        def stopped(session: Any, results: list[Any]) -> Json:
            server.process.terminate()
            server.process.wait(30)
            return gone_on(body)

        [_, second], session = sdk.turn("away", body, stopped, timeout=10)
        assert isinstance(second.degraded, NotServed)
        assert provider.seen[-1].refused == ""
        assert sizes(provider)[-1] - sizes(provider)[-2] < 200
        assert session.last_usage.sequence == session.record.sequence


def code(document: str) -> str:
    """The block of a document that makes a session."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    [found] = [block for block in blocks if "Session(" in block]
    return str(found)


@pytest.mark.parametrize(
    ("document", "window", "replies", "printed"),
    [("README.md", 100_000, (), "end_turn 1"), ("docs/turn-helper.md", None, (asking(2), text()), "end_turn")],
)
def test_snippets_run(
    document: str,
    window: int | None,
    replies: tuple[Reply, ...],
    printed: str,
    environment: Callable[..., dict[str, str]],
    tmp_path: Path,
) -> None:
    with Provider(*replies, window=window) as provider:
        variables = environment(
            HANGO_HISTORY_ROOT=str(tmp_path),
            ANTHROPIC_BASE_URL=provider.url,
            ANTHROPIC_AUTH_TOKEN="none",  # noqa: S106
        )
        command = [sys.executable, "-c", code(document)]
        done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == printed
