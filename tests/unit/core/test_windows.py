"""What a window keeps, that the ceiling yields to nothing, and that a later summary tells of all it left out (R27)."""

from __future__ import annotations

from typing import Any

import pytest

from compactor.model import Format
from compactor.providers.scripted import ScriptedSummarizer
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
    compact,
    log,
    openai_answered,
    openai_called,
    openai_log,
    said,
)
from tests.property import harness
from tests.unit.test_writing import compacted, service

RECENT, IMPORTANT = policy_pb2.STRATEGY_RECENT, policy_pb2.STRATEGY_IMPORTANT
BOTH = pytest.mark.parametrize("strategy", [RECENT, IMPORTANT])
PARAGRAPH = "Some words about the matter at hand, neither short nor long. " * 12


def talk(turns: int, words: str = "Words.") -> list[Body]:
    return [message for turn in range(turns) for message in (asked(f"Q{turn} {words}"), said(f"A{turn} {words}"))]


def sent(source: Sample, record: record_pb.Compaction | None = None, **policy: Any) -> pb.CompactResponse:
    reason = policy.pop("reason", record_pb.COMPACTION_REASON_UNSPECIFIED)
    settings = policy_pb2.Policy(prompt_caching=False, **policy)
    response = harness.compact(harness.request(source, policy=settings, previous_compaction=record, reason=reason))
    assert pairing.added(source.format, source.body, response.native.body) == []
    assert not harness.has(response, "OUTPUT_INVALID")
    return response


def shown(response: pb.CompactResponse) -> list[Body]:
    found: list[Body] = harness.value_of(response)["messages"]
    return found


def words(response: pb.CompactResponse) -> list[str]:
    return [" ".join(harness.texts(message)) for message in shown(response)]


def test_a_keep_window_over_every_message_does_not_lift_the_ceiling() -> None:
    response = sent(log(*talk(10), asked("now")), max_message_count=5, keep_message_count=100)
    assert response.outcome == pb.OUTCOME_SUMMARIZED
    assert len(shown(response)) <= 5


def test_a_fixed_cost_over_the_trigger_does_not_lift_the_ceiling() -> None:
    source = log(*talk(10, PARAGRAPH), asked("now"))
    response = sent(source, max_message_count=6, trigger_input_tokens=10)
    assert harness.has(response, "FIXED_COST_EXCEEDS_BUDGET")
    assert 4 <= len(shown(response)) <= 6


def test_a_summary_that_frees_too_little_does_not_lift_the_ceiling() -> None:
    source = log(*talk(10), asked("now"))
    tokens = harness.count(source)
    response = sent(source, max_message_count=5, trigger_input_tokens=tokens - 1, min_gain_fraction=0.9)
    assert len(shown(response)) <= 5


def test_the_ceiling_holds_where_a_person_alone_has_spoken() -> None:
    response = sent(log(*[asked(f"{number} {PARAGRAPH}") for number in range(9)]), max_message_count=4)
    assert len(shown(response)) <= 4
    assert response.outcome == pb.OUTCOME_TRUNCATED


@BOTH
def test_a_batch_larger_than_the_ceiling_goes_out_whole_and_is_not_worked_on_again(strategy: int) -> None:
    ids = [f"c{number}" for number in range(6)]
    source = openai_log(
        asked("old"), said("yes"), asked("now"), openai_called(*ids), *[openai_answered(id, "x" * 60_000) for id in ids]
    )
    first = sent(source, strategy=strategy, max_message_count=4, max_input_tokens=10**6)
    assert [message["role"] for message in shown(first)] == ["user", "assistant", *["tool"] * 6]
    assert harness.has(first, "FIXED_COST_EXCEEDS_BUDGET")
    again = sent(source, first.compaction, strategy=strategy, max_message_count=4, max_input_tokens=10**6)
    assert again.outcome == pb.OUTCOME_REUSED
    assert shown(again) == shown(first)


@BOTH
def test_later_system_messages_stay_where_the_format_takes_them_anywhere(strategy: int) -> None:
    late = {"role": "developer", "content": "Be brief from now on."}
    head = {"role": "system", "content": "You help."}
    response = sent(openai_log(head, *talk(3), late, *talk(8), asked("now")), strategy=strategy, max_message_count=6)
    assert late in shown(response)
    assert shown(response)[0] == head
    assert len(shown(response)) <= 6


def test_an_open_turn_with_thinking_begins_with_its_reasoning_after_gaps() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    steps: list[Body] = []
    for number in range(12):
        call = called(f"c{number}")
        if number % 3 == 0:
            call["content"].insert(0, thought)
        steps += [call, answered(f"c{number}", result=f"{number} {PARAGRAPH}")]
    source = log(asked("old"), said("yes"), asked("now"), *steps)
    body = {**source.value, "max_tokens": 3_000, "thinking": {"type": "enabled", "budget_tokens": 1_024}}
    source = Sample(source.format, body, compact(body))
    for most in range(4, 26):
        kept = shown(sent(source, strategy=IMPORTANT, max_message_count=most))
        at = max(index for index, message in enumerate(kept) if message == asked("now"))
        assert kept[at + 1]["content"][0]["type"] == "thinking"


