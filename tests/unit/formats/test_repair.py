"""Mending of broken pairing: what is missing is put in, what is too much goes, what is whole keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compactor.formats import anthropic, openai
from compactor.model import Dialect
from tests.builders import pairing
from tests.builders.conversations import (
    Body,
    answered,
    asked,
    called,
    compact,
    openai_answered,
    openai_called,
    said,
)

X = {"type": "text", "text": "x"}


def mended(messages: list[Body], dialect: Dialect = anthropic.DIALECT) -> list[Body]:
    raws = [compact(message) for message in messages]
    found = dialect.repair(raws)
    result = [json.loads(raws[index] if new is None else new) for index, new in found]
    body = {"messages": [asked(), *result]}
    pairs = ("result without its call", "call without its result", "two results for one call")
    assert not [rule for rule in pairing.breaches(dialect.format, body) if rule in pairs]
    assert not [rule for rule in pairing.breaches(dialect.format, body) if "behind" in rule or "empty" in rule]
    again = dialect.repair([compact(message) for message in result])
    assert [new for _, new in again] == [None] * len(result), "what is mended is mended again"
    return result


def results(message: Body) -> list[tuple[str, Any]]:
    return [(b["tool_use_id"], b.get("content")) for b in message["content"] if b["type"] == "tool_result"]


@pytest.mark.parametrize(
    "messages",
    [
        [asked(), called("a", "b"), answered("b", "a"), said()],
        [asked(), called("a")],
        [asked(), said(), asked()],
        [asked(), called("a"), asked([*answered("a")["content"], X]), said()],
    ],
)
def test_whole_log_keeps_every_byte(messages: list[Body]) -> None:
    raws = [compact(message) for message in messages]
    assert anthropic.DIALECT.repair(raws) == [(index, None) for index in range(len(raws))]


def test_missing_result_becomes_a_placeholder() -> None:
    fixed = mended([called("a", "b"), answered("a", result="one"), said()])
    assert [id for id, _ in results(fixed[1])] == ["a", "b"]
    assert results(fixed[1])[0][1] == "one"
    assert mended([called("a"), said()])[1]["role"] == "user"
    assert mended([called("a"), asked("stop")])[1]["content"][-1] == {"type": "text", "text": "stop"}


def test_orphaned_result_becomes_text() -> None:
    fixed = mended([answered("gone", result="worth keeping"), said()])
    assert "worth keeping" in fixed[0]["content"][0]["text"]


def test_of_two_results_the_last_stays() -> None:
    message = asked([*answered("a", result="old")["content"], *answered("a", result="new")["content"]])
    assert results(mended([called("a"), message, said()])[1]) == [("a", "new")]


def test_results_split_over_messages_are_merged() -> None:
    fixed = mended([called("a", "b"), answered("a"), answered("b"), said()])
    assert len(fixed) == 3
    assert [id for id, _ in results(fixed[1])] == ["a", "b"]


def test_results_are_put_first() -> None:
    fixed = mended([called("a"), asked([X, *answered("a")["content"]]), said()])
    assert [block["type"] for block in fixed[1]["content"]] == ["tool_result", "text"]


def test_blank_text_goes_and_leaves_no_message_empty() -> None:
    fixed = mended([said([{"type": "text", "text": " "}, X]), asked([{"type": "text", "text": ""}])])
    assert fixed[0]["content"] == [X]
    assert fixed[1]["content"][0]["text"].strip()


def test_breakpoint_on_reasoning_goes() -> None:
    thought = {"type": "thinking", "thinking": "t", "signature": "s"}
    fixed = mended([said([{**thought, "cache_control": {"type": "ephemeral"}}, X])])
    assert fixed[0]["content"] == [thought, X]


def test_openai_missing_result_becomes_a_placeholder() -> None:
    fixed = mended([openai_called("a", "b"), openai_answered("b", "two"), said()], openai.DIALECT)
    assert [message.get("tool_call_id") for message in fixed] == [None, "a", "b", None]
    assert fixed[2]["content"] == "two"


def test_openai_orphan_becomes_a_message_of_the_user() -> None:
    fixed = mended([openai_answered("gone", "worth keeping"), said()], openai.DIALECT)
    assert fixed[0]["role"] == "user"
    assert "worth keeping" in fixed[0]["content"]


def test_openai_orphan_within_a_batch_stands_behind_it() -> None:
    messages = [openai_called("a"), openai_answered("gone"), openai_answered("a"), said()]
    fixed = mended(messages, openai.DIALECT)
    assert [message["role"] for message in fixed] == ["assistant", "tool", "user", "assistant"]


def test_openai_of_two_results_the_last_stays() -> None:
    messages = [openai_called("a"), openai_answered("a", "old"), openai_answered("a", "new"), said()]
    fixed = mended(messages, openai.DIALECT)
    assert [message.get("content") for message in fixed] == [None, "new", "Done."]


def test_openai_null_result_and_empty_call_list_are_mended() -> None:
    messages = [openai_called("a"), openai_answered("a", None), {"role": "assistant", "content": "x", "tool_calls": []}]
    fixed = mended(messages, openai.DIALECT)
    assert fixed[1]["content"] == ""
    assert fixed[2] == said("x")


def test_openai_message_that_says_nothing_gets_a_word() -> None:
    for message in (asked(""), {"role": "assistant", "content": None}, {"role": "assistant"}, asked([])):
        assert mended([message], openai.DIALECT)[0]["content"]


def test_call_that_waits_at_the_end_stays_open() -> None:
    assert mended([asked(), called("a", "b")])[-1] == called("a", "b")
    assert mended([asked(), openai_called("a")], openai.DIALECT)[-1] == openai_called("a")


def test_reused_ids_are_matched_by_place() -> None:
    fixed = mended([called("a"), answered("a"), called("a"), said(), answered("a"), said()])
    assert results(fixed[3])[0][0] == "a"
    assert "tool_use_id" not in json.dumps(fixed[5])
