"""The three use cases: the pure decision, the effects it asks for, and what is done when an effect fails.

The only awaits of a Compact call are here: a provider's count where it can change the decision, and the append to the
history. Neither can fail the call: a count falls back to the estimate, a history that cannot be written is handed back.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from compactor.core import breakpoints, extractive, pipeline
from compactor.core.decision import Fits, Plan
from compactor.core.measure import Counting, request_base
from compactor.core.question import Means, Question
from compactor.core.retained import earlier_summary, last_words, retain
from compactor.core.segments import is_session_id
from compactor.core.view import View, messages_edit
from compactor.counts import Count, Counts
from compactor.errors import InvalidSessionId
from compactor.exchange import CompactAnswer, CompactCall, CountAnswer, Explained, SummarizeAnswer
from compactor.formats.reading import ReaderOf
from compactor.keeping import keep
from compactor.model import (
    Dialect,
    Format,
    HistoryStatus,
    Notice,
    NoticeCode,
    Outcome,
    Reason,
    Request,
    Retained,
)
from compactor.policy import HistoryMode, Policy, Settings, resolve
from compactor.ports import HistoryStore
from compactor.profiles import BUILT_IN, Profile, profile_of
from compactor.reader import Facts

log = logging.getLogger("compactor")


class Compactor:
    """The use cases over their ports. `facts` is shared by all calls of a process."""

    def __init__(
        self,
        *,
        history: HistoryStore,
        facts: Facts,
        counts: Counts,
        profiles: Mapping[str, Profile] = BUILT_IN,
    ) -> None:
        self._history = history
        self._facts = facts
        self.prefixes = facts.prefixes
        self._profile_of = lru_cache(maxsize=MOST_MODELS)(partial(profile_of, table=profiles))
        self._counts = counts
        self._unknown: set[str] = set()

    def readers(self, policy: Policy, format: Format) -> ReaderOf:
        """Chooses, by model, the reader that counts as a policy says."""
        return lambda model: self._facts.reader(self._counts.local(policy, model, format).counting, format)

    async def compact(self, call: CompactCall, seconds_left: float | None = None) -> CompactAnswer:
        """A request that fits, and the record that reproduces it."""
        settings = self._settings(call.policy, call.request)
        _check_session(call, settings)
        question, count = await self._question(call, settings, seconds_left)
        decision = pipeline.prepare(question)
        match decision:
            case Fits():
                answer = self._fitting(call, question, count, decision)
            case Plan():
                answer = await self._evicting(call, question, count, decision)
        if answer.outcome not in (Outcome.UNCHANGED, Outcome.REUSED):
            _log_compaction(call, answer)
        return answer

    async def summarize(
        self, request: Request, dialect: Dialect, policy: Policy, previous_summary: str = ""
    ) -> SummarizeAnswer:
        """A summary of the given messages, by code alone. Never fails."""
        settings = self._settings(policy, request)
        counting = self._counts.local(policy, request.model, request.format).counting
        indexes = range(request.leading, len(request.messages))
        harvest = self._facts.harvester(request, dialect)
        harvests = [harvest(index) for index in indexes]
        retained = retain(harvests)
        text, dropped = extractive.extract(
            retained,
            max_tokens=settings.summary_max_tokens + settings.retained_max_tokens,
            count=counting.text,
            last_words=last_words(harvests),
            previous=previous_summary or earlier_summary(harvests),
        )
        return SummarizeAnswer(text, replace(retained, dropped=dropped), _summary_notices(dropped))

    async def count_tokens(self, request: Request, policy: Policy, seconds_left: float | None = None) -> CountAnswer:
        """The input tokens of the whole request and where they are spent."""
        settings = self._settings(policy, request)
        count = self._counts.local(policy, request.model, request.format)
        base, tools = _overhead(request, count.counting)
        prompt = sum(message.tokens for message in request.messages[: request.leading])
        system = base + prompt + sum(block.tokens for block in request.system)
        media = sum(message.media_tokens for message in request.messages)
        messages = sum(message.tokens for message in request.messages) - prompt - media
        estimate = system + tools + messages + media
        count = await self._counts.of_request(request, settings, count, estimate, seconds_left)
        total = count.scale.up(estimate)
        spent = [count.scale.up(part) for part in (tools, media, messages)]
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

    async def _evicting(self, call: CompactCall, question: Question, count: Count, plan: Plan) -> CompactAnswer:
        """The effects of a plan and its result. A result that breaks a rule is our fault and never sent: the request is
        truncated instead, and if even that breaks one, it goes out as the caller has it.
        """
        answer = await self._evicted(call, question, count, plan, ())
        if answer is not None:
            return answer
        decision = pipeline.truncate(question)
        if isinstance(decision, Plan):
            answer = await self._evicted(call, question, count, decision, (_INVALID,))
            if answer is not None:
                return answer
            decision = pipeline.untouched(question)
        return self._fitting(call, question, count, decision, (_INVALID,))

    async def _evicted(
        self, call: CompactCall, question: Question, count: Count, plan: Plan, notices: Sequence[Notice]
    ) -> CompactAnswer | None:
        """What a plan comes to; None where the result would break a rule of its provider."""
        history = await keep(self._history, call, plan) if plan.is_eviction else None
        summary, retained, made = self._summary(plan)
        result = pipeline.finish(plan, summary, history.path if history else plan.known_history_path)
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
            explained=Explained(plan.wanted, plan.shape.first_kept, plan.boundary_note, result.view),
            evicted_count=plan.evicted_count,
            clipped_count=plan.clipped_values,
            history=history,
            retained=retained,
            notices=(*notices, *plan.notices, *made, *failed),
        )
        return self._marked(call, question, count, result.view, answer)

    def _fitting(
        self, call: CompactCall, question: Question, count: Count, fits: Fits, notices: Sequence[Notice] = ()
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
            explained=Explained(kept, kept, "nothing was evicted by this call", fits.view),
            clipped_count=fits.clipped_values,
            notices=(*notices, *fits.notices),
        )
        return self._marked(call, question, count, fits.view, answer)

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

    def _summary(self, plan: Plan) -> tuple[str, Retained, tuple[Notice, ...]]:
        """The summary that needs no model, over everything that is evicted, from the raw log."""
        request, means = plan.question.request, plan.question.means
        evicted = range(request.leading, plan.shape.first_kept)
        harvests = [means.harvest(index) for index in evicted]
        retained = retain(harvests)
        requests = tuple(text for text in retained.requests if text not in plan.request_text)
        text, dropped = extractive.extract(
            replace(retained, requests=requests),  # the open request stands in the message by itself
            max_tokens=plan.summary_tokens,
            count=means.count,
            last_words=last_words(harvests),
            previous=earlier_summary(harvests),
        )
        notices = _summary_notices(dropped)
        if plan.outcome is Outcome.TRUNCATED:
            notices = tuple(notice for notice in notices if notice.code is not NoticeCode.SUMMARY_EXTRACTIVE)
        return text, replace(retained, dropped=dropped), notices

    async def _question(
        self, call: CompactCall, settings: Settings, seconds_left: float | None
    ) -> tuple[Question, Count]:
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
        count = await self._counts.of_view(question, count, seconds_left)
        return replace(question, scale=count.scale), count

    def _settings(self, policy: Policy, request: Request) -> Settings:
        settings = resolve(policy, self._profile_of(request.model), request.max_output_tokens)
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


def _summary_notices(dropped: Sequence[str]) -> tuple[Notice, ...]:
    notices = [Notice(NoticeCode.SUMMARY_EXTRACTIVE, "the summary was written by code, not by a model")]
    if dropped:
        detail = f"retained state over its budget was left out: {', '.join(dropped)}"
        notices.append(Notice(NoticeCode.RETAINED_OVER_BUDGET, detail))
    return tuple(notices)


def _check_session(call: CompactCall, settings: Settings) -> None:
    if settings.history_mode is HistoryMode.OFF and not call.session_id:
        return
    if not is_session_id(call.session_id):
        raise InvalidSessionId(
            "session_id has to be 1 to 128 of A-Z a-z 0-9 . _ : - and must not start with a dot",
            length=len(call.session_id),
        )


def _log_compaction(call: CompactCall, answer: CompactAnswer) -> None:
    path = answer.history.path if answer.history else ""
    log.info(
        "compacted session=%s reason=%s outcome=%s tokens_before=%d tokens_after=%d evicted=%d clipped=%d path=%s",
        call.session_id,
        answer.reason,
        answer.outcome,
        answer.before,
        answer.after,
        answer.evicted_count,
        answer.clipped_count,
        path,
    )
