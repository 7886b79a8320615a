"""The three use cases: the pure decision, the effects it asks for, and what is done when an effect fails.

The only awaits of a Compact call are here: a provider's count where it can change the decision, the append to the
history, and the summary by a model. None can fail the call: a count falls back to the estimate, a history that cannot
be written is handed back, and where no model wrote a usable summary, code does.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from compactor import telemetry
from compactor.core import anchor, breakpoints, briefing, pipeline
from compactor.core.decision import Fits, Plan
from compactor.core.measure import Counting, request_base
from compactor.core.question import Means, Question
from compactor.core.segments import is_session_id
from compactor.core.state import Standing, standing
from compactor.core.view import View, messages_edit
from compactor.counts import Count, Counts
from compactor.errors import (
    FieldNotSupported,
    InvalidSessionId,
    ProviderFailed,
    ProviderRateLimited,
    ProviderTimeout,
    ProviderUnavailable,
    SummaryRejected,
)
from compactor.exchange import CompactAnswer, CompactCall, CountAnswer, Explained, HistoryResult, SummarizeAnswer
from compactor.formats.reading import ReaderOf
from compactor.keeping import keep
from compactor.masking import Masked, masked, masked_plan, masked_settings
from compactor.model import (
    Dialect,
    Format,
    HistoryStatus,
    Notice,
    NoticeCode,
    ObservedUsage,
    Reason,
    Request,
    SummarizerUsage,
)
from compactor.policy import HistoryMode, Policy, Settings, Summarizer, resolve
from compactor.ports import Failure, HistoryStore, Redactor
from compactor.profiles import Profile, profile_of
from compactor.reader import Facts
from compactor.summaries import NotWritten, Summaries
from compactor.writing import Summary, by_code, by_model, of_messages, of_messages_by_code, wants_model

log = logging.getLogger("compactor")

ProfileOf = Callable[[str], Profile]


class Compactor:
    """The use cases over their ports. `facts` is shared by all calls of a process."""

    def __init__(
        self,
        *,
        history: HistoryStore,
        facts: Facts,
        counts: Counts,
        summaries: Summaries,
        redactor: Redactor | None = None,
        profile_of: ProfileOf = profile_of,
        summarizer: Summarizer = Summarizer.AUTO,
    ) -> None:
        self._history = history
        self._facts = facts
        self.prefixes = facts.prefixes
        self._profile_of = lru_cache(maxsize=MOST_MODELS)(profile_of)
        self._counts = counts
        self._summaries = summaries
        self._redactor = redactor
        self._summarizer = summarizer
        self._unknown: set[str] = set()

    def readers(self, policy: Policy, format: Format) -> ReaderOf:
        """Chooses, by model, the reader that counts as a policy says."""
        return lambda model: self._facts.reader(self._counts.local(policy, model, format).counting, format)

    async def compact(self, call: CompactCall, seconds_left: float | None = None) -> CompactAnswer:
        """A request that fits, and the record that reproduces it."""
        settings = self._settings(call.policy, call.request)
        if call.overflow is not None and call.reason in (Reason.OVERFLOW, Reason.TRUNCATE):
            settings = settings.within(call.overflow.max_input_tokens)
        _check_session(call, settings)
        started = time.monotonic()
        at, count = await self._standing(call, settings, seconds_left)
        decision = pipeline.prepare(at)
        match decision:
            case Fits():
                answer = self._fitting(call, at, count, decision)
            case Plan():
                left = None if seconds_left is None else seconds_left - (time.monotonic() - started)
                answer = await self._evicting(call, at, count, decision, left)
        telemetry.answered(call, answer)
        if telemetry.is_new(answer):
            _log_compaction(call, answer)
        return answer

    async def summarize(
        self,
        request: Request,
        dialect: Dialect,
        policy: Policy,
        previous_summary: str = "",
        seconds_left: float | None = None,
    ) -> SummarizeAnswer:
        """A summary of the given messages. Raises ProviderFailed or SummaryRejected where only a model will do."""
        settings = self._settings(policy, request)
        count = self._counts.local(policy, request.model, request.format).counting.text
        harvest = self._facts.harvester(request, dialect)
        shown: Callable[[str], str] = str
        by: Masked | None = None
        if settings.redact:
            by, seconds_left = await self._masked(request, dialect, seconds_left, previous_summary)
            harvest, shown = by.harvest, by.text
            settings, previous_summary = masked_settings(settings, shown), shown(previous_summary)
        harvests = [harvest(index) for index in range(request.leading, len(request.messages))]
        try:
            summary = await of_messages(
                request,
                by.content if by else lambda index: dialect.read(request.raw(index)),
                harvests,
                settings,
                self._summaries,
                count=count,
                masked=shown,
                previous_summary=previous_summary,
                seconds_left=seconds_left,
            )
        except NotWritten as error:
            if settings.summarizer is Summarizer.MODEL:
                raise _provider_error(error) from None
            before = briefing.earlier(previous_summary) if previous_summary else briefing.Earlier()
            summary = _instead(of_messages_by_code(harvests, settings, count=count, before=before), error)
        text = summary.text if summary.kept is None else briefing.joined(summary.text, summary.kept)
        by_model = summary.kept is not None
        return SummarizeAnswer(text, by_model, summary.retained, summary.usage, summary.missing, summary.notices)

    async def count_tokens(
        self,
        request: Request,
        policy: Policy,
        usage: ObservedUsage | None = None,
        seconds_left: float | None = None,
    ) -> CountAnswer:
        """The input tokens of the whole request and where they are spent."""
        settings = self._settings(policy, request)
        count = self._counts.local(policy, request.model, request.format)
        base, tools = _overhead(request, count.counting)
        prompt = sum(message.tokens for message in request.messages[: request.leading])
        system = base + prompt + sum(block.tokens for block in request.system)
        media = sum(message.media_tokens for message in request.messages)
        messages = sum(message.tokens for message in request.messages) - prompt - media
        estimate = system + tools + messages + media
        known = anchor.of_raw_usage(request, system - prompt + tools, usage)
        count = await self._counts.of_request(request, settings, count, estimate, known, seconds_left)
        total = count.scale.whole(estimate)
        spent = [part * total // max(1, estimate) for part in (tools, media, messages)]
        return CountAnswer(
            tokens=total,
            source=count.source,
            system=total - sum(spent),
            tools=spent[0],
            messages=spent[2],
            media=spent[1],
            settings=settings,
            margin=count.margin,
            notices=(*_model_notices(settings), *count.notices),
        )

    async def _evicting(
        self, call: CompactCall, at: Standing, count: Count, plan: Plan, seconds_left: float | None
    ) -> CompactAnswer:
        """The effects of a plan and its result. A result that breaks a rule is our fault and never sent: the request is
        truncated instead, and if even that breaks one, it goes out as the caller has it.
        """
        answer = await self._evicted(call, at, count, plan, seconds_left)
        if answer is not None:
            return answer
        decision = pipeline.truncate(at)
        if isinstance(decision, Plan):
            answer = await self._evicted(call, at, count, decision, seconds_left, (_INVALID,))
            if answer is not None:
                return answer
            decision = pipeline.untouched(at)
        return self._fitting(call, at, count, decision, (_INVALID,))

    async def _evicted(
        self,
        call: CompactCall,
        at: Standing,
        count: Count,
        plan: Plan,
        seconds_left: float | None,
        notices: Sequence[Notice] = (),
    ) -> CompactAnswer | None:
        """What a plan comes to; None where the result would break a rule of its provider. Raises Overloaded."""
        if plan.question.settings.redact:
            by, seconds_left = await self._masked(call.request, call.dialect, seconds_left)
            plan = masked_plan(plan, by)
        history = await keep(self._history, call, plan) if plan.is_eviction else None
        try:
            summary = await self._summary(call, plan, history, seconds_left)
        except NotWritten as error:
            return await self._windowed(call, at, count, error)
        result = pipeline.finish(
            plan, summary.text, history.path if history else plan.known_history_path, kept=summary.kept
        )
        if result.broken:
            log.error("a result broke rules of its provider and was not used: %s", ",".join(result.broken))
            return None
        failed = (_NOT_STORED,) if history and history.status is HistoryStatus.FAILED else ()
        answer = CompactAnswer(
            edits=(),
            record=result.record,
            outcome=plan.outcome,
            reason=plan.reason,
            before=plan.before,
            after=result.after,
            source=count.source,
            available=0,
            explained=Explained(plan.wanted, plan.shape.first_kept, plan.boundary_note, at, result.view),
            evicted_count=plan.evicted_count,
            clipped_count=plan.clipped_values,
            history=history,
            retained=summary.retained,
            usage=summary.usage,
            notices=(*notices, *plan.notices, *summary.notices, *failed),
        )
        return self._marked(call, at.question, count, result.view, answer)

    async def _windowed(self, call: CompactCall, at: Standing, count: Count, error: NotWritten) -> CompactAnswer | None:
        """What is left where the caller wants a model's summary or none: the newest messages that fit."""
        decision = pipeline.window(at)
        if isinstance(decision, Fits):
            answer: CompactAnswer | None = self._fitting(call, at, count, decision, (error.notice,))
        else:
            answer = await self._evicted(call, at, count, decision, None, (error.notice,))
        return replace(answer, usage=_paid(error)) if answer else None

    async def _summary(
        self, call: CompactCall, plan: Plan, history: HistoryResult | None, seconds_left: float | None
    ) -> Summary:
        """The summary of a plan. Raises NotWritten where only a model would have done."""
        if not wants_model(plan, self._summaries):
            return by_code(plan)
        is_stored = history is not None and history.status is HistoryStatus.STORED
        try:
            return await by_model(
                plan,
                self._summaries,
                session_id=call.session_id,
                turn_id=call.turn_id,
                is_stored=is_stored,
                seconds_left=seconds_left,
            )
        except NotWritten as error:
            if plan.question.settings.summarizer is Summarizer.MODEL:
                raise
            return _instead(by_code(plan), error)

    def _fitting(
        self, call: CompactCall, at: Standing, count: Count, fits: Fits, notices: Sequence[Notice] = ()
    ) -> CompactAnswer:
        """What a request that fits comes to."""
        kept = fits.record.first_kept_index if fits.record else 0
        answer = CompactAnswer(
            edits=(),
            record=fits.record,
            outcome=fits.outcome,
            reason=fits.reason,
            before=fits.before,
            after=fits.after,
            source=count.source,
            available=0,
            explained=Explained(kept, kept, "nothing was evicted by this call", at, fits.view),
            clipped_count=fits.clipped_values,
            notices=(*notices, *fits.notices),
        )
        return self._marked(call, at.question, count, fits.view, answer)

    def _marked(
        self, call: CompactCall, question: Question, count: Count, view: View, answer: CompactAnswer
    ) -> CompactAnswer:
        """The answer with breakpoints placed and the edits that make it."""
        marked = breakpoints.mark(
            call.request, view, question.settings, call.stable_system_count, question.base_tokens, call.dialect
        )
        if marked.summary is not None and view.summary_at is not None:
            view = replace(view, literals={**view.literals, view.summary_at: marked.summary})
        made = [marked.system] if marked.system is not None else []
        made += messages_edit(call.request, view)
        notices = [*_model_notices(question.settings), *count.notices, *answer.notices]
        if marked.is_exhausted:
            notices.append(_NO_ROOM)
        return replace(
            answer,
            edits=tuple(made),
            available=question.settings.budget - answer.after,
            placed=marked.placed,
            notices=tuple(dict.fromkeys(notices)),
        )

    async def _standing(
        self, call: CompactCall, settings: Settings, seconds_left: float | None
    ) -> tuple[Standing, Count]:
        """Where the call stands under its record, in the best numbers that are to be had."""
        count = self._counts.local(call.policy, call.request.model, call.request.format)
        counting = count.counting
        reader = self._facts.reader(counting, call.request.format)
        dialect = call.dialect
        overhead, tools = _overhead(call.request, counting)
        question = Question(
            request=call.request,
            settings=settings,
            means=Means(
                dialect=dialect,
                read=lambda raw: reader.message(raw, dialect.read),
                content=lambda index: dialect.read(call.request.raw(index)),
                harvest=self._facts.harvester(call.request, dialect),
                count=counting.text,
            ),
            base_tokens=overhead + tools,
            tools_tokens=tools,
            reason=Reason.UNSPECIFIED if call.reason is Reason.THRESHOLD else call.reason,
            record=call.record,
            acts=max(0, call.record.sequence) if call.record else 0,
            turn_id=call.turn_id,
            stable_system_count=call.stable_system_count,
        )
        at = standing(question)
        count = await self._counts.of_view(at, count, call.usage, call.overflow, seconds_left)
        return at.scaled(count.scale), count

    async def _masked(
        self, request: Request, dialect: Dialect, seconds_left: float | None, previous_summary: str = ""
    ) -> tuple[Masked, float | None]:
        """The messages without their credentials, and what is left of the time. Raises Overloaded."""
        assert self._redactor is not None  # noqa: S101 - settings that want one were refused where there is none
        started = time.monotonic()
        by = await masked(
            self._redactor, request, dialect, previous_summary=previous_summary, seconds_left=seconds_left
        )
        return by, None if seconds_left is None else seconds_left - (time.monotonic() - started)

    def _settings(self, policy: Policy, request: Request) -> Settings:
        if policy.summarizer is None:
            policy = replace(policy, summarizer=self._summarizer)
        settings = resolve(policy, self._profile_of(request.model), request.max_output_tokens)
        if settings.redact and self._redactor is None:
            raise FieldNotSupported("policy.redact is not supported by this server", field="policy.redact")
        if not settings.knows_model and request.model not in self._unknown and len(self._unknown) < MOST_MODELS:
            self._unknown.add(request.model)
            log.warning("unknown model %.80r: the documented fallback applies", request.model)
        return settings


