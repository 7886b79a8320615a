"""Safe cuts and the snap to them (R12, R13)."""

from __future__ import annotations

import pytest

from compactor.core import boundary
from tests.builders.conversations import (
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
from tests.property.harness import indexed

SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def cuts(source: Sample, *, thinking_enabled: bool = False) -> boundary.Cuts:
    request = indexed(source)
    return boundary.cuts(request.messages, request.leading, thinking_enabled=thinking_enabled)


def test_boundary_inside_a_tool_batch_snaps_back() -> None:
    found = cuts(log(asked(), said(), asked(), called("a", "b"), answered("a", "b"), said()))
    assert found.keeps == [1, 3, 5]
    assert boundary.snap(found.keeps, 4) == 3


def test_boundary_between_six_parallel_openai_results_snaps_back() -> None:
    ids = [f"c{number}" for number in range(6)]
    messages = [asked(), said(), asked(), openai_called(*ids), *map(openai_answered, ids), said()]
    found = cuts(openai_log(*messages))
    assert found.keeps == [1, 3, 10]
    assert boundary.snap(found.keeps, 6) == 3


def test_results_split_over_two_messages_are_one_batch_with_their_calls() -> None:
    assert cuts(log(asked(), called("a", "b"), answered("a"), answered("b"), said())).keeps == [1, 4]


def test_ids_reused_in_every_round_close_their_own_calls() -> None:
    rounds = [called("t"), answered("t")] * 4
    assert cuts(log(asked(), *rounds, said())).keeps == [1, 3, 5, 7, 9]


def test_id_reused_while_it_is_open_again_is_not_closed_by_its_earlier_result() -> None:
    found = cuts(log(asked(), called("t"), answered("t"), said(), asked(), called("t"), answered("t")))
    assert found.keeps == [1, 3, 5]


def test_paused_server_tool_is_one_atom_with_its_result() -> None:
    source = log(asked(), said(), asked(), said([SEARCH]), said([FOUND, {"type": "text", "text": "x"}]), asked())
    assert cuts(source).keeps == [1, 3]


def test_second_half_of_a_paused_turn_is_no_cut_even_with_nothing_open() -> None:
    assert cuts(log(asked(), said("one"), said("two"), asked())).keeps == [1]


def test_server_pair_within_one_message_opens_nothing() -> None:
    assert cuts(log(asked(), said([SEARCH, FOUND]), asked(), said())).keeps == [1, 3]


def test_kept_part_never_begins_at_a_message_of_the_user() -> None:
    found = cuts(log(asked(), said(), asked(), said(), asked()))
    assert found.keeps == [1, 3]
    assert found.turns == [2, 4]


def test_result_with_a_fresh_text_beside_it_is_no_turn_start() -> None:
    mixed = answered("a")
    mixed["content"].append({"type": "text", "text": "and now?"})
    found = cuts(log(asked(), called("a"), mixed, said(), asked()))
    assert found.turns == [4]
    assert found.request == 4


def test_system_note_in_the_middle_is_no_cut() -> None:
    note = {"role": "system", "content": [{"type": "text", "text": "be brief"}]}
    assert cuts(log(asked(), note, said(), asked(), note, said())).keeps == [2, 5]


def test_leading_system_messages_are_never_before_a_cut() -> None:
    found = cuts(openai_log({"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, asked(), said()))
    assert found.keeps == [3]
    assert found.turns == []
    assert found.request == 2


def test_call_that_waits_at_the_end_may_begin_the_kept_part() -> None:
    assert cuts(log(asked(), said(), asked(), called("a"))).keeps == [1, 3]


def test_call_that_was_abandoned_does_not_forbid_every_later_cut() -> None:
    assert cuts(log(asked(), called("lost"), asked(), said(), asked(), said())).keeps == [1, 3, 5]
    source = log(asked(), called("lost", "found"), answered("found"), said(), asked(), said())
    assert cuts(source).keeps == [1, 3, 5]


def test_open_turn_with_manual_thinking_is_cut_only_where_it_leads_with_reasoning() -> None:
    thinking = called("b")
    thinking["content"].insert(0, THOUGHT)
    source = log(asked(), said(), asked(), called("a"), answered("a"), thinking, answered("b"), called("c"))
    assert cuts(source, thinking_enabled=True).keeps == [1, 5]
    assert cuts(source).keeps == [1, 3, 5, 7]


@pytest.mark.parametrize(("wanted", "taken"), [(0, 3), (2, 3), (3, 3), (5, 3), (7, 7), (100, 9)])
def test_snap_takes_the_nearest_earlier_cut_and_else_the_next(wanted: int, taken: int) -> None:
    assert boundary.snap([3, 7, 9], wanted) == taken


def test_snap_without_any_cut_is_none() -> None:
    assert boundary.snap([], 5) is None


def test_whole_history_of_one_batch_has_one_cut_at_its_call() -> None:
    assert cuts(log(asked(), called(*"abcdef"), answered(*"abcdef"))).keeps == [1]
