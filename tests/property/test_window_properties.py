"""Laws of windows (rule R27): what is kept is the caller's own, in order and whole, and no more than may be."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compactor.model import Format
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import policy_pb2
from tests.builders import pairing
from tests.builders.conversations import Sample
from tests.property import harness
from tests.property.pressure import Pressed, answered, pressed

STRATEGIES = st.sampled_from((policy_pb2.STRATEGY_RECENT, policy_pb2.STRATEGY_IMPORTANT))
CEILINGS = st.none() | st.integers(min_value=1, max_value=12)
ALL_STRATEGIES = st.sampled_from(
    (policy_pb2.STRATEGY_SUMMARIZE, policy_pb2.STRATEGY_RECENT, policy_pb2.STRATEGY_IMPORTANT)
)


def windowed(case: Pressed, strategy: int, ceiling: int | None) -> pb.CompactResponse | None:
    policy = policy_pb2.Policy()
    policy.CopyFrom(case.policy)
    policy.strategy = strategy
    if ceiling is not None:
        policy.max_message_count = ceiling
    return answered(harness.request(case.sample, policy=policy))


@given(pressed(), STRATEGIES, CEILINGS)
def test_a_window_is_valid_and_holds_no_message_of_ours(case: Pressed, strategy: int, ceiling: int | None) -> None:
    response = windowed(case, strategy, ceiling)
    if response is None or response.outcome != pb.OUTCOME_WINDOWED:
        return
    assert pairing.breaches(case.sample.format, response.native.body) == []
    assert not harness.has(response, "OUTPUT_INVALID")
    assert not response.compaction.summary
    assert response.compaction.strategy == strategy
    kept, raw = json.loads(response.native.body)["messages"], json.loads(case.sample.body)["messages"]
    assert len(kept) < len(raw)
    if not response.compaction.clipped_before_index and not response.compaction.stripped_before_index:
        rest = iter(map(harness.without_marks, raw))
        assert all(any(message == other for other in rest) for message in map(harness.without_marks, kept))


@given(pressed(), STRATEGIES, CEILINGS)
def test_a_window_keeps_the_newest_message_and_the_ceiling(case: Pressed, strategy: int, ceiling: int | None) -> None:
    response = windowed(case, strategy, ceiling)
    if response is None or response.outcome != pb.OUTCOME_WINDOWED:
        return
    raw = json.loads(case.sample.body)["messages"]
    assert response.compaction.first_kept_index < len(raw)
    kept = json.loads(response.native.body)["messages"]
    assert is_edited(response) or bare(kept[-1]) == bare(raw[-1])
    over = harness.has(response, "FIXED_COST_EXCEEDS_BUDGET")
    assert ceiling is None or over or len(kept) <= ceiling


@given(pressed(), ALL_STRATEGIES, st.integers(min_value=1, max_value=12))
def test_a_ceiling_holds_or_the_answer_says_why_not(case: Pressed, strategy: int, ceiling: int) -> None:
    response = windowed(case, strategy, ceiling)
    if response is None:
        return
    count = len(json.loads(response.native.body)["messages"])
    assert count <= ceiling or harness.has(response, "FIXED_COST_EXCEEDS_BUDGET")


@given(pressed(), STRATEGIES, CEILINGS)
def test_a_window_keeps_system_messages_and_whole_batches(case: Pressed, strategy: int, ceiling: int | None) -> None:
    response = windowed(case, strategy, ceiling)
    if response is None or response.outcome != pb.OUTCOME_WINDOWED or is_edited(response):
        return
    kept, raw = json.loads(response.native.body), json.loads(case.sample.body)
    if case.sample.format is Format.OPENAI_CHAT:
        assert [*map(bare, systems(kept))] == [*map(bare, systems(raw))]
    else:
        assert bare(kept.get("system")) == bare(raw.get("system"))
    open_request = [message for message in raw["messages"] if is_request(message)][-1:]
    assert all(bare(message) in [*map(bare, kept["messages"])] for message in open_request)


@given(pressed(), STRATEGIES, CEILINGS)
def test_the_same_question_has_the_same_window(case: Pressed, strategy: int, ceiling: int | None) -> None:
    first, second = windowed(case, strategy, ceiling), windowed(case, strategy, ceiling)
    if first is None or second is None:
        assert first is second
        return
    assert harness.serialized(first) == harness.serialized(second)


@given(pressed(), STRATEGIES, CEILINGS)
def test_what_fits_its_window_is_left_as_it_is(case: Pressed, strategy: int, ceiling: int | None) -> None:
    response = windowed(case, strategy, ceiling)
    if response is None or response.outcome != pb.OUTCOME_WINDOWED:
        return
    if harness.has(response, "FIXED_COST_EXCEEDS_BUDGET"):
        return
    own = Sample(case.sample.format, json.loads(response.native.body), response.native.body)
    again = windowed(Pressed(own, case.policy, response.compacted_input_tokens), strategy, ceiling)
    assert again is not None
    assert again.outcome == pb.OUTCOME_UNCHANGED


def is_edited(response: pb.CompactResponse) -> bool:
    """Whether messages that are kept may differ from the raw ones."""
    record = response.compaction
    return bool(
        record.clipped_before_index or record.stripped_before_index or harness.has(response, "REQUEST_REPAIRED")
    )


def bare(value: Any) -> Any:
    """A value without breakpoints; a text that was made a block to carry one is a text again."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if isinstance(value, list):
        return [{name: member for name, member in block.items() if name != "cache_control"} for block in value]
    if isinstance(value, dict):
        return {**value, "content": bare(value.get("content"))}
    return value


def systems(body: dict[str, Any]) -> list[Any]:
    return [message for message in body["messages"] if message["role"] in ("system", "developer")]


def is_request(message: dict[str, Any]) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return message["role"] == "user" and not any(block.get("type") == "tool_result" for block in blocks)


@given(pressed(), STRATEGIES, CEILINGS)
def test_a_record_of_a_window_rebuilds_it(case: Pressed, strategy: int, ceiling: int | None) -> None:
    response = windowed(case, strategy, ceiling)
    if response is None or response.outcome != pb.OUTCOME_WINDOWED:
        return
    roomy = policy_pb2.Policy(max_input_tokens=10_000_000, prompt_caching=case.policy.prompt_caching, strategy=strategy)
    again = harness.compact(
        harness.request(case.sample, policy=roomy, previous_compaction=response.compaction), harness.compactor()
    )
    assert again.outcome == pb.OUTCOME_REUSED
    assert harness.without_marks(harness.value_of(again)) == harness.without_marks(harness.value_of(response))


@given(pressed(), STRATEGIES, STRATEGIES, CEILINGS)
def test_a_window_of_a_window_is_valid(case: Pressed, first: int, second: int, ceiling: int | None) -> None:
    response = windowed(case, first, None)
    if response is None or response.outcome != pb.OUTCOME_WINDOWED:
        return
    for strategy in (second, policy_pb2.STRATEGY_SUMMARIZE):
        policy = policy_pb2.Policy()
        policy.CopyFrom(case.policy)
        policy.strategy = strategy
        policy.max_message_count = ceiling or 3
        again = answered(harness.request(case.sample, policy=policy, previous_compaction=response.compaction))
        if again is not None:
            assert pairing.breaches(case.sample.format, again.native.body) == []
            assert not harness.has(again, "OUTPUT_INVALID")
            assert again.compaction.first_kept_index >= response.compaction.first_kept_index
