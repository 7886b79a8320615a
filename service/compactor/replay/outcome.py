"""What a replay comes to: each model call in three ways of keeping the window, and the sums of each way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from compactor.replay.cache import Use
from compactor.replay.prices import Tariff


class Way(StrEnum):
    """How the window is kept: by the service, not at all, or by dropping the oldest messages at every call."""

    COMPACT = "compact"
    NEVER = "never"
    SLIDE = "slide"


class Spend(NamedTuple):
    """What one call sent, as the cache sees it, and what its input cost."""

    use: Use
    cost: float


class Failure(NamedTuple):
    """The call at which a way ends: its request is larger than the window."""

    call: int
    input_tokens: int


@dataclass(frozen=True, slots=True)
class Step:
    """One model call. `spends` has no entry for a way that has failed; `summary_cost` is what writing a summary cost.

    `before` are the tokens of the view before the service acted, `dropped` how many messages the sliding window leaves
    out. The rest is what the service answered.
    """

    call: int
    message_count: int
    outcome: str
    reason: str
    before: int
    after: int
    evicted: int
    clipped: int
    boundary_note: str
    notices: tuple[str, ...]
    dropped: int
    spends: Mapping[Way, Spend]
    summary_cost: float

    @property
    def is_compaction(self) -> bool:
        """Whether the service decided something new here."""
        return self.outcome not in ("UNCHANGED", "REUSED")


class Total(NamedTuple):
    """The sum of a way over so many calls; `cost` includes the summaries."""

    calls: int
    sent: int
    read: int
    written: int
    uncached: int
    cost: float


@dataclass(frozen=True, slots=True)
class Replay:
    """A session played. `rules` says in a sentence how the cache was simulated."""

    model: str
    format: str
    window: int
    trigger: int
    tariff: Tariff
    rules: str
    steps: Sequence[Step]
    failures: Mapping[Way, Failure]

    @property
    def compactions(self) -> list[Step]:
        """The calls at which the service decided something new."""
        return [step for step in self.steps if step.is_compaction]

    def total(self, way: Way, until: int | None = None) -> Total:
        """The sum of a way over all its calls, or over those before call number `until`."""
        steps = [step for step in self.steps if way in step.spends and (until is None or step.call < until)]
        uses = [step.spends[way].use for step in steps]
        summaries = sum(step.summary_cost for step in steps) if way is Way.COMPACT else 0.0
        return Total(
            calls=len(steps),
            sent=sum(use.sent for use in uses),
            read=sum(use.read for use in uses),
            written=sum(use.written + use.written_long for use in uses),
            uncached=sum(use.uncached for use in uses),
            cost=sum(step.spends[way].cost for step in steps) + summaries,
        )
