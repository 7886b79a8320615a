"""What every provider demands of a request, as far as the request alone can show it (rule R21).

The functions return violations and raise nothing. Rules have the names of the project's table of provider rules:

    A-1   a call without a result in the next message        A-2   a result whose call is not in the message before
    A-3   a result behind other content of its message       A-4   two results for one call
    A-6   a block in a message of the wrong role             A-8   an empty text
    A-9   a message without content                          A-10  a breakpoint on an empty text
    A-11  a breakpoint on reasoning                          A-12  more than four breakpoints
    A-13  a longer-lived breakpoint behind a shorter one     A-16  the first message is not the user's
    A-28  a system note in the wrong place                   T-4   reasoning without its signature
    OA-1  a call without its tool message                    OA-2  a tool message without its call, or a second one
    OA-3  a message without content                          OA-4  arguments that are no JSON object

Pairing goes by position: a result belongs to the message before it, never to an equal id elsewhere. A call in the very
last message is the caller's right: it waits for an approval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from compactor import errors
from compactor.model import Element, Format, Kind, Message, Role

MAX_BREAKPOINTS = 4


class Violation(NamedTuple):
    """A broken rule, the position of the message that breaks it (-1: none in particular), and the id of the call."""

    rule: str
    position: int
    id: str = ""


PAIRING: dict[str, type[errors.InvalidRequest]] = {
    "A-1": errors.UnmatchedToolUse,
    "OA-1": errors.UnmatchedToolUse,
    "A-2": errors.UnmatchedToolResult,
    "A-3": errors.UnmatchedToolResult,
    "OA-2": errors.UnmatchedToolResult,
    "A-4": errors.DuplicateToolResult,
    "OA-2b": errors.DuplicateToolResult,
}
"""The rules whose breach in the part to be sent is an error of the caller, with the error."""


def violations(format: Format, messages: Sequence[Message]) -> list[Violation]:
    """Every rule that the messages break, alone and together."""
    found = [
        Violation(rule, position)
        for position, message in enumerate(messages)
        if message.breaches
        for rule in message.breaches
        if not _is_tolerated(rule, position, messages)
    ]
    if format is Format.ANTHROPIC_MESSAGES:
        found += _anthropic_pairing(messages)
        found += _order(messages)
    else:
        found += _openai_pairing(messages)
    return found


def _is_tolerated(rule: str, position: int, messages: Sequence[Message]) -> bool:
    """A final message of the assistant may be empty: the model continues it."""
    is_final = position == len(messages) - 1 and messages[position].role is Role.ASSISTANT
    return rule in ("A-8", "A-9") and is_final


def all_answered(messages: Sequence[Message]) -> bool:
    """Whether the results of each message are those of the calls before it, in order, each once: the usual case, found
    at the speed of C. Calls of the last message may be open.
    """
    results_of = [message.results for message in messages]
    if not results_of or results_of[0] or results_of[1:] != [message.call_ids for message in messages][:-1]:
        return False
    return not any(len(results) > 1 and len(set(results)) < len(results) for results in results_of)


def _anthropic_pairing(messages: Sequence[Message]) -> Iterator[Violation]:
    if all_answered(messages):
        return
    open_calls: tuple[str, ...] = ()
    for position, message in enumerate(messages):
        results = message.results
        if open_calls or results:
            is_answered = results == open_calls and (len(results) == 1 or len(set(results)) == len(results))
            if not is_answered:
                yield from _mismatch(open_calls, results, position)
        open_calls = message.call_ids


def _mismatch(calls: Sequence[str], results: Sequence[str], position: int) -> Iterator[Violation]:
    answered, called = Counter(results), set(calls)
    for id, times in answered.items():
        if id not in called:
            yield Violation("A-2", position, id)
        elif times > 1:
            yield Violation("A-4", position, id)
    for id in calls:
        if id not in answered:
            yield Violation("A-1", position - 1, id)


def _order(messages: Sequence[Message]) -> Iterator[Violation]:
    if messages and messages[0].role is not Role.USER and Kind.OPAQUE not in messages[0].kinds[:1]:
        yield Violation("A-16", 0)
    last = len(messages) - 1
    for position in [position for position, message in enumerate(messages) if message.role is Role.SYSTEM]:
        before = messages[position - 1] if position else None
        follows_server_call = before is not None and before.kinds[-1:] == (Kind.SERVER_TOOL_USE,)
        if (
            before is None
            or (before.role is not Role.USER and not follows_server_call)
            or (position < last and messages[position + 1].role is not Role.ASSISTANT)
        ):
            yield Violation("A-28", position)


def _openai_pairing(messages: Sequence[Message]) -> Iterator[Violation]:
    waiting: list[str] = []
    answered: set[str] = set()
    called_at = -1
    for position, message in enumerate(messages):
        if message.role is Role.TOOL:
            for id in message.results:
                if id in waiting:
                    waiting.remove(id)
                    answered.add(id)
                else:
                    yield Violation("OA-2b" if id in answered else "OA-2", position, id)
            continue
        yield from (Violation("OA-1", called_at, id) for id in waiting)
        waiting = [call.id for call in message.calls]
        answered, called_at = set(), position
    if called_at != len(messages) - 1:
        yield from (Violation("OA-1", called_at, id) for id in waiting)


def breakpoint_violations(
    tools: Sequence[Element], system: Sequence[Element], messages: Sequence[Message]
) -> list[Violation]:
    """The rules about breakpoints, over the whole request in the order tools, system, messages."""
    marks = [element.mark for element in (*tools, *system) if element.mark]
    marks += [mark for message in messages if message.marks for mark in message.marks]
    found: list[Violation] = []
    if len(marks) > MAX_BREAKPOINTS:
        found.append(Violation("A-12", -1))
    if "1h" in marks and "5m" in marks and marks.index("5m") < len(marks) - 1 - marks[::-1].index("1h"):
        found.append(Violation("A-13", -1))
    return found


def added(before: Sequence[Violation], after: Sequence[Violation]) -> list[Violation]:
    """The violations of rules that were not broken as often before: those are ours."""
    allowed = Counter(violation.rule for violation in before)
    found: list[Violation] = []
    for violation in after:
        if allowed[violation.rule] > 0:
            allowed[violation.rule] -= 1
        else:
            found.append(violation)
    return found