_INVALID = Notice(NoticeCode.OUTPUT_INVALID, "a compaction broke a rule of its provider and was not used")
_NOT_STORED = Notice(NoticeCode.HISTORY_FAILED, "the evicted originals could not be stored and are handed back")
_NO_ROOM = Notice(NoticeCode.BREAKPOINTS_EXHAUSTED, "the caller's own breakpoints leave no room for ours")

MOST_MODELS = 1_000
"""Names of models whose profiles are remembered; of unknown ones, so as to be logged once."""


def _overhead(request: Request, counting: Counting) -> tuple[int, int]:
    """Estimated tokens of a request before its first block, and of its tools with the prompt that they bring along."""
    overhead = request_base(counting, 0)
    with_tools = request_base(counting, len(request.tools)) + sum(tool.tokens for tool in request.tools)
    return overhead, with_tools - overhead


def _model_notices(settings: Settings) -> tuple[Notice, ...]:
    if settings.knows_model:
        return ()
    detail = f"no profile knows the model; window {settings.window}, trigger {settings.trigger}"
    return (Notice(NoticeCode.UNKNOWN_MODEL, detail),)


def _instead(summary: Summary, error: NotWritten) -> Summary:
    """What code wrote because no model did."""
    return replace(summary, notices=(error.notice, *summary.notices), usage=_paid(error))


