"""The plan in force: the last to-do list that a tool was given, or the last checklist in the assistant's text.

A list given as a whole replaces what was there (`TodoWrite`, `update_plan`, `write_todos`). Lists that are kept task by
task (`TaskCreate`, `TaskUpdate`) are followed; their tasks are numbered from one in the order of creation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from compactor.core.retained import wording

LONGEST_STEP = 240
MOST_STEPS = 60
LONGEST_PLAN = 3_000

_LIST_NAMES = ("todos", "plan", "todo_list", "tasks", "steps", "items")
_STEP_NAMES = ("content", "step", "title", "subject", "task", "description", "text", "name")
_LIST_TOOL = re.compile(r"plan|todo|task_?list|checklist", re.IGNORECASE)
_TASK_TOOL = re.compile(r"task_?(create|update)$", re.IGNORECASE)
_CHECK = re.compile(r"^[ \t]{0,12}(?:[-*+]|[0-9]{1,3}[.)]) \[[ xX~>-]\] [^\n]+$", re.MULTILINE)
_MARKS = {"completed": "x", "done": "x", "complete": "x", "in_progress": ">", "in-progress": ">", "active": ">"}


class Step(NamedTuple):
    """A change of the plan: `whole` replaces it, else the task with this number is added (0) or gets a status."""

    whole: str = ""
    number: int = 0
    title: str = ""
    status: str = ""


def from_call(tool: str, arguments: dict[str, object]) -> Step | None:
    """The change of the plan that a call makes, if any."""
    task = _TASK_TOOL.search(tool)
    if task:
        return _task(task[1].lower(), arguments)
    if not _LIST_TOOL.search(tool):
        return None
    for name in _LIST_NAMES:
        value = arguments.get(name)
        if isinstance(value, str) and not value.isspace() and value:
            return Step(whole=wording.shorten(value.strip(), LONGEST_PLAN))
        if isinstance(value, list) and value:
            return Step(whole="\n".join(_lines(value[:MOST_STEPS])))
    return None


def from_text(text: str) -> Step | None:
    """The last checklist in a text, if there is one of at least two points."""
    if "[ ] " not in text and "[x] " not in text:
        return None
    points = _CHECK.findall(wording.ends(text, wording.LONGEST_PROSE))
    if len(points) < 2:
        return None
    return Step(whole="\n".join(wording.one_line(point, LONGEST_STEP) for point in points[-MOST_STEPS:]))


def merge(steps: Iterable[Step]) -> str:
    """The plan in force after all changes; empty where there is none."""
    whole = ""
    tasks: list[tuple[str, str]] = []
    for step in steps:
        if step.whole:
            whole, tasks = step.whole, []
        elif not step.number:
            whole = ""
            tasks.append((step.title, step.status))
        elif step.number <= len(tasks):
            title, status = tasks[step.number - 1]
            tasks[step.number - 1] = (step.title or title, step.status or status)
    return whole or "\n".join(
        _line(title, status) for title, status in tasks[-MOST_STEPS:] if status not in ("deleted", "cancelled")
    )


def _task(action: str, arguments: dict[str, object]) -> Step | None:
    title = next((text for name in ("subject", "title") if isinstance(text := arguments.get(name), str)), "")
    status = arguments.get("status")
    if action == "create":
        return Step(title=wording.one_line(title, LONGEST_STEP), status="pending") if title else None
    number = str(arguments.get("taskId", arguments.get("task_id", "")))
    if not (number.isascii() and number.isdigit() and 0 < len(number) < 6):
        return None
    return Step(
        number=int(number),
        title=wording.one_line(title, LONGEST_STEP),
        status=status if isinstance(status, str) else "",
    )


def _lines(steps: Sequence[object]) -> Iterable[str]:
    for step in steps:
        if isinstance(step, str):
            yield _line(step, "")
        elif isinstance(step, dict):
            title = next((text for name in _STEP_NAMES if isinstance(text := step.get(name), str) and text), "")
            status = step.get("status")
            done = step.get("done") is True or step.get("completed") is True
            yield _line(title, "done" if done else status if isinstance(status, str) else "")


def _line(title: str, status: str) -> str:
    return f"- [{_MARKS.get(status.lower(), ' ')}] {wording.one_line(title, LONGEST_STEP)}"
