"""Counts by the provider: the official SDK against a local endpoint that is right, wrong, slow, down or throttling."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import pytest

from compactor.app import Compactor
from compactor.counts import Counts
from compactor.providers.anthropic import AnthropicCounter
from compactor.providers.scripted import ScriptedCounter
from compactor.reader import Facts
from compactor.stores.memory import MemoryHistory
from compactor.summaries import Summaries
from compactor.wire import answers, calls
from hango.compaction.v1 import compaction_pb2, policy_pb2
from hango.compaction.v1 import compaction_service_pb2 as pb

TIMEOUT_SECONDS = 0.5
BODY = {
    "model": "claude-haiku-4-5",
    "max_tokens": 100,
    "system": "You are an agent.",
    "metadata": {"user_id": "u"},
    "messages": [
        {"role": "user", "content": "Look at the loader. " + "The loader reads rows. " * 60},
        {"role": "assistant", "content": "It drops the last row. " * 60},
        {"role": "user", "content": "Go on."},
    ],
}

Answer = Callable[[BaseHTTPRequestHandler], None]


def number(tokens: object) -> Answer:
    return lambda request: _respond(request, 200, {"input_tokens": tokens})


def failure(status: int) -> Answer:
    return lambda request: _respond(request, status, {"type": "error", "error": {"type": "api_error", "message": "no"}})


def silence(request: BaseHTTPRequestHandler) -> None:
    time.sleep(TIMEOUT_SECONDS * 3)
    _respond(request, 200, {"input_tokens": 1})


def garbage(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("content-type", "application/json")
    request.end_headers()
    request.wfile.write(b"<html>")


def listed(request: BaseHTTPRequestHandler) -> None:
    _respond(request, 200, [])


def deep(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("content-type", "application/json")
    request.end_headers()
    request.wfile.write(b"[" * 100_000)


def _respond(request: BaseHTTPRequestHandler, status: int, value: object) -> None:
    data = json.dumps(value).encode()
    request.send_response(status)
    request.send_header("content-type", "application/json")
    request.send_header("content-length", str(len(data)))
    request.end_headers()
    with suppress(OSError):  # the caller may have stopped waiting, which is what a test is about
        request.wfile.write(data)


@contextmanager
def provider(*script: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An endpoint that answers by a script, the last answer again and again; gives its address and what was asked."""
    asked: list[dict[str, Any]] = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            script[min(len(asked), len(script)) - 1](self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def compacted(address: str, *policies: policy_pb2.Policy) -> list[pb.CompactResponse]:
    """What comes of calls, one after the other, by one process with a key for the provider."""

    async def answered() -> list[pb.CompactResponse]:
        async with anthropic.AsyncAnthropic(api_key="test", base_url=address, max_retries=0) as client:
            by = _compactor(AnthropicCounter(client))
            return [await _answer(by, policy) for policy in policies]

    return asyncio.run(answered())


def _compactor(counter: Any) -> Compactor:
    counts = Counts(lambda model, format: None, counter, TIMEOUT_SECONDS)
    return Compactor(history=MemoryHistory(), facts=Facts(1 << 20), counts=counts, summaries=Summaries(None))


async def _answer(by: Compactor, policy: policy_pb2.Policy) -> pb.CompactResponse:
    message = pb.CompactRequest(session_id="s", policy=policy)
    message.native.format = 1
    message.native.body = json.dumps(BODY).encode()
    call = calls.compact_call(message, by)
    return answers.compact_response(message, call, await by.compact(call))


def wanted(**fields: Any) -> policy_pb2.Policy:
    return policy_pb2.Policy(token_counter=policy_pb2.TOKEN_COUNTER_PROVIDER, **fields)


def codes(response: pb.CompactResponse) -> set[str]:
    return {compaction_pb2.NoticeCode.Name(notice.code).removeprefix("NOTICE_CODE_") for notice in response.notices}


def test_provider_number_decides_and_is_told() -> None:
    with provider(number(1_500)) as (address, asked):
        [response] = compacted(address, wanted(keep_message_count=1, max_input_tokens=1_600))
    assert response.original_input_tokens == 1_500
    assert response.token_count_source == pb.TOKEN_COUNT_SOURCE_PROVIDER
    assert response.outcome == pb.OUTCOME_SUMMARIZED
    assert asked[0]["messages"] == BODY["messages"]
    assert "max_tokens" not in asked[0]
    assert "metadata" not in asked[0]


@pytest.mark.parametrize(
    "answer",
    [
        failure(400),
        failure(429),
        failure(529),
        silence,
        garbage,
        number(0),
        number("x"),
        number(True),
        number(10**30),
        number(10**6),
        listed,
        deep,
    ],
)
def test_failed_count_falls_back_and_says_so(answer: Answer) -> None:
    with provider(answer) as (address, asked):
        [response] = compacted(address, wanted())
    assert len(asked) == 1
    assert response.token_count_source == pb.TOKEN_COUNT_SOURCE_HEURISTIC
    assert "COUNT_FELL_BACK" in codes(response)
    assert response.outcome == pb.OUTCOME_UNCHANGED


def test_failed_count_is_asked_for_again() -> None:
    with provider(failure(500), number(777)) as (address, asked):
        first, second = compacted(address, wanted(), wanted())
    assert "COUNT_FELL_BACK" in codes(first)
    assert second.original_input_tokens == 777
    assert len(asked) == 2


def test_same_body_is_counted_once() -> None:
    with provider(number(777)) as (address, asked):
        first, second = compacted(address, wanted(), wanted())
    assert first.original_input_tokens == second.original_input_tokens == 777
    assert len(asked) == 1


def test_provider_that_is_down_falls_back() -> None:
    with provider(number(1)) as (address, _):
        pass
    [response] = compacted(address, wanted())
    assert "COUNT_FELL_BACK" in codes(response)


def test_provider_is_asked_only_where_its_answer_can_change_the_decision() -> None:
    counter = ScriptedCounter([100, 100])
    by = _compactor(counter)
    auto = policy_pb2.TOKEN_COUNTER_AUTO
    far = policy_pb2.Policy(token_counter=auto)
    estimate = asyncio.run(_answer(by, far)).original_input_tokens
    assert not counter.asked
    near = policy_pb2.Policy(token_counter=auto, trigger_input_tokens=estimate)
    response = asyncio.run(_answer(by, near))
    assert len(counter.asked) == 1
    assert response.original_input_tokens == 100


def test_without_a_provider_a_wanted_count_falls_back() -> None:
    response = asyncio.run(_answer(_compactor(None), wanted()))
    assert "COUNT_FELL_BACK" in codes(response)
