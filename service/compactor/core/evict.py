"""Leaving out the oldest messages: where the kept part begins, what stands before it, and whether that can be sent.

Behind a summary the boundary snaps to a safe cut, and moves on from cut to cut while the kept part is too large.
Truncation drops whole turns from the front; inside the open turn it drops whole batches, and the user's request goes
into the leading message; with nothing left to drop, the summary in force is shortened. Values of the kept part are
clipped only if all that was not enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from compactor.core import boundary, briefing
from compactor.core.decision import Plan, Shape
from compactor.core.inspect import checked
from compactor.core.lighten import behind_summary, clipped_kept, stripped
from compactor.core.state import State
from compactor.model import Kind, Notice, NoticeCode, Outcome, Strategy

COMFORT = 0.7
"""The share of the target that a summary should bring a request under, so that the next turns do not trigger again."""

SUMMARY_SHARE = 3
"""A summary takes at most the third part of what it stands for."""

LEAST_WORDS = 40
"""Tokens of a summary below which it says nothing; a cut that frees no more is no cut."""

FRAME_SLACK = 8
"""Tokens by which a text may count more inside its frame than by itself."""

LEAST_SUMMARY = 120
"""Tokens that a summary gets even where it stands for little."""

_LONGEST_PATH = "/conversation_history/" + "x" * 64 + ".md"


def summarized(state: State) -> Plan | None:
    """The plan to put a summary in the place of the oldest messages (R13 to R15); None where there is no safe cut."""
    keeps, wanted, target = state.cuts.keeps, state.wanted, state.target
    snapped = boundary.snap(keeps, wanted)
    if snapped is None:
        return None
    leads = _leads(state)
    behind = boundary.after(keeps, snapped)
    cuts = [cut for cut in behind if _is_worth(state, cut, leads)]
    if not cuts:
        return None
    has_say = state.question.settings.keep_messages is not None
    aims = [target if has_say else int(target * COMFORT), target]
    if state.exceeds_ceiling and not state.is_forced:
        aims.append(state.question.settings.budget)  # a fixed cost over the trigger is no reason to keep fewer messages
    at = cuts[-1]
    for aim in aims:
        fitting = next((cut for cut in cuts if _is_few(state, cut) and _fits_at(state, cut, leads, aim)), None)
        if fitting is not None:
            at = fitting
            break
    return _planned(state, at, leads, _boundary_note(snapped, wanted, at), Outcome.SUMMARIZED)


def truncated(state: State) -> Plan | None:
    """The plan to drop whole oldest turns until the request fits (R22); None where there is nothing to drop."""
    note = "whole oldest turns were dropped until the rest fits"
    return _dropped(state, state.target, note, Outcome.TRUNCATED)


def windowed(state: State) -> Plan | None:
    """The plan to keep the newest messages that fit with some room to grow; None where there is nothing to drop."""
    note = "the newest messages that fit were kept, because there is no summary"
    return _dropped(state, int(state.target * COMFORT), note, Outcome.WINDOWED)


def _dropped(state: State, aim: int, note: str, outcome: Outcome) -> Plan | None:
    cuts, room = state.cuts, state.question.room(aim) - state.prompt_tokens
    positions: Sequence[int] = cuts.keeps
    if cuts.request is not None:
        turns = [position for position in cuts.turns if position <= cuts.request]
        positions = turns + boundary.after(cuts.keeps, cuts.request)
    leads = _leads(state)
    positions = [at for at in positions if _is_worth(state, at, leads)]
    if not positions:
        return None
    fitting = (at for at in positions if _is_few(state, at) and state.suffix[at] + leads(at) <= room)
    return _planned(state, next(fitting, positions[-1]), leads, note, outcome)


def shortened(state: State) -> Plan | None:
    """The plan to write the summary in force anew, shorter, where no message is left to evict (R22); None where there
    is no summary, or too little of it to be worth the change. At most half of it goes as long as the budget has room.
    """
    leads = _leads(state)
    if leads.words <= LEAST_WORDS + FRAME_SLACK:
        return None
    at = state.first + (state.shape.pinned is not None)
    plan = _planned(state, at, leads, "no message can be evicted; the summary was shortened", Outcome.TRUNCATED)
    words, scale = max(plan.summary_tokens, leads.words // 2), state.question.scale
    after = plan.after + scale.up(words) - scale.up(plan.summary_tokens)
    if after > state.question.settings.budget:
        return plan
    return replace(plan, summary_tokens=words, most_summary_tokens=words, after=after)


def floor(state: State) -> int:
    """Real tokens of what no compaction takes away: system, tools, the open request and the last step."""
    question, cuts = state.question, state.cuts
    last = cuts.keeps[-1] if cuts.keeps else cuts.turns[-1] if cuts.turns else state.first
    asked = cuts.request
    request_tokens = state.view.messages[asked].tokens if asked is not None and asked < last else 0
    return question.scale.whole(question.fixed_tokens + state.prompt_tokens + request_tokens + state.suffix[last])


def gain(state: State) -> int:
    """Real tokens that a summary up to the wanted boundary frees: what is evicted, less what the summary grows by."""
    at = boundary.snap(state.cuts.keeps, state.wanted)
    if at is None:
        return 0
    evicted = state.suffix[state.first] - state.suffix[at]
    return state.question.scale.up(max(0, _leads(state).frees(at) - evicted // SUMMARY_SHARE))


def _boundary_note(snapped: int, wanted: int, at: int) -> str:
    if at != snapped:
        return "moved forward so that the kept part fits"
    if snapped > wanted:
        return "no safe cut before the wanted boundary; the next one after it"
    return "the wanted boundary is a safe cut" if snapped == wanted else "moved back to the nearest safe cut"


def _is_worth(state: State, at: int, leads: _Leads) -> bool:
    """Whether a cut frees tokens, or messages where it is those that are too many."""
    return leads.frees(at) > LEAST_WORDS or (state.has_too_many and at - state.first > 1)


def _is_few(state: State, at: int) -> bool:
    """Whether a cut leaves no more messages than the trigger allows."""
    settings, left = state.question.settings, state.count - at + 1
    if settings.trigger_messages is not None and left > settings.trigger_messages:
        return False
    asked = state.cuts.request
    pinned = asked is not None and asked < at and _open_request(state, at).pinned is not None
    return settings.most_messages is None or state.question.request.leading + pinned + left <= settings.most_messages


def _fits_at(state: State, at: int, leads: _Leads, target: int) -> bool:
    """Whether a request cut there fits with a summary of fair size."""
    room = state.question.room(target) - state.prompt_tokens
    fair = min(_ideal_summary(state, at), max(LEAST_SUMMARY, room // 10))
    return state.suffix[at] + leads(at) + fair <= room


@dataclass(frozen=True, slots=True)
class _Leads:
    """Estimated tokens of what leads a cut without the summary in it: with the open request where the cut evicts it, or
    without.
    """

    state: State
    without: int
    within: int

    def __call__(self, at: int) -> int:
        asked = self.state.cuts.request
        return self.without if asked is not None and asked >= at else self.within

    def frees(self, at: int) -> int:
        """What a cut frees: the messages that it evicts, less what has to stand in their place that does not yet."""
        return self.state.suffix[self.state.first] - self.state.suffix[at] - (self(at) - self.stands)

    @property
    def stands(self) -> int:
        """What of it stands in the view already, in the summary message in force."""
        if self.state.view.summary_at is None:
            return 0
        return self.without if self.state.cuts.request is not None else self.within

    @property
    def words(self) -> int:
        """Tokens of the summary in force, frame not included."""
        at = self.state.view.summary_at
        return 0 if at is None else max(0, self.state.view.messages[at].tokens - self.stands)


def _leads(state: State) -> _Leads:
    means, open_request = state.question.means, _open_request(state, state.count)

    def size(request: str) -> int:
        framed = briefing.frame("", history_path=_LONGEST_PATH, request=request)
        return means.read(means.dialect.user_message(framed)).tokens

    without = size("")
    if open_request.pinned is None:
        return _Leads(state, without, size(open_request.text))
    return _Leads(state, without, without + state.question.request.messages[open_request.pinned].tokens)


def _ideal_summary(state: State, at: int) -> int:
    """Estimated tokens that the summary of a cut should get: a share of the raw messages that it stands for, however
    often they were summarised before, up to its own limits.
    """
    settings, scale, request = state.question.settings, state.question.scale, state.question.request
    most = scale.down(settings.summary_max_tokens + settings.retained_max_tokens)
    evicted_before = sum([message.tokens for message in request.messages[request.leading : state.shape.first_kept]])
    evicted = evicted_before + state.suffix[state.first] - state.suffix[at]
    return min(most, max(LEAST_SUMMARY, evicted // SUMMARY_SHARE))


class _OpenRequest(NamedTuple):
    """The user's newest request where a cut evicts it: its text, or its raw index where it holds more than text."""

    text: str = ""
    pinned: int | None = None


