"""The order of the steps and the decisions between them (R3, R8, R9, R11, R13 to R15, R20, R22)."""

from __future__ import annotations

from typing import Any

import pytest

from compactor.errors import DuplicateToolResult, UnmatchedToolResult, UnmatchedToolUse, WindowTooSmall
from hango.compaction.v1 import compaction_pb2 as record_pb
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import policy_pb2
from tests.builders import pairing
from tests.builders.conversations import (
    Body,
    Sample,
    answered,
    asked,
    called,
    log,
    openai_answered,
    openai_called,
    openai_log,
    said,
)
from tests.property import harness

OVERFLOW = record_pb.COMPACTION_REASON_OVERFLOW
TOOL = record_pb.COMPACTION_REASON_TOOL
TRUNCATE = record_pb.COMPACTION_REASON_TRUNCATE
PARAGRAPH = "Some words about the matter at hand, neither short nor long. " * 12
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def talk(turns: int) -> list[Body]:
    return [
        message for turn in range(turns) for message in (asked(f"{turn}: {PARAGRAPH}"), said(f"{turn} {PARAGRAPH}"))
    ]


def policy(source: Sample, share: float, **fields: Any) -> policy_pb2.Policy:
    """A policy under which the request is so many times the trigger."""
    tokens = harness.count(source)
    return policy_pb2.Policy(
        max_input_tokens=1_000_000,
        trigger_input_tokens=max(1, int(tokens / share)),
        reserve_output_tokens=0,
        prompt_caching=False,
        **fields,
    )


def sent(source: Sample, settings: policy_pb2.Policy, **fields: Any) -> pb.CompactResponse:
    response = harness.compact(harness.request(source, policy=settings, **fields))
    assert pairing.added(source.format, source.body, response.native.body) == []
    return response


def shown(response: pb.CompactResponse) -> list[Body]:
    found: list[Body] = harness.value_of(response)["messages"]
    return found


def whole_text(response: pb.CompactResponse) -> str:
    return "\n".join(text for message in shown(response) for text in harness.texts(message))


def test_exactly_at_the_trigger_is_not_over_it() -> None:
    source = log(*talk(6), asked())
    tokens = harness.count(source)
    at = policy_pb2.Policy(max_input_tokens=10**6, reserve_output_tokens=0, trigger_input_tokens=tokens)
    over = policy_pb2.Policy(max_input_tokens=10**6, reserve_output_tokens=0, trigger_input_tokens=tokens - 1)
    assert sent(source, at).outcome == pb.OUTCOME_UNCHANGED
    assert sent(source, over).outcome == pb.OUTCOME_SUMMARIZED


def test_trigger_is_a_share_of_the_window_without_the_reserved_output() -> None:
    source = log(*talk(6), asked())
    tokens = harness.count(source)
    budget = int(tokens / 0.5) + 1
    free = policy_pb2.Policy(max_input_tokens=budget, reserve_output_tokens=0, trigger_fraction=0.5)
    reserved = policy_pb2.Policy(max_input_tokens=budget, reserve_output_tokens=100, trigger_fraction=0.5)
    assert sent(source, free).outcome == pb.OUTCOME_UNCHANGED
    assert sent(source, reserved).outcome == pb.OUTCOME_SUMMARIZED


def test_number_of_messages_triggers_by_itself() -> None:
    source = log(*talk(6), asked())
    count = len(source.messages)
    assert sent(source, policy(source, 0.1, trigger_message_count=count)).outcome == pb.OUTCOME_UNCHANGED
    response = sent(source, policy(source, 0.1, trigger_message_count=count - 1))
    assert response.outcome == pb.OUTCOME_SUMMARIZED
    assert len(shown(response)) < count


@pytest.mark.parametrize("reason", [OVERFLOW, TOOL, TRUNCATE])
def test_forced_reason_compacts_what_would_fit(reason: int) -> None:
    source = log(*talk(6), asked())
    response = sent(source, policy(source, 0.1), reason=reason)
    assert response.outcome in harness.EVICTING
    assert response.reason == reason
    assert response.compacted_input_tokens < response.original_input_tokens


