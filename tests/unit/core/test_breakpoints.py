"""Where cached prefixes end (R24)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hango.compaction.v1 import compaction_pb2 as record_pb
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import policy_pb2
from tests.builders.conversations import Body, Sample, asked, log, openai_log, said
from tests.property import harness

LONG = "word " * 4_000
MARK = {"cache_control": {"type": "ephemeral"}}
LONG_MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
SYSTEM, MESSAGE = record_pb.BREAKPOINT_TARGET_SYSTEM, record_pb.BREAKPOINT_TARGET_MESSAGE


def text(words: str = LONG, **members: Any) -> Body:
    return {"type": "text", "text": words, **members}


def sent(source: Sample, **fields: Any) -> pb.CompactResponse:
    settings = policy_pb2.Policy(prompt_caching=True)
    settings.MergeFrom(fields.pop("policy", policy_pb2.Policy()))
    return harness.compact(harness.request(source, policy=settings, **fields))


def places(response: pb.CompactResponse) -> list[tuple[int, int]]:
    return [(found.target, found.index) for found in response.breakpoints]


def lives(response: pb.CompactResponse) -> list[str]:
    """The lives of all breakpoints in the order that counts."""
    value = harness.value_of(response)
    system = value.get("system") or []
    blocks = [*(value.get("tools") or []), *(system if isinstance(system, list) else [])]
    for message in value["messages"]:
        blocks += message["content"] if isinstance(message["content"], list) else []
    return [block["cache_control"].get("ttl", "5m") for block in blocks if "cache_control" in block]


def under_pressure(**members: Any) -> Sample:
    messages = [asked([text()]), said(), asked([text()]), said(), asked("now"), said("y"), asked("z")]
    return log(*messages, **{"system": [text()], **members})


FITTING = policy_pb2.Policy(max_input_tokens=14_000, reserve_output_tokens=0, keep_message_count=2)


def test_breakpoint_on_the_last_system_block_when_nothing_is_compacted() -> None:
    response = sent(log(asked("hi"), system=[text(), text()]))
    assert response.outcome == pb.OUTCOME_UNCHANGED
    assert places(response) == [(SYSTEM, 1)]
    assert "cache_control" in harness.value_of(response)["system"][1]


def test_volatile_system_block_carries_no_breakpoint() -> None:
    source = log(asked("hi"), system=[text(), text(), text("the time is 12:01")])
    assert places(sent(source, stable_system_count=2)) == [(SYSTEM, 1)]
    assert places(sent(source, stable_system_count=0)) == []
    assert places(sent(source, stable_system_count=99)) == [(SYSTEM, 2)]


def test_plain_system_text_becomes_a_block_that_can_carry_one() -> None:
    response = sent(log(asked("hi"), system=LONG))
    assert harness.value_of(response)["system"] == [text(LONG, **MARK)]
    assert places(response) == [(SYSTEM, 0)]


def test_summary_and_system_carry_one_each() -> None:
    response = sent(under_pressure(), policy=FITTING)
    assert response.outcome == pb.OUTCOME_SUMMARIZED
    assert places(response) == [(SYSTEM, 0), (MESSAGE, 0)]
    assert lives(response) == ["5m", "5m"]


def test_breakpoints_do_not_move_as_the_log_grows() -> None:
    first = sent(under_pressure(), policy=FITTING)
    value = under_pressure().value
    grown = log(*value["messages"], said("more"), asked("next"), system=value["system"])
    second = sent(grown, policy=FITTING, previous_compaction=first.compaction)
    assert second.outcome == pb.OUTCOME_REUSED
    assert places(second) == places(first)
    before, after = harness.raw_messages(first.native.body), harness.raw_messages(second.native.body)
    assert after[: len(before)] == before


def test_prefix_under_the_models_minimum_gets_none() -> None:
    source = log(asked("hi"), system=[text("short")], tools=[])
    response = sent(source)
    assert places(response) == []
    assert response.native.body == source.body
    assert not harness.has(response, "BREAKPOINTS_EXHAUSTED")


def test_caching_off_changes_no_byte() -> None:
    source = log(asked("hi"), system=[text()])
    response = sent(source, policy=policy_pb2.Policy(prompt_caching=False))
    assert response.native.body == source.body
    assert places(response) == []


def test_openai_body_never_gets_one() -> None:
    source = openai_log({"role": "system", "content": LONG}, asked(LONG))
    response = sent(source)
    assert response.native.body == source.body
    assert places(response) == []


def test_callers_four_leave_no_room() -> None:
    source = log(asked([text("a", **MARK), text("b", **MARK), text("c", **MARK), text("d", **MARK)]), system=[text()])
    response = sent(source)
    assert response.native.body == source.body
    assert harness.has(response, "BREAKPOINTS_EXHAUSTED")


def test_callers_three_leave_room_for_one() -> None:
    messages = under_pressure().value["messages"]
    messages[-1] = asked([text("z", **MARK), text("z", **MARK), text("z", **MARK)])
    response = sent(log(*messages, system=[text()]), policy=FITTING)
    assert places(response) == [(SYSTEM, 0)]
    assert len(lives(response)) == 4
    assert harness.has(response, "BREAKPOINTS_EXHAUSTED")


def test_callers_own_on_the_system_is_kept_and_not_doubled() -> None:
    response = sent(log(asked("hi"), system=[text(**LONG_MARK)]))
    assert lives(response) == ["1h"]
    assert places(response) == []


def test_ours_lives_as_long_as_a_later_one_of_the_caller() -> None:
    response = sent(log(asked([text("x", **LONG_MARK)]), system=[text()]))
    assert lives(response) == ["1h", "1h"]


def test_ours_never_outlives_an_earlier_one_of_the_caller() -> None:
    tools = [{"name": "read_file", "input_schema": {"type": "object"}, **MARK}]
    response = sent(log(asked("x"), system=[text()], tools=tools), policy=policy_pb2.Policy(cache_ttl="1h"))
    assert lives(response) == ["5m", "5m"]


@pytest.mark.parametrize("ttl", ["5m", "1h"])
def test_life_is_what_the_policy_says(ttl: str) -> None:
    response = sent(under_pressure(), policy=policy_pb2.Policy(cache_ttl=ttl, **_fields(FITTING)))
    assert lives(response) == [ttl, ttl]


def _fields(policy: policy_pb2.Policy) -> dict[str, Any]:
    return {field.name: value for field, value in policy.ListFields()}


def test_blank_system_block_never_carries_one() -> None:
    response = sent(log(asked("hi"), system=[text(), text("  ")]))
    assert places(response) == [(SYSTEM, 0)]


def test_deferred_tool_and_thinking_are_left_alone() -> None:
    tools = [{"name": "read_file", "input_schema": {}}, {"name": "later", "input_schema": {}, "defer_loading": True}]
    thinking = said([{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "x"}])
    source = log(asked("hi"), thinking, asked("go"), system=[text()], tools=tools)
    value = harness.value_of(sent(source))
    assert value["tools"] == tools
    assert value["messages"] == source.messages


def test_marked_block_keeps_its_other_bytes() -> None:
    words = json.dumps(LONG)
    body = (
        '{"model":"claude-sonnet-4-5","system":[ { "text":' + words + ' , "type" : "text"} ],"messages":[]}'
    ).encode()
    body = body.replace(b"[]}", b'[{"role":"user","content":"hi"}]}')
    source = Sample(log().format, {}, body)
    expected = body.replace(b'"text"} ]', b'"text","cache_control":{"type":"ephemeral"}}]').replace(b"[ { ", b"[{ ")
    assert sent(source).native.body == expected
