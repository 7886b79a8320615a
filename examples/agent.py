"""The scripted agent: says what its script says, and really uses the tools.

What it did is a log of what people asked (`Asked`) and of its own steps (`Step`), in no provider's shape yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from examples.agent_tools import Answer, Desk, use

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user said."""

    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """What the agent said, the tools it called in one batch, and their answers in the same order."""

    text: str
    calls: tuple[Call, ...]
    answers: tuple[Answer, ...]


@dataclass(slots=True)
class Agent:
    """Follows a script at a desk and logs it. `size` is the characters logged so far, calls left out."""

    desk: Desk
    log: list[Asked | Step] = field(default_factory=list)
    size: int = 0

    def hears(self, text: str) -> None:
        """The user speaks; right after a batch it is an interjection that travels with the results."""
        self.log.append(Asked(text))
        self.size += len(text)

    def does(self, text: str, *calls: Call) -> tuple[Answer, ...]:
        """One step: the answers of its calls, in order."""
        answers = tuple(use(self.desk, name, arguments) for name, arguments in calls)
        self.log.append(Step(text, calls, answers))
        self.size += len(text) + sum(len(answer.text) for answer in answers)
        return answers

    @property
    def message_count(self) -> int:
        """Messages of the log in the shape that needs fewest, where the results of a batch share one message."""
        return sum(1 if isinstance(entry, Asked) or not entry.calls else 2 for entry in self.log)


def reading(path: str, offset: int = 1, limit: int = 200) -> Call:
    """A call that reads lines of a file."""
    start = {"offset": offset} if offset > 1 else {}
    return "read_file", {"path": path, **start, "limit": limit}


def searching(pattern: str, path: str = "", **options: int) -> Call:
    """A call that searches."""
    return "search", {"pattern": pattern, **({"path": path} if path else {}), **options}


def planning(items: list[str], done: int) -> Call:
    """A call that sends the whole plan again: `done` items completed, the next one in progress."""
    return "update_plan", {"todos": list(_todos(items, done))}


def _todos(items: list[str], done: int) -> Iterator[dict[str, str]]:
    for number, item in enumerate(items):
        status = "completed" if number < done else "in_progress" if number == done else "pending"
        yield {"id": str(number + 1), "content": item, "status": status}