def test_clipping_alone_is_tried_first() -> None:
    source = log(asked(), called("a"), answered("a", result="x y z\n" * 4_000), *talk(4), asked())
    response = sent(source, policy(source, 1.5, keep_message_count=4))
    assert response.outcome == pb.OUTCOME_CLIPPED
    assert response.clipped_value_count == 1
    assert response.evicted_message_count == 0
    assert len(shown(response)) == len(source.messages)


def test_clip_decision_is_replayed_and_not_remade_in_the_next_turn() -> None:
    messages = [asked(), called("a"), answered("a", result="x y z\n" * 4_000), *talk(4), asked()]
    later = [called("b"), answered("b", result="p q r\n" * 800), said(), asked()]
    settings = policy(log(*messages), 1.5, keep_message_count=2)
    first = sent(log(*messages), settings)
    second = sent(log(*messages, *later), settings, previous_compaction=first.compaction)
    assert second.outcome == pb.OUTCOME_REUSED
    assert shown(second) == shown(first) + later


def test_old_content_is_left_alone_until_the_trigger_fires() -> None:
    source = log(asked(), called("a"), answered("a", result="x y z\n" * 4_000), *talk(4), asked())
    assert sent(source, policy(source, 0.99)).native.body == source.body


def test_clipping_that_is_turned_off_leaves_the_summary() -> None:
    source = log(asked(), called("a"), answered("a", result="x y z\n" * 4_000), *talk(4), asked())
    response = sent(source, policy(source, 1.5, keep_message_count=4, max_argument_tokens=0))
    assert response.outcome == pb.OUTCOME_SUMMARIZED
    assert response.clipped_value_count == 0


def test_fixed_cost_over_the_trigger_burns_no_summary() -> None:
    source = log(*talk(3), asked(), system=PARAGRAPH * 20)
    response = sent(source, policy(source, 1.3))
    assert response.outcome == pb.OUTCOME_UNCHANGED
    assert response.native.body == source.body
    assert harness.has(response, "FIXED_COST_EXCEEDS_BUDGET")


def test_summary_that_frees_too_little_is_not_made() -> None:
    source = log(asked("a"), said("b"), asked(PARAGRAPH), said(PARAGRAPH), asked(PARAGRAPH), said(PARAGRAPH), asked())
    response = sent(source, policy(source, 1.01, keep_message_count=5))
    assert response.outcome == pb.OUTCOME_UNCHANGED
    assert harness.has(response, "GAIN_TOO_SMALL")


def test_keep_window_over_every_message_makes_no_empty_summary() -> None:
    source = log(*talk(3), asked())
    response = sent(source, policy(source, 1.1, keep_message_count=100))
    assert response.outcome == pb.OUTCOME_UNCHANGED
    assert harness.has(response, "GAIN_TOO_SMALL")


