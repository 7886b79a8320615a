"""Windows: what is kept of a request where no summary is to stand for the rest (rule R27).

`RECENT` keeps the newest messages that fit. `IMPORTANT` gives the newest half of the room, and the rest of it, from the
newest on, to what the user said and to batches of tool calls with their results; answers in between go. The prompt
always stays, and so do later system messages where the format takes them anywhere, and the user's open request.
Everything is kept or left out on safe cuts: a window begins where a person speaks (or the assistant, where the format
lets it), and a batch is whole or gone. The hard ceiling on messages counts system messages that stand among them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from compactor.core import boundary
from compactor.core.decision import Plan, Shape
from compactor.core.inspect import checked
from compactor.core.lighten import behind_summary, clipped_kept, stripped
from compactor.core.state import State
from compactor.model import Format, Notice, NoticeCode, Outcome, Role, Strategy

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
        kept = _bound(state, at)
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
    stays = _bound(state, state.count)
    tokens = list(accumulate((state.view.messages[position].tokens for position in stays), initial=0))

    def fits(at: int) -> bool:
        count = bisect_left(stays, at)
        return room.has(tokens[count] + state.suffix[at], count + state.count - at)

    return next(filter(fits, starts), starts[-1])


def _bound(state: State, at: int) -> list[int]:
    """The positions before a cut that have to stay: the open request, and system messages in Chat Completions.

    In Anthropic's format such a note has to stand between a user's message and the assistant's; it goes with its turn.
    """
    is_free = state.question.request.format is Format.OPENAI_CHAT
    return [
        position
        for position in range(state.first, at)
        if position == state.cuts.request or (is_free and state.view.messages[position].role is Role.SYSTEM)
    ]


def _important(state: State, at: int, room: _Room) -> list[int]:
    """The positions before a cut that are kept besides: what has to stay, then what is important, newest first."""
    kept = set(_bound(state, at))
    tokens = _tokens(state, kept) + state.suffix[at]
    count = len(kept) + state.count - at
    for unit in reversed(list(_units(state, at))):
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


def _units(state: State, stop: int) -> Iterator[tuple[int, ...]]:
    """What is important before a position: what a person says, and calls with all their results, oldest first."""
    messages, position = state.view.messages, state.first
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
            if not open_calls and not _leans(state, position):
                yield tuple(range(position, end))
        position = end


def _leans(state: State, position: int) -> bool:
    """Whether an assistant's message needs those before or after it: server tools run over several, and with manual
    thinking the open turn begins with its reasoning.
    """
    message, asked = state.view.messages[position], state.cuts.request
    is_open = state.question.request.thinking_enabled and asked is not None and position > asked
    return bool(message.server_calls or message.server_results) or (is_open and not message.opens_with_thinking)


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
        kept=tuple(_ranges(_raw_indexes(state, kept))),
        summary="",
    )
    if kept:
        return shape
    if shape.clipped_before <= first_kept:
        shape = replace(shape, clipped_before=0, clip_max_tokens=0, unclipped_tools=())
    return replace(shape, stripped_before=0) if shape.stripped_before <= first_kept else shape


def _raw_indexes(state: State, kept: Iterable[int]) -> list[int]:
    """The raw messages that positions are made of, ascending.

    Mending makes one message of several, drops some and puts in others; what it took away belongs to what is before it.
    """
    places = {origin: position for position, origin in enumerate(state.view.origins)}
    shown = [*state.shape.kept_before, *range(state.shape.first_kept, len(state.question.request.messages))]
    chosen, place, found = set(kept), -1, []
    for index in shown:
        place = places.get(index, place)
        if place in chosen:
            found.append(index)
    return found


def _ranges(indexes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ascending indexes as half-open ranges.

    >>> list(_ranges([1, 2, 5]))
    [(1, 3), (5, 6)]
    """
    for _, run in groupby(enumerate(indexes), lambda pair: pair[1] - pair[0]):
        members = [index for _, index in run]
        yield members[0], members[-1] + 1
