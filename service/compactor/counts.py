"""Which number is used: the local way of counting that a policy chooses, and the provider's where it can matter (R5,
R6).

What the provider has reported for the session is best. Else it is asked where the caller wants it, or where the
estimate lies so near the trigger that its error could change the decision. It is asked within a time, and asked again
next time when it failed; the estimate stands in for it. A caller that counts characters gets that and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from compactor.core import anchor, edits
from compactor.core.anchor import Anchor
from compactor.core.measure import Counting, heuristic, simple
from compactor.core.question import Scale
from compactor.core.state import Standing
from compactor.core.view import messages_edit
from compactor.memo import Memo
from compactor.model import CountSource, Format, Notice, NoticeCode, ObservedOverflow, ObservedUsage, Request
from compactor.policy import Policy, Settings, TokenCounter
from compactor.ports import CountFailed
from compactor.ports import TokenCounter as CounterPort
from compactor.reader import digest

DOUBTFUL_FROM, DOUBTFUL_TO = 0.85, 1.10
"""The shares of the trigger between which the estimate may be on its wrong side: its measured error at the extremes."""

REMEMBERED_BYTES = 1_000_000

Tokenizer = Callable[[str, Format], Counting | None]
"""Gives the exact way of counting of a model that has a public tokenizer."""


@dataclass(frozen=True, slots=True)
class Count:
    """How a call counts: the local way, how far it is from the provider's number, and what went other than planned."""

    counting: Counting
    source: CountSource
    margin: float
    scale: Scale
    notices: tuple[Notice, ...] = ()


class Counts:
    """Chooses and asks. `counter` is None where no provider is configured."""

    def __init__(self, tokenizer: Tokenizer, counter: CounterPort | None, timeout_seconds: float) -> None:
        self._tokenizer = tokenizer
        self._counter = counter
        self._timeout_seconds = timeout_seconds
        self._numbers: Memo[int] = Memo(REMEMBERED_BYTES, _number_cost)

    def local(self, policy: Policy, model: str, format: Format) -> Count:
        """The local way of counting that a policy chooses for a model."""
        if policy.characters_per_token is not None:
            return _count(simple(policy.characters_per_token, model, format))
        wanted = policy.token_counter or TokenCounter.AUTO
        if wanted is TokenCounter.HEURISTIC:
            return _count(heuristic(model, format))
        exact = self._tokenizer(model, format)
        if exact is not None:
            return _count(exact)
        count = _count(heuristic(model, format))
        if wanted is TokenCounter.TOKENIZER:
            return _fell_back(count, "the model has no public tokenizer; the heuristic counted")
        return count

    async def of_view(
        self,
        at: Standing,
        count: Count,
        usage: ObservedUsage | None,
        overflow: ObservedOverflow | None,
        seconds_left: float | None,
    ) -> Count:
        """The count scaled by the best number there is for what would be sent: what its refusal named, the provider's
        own where the caller wants it or it can change the decision, what was reported for its beginning.

        `seconds_left` is what the caller's deadline leaves, None for none; a count takes a quarter of it at most.
        """
        settings = at.question.settings
        if settings.characters_per_token is not None:
            return count
        count = replace(count, scale=at.question.scale)
        if at.is_answered:
            return count
        known = anchor.of_overflow(at, overflow)
        if known is None and settings.token_counter is not TokenCounter.PROVIDER:
            known = anchor.of_usage(at, usage)
        if known is not None:
            return _anchored(count, known, at.estimate)
        if not self._may_ask(settings, count):
            return count
        if settings.token_counter is TokenCounter.AUTO:
            low, high = DOUBTFUL_FROM * settings.trigger, DOUBTFUL_TO * settings.trigger
            if not low <= at.before <= high:
                return count
        body = edits.applied(at.question.request, messages_edit(at.question.request, at.view))
        return await self._asked(at.question.request, body, at.estimate, count, seconds_left)

    async def of_request(
        self,
        request: Request,
        settings: Settings,
        count: Count,
        estimate: int,
        known: Anchor | None,
        seconds_left: float | None,
    ) -> Count:
        """The count scaled by the best number there is for a raw request of `estimate` tokens: the provider's own, if
        the caller wants it, or what was reported for its beginning.
        """
        if settings.characters_per_token is not None:
            return count
        if settings.token_counter is TokenCounter.PROVIDER:
            return await self._asked(request, request.body, estimate, count, seconds_left)
        return count if known is None else _anchored(count, known, estimate)

    def _may_ask(self, settings: Settings, count: Count) -> bool:
        if settings.token_counter is TokenCounter.PROVIDER:
            return True
        is_estimate = count.source is CountSource.HEURISTIC
        return settings.token_counter is TokenCounter.AUTO and is_estimate and self._counter is not None

    def _timeout(self, seconds_left: float | None) -> float:
        return self._timeout_seconds if seconds_left is None else min(self._timeout_seconds, seconds_left / 4)

    async def _asked(
        self, request: Request, body: bytes, estimate: int, count: Count, seconds_left: float | None
    ) -> Count:
        key = digest(body)
        number = self._numbers.recall(key)
        if number is None:
            try:
                if self._counter is None:
                    raise CountFailed("none is configured")
                number = await self._counter.count(request, body, self._timeout(seconds_left))
                if not Anchor(number, max(1, estimate)).is_plausible:
                    raise CountFailed("its number is not plausible")
            except CountFailed as error:
                return _fell_back(count, f"the provider did not count: {error}")
            self._numbers.keep(key, number)
        return replace(count, source=CountSource.PROVIDER, margin=1.0, scale=Scale.through(number, estimate))


def _count(counting: Counting) -> Count:
    return Count(counting, counting.source, counting.margin, Scale(1, 1))


def _anchored(count: Count, known: Anchor, estimate: int) -> Count:
    """The count through what was reported; what was appended since is off as much as any estimate."""
    appended = 1 - min(1.0, known.estimated / max(1, estimate))
    margin = 1 + (count.margin - 1) * appended
    return replace(count, source=CountSource.ANCHORED, margin=margin, scale=known.scale)


def _fell_back(count: Count, why: str) -> Count:
    return replace(count, notices=(*count.notices, Notice(NoticeCode.COUNT_FELL_BACK, why)))


def _number_cost(number: int) -> int:
    del number
    return 200
