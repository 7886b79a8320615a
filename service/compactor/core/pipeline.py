"""The one module that knows the order: view, measure, clip, boundary, plan; later retain, assemble, validate.

`prepare` decides everything and does nothing. Between it and `finish` the caller keeps the evicted originals and gets
the summary written. `truncate` is the plainer way that is left when a result turned out invalid.

How a request is brought down, in this order: old values are clipped; the oldest messages are evicted behind a summary;
the kept part shrinks cut by cut; values of the kept part are clipped. Each step is taken only if the one before is not
enough, and all that is needed is decided in one pass, because every change of old content costs the provider's cache.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from compactor import errors
from compactor.core import boundary, briefing, clip, truncate as truncation, validate
from compactor.core.arrange import arranged, record_of, shape_of
from compactor.core.plan import Decision, Fits, Plan, Question, Shape, suffix_tokens
from compactor.core.view import OURS, View
from compactor.model import Compaction, Notice, NoticeCode, Outcome, Reason
from compactor.policy import KeepUnit, Reasoning, Repair

OVERFLOW_AIM = 0.75
TRUNCATE_AIM = 0.5
COMFORT = 0.7
"""The share of the trigger that a summary should bring a request under, so that the next turns do not trigger again."""

SUMMARY_SHARE = 3
"""A summary takes at most the third part of what it stands for."""

LEAST_SUMMARY = 120
"""Tokens that a summary gets even where it stands for little."""


@dataclass(frozen=True, slots=True)
class Result:
    """A finished compaction: what is sent, and the record that reproduces it."""

    view: View
    record: Compaction
    after: int
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class _State:
    """Where a decision starts from: the view under the record, its size, and where it may be cut."""

    question: Question
    shape: Shape
    view: View
    before: int
    cuts: boundary.Cuts
    suffix: list[int]
    notices: tuple[Notice, ...]

    @property
    def first(self) -> int:
        return max(self.view.first, self.question.request.leading)

    @property
    def count(self) -> int:
        return len(self.view.messages)


def prepare(question: Question) -> Decision:
    """What has to be done for the request to fit. Raises for a request that cannot be sent or cannot fit."""
    question, shape, stale = _checked(question)
    view = arranged(question, shape)
    before = question.total(view)
    if _is_answered(question, before) or not _is_over(question, view, before):
        return _as_it_is(question, view, before, stale)
    state = _state(question, shape, view, before, stale)
    if question.reason is Reason.TRUNCATE:
        return _truncation(state, _target(state))
    return _compaction(state)


def view_of(question: Question) -> View:
    """What the model would see if nothing new were decided."""
    question, shape, _ = _checked(question)
    return arranged(question, shape)


def truncate(question: Question) -> Decision:
    """The plainer way: whole oldest turns are dropped, whatever was decided before."""
    question, shape, stale = _checked(question)
    view = arranged(question, shape)
    state = _state(question, shape, view, question.total(view), stale)
    return _truncation(state, min(question.settings.trigger, question.settings.budget))


def finish(question: Question, plan: Plan, summary: str, history_path: str) -> tuple[Result, list[validate.Violation]]:
    """The result of a plan with its summary, and the rules that the result breaks and the raw request did not."""
    framed = briefing.frame(summary, history_path=history_path, request=plan.request_text)
    shape = replace(plan.shape, summary=framed)
    view = arranged(question, shape)
    after = question.total(view)
    record = record_of(
        question, shape, before=plan.before, after=after, reason=plan.reason, history_path=history_path
    )
    request = question.request
    broken = validate.added(
        validate.violations(request.format, request.messages), validate.violations(request.format, view.messages)
    )
    return Result(view, record, after, plan.notices), broken


def _checked(question: Question) -> tuple[Question, Shape, tuple[Notice, ...]]:
    """The question with its record, or without it where it is stale."""
    shape = shape_of(question)
    if shape is not None:
        return question, shape, ()
    notice = Notice(NoticeCode.RECORD_STALE, "the record was not made from this log; decided afresh")
    return replace(question, record=None), Shape(repairs=question.settings.repair is Repair.SYNTHESIZE), (notice,)


def _state(question: Question, shape: Shape, view: View, before: int, notices: tuple[Notice, ...]) -> _State:
    first = max(view.first, question.request.leading)
    cuts = boundary.cuts(view.messages, first, thinking_enabled=question.request.thinking_enabled)
    return _State(question, shape, view, before, cuts, suffix_tokens(view.messages), notices)


def _is_answered(question: Question, before: int) -> bool:
    """Whether this very question was answered by its record: same turn, same reason, nothing appended since."""
    record = question.record
    if record is None or not question.turn_id or record.turn_id != question.turn_id:
        return False
    asked = question.reason if question.reason is not Reason.UNSPECIFIED else Reason.THRESHOLD
    return record.reason is asked and record.compacted_input_tokens == before


def _is_over(question: Question, view: View, before: int) -> bool:
    """Whether something triggers: a reason that forces it, the tokens, or the number of messages (R8)."""
    settings = question.settings
    if question.reason is not Reason.UNSPECIFIED or before > settings.trigger:
        return True
    return settings.trigger_messages is not None and len(view.messages) > settings.trigger_messages


def _target(state: _State) -> int:
    """What to bring the request down to, in real tokens."""
    trigger = min(state.question.settings.trigger, state.question.settings.budget)
    match state.question.reason:
        case Reason.OVERFLOW:
            return int(OVERFLOW_AIM * min(trigger, state.before))
        case Reason.TRUNCATE:
            return int(TRUNCATE_AIM * min(trigger, state.before))
        case _:
            return trigger


def _reason(question: Question) -> Reason:
    return Reason.THRESHOLD if question.reason is Reason.UNSPECIFIED else question.reason


def _as_it_is(question: Question, view: View, before: int, notices: Sequence[Notice]) -> Fits:
    """The view under the record, untouched. Broken pairing in it is the caller's error; else it is named."""
    _refuse_broken(question, view)
    found = (*notices, *_input_notices(question, view))
    outcome = Outcome.UNCHANGED if question.record is None else Outcome.REUSED
    return Fits(view, question.record, outcome, Reason.UNSPECIFIED, before, found)


