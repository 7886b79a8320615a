"""The summary of a plan: whether a model writes it or code does, and what code keeps beside a model's.

A model's summary says what happened; what must not depend on a model stands beside it: the retained state, found anew
in the raw log, as far as the summary lost it. Where code writes, the retained state is the summary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from compactor.core import briefing, extractive
from compactor.core.assignment import Assignment
from compactor.core.decision import Plan
from compactor.core.families import family_of
from compactor.core.passages import Passage, delimited
from compactor.core.retained import Harvest, earlier_summary, last_words, retain
from compactor.core.retained.missing import missing
from compactor.core.view import prefix_digest
from compactor.model import (
    Content,
    Format,
    Notice,
    NoticeCode,
    Outcome,
    Request,
    Retained,
    SummarizerUsage,
)
from compactor.policy import Settings, Summarizer
from compactor.summaries import LEAST_TOKENS, NotWritten, Summaries, Task, Written

LEAST_KEPT = 24
"""Tokens below which nothing is put beside a model's summary."""

KEPT_SHARE = 3
"""What is kept beside a model's summary may take at least the third part of what the two should."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary as it goes into the request. `kept` is what code put beside it, None where code wrote all of it.

    `usage` is None where no model was asked; `missing` are the identifiers that the model's text had lost.
    """

    text: str
    kept: str | None
    retained: Retained
    notices: tuple[Notice, ...] = ()
    usage: SummarizerUsage | None = None
    missing: tuple[str, ...] = ()


def models_of(settings: Settings, request: Request) -> tuple[str, ...]:
    """The models to ask for a summary, in order: the configured one, then the request's own if it can be asked."""
    family = family_of(request.model, request.format)
    own = request.model if request.format is Format.ANTHROPIC_MESSAGES and not family.encoding else ""
    return tuple(dict.fromkeys(filter(None, (settings.summarizer_model, own))))


def wants_model(plan: Plan, summaries: Summaries) -> bool:
    """Whether a model is to write the summary of a plan."""
    settings = plan.question.settings
    if plan.outcome is not Outcome.SUMMARIZED or settings.summarizer is Summarizer.EXTRACTIVE:
        return False
    if settings.summarizer is Summarizer.MODEL:
        return True
    has_room = plan.most_summary_tokens >= 2 * LEAST_TOKENS
    return has_room and summaries.is_available and bool(models_of(settings, plan.question.request))


def by_code(plan: Plan) -> Summary:
    """The summary that needs no model, over everything that is evicted, from the raw log."""
    if plan.shape.is_window:
        return Summary("", None, Retained(), ())
    harvests = _harvests(plan)
    retained = retain(harvests, _kept(plan))
    text, dropped = extractive.extract(
        _without_open(retained, plan),
        max_tokens=plan.summary_tokens,
        count=_framed(plan.question.means.count),
        last_words=last_words(harvests),
        previous=_carried(plan, harvests),
    )
    notices = _over_budget(dropped)
    if plan.outcome is Outcome.SUMMARIZED:
        notices = (BY_CODE, *notices)
    return Summary(text, None, replace(retained, dropped=dropped), notices)


