"""What tools were asked and what they answered, one line each.

A line keeps what a reader would want to know later: of a call its command, path, query or arguments; of a failure the
line that names it; of any other answer its beginning and its end, where results and ids stand. Calls and results are
matched by position: ids are used again in later turns, and a result belongs to the nearest call before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from compactor.core.retained import arguments as args
from compactor.core.retained import wording
from compactor.model import FileRecord, ToolOutcome

LONGEST_REQUEST = 160
LONGEST_OUTCOME = 200
MOST_OUTCOMES = 200
UNANSWERED = "no result yet"
_END = 2_048
_BREAK = "\n"
_BRACKETS = "[]{}(),;"

_TELLING_NAMES = (
    "command", "cmd", "file_path", "notebook_path", "target_file", "pattern", "query", "url", "path", "filename",
    "description", "question", "subject", "prompt", "skill", "script", "code", "input",
)  # fmt: skip
_EDITOR_COMMANDS = frozenset(("view", "create", "str_replace", "insert", "undo_edit", "delete", "rename"))
_PATCHES = re.compile(r"^\*\*\* ((?:Add|Update|Delete) File: .+)$", re.MULTILINE)
_CHATTER = re.compile(
    r"^(?:Chunk ID: .*|Wall time: .*|Original token count: .*|Output:|Process exited with code 0|Exit code: 0"
    r"|\[?The command completed with exit code 0\.?\]?|\[Current working directory: .*|\[Python interpreter: .*"
    r"|\[Command finished with exit code 0\]|\(Open file: .*|\(Current directory: .*|bash-\$\s*)$"
)
_LINE_NUMBER = re.compile(r"\s{0,8}[0-9]{1,7}[\t→]")
_SHORT = 140
_TELLING = re.compile(r"(?=[\w./:-]*[0-9_/])[\w./:-]{4,}")
_SIZE = re.compile(r"[0-9,]+ lines(?=\)$)")
_FAILS_AT_ONCE = re.compile(
    r"\s{0,40}(?:[\[{(<*\"']{0,3})(?:(?:Tool )?(?:error|fatal|failure|failed|exception|panic|traceback|abort)\b"
    r"|(?:command|process|script) (?:failed|exited with (?:code |status )?-?[1-9])"
    r"|\"?(?:error|is_error|success|ok)\"?\s?:\s?(?:\"[^\"]|true|false))",
    re.IGNORECASE,
)
_EXIT_STATUS = re.compile(r"exit(?:ed with)?(?: |_)?(?:code|status)[: ]{1,2}(-?[0-9]{1,10})", re.IGNORECASE)
_FAILURE_LINE = re.compile(
    r"error|exception|fail|fatal|panic|denied|not found|no such|cannot|can't|could not|unable|refused|timed out|timeout"
    r"|invalid|undefined|unexpected|abort|reject|conflict|missing",
    re.IGNORECASE,
)
_BAD_OK = re.compile(r"\s{0,40}\{?\s{0,40}\"(?:success|ok)\"\s?:\s?(?:true)", re.IGNORECASE)


class Use(NamedTuple):
    """A tool call: what was asked in a line, the files it touches, and the question if it asks the user something.

    A silent call has no outcome worth a line unless it fails, such as one that only keeps the plan.
    """

    id: str
    tool: str
    request: str
    files: tuple[FileRecord, ...] = ()
    question: str = ""
    silent: bool = False


class Answer(NamedTuple):
    """A tool's answer in a line."""

    id: str
    outcome: str
    is_error: bool
    tool: str = ""


def request(arguments: dict[str, object], text: str) -> str:
    """What a call asks, in a line: its telling argument, else its short arguments by name."""
    telling = args.first_text(arguments, _TELLING_NAMES) if arguments else text
    if telling.lstrip().startswith("*** Begin Patch"):
        return wording.one_line(", ".join(_PATCHES.findall(telling)), LONGEST_REQUEST)
    if not arguments:
        return "" if text.strip() in ("", "{}") else wording.one_line(text, LONGEST_REQUEST)
    if telling == arguments.get("pattern") and isinstance(path := arguments.get("path"), str):
        return wording.one_line(f"{telling} in {path}", LONGEST_REQUEST)
    if telling in _EDITOR_COMMANDS:
        path = args.first_text(arguments, ("path", "file_path"))
        return wording.one_line(f"{telling} {path}", LONGEST_REQUEST)
    if telling:
        return wording.one_line(telling, LONGEST_REQUEST)
    pairs = (f"{name}={value}" for name, value in args.leaves(arguments) if value and len(value) <= 400)
    return wording.one_line(", ".join(pairs), LONGEST_REQUEST)


def answer(text: str, *, is_error: bool) -> tuple[str, bool]:
    """What a result says, in a line, and whether it is a failure."""
    if len(text) <= LONGEST_OUTCOME and "\n" not in text:
        return " ".join(text.split()) or "(empty)", is_error or _failed(text, "")
    head, tail = text[:_END], text[max(_END, len(text) - _END) :]
    if is_error or _failed(head, tail):
        return _failure([*_lines(head.splitlines()), *_lines(tail.splitlines())]), True
    if "\n" not in text:
        return wording.one_line(text, LONGEST_OUTCOME), False
    lines = head.splitlines()
    first = list(islice(_lines(lines), 5))
    if not tail and len(first) < 5:
        whole = " | ".join(first)
        if len(whole) <= LONGEST_OUTCOME:
            return whole or "(empty)", False
    last = next(_lines(reversed(tail.splitlines() if tail else lines)), "")
    half = LONGEST_OUTCOME // 2
    opening = wording.shorten(first[0], half, note="…") if first else ""
    return f"{opening} … {wording.shorten(last, half, note='…')} ({text.count(_BREAK) + 1:,} lines)", False