def _refuse_broken(question: Question, view: View) -> None:
    """Raises for the first broken pair in what would be sent."""
    for violation in validate.violations(question.request.format, view.messages):
        name = validate.PAIRING.get(violation.rule)
        if name is None:
            continue
        error: type[errors.InvalidRequest] = getattr(errors, name)
        index = view.origins[violation.position]
        text = f"messages[{index}] breaks the pairing of tool calls and results (rule {violation.rule[:4]})"
        if violation.id:
            text += f": {violation.id[:64]}"
        raise error(text, message_index=index, rule=violation.rule[:4], tool_use_id=violation.id[:64])


def _input_notices(question: Question, view: View) -> list[Notice]:
    """What the raw request breaks, is sent all the same, and what was mended in it."""
    request = question.request
    found = validate.violations(request.format, view.messages)
    found += validate.breakpoint_violations(request.tools, request.system, view.messages)
    rules = sorted({violation.rule for violation in found if violation.rule not in validate.PAIRING})
    notices = []
    if rules:
        detail = f"the raw request breaks rules of its provider: {', '.join(rules)}"
        notices.append(Notice(NoticeCode.INPUT_VIOLATION, detail))
    if question.settings.repair is Repair.SYNTHESIZE and _was_repaired(question, view):
        notices.append(Notice(NoticeCode.REQUEST_REPAIRED, "broken messages in the part that is sent were mended"))
    return notices


def _was_repaired(question: Question, view: View) -> bool:
    raw = validate.violations(question.request.format, question.request.messages)
    sent = {index for index in view.origins if index >= 0}
    return any(violation.position in sent for violation in raw) and bool(view.literals or OURS in view.origins)


def _wanted(state: _State) -> int:
    """The position from which messages should be kept verbatim."""
    settings, count = state.question.settings, state.count
    if settings.keep_messages is not None:
        return max(state.first, count - max(1, settings.keep_messages))
    if settings.keep_unit is KeepUnit.MESSAGES:
        return max(state.first, count - max(1, math.ceil(settings.keep_fraction * (count - state.first))))
    room = state.question.scale.down(int(settings.keep_fraction * settings.window))
    kept = next(position for position in range(count + 1) if state.suffix[position] <= room)
    return max(state.first, min(kept, count - 1))


def _clip_before(state: _State, wanted: int) -> int:
    """The raw index before which values are clipped: where the newest, exempt messages begin."""
    recent = state.question.settings.keep_recent
    position = wanted if recent is None else max(0, state.count - recent)
    return _raw_index(state, position)


def _raw_index(state: _State, position: int) -> int:
    """The raw index of a position; that of the next raw message where the position holds one of ours."""
    origins = state.view.origins
    while position < len(origins) and origins[position] == OURS:
        position += 1
    return origins[position] if position < len(origins) else len(state.question.request.messages)


