"""Calls of the contract without a socket: what the servicer does, driven by hand, with a memory for the history."""

from __future__ import annotations

import json
from collections.abc import Coroutine
from typing import Any, TypeVar

from google.protobuf.message import Message

from compactor.app import Compactor
from compactor.core.segments import HistoryError
from compactor.counts import Counts
from compactor.model import Format, Request
from compactor.policy import Policy
from compactor.providers.tokenizer import tokenizer_counting
from compactor.reader import Facts
from compactor.stores.memory import MemoryHistory
from compactor.summaries import Summaries
from compactor.wire import answers, calls
from hango.compaction.v1 import compaction_pb2 as record_pb
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import conversation_pb2, policy_pb2
from tests.builders import raw_json
from tests.builders.conversations import Body, Sample

T = TypeVar("T")

FORMATS = {
    Format.ANTHROPIC_MESSAGES: conversation_pb2.PAYLOAD_FORMAT_ANTHROPIC_MESSAGES,
    Format.OPENAI_CHAT: conversation_pb2.PAYLOAD_FORMAT_OPENAI_CHAT,
}
EDITING = (pb.OUTCOME_CLIPPED, pb.OUTCOME_WINDOWED, pb.OUTCOME_SUMMARIZED, pb.OUTCOME_TRUNCATED)
EVICTING = (pb.OUTCOME_SUMMARIZED, pb.OUTCOME_TRUNCATED)


class BrokenHistory:
    """A store that cannot be written."""

    async def append(self, session_id: str, segment: object) -> str:
        raise HistoryError("the disk is full")


def compactor(history: Any = None) -> Compactor:
    """The use cases as a fresh process would have them, without a provider."""
    return Compactor(
        history=history or MemoryHistory(),
        facts=Facts(32 << 20),
        counts=Counts(tokenizer_counting, None, 1.0),
        summaries=Summaries(None),
    )


SHARED = compactor()
"""One process for all tests that do not care which one answers: laws hold with warm caches too."""


def driven(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits, as none does over a memory."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise AssertionError("the call waited for something")


def native(source: Sample | tuple[Format, bytes]) -> conversation_pb2.NativePayload:
    format, body = (source.format, source.body) if isinstance(source, Sample) else source
    return conversation_pb2.NativePayload(format=FORMATS[format], body=body)


def request(source: Sample | conversation_pb2.Conversation | tuple[Format, bytes], **fields: Any) -> pb.CompactRequest:
    """A Compact request; the history is handed back unless the policy says otherwise."""
    policy = policy_pb2.Policy(history_mode=policy_pb2.HISTORY_MODE_RETURN)
    policy.MergeFrom(fields.pop("policy", policy_pb2.Policy()))
    made = pb.CompactRequest(policy=policy, session_id=fields.pop("session_id", "s"), **fields)
    if isinstance(source, conversation_pb2.Conversation):
        made.conversation.CopyFrom(source)
    else:
        made.native.CopyFrom(native(source))
    return made


def compact(message: pb.CompactRequest, by: Compactor = SHARED) -> pb.CompactResponse:
    """The answer to a Compact request. Raises what the use case raises; checks that nothing wrote on the request."""
    before = message.SerializeToString(deterministic=True)
    call = calls.compact_call(message, by)
    answer = answers.compact_response(message, call, driven(by.compact(call)))
    assert message.SerializeToString(deterministic=True) == before, "the request was changed"
    return answer


def count(source: Sample | conversation_pb2.Conversation, policy: policy_pb2.Policy | None = None) -> int:
    """The input tokens of a request, as CountTokens says them."""
    settings = calls.policy_of(policy or policy_pb2.Policy())
    message = pb.CountTokensRequest()
    if isinstance(source, Sample):
        message.native.CopyFrom(native(source))
    else:
        message.conversation.CopyFrom(source)
    found = calls.source_of(message, settings, SHARED)
    return driven(SHARED.count_tokens(found.request, settings)).tokens


def indexed(source: Sample) -> Request:
    """The request as the core sees it."""
    message = pb.CountTokensRequest(native=native(source))
    return calls.source_of(message, Policy(), SHARED).request


def serialized(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


def codes(response: pb.CompactResponse) -> set[int]:
    """The notices of a response, by code."""
    return {notice.code for notice in response.notices}


def has(response: pb.CompactResponse, name: str) -> bool:
    return record_pb.NoticeCode.Value(f"NOTICE_CODE_{name}") in codes(response)


def window(tokens: int, **fields: Any) -> policy_pb2.Policy:
    """A policy with a window of so many tokens, none of them reserved."""
    return policy_pb2.Policy(max_input_tokens=max(1, tokens), reserve_output_tokens=0, **fields)


def raw_messages(body: bytes) -> list[str]:
    """Each message of a body as it is spelled there."""
    text = body.decode()
    return [text[start:stop] for start, stop in raw_json.elements(text, member(text, "messages")[0])]


def member(text: str, key: str) -> tuple[int, int]:
    """Where the value of a member of a body stands."""
    return next((found.start, found.stop) for found in raw_json.members(text) if found.key == key)


def without_marks(value: Any) -> Any:
    """A JSON value without breakpoints, texts as blocks: what has to stay the same when breakpoints are set."""
    if isinstance(value, list):
        return [without_marks(element) for element in value]
    if not isinstance(value, dict):
        return value
    found = {name: without_marks(member) for name, member in value.items() if name != "cache_control"}
    for name in ("system", "content"):
        if isinstance(found.get(name), str) and ("messages" in found or "role" in found):
            found[name] = [{"type": "text", "text": found[name]}]
    return found


def texts(value: Any, into: list[str] | None = None) -> list[str]:
    """Every text that a person or a tool wrote in a message: what the history has to hold."""
    found = [] if into is None else into
    if isinstance(value, list):
        for element in value:
            texts(element, found)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name in ("text", "content", "refusal") and isinstance(member, str):
                found.append(member)
            elif name == "content":
                texts(member, found)
    return found


def body_of(response: pb.CompactResponse) -> bytes:
    return response.native.body


def value_of(response: pb.CompactResponse) -> Body:
    value: Body = json.loads(response.native.body)
    return value
