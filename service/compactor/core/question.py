"""What is asked of the core: one Compact call with everything that the decision depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from compactor.core.retained import Harvest
from compactor.core.view import Read, View
from compactor.model import Compaction, Dialect, Reason, Request
from compactor.policy import Settings


@dataclass(frozen=True, slots=True)
class Means:
    """What the core needs to look closer at a message; all pure functions of its bytes.

    `read` gives the facts of a message, `harvest` what is worth keeping of the raw message with an index, `count` the
    tokens of a text.
    """

    dialect: Dialect
    read: Read
    harvest: Callable[[int], Harvest]
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


EXACT = Scale()


@dataclass(frozen=True, slots=True)
class Question:
    """One Compact call.

    `base_tokens` is what the request costs before its system text: overhead, and `tools_tokens` for its tools. `acts`
    counts the compactions that the session has seen, also where the record of the last one is stale and left out.
    """

    request: Request
    settings: Settings
    means: Means
    base_tokens: int
    tools_tokens: int
    reason: Reason = Reason.UNSPECIFIED
    record: Compaction | None = None
    acts: int = 0
    turn_id: str = ""
    stable_system_count: int | None = None
    scale: Scale = EXACT

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
