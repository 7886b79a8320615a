"""Laws of CountTokens: more request is never fewer tokens, and the parts make the whole."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactor.model import Format
from compactor.wire import answers, calls
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import policy_pb2
from tests.builders.conversations import RANDOMS, Body, Sample, compact, samples, text
from tests.property import harness

POLICIES = st.builds(
    lambda counter, ratio: policy_pb2.Policy(token_counter=counter, characters_per_token=ratio),
    st.sampled_from((policy_pb2.TOKEN_COUNTER_HEURISTIC, policy_pb2.TOKEN_COUNTER_AUTO)),
    st.sampled_from((None, None, 1.0, 4.0)),
)


def counted(source: Sample, settings: policy_pb2.Policy) -> pb.CountTokensResponse:
    message = pb.CountTokensRequest(native=harness.native(source), policy=settings)
    policy = calls.policy_of(message.policy)
    found = calls.source_of(message, policy, harness.SHARED)
    return answers.count_response(harness.driven(harness.SHARED.count_tokens(found.request, policy)))


def with_value(source: Sample, **members: Any) -> Sample:
    value = {**source.value, **members}
    return Sample(source.format, value, compact(value))


def grown(message: Body, block: Body) -> Body:
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
    return {**message, "content": [*blocks, block]}


@given(samples(odd=False), RANDOMS, POLICIES)
def test_more_is_never_fewer_tokens(source: Sample, random: Any, settings: policy_pb2.Policy) -> None:
    before = counted(source, settings).input_tokens
    block = {"type": "text", "text": text(random)}
    at = random.randint(0, len(source.messages) - 1)
    messages = list(source.messages)
    if isinstance(messages[at].get("content"), str):
        messages[at] = {**messages[at], "content": [{"type": "text", "text": messages[at]["content"]}]}
    as_blocks = counted(with_value(source, messages=messages), settings).input_tokens
    messages[at] = grown(messages[at], block)
    assert counted(with_value(source, messages=messages), settings).input_tokens > min(before, as_blocks)
    more = [*source.messages, {"role": "user", "content": [block]}]
    assert counted(with_value(source, messages=more), settings).input_tokens > before
    tool: Body = {"name": "extra", "input_schema": {"type": "object"}}
    if source.format is Format.OPENAI_CHAT:
        tool = {"type": "function", "function": {"name": "extra"}}
    tools = [*source.value.get("tools", ()), tool]
    assert counted(with_value(source, tools=tools), settings).input_tokens > before
    if source.format is Format.ANTHROPIC_MESSAGES:
        system = source.value.get("system") or []
        system = [{"type": "text", "text": system}] if isinstance(system, str) else system
        plain = counted(with_value(source, system=system), settings).input_tokens
        assert counted(with_value(source, system=[*system, block]), settings).input_tokens > plain


@given(samples(), POLICIES)
def test_breakdown_is_the_whole(source: Sample, settings: policy_pb2.Policy) -> None:
    found = counted(source, settings)
    parts = found.breakdown
    assert parts.system + parts.tools + parts.messages + parts.media == found.input_tokens
    assert min(parts.system, parts.tools, parts.messages, parts.media) >= 0
    assert found.margin >= 1.0
