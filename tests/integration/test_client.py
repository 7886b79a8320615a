"""The client over TCP, over a UNIX socket and in process: one behaviour, whatever the way."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from hango.compaction import (
    AsyncClient,
    Client,
    CompactionError,
    DeadlineExceeded,
    NotServed,
    RequestTooLarge,
)
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import compaction_service_pb2_grpc as pb_grpc
from hango.compaction.v1.compaction_pb2 import Compaction, IndexRange

WAYS = ("server", "unix_server", "in process")
SMALL = {"max_input_tokens": 60_000}


@pytest.fixture(params=WAYS)
def ways(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Callable[[], Client], Callable[[], AsyncClient]]:
    """Makes a client, and an asynchronous one, of one way to the service."""
    if request.param == "in process":
        return (
            lambda: Client.in_process(history_root=tmp_path, environment={}),
            lambda: AsyncClient.in_process(history_root=tmp_path, environment={}),
        )
    target = request.getfixturevalue(request.param).target
    return lambda: Client.connect(target), lambda: AsyncClient.connect(target)


@pytest.mark.parametrize("name", ["explore-anthropic", "explore-openai"])
def test_a_session_is_compacted_and_its_record_replayed(ways: Any, sessions: Path, name: str) -> None:
    body = (sessions / f"{name}.json").read_bytes()
    with ways[0]() as client:
        first = client.compact(body, session_id="tour", policy=SMALL)
        assert first.outcome in ("SUMMARIZED", "REUSED")
        again = client.compact(json.loads(body), session_id="tour", policy=SMALL, record=first.record)
        assert again.outcome == "REUSED"
        assert again.record == first.record
        assert again.body == first.body
        assert again.request["messages"] == json.loads(first.body)["messages"]


@pytest.mark.parametrize("name", ["explore-anthropic", "explore-openai"])
def test_edits_over_any_way_give_the_bytes_of_full(ways: Any, sessions: Path, name: str) -> None:
    body = (sessions / f"{name}.json").read_bytes()
    with ways[0]() as client:
        full = client.compact(body, session_id="modes", policy=SMALL)
        edits = client.compact(body, session_id="modes", policy=SMALL, result_mode="EDITS")
    assert edits.body == full.body != body
    assert not edits.response.HasField("native")


def test_awaited_calls_answer_as_the_others(ways: Any, sessions: Path) -> None:
    body = (sessions / "short-anthropic.json").read_bytes()

    async def awaited() -> tuple[Any, ...]:
        async with ways[1]() as client:
            made = client.compact(body, session_id="short"), client.summarize(body), client.count_tokens(body)
            return tuple(await asyncio.gather(*made))

    compacted, summary, count = asyncio.run(awaited())
    with ways[0]() as client:
        assert compacted.response == client.compact(body, session_id="short").response
        assert compacted.record is None
        assert compacted.body == body
        assert summary == client.summarize(body)
        assert count == client.count_tokens(body)
        assert count.input_tokens == compacted.response.original_input_tokens


def test_a_client_is_shared_by_threads(ways: Any, sessions: Path) -> None:
    body = (sessions / "short-anthropic.json").read_bytes()
    with ways[0]() as client, ThreadPoolExecutor(8) as threads:
        counts = list(threads.map(lambda _: client.count_tokens(body).input_tokens, range(16)))
    assert len(set(counts)) == 1


FAULTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "MALFORMED_PAYLOAD": (b"{", {"format": "openai"}),
    "EMPTY_CONVERSATION": ({"messages": []}, {"format": "anthropic"}),
    "POLICY_OUT_OF_RANGE": (None, {"policy": {"keep_fraction": 2}}),
    "INVALID_SESSION_ID": (None, {"session_id": "../up"}),
    "WINDOW_TOO_SMALL": (None, {"policy": {"max_input_tokens": 100}}),
    "FIELD_NOT_SUPPORTED": (
        None,
        {"record": Compaction(sequence=1, kept_ranges=[IndexRange(start=0, stop=1), IndexRange(start=2, stop=3)])},
    ),
    "UNMATCHED_TOOL_USE": (
        {
            "model": "claude-haiku-4-5",
            "messages": [
                {"role": "user", "content": "Go"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
                {"role": "user", "content": "Well?"},
            ],
        },
        {},
    ),
}


@pytest.mark.parametrize("reason", FAULTS)
def test_errors_are_the_same_whatever_the_way(server: Any, tmp_path: Path, sessions: Path, reason: str) -> None:
    body, options = FAULTS[reason]
    options = {"session_id": "faulty", **options}
    found = []
    for make in (
        lambda: Client.connect(server.target),
        lambda: Client.in_process(history_root=tmp_path, environment={}),
    ):
        with make() as client, pytest.raises(CompactionError) as raised:
            client.compact(body or (sessions / "short-anthropic.json").read_bytes(), **options)
        error = raised.value
        found.append((type(error), error.reason, error.code, error.message, error.metadata, error.is_retryable))
    assert found[0] == found[1]
    assert found[0][1] == reason
    assert not found[0][5]


def test_a_request_over_the_limit_is_refused_the_same_way(start_server: Any, tmp_path: Path, sessions: Path) -> None:
    limit = {"HANGO_MAX_MESSAGE_BYTES": "2048"}
    body = (sessions / "short-anthropic.json").read_bytes()
    found = []
    target = start_server(**limit).target
    for make in (lambda: Client.connect(target), lambda: Client.in_process(history_root=tmp_path, environment=limit)):
        with make() as client, pytest.raises(RequestTooLarge) as raised:
            client.count_tokens(body)
        found.append((raised.value.message, raised.value.metadata))
        assert not raised.value.is_retryable
    assert found[0] == found[1]


class Scripted(pb_grpc.CompactionServiceServicer):
    """Fails as its script says, one entry a call, then answers."""

    def __init__(self, *script: tuple[grpc.StatusCode, tuple[tuple[str, str], ...]]) -> None:
        self.script = list(script)
        self.sizes: list[int] = []

    def CountTokens(self, request: pb.CountTokensRequest, context: Any) -> pb.CountTokensResponse:  # noqa: N802
        self.sizes.append(request.ByteSize())
        if self.script:
            code, trailing = self.script.pop(0)
            context.set_trailing_metadata(trailing)
            context.abort(code, "as scripted")
        return pb.CountTokensResponse(input_tokens=7)


@contextmanager
def serving(scripted: Scripted) -> Iterator[str]:
    with ThreadPoolExecutor() as threads:
        server = grpc.server(threads, options=[("grpc.max_receive_message_length", -1)])
        pb_grpc.add_CompactionServiceServicer_to_server(scripted, server)  # type: ignore[no-untyped-call]
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(None).wait()


BODY = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "x" * 2_000_000}]}
UNAVAILABLE = (grpc.StatusCode.UNAVAILABLE, ())
PUSHED_BACK = (grpc.StatusCode.RESOURCE_EXHAUSTED, (("grpc-retry-pushback-ms", "1"),))
TOO_LARGE = (grpc.StatusCode.RESOURCE_EXHAUSTED, ())


def counted(target: str, *, awaited: bool) -> int:
    if not awaited:
        with Client.connect(target) as client:
            return client.count_tokens(BODY).input_tokens

    async def count() -> int:
        async with AsyncClient.connect(target) as client:
            return (await client.count_tokens(BODY)).input_tokens

    return asyncio.run(count())


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("failure", [UNAVAILABLE, PUSHED_BACK])
def test_a_large_request_is_sent_again(failure: Any, awaited: bool) -> None:
    scripted = Scripted(failure)
    with serving(scripted) as target:
        assert counted(target, awaited=awaited) == 7
    assert len(scripted.sizes) == 2
    assert scripted.sizes[0] == scripted.sizes[1] > 2_000_000


@pytest.mark.parametrize("awaited", [False, True])
def test_exhaustion_without_pushback_is_not_tried_again(awaited: bool) -> None:
    scripted = Scripted(TOO_LARGE)
    with serving(scripted) as target, pytest.raises(CompactionError) as raised:
        counted(target, awaited=awaited)
    assert len(scripted.sizes) == 1
    assert not raised.value.is_retryable


def test_pushback_is_followed_only_so_often() -> None:
    scripted = Scripted(*[PUSHED_BACK] * 50)
    with serving(scripted) as target, pytest.raises(CompactionError):
        counted(target, awaited=False)
    assert len(scripted.sizes) == 5


@pytest.mark.parametrize("awaited", [False, True])
def test_a_service_that_is_not_there_is_not_served(tmp_path: Path, awaited: bool) -> None:
    with pytest.raises(NotServed) as raised:
        counted(f"unix:{tmp_path / 'none'}", awaited=awaited)
    assert raised.value.code is grpc.StatusCode.UNAVAILABLE
    assert raised.value.is_retryable


@pytest.fixture(params=["server", "in process"])
def slow_ways(request: pytest.FixtureRequest) -> Iterator[tuple[Callable[[], Client], Callable[[], AsyncClient]]]:
    """Like `ways`, to a service that has no answer in time: it never answers, or counts for the first time."""
    if request.param == "in process":
        yield lambda: Client.in_process(environment={}), lambda: AsyncClient.in_process(environment={})
        return
    with socket.create_server(("127.0.0.1", 0)) as silent:
        target = f"127.0.0.1:{silent.getsockname()[1]}"
        yield lambda: Client.connect(target), lambda: AsyncClient.connect(target)


def test_a_call_that_takes_too_long_is_given_up(slow_ways: Any, sessions: Path) -> None:
    body = (sessions / "explore-openai.json").read_bytes()

    async def awaited() -> None:
        async with slow_ways[1]() as client:
            await client.count_tokens(body, timeout=1e-3)

    with slow_ways[0]() as client, pytest.raises(DeadlineExceeded):
        client.count_tokens(body, timeout=1e-3)
    with pytest.raises(DeadlineExceeded):
        asyncio.run(awaited())