def _open_request(state: State, at: int) -> _OpenRequest:
    """The user's newest request where a cut evicts it and none is kept behind it (R14); else nothing."""
    request, dialect = state.question.request, state.question.means.dialect
    asked = state.cuts.request
    if asked is not None and asked >= at:
        return _OpenRequest()
    for index in range(state.raw_index(at) - 1, request.leading - 1, -1):
        message = request.messages[index]
        if message.is_request:
            if Kind.MEDIA in message.kinds:
                return _OpenRequest(pinned=index)
            return _OpenRequest("\n".join([part.text for part in dialect.read(request.raw(index)).parts if part.text]))
    return _OpenRequest()


def _planned(state: State, at: int, leads: _Leads, note: str, outcome: Outcome) -> Plan:
    """The plan of a cut, checked to be possible: it fits the window, and what is kept is whole."""
    question, settings, lead = state.question, state.question.settings, leads(at)
    first_kept = state.raw_index(at)
    open_request = _open_request(state, at)
    shape = replace(
        state.shape,
        first_kept=first_kept,
        pinned=open_request.pinned,
        strategy=Strategy.SUMMARIZE,
        kept=(),
        summary="",
    )
    if shape.clipped_before <= first_kept:
        shape = replace(shape, clipped_before=0, clip_max_tokens=0, unclipped_tools=())
    if shape.stripped_before <= first_kept:
        shape = replace(shape, stripped_before=0)
    shape, notices = stripped(question, shape)
    least = LEAST_SUMMARY if outcome is Outcome.SUMMARIZED else 0
    room = question.room(state.target) - lead
    kept, clipped_earlier, is_repaired = behind_summary(question, shape)
    clipped_values = clipped_earlier
    if kept.tokens + least > room:
        shape, (kept, clipped_values, _) = clipped_kept(question, shape, room - least)
    if clipped_values > clipped_earlier:
        notices = (*notices, Notice(NoticeCode.KEPT_PART_CLIPPED, "values of the kept part were clipped to fit"))
    checks = checked(question, kept, is_repaired=is_repaired)
    size = question.scale.whole(question.fixed_tokens + kept.tokens + lead)
    if size > settings.window:
        raise state.too_small(kept.tokens - state.prompt_tokens + lead)
    if size > min(settings.trigger, settings.budget):
        notices = (*notices, Notice(NoticeCode.FIXED_COST_EXCEEDS_BUDGET, "what has to be kept exceeds the trigger"))
        room = max(room, question.room(settings.window) - lead)
    if not _is_few(state, at):
        notices = (*notices, Notice(NoticeCode.FIXED_COST_EXCEEDS_BUDGET, "what has to be kept are more messages"))
    most_words = min(max(0, room - kept.tokens), _most_words(state, leads, at))
    words = min(_ideal_summary(state, at), most_words)
    evicted_from = max(question.request.leading, state.shape.first_kept)
    return Plan(
        question=question,
        shape=shape,
        outcome=outcome,
        reason=state.reason,
        before=state.before,
        evicted_from=evicted_from,
        evicted_count=_evicted_count(state, shape, evicted_from),
        wanted=state.raw_index(state.wanted),
        boundary_note=note,
        request_text=open_request.text,
        summary_tokens=words,
        most_summary_tokens=most_words,
        after=size + question.scale.up(words),
        notices=(*state.notices, *notices, *checks),
        clipped_values=clipped_values - clipped_earlier,
    )


def _most_words(state: State, leads: _Leads, at: int) -> int:
    """Estimated tokens that a summary may have so that the result is no larger than what it is made from."""
    least = LEAST_SUMMARY if state.has_too_many else 0
    return max(least, leads.frees(at) + leads.words - FRAME_SLACK)


def _evicted_count(state: State, shape: Shape, evicted_from: int) -> int:
    """How many messages of the view are left out by a shape; what was kept before the boundary and stays is not."""
    old, new = set(state.shape.kept_before), set(shape.kept_before)
    return max(0, shape.first_kept - evicted_from) + len(old - new) - sum(index >= evicted_from for index in new - old)
