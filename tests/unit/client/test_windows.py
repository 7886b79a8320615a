"""The window that needs no service, the presets, and the budget: the second specification's own examples among them."""

from __future__ import annotations

import asyncio
import doctest
from collections.abc import Sequence
from typing import Any

import pytest

from compactor.policy import Policy as Checked
from compactor.policy import check
from hango.compaction import (
    PRESETS,
    Client,
    ContextWindow,
    ModelTokenCounter,
    SimpleTokenCounter,
    TokenBudget,
    policy_of,
    preset,
    presets,
    tokens,
    window_policy,
    windows,
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


def long_turn(steps: int) -> list[Message]:
    log: list[Message] = [user("old"), assistant("yes"), user("now")]
    for number in range(steps):
        call = {"type": "tool_use", "id": f"c{number}", "name": "run", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "ok"}
        log += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return log


@pytest.mark.parametrize("strategy", ["RECENT", "IMPORTANT"])
def test_the_open_request_stays_before_a_turn_that_is_too_long(strategy: Any) -> None:
    log = long_turn(30)
    left = ContextWindow(max_messages=7, strategy=strategy).apply(log).messages
    assert len(left) == 7
    assert left[0] == user("now")
    assert left[-1] == log[-1]


def test_a_paused_turn_is_not_halved() -> None:
    begun = {
        "role": "assistant",
        "content": [{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}],
    }
    ended = {"role": "assistant", "content": [{"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}]}
    log = [user("one"), assistant("1"), user("two"), begun, ended, user("three")]
    for strategy in ("RECENT", "IMPORTANT"):
        for most in range(1, 7):
            left = ContextWindow(max_messages=most, strategy=strategy).apply(log).messages
            assert (begun in left) == (ended in left)


def test_an_open_turn_with_thinking_begins_with_its_reasoning() -> None:
    log = long_turn(12)
    for at in range(3, len(log), 6):
        log[at]["content"].insert(0, {"type": "thinking", "thinking": "hm", "signature": "c2ln"})
    for strategy in ("RECENT", "IMPORTANT"):
        for most in range(2, len(log)):
            left = ContextWindow(max_messages=most, strategy=strategy).apply(log).messages
            after = left[left.index(user("now")) + 1]
            assert after["content"][0]["type"] == "thinking"


@pytest.mark.parametrize("made", [None, 5, b"text", ["text"]])
def test_a_summarizer_that_returns_no_text_leaves_the_newest_messages(made: Any) -> None:
    async def later(messages: Sequence[Any]) -> Any:
        return made

    for summarizer in (lambda messages: made, later):
        window = ContextWindow(max_messages=5, strategy="SUMMARIZE", compaction_threshold=5, summarizer=summarizer)
        done = asyncio.run(window.apply_async(CHAT))
        assert isinstance(done.error, TypeError)
        assert texts(done.messages) == ["You help.", "assistant2", "user3", "assistant3", "user4"]


@pytest.mark.filterwarnings("error")
def test_a_coroutine_is_not_left_unawaited() -> None:
    async def summarize(messages: Sequence[Any]) -> str:
        return "Short."

    with pytest.raises(TypeError, match="apply_async"):
        ContextWindow(strategy="SUMMARIZE", compaction_threshold=5, summarizer=summarize).apply(CHAT)


def test_a_failure_is_logged_without_what_it_says(caplog: pytest.LogCaptureFixture) -> None:
    def down(messages: Sequence[Any]) -> str:
        raise OSError("the secret is 1234")

    ContextWindow(strategy="SUMMARIZE", compaction_threshold=5, summarizer=down).apply(CHAT)
    assert "OSError" in caplog.text
    assert "1234" not in caplog.text


def test_a_summary_that_does_not_fit_is_not_used() -> None:
    window = ContextWindow(
        max_tokens=60, reserve_tokens=0, strategy="SUMMARIZE", compaction_threshold=5, summarizer=lambda old: "x" * 900
    )
    done = window.apply(CHAT)
    assert isinstance(done.error, ValueError)
    assert window.estimate_tokens(done.messages) <= 60


def test_a_summary_is_not_made_again_in_the_next_turn() -> None:
    asked: list[int] = []

    def summarize(messages: Sequence[Any]) -> str:
        asked.append(len(messages))
        return "Short."

    window = ContextWindow(strategy="SUMMARIZE", compaction_threshold=20, summarizer=summarize)
    messages: list[Any] = [say(f"{number}") for number in range(15) for say in (user, assistant)]
    for number in range(20):
        messages = [*window.apply(messages).messages, assistant(f"a{number}"), user(f"u{number}")]
    assert len(asked) <= 5


def test_the_bytes_of_an_image_are_no_text() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 400_000}
    image = {"type": "image", "source": source}
    inside = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [image]}]}
    for message in ({"role": "user", "content": [image]}, inside):
        assert ContextWindow().estimate_tokens([message]) < 2_000


def test_a_models_tokenizer_counts_and_takes_no_square_of_the_time() -> None:
    counter = ModelTokenCounter("gpt-4o", SimpleTokenCounter(1))
    assert counter.is_exact
    assert counter.count("antidisestablishmentarianism") == 6
    assert counter.count("<|endoftext|>") > 1
    assert counter.count("\ud800") > 0
    assert 10_000 < counter.count("a" * 1_000_000) < 1_000_000
    assert not ModelTokenCounter("claude-opus-5").is_exact


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: ContextWindow(max_messages=True), "max_messages is True"),
        (lambda: ContextWindow(max_tokens=1.5), "max_tokens is 1.5"),  # type: ignore[arg-type]
        (lambda: ContextWindow(counter=4), "counter is 4"),  # type: ignore[arg-type]
        (lambda: ContextWindow(summarizer="gpt"), "summarizer is 'gpt'"),  # type: ignore[arg-type]
        (lambda: ContextWindow().apply("hello"), "messages is a str"),  # type: ignore[arg-type]
        (lambda: ContextWindow().apply({"role": "user"}), "messages is a dict"),  # type: ignore[arg-type]
        (lambda: ContextWindow().apply([user("x"), {"content": "y"}]), r"messages\[1\] is no message"),
        (lambda: TokenBudget(total="8000"), "total is '8000'"),  # type: ignore[arg-type]
        (lambda: SimpleTokenCounter("4"), "characters_per_token is '4'"),  # type: ignore[arg-type]
    ],
)
def test_what_is_of_the_wrong_kind_is_named(wrong: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        wrong()


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_stands_where_a_policy_does(name: str) -> None:
    log = [say(f"{number} " + "word " * 90) for number in range(150) for say in (user, assistant)]
    body = {"model": "claude-haiku-4-5", "max_tokens": 100, "messages": [*log, user("now")]}
    with Client.in_process(environment={}) as client:
        result = client.compact(body, policy={**preset(name), "history_mode": "OFF"})
        assert client.count_tokens(body, policy=name).input_tokens > 0
    assert result.outcome == "WINDOWED"
    most = PRESETS[name]["max_message_count"]
    assert 1 < len(result.request["messages"]) <= most
    if "max_input_tokens" in PRESETS[name]:
        budget = PRESETS[name]["max_input_tokens"] - PRESETS[name]["reserve_output_tokens"]
        assert result.response.compacted_input_tokens <= budget


@pytest.mark.parametrize("module", [tokens, windows, presets], ids=lambda module: module.__name__)
def test_examples_in_docstrings_are_true(module: Any) -> None:
    done = doctest.testmod(module)
    assert done.attempted
    assert not done.failed
