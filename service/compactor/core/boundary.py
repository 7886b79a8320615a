"""Where a log may be cut (rules R12, R13).

Theory. Each rule of a provider forbids some positions; what is left when all have spoken is the set of *safe cuts*. A
keep cut is a position at which the kept part may begin behind a summary: the assistant speaks there, nothing that was
begun before is still open, and it is not the second half of a paused turn. A turn start is a message that a person
wrote, with nothing open before it. A wanted boundary snaps to the nearest allowed position with one bisect.

Ids are matched by position, never by a map over the whole log: a call is open from its message until its result, or
until it is abandoned: a person speaks, or the assistant goes on after other results.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from compactor.core.validate import all_answered
from compactor.model import Message, Role


class Cuts(NamedTuple):
    """The positions at which a view may be cut, ascending, and the position of the newest request of the user."""

    keeps: list[int]
    turns: list[int]
    request: int | None


def cuts(messages: Sequence[Message], first: int, *, thinking_enabled: bool) -> Cuts:
    """The safe cuts behind position `first`, which is the first message that may be evicted."""
    asked = [position for position, message in enumerate(messages) if message.is_request and position >= first]
    request = asked[-1] if asked else None
    if all_answered(messages[first:]) and not any(m.server_calls or m.server_results for m in messages[first:]):
        # Nothing is ever open where the assistant speaks.
        speaks = [message.role is Role.ASSISTANT for message in messages]
        keeps = [at for at in range(first + 1, len(messages)) if speaks[at] and not speaks[at - 1]]
        if thinking_enabled and request is not None:
            keeps = [at for at in keeps if at < request or messages[at].opens_with_thinking]
        return Cuts(keeps, [at for at in asked if at > first], request)
    keeps = []
    turns: list[int] = []
    open_calls: set[str] = set()
    open_server: set[str] = set()
    before: Role | None = None
    came_results = False
    for position in range(first, len(messages)):
        message = messages[position]
        role = message.role
        if message.is_request:
            open_calls.clear()
            open_server.clear()
            if position > first:
                turns.append(position)
        elif role is Role.ASSISTANT:
            if came_results:
                open_calls.clear()
            if position > first and before is not Role.ASSISTANT and not open_calls and not open_server:
                is_open_turn = request is not None and position > request
                if not (thinking_enabled and is_open_turn and not message.opens_with_thinking):
                    keeps.append(position)
        calls, results = message.calls, message.results
        if calls:
            open_calls.update(message.call_ids)
        if message.server_calls or message.server_results:
            open_server.update(message.server_calls)
            open_server.difference_update(message.server_results)
        if results:
            open_calls.difference_update(results)
        came_results = bool(results)
        before = role
    return Cuts(keeps, turns, request)


def snap(keeps: Sequence[int], wanted: int) -> int | None:
    """The rightmost safe cut at or before the wanted position, else the next one after it, else None."""
    at = bisect_right(keeps, wanted)
    if at:
        return keeps[at - 1]
    return keeps[0] if keeps else None


def after(allowed: list[int], position: int) -> list[int]:
    """The allowed positions from a position on."""
    return allowed[bisect_left(allowed, position) :]