async def by_model(
    plan: Plan,
    summaries: Summaries,
    *,
    session_id: str,
    turn_id: str,
    is_stored: bool,
    seconds_left: float | None,
) -> Summary:
    """A model's summary of what is evicted, and beside it what it lost of the retained state. Raises NotWritten."""
    question, settings = plan.question, plan.question.settings
    count, scale = _framed(question.means.count), question.scale
    most = plan.most_summary_tokens - count(briefing.KEPT_FRAME)
    aim = min(scale.down(settings.summary_max_tokens), max(LEAST_TOKENS, plan.summary_tokens * 2 // KEPT_SHARE), most)
    written = await summaries.write(
        Task(
            models=models_of(settings, question.request),
            assignment=_assignment(settings, _previous(plan), aim),
            passages=lambda: _passages(
                question.request, question.means.content, range(plan.told_from, plan.shape.first_kept), settings
            ),
            count=count,
            most_tokens=most,
            subject=_subject(plan),
            timeout_seconds=settings.summarizer_timeout_seconds,
            turn_id=turn_id,
            session_id=session_id,
            is_stored=is_stored,
            masked=question.means.masked,
        ),
        seconds_left,
    )
    retained = retain(_harvests(plan), _kept(plan))
    spent = count(written.text)
    should = max(plan.summary_tokens, spent + plan.summary_tokens // KEPT_SHARE)
    room = min(most, spent + scale.down(settings.retained_max_tokens), should) - spent
    return _beside(written, retained, _without_open(retained, plan), room, count)


async def of_messages(
    request: Request,
    content: Callable[[int], Content],
    harvests: Sequence[Harvest],
    settings: Settings,
    summaries: Summaries,
    *,
    count: Callable[[str], int],
    masked: Callable[[str], str],
    previous_summary: str,
    seconds_left: float | None,
) -> Summary:
    """A summary of all messages of a request, by a model where the settings say so. Raises NotWritten."""
    before = briefing.earlier(previous_summary) if previous_summary else briefing.Earlier()
    retained = retain(harvests)
    models = models_of(settings, request)
    is_auto = settings.summarizer is Summarizer.AUTO
    if settings.summarizer is Summarizer.EXTRACTIVE or (is_auto and not (summaries.is_available and models)):
        return of_messages_by_code(harvests, settings, count=count, before=before)
    indexes = range(request.leading, len(request.messages))
    if sum(request.messages[index].tokens for index in indexes) < 2 * LEAST_TOKENS:
        if settings.summarizer is Summarizer.MODEL:
            raise NotWritten("there is too little to summarize", None)
        return of_messages_by_code(harvests, settings, count=count, before=before)
    written = await summaries.write_anew(
        Task(
            models=models,
            assignment=_assignment(settings, before.text, settings.summary_max_tokens),
            passages=lambda: _passages(request, content, indexes, settings),
            count=count,
            most_tokens=settings.summary_max_tokens * 2,
            subject=b"",
            timeout_seconds=settings.summarizer_timeout_seconds,
            masked=masked,
        ),
        seconds_left,
    )
    return _beside(written, retained, retained, settings.retained_max_tokens, count)


def of_messages_by_code(
    harvests: Sequence[Harvest], settings: Settings, *, count: Callable[[str], int], before: briefing.Earlier
) -> Summary:
    """The summary of messages that needs no model."""
    retained = retain(harvests)
    text, dropped = extractive.extract(
        retained,
        max_tokens=settings.summary_max_tokens + settings.retained_max_tokens,
        count=count,
        last_words=last_words(harvests),
        previous=_told(before) or earlier_summary(harvests),
    )
    return Summary(text, None, replace(retained, dropped=dropped), (BY_CODE, *_over_budget(dropped)))


BY_CODE = Notice(NoticeCode.SUMMARY_EXTRACTIVE, "the summary was written by code, not by a model")


def _framed(count: Callable[[str], int]) -> Callable[[str], int]:
    """Counts a text as it stands in the frame, with its look-alike tags escaped."""
    return lambda text: count(briefing.neutral(text))


def _beside(
    written: Written, retained: Retained, eligible: Retained, room: int, count: Callable[[str], int]
) -> Summary:
    """A model's summary with what it lost put beside it, within so many tokens."""
    lost = missing(eligible, written.text)
    kept, dropped = extractive.extract(lost, max_tokens=room, count=count) if room >= LEAST_KEPT else ("", ())
    notices = list(_over_budget(dropped))
    attached = sum(text in kept for text in lost.identifiers)
    if attached:
        detail = f"{attached} of {len(lost.identifiers)} identifiers that the model's summary lost were put back"
        notices.append(Notice(NoticeCode.IDENTIFIERS_REATTACHED, detail))
    return Summary(
        written.text, kept, replace(retained, dropped=dropped), tuple(notices), written.usage, lost.identifiers
    )


def _assignment(settings: Settings, previous: str, max_tokens: int) -> Assignment:
    return Assignment(previous, settings.prompt, settings.instructions, max_tokens)


def _passages(
    request: Request, content: Callable[[int], Content], indexes: Iterable[int], settings: Settings
) -> list[Passage]:
    """The messages as the summarizer reads them; a slice may begin wherever no result stands."""
    return [
        Passage(
            delimited(index, content(index), settings.clip_max_tokens),
            may_open=not (request.messages[index].results or request.messages[index].server_results),
        )
        for index in indexes
    ]


def _subject(plan: Plan) -> bytes:
    """Everything of the log that a plan's summary depends on, as a digest."""
    request, settings = plan.question.request, plan.question.settings
    span = f"{request.format} {plan.told_from} {plan.shape.first_kept} {settings.clip_max_tokens} "
    limits = f"{settings.summary_max_tokens}{' redact' if settings.redact else ''}"
    return hashlib.sha256(f"{span}{limits}".encode() + prefix_digest(request, plan.shape.first_kept)).digest()


def _harvests(plan: Plan) -> list[Harvest]:
    return [plan.question.means.harvest(index) for index in range(plan.question.request.leading, plan.shape.first_kept)]


def _kept(plan: Plan) -> list[Harvest]:
    """What the messages hold that stay: it can take back what the others say."""
    return [
        plan.question.means.harvest(index)
        for index in range(plan.shape.first_kept, len(plan.question.request.messages))
    ]


def _without_open(retained: Retained, plan: Plan) -> Retained:
    """The retained state without the open request, which stands in the summary message by itself."""
    return replace(retained, requests=tuple(text for text in retained.requests if text not in plan.request_text))


def _previous(plan: Plan) -> str:
    """The summary in force before, as the summarizer is given it."""
    record = plan.question.record
    return plan.question.means.masked(briefing.earlier(record.summary).text) if record else ""


def _carried(plan: Plan, harvests: Sequence[Harvest]) -> str:
    """What code carries on of summaries before: a model's words, or those of a provider's own compaction."""
    record = plan.question.record
    before = briefing.earlier(record.summary) if record else briefing.Earlier()
    carried = before.text if before.by_model else earlier_summary(harvests) or _told(before)
    return plan.question.means.masked(carried)


def _told(before: briefing.Earlier) -> str:
    return before.text if before.by_model else extractive.carried(before.text)


def _over_budget(dropped: Sequence[str]) -> tuple[Notice, ...]:
    if not dropped:
        return ()
    detail = f"retained state over its budget was left out: {', '.join(dropped)}"
    return (Notice(NoticeCode.RETAINED_OVER_BUDGET, detail),)