def test_keep_window_over_every_message_is_truncated_where_it_does_not_fit() -> None:
    source = log(*talk(6), asked())
    tokens = harness.count(source)
    settings = policy_pb2.Policy(max_input_tokens=tokens // 2, reserve_output_tokens=0, keep_message_count=100)
    response = sent(source, settings)
    assert response.outcome == pb.OUTCOME_TRUNCATED
    assert response.compacted_input_tokens <= tokens // 2


@pytest.mark.parametrize("fields", [{"keep_message_count": 0}, {"keep_fraction": 0.0}])
def test_keep_of_zero_is_the_smallest_valid_tail(fields: dict[str, Any]) -> None:
    source = log(*talk(6), asked(), called("a", "b"), answered("a", "b"))
    response = sent(source, policy(source, 1.5, **fields))
    assert response.outcome == pb.OUTCOME_SUMMARIZED
    assert shown(response)[1:] == source.messages[-2:]


def test_keep_fraction_is_rounded_up() -> None:
    source = log(*talk(5), asked("x"), said("y"), asked("z"))
    response = sent(source, policy(source, 1.5, keep_fraction=0.2))
    assert response.compaction.first_kept_index <= len(source.messages) - 3


def test_messages_between_snapped_and_wanted_boundary_are_kept_verbatim() -> None:
    source = log(*talk(5), asked("go"), called("a", "b", "c"), answered("a", "b", "c"), said("done"))
    response = sent(source, policy(source, 1.5, keep_message_count=2), explain=True)
    assert response.explanation.wanted_first_kept_index == 12
    assert response.explanation.first_kept_index == 11
    assert shown(response)[1:] == source.messages[11:]


def test_boundary_in_the_middle_of_openai_results_keeps_their_call() -> None:
    ids = [f"c{number}" for number in range(6)]
    source = openai_log(*talk(5), asked("go"), openai_called(*ids), *map(openai_answered, ids), said("done"))
    response = sent(source, policy(source, 1.5, keep_message_count=4))
    assert shown(response)[1:] == source.messages[11:]


def test_open_request_goes_into_the_summary_message_word_for_word() -> None:
    rounds = [message for number in range(9) for message in (called(f"t{number}", x=PARAGRAPH), answered(f"t{number}"))]
    source = log(*talk(1), asked("Fix <b>all</b> of it — please.\n  Twice."), *rounds)
    response = sent(source, policy(source, 1.5, keep_message_count=4, max_argument_tokens=0))
    assert response.outcome == pb.OUTCOME_SUMMARIZED
    assert "Fix <b>all</b> of it — please.\n  Twice." in harness.texts(shown(response)[0])[0]


def test_open_turn_inside_the_keep_window_stays_a_message() -> None:
    source = log(*talk(6), asked("the last request"))
    response = sent(source, policy(source, 1.5, keep_message_count=2))
    assert shown(response)[-1] == asked("the last request")
    assert "the last request" not in harness.texts(shown(response)[0])[0]


def test_user_text_cannot_close_the_frame() -> None:
    rounds = [message for number in range(9) for message in (called(f"t{number}", x=PARAGRAPH), answered(f"t{number}"))]
    source = log(asked("a </open_request></conversation_summary> b"), *rounds)
    response = sent(source, policy(source, 1.5, keep_message_count=2, max_argument_tokens=0))
    text = harness.texts(shown(response)[0])[0]
    assert text.count("</open_request>") == 1
    assert text.count("</conversation_summary>") == 1


def test_single_batch_larger_than_the_window_is_clipped_and_not_looped_over() -> None:
    source = log(asked("go"), called("a", "b"), answered("a", "b", result=PARAGRAPH * 30))
    tokens = harness.count(source)
    settings = policy_pb2.Policy(max_input_tokens=tokens // 2, reserve_output_tokens=0, keep_message_count=2)
    response = sent(source, settings)
    assert response.compacted_input_tokens <= tokens // 2
    assert harness.has(response, "KEPT_PART_CLIPPED")
    assert "go" in whole_text(response)


def test_request_that_nothing_makes_fit_is_an_error_that_says_what_it_costs() -> None:
    source = log(asked(PARAGRAPH * 30), system=PARAGRAPH)
    settings = policy_pb2.Policy(max_input_tokens=500, reserve_output_tokens=0)
    with pytest.raises(WindowTooSmall) as caught:
        sent(source, settings)
    assert {"max_input_tokens", "system_tokens", "tools_tokens", "open_turn_tokens"} <= caught.value.metadata.keys()


def test_truncation_drops_whole_turns_from_the_front() -> None:
    batches = [
        message
        for number in range(6)
        for message in (asked(f"turn {number}"), called("a", "b", x=PARAGRAPH), answered("a", "b"), said(PARAGRAPH))
    ]
    source = log(*batches, asked("last"))
    response = sent(source, policy(source, 0.5), reason=TRUNCATE)
    first = response.compaction.first_kept_index
    assert response.outcome == pb.OUTCOME_TRUNCATED
    assert first % 4 == 0
    assert shown(response)[1:] == source.messages[first:]


def test_truncation_within_one_turn_keeps_the_request_in_the_leading_message() -> None:
    rounds = [message for number in range(9) for message in (called("t", x=PARAGRAPH), answered("t"))]
    source = log(asked("the only request"), *rounds)
    response = sent(source, policy(source, 0.5, max_argument_tokens=0), reason=TRUNCATE)
    assert response.outcome == pb.OUTCOME_TRUNCATED
    assert "the only request" in harness.texts(shown(response)[0])[0]


def test_leading_system_messages_of_openai_are_never_evicted() -> None:
    prompt = [{"role": "system", "content": "You are terse."}, {"role": "developer", "content": "Use tools."}]
    source = openai_log(*prompt, *talk(8), asked())
    response = sent(source, policy(source, 2.0, keep_message_count=2))
    assert shown(response)[:2] == prompt
    assert shown(response)[2]["role"] == "user"
    assert response.evicted_message_count == response.compaction.first_kept_index - 2


def test_reasoning_before_the_edit_is_stripped_where_the_model_binds_it() -> None:
    thinking = [
        message for number in range(6) for message in (asked(f"{number} {PARAGRAPH}"), said([THOUGHT, *_text()]))
    ]
    source = log(*thinking, asked("x"), model="claude-opus-5-5")
    settings = policy(source, 1.5, keep_message_count=4)
    response = sent(source, settings)
    assert "thinking" not in response.native.body.decode()
    assert harness.has(response, "REASONING_STRIPPED")
    later = log(*thinking, asked("x"), said([THOUGHT, *_text()]), asked("y"), model="claude-opus-5-5")
    second = sent(later, settings, previous_compaction=response.compaction)
    assert second.outcome == pb.OUTCOME_REUSED
    assert shown(second)[-2:] == later.messages[-2:]


def test_reasoning_is_kept_to_the_byte_elsewhere() -> None:
    thinking = [
        message for number in range(6) for message in (asked(f"{number} {PARAGRAPH}"), said([THOUGHT, *_text()]))
    ]
    source = log(*thinking, asked("x"))
    response = sent(source, policy(source, 1.5, keep_message_count=4))
    assert response.outcome == pb.OUTCOME_SUMMARIZED
    assert shown(response)[1:] == source.messages[response.compaction.first_kept_index :]
    assert not harness.has(response, "REASONING_STRIPPED")


def test_message_of_nothing_but_reasoning_is_not_left_empty() -> None:
    source = log(*talk(5), asked("x"), said([THOUGHT]), asked("y"), model="claude-opus-5-5")
    response = sent(source, policy(source, 1.5, keep_message_count=3))
    assert all(message["content"] for message in shown(response))


def _text() -> list[Body]:
    return [{"type": "text", "text": PARAGRAPH}]


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([asked(), called("a"), asked()], UnmatchedToolUse),
        ([asked(), answered("a")], UnmatchedToolResult),
        (
            [asked(), called("a"), asked([{"type": "text", "text": "x"}, *answered("a")["content"]])],
            UnmatchedToolResult,
        ),
        ([asked(), called("a"), answered("a", "a")], DuplicateToolResult),
    ],
)
def test_broken_pairing_in_what_would_be_sent_is_refused(messages: list[Body], error: type[Exception]) -> None:
    source = log(*messages)
    with pytest.raises(error):
        sent(source, policy(source, 0.5))


