"""Making a request lighter without evicting anything: old values are clipped first, kept ones as the last resort; what
reasoning an edit invalidates is left out.
"""

from __future__ import annotations

from dataclasses import replace

from compactor.core.arrange import Arrangement, arranged, record_of
from compactor.core.decision import Fits, Shape
from compactor.core.inspect import checked
from compactor.core.question import Question
from compactor.core.state import State
from compactor.model import Notice, NoticeCode, Outcome, Reason
from compactor.policy import Reasoning

SMALLER_LIMITS = (8_000, 4_000, 2_000, 1_000, 500, 250, 120, 60, 40)
"""Clip limits of the last resort, in tokens of four bytes, largest first."""


def clipped_old(state: State) -> Fits | None:
    """The view with old values clipped, where that alone is enough and changes enough to be worth it (R9, R10)."""
    question, settings = state.question, state.question.settings
    before = state.clip_before
    if not settings.clip_max_tokens or question.reason is Reason.TOOL or before <= state.shape.clipped_before:
        return None
    if state.exceeds_messages:
        return None
    shape = replace(
        state.shape,
        clipped_before=before,
        clip_max_tokens=settings.clip_max_tokens,
        unclipped_tools=settings.unclipped_tools,
    )
    freed = state.before - question.total(arranged(question, shape).view)
    has_clipped = state.shape.clipped_before > state.shape.first_kept
    if freed <= 0 or state.before - freed > state.target or (has_clipped and freed < settings.min_gain * state.before):
        return None
    return _clipped(state, shape, ())


def clipped_all(state: State) -> Fits | None:
    """Every value clipped until the request fits, the last resort where nothing can be evicted; None where no value is
    long. Raises WindowTooSmall where even that does not fit the window.
    """
    question, settings = state.question, state.question.settings
    shape, found = clipped_kept(question, state.shape, question.room(state.target))
    if question.total(found.view) > settings.window:
        raise state.too_small(found.view.tokens - state.prompt_tokens)
    if found.clipped_values <= state.clipped_values:
        return None
    why = Notice(NoticeCode.KEPT_PART_CLIPPED, "no message can be evicted; long values were clipped to fit")
    return _clipped(state, shape, (why,))


def clipped_kept(question: Question, shape: Shape, room: int) -> tuple[Shape, Arrangement]:
    """The shape with all its values clipped, at the largest limit that fits the room or else the smallest there is."""
    best = (shape, behind_summary(question, shape))
    count = len(question.request.messages)
    for limit in SMALLER_LIMITS:
        if shape.clipped_before and limit >= shape.clip_max_tokens:
            continue
        tools = question.settings.unclipped_tools
        tried = replace(shape, clipped_before=count, clip_max_tokens=limit, unclipped_tools=tools)
        found = behind_summary(question, tried)
        if found.view.tokens < best[1].view.tokens:
            best = (tried, found)
        if found.view.tokens <= room:
            break
    return best


def behind_summary(question: Question, shape: Shape) -> Arrangement:
    """What a shape keeps, behind a word in the place of a summary that is still to come."""
    if shape.summary or shape.is_window or shape.first_kept <= question.request.leading:
        return arranged(question, shape)
    return arranged(question, replace(shape, summary="-"))


def stripped(question: Question, shape: Shape) -> tuple[Shape, tuple[Notice, ...]]:
    """The shape with the reasoning written so far left out, where the model binds it to what comes before (R20).

    With manual thinking on, an open turn has to start with its reasoning, so that of the newest turn stays.
    """
    if question.settings.reasoning is not Reasoning.STRIP:
        return shape, ()
    messages = question.request.messages
    before = len(messages)
    if question.request.thinking_enabled:
        before = next((index for index in range(before - 1, -1, -1) if messages[index].is_request), 0)
    kept = (*shape.kept_before, *range(shape.first_kept, before))
    if not any(messages[index].has_thinking for index in kept if index < before):
        return shape, ()
    notice = Notice(
        NoticeCode.REASONING_STRIPPED, "reasoning written before the edit was left out, as the model demands"
    )
    return replace(shape, stripped_before=before), (notice,)


def _clipped(state: State, shape: Shape, notices: tuple[Notice, ...]) -> Fits:
    question, settings = state.question, state.question.settings
    shape, stripping = stripped(question, shape)
    view, clipped_values, is_repaired = arranged(question, shape)
    after = question.total(view)
    found = [*state.notices, *notices, *stripping, *checked(question, view, is_repaired=is_repaired)]
    if after > min(settings.trigger, settings.budget):
        found.append(Notice(NoticeCode.FIXED_COST_EXCEEDS_BUDGET, "what has to be kept exceeds the trigger"))
    record = record_of(question, shape, view, before=state.before, reason=state.reason)
    clipped_now = clipped_values - state.clipped_values
    return Fits(view, record, Outcome.CLIPPED, state.reason, state.before, after, tuple(found), clipped_now)
