"""What goes into the use cases and what comes out of them, between the wire and the app."""

from __future__ import annotations

from dataclasses import dataclass, field

from compactor.core.state import Standing
from compactor.core.view import View
from compactor.model import (
    Breakpoint,
    Compaction,
    CountSource,
    Dialect,
    Edit,
    HistoryStatus,
    Notice,
    ObservedOverflow,
    ObservedUsage,
    Outcome,
    Reason,
    Request,
    Retained,
    SummarizerUsage,
)
from compactor.policy import Policy, Settings


@dataclass(frozen=True, slots=True)
class CompactCall:
    """A Compact call, read from the wire."""

    request: Request
    dialect: Dialect
    policy: Policy = field(default_factory=Policy)
    record: Compaction | None = None
    reason: Reason = Reason.UNSPECIFIED
    session_id: str = ""
    turn_id: str = ""
    stable_system_count: int | None = None
    usage: ObservedUsage | None = None
    overflow: ObservedOverflow | None = None


@dataclass(frozen=True, slots=True)
class HistoryResult:
    """What became of the evicted originals; `markdown` is set when the caller has to write them."""

    status: HistoryStatus
    path: str = ""
    markdown: str = ""


@dataclass(frozen=True, slots=True)
class Explained:
    """Where the boundary was wanted and taken, and why, all indexes raw; from what to which view it led."""

    wanted: int
    taken: int
    note: str
    at: Standing
    view: View


@dataclass(frozen=True, slots=True)
class CompactAnswer:
    """What a Compact call comes to. `edits` turn the raw request into the result."""

    edits: tuple[Edit, ...]
    record: Compaction | None
    outcome: Outcome
    reason: Reason
    before: int
    after: int
    source: CountSource
    available: int
    explained: Explained
    evicted_count: int = 0
    clipped_count: int = 0
    history: HistoryResult | None = None
    retained: Retained | None = None
    usage: SummarizerUsage | None = None
    placed: tuple[Breakpoint, ...] = ()
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class SummarizeAnswer:
    """A summary, who wrote it, what code kept, what it cost, and the identifiers that the model's text had lost."""

    summary: str
    by_model: bool
    retained: Retained
    usage: SummarizerUsage | None
    missing: tuple[str, ...]
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class CountAnswer:
    """A count and where it was spent."""

    tokens: int
    source: CountSource
    system: int
    tools: int
    messages: int
    media: int
    settings: Settings
    margin: float
    notices: tuple[Notice, ...]
