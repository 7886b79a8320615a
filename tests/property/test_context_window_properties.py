"""Laws of the window that needs no service: what a provider takes, it takes of every window of it, and nothing is lost
that has to stay.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from compactor.model import Format
from hango.compaction import ContextWindow, Windowed
from tests.builders import pairing
from tests.builders.conversations import RANDOMS, Sample, sample

Message = dict[str, Any]


class Case(NamedTuple):
    """A valid request and a window that it may not fit."""

    sample: Sample
    window: ContextWindow


def drawn(random: Random) -> Case:
    chosen = sample(random.choice(tuple(Format)), random)
    messages = json.loads(chosen.body)["messages"]
    tokens = ContextWindow().estimate_tokens(messages)
    window = ContextWindow(
        max_messages=random.randint(1, len(messages) + 2),
        max_tokens=random.choice((0, max(1, int(tokens * random.choice((0.1, 0.3, 0.6, 0.9, 1.2)))))),
        reserve_tokens=0,
        strategy=random.choice(("RECENT", "IMPORTANT", "SUMMARIZE")),
        compaction_threshold=random.randint(1, len(messages) + 2),
        summarizer=random.choice((None, lambda old: f"{len(old)} messages", lambda old: "")),
    )
    return Case(chosen, window)


CASES: st.SearchStrategy[Case] = RANDOMS.map(drawn)


def raw(case: Case) -> list[Message]:
    found: list[Message] = json.loads(case.sample.body)["messages"]
    return found


def own(case: Case, done: Windowed) -> list[Message]:
    """What is left without the summary."""
    return [message for message in done.messages if not done.summary or done.summary not in str(message)]


def is_system(message: Message) -> bool:
    return message["role"] in ("system", "developer")


def is_request(message: Message) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return message["role"] == "user" and not any(block.get("type") == "tool_result" for block in blocks)


@given(CASES)
def test_every_window_is_valid_for_its_provider(case: Case) -> None:
    body = {**json.loads(case.sample.body), "messages": case.window.apply(raw(case)).messages}
    assert pairing.added(case.sample.format, case.sample.body, body) == []


@given(CASES)
def test_what_is_left_is_the_callers_own_in_order_and_the_newest_last(case: Case) -> None:
    messages = raw(case)
    left = own(case, case.window.apply(messages))
    rest = iter(messages)
    assert all(any(message == other for other in rest) for message in left)
    assert left[-1:] == messages[-1:]
    assert messages == raw(case), "the caller's messages were changed"


@given(CASES)
def test_system_messages_and_the_open_request_stay(case: Case) -> None:
    messages = raw(case)
    left = case.window.apply(messages).messages
    if case.sample.format is Format.OPENAI_CHAT:
        assert [*filter(is_system, left)] == [*filter(is_system, messages)]
    assert all(request in left for request in [*filter(is_request, messages)][-1:])


@given(CASES)
def test_only_what_has_to_stay_is_more_than_the_window_has_room_for(case: Case) -> None:
    messages, window = raw(case), case.window
    left = window.apply(messages).messages
    if len(left) <= window.max_messages and (
        not window.max_tokens or window.estimate_tokens(left) <= window.max_tokens - window.reserve_tokens
    ):
        return
    smallest = ContextWindow(max_messages=1).apply(messages).messages
    assert len(left) <= len(smallest) + (window.strategy == "SUMMARIZE")


@given(CASES)
def test_a_window_of_a_window_is_the_same(case: Case) -> None:
    first = case.window.apply(raw(case))
    assert case.window.apply(raw(case)).messages == first.messages
    plain = ContextWindow(
        max_messages=case.window.max_messages,
        max_tokens=case.window.max_tokens,
        reserve_tokens=0,
        strategy="RECENT" if case.window.strategy == "SUMMARIZE" else case.window.strategy,
    )
    once = plain.apply(raw(case)).messages
    assert plain.apply(once).messages == once


@given(CASES)
def test_a_summary_that_is_none_is_named_and_the_messages_are_usable(case: Case) -> None:
    done = case.window.apply(raw(case))
    assert done.messages
    assert not (done.summary and done.error)
    if done.error is not None:
        assert case.window.strategy == "SUMMARIZE"
        assert own(case, done) == done.messages
