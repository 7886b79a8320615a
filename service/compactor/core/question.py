"""What is asked of the core: one Compact call with everything that the decision depends on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from compactor.core.retained import Harvest
from compactor.core.view import Read, View
from compactor.model import Compaction, Content, Dialect, Reason, Request
from compactor.policy import Settings


@dataclass(frozen=True, slots=True)
class Means:
    """What the core needs to look closer at a message; all pure functions of its bytes.

    `read` gives the facts of a message, `content` the raw message with an index as it may be shown, `harvest` what is
    worth keeping of it, `count` the tokens of a text, `masked` any other text as it may be shown: without credentials
    where the policy wants that, else as it is.
    """

    dialect: Dialect
    read: Read
    content: Callable[[int], Content]
    harvest: Callable[[int], Harvest]
    count: Callable[[str], int]
    masked: Callable[[str], str] = str


class Scale(NamedTuple):
    """Real tokens of an estimate: a ratio, and for whole requests a constant besides, which an estimate does not see,
    such as a hidden prompt. Where nothing better than the estimate is known, it is exact.
    """

    real: int = 1
    estimated: int = 1
    hidden: int = 0

    @classmethod
    def through(cls, real: int, estimated: int) -> Scale:
        """The scale on which a request of `estimated` tokens has `real` ones.

        The estimate of text is off by a ratio, but never by more than `MOST_RATIO`; what is beyond that is hidden.
        """
        estimated = max(1, estimated)
        if real > MOST_RATIO * estimated:
            return cls(MOST_RATIO, 1, real - MOST_RATIO * estimated)
        if real * MOST_RATIO < estimated:
            return cls(1, MOST_RATIO, real - -(-estimated // MOST_RATIO))
        return cls(real, estimated)

    @classmethod
    def told(cls, ratio: float) -> Scale:
        """The scale of the result that a record is about; exact where it has learned nothing."""
        return cls(*ratio.as_integer_ratio()) if 0 < ratio < math.inf else cls()

    @classmethod
    def learned(cls, ratio: float) -> Scale:
        """The scale that a record carries on to later requests, within what can be believed."""
        if not 0 < ratio < math.inf:
            return cls()
        return cls.told(min(max(ratio, 1 / MOST_OFF), MOST_OFF))

    def up(self, tokens: int) -> int:
        """Estimated tokens of a part as real ones, rounded up."""
        return -(-tokens * self.real // self.estimated)

    def down(self, tokens: int) -> int:
        """Real tokens of a part as estimated ones, rounded down."""
        return tokens * self.estimated // self.real

    def whole(self, tokens: int) -> int:
        """Estimated tokens of a whole request as real ones."""
        return max(-(-tokens // MOST_OFF), self.up(tokens) + self.hidden)

    def room(self, tokens: int) -> int:
        """Estimated tokens that a whole request may have to be within so many real ones."""
        return min(self.down(tokens - self.hidden), tokens * MOST_OFF)


def ratio_of(real: int, estimated: int) -> float:
    """What a record carries on so that `Scale.told` takes the estimate of its result back to the real number."""
    ratio = real / max(1, estimated)
    return ratio if Scale.told(ratio).up(estimated) <= real else math.nextafter(ratio, 0.0)


MOST_RATIO = 2
"""How many times its estimate a text may have been measured to take, or what part of it, languages and models mixed."""

MOST_OFF = 10
"""How many times the estimate, or what part of it, a provider's number may be to be believed. Hidden prompts of server
tools have been seen to make it three times as large."""

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
        return self.scale.whole(self.fixed_tokens + view.tokens)

    def room(self, tokens: int) -> int:
        """Estimated tokens that messages may have under a limit in real tokens for the whole request."""
        return self.scale.room(tokens) - self.fixed_tokens
