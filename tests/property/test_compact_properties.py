"""Laws of a Compact call: what fits is left alone, what is made is valid, and the same question has the same answer."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from compactor.errors import CompactionError, InvalidRequest
from compactor.model import Format
from compactor.stores.memory import MemoryHistory
from hango.compaction.v1 import compaction_pb2 as record_pb
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import policy_pb2
from tests.builders import edits as edits_of
from tests.builders import pairing
from tests.builders.conversations import RANDOMS, Body, Sample, compact, sample, samples
from tests.property import harness
from tests.property.pressure import Pressed, answered, policy, pressed, stages

REASONS = st.sampled_from(
    (
        record_pb.COMPACTION_REASON_UNSPECIFIED,
        record_pb.COMPACTION_REASON_OVERFLOW,
        record_pb.COMPACTION_REASON_TOOL,
        record_pb.COMPACTION_REASON_TRUNCATE,
    )
)


def _leading(messages: list[Body]) -> int:
    """How many system messages stand at the head."""
    return next(index for index, message in enumerate(messages) if message["role"] not in ("system", "developer"))


def _pinned(record: record_pb.Compaction) -> list[int]:
    """The indexes of messages that are kept by themselves, in front of the kept tail."""
    return [index for kept in record.kept_ranges for index in range(kept.start, kept.stop)]


def _evicted(record: record_pb.Compaction, messages: list[Body]) -> list[Body]:
    """The messages that a record leaves out."""
    indexes = range(_leading(messages), record.first_kept_index)
    return [messages[index] for index in indexes if index not in _pinned(record)]


@given(samples())
def test_what_fits_comes_back_byte_for_byte(source: Sample) -> None:
    response = harness.compact(harness.request(source, policy=policy_pb2.Policy(prompt_caching=False)))
    assert response.outcome == pb.OUTCOME_UNCHANGED
    assert response.native.body == source.body
    assert not response.HasField("compaction")
    assert response.original_input_tokens == response.compacted_input_tokens == harness.count(source)


@given(samples())
def test_breakpoints_change_nothing_but_cache_control(source: Sample) -> None:
    response = harness.compact(harness.request(source, policy=policy_pb2.Policy(prompt_caching=True)))
    assert response.outcome == pb.OUTCOME_UNCHANGED
    assert harness.without_marks(harness.value_of(response)) == harness.without_marks(json.loads(source.body))
    assert not pairing.added(source.format, source.body, response.native.body)


@given(pressed(), REASONS)
def test_caching_changes_no_decision(case: Pressed, reason: int) -> None:
    with_marks, without = policy_pb2.Policy(), policy_pb2.Policy()
    with_marks.CopyFrom(case.policy)
    without.CopyFrom(case.policy)
    with_marks.prompt_caching, without.prompt_caching = True, False
    marked = answered(harness.request(case.sample, policy=with_marks, reason=reason))
    plain = answered(harness.request(case.sample, policy=without, reason=reason))
    assert (marked is None) == (plain is None)
    if marked is not None and plain is not None:
        assert harness.without_marks(harness.value_of(marked)) == harness.without_marks(harness.value_of(plain))
        assert marked.compaction == plain.compaction
        assert marked.compacted_input_tokens == plain.compacted_input_tokens


@given(pressed(), REASONS)
def test_every_result_is_valid_where_the_request_is(case: Pressed, reason: int) -> None:
    response = answered(harness.request(case.sample, policy=case.policy, reason=reason))
    if response is not None:
        assert pairing.breaches(case.sample.format, response.native.body) == []
        assert not harness.has(response, "OUTPUT_INVALID")
        assert not harness.has(response, "INPUT_VIOLATION")


@given(pressed(), REASONS)
def test_result_fits_the_window_and_is_counted_as_it_is(case: Pressed, reason: int) -> None:
    response = answered(harness.request(case.sample, policy=case.policy, reason=reason))
    if response is None:
        return
    settings = policy_pb2.Policy()
    settings.CopyFrom(case.policy)
    sent = Sample(case.sample.format, {}, response.native.body)
    assert response.compacted_input_tokens == harness.count(sent, settings)
    assert response.available_input_tokens == case.policy.max_input_tokens - response.compacted_input_tokens
    if response.outcome in harness.EDITING:
        assert response.compacted_input_tokens <= case.policy.max_input_tokens
    over_trigger = response.compacted_input_tokens > int(0.85 * case.policy.max_input_tokens)
    if over_trigger and response.outcome in harness.EVICTING:
        assert harness.has(response, "FIXED_COST_EXCEEDS_BUDGET")


@given(pressed(), REASONS)
def test_result_is_the_log_behind_at_most_one_message_of_ours(case: Pressed, reason: int) -> None:
    response = answered(harness.request(case.sample, policy=case.policy, reason=reason))
    if response is None:
        return
    raw, sent = harness.raw_messages(case.sample.body), harness.raw_messages(response.native.body)
    record, leading = response.compaction, _leading(case.sample.messages)
    assert bool(record.summary) == (record.first_kept_index > leading)
    kept = [*range(leading), *range(max(record.first_kept_index, leading), len(raw))]
    kept[leading:leading] = _pinned(record)
    if record.summary:
        assert record.summary in harness.texts(json.loads(sent.pop(leading)))
    assert len(sent) == len(kept)
    edited = max(record.clipped_before_index, record.stripped_before_index)
    for index, new in zip(kept, sent, strict=True):
        assert new == raw[index] or index < edited, "a message that was not to be edited has new bytes"


@given(pressed(), REASONS)
def test_everything_around_the_messages_is_untouched(case: Pressed, reason: int) -> None:
    settings = policy_pb2.Policy()
    settings.CopyFrom(case.policy)
    settings.prompt_caching = False
    response = answered(harness.request(case.sample, policy=settings, reason=reason))
    if response is not None:
        before, after = case.sample.body.decode(), response.native.body.decode()
        start, stop = harness.member(before, "messages")
        new_start, new_stop = harness.member(after, "messages")
        assert (after[:new_start], after[new_stop:]) == (before[:start], before[stop:])


@given(pressed(), REASONS)
def test_edits_applied_by_a_client_are_the_full_result(case: Pressed, reason: int) -> None:
    full = answered(harness.request(case.sample, policy=case.policy, reason=reason))
    edits = answered(harness.request(case.sample, policy=case.policy, reason=reason, result_mode=pb.RESULT_MODE_EDITS))
    assert (full is None) == (edits is None)
    if full is not None and edits is not None:
        assert edits.WhichOneof("result") is None
        assert edits_of.to_body(case.sample.body, list(edits.edits)) == full.native.body


@given(pressed(), REASONS)
def test_same_question_has_the_same_answer_on_any_replica(case: Pressed, reason: int) -> None:
    message = harness.request(case.sample, policy=case.policy, reason=reason, turn_id="t", explain=True)
    first = answered(message)
    if first is None:
        return
    assert harness.serialized(harness.compact(message)) == harness.serialized(first)
    assert harness.serialized(harness.compact(message, harness.compactor())) == harness.serialized(first)


@given(pressed(), REASONS)
def test_record_alone_reproduces_the_bytes(case: Pressed, reason: int) -> None:
    first = answered(harness.request(case.sample, policy=case.policy, reason=reason, turn_id="t"))
    if first is None or not first.HasField("compaction"):
        return
    message = harness.request(
        case.sample, policy=case.policy, reason=reason, turn_id="t", previous_compaction=first.compaction
    )
    again = harness.compact(message, harness.compactor())
    assert again.outcome == pb.OUTCOME_REUSED
    assert again.native.body == first.native.body
    assert again.compaction == first.compaction
    assert not again.HasField("history")


@given(pressed(), REASONS)
def test_compacted_view_that_fits_is_reused_in_the_next_turn(case: Pressed, reason: int) -> None:
    first = answered(harness.request(case.sample, policy=case.policy, reason=reason, turn_id="t"))
    if first is None or not first.HasField("compaction"):
        return
    over = first.compacted_input_tokens > int(0.85 * case.policy.max_input_tokens)
    most = case.policy.trigger_message_count
    many = most and len(harness.raw_messages(first.native.body)) > most
    if over or many:
        return
    message = harness.request(case.sample, policy=case.policy, turn_id="u", previous_compaction=first.compaction)
    again = harness.compact(message)
    assert again.outcome == pb.OUTCOME_REUSED
    assert again.native.body == first.native.body
    assert again.compaction == first.compaction


@given(pressed(), REASONS)
def test_result_sent_as_a_log_of_its_own_is_left_alone(case: Pressed, reason: int) -> None:
    first = answered(harness.request(case.sample, policy=case.policy, reason=reason))
    if first is None or first.compacted_input_tokens > int(0.85 * case.policy.max_input_tokens):
        return
    settings = policy_pb2.Policy()
    settings.CopyFrom(case.policy)
    settings.ClearField("trigger_message_count")
    again = harness.compact(harness.request((case.sample.format, first.native.body), policy=settings))
    assert again.outcome == pb.OUTCOME_UNCHANGED
    assert again.native.body == first.native.body


def _same_but_marks(now: list[str], before: list[str]) -> bool:
    """Equal to the byte; where the caller has breakpoints of its own, which move, ours may have to make room."""
    if "cache_control" not in "".join(now + before):
        return now == before
    return len(now) == len(before) and all(
        new == old or harness.without_marks(json.loads(new)) == harness.without_marks(json.loads(old))
        for new, old in zip(now, before, strict=True)
    )


@given(RANDOMS)
def test_what_was_sent_stays_the_beginning_of_what_is_sent(random: object) -> None:
    log = stages(sample(random.choice(tuple(Format)), random))  # type: ignore[attr-defined]
    settings = policy(random, harness.count(log[-1]))  # type: ignore[arg-type]
    record: record_pb.Compaction | None = None
    before: list[str] = []
    archived = ""
    for number, stage in enumerate(log):
        message = harness.request(stage, policy=settings, turn_id=str(number), previous_compaction=record)
        response = answered(message)
        if response is None:
            return
        now = harness.raw_messages(response.native.body)
        if response.outcome not in harness.EDITING:
            assert _same_but_marks(now[: len(before)], before)
            assert (response.compaction if response.HasField("compaction") else None) == record
        else:
            most = settings.trigger_message_count or 1 << 30
            shown = len(before) + len(stage.messages) - (len(log[number - 1].messages) if number else 0)
            assert response.original_input_tokens > int(0.85 * settings.max_input_tokens) or shown > most
            assert response.compaction.sequence == (record.sequence if record else 0) + 1
        archived += response.history.markdown
        before, record = now, response.compaction if response.HasField("compaction") else None
    if record is not None and record.first_kept_index:
        for evicted in _evicted(record, log[-1].messages):
            for text in harness.texts(evicted):
                assert text in archived


@given(pressed(), REASONS)
def test_every_evicted_text_is_in_the_history_that_is_handed_back(case: Pressed, reason: int) -> None:
    response = answered(harness.request(case.sample, policy=case.policy, reason=reason))
    if response is None or response.outcome not in harness.EVICTING:
        return
    assert response.history.status == record_pb.HISTORY_STATUS_RETURNED
    evicted = _evicted(response.compaction, case.sample.messages)
    assert response.evicted_message_count == len(evicted)
    for message in evicted:
        for text in harness.texts(message):
            assert text in response.history.markdown


@given(pressed(), REASONS)
def test_history_is_stored_once_however_often_the_call_is_made(case: Pressed, reason: int) -> None:
    store = MemoryHistory()
    by = harness.compactor(store)
    settings = policy_pb2.Policy()
    settings.CopyFrom(case.policy)
    settings.history_mode = policy_pb2.HISTORY_MODE_STORE
    message = harness.request(case.sample, policy=settings, reason=reason, turn_id="t")
    try:
        first = harness.compact(message, by)
    except CompactionError:
        assert not store.files
        return
    stored = dict(store.files)
    assert bool(stored) == (first.outcome in harness.EVICTING)
    again = harness.compact(message, by)
    assert store.files == stored
    assert harness.serialized(again) == harness.serialized(first)


@given(pressed(), REASONS)
def test_history_that_cannot_be_written_fails_nothing(case: Pressed, reason: int) -> None:
    settings = policy_pb2.Policy()
    settings.CopyFrom(case.policy)
    settings.history_mode = policy_pb2.HISTORY_MODE_STORE
    message = harness.request(case.sample, policy=settings, reason=reason)
    try:
        response = harness.compact(message, harness.compactor(harness.BrokenHistory()))
    except CompactionError:
        return
    assert harness.has(response, "HISTORY_FAILED") == (response.outcome in harness.EVICTING)
    assert not response.history.path
    assert not response.compaction.history_path
    assert pairing.breaches(case.sample.format, response.native.body) == []


@given(pressed())
def test_each_rung_of_the_ladder_sends_less_or_says_that_it_cannot(case: Pressed) -> None:
    tokens = harness.count(case.sample, case.policy)
    record: record_pb.Compaction | None = None
    for reason in (record_pb.COMPACTION_REASON_OVERFLOW, record_pb.COMPACTION_REASON_TRUNCATE):
        response = answered(
            harness.request(case.sample, policy=case.policy, reason=reason, turn_id="t", previous_compaction=record)
        )
        if response is None:
            return
        if response.outcome in harness.EDITING:
            assert response.compacted_input_tokens < tokens
        else:
            assert response.compacted_input_tokens == tokens
            assert harness.has(response, "FIXED_COST_EXCEEDS_BUDGET") or harness.has(response, "GAIN_TOO_SMALL")
        tokens = response.compacted_input_tokens
        record = response.compaction if response.HasField("compaction") else None


@given(pressed(), REASONS)
def test_nothing_that_is_done_makes_a_request_larger(case: Pressed, reason: int) -> None:
    response = answered(harness.request(case.sample, policy=case.policy, reason=reason))
    if response is not None:
        assert response.original_input_tokens == harness.count(case.sample, case.policy)
        assert response.compacted_input_tokens <= response.original_input_tokens


@given(pressed(), REASONS)
def test_open_request_of_the_user_is_still_there(case: Pressed, reason: int) -> None:
    response = answered(harness.request(case.sample, policy=case.policy, reason=reason))
    if response is None:
        return
    asked = [
        message
        for message in case.sample.messages
        if message["role"] == "user" and not any("tool_use_id" in block for block in pairing.blocks_of(message))
    ][-1]
    shown = "\n".join(text for message in harness.value_of(response)["messages"] for text in harness.texts(message))
    for text in harness.texts(asked):
        neutral = text.replace("</conv", "&lt;/conv").replace("<conv", "&lt;conv").replace("</open", "&lt;/open")
        assert text in shown or neutral in shown


@given(RANDOMS, REASONS, st.booleans())
def test_broken_log_is_refused_or_mended_and_never_made_worse(random: object, reason: int, mends: bool) -> None:
    source = sample(random.choice(tuple(Format)), random)  # type: ignore[attr-defined]
    messages = list(source.messages)
    for _ in range(random.randint(1, 2)):  # type: ignore[attr-defined]
        at = random.randint(0, len(messages) - 1)  # type: ignore[attr-defined]
        match random.randint(0, 2):  # type: ignore[attr-defined]
            case 0 if len(messages) > 1:
                del messages[at]
            case 1:
                messages.insert(at, messages[at])
            case _:
                messages.append(messages.pop(at))
    value = {**source.value, "messages": messages}
    broken = Sample(source.format, value, compact(value))
    try:
        tokens = harness.count(broken)
    except InvalidRequest:
        return
    settings = policy(random, tokens)  # type: ignore[arg-type]
    settings.repair = policy_pb2.REPAIR_SYNTHESIZE if mends else policy_pb2.REPAIR_REJECT
    try:
        response = harness.compact(harness.request(broken, policy=settings, reason=reason))
    except CompactionError as error:
        if mends and "Unmatched" in type(error).__name__:
            raise
        return
    assert not harness.has(response, "OUTPUT_INVALID")
    assert not pairing.added(source.format, broken.body, response.native.body)
    pairs = ("result without its call", "two results for one call", "call without its result")
    assert not [rule for rule in pairing.breaches(source.format, response.native.body) if rule in pairs]
