"""Rule R18: what a model's summary lost is found, and what it holds is not said twice."""

from __future__ import annotations

import pytest

from compactor.core.retained.missing import missing
from compactor.model import FileRecord, Retained, ToolOutcome

EVERYTHING = Retained(
    instructions=("Never touch /etc/passwd.",),
    requests=("Fix the failing test.",),
    identifiers=("9fceb02d", "/srv/app/main.py"),
    files=(FileRecord("src/a.py", changed=True),),
    tool_outcomes=(ToolOutcome("bash", "pytest -q", "3 passed", is_error=False),),
    plan="- [x] read\n- [ ] write",
    open_questions=("Which branch?",),
)


def lost(*texts: str, summary: str) -> tuple[str, ...]:
    return missing(Retained(identifiers=texts), summary).identifiers


def test_summary_that_holds_nothing_loses_nothing_of_it() -> None:
    assert missing(EVERYTHING, "Nothing of use.") == EVERYTHING


def test_summary_that_holds_everything_leaves_nothing() -> None:
    summary = (
        "never touch  /etc/passwd.\nfix the failing\ntest. 9fceb02d, /srv/app/main.py; src/a.py. `pytest -q`: 3 passed."
        " Read, then write. Which branch?"
    )
    assert missing(EVERYTHING, summary) == Retained()


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("a.py", "data.py was read"),
        ("a.py", "a.pyc was removed"),
        ("1.2", "version 1.2.3"),
        ("2.3", "version 1.2.3"),
        ("1234", "order 12345"),
        ("$5", "it costs $50"),
        ("$5", "it costs $5.50"),
        ("5 ms", "it took 15 ms"),
        ("1,000", "1,000,000 rows"),
        ("src/app", "src/app.py"),
        ("src/app", "src/app-old"),
        ("/a.py", "src/a.py"),
        ("/a.py", "./a.py"),
        ("/a.py", "~/a.py"),
        ("build_1", "rebuild_1"),
        ("MAX_SIZE", "MAX_SIZE_BYTES"),
        ("MAX_SIZE", "max_size"),
        ("да", "дата"),
    ],
)
def test_name_inside_a_longer_one_is_lost(text: str, summary: str) -> None:
    assert lost(text, summary=summary) == (text,)


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("a.py", "It is in a.py."),
        ("a.py", "a.py,b.py"),
        ("a.py", "`a.py`"),
        ("a.py", "src/a.py"),
        ("a.py", "a.py:12"),
        ("a.py", "data.py and a.py"),
        ("a.py", "修改了a.py文件"),
        ("a.py", "a.py의 오류"),
        ("src", "src/a.py"),
        ("src/", "src/a.py"),
        ("/etc/passwd", "(/etc/passwd)"),
        ("1.2", "versions 1.2, 1.3"),
        ("1.2", "It is 1.2."),
        ("9fceb02d", "sha:9fceb02d"),
        ("10.0.0.7", "10.0.0.7:5432"),
        ("$5", "US$5"),
        ("用户", "新用户名"),
        ("--flag", "with --flag"),
    ],
)
def test_name_that_stands_by_itself_is_held(text: str, summary: str) -> None:
    assert lost(text, summary=summary) == ()


def test_short_request_is_not_held_by_a_longer_word() -> None:
    state = Retained(requests=("go",), instructions=("ok",), open_questions=("why",))
    assert missing(state, "The token of MongoDB; whyever.") == state


def test_outcome_is_held_with_its_request_only() -> None:
    first, second = (ToolOutcome("write", path, "ok", is_error=False) for path in ("a.py", "b.py"))
    assert missing(Retained(tool_outcomes=(first, second)), "Writing a.py was ok.").tool_outcomes == (second,)


def test_plan_stays_whole_while_a_step_is_lost() -> None:
    plan = "- [x] read [docs] first\n\n- [ ] write"
    assert missing(Retained(plan=plan), "First: write.").plan == plan
    assert missing(Retained(plan=plan), "Read [docs] first, then write.").plan == ""


def test_plan_without_marks_is_compared_as_it_is() -> None:
    plan = "1. fix [a] then b"
    assert missing(Retained(plan=plan), "then b").plan == plan
    assert missing(Retained(plan=plan), "1. Fix [a] then b").plan == ""


def test_empty_things_are_no_loss() -> None:
    assert missing(Retained(identifiers=("",), requests=(" ",), plan="\n"), "") == Retained()
