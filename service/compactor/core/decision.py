"""What was decided, complete, as a value: nothing has to be evicted, or what has to be done so that the rest fits."""

from __future__ import annotations

from dataclasses import dataclass

from compactor.core.question import Question
from compactor.core.view import View
from compactor.model import Compaction, Notice, Outcome, Reason, Strategy


@dataclass(frozen=True, slots=True)
class Shape:
    """How a view is made from the raw log: what a record says of it. All indexes are raw.

    `pinned` is the user's open request where it is kept by itself, right behind the summary, because it holds more than
    text. `kept` are ranges that a window keeps before `first_kept`; only with `SUMMARIZE` is there a summary.
    """

    first_kept: int = 0
    pinned: int | None = None
    strategy: Strategy = Strategy.SUMMARIZE
    kept: tuple[tuple[int, int], ...] = ()
    summary: str = ""
    clipped_before: int = 0
    clip_max_tokens: int = 0
    unclipped_tools: tuple[str, ...] = ()
    stripped_before: int = 0
    repairs: bool = False

    @property
    def is_window(self) -> bool:
        """Whether messages are left out without a summary in their place."""
        return self.strategy is not Strategy.SUMMARIZE

    @property
    def kept_before(self) -> tuple[int, ...]:
        """The raw indexes of what is kept before `first_kept`."""
        pinned = () if self.pinned is None else (self.pinned,)
        return (*pinned, *(index for start, stop in self.kept for index in range(start, stop)))


@dataclass(frozen=True, slots=True)
class Fits:
    """Nothing has to be evicted: the view can be sent.

    `record` is the one now in force, None where the raw request is sent as it is. `before` and `after` are real tokens.
    """

    view: View
    record: Compaction | None
    outcome: Outcome
    reason: Reason
    before: int
    after: int
    notices: tuple[Notice, ...] = ()
    clipped_values: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Messages have to be evicted: the decision, complete.

    `question` is the one that it answers, its record left out where that was stale. `shape` has no summary yet. The raw
    messages `[evicted_from, shape.first_kept)` are evicted by this plan; all before that were evicted earlier.
    `request_text` is the user's open request where it is evicted too; it goes into the summary message verbatim.
    `summary_tokens` is what the summary should take, frame not included, and `most_summary_tokens` what it may take at
    most; both are estimated tokens. `after` is the size of the result if it takes what it should.
    """

    question: Question
    shape: Shape
    outcome: Outcome
    reason: Reason
    before: int
    evicted_from: int
    evicted_count: int
    wanted: int
    boundary_note: str
    request_text: str
    summary_tokens: int
    most_summary_tokens: int
    after: int
    notices: tuple[Notice, ...] = ()
    clipped_values: int = 0

    @property
    def is_eviction(self) -> bool:
        """Whether any message is left out now; else the summary of those that were is written anew."""
        return self.shape.first_kept > self.evicted_from

    @property
    def told_from(self) -> int:
        """The raw index from which on no summary in force tells of what is evicted: a window leaves none."""
        record = self.question.record
        is_untold = record is not None and record.strategy is not Strategy.SUMMARIZE
        return self.question.request.leading if is_untold else self.evicted_from

    @property
    def known_history_path(self) -> str:
        """Where the messages that were left out earlier are kept; empty where that is not known."""
        return self.question.record.history_path if self.question.record else ""


Decision = Fits | Plan
