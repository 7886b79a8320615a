"""Which number is used: the local way of counting that a policy chooses, and the provider's where it can matter (R5).

The provider is asked where the caller wants it, or where the estimate lies so near the trigger that its error could
change the decision. It is asked within a time, and asked again next time when it failed; the estimate stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from compactor.core import edits, pipeline
from compactor.core.measure import Counting, heuristic, simple
from compactor.core.question import Question, Scale
from compactor.core.view import messages_edit
from compactor.memo import Memo
from compactor.model import CountSource, Format, Notice, NoticeCode, Request
from compactor.policy import Policy, Settings, TokenCounter
from compactor.ports import CountFailed
from compactor.ports import TokenCounter as CounterPort
from compactor.reader import digest

DOUBTFUL_FROM, DOUBTFUL_TO = 0.85, 1.10
"""The shares of the trigger between which the estimate may be on its wrong side: its measured error at the extremes."""

MOST_OFF = 10
"""How many times the estimate, or what part of it, a provider's number may be to be believed. Hidden prompts of server
tools have been seen to make it three times as large."""

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

    async def of_view(self, question: Question, count: Count, seconds_left: float | None) -> Count:
        """The count scaled to the provider's number for what would be sent, where that can change the decision.

        `seconds_left` is what the caller's deadline leaves, None for none; a count takes a quarter of it at most.
        """
        settings = question.settings
        if not self._may_ask(settings, count):
            return count
        view = pipeline.view_of(question)
        estimate = question.total(view)
        if settings.token_counter is TokenCounter.AUTO:
            low, high = DOUBTFUL_FROM * settings.trigger, DOUBTFUL_TO * settings.trigger
            if not low <= estimate <= high:
                return count
        body = edits.applied(question.request, messages_edit(question.request, view))
        return await self._asked(question.request, body, estimate, count, seconds_left)

    async def of_request(
        self, request: Request, settings: Settings, count: Count, estimate: int, seconds_left: float | None
    ) -> Count:
        """The count scaled to the provider's number for a raw request of `estimate` tokens, if the caller wants it."""
        if settings.token_counter is not TokenCounter.PROVIDER or not self._may_ask(settings, count):
            return count
        return await self._asked(request, request.body, estimate, count, seconds_left)

    def _may_ask(self, settings: Settings, count: Count) -> bool:
        if settings.characters_per_token is not None:
            return False
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
                if not estimate <= number * MOST_OFF <= estimate * MOST_OFF * MOST_OFF:
                    raise CountFailed("its number is not plausible")
            except CountFailed as error:
                return _fell_back(count, f"the provider did not count: {error}")
            self._numbers.keep(key, number)
        return replace(count, source=CountSource.PROVIDER, margin=1.0, scale=Scale(number, max(1, estimate)))


def _count(counting: Counting) -> Count:
    return Count(counting, counting.source, counting.margin, Scale(1, 1))


def _fell_back(count: Count, why: str) -> Count:
    return replace(count, notices=(*count.notices, Notice(NoticeCode.COUNT_FELL_BACK, why)))


def _number_cost(number: int) -> int:
    del number
    return 200
