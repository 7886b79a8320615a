"""A stand-in for the providers on a loopback port: it refuses what the real ones refuse, and answers by a script.

    with Provider(text("A summary."), counts=[count(1_900)]) as provider:
        ...  # ANTHROPIC_BASE_URL=provider.url

Anthropic's `/v1/messages` and `/v1/messages/count_tokens` and OpenAI's `/v1/chat/completions` are served, well enough
for the official SDKs. A script is a run of replies, of which the last one repeats. Before its reply, a request is held
against the rules of its provider (`provider_rules`), the parameters of the model's family, and the window.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.builders.provider_rules import anthropic_violations, openai_violations

Json = dict[str, Any]
SUMMARY = "The loader was read and the parser rewritten; the tests of the reader still fail. Next: look at rows.py."


@dataclass(frozen=True)
class Reply:
    """One answer: how it is named on record, and what it does with the connection."""

    name: str
    play: Callable[[Exchange], None]


@dataclass(frozen=True)
class Seen:
    """A request on record, with the reply that it got; `refused` is what it was refused for."""

    path: str
    body: Json
    reply: str
    refused: str
    at: float


def text(words: str = SUMMARY, **fields: Any) -> Reply:
    """A message with these words."""
    return message([{"type": "text", "text": words}], name="text", **fields)


def message(content: Any, *, name: str = "message", stop_reason: Any = "end_turn", **fields: Any) -> Reply:
    """A message with this content; `fields` take the place of the usual ones."""

    def play(exchange: Exchange) -> None:
        exchange.tell(200, {**exchange.message(content), "stop_reason": stop_reason, **fields})

    return Reply(name, play)


def echo(share: float = 1.0) -> Reply:
    """A message with the words that it was sent, or a part of them."""

    def play(exchange: Exchange) -> None:
        words = exchange.sent_text
        exchange.tell(200, exchange.message([{"type": "text", "text": words[: int(share * len(words))]}]))

    return Reply("echo", play)


def failure(status: int, words: str = "scripted", *, retry_after: str | None = None) -> Reply:
    """An error of the provider."""
    headers = {"retry-after": retry_after} if retry_after is not None else {}
    return Reply(f"failure {status}", lambda exchange: exchange.fail(status, words, headers))


def overflow(tokens: int = 210_000, maximum: int = 200_000) -> Reply:
    """The refusal of a request that is too long."""
    return Reply("overflow", lambda exchange: exchange.fail(400, too_long(tokens, maximum)))


def count(tokens: Any) -> Reply:
    """An answer of the counting endpoint."""
    return Reply("count", lambda exchange: exchange.tell(200, {"input_tokens": tokens}))


def slow(seconds: float, then: Reply | None = None) -> Reply:
    """Says nothing for so long, then another reply."""

    def play(exchange: Exchange) -> None:
        exchange.provider.wait(seconds)
        (then or text()).play(exchange)

    return Reply("slow", play)


def raw(
    data: bytes, *, name: str, status: int = 200, kind: str = "application/json", claims: int | None = None
) -> Reply:
    """Bytes as they are; `claims` is the length that the header states, then the connection is closed."""
    return Reply(name, lambda exchange: exchange.send(status, data, {"content-type": kind}, claims=claims))


def reset() -> Reply:
    """The connection is closed without an answer."""
    return Reply("reset", lambda exchange: exchange.hang_up())


def redirect() -> Reply:
    """Somewhere else, where nobody listens."""
    return Reply("redirect", lambda exchange: exchange.send(307, b"", {"location": "http://127.0.0.1:9/"}))


def too_long(tokens: int, maximum: int) -> str:
    """How Anthropic words an overflow."""
    return f"prompt is too long: {tokens} tokens > {maximum} maximum"


class Provider:
    """The endpoint. `window` is in tokens of four characters; `seen` is what came in, oldest first."""

    def __init__(
        self,
        *replies: Reply,
        counts: Sequence[Reply] = (),
        window: int | None = None,
        unknown_models: Sequence[str] = (),
    ) -> None:
        self.seen: list[Seen] = []
        self.window = window
        self.unknown_models = tuple(unknown_models)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.script(*replies, counts=counts)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, *replies: Reply, counts: Sequence[Reply] = ()) -> None:
        """Another script, and nothing on record."""
        with self._lock:
            self._replies, self._counts = list(replies) or [text()], list(counts) or [failure(404)]
            self.seen = []

    def asked(self, path: str = "/v1/messages") -> list[Json]:
        """The bodies that came in on a path."""
        return [seen.body for seen in list(self.seen) if seen.path == path]

    def wait(self, seconds: float) -> None:
        """Sleeps, unless the endpoint is closed."""
        self._closing.wait(seconds)

    def serve(self, exchange: Exchange) -> None:
        """One request: refused, or answered by the script."""
        problem = self._problem(exchange)
        with self._lock:
            queue = self._counts if exchange.is_count else self._replies
            reply = failure(*problem) if problem else queue.pop(0) if len(queue) > 1 else queue[0]
            seen = Seen(exchange.path, exchange.body, reply.name, problem[1] if problem else "", time.monotonic())
            self.seen.append(seen)
        reply.play(exchange)

    def _problem(self, exchange: Exchange) -> tuple[int, str] | None:
        body = exchange.body
        if not exchange.has_key:
            return 401, "x-api-key header is required"
        if body.get("model") in self.unknown_models:
            return 404, f"model: {body['model']}"
        if exchange.is_openai:
            broken = openai_violations(body)
        else:
            wrong = parameters(body, is_count=exchange.is_count)
            if wrong:
                return 400, wrong
            broken = anthropic_violations(body)
        if broken:
            return 400, f"rules broken: {', '.join(broken)}"
        tokens = len(json.dumps({name: body.get(name) for name in ("system", "tools", "messages")})) // 4
        if self.window is not None and tokens > self.window and not exchange.is_count:
            return 400, too_long(tokens, self.window)
        return None

    def __enter__(self) -> Provider:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


_UNCOUNTED = {"max_tokens", "stream", "metadata", "stop_sequences", "temperature", "top_p", "top_k", "service_tier"}
_COUNTED = {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "context_management"}
_VERSION = re.compile(r"claude-\w+-(\d+)(?:-(\d{1,2})(?!\d))?")
_FORCED = re.compile(r"claude-(?:fable-5-[12]|mythos-5-[12]|opus-5-5|sonnet-5-5)")


def parameters(body: Json, *, is_count: bool) -> str:
    """What Anthropic would refuse the parameters of a request for; empty where it would not."""
    extra = sorted(body.keys() - _COUNTED - (set() if is_count else _UNCOUNTED))
    if extra:
        return f"{extra[0]}: Extra inputs are not permitted"
    if not is_count and (type(body.get("max_tokens")) is not int or body["max_tokens"] < 0):
        return "max_tokens: Field required"
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        return "messages: at least one message is required"
    found = _VERSION.match(str(body.get("model")))
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    thinking = body.get("thinking") or {}
    if version >= (4, 7) and body.keys() & {"temperature", "top_p", "top_k"}:
        return "temperature: not supported by this model"
    if version >= (4, 7) and thinking.get("type") == "enabled":
        return "thinking: use adaptive thinking with this model"
    if version >= (4, 6) and body["messages"][-1].get("role") == "assistant":
        return "messages: this model does not support assistant message prefill"
    is_forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    return "tool_choice: forced tool use is not supported" if is_forced and _FORCED.match(str(body["model"])) else ""


class Exchange:
    """One request and its connection."""

    def __init__(self, provider: Provider, handler: BaseHTTPRequestHandler, body: Json) -> None:
        self.provider = provider
        self.body = body
        self.path = handler.path.partition("?")[0]
        self.is_count = self.path.endswith("/count_tokens")
        self.is_openai = self.path.endswith("/chat/completions")
        self.has_key = bool(handler.headers.get("x-api-key") or handler.headers.get("authorization"))
        self._handler = handler

    @property
    def sent_text(self) -> str:
        """The words of the last message that was sent."""
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)

    def message(self, content: Any) -> Json:
        """A message of the format that was asked for."""
        usage = {"input_tokens": len(json.dumps(self.body)) // 4, "output_tokens": len(json.dumps(content)) // 4}
        if self.is_openai:
            words = "".join(block.get("text", "") for block in content)
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": words}}
            spent = {"prompt_tokens": usage["input_tokens"], "completion_tokens": usage["output_tokens"]}
            told = {"id": "c1", "object": "chat.completion", "created": 0, "model": self.body["model"]}
            return {**told, "choices": [choice], "usage": {**spent, "total_tokens": sum(spent.values())}}
        told = {"id": "msg_1", "type": "message", "role": "assistant", "model": self.body["model"]}
        return {**told, "content": content, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}

    def tell(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self.send(status, json.dumps(value).encode(), {"content-type": "application/json", **(headers or {})})

    def fail(self, status: int, words: str, headers: dict[str, str] | None = None) -> None:
        kinds = {400: "invalid_request_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
        kind = kinds.get(status, "api_error")
        self.tell(status, {"type": "error", "error": {"type": kind, "message": words, "code": kind}}, headers)

    def send(self, status: int, data: bytes, headers: dict[str, str], *, claims: int | None = None) -> None:
        with suppress(OSError):  # the caller may have stopped waiting, which is what a test is about
            self._handler.send_response(status)
            for name, value in headers.items():
                self._handler.send_header(name, value)
            self._handler.send_header("content-length", str(len(data) if claims is None else claims))
            self._handler.end_headers()
            self._handler.wfile.write(data)
        if claims is not None:
            self.hang_up()

    def hang_up(self) -> None:
        self._handler.close_connection = True


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            provider.serve(Exchange(provider, self, body))

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
