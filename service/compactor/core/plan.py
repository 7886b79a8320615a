"""The values that pass between the stages: what is asked, and what was decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compactor.core.retained import Harvest
from compactor.core.view import Read, View
from compactor.model import Compaction, Dialect, Message, Notice, Outcome, Reason, Request
from compactor.policy import Settings


@dataclass(frozen=True, slots=True)
class Means:
    """What the core needs to look closer at a message; all pure functions of its bytes.

    `read` gives the facts of a message, `harvest` what is worth keeping of it, `count` the tokens of a text.
    """

    dialect: Dialect
    read: Read
    harvest: Callable[[bytes], Harvest]
    count: Callable[[str], int]


class Scale(NamedTuple):
    """Real over estimated tokens, as a fraction. Where nothing better than the estimate is known, 1/1."""

    real: int = 1
    estimated: int = 1

    def up(self, tokens: int) -> int:
        """Estimated tokens as real ones, rounded up."""
        return -(-tokens * self.real // self.estimated)

    def down(self, tokens: int) -> int:
        """Real tokens as estimated ones, rounded down."""
        return tokens * self.estimated // self.real


@dataclass(frozen=True, slots=True)
class Question:
    """One Compact call. `base_tokens` is what the request costs before its system text: overhead and tools."""

    request: Request
    settings: Settings
    means: Means
    base_tokens: int
    reason: Reason = Reason.UNSPECIFIED
    record: Compaction | None = None
    turn_id: str = ""
    stable_system_count: int | None = None
    scale: Scale = Scale()

    @property
    def fixed_tokens(self) -> int:
        """Estimated tokens of everything but the messages."""
        return self.base_tokens + sum([block.tokens for block in self.request.system])

    def total(self, view: View) -> int:
        """Real tokens of the whole request with these messages."""
        return self.scale.up(self.fixed_tokens + view.tokens)

    def room(self, tokens: int) -> int:
        """Estimated tokens that messages may have under a limit in real tokens for the whole request."""
        return self.scale.down(tokens) - self.fixed_tokens


@dataclass(frozen=True, slots=True)
class Shape:
    """How a view is made from the raw log: what a record says of it. All indexes are raw."""

    first_kept: int = 0
    summary: str = ""
    clipped_before: int = 0
    clip_max_tokens: int = 0
    unclipped_tools: tuple[str, ...] = ()
    stripped_before: int = 0
    repairs: bool = False


@dataclass(frozen=True, slots=True)
class Fits:
    """Nothing has to be evicted: the view can be sent.

    `record` is the one now in force, None where the raw request is sent as it is.
    """

    view: View
    record: Compaction | None
    outcome: Outcome
    reason: Reason
    before: int
    notices: tuple[Notice, ...] = ()
    clipped_values: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Messages have to be evicted: the decision, complete.

    `shape` has no summary yet. The raw messages `[evicted_from, shape.first_kept)` are evicted by this plan; all before
    that were evicted earlier. `request_text` is the user's open request where it is evicted too; it goes into the
    summary message verbatim. `summary_tokens` is what the summary may take, frame not included.
    """

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
    limit: int
    notices: tuple[Notice, ...] = ()
    clipped_values: int = 0


Decision = Fits | Plan


def suffix_tokens(messages: Sequence[Message]) -> list[int]:
    """Tokens of the messages from each position on; one entry more than there are messages, the last 0."""
    sums = [0] * (len(messages) + 1)
    total = 0
    for position in range(len(messages) - 1, -1, -1):
        total += messages[position].tokens
        sums[position] = total
    return sums