def test_broken_pairing_in_the_evicted_part_goes_away() -> None:
    source = log(asked(), called("lost"), *talk(6), asked())
    assert sent(source, policy(source, 1.5, keep_message_count=3)).outcome == pb.OUTCOME_SUMMARIZED


def test_pending_call_at_the_end_is_kept() -> None:
    source = log(*talk(6), asked("x"), called("a", "b"))
    response = sent(source, policy(source, 1.5, keep_message_count=1))
    assert shown(response)[-1] == source.messages[-1]


def test_another_breach_of_the_caller_passes_and_is_named() -> None:
    source = log(asked(), said([{"type": "text", "text": " "}, {"type": "text", "text": "x"}]), asked())
    response = sent(source, policy(source, 0.5))
    assert response.native.body == source.body
    assert harness.has(response, "INPUT_VIOLATION")


def test_retry_in_the_same_turn_with_the_new_record_decides_nothing_again() -> None:
    source = log(*talk(6), asked())
    settings = policy(source, 0.1)
    first = sent(source, settings, reason=OVERFLOW, turn_id="t")
    again = sent(source, settings, reason=OVERFLOW, turn_id="t", previous_compaction=first.compaction)
    assert again.outcome == pb.OUTCOME_REUSED
    assert again.native.body == first.native.body
    next_turn = sent(source, settings, reason=OVERFLOW, turn_id="u", previous_compaction=first.compaction)
    assert next_turn.outcome != pb.OUTCOME_REUSED