def _compaction(state: _State) -> Decision:
    """Clip if that is enough, else evict behind a summary, if that is worth it."""
    question, settings = state.question, state.question.settings
    wanted, target = _wanted(state), _target(state)
    clipped = _clipped(state, wanted, target)
    if clipped is not None:
        return clipped
    is_forced = question.reason is not Reason.UNSPECIFIED
    if not is_forced and _floor(state) > settings.trigger:
        if state.before <= settings.budget:
            return _left(state, NoticeCode.FIXED_COST_EXCEEDS_BUDGET, "what cannot be compacted exceeds the trigger")
        return _eviction(state, wanted, min(settings.budget, settings.window))
    if wanted <= state.first and not is_forced:
        return _instead(state, target, "the keep window covers every message")
    if not is_forced and _gain(state, wanted) < settings.min_gain * state.before:
        return _instead(state, target, "a summary would free too little")
    return _eviction(state, wanted, target)


def _instead(state: _State, target: int, why: str) -> Decision:
    """No summary is worth it: the view goes out as it is, or is truncated if it does not fit the budget."""
    if state.before <= state.question.settings.budget:
        return _left(state, NoticeCode.GAIN_TOO_SMALL, why)
    return _truncation(state, target)


def _left(state: _State, code: NoticeCode, why: str) -> Fits:
    return _as_it_is(state.question, state.view, state.before, (*state.notices, Notice(code, why)))


def _clipped(state: _State, wanted: int, target: int) -> Fits | None:
    """The view with old values clipped, where that is enough (R9, R10)."""
    question, settings = state.question, state.question.settings
    before = _clip_before(state, wanted)
    if not settings.clip_max_tokens or question.reason is Reason.TOOL or before <= state.shape.clipped_before:
        return None
    shape = replace(
        state.shape,
        clipped_before=before,
        clip_max_tokens=settings.clip_max_tokens,
        unclipped_tools=settings.unclipped_tools,
    )
    if settings.trigger_messages is not None and state.count > settings.trigger_messages:
        return None
    shape, notices = _with_stripping(question, shape)
    view = arranged(question, shape)
    after = question.total(view)
    freed = state.before - after
    is_second = state.shape.clipped_before > state.shape.first_kept
    if after > target or freed <= 0 or (is_second and freed < settings.min_gain * state.before):
        return None
    _refuse_broken(question, view)
    reason = _reason(question)
    record = record_of(question, shape, before=state.before, after=after, reason=reason, history_path="")
    count = sum([1 for position in view.literals if position not in state.view.literals])
    found = (*state.notices, *notices, *_input_notices(question, view))
    return Fits(view, record, Outcome.CLIPPED, reason, state.before, found, _count_clipped(state, shape, count))


def _count_clipped(state: _State, shape: Shape, at_least: int) -> int:
    """How many values a shape clips that the one before did not."""
    question = state.question
    _, count = clip.clipped(
        state.view,
        question.request,
        shape.clipped_before,
        shape.clip_max_tokens,
        shape.unclipped_tools,
        question.means.dialect,
        question.means.read,
    )
    return max(count, at_least)


def _with_stripping(question: Question, shape: Shape) -> tuple[Shape, tuple[Notice, ...]]:
    """The shape with all reasoning written so far left out, where the model binds it to what comes before (R20)."""
    if question.settings.reasoning is not Reasoning.STRIP:
        return shape, ()
    if not any(message.has_thinking for message in question.request.messages[shape.first_kept :]):
        return shape, ()
    notice = Notice(NoticeCode.REASONING_STRIPPED, "reasoning written before the edit was left out, as the model demands")
    return replace(shape, stripped_before=len(question.request.messages)), (notice,)


def _floor(state: _State) -> int:
    """Real tokens of what no compaction can take away: system, tools, the open request and the last step."""
    question, cuts = state.question, state.cuts
    last = cuts.keeps[-1] if cuts.keeps else cuts.turns[-1] if cuts.turns else state.first
    asked = cuts.request
    request_tokens = state.view.messages[asked].tokens if asked is not None and asked < last else 0
    return question.scale.up(question.fixed_tokens + request_tokens + state.suffix[last])


