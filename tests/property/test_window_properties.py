"""Laws of windows (rule R27): what is kept is the caller's own, in order and whole, and no more than may be."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import policy_pb2
from tests.builders import pairing
from tests.property import harness
from tests.property.pressure import Pressed, answered, pressed

STRATEGIES = st.sampled_from((policy_pb2.STRATEGY_RECENT, policy_pb2.STRATEGY_IMPORTANT))
CEILINGS = st.none() | st.integers(min_value=1, max_value=12)


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
    over = harness.has(response, "FIXED_COST_EXCEEDS_BUDGET")
    assert ceiling is None or over or len(json.loads(response.native.body)["messages"]) <= ceiling


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
