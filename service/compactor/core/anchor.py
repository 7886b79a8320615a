"""What a provider has reported, laid against the estimate of the same thing (rules R5, R6).

A session's requests are much alike, so what its provider counted for one says more of the next than any table: what was
reported for a beginning of the log anchors the count of the whole, what was refused calibrates the estimate. A number
is used only where it is about what the model sees now: for the same record, within the log, and not beyond belief.
"""

from __future__ import annotations

from typing import NamedTuple

from compactor.core.question import MOST_OFF, Scale
from compactor.core.state import Standing
from compactor.model import ObservedOverflow, ObservedUsage, Reason, Request


class Anchor(NamedTuple):
    """What a provider counted, and the estimate of just that."""

    real: int
    estimated: int

    @property
    def scale(self) -> Scale:
        """The scale through both."""
        return Scale.through(self.real, self.estimated)

    @property
    def is_plausible(self) -> bool:
        """Whether the number can be true, given its estimate."""
        return self.real > 0 and self.estimated <= self.real * MOST_OFF <= self.estimated * MOST_OFF * MOST_OFF


def of_usage(at: Standing, usage: ObservedUsage | None) -> Anchor | None:
    """What was reported for a beginning of what the model sees; None where it says nothing of that."""
    record, first_kept = at.question.record, at.shape.first_kept
    if usage is None or usage.sequence != (record.sequence if record else 0) or usage.message_count <= first_kept:
        return None
    if not at.question.request.leading < usage.message_count <= len(at.question.request.messages):
        return None
    seen = zip(at.view.messages, at.view.origins, strict=True)
    beginning = sum([message.tokens for message, origin in seen if origin < usage.message_count])
    return _plausible(usage.input_tokens, at.question.fixed_tokens + beginning)


def of_raw_usage(request: Request, fixed_tokens: int, usage: ObservedUsage | None) -> Anchor | None:
    """The same of a raw request, of which `fixed_tokens` are no messages."""
    if usage is None or usage.sequence or not request.leading < usage.message_count <= len(request.messages):
        return None
    beginning = sum([message.tokens for message in request.messages[: usage.message_count]])
    return _plausible(usage.input_tokens, fixed_tokens + beginning)


def of_overflow(at: Standing, overflow: ObservedOverflow | None) -> Anchor | None:
    """What the provider counted when it refused what the model sees; None where it named no number."""
    if overflow is None or at.question.reason not in (Reason.OVERFLOW, Reason.TRUNCATE):
        return None
    return _plausible(overflow.actual_input_tokens, at.estimate)


def _plausible(real: int, estimated: int) -> Anchor | None:
    anchor = Anchor(real, max(1, estimated))
    return anchor if anchor.is_plausible else None