def test_reasoning_before_the_window_is_stripped_where_a_signature_binds_what_came_before() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    call = called("c0")
    call["content"].insert(0, thought)
    source = log(*talk(3), asked("do"), call, answered("c0", result="done"), *talk(6), asked("now"))
    response = sent(source, strategy=IMPORTANT, max_message_count=14, reasoning=policy_pb2.REASONING_STRIP)
    kinds = [block["type"] for message in shown(response) for block in pairing.blocks_of(message)]
    assert "tool_use" in kinds
    assert "thinking" not in kinds
    assert harness.has(response, "REASONING_STRIPPED")


def test_what_mending_puts_into_a_batch_is_no_range_of_the_record() -> None:
    orphan = openai_answered("ghost", "nobody asked")
    source = openai_log(
        asked("old"), openai_called("c1", "c2"), openai_answered("c2", "two"), orphan, *talk(5), asked("now")
    )
    policy = {"strategy": IMPORTANT, "max_message_count": 14, "repair": policy_pb2.REPAIR_SYNTHESIZE}
    first = sent(source, **policy)
    assert first.outcome == pb.OUTCOME_WINDOWED
    assert "two" in words(first)
    again = sent(source, first.compaction, **policy)
    assert again.outcome == pb.OUTCOME_REUSED
    assert shown(again) == shown(first)


def test_a_summary_after_a_window_counts_and_tells_what_the_window_kept() -> None:
    source = log(*talk(20), asked("now"))
    first = sent(source, strategy=IMPORTANT, max_message_count=12)
    kept = sum(kept.stop - kept.start for kept in first.compaction.kept_ranges)
    assert kept
    assert first.evicted_message_count == first.compaction.first_kept_index - kept
    second = sent(source, first.compaction, max_message_count=3)
    stays = len(shown(second)) - 1
    assert first.evicted_message_count + second.evicted_message_count + stays == len(source.messages)


def test_a_model_is_told_what_windows_left_out_before() -> None:
    said_first = "The lighthouse is called Rauher Berg."
    messages = [asked(said_first), said("Noted."), *talk(12, PARAGRAPH), asked("now")]
    sent_body: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 100, "messages": messages}
    model = ScriptedSummarizer("They talked about the matter at hand, and went on with it.")
    by = service(model)
    first = compacted(by, sent_body, policy=policy_pb2.Policy(strategy=RECENT))
    assert first.outcome == pb.OUTCOME_WINDOWED
    assert not model.asked
    sent_body["messages"] = [*messages, said("A"), *talk(8, PARAGRAPH), asked("then")]
    second = compacted(by, sent_body, previous_compaction=first.compaction, turn_id="two")
    assert second.outcome == pb.OUTCOME_SUMMARIZED
    assert any(said_first in prompt.text for _, prompt in model.asked)


@BOTH
def test_truncation_of_a_window_leaves_messages_out_and_clips_none(strategy: int) -> None:
    source = log(asked("do"), called("c1"), answered("c1", result="x" * 9_000), *talk(9, PARAGRAPH), asked("now"))
    response = sent(source, strategy=strategy, max_input_tokens=10**6, reason=record_pb.COMPACTION_REASON_TRUNCATE)
    assert response.outcome == pb.OUTCOME_WINDOWED
    assert response.compacted_input_tokens <= response.original_input_tokens // 2
    assert response.clipped_value_count == 0


def test_evicted_originals_of_a_window_go_to_the_history() -> None:
    source = log(asked("The lighthouse is called Rauher Berg."), *talk(9)[1:], asked("now"))
    response = sent(source, strategy=RECENT, max_message_count=4)
    assert "Rauher Berg" in response.history.markdown
    assert not any("Rauher Berg" in text for text in words(response))


def test_the_reserve_is_kept_free_of_the_window() -> None:
    source = log(*talk(30, PARAGRAPH), asked("now"))
    window, reserve = harness.count(source) // 2, harness.count(source) // 4
    policy = {"strategy": RECENT, "trigger_fraction": 1.0, "max_input_tokens": window}
    with_reserve = sent(source, reserve_output_tokens=reserve, **policy)
    without = sent(source, reserve_output_tokens=0, **policy)
    assert with_reserve.compacted_input_tokens <= window - reserve
    assert window - reserve < without.compacted_input_tokens <= window


@pytest.mark.parametrize("format", list(Format))
def test_important_leaves_answers_out_before_questions(format: Format) -> None:
    make = log if format is Format.ANTHROPIC_MESSAGES else openai_log
    response = sent(make(*talk(12), asked("now")), strategy=IMPORTANT, max_message_count=12)
    kept = words(response)
    assert kept[-1] == "now"
    older = kept[: response.compaction.first_kept_index and -(25 - response.compaction.first_kept_index)]
    assert older
    assert all(text.startswith("Q") for text in older)
