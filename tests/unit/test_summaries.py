"""The second effect: who is asked for a summary, what is made of the answers, and that nothing is paid for twice."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from compactor.core.assignment import Assignment, Prompt
from compactor.core.passages import Passage
from compactor.model import NoticeCode, SummarizerUsage
from compactor.ports import Failure, Reply, SummarizerFailed
from compactor.profiles import Profile, profile_of
from compactor.providers.scripted import ScriptedSummarizer
from compactor.stores.memory import MemoryHistory
from compactor.summaries import Limits, NotWritten, Summaries, Task, Written

GOOD = "The loader was read; the parser still drops the last row. Next: mend it."
DOWN = SummarizerFailed("the provider cannot be reached", Failure.UNAVAILABLE)
SOURCE = "\n".join(f"Line {number} of what was said about the loader." for number in range(40))


def count(text: str) -> int:
    return -(-len(text) // 4)


def task(
    *models: str,
    text: str = SOURCE,
    turn: str = "",
    session: str = "",
    most: int = 1_000,
    seconds: float = 60.0,
    **assignment: Any,
) -> Task:
    return Task(
        models=models or ("claude-haiku-4-5",),
        assignment=Assignment(**{"max_tokens": 500, **assignment}),
        passages=lambda: [Passage(text, may_open=True)],
        count=count,
        most_tokens=most,
        subject=text.encode(),
        timeout_seconds=seconds,
        turn_id=turn,
        session_id=session,
        is_stored=bool(session),
    )


def written(summaries: Summaries, *tasks: Task, seconds_left: float | None = None) -> list[Written | NotWritten]:
    """What comes of tasks, one after the other in one process."""

    async def one(wanted: Task) -> Written | NotWritten:
        try:
            return await summaries.write(wanted, seconds_left)
        except NotWritten as error:
            return error

    async def all_of_them() -> list[Written | NotWritten]:
        return [await one(wanted) for wanted in tasks]

    return asyncio.run(all_of_them())


def refused(result: Written | NotWritten) -> NotWritten:
    assert isinstance(result, NotWritten), result
    return result


def test_a_summary_comes_with_what_it_cost() -> None:
    model = ScriptedSummarizer(GOOD)
    (result,) = written(Summaries(model), task())
    assert isinstance(result, Written)
    assert result.text == GOOD
    assert (result.usage.model, result.usage.call_count) == ("claude-haiku-4-5", 1)
    assert result.usage.input_tokens > 0


def test_without_a_provider_nothing_is_written() -> None:
    (result,) = written(Summaries(None), task())
    assert refused(result).notice.code is NoticeCode.SUMMARIZER_FAILED
    assert refused(result).failure is Failure.UNAVAILABLE


@pytest.mark.parametrize("failure", [Failure.UNAVAILABLE, Failure.RATE_LIMITED, Failure.REFUSED, Failure.TIMEOUT])
def test_the_requests_own_model_is_asked_where_the_configured_one_fails(failure: Failure) -> None:
    model = ScriptedSummarizer(SummarizerFailed("no", failure), GOOD)
    (result,) = written(Summaries(model), task("claude-haiku-4-5", "claude-opus-5"))
    assert isinstance(result, Written)
    assert [asked for asked, _ in model.asked] == ["claude-haiku-4-5", "claude-opus-5"]
    assert (result.usage.model, result.usage.call_count) == ("claude-opus-5", 2)


def test_a_key_that_is_refused_for_one_model_is_not_tried_on_the_next() -> None:
    model = ScriptedSummarizer(SummarizerFailed("status 401", Failure.UNAUTHORIZED), GOOD)
    (result,) = written(Summaries(model), task("claude-haiku-4-5", "claude-opus-5"))
    assert refused(result).failure is Failure.UNAUTHORIZED
    assert len(model.asked) == 1


def test_a_rejected_summary_is_not_asked_of_a_dearer_model() -> None:
    model = ScriptedSummarizer("   ", GOOD)
    (result,) = written(Summaries(model), task("claude-haiku-4-5", "claude-opus-5"))
    assert refused(result).notice.code is NoticeCode.SUMMARY_REJECTED
    assert len(model.asked) == 1


def test_a_summary_that_was_cut_off_is_asked_for_once_more_and_shorter() -> None:
    cut = Reply("The loader was", "max_tokens", calls_tool=False, usage=SummarizerUsage("m", 1, 10, 5))
    model = ScriptedSummarizer(cut, GOOD)
    (result,) = written(Summaries(model), task())
    assert isinstance(result, Written)
    assert (result.text, result.usage.call_count) == (GOOD, 2)
    first, second = (prompt.text.rsplit("at most ", 1)[1] for _, prompt in model.asked)
    assert int(second.split()[0]) < int(first.split()[0])


def test_a_summary_over_its_room_is_asked_for_once_more_then_rejected() -> None:
    model = ScriptedSummarizer(GOOD)
    (result,) = written(Summaries(model), task(most=5))
    assert refused(result).notice.code is NoticeCode.SUMMARY_REJECTED
    assert "longer than its room" in refused(result).why
    assert refused(result).usage.call_count == 2  # what was spent is told all the same


def test_the_same_question_is_paid_for_once() -> None:
    model = ScriptedSummarizer(GOOD, "Something else entirely was written now.")
    first, second, other = written(Summaries(model), task(), task(), task(text=SOURCE + "!"))
    assert first == second
    assert other != first
    assert len(model.asked) == 2


class Slow:
    """A model that takes a while, and counts how many ask it at once."""

    def __init__(self, seconds: float = 0.05) -> None:
        self.seconds, self.calls, self.at_once, self.most_at_once = seconds, 0, 0, 0

    async def write(self, model: str, prompt: Prompt, max_output_tokens: int, timeout_seconds: float) -> Reply:
        self.calls += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.at_once -= 1
        return Reply(GOOD, "end_turn", calls_tool=False, usage=SummarizerUsage(model, 1, 10, 5))


def test_twins_that_arrive_together_share_one_call() -> None:
    model = Slow()
    summaries = Summaries(model)

    async def twins() -> list[Written]:
        return await asyncio.gather(*(summaries.write(task(turn=f"t{turn}"), None) for turn in range(8)))

    results = asyncio.run(twins())
    assert model.calls == 1
    assert len(set(results)) == 1


def test_a_caller_that_has_to_go_leaves_the_summary_for_its_retry() -> None:
    model = Slow(0.9)
    summaries = Summaries(model)

    async def hurried() -> Written:
        with pytest.raises(NotWritten) as caught:
            await summaries.write(task(), seconds_left=1.2)
        assert caught.value.failure is Failure.TIMEOUT
        return await summaries.write(task(), None)

    assert asyncio.run(hurried()).text == GOOD
    assert model.calls == 1


def test_a_caller_that_is_cancelled_takes_nobody_with_it() -> None:
    model = Slow()
    summaries = Summaries(model)

    async def one_leaves() -> Written:
        leaving = asyncio.create_task(summaries.write(task(), None))
        staying = asyncio.create_task(summaries.write(task(), None))
        await asyncio.sleep(0.01)
        leaving.cancel()
        return await staying

    assert asyncio.run(one_leaves()).text == GOOD
    assert model.calls == 1


def test_a_deadline_that_leaves_no_time_asks_nobody() -> None:
    model = Slow()
    (result,) = written(Summaries(model), task(), seconds_left=0.3)
    assert refused(result).failure is Failure.TIMEOUT
    assert model.calls == 0


def test_a_turn_that_saw_the_model_fail_does_not_ask_again_the_next_one_does() -> None:
    model = ScriptedSummarizer(DOWN, GOOD)
    first, again, later = written(Summaries(model), task(turn="one"), task(turn="one"), task(turn="two"))
    assert refused(again).why == refused(first).why
    assert isinstance(later, Written)
    assert len(model.asked) == 2


def test_a_call_without_a_turn_asks_again_after_a_failure() -> None:
    model = ScriptedSummarizer(DOWN, GOOD)
    _, again = written(Summaries(model), task(), task())
    assert isinstance(again, Written)


def _replicas(*models: Any) -> list[Summaries]:
    """Processes of their own over one history."""
    shelf = MemoryHistory()
    return [Summaries(model, shelf) for model in models]


def test_another_replica_finds_what_was_written() -> None:
    paid, unpaid = ScriptedSummarizer(GOOD), ScriptedSummarizer("Another text altogether, by the other one.")
    here, there = _replicas(paid, unpaid)
    (first,), (second,) = written(here, task(session="s1")), written(there, task(session="s1"))
    assert first == second
    assert not unpaid.asked


def test_another_replica_finds_that_the_turn_failed() -> None:
    down, up = ScriptedSummarizer(DOWN), ScriptedSummarizer(GOOD)
    here, there = _replicas(down, up)
    (first,), (second,) = written(here, task(session="s1", turn="one")), written(there, task(session="s1", turn="one"))
    assert refused(first).why == refused(second).why
    assert not up.asked
    (third,) = written(there, task(session="s1", turn="two"))
    assert isinstance(third, Written)


def test_sessions_do_not_share_their_histories() -> None:
    here, there = _replicas(ScriptedSummarizer(GOOD), ScriptedSummarizer("Another text altogether, by the other one."))
    (first,), (second,) = written(here, task(session="s1")), written(there, task(session="s2"))
    assert first != second


PROFILES: dict[str, Profile] = {"small": Profile(max_input_tokens=900), "tiny": Profile(max_input_tokens=150)}


def _small(model: Any, limits: Limits = Limits()) -> Summaries:  # noqa: B008 - a value
    return Summaries(model, profile_of=lambda name: PROFILES.get(name) or profile_of(name), limits=limits)


def _long(number: int) -> Task:
    wanted = task("small", text=f"long {number}")
    parts = [
        Passage(f'<message n="{at}" from="user">\nItem-{at} {SOURCE}\n</message>', may_open=True) for at in range(6)
    ]
    return replace(wanted, passages=lambda: parts, session_id="s1", is_stored=True)


def test_what_does_not_fit_the_window_is_summarised_in_parts_and_merged(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedSummarizer(GOOD)
    with caplog.at_level(logging.INFO, "compactor"):
        (result,) = written(_small(model), _long(1))
    assert isinstance(result, Written)
    sent = "\n".join(prompt.text for _, prompt in model.asked)
    assert all(f"Item-{at} " in sent for at in range(6))
    assert "<partial_summary>" in model.asked[-1][1].text
    assert all(count(prompt.system + prompt.text) <= 900 for _, prompt in model.asked)
    assert result.usage.call_count == len(model.asked)
    assert any("part 1 of" in record.getMessage() for record in caplog.records)


def test_no_more_than_so_many_calls_at_once() -> None:
    model = Slow(0.01)
    (result,) = written(_small(model, Limits(max_parallel=2)), _long(2))
    assert isinstance(result, Written)
    assert model.most_at_once == 2


def test_a_summary_that_takes_too_many_calls_is_not_begun() -> None:
    model = ScriptedSummarizer(GOOD)
    (result,) = written(_small(model, Limits(max_calls=3)), _long(3))
    assert refused(result).failure is Failure.REFUSED
    assert "more than 3 calls" in refused(result).why
    assert not model.asked


def test_a_window_without_room_is_said() -> None:
    (result,) = written(_small(ScriptedSummarizer(GOOD)), task("tiny"))
    assert "window is too small" in refused(result).why


def test_one_bad_part_spoils_the_summary() -> None:
    model = ScriptedSummarizer(GOOD, "", GOOD)
    (result,) = written(_small(model), _long(4))
    assert refused(result).notice.code is NoticeCode.SUMMARY_REJECTED


def test_the_previous_summary_is_carried_however_long_it_is() -> None:
    for previous in ("Budget code BC-90125.", "Budget code BC-90125. " + SOURCE):
        model = ScriptedSummarizer(GOOD)
        (result,) = written(_small(model), task("small", previous=previous))
        assert isinstance(result, Written)
        assert "BC-90125" in "\n".join(prompt.text for _, prompt in model.asked)


def test_time_for_all_calls_together_is_bounded() -> None:
    model = Slow(5)
    (result,) = written(Summaries(model), task(seconds=0.6))
    assert refused(result).failure is Failure.TIMEOUT


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5"])
def test_a_model_that_always_thinks_gets_room_for_it(model: str) -> None:
    caps: dict[str, int] = {}

    class Capped(Slow):
        async def write(self, model: str, prompt: Prompt, max_output_tokens: int, timeout_seconds: float) -> Reply:
            caps[model] = max_output_tokens
            return await super().write(model, prompt, max_output_tokens, timeout_seconds)

    written(Summaries(Capped(0)), task(model), task("claude-haiku-4-5"))
    assert caps[model] == caps["claude-haiku-4-5"] + 8_000


@pytest.mark.parametrize(
    "assignment", [{"previous": "x"}, {"prompt": "x"}, {"focus": "x"}], ids=["previous", "prompt", "focus"]
)
def test_whatever_the_summary_depends_on_makes_another_question(assignment: dict[str, str]) -> None:
    assert task(**assignment).key != task().key
    assert task("a").key != task("b").key
    assert task(turn="one").key == task(turn="two").key


def test_a_summary_that_keeps_the_one_before_is_no_echo() -> None:
    before = "\n".join(
        f"- Part {number} of the loader was read, and src/part{number}.py was mended." for number in range(9)
    )
    model = ScriptedSummarizer(f"{before}\n- The parser was rewritten.")
    (result,) = written(Summaries(model), task(previous=before))
    assert isinstance(result, Written)


def test_a_reply_without_end_is_not_looked_at() -> None:
    (result,) = written(Summaries(ScriptedSummarizer("word " * 100_000)), task())
    assert "longer than its source" in refused(result).why


def test_two_sessions_that_say_the_same_are_two_questions() -> None:
    model = ScriptedSummarizer(GOOD, "Another text altogether, by the same model.")
    first, second = written(Summaries(model), task(session="s1"), task(session="s2"))
    assert first != second


def test_a_summary_wanted_anew_is_written_anew() -> None:
    model = ScriptedSummarizer(GOOD, "Another text altogether, by the same model.")
    summaries = Summaries(model)

    async def twice() -> list[str]:
        return [(await summaries.write_anew(task(), None)).text for _ in range(2)]

    first, second = asyncio.run(twice())
    assert first != second