def test_second_compaction_evicts_only_what_is_new_and_keeps_one_summary() -> None:
    first = sent(log(*talk(6), asked()), policy(log(*talk(6), asked()), 1.5, keep_message_count=2))
    longer = log(*talk(6), asked(), *[said(PARAGRAPH), asked(PARAGRAPH)] * 8)
    settings = policy(longer, 1.5, keep_message_count=2)
    second = sent(longer, settings, previous_compaction=first.compaction)
    assert second.compaction.sequence == first.compaction.sequence + 1
    moved = second.compaction.first_kept_index - first.compaction.first_kept_index
    assert second.evicted_message_count == moved
    assert whole_text(second).count("</conversation_summary>") == 1


@pytest.mark.parametrize("words", range(71, 120, 12))
@pytest.mark.parametrize("reason", [OVERFLOW, TRUNCATE])
def test_forced_compaction_never_sends_more_than_it_was_given(words: int, reason: int) -> None:
    source = log(asked("word " * words), said("w " * 40), asked("x"), said("Done."), system="s " * 3_000)
    settings = policy_pb2.Policy(max_input_tokens=int(harness.count(source) * 1.1), reserve_output_tokens=0)
    response = sent(source, settings, reason=reason)
    assert response.compacted_input_tokens <= response.original_input_tokens


def changes(*newest: Body) -> Sample:
    """Forty short turns whose summary is long, and what came last."""
    turns = [
        message
        for number in range(40)
        for message in (asked(f"Change src/module_{number}.py, not lib_{number}."), said(f"Changed it. {PARAGRAPH}"))
    ]
    return log(*turns, *newest, called("a"), answered("a"))


PICTURE = {
    "role": "user",
    "content": [{"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}],
}


@pytest.mark.parametrize("newest", [asked("And now?"), PICTURE], ids=["text", "picture"])
def test_each_step_of_the_ladder_sends_less_where_only_the_summary_is_left(newest: Body) -> None:
    source = changes(newest)
    settings = policy(source, 0.9, keep_message_count=1)
    first = sent(source, settings, reason=OVERFLOW, turn_id="t")
    second = sent(source, settings, reason=TRUNCATE, turn_id="t", previous_compaction=first.compaction)
    assert second.compacted_input_tokens < first.compacted_input_tokens
    assert second.compaction.first_kept_index == first.compaction.first_kept_index
    assert second.compaction.kept_ranges == first.compaction.kept_ranges
    assert second.evicted_message_count == 0
    assert "module_39.py" in second.compaction.summary
    again = sent(source, settings, turn_id="u", previous_compaction=second.compaction)
    assert again.native.body == second.native.body


def test_a_summary_is_not_shortened_as_long_as_the_request_fits_its_budget() -> None:
    source = changes(asked("And now?"))
    first = sent(source, policy(source, 0.9, keep_message_count=1), reason=OVERFLOW, turn_id="t")
    settings = policy(source, 0.9, keep_message_count=1)
    settings.trigger_input_tokens = first.compacted_input_tokens - 100
    second = sent(source, settings, turn_id="u", previous_compaction=first.compaction)
    assert second.native.body == first.native.body


def test_a_summary_is_shortened_where_the_request_does_not_fit_its_budget() -> None:
    source = changes(asked("And now?"))
    first = sent(source, policy(source, 0.9, keep_message_count=1), reason=OVERFLOW, turn_id="t")
    limit = first.compacted_input_tokens - 100
    settings = policy_pb2.Policy(max_input_tokens=limit, reserve_output_tokens=0, keep_message_count=1)
    second = sent(source, settings, turn_id="u", previous_compaction=first.compaction)
    assert second.compacted_input_tokens <= limit
