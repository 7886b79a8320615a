"""Where a decision starts from: the view under the record, its size, where it may be cut, and what is aimed at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from compactor.core import boundary
from compactor.core.arrange import arranged, shape_of
from compactor.core.boundary import Cuts
from compactor.core.decision import Shape
from compactor.core.question import EXACT, Question, Scale
from compactor.core.view import OURS, View
from compactor.errors import WindowTooSmall
from compactor.model import Message, Notice, NoticeCode, Reason
from compactor.policy import KeepUnit, Repair

OVERFLOW_AIM = 0.75
TRUNCATE_AIM = 0.5


@dataclass(frozen=True, slots=True, repr=False)
class Standing:
    """Where a question stands: the view under its record, of `estimate` estimated tokens, the whole request counted."""

    question: Question
    shape: Shape
    view: View
    clipped_values: int
    is_repaired: bool
    estimate: int
    notices: tuple[Notice, ...]

    @property
    def before(self) -> int:
        """Real tokens of the whole request."""
        return self.question.scale.whole(self.estimate)

    def scaled(self, scale: Scale) -> Standing:
        """The same with what is known of real tokens."""
        return replace(self, question=replace(self.question, scale=scale))

    @property
    def is_answered(self) -> bool:
        """Whether this very question was answered by its record: same turn and reason, nothing appended since (R3)."""
        record, turn_id = self.question.record, self.question.turn_id
        if record is None or not turn_id or (record.turn_id, record.reason) != (turn_id, self.reason):
            return False
        return record.compacted_input_tokens == Scale.told(record.estimate_ratio).up(self.estimate)

    @property
    def count(self) -> int:
        """Messages of the view."""
        return len(self.view.messages)

    @property
    def exceeds_messages(self) -> bool:
        """Whether there are more messages than trigger a compaction, or than there may be at most."""
        trigger = self.question.settings.trigger_messages
        return self.exceeds_ceiling or (trigger is not None and self.count > trigger)

    @property
    def exceeds_ceiling(self) -> bool:
        """Whether there are more messages than there may be at most; then no way leaves the request as it is."""
        most = self.question.settings.most_messages
        return most is not None and self.count > most

    @property
    def is_forced(self) -> bool:
        """Whether the caller wants a compaction whatever the estimate says."""
        return self.question.reason is not Reason.UNSPECIFIED

    @property
    def reason(self) -> Reason:
        """The reason that the response names."""
        return self.question.reason if self.is_forced else Reason.THRESHOLD

    @property
    def target(self) -> int:
        """What to bring the request down to, in real tokens; each rung of the ladder aims lower than the one before."""
        trigger = min(self.question.settings.trigger, self.question.settings.budget)
        match self.question.reason:
            case Reason.OVERFLOW:
                return int(OVERFLOW_AIM * min(trigger, self.before))
            case Reason.TRUNCATE:
                return int(TRUNCATE_AIM * min(trigger, self.before))
            case _:
                return trigger


@dataclass(frozen=True, slots=True, repr=False)
class State(Standing):
    """A view that has to be brought down, with what is needed for it.

    `first` is the first position that may be evicted; `suffix[i]` are the estimated tokens of the messages from
    position i on.
    """

    first: int
    cuts: boundary.Cuts
    suffix: Sequence[int]

    @property
    def wanted(self) -> int:
        """The position from which messages should be kept verbatim."""
        settings, count = self.question.settings, self.count
        if settings.keep_messages is not None:
            return max(self.first, count - max(1, settings.keep_messages))
        if settings.keep_unit is KeepUnit.MESSAGES:
            return max(self.first, count - max(1, math.ceil(settings.keep_fraction * (count - self.first))))
        room = self.question.scale.down(int(settings.keep_fraction * settings.window))
        kept = next(position for position in range(count + 1) if self.suffix[position] <= room)
        return max(self.first, min(kept, count - 1))

    @property
    def clip_before(self) -> int:
        """The raw index before which values may be clipped: where the newest, exempt messages begin."""
        recent = self.question.settings.keep_recent
        return self.raw_index(self.wanted if recent is None else max(0, self.count - recent))

    @property
    def has_too_many(self) -> bool:
        """Whether the number of messages has to come down by itself; then a summary need not free tokens."""
        return self.exceeds_ceiling or (self.before <= self.target and self.exceeds_messages)

    @property
    def prompt_tokens(self) -> int:
        """Estimated tokens of the system messages at the head."""
        return sum([message.tokens for message in self.view.messages[: self.question.request.leading]])

    def raw_index(self, position: int) -> int:
        """The raw index of a position; that of the next raw message where the position holds one of ours."""
        origins = self.view.origins
        while position < len(origins) and origins[position] == OURS:
            position += 1
        return origins[position] if position < len(origins) else len(self.question.request.messages)

    def too_small(self, turn_tokens: int) -> WindowTooSmall:
        """The error of a request that does not fit, with what its parts cost; the open turn in estimated tokens."""
        question = self.question
        up, tools, window = question.scale.up, question.tools_tokens, question.settings.window
        system = question.fixed_tokens - tools + self.prompt_tokens
        return WindowTooSmall(
            f"nothing that may be dropped makes the request fit a window of {window} tokens: system text takes "
            f"{up(system)}, tools {up(tools)}, the open turn {up(turn_tokens)}",
            max_input_tokens=window,
            system_tokens=up(system),
            tools_tokens=up(tools),
            open_turn_tokens=up(turn_tokens),
        )


def standing(question: Question) -> Standing:
    """Where the question stands under its record, or without it where it is stale."""
    if question.record is not None:
        question = replace(question, scale=Scale.learned(question.record.estimate_ratio))
    shape = shape_of(question)
    notices: tuple[Notice, ...] = ()
    if shape is None:
        notices = (Notice(NoticeCode.RECORD_STALE, "the record was not made from this log; decided afresh"),)
        question = replace(question, record=None, scale=EXACT)
        shape = Shape(repairs=question.settings.repair is Repair.SYNTHESIZE)
    view, clipped_values, is_repaired = arranged(question, shape)
    estimate = question.fixed_tokens + view.tokens
    return Standing(question, shape, view, clipped_values, is_repaired, estimate, notices)


def surveyed(at: Standing) -> State:
    """The standing with its view surveyed: where it may be cut, and what its tails weigh."""
    question, messages = at.question, at.view.messages
    first = max(at.view.first, question.request.leading)
    cuts = boundary.cuts(messages, first, thinking_enabled=question.request.thinking_enabled)
    if at.shape.kept:  # what a window keeps has gaps: nothing is cut before the last of them
        first_kept = at.shape.first_kept
        tail = next((place for place, origin in enumerate(at.view.origins) if origin >= first_kept), at.count)
        cuts = Cuts(boundary.after(cuts.keeps, tail), boundary.after(cuts.turns, tail), cuts.request)
    suffix = _suffix_tokens(messages)
    return State(
        question, at.shape, at.view, at.clipped_values, at.is_repaired, at.estimate, at.notices, first, cuts, suffix
    )


def _suffix_tokens(messages: Sequence[Message]) -> list[int]:
    return list(accumulate([message.tokens for message in reversed(messages)], initial=0))[::-1]