class Gone(NamedTuple):
    """Words that no longer hold, the place of the message that they stand in, and of the one that says otherwise."""

    place: int
    text: str
    by: int


class Talk(Protocol):
    """The calls and answers in a message."""

    @property
    def uses(self) -> tuple[Use, ...]: ...

    @property
    def answers(self) -> tuple[Answer, ...]: ...


def replaced(messages: Sequence[Talk], later: Sequence[Talk]) -> list[Gone]:
    """The short outcomes in messages, or in those that follow, that a later call of the same kind got another one for.

    Long ones are the beginnings and ends of files and logs: what is not in their line need not be gone.
    """
    asked: dict[str, tuple[str, str]] = {}
    told: dict[tuple[str, str], tuple[int, str]] = {}
    gone: list[Gone] = []
    for place, message in enumerate((*messages, *later)):
        for use in message.uses:
            if use.request:
                asked[use.id] = (use.tool, use.request)
        for given in message.answers:
            question = asked.get(given.id)
            if question is None or given.is_error:
                continue
            before = told.pop(question, None)
            if before and before[1] != given.outcome:
                gone.append(Gone(before[0], before[1], place))
            if len(given.outcome) <= _SHORT and not _SIZE.search(given.outcome):
                told[question] = (place, given.outcome)
    return gone


def answered(messages: Iterable[Talk]) -> frozenset[tuple[str, str]]:
    """What was asked of which tool in messages, and answered there."""
    asked: dict[str, tuple[str, str]] = {}
    found: set[tuple[str, str]] = set()
    for message in messages:
        asked.update((use.id, (use.tool, use.request)) for use in message.uses if use.request)
        found.update(asked[given.id] for given in message.answers if given.id in asked)
    return frozenset(found)


def weight(outcome: ToolOutcome) -> float:
    """How much a line says that nothing else does: a failure, or a short answer with a name or a number of its own."""
    if outcome.outcome in (UNANSWERED, "(empty)"):
        return 0.3
    told = outcome.outcome
    own = len(told) <= _SHORT and any(word not in outcome.request for word in _TELLING.findall(told))
    return 1.5 if outcome.is_error else 2.0 if own and not _SIZE.search(told) else 0.5


def merge(
    messages: Iterable[tuple[tuple[Use, ...], tuple[Answer, ...]]],
) -> tuple[list[ToolOutcome], list[FileRecord], list[str]]:
    """Outcomes of calls, newest first and each once; the files of the calls that did not fail, oldest first;
    the questions that were not answered.
    """
    pairs: list[tuple[Use, Answer | None]] = []
    latest: dict[str, int] = {}
    for uses, answers in messages:
        for given in answers:
            at = latest.get(given.id)
            if at is None:
                pairs.append((Use("", given.tool or "tool", ""), given))
            else:
                pairs[at] = (pairs[at][0], given)
        for use in uses:
            latest[use.id] = len(pairs)
            pairs.append((use, None))
    return (
        _newest(pairs),
        [record for use, given in pairs if use.files and not (given and given.is_error) for record in use.files],
        [use.question for use, given in pairs if use.question and given is None],
    )


def _newest(pairs: list[tuple[Use, Answer | None]]) -> list[ToolOutcome]:
    """The outcomes, newest first; of those that asked the same of the same tool only the newest holds."""
    found: dict[tuple[str, str], ToolOutcome] = {}
    for use, given in reversed(pairs):
        if use.silent and not (given and given.is_error):
            continue
        found.setdefault((use.tool, use.request or use.id), _outcome(use, given))
        if len(found) == MOST_OUTCOMES:
            break
    return list(found.values())


def _outcome(use: Use, given: Answer | None) -> ToolOutcome:
    """The outcome of a call: of a file that was read its size, and what the request says is not said again."""
    if given is None:
        return ToolOutcome(use.tool, use.request, UNANSWERED, is_error=False)
    told = given.outcome
    if not given.is_error and use.files:
        size = _SIZE.search(told) if not any(record.changed for record in use.files) else None
        told = size[0] if size else told.replace(use.request, "…") if len(use.request) > 8 else told
    return ToolOutcome(use.tool, use.request, told, given.is_error)


def _failed(head: str, tail: str) -> bool:
    if "xit" in head or "xit" in tail:
        for end in (head[:400], (tail or head)[-400:]):
            status = _EXIT_STATUS.search(end)
            if status:
                return status[1].lstrip("-0") != ""
    if _FAILS_AT_ONCE.match(head):
        return not _BAD_OK.match(head)
    return "Traceback (most recent call last)" in head[:400] or "Traceback (most recent call last)" in tail


def _failure(lines: list[str]) -> str:
    named = [line for line in lines if _FAILURE_LINE.search(line)]
    if not named:
        return wording.shorten((lines or ["failed"])[-1], LONGEST_OUTCOME, note="…")
    # A stack of calls names its cause last, a compiler or a shell names it first.
    if any(line.startswith("Traceback (most recent") for line in lines):
        return wording.shorten(named[-1], LONGEST_OUTCOME, note="…")
    status = [line for line in named[1:] if _EXIT_STATUS.search(line)]
    told = named[0] if not status or status[0] in named[0] else f"{named[0]} | {status[0]}"
    return wording.shorten(told, LONGEST_OUTCOME, note="…")


def _lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines that say something, each as one line, without what hosts put around an output."""
    for line in lines:
        numbered = _LINE_NUMBER.match(line)
        start = numbered.end() if numbered else 0
        told = " ".join(line[start : start + 2 * LONGEST_OUTCOME].split())
        if told and not _CHATTER.match(told) and told.strip(_BRACKETS):
            yield told