def _gain(state: _State, wanted: int) -> int:
    """Real tokens that a summary would free, at least."""
    at = boundary.snap(state.cuts.keeps, wanted)
    if at is None:
        return 0
    evicted = sum([message.tokens for message in state.view.messages[state.question.request.leading : at]])
    return state.question.scale.up(max(0, evicted - evicted // SUMMARY_SHARE))


def _eviction(state: _State, wanted: int, target: int) -> Decision:
    """The oldest messages are evicted; the kept part shrinks cut by cut, then its values are clipped (R13 to R15)."""
    question = state.question
    snapped = boundary.snap(state.cuts.keeps, wanted)
    if snapped is None:
        return _truncation(state, target)
    open_cuts = state.cuts.keeps[bisect_right(state.cuts.keeps, snapped - 1) :]
    comfortable = int(target * COMFORT) if question.settings.keep_messages is None else target
    at = next((cut for cut in open_cuts if _fits_at(state, cut, comfortable)), None)
    if at is None:
        at = next((cut for cut in open_cuts if _fits_at(state, cut, target)), open_cuts[-1])
    at = _with_few_messages(state, at, open_cuts)
    if snapped <= wanted:
        note = "the wanted boundary is a safe cut" if snapped == wanted else "moved back to the nearest safe cut"
    else:
        note = "no safe cut before the wanted boundary; the next one after it"
    if at != snapped:
        note = "moved forward so that the kept part fits"
    return _planned(state, at, wanted, note, target, Outcome.SUMMARIZED)


def _with_few_messages(state: _State, at: int, open_cuts: Sequence[int]) -> int:
    most = state.question.settings.trigger_messages
    if most is None:
        return at
    return next((cut for cut in open_cuts if cut >= at and state.count - cut + 1 <= most), at)


def _lead_tokens(state: _State, at: int) -> int:
    """Estimated tokens of the summary message of a cut, without the summary itself."""
    text = _open_request(state, at)
    return state.question.means.count(briefing.frame("", history_path="/x" * 40, request=text)) + 12


def _ideal_summary(state: _State, at: int) -> int:
    """Estimated tokens that the summary of a cut should get: a share of what it stands for, up to its own limits."""
    settings, scale = state.question.settings, state.question.scale
    most = scale.down(settings.summary_max_tokens + settings.retained_max_tokens)
    evicted = state.suffix[state.question.request.leading] - state.suffix[at]
    return min(most, max(LEAST_SUMMARY, evicted // SUMMARY_SHARE))


def _fits_at(state: _State, at: int, target: int) -> bool:
    """Whether a request cut there fits with a summary of fair size."""
    room = state.question.room(target)
    ideal = _ideal_summary(state, at)
    return state.suffix[at] + _lead_tokens(state, at) + min(ideal, max(LEAST_SUMMARY, room // 10)) <= room


def _open_request(state: _State, at: int) -> str:
    """The user's newest request where a cut evicts it and none is kept behind it (R14); else empty."""
    request = state.question.request
    first_kept = _raw_index(state, at)
    if any(message.is_request for message in request.messages[first_kept:]):
        return ""
    for index in range(first_kept - 1, request.leading - 1, -1):
        if request.messages[index].is_request:
            content = state.question.means.dialect.read(request.raw(index))
            return "\n".join([part.text for part in content.parts if part.text])
    return ""


def _planned(
    state: _State, at: int, wanted: int, note: str, target: int, outcome: Outcome
) -> Plan:
    """The plan of a cut, checked to be possible: it fits the window, and what is kept is whole."""
    question, settings = state.question, state.question.settings
    first_kept = _raw_index(state, at)
    shape = replace(state.shape, first_kept=first_kept, summary="")
    if shape.clipped_before <= first_kept:
        shape = replace(shape, clipped_before=0, clip_max_tokens=0, unclipped_tools=())
    if shape.stripped_before <= first_kept:
        shape = replace(shape, stripped_before=0)
    shape, notices = _with_stripping(question, shape)
    lead = _lead_tokens(state, at)
    least = LEAST_SUMMARY if outcome is Outcome.SUMMARIZED else 0
    room = question.room(target) - lead
    kept = _behind_summary(question, shape)
    prompt = sum([message.tokens for message in kept.messages[: question.request.leading]])
    tokens = kept.tokens
    clipped_values = 0
    if tokens + least > room:
        shape, kept, clipped_values = _clipped_kept(state, shape, room - least)
        tokens = kept.tokens
        if clipped_values:
            notices = (*notices, Notice(NoticeCode.KEPT_PART_CLIPPED, "values of the kept part were clipped to fit"))
    _refuse_broken(question, kept)
    size = question.scale.up(question.fixed_tokens + tokens + lead)
    if size > settings.window:
        raise _too_small(state, tokens - prompt + lead, prompt)
    if size > min(settings.trigger, settings.budget):
        detail = "what has to be kept exceeds the trigger"
        notices = (*notices, Notice(NoticeCode.FIXED_COST_EXCEEDS_BUDGET, detail))
        room = max(room, question.room(settings.window) - lead)
    spare = max(0, room - tokens)
    evicted_from = max(question.request.leading, state.shape.first_kept)
    return Plan(
        shape=shape,
        outcome=outcome,
        reason=_reason(question),
        before=state.before,
        evicted_from=evicted_from,
        evicted_count=max(0, first_kept - evicted_from),
        wanted=_raw_index(state, wanted),
        boundary_note=note,
        request_text=_open_request(state, at),
        summary_tokens=min(_ideal_summary(state, at), spare),
        limit=target,
        notices=(*state.notices, *notices, *_input_notices(question, kept)),
        clipped_values=clipped_values,
    )


def _behind_summary(question: Question, shape: Shape) -> View:
    """What a shape keeps, behind a word in the place of the summary that is still to come."""
    if shape.summary or shape.first_kept <= question.request.leading:
        return arranged(question, shape)
    return arranged(question, replace(shape, summary="-"))


def _clipped_kept(state: _State, shape: Shape, room: int) -> tuple[Shape, View, int]:
    """The kept part with its values clipped, at the largest limit that fits or else the smallest there is."""
    question = state.question
    kept = _behind_summary(question, shape)
    base, count = (shape, kept, 0), len(question.request.messages)
    for limit in truncation.SMALLER_LIMITS:
        if shape.clipped_before and limit >= shape.clip_max_tokens:
            continue
        tools = question.settings.unclipped_tools
        tried = replace(shape, clipped_before=count, clip_max_tokens=limit, unclipped_tools=tools)
        view = _behind_summary(question, tried)
        if view.tokens < base[1].tokens:
            base = (tried, view, sum(1 for at in view.literals if view.literals[at] != kept.literals.get(at)))
        if view.tokens <= room:
            break
    return base


def _too_small(state: _State, turn_tokens: int, prompt_tokens: int) -> errors.WindowTooSmall:
    question = state.question
    scale = question.scale
    tools = question.base_tokens
    system = question.fixed_tokens - tools + prompt_tokens
    window = question.settings.window
    return errors.WindowTooSmall(
        f"nothing that may be dropped makes the request fit a window of {window} tokens: system text takes "
        f"{scale.up(system)}, tools {scale.up(tools)}, the open turn {scale.up(turn_tokens)}",
        max_input_tokens=window,
        system_tokens=scale.up(system),
        tools_tokens=scale.up(tools),
        open_turn_tokens=scale.up(turn_tokens),
    )


def _truncation(state: _State, target: int) -> Decision:
    """Whole oldest turns are dropped until the request fits; retained state leads, as far as it fits (R22)."""
    positions = truncation.candidates(state.cuts)
    if not positions:
        return _only_clipped(state, target)
    room = state.question.room(target)
    costs = [_lead_tokens(state, position) for position in positions]
    at = truncation.first_fitting(positions, state.suffix, costs, room)
    if at is None:
        at = positions[-1]
    return _planned(state, at, at, "whole oldest turns were dropped until the rest fits", target, Outcome.TRUNCATED)


def _only_clipped(state: _State, target: int) -> Fits:
    """No cut is possible: the values of what there is are clipped, the last resort."""
    question, settings = state.question, state.question.settings
    room = question.room(target)
    shape, view, count = _clipped_kept(state, state.shape, room)
    after = question.total(view)
    if after > settings.window:
        prompt = sum([message.tokens for message in view.messages[: question.request.leading]])
        raise _too_small(state, view.tokens - prompt, prompt)
    if not count:
        return _left(state, NoticeCode.FIXED_COST_EXCEEDS_BUDGET, "nothing can be evicted or clipped")
    shape, notices = _with_stripping(question, shape)
    view = arranged(question, shape)
    _refuse_broken(question, view)
    after, reason = question.total(view), _reason(question)
    clipped = Notice(NoticeCode.KEPT_PART_CLIPPED, "no message can be evicted; long values were clipped to fit")
    found = [*state.notices, clipped, *notices, *_input_notices(question, view)]
    if after > min(settings.trigger, settings.budget):
        found.append(Notice(NoticeCode.FIXED_COST_EXCEEDS_BUDGET, "what has to be kept exceeds the trigger"))
    record = record_of(question, shape, before=state.before, after=after, reason=reason, history_path="")
    return Fits(view, record, Outcome.CLIPPED, reason, state.before, tuple(found), count)
