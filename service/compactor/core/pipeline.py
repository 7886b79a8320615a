"""The one module that knows the order: view, measure, clip, boundary, plan; later retain, assemble, validate.

`prepare` decides everything and does nothing. Between it and `finish` the caller keeps the evicted originals and gets
the summary written. `truncate` is the plainer way that is left when a result turned out invalid, `window` the one where
the caller wants a model's summary or none, and there is none.

A request is brought down in this order: old values are clipped; the oldest messages are evicted behind a summary; the
kept part shrinks cut by cut; values of the kept part are clipped. Each step is taken only if the one before is not
enough, and all that is needed is decided in one pass, because every change of old content costs the provider's cache.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from compactor.core import briefing, evict, lighten, validate, windows
from compactor.core.arrange import arranged, record_of
from compactor.core.decision import Decision, Fits, Plan
from compactor.core.inspect import checked
from compactor.core.state import Standing, State, surveyed
from compactor.core.view import View
from compactor.model import Compaction, Notice, NoticeCode, Outcome, Reason, Strategy


@dataclass(frozen=True, slots=True)
class Result:
    """A finished compaction: what is sent, and the record that reproduces it.

    `broken` are the rules of the provider that it breaks and the raw request does not; with any, it is not to be sent.
    """

    view: View
    record: Compaction
    after: int
    broken: tuple[str, ...]


def prepare(at: Standing) -> Decision:
    """What has to be done for the request to fit. Raises for a request that cannot be sent or cannot fit."""
    if at.is_answered or not _is_over(at):
        return _left(at)
    state = surveyed(at)
    summarizes = at.question.settings.strategy is Strategy.SUMMARIZE
    if at.question.reason is Reason.TRUNCATE:
        return _truncation(state) if summarizes else _without_summary(state)
    return lighten.clipped_old(state) or (_eviction(state) if summarizes else _without_summary(state))


def truncate(at: Standing) -> Decision:
    """The plainer way: whole oldest turns are dropped, whatever was decided before."""
    return _truncation(surveyed(at))


def window(at: Standing) -> Decision:
    """The way without a summary: the newest messages that fit are kept."""
    state = surveyed(at)
    return evict.windowed(state) or _truncation(state)


def finish(plan: Plan, summary: str, history_path: str, *, kept: str | None = None) -> Result:
    """The result of a plan with its summary, and what code kept beside it where a model wrote it."""
    question = plan.question
    shape = plan.shape
    if not shape.is_window:
        framed = briefing.frame(summary, kept=kept, history_path=history_path, request=plan.request_text)
        shape = replace(shape, summary=framed)
    view = arranged(question, shape).view
    record = record_of(question, shape, view, before=plan.before, reason=plan.reason, history_path=history_path)
    request = question.request
    found = validate.violations(request.format, view.messages)
    if found:
        found = validate.added(validate.violations(request.format, request.messages), found)
    return Result(view, record, record.compacted_input_tokens, tuple(sorted({violation.rule for violation in found})))


def untouched(at: Standing) -> Fits:
    """The view under the record, as it is."""
    return _left(at)


def _is_over(state: Standing) -> bool:
    """Whether something triggers: a reason that forces it, the tokens, or the number of messages (R8)."""
    settings = state.question.settings
    return state.is_forced or state.before > settings.trigger or state.exceeds_messages


def _eviction(state: State) -> Decision:
    """A summary in the place of the oldest messages, if it is worth it (R11)."""
    settings = state.question.settings
    may_stay = not state.is_forced and not state.exceeds_ceiling
    has_to_pay = not state.is_forced and not state.has_too_many
    if may_stay and state.before <= settings.budget and evict.floor(state) > settings.trigger:
        return _left(state, NoticeCode.FIXED_COST_EXCEEDS_BUDGET, "what cannot be compacted exceeds the trigger")
    if may_stay and state.wanted <= state.first:
        return _instead(state, "the keep window covers every message")
    if has_to_pay and state.before <= settings.budget and evict.gain(state) < settings.min_gain * state.before:
        return _instead(state, "a summary would free too little")
    plan = evict.summarized(state)
    if plan is None and may_stay and state.before <= state.target:
        return _left(state, NoticeCode.GAIN_TOO_SMALL, "nothing can be evicted that is larger than what replaces it")
    if plan is None or (has_to_pay and state.before - plan.after < settings.min_gain * state.before):
        return _truncation(state)
    return plan


def _without_summary(state: State) -> Decision:
    """A window (R27); where nothing can be left out and it is tokens that are too many, the plainer way."""
    plan = windows.windowed(state)
    if plan is not None:
        return plan
    if state.is_forced or state.before > state.target:
        return _truncation(state)
    return _left(state, NoticeCode.FIXED_COST_EXCEEDS_BUDGET, "what has to be kept are more messages")


def _instead(state: State, why: str) -> Decision:
    """No summary is worth it: the view goes out as it is, or is truncated if it does not fit the budget."""
    if state.before <= state.question.settings.budget:
        return _left(state, NoticeCode.GAIN_TOO_SMALL, why)
    return _truncation(state)


def _truncation(state: State) -> Decision:
    """Whole oldest turns are dropped; where there are none, the summary is shortened if it has to be, or values are
    clipped.
    """
    has_to_fit = state.is_forced or state.before > state.question.settings.budget
    decision: Decision | None = evict.truncated(state)
    if decision is None and has_to_fit:
        decision = evict.shortened(state)
    if decision is None and state.before > state.target:
        decision = lighten.clipped_all(state)
    if decision is not None:
        return decision
    is_over = state.before > min(state.question.settings.trigger, state.question.settings.budget)
    is_fixed = is_over or state.exceeds_ceiling
    code = NoticeCode.FIXED_COST_EXCEEDS_BUDGET if is_fixed else NoticeCode.GAIN_TOO_SMALL
    return _left(state, code, "nothing can be evicted or clipped")


def _left(state: Standing, code: NoticeCode | None = None, why: str = "") -> Fits:
    """The view under the record, untouched. Broken pairing in it is the caller's error; another breach is named."""
    question, view = state.question, state.view
    notices = list(state.notices)
    if code is not None:
        notices.append(Notice(code, why))
    notices += checked(question, view, is_repaired=state.is_repaired)
    outcome = Outcome.UNCHANGED if question.record is None else Outcome.REUSED
    return Fits(view, question.record, outcome, Reason.UNSPECIFIED, state.before, state.before, tuple(notices))
