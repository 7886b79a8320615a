"""Windows: what is kept of a request where no summary is to stand for the rest (rule R27).

`RECENT` keeps the newest messages that fit. `IMPORTANT` gives the newest half of the room, and the rest of it, from the
newest on, to what the user said and to batches of tool calls with their results; answers in between go. The prompt
always stays, and so does the user's open request. Everything is kept or left out on safe cuts: a window begins where a
person speaks (or the assistant, where the format lets it), and a batch is whole or gone. The hard ceiling on messages
counts system messages that stand among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from compactor.core import boundary
from compactor.core.decision import Plan, Shape
from compactor.core.inspect import checked
from compactor.core.lighten import behind_summary, clipped_kept, stripped
from compactor.core.state import State
from compactor.model import Format, Message, Notice, NoticeCode, Outcome, Role, Strategy

COMFORT = 0.7
"""The share of the target that a window is brought under where tokens trigger, so that it does not move every turn."""

RECENT_SHARE = 0.5
"""The share of the room that goes to the newest messages where important older ones are kept, too."""


@dataclass(frozen=True, slots=True)
class _Room:
    """What the messages of a window may take: estimated tokens and a number of messages, without the prompt."""

    tokens: int
    messages: int | None

    def has(self, tokens: int, messages: int) -> bool:
        return tokens <= self.tokens and (self.messages is None or messages <= self.messages)

    def share(self, part: float) -> _Room:
        return _Room(int(self.tokens * part), None if self.messages is None else max(1, int(self.messages * part)))


def windowed(state: State) -> Plan | None:
    """The plan to keep a window of the messages; None where nothing can be left out."""
    starts = _starts(state)
    if not starts:
        return None
    room = _room(state)
    if state.question.settings.strategy is Strategy.RECENT:
        at = _recent(state, starts, room)
        kept = _asked_before(state, at)
    else:
        at = _recent(state, starts, room.share(RECENT_SHARE))
        kept = _important(state, at, room)
    if len(kept) == at - state.first:
        return None
    return _planned(state, at, kept)


def _room(state: State) -> _Room:
    settings, is_over = state.question.settings, state.before > state.target
    tokens = state.question.room(int(state.target * COMFORT) if is_over else state.target) - state.prompt_tokens
    limits = [most for most in (settings.most_messages, settings.trigger_messages) if most is not None]
    return _Room(tokens, min(limits) - state.question.request.leading if limits else None)


def _starts(state: State) -> list[int]:
    """The positions at which a window may begin, ascending."""
    cuts, asked = state.cuts, state.cuts.request
    if state.question.request.format is Format.OPENAI_CHAT:
        return sorted({*cuts.turns, *cuts.keeps})
    return sorted({*cuts.turns, *(boundary.after(cuts.keeps, asked) if asked is not None else ())})


def _recent(state: State, starts: Sequence[int], room: _Room) -> int:
    """The first start whose window has room, else the last one."""

    def fits(at: int) -> bool:
        asked = _asked_before(state, at)
        return room.has(_tokens(state, asked) + state.suffix[at], len(asked) + state.count - at)

    return next(filter(fits, starts), starts[-1])


def _asked_before(state: State, at: int) -> list[int]:
    """The position of the open request where it stands before a cut; it stays."""
    asked = state.cuts.request
    return [] if asked is None or asked >= at else [asked]


def _important(state: State, at: int, room: _Room) -> list[int]:
    """The positions before a cut that are kept besides: the open request, then what is important, newest first."""
    kept = set(_asked_before(state, at))
    tokens = _tokens(state, kept) + state.suffix[at]
    count = len(kept) + state.count - at
    for unit in reversed(list(_units(state.view.messages, state.first, at))):
        new = [position for position in unit if position not in kept]
        size = _tokens(state, new)
        if new and room.has(tokens + size, count + len(new)):
            kept.update(new)
            tokens, count = tokens + size, count + len(new)
    chosen = sorted(kept)
    if state.question.request.format is not Format.OPENAI_CHAT:
        while chosen and not state.view.messages[chosen[0]].is_request:
            del chosen[0]
    return chosen


def _units(messages: Sequence[Message], first: int, stop: int) -> Iterator[tuple[int, ...]]:
    """What is important before a position: what a person says, and calls with all their results, oldest first."""
    position = first
    while position < stop:
        message = messages[position]
        end = position + 1
        if message.is_request:
            yield (position,)
        elif message.role is Role.ASSISTANT and message.calls:
            open_calls = set(message.call_ids)
            while end < stop and messages[end].results and not messages[end].is_request:
                open_calls.difference_update(messages[end].results)
                end += 1
            if not open_calls and not message.server_calls:
                yield tuple(range(position, end))
        position = end


def _tokens(state: State, positions: Iterable[int]) -> int:
    return sum(state.view.messages[position].tokens for position in positions)


def _planned(state: State, at: int, kept: Sequence[int]) -> Plan:
    """The plan of a window, checked to be possible. Raises WindowTooSmall where the smallest does not fit."""
    question, settings = state.question, state.question.settings
    shape = _shape(state, at, kept)
    shape, notices = stripped(question, shape)
    room = question.room(state.target)
    found, clipped_earlier, is_repaired = behind_summary(question, shape)
    clipped_values = clipped_earlier
    if found.tokens > room:
        shape, (found, clipped_values, _) = clipped_kept(question, shape, room)
    if clipped_values > clipped_earlier:
        notices = (*notices, Notice(NoticeCode.KEPT_PART_CLIPPED, "values of the kept part were clipped to fit"))
    after = question.total(found)
    if after > settings.window:
        raise state.too_small(found.tokens - state.prompt_tokens)
    most = settings.most_messages
    if after > min(settings.trigger, settings.budget) or (most is not None and len(found.messages) > most):
        notices = (*notices, Notice(NoticeCode.FIXED_COST_EXCEEDS_BUDGET, "what has to be kept exceeds the limits"))
    return Plan(
        question=question,
        shape=shape,
        outcome=Outcome.WINDOWED,
        reason=state.reason,
        before=state.before,
        evicted_from=max(question.request.leading, state.shape.first_kept),
        evicted_count=at - state.first - len(kept),
        wanted=state.raw_index(state.wanted),
        boundary_note=f"a window of the strategy {settings.strategy}, without a summary",
        request_text="",
        summary_tokens=0,
        most_summary_tokens=0,
        after=after,
        notices=(*state.notices, *notices, *checked(question, found, is_repaired=is_repaired)),
        clipped_values=clipped_values - clipped_earlier,
    )


def _shape(state: State, at: int, kept: Sequence[int]) -> Shape:
    first_kept = state.raw_index(at)
    shape = replace(
        state.shape,
        first_kept=first_kept,
        pinned=None,
        strategy=state.question.settings.strategy,
        kept=tuple(_ranges([state.view.origins[position] for position in kept])),
        summary="",
    )
    if kept:
        return shape
    if shape.clipped_before <= first_kept:
        shape = replace(shape, clipped_before=0, clip_max_tokens=0, unclipped_tools=())
    return replace(shape, stripped_before=0) if shape.stripped_before <= first_kept else shape


def _ranges(indexes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ascending indexes as half-open ranges.

    >>> list(_ranges([1, 2, 5]))
    [(1, 3), (5, 6)]
    """
    for _, run in groupby(enumerate(indexes), lambda pair: pair[1] - pair[0]):
        members = [index for _, index in run]
        yield members[0], members[-1] + 1
