"""The window that needs no service, the presets, and the budget: the second specification's own examples among them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from compactor.policy import Policy as Checked
from compactor.policy import check
from hango.compaction import (
    PRESETS,
    ContextWindow,
    ModelTokenCounter,
    SimpleTokenCounter,
    TokenBudget,
    policy_of,
    preset,
    window_policy,
)

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def batch(number: int) -> list[Message]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": str(number)},
    ]


CHAT = [
    {"role": "system", "content": "You help."},
    *[say(f"{say.__name__}{number}") for number in (1, 2, 3) for say in (user, assistant)],
    user("user4"),
]


def texts(messages: Sequence[Any]) -> list[str]:
    return [message["content"] for message in messages]


def test_of_eight_messages_with_a_limit_of_five_the_newest_four_stay_behind_the_system_message() -> None:
    left = ContextWindow(max_messages=5).apply(CHAT).messages
    assert texts(left) == ["You help.", "assistant2", "user3", "assistant3", "user4"]


def test_a_window_for_anthropic_begins_where_a_person_speaks() -> None:
    assert texts(ContextWindow(max_messages=4).apply(CHAT[1:]).messages) == ["user3", "assistant3", "user4"]


def test_a_batch_of_calls_and_results_is_whole_or_gone() -> None:
    log = [user("one"), *batch(1), *batch(2), assistant("done"), user("two")]
    for most in range(1, len(log)):
        for strategy in ("RECENT", "IMPORTANT"):
            left = ContextWindow(max_messages=most, strategy=strategy).apply(log).messages
            calls = [call["id"] for message in left for call in message.get("tool_calls", ())]
            assert calls == [message["tool_call_id"] for message in left if message["role"] == "tool"]
            assert left[-1] == log[-1]


def test_important_messages_stay_before_answers() -> None:
    log = [user("q1"), assistant("a1"), user("q2"), *batch(1), assistant("a2"), user("q3"), assistant("a3"), user("q4")]
    left = ContextWindow(max_messages=7, strategy="IMPORTANT").apply(log).messages
    assert [message["content"] for message in left] == ["q1", "q2", None, "1", "q3", "a3", "q4"]


def test_tokens_are_counted_from_the_newest_backwards_with_the_reserve_kept_free() -> None:
    window = ContextWindow(max_tokens=60, reserve_tokens=20, counter=SimpleTokenCounter(1))
    assert window.available_tokens([user("x" * 10)]) == 60 - 20 - 14
    left = window.apply([user("a" * 30), assistant("b" * 5), user("c" * 20)]).messages
    assert texts(left) == ["c" * 20]
    assert window.estimate_tokens(left) <= 40


def test_a_summary_takes_the_place_of_the_oldest() -> None:
    seen: list[int] = []

    def summarize(messages: Sequence[Any]) -> str:
        seen.append(len(messages))
        return "They greeted each other."

    window = ContextWindow(strategy="SUMMARIZE", compaction_threshold=5, summarizer=summarize)
    done = window.apply(CHAT)
    assert seen == [5]
    assert done.summary == "They greeted each other."
    assert done.error is None
    assert texts(done.messages)[0] == "You help."
    assert "They greeted each other." in texts(done.messages)[1]
    assert texts(done.messages)[2:] == ["assistant3", "user4"]
    assert ContextWindow(strategy="SUMMARIZE", summarizer=summarize).apply(CHAT).messages == CHAT


def test_a_summary_that_fails_leaves_the_newest_messages_and_the_error() -> None:
    def down(messages: Sequence[Any]) -> str:
        raise OSError("down")

    for summarizer in (down, lambda messages: " ", None):
        done = ContextWindow(max_messages=5, strategy="SUMMARIZE", compaction_threshold=5, summarizer=summarizer).apply(
            CHAT
        )
        assert done.error is not None
        assert texts(done.messages) == ["You help.", "assistant2", "user3", "assistant3", "user4"]


def test_a_summarizer_may_be_a_coroutine_function() -> None:
    async def summarize(messages: Sequence[Any]) -> str:
        await asyncio.sleep(0)
        return "Short."

    window = ContextWindow(strategy="SUMMARIZE", compaction_threshold=5, summarizer=summarize)
    assert asyncio.run(window.apply_async(CHAT)).summary == "Short."


def test_a_budget_says_what_is_left_and_when_it_is_over() -> None:
    budget = TokenBudget(total=8_000, reserved=2_000)
    assert budget.available == 6_000
    budget.consume(1_500)
    assert (budget.available, budget.is_over) == (4_500, False)
    budget.consume(5_000)
    assert (budget.available, budget.is_over) == (0, True)
    budget.reset()
    assert budget.available == 6_000


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: TokenBudget(total=10, reserved=11),
        lambda: TokenBudget(total=-1),
        lambda: TokenBudget(10).consume(-1),
        lambda: ContextWindow(max_messages=0),
        lambda: ContextWindow(max_tokens=10, reserve_tokens=10),
        lambda: ContextWindow(strategy="LAST"),  # type: ignore[arg-type]
        lambda: ContextWindow().available_tokens([]),
        lambda: SimpleTokenCounter(0),
        lambda: preset("nonsense"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        wrong()


def test_a_model_without_a_tokenizer_is_counted_by_the_fallback() -> None:
    assert ModelTokenCounter("claude-opus-5", SimpleTokenCounter(2)).count("four") == 2


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_is_a_policy_that_the_service_takes(name: str) -> None:
    values = preset(name)
    policy_of(values)
    check(Checked(**{field: value for field, value in values.items() if field != "strategy"}))


def test_the_numbers_of_a_window_are_fields_of_a_policy() -> None:
    made = window_policy(max_messages=100, strategy="SUMMARIZE", compaction_threshold=50, compaction_prompt="Be brief.")
    assert made == {
        "strategy": "SUMMARIZE",
        "max_message_count": 100,
        "reserve_output_tokens": 4_096,
        "trigger_message_count": 50,
        "prompt": "Be brief.",
    }
