"""What every provider demands, found in an index alone (R21)."""

from __future__ import annotations

from typing import Any

import pytest

from compactor.core import validate
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

NOTE = {"role": "system", "content": [{"type": "text", "text": "be brief"}]}
MARK = {"cache_control": {"type": "ephemeral"}}
LONG_MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def violations(source: Sample) -> list[validate.Violation]:
    request = indexed(source)
    found = validate.violations(request.format, request.messages)
    return found + validate.breakpoint_violations(request.tools, request.system, request.messages)


def rules(source: Sample) -> list[str]:
    return sorted(violation.rule for violation in violations(source))


def text(words: str = "x", **members: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **members}


def test_valid_log_breaks_nothing() -> None:
    source = log(asked(), called("a", "b"), answered("b", "a"), said(), asked(), called("a"), answered("a"))
    assert rules(source) == []


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ([asked(), called("a"), asked()], "A-1"),
        ([asked(), called("a"), said()], "A-1"),
        ([asked(), called("a", "b"), answered("a"), said()], "A-1"),
        ([answered("a"), said()], "A-2"),
        ([asked(), said(), answered("a")], "A-2"),
        ([asked(), called("a"), answered("a"), said(), answered("a")], "A-2"),
        ([asked(), called("a"), asked([text(), answered("a")["content"][0]])], "A-3"),
        ([asked(), called("a"), answered("a", "a")], "A-4"),
        ([asked(), said(answered("a")["content"])], "A-6"),
        ([asked(called("a")["content"])], "A-6"),
        ([asked([text("  \n")])], "A-8"),
        ([asked("")], "A-8"),
        ([asked([])], "A-9"),
        ([asked([text(" ", **MARK)])], "A-10"),
        ([asked(), said([{"type": "thinking", "thinking": "t", "signature": "s", **MARK}, text()]), asked()], "A-11"),
        ([asked([text(**MARK)] * 5)], "A-12"),
        ([asked([text(**MARK), text(**LONG_MARK)])], "A-13"),
        ([said(), asked()], "A-16"),
        ([NOTE, said(), asked()], "A-28"),
        ([asked(), said(), NOTE], "A-28"),
        ([asked(), NOTE, asked()], "A-28"),
        ([asked(), said([{"type": "thinking", "thinking": "t"}, text()]), asked()], "T-4"),
    ],
)
def test_broken_rule_is_named(broken: list[Any], rule: str) -> None:
    assert rule in rules(log(*broken))


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ([asked(), openai_called("a"), asked()], "OA-1"),
        ([asked(), openai_called("a", "b"), openai_answered("a"), said()], "OA-1"),
        ([asked(), openai_called("a", "b"), openai_answered("a")], "OA-1"),
        ([asked(), openai_answered("a")], "OA-2"),
        ([asked(), said(), openai_answered("a"), openai_called("a")], "OA-2"),
        ([asked(), openai_called("a"), openai_answered("a"), openai_answered("a")], "OA-2b"),
        ([asked(), {"role": "assistant", "content": None}], "OA-3"),
        ([asked(), {"role": "assistant", "content": "x", "tool_calls": []}], "OA-3"),
        ([asked("")], "OA-3"),
    ],
)
def test_broken_rule_of_openai_is_named(broken: list[Any], rule: str) -> None:
    assert rule in rules(openai_log(*broken))


@pytest.mark.parametrize("arguments", ["", "{", "[]", "null", "7"])
def test_arguments_that_are_no_object_are_named(arguments: str) -> None:
    call = openai_called("a")
    call["tool_calls"][0]["function"]["arguments"] = arguments
    assert rules(openai_log(asked(), call, openai_answered("a"))) == ["OA-4"]


def test_call_at_the_very_end_waits_for_an_approval() -> None:
    assert rules(log(asked(), called("a", "b"))) == []
    assert rules(openai_log(asked(), openai_called("a", "b"))) == []


def test_empty_message_of_the_assistant_at_the_end_is_its_beginning() -> None:
    assert rules(log(asked(), said([]))) == []
    assert "A-9" in rules(log(asked(), said([]), asked()))


def test_null_content_beside_calls_is_fine() -> None:
    assert rules(openai_log(asked(), openai_called("a"), openai_answered("a", ""))) == []


def test_result_matches_the_message_before_and_no_equal_id_elsewhere() -> None:
    source = log(asked(), called("a"), answered("a"), called("b"), answered("a"), said())
    found = violations(source)
    assert [(violation.rule, violation.position, violation.id) for violation in found] == [
        ("A-2", 4, "a"),
        ("A-1", 3, "b"),
    ]


def test_result_before_its_call_is_no_answer_to_it() -> None:
    assert rules(log(asked(), answered("a"), called("a"), asked())) == ["A-1", "A-2"]


def test_same_roles_side_by_side_are_fine() -> None:
    assert rules(log(asked(), asked(), said(), said(), asked())) == []


def test_breach_that_was_there_before_is_not_ours() -> None:
    before = [validate.Violation("A-8", 3)]
    assert validate.added(before, [validate.Violation("A-8", 1)]) == []
    again = [validate.Violation("A-8", 1), validate.Violation("A-8", 2)]
    assert validate.added(before, again) == [validate.Violation("A-8", 2)]


def test_four_breakpoints_longest_first_are_fine() -> None:
    tools = [{"name": "read_file", **LONG_MARK}]
    system = [text(**LONG_MARK)]
    assert rules(log(asked([text(**MARK), text(**MARK)]), tools=tools, system=system)) == []


def test_breakpoint_inside_a_result_counts() -> None:
    marked = [text(**MARK), text(**MARK), text(**MARK)]
    source = log(asked(), called("a"), answered("a", result=marked, **MARK), said([text(**MARK)]), asked())
    assert rules(source) == ["A-12"]
