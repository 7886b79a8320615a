"""Rule R18: each tool's outcome in a line; calls and results are matched by position."""

from __future__ import annotations

import pytest

from compactor.core.retained import harvest, retain
from compactor.core.retained.outcomes import LONGEST_OUTCOME, UNANSWERED, answer, request
from compactor.model import Content, Kind, Part, Role, ToolOutcome


def call(call_id: str, arguments: str, tool: str = "bash") -> Content:
    return Content(Role.ASSISTANT, (Part(Kind.TOOL_USE, arguments, call_id, tool),))


def result(call_id: str, text: str, *, is_error: bool = False) -> Content:
    return Content(Role.USER, (Part(Kind.TOOL_RESULT, text, call_id, is_error=is_error),))


def outcomes(*messages: Content) -> tuple[ToolOutcome, ...]:
    return retain([harvest(message) for message in messages]).tool_outcomes


def test_outcomes_stand_newest_first() -> None:
    kept = outcomes(
        call("1", '{"command": "make"}'), result("1", "ok"), call("2", '{"command": "ls"}'), result("2", "a b")
    )
    assert kept == (ToolOutcome("bash", "ls", "a b", False), ToolOutcome("bash", "make", "ok", False))


def test_id_used_again_belongs_to_the_nearest_call_before() -> None:
    kept = outcomes(
        call("1", '{"command": "one"}'), result("1", "A"), call("1", '{"command": "two"}'), result("1", "B")
    )
    assert [(outcome.request, outcome.outcome) for outcome in kept] == [("two", "B"), ("one", "A")]


def test_call_without_result_and_result_without_call_are_told() -> None:
    kept = outcomes(result("0", "lost"), call("1", '{"command": "sleep"}'))
    assert kept == (ToolOutcome("bash", "sleep", UNANSWERED, False), ToolOutcome("tool", "", "lost", False))


def test_failure_keeps_the_line_that_names_it() -> None:
    text = "collecting\nstep 1\n" + "noise\n" * 2_000 + "E   ValueError: bad id BC-90125\n1 failed in 0.2s"
    told, failed = answer(text, is_error=True)
    assert failed
    assert "ValueError: bad id BC-90125" in told


def test_stack_of_calls_keeps_its_last_line() -> None:
    text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'x'"
    assert answer(text, is_error=False) == ("KeyError: 'x'", True)


@pytest.mark.parametrize(
    "text",
    [
        "Error: no such user",
        "make: x\n[Command finished with exit code 2]",
        "Process exited with code 127\nOutput:\nfoo: not found",
        '{"error": "denied"}',
        "Command exited with code 1",
    ],
)
def test_failure_is_known_without_a_flag(text: str) -> None:
    assert answer(text, is_error=False)[1]


@pytest.mark.parametrize(
    "text", ["0 errors", "Process exited with code 0\nOutput:\nok", '{"success": true}', "done", ""]
)
def test_success_is_no_failure(text: str) -> None:
    assert not answer(text, is_error=False)[1]


def test_long_result_keeps_its_beginning_its_end_and_its_size() -> None:
    told, _ = answer("\n".join(["first line", *["x" * 50] * 500, "created 9b1d7ff20e5c"]), is_error=False)
    assert told == "first line … created 9b1d7ff20e5c (502 lines)"


def test_outcome_is_one_line_and_bounded() -> None:
    told, _ = answer("# heading\n\n" + "word " * 5_000, is_error=False)
    assert "\n" not in told
    assert len(told) <= LONGEST_OUTCOME + 40


def test_file_that_was_read_is_told_by_its_size() -> None:
    kept = outcomes(call("1", '{"file_path": "/a.py"}', "Read"), result("1", "\n".join(f"line {n}" for n in range(90))))
    assert kept == (ToolOutcome("Read", "/a.py", "90 lines", False),)


def test_keeping_the_plan_is_no_outcome() -> None:
    todo = call("1", '{"todos": [{"content": "x", "status": "pending"}]}', "TodoWrite")
    assert outcomes(todo, result("1", "Todos have been modified")) == ()


def test_request_tells_the_argument_that_matters() -> None:
    assert request({"cmd": "ls -l", "timeout": 5}, "") == "ls -l"
    assert request({"command": "view", "path": "/a"}, "") == "view /a"
    assert request({"pattern": "x.y", "path": "src"}, "") == "x.y in src"
    assert request({"user_id": "mia_3668", "n": 2}, "") == "user_id=mia_3668, n=2"
    assert request({}, "free\ntext") == "free text"
    assert request({}, "*** Begin Patch\n*** Update File: a.py\n+x") == "Update File: a.py"


def test_of_calls_that_asked_the_same_the_newest_answer_holds() -> None:
    first = (call("1", '{"cmd": "make test"}', "shell"), result("1", "3 failed"))
    second = (call("2", '{"cmd": "make test"}', "shell"), result("2", "all passed"))
    assert outcomes(*first, *second) == (ToolOutcome("shell", "make test", "all passed", False),)
