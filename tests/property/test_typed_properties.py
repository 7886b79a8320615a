"""Laws of the typed arm: it decides as the native arm does, and what was not edited is the caller's own."""

from __future__ import annotations

from random import Random

from hypothesis import given

from compactor.errors import CompactionError
from compactor.model import Format
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import conversation_pb2, policy_pb2
from tests.builders import edits as edits_of
from tests.builders.conversations import RANDOMS, Sample, anthropic, compact, conversations, loads, typed
from tests.property import harness
from tests.property.pressure import answered, policy
from tests.property.test_compact_properties import REASONS


@given(conversations())
def test_conversation_that_fits_comes_back_as_it_was(conversation: conversation_pb2.Conversation) -> None:
    response = harness.compact(harness.request(conversation, policy=policy_pb2.Policy(prompt_caching=False)))
    assert response.outcome == pb.OUTCOME_UNCHANGED
    assert harness.serialized(response.conversation) == harness.serialized(conversation)


@given(RANDOMS, REASONS)
def test_both_arms_decide_alike(random: Random, reason: int) -> None:
    value = anthropic(random, plain=True)
    source, conversation = Sample(Format.ANTHROPIC_MESSAGES, value, compact(value)), typed(value)
    settings = policy(random, harness.count(source))
    by_bytes = answered(harness.request(source, policy=settings, reason=reason, explain=True))
    by_type = answered(harness.request(conversation, policy=settings, reason=reason, explain=True))
    assert (by_bytes is None) == (by_type is None)
    if by_bytes is None or by_type is None:
        return
    for name in (
        "outcome",
        "reason",
        "original_input_tokens",
        "compacted_input_tokens",
        "evicted_message_count",
        "clipped_value_count",
        "notices",
        "breakpoints",
        "retained",
        "explanation",
        "history",
    ):
        assert getattr(by_type, name) == getattr(by_bytes, name), name
    for record in (by_bytes.compaction, by_type.compaction):
        record.ClearField("prefix_digest")
    assert by_type.compaction == by_bytes.compaction
    assert typed(loads(by_bytes.native.body)) == by_type.conversation


@given(RANDOMS, REASONS)
def test_edits_of_a_conversation_give_the_full_result(random: Random, reason: int) -> None:
    conversation = typed(anthropic(random, plain=True))
    settings = policy(random, harness.count(conversation))
    full = answered(harness.request(conversation, policy=settings, reason=reason))
    edits = answered(harness.request(conversation, policy=settings, reason=reason, result_mode=pb.RESULT_MODE_EDITS))
    if full is not None and edits is not None:
        assert edits_of.to_conversation(conversation, list(edits.edits)) == full.conversation


@given(RANDOMS, REASONS)
def test_record_of_a_conversation_reproduces_it(random: Random, reason: int) -> None:
    conversation = typed(anthropic(random, plain=True))
    settings = policy(random, harness.count(conversation))
    message = harness.request(conversation, policy=settings, reason=reason, turn_id="t")
    try:
        first = harness.compact(message)
    except CompactionError:
        return
    if first.HasField("compaction"):
        message.previous_compaction.CopyFrom(first.compaction)
        again = harness.compact(message, harness.compactor())
        assert again.outcome == pb.OUTCOME_REUSED
        assert again.conversation == first.conversation