def _paid(error: NotWritten) -> SummarizerUsage | None:
    """What was spent on a summary that nobody got; None where no model was asked."""
    return error.usage if error.usage.call_count else None


def _provider_error(error: NotWritten) -> ProviderFailed:
    """Why there is no summary, as the error of a call that wants a model's."""
    kinds: Mapping[Failure | None, type[ProviderFailed]] = {
        Failure.UNAVAILABLE: ProviderUnavailable,
        Failure.TIMEOUT: ProviderTimeout,
        Failure.RATE_LIMITED: ProviderRateLimited,
    }
    made = kinds.get(error.failure, SummaryRejected)(f"no summary by a model: {error.why}", detail=error.why)
    made.retry_seconds = error.retry_seconds
    return made


def _check_session(call: CompactCall, settings: Settings) -> None:
    if settings.history_mode is HistoryMode.OFF and not call.session_id:
        return
    if not is_session_id(call.session_id):
        raise InvalidSessionId(
            "session_id has to be 1 to 128 of A-Z a-z 0-9 . _ : - and must not start with a dot",
            length=len(call.session_id),
        )


def _log_compaction(call: CompactCall, answer: CompactAnswer) -> None:
    told = {
        "session": call.session_id,
        "reason": answer.reason,
        "outcome": answer.outcome,
        "tokens_before": answer.before,
        "tokens_after": answer.after,
        "evicted": answer.evicted_count,
        "clipped": answer.clipped_count,
        "path": telemetry.history_path(answer),
    }
    words = " ".join(f"{name}=%({name})s" for name in told)
    log.info(f"compacted {words}", told, extra={"fields": told})
