"""What the client makes of a call: the message it sends and the result it gives, over a transport that keeps both."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hango.compaction import AsyncClient, Client, Compaction, CompactResponse, Conversation, ObservedUsage, Policy
from hango.compaction.transport import Method
from hango.compaction.v1 import compaction_pb2
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1.conversation_pb2 import PAYLOAD_FORMAT_OPENAI_CHAT, NativePayload

BODY = b'{"model":"gpt-5.1","messages":[{"role":"user","content":"Hi"}]}'


class Recording:
    """Keeps what is sent and answers with an echo."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any, float]] = []
        self.is_closed = False

    def call(self, method: Method, request: Any, timeout: float) -> Any:
        self.calls.append((method, request, timeout))
        if method == "Summarize":
            return pb.SummarizeResponse(summary="all of it")
        if method == "CountTokens":
            return pb.CountTokensResponse(input_tokens=3)
        response = CompactResponse(outcome=pb.OUTCOME_SUMMARIZED, compaction=Compaction(sequence=2))
        if request.result_mode != pb.RESULT_MODE_EDITS:
            response.native.CopyFrom(request.native)
        return response

    def close(self) -> None:
        self.is_closed = True


class AsyncRecording:
    """The same, awaited."""

    def __init__(self) -> None:
        self.inner = Recording()

    async def call(self, method: Method, request: Any, timeout: float) -> Any:
        return self.inner.call(method, request, timeout)

    async def close(self) -> None:
        self.inner.close()


FULL_CALL: dict[str, Any] = {
    "policy": {"repair": "SYNTHESIZE"},
    "record": Compaction(sequence=1),
    "session_id": "s",
    "turn_id": "t",
    "reason": "OVERFLOW",
    "stable_system_count": 0,
    "last_usage": ObservedUsage(message_count=1, input_tokens=9),
    "overflow": pb.ObservedOverflow(actual_input_tokens=5),
    "explain": True,
}


def sent() -> pb.CompactRequest:
    return pb.CompactRequest(
        native=NativePayload(format=PAYLOAD_FORMAT_OPENAI_CHAT, body=BODY),
        policy=Policy(repair="REPAIR_SYNTHESIZE"),
        previous_compaction=Compaction(sequence=1),
        reason=compaction_pb2.COMPACTION_REASON_OVERFLOW,
        session_id="s",
        turn_id="t",
        stable_system_count=0,
        last_usage=ObservedUsage(message_count=1, input_tokens=9),
        overflow=pb.ObservedOverflow(actual_input_tokens=5),
        explain=True,
    )


def test_every_option_reaches_the_service() -> None:
    transport = Recording()
    with Client(transport, timeout=7) as client:
        result = client.compact(BODY, **FULL_CALL)
        client.compact(BODY, timeout=1)
    assert transport.calls[0] == ("Compact", sent(), 7)
    assert transport.calls[1][2] == 1
    assert not transport.calls[1][1].HasField("policy")
    assert not transport.calls[1][1].HasField("stable_system_count")
    assert not transport.calls[1][1].HasField("previous_compaction")
    assert transport.is_closed
    assert result.body == BODY
    assert result.request == {"model": "gpt-5.1", "messages": [{"role": "user", "content": "Hi"}]}
    assert result.request is result.request
    assert result.record == Compaction(sequence=2)
    assert result.outcome == "SUMMARIZED"


def test_awaited_calls_send_the_same() -> None:
    transport = AsyncRecording()

    async def run() -> None:
        async with AsyncClient(transport, timeout=7) as client:
            assert (await client.compact(BODY, **FULL_CALL)).body == BODY
            assert (await client.summarize(BODY, previous_summary="before")).summary == "all of it"
            assert (await client.count_tokens(BODY)).input_tokens == 3

    asyncio.run(run())
    assert transport.inner.calls[0] == ("Compact", sent(), 7)
    assert [method for method, *_ in transport.inner.calls] == ["Compact", "Summarize", "CountTokens"]
    assert transport.inner.calls[1][1].previous_summary == "before"
    assert transport.inner.is_closed


def test_the_result_mode_of_a_client_holds_unless_a_call_says_otherwise() -> None:
    transport = Recording()
    client = Client(transport, result_mode="EDITS")
    assert client.compact(BODY).body == BODY
    assert client.compact(BODY, result_mode="FULL").body == BODY
    assert [request.result_mode for _, request, _ in transport.calls] == [
        pb.RESULT_MODE_EDITS,
        pb.RESULT_MODE_UNSPECIFIED,
    ]


def test_a_conversation_goes_in_its_own_arm() -> None:
    transport = Recording()
    conversation = Conversation(model="gpt-5.1")
    client = Client(transport)
    client.count_tokens(conversation, policy=Policy(max_input_tokens=5))
    request = transport.calls[0][1]
    assert request == pb.CountTokensRequest(conversation=conversation, policy=Policy(max_input_tokens=5))


def test_a_policy_that_cannot_be_written_is_never_sent() -> None:
    transport = Recording()
    with pytest.raises(ValueError, match="no field"):
        Client(transport).compact(BODY, policy={"max_tokens": 1})
    assert not transport.calls
