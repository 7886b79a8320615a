"""A shape laid over the raw log: the same code makes a new result and replays an old record (rules R1, R2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compactor.core import clip, validate
from compactor.core.decision import Shape
from compactor.core.question import EXACT, Question, ratio_of
from compactor.core.view import View, prefix_digest, repaired, stripped, tail
from compactor.model import Compaction, Reason, Request, Strategy
from compactor.policy import Repair

LAST_SEQUENCE = (1 << 31) - 1
"""The largest number that the record's field holds."""


class Arrangement(NamedTuple):
    """What the model sees under a shape, how many values are clipped in it, and whether anything was mended."""

    view: View
    clipped_values: int
    is_repaired: bool


def arranged(question: Question, shape: Shape) -> Arrangement:
    """What the model sees of the raw log under a shape."""
    request, means = question.request, question.means
    summary = means.dialect.user_message(shape.summary) if shape.summary else None
    view = tail(request, shape.first_kept, shape.kept_before, summary, means.read)
    count, before = 0, view
    if shape.repairs and validate.violations(request.format, view.messages):
        view = repaired(view, request, means.dialect, means.read)
    is_repaired = view is not before and (view.literals, list(view.origins)) != (before.literals, list(before.origins))
    if shape.clipped_before:
        view, count = clip.clipped(
            view, request, shape.clipped_before, shape.clip_max_tokens, shape.unclipped_tools, means.dialect, means.read
        )
    if shape.stripped_before:
        view = stripped(view, request, shape.stripped_before, means.dialect, means.read)
    return Arrangement(view, count, is_repaired)


def shape_of(question: Question) -> Shape | None:
    """The shape that the question's record stands for; None where the record is stale: the log is not the one that it
    was made from.
    """
    record, request = question.record, question.request
    repairs = question.settings.repair is Repair.SYNTHESIZE
    if record is None:
        return Shape(repairs=repairs)
    count, indexes = len(request.messages), (record.clipped_before_index, record.stripped_before_index)
    if record.sequence < 1 or min(indexes) < 0 or max(indexes) > count:
        return None
    evicts = record.first_kept_index > request.leading
    is_window = record.strategy is not Strategy.SUMMARIZE
    if not 0 <= record.first_kept_index < count or bool(record.summary.strip()) != (evicts and not is_window):
        return None
    if not _are_ranges(record.kept_ranges, request.leading, record.first_kept_index):
        return None
    pinned = record.pinned_index
    if pinned is not None and not _is_pinnable(request, pinned, record.first_kept_index):
        return None
    if record.prefix_digest != prefix_digest(request, record.first_kept_index):
        return None
    return Shape(
        first_kept=record.first_kept_index,
        pinned=pinned,
        strategy=record.strategy,
        kept=record.kept_ranges,
        summary=record.summary,
        clipped_before=record.clipped_before_index,
        clip_max_tokens=record.clip_max_tokens,
        unclipped_tools=record.unclipped_tools,
        stripped_before=record.stripped_before_index,
        repairs=repairs or record.repairs,
    )


def _is_pinnable(request: Request, index: int, first_kept: int) -> bool:
    return request.leading <= index < first_kept and request.messages[index].is_request


def _are_ranges(ranges: Sequence[tuple[int, int]], first: int, stop: int) -> bool:
    """Whether ranges ascend, do not touch, and lie between two indexes."""
    for start, end in ranges:
        if not first <= start < end <= stop:
            return False
        first = end + 1
    return True


def record_of(
    question: Question, shape: Shape, view: View, *, before: int, reason: Reason, history_path: str = ""
) -> Compaction:
    """The record of a shape and the view that it makes: the one before it counted on by one."""
    old = question.record
    after = question.total(view)
    return Compaction(
        sequence=min(question.acts + 1, LAST_SEQUENCE),
        turn_id=question.turn_id,
        reason=reason,
        summary=shape.summary,
        first_kept_index=shape.first_kept,
        pinned_index=shape.pinned,
        strategy=shape.strategy,
        kept_ranges=shape.kept,
        clipped_before_index=shape.clipped_before,
        clip_max_tokens=shape.clip_max_tokens if shape.clipped_before else 0,
        unclipped_tools=shape.unclipped_tools if shape.clipped_before else (),
        stripped_before_index=shape.stripped_before,
        repairs=shape.repairs,
        history_path=history_path or (old.history_path if old else ""),
        prefix_digest=prefix_digest(question.request, shape.first_kept),
        original_input_tokens=before,
        compacted_input_tokens=after,
        estimate_ratio=0.0 if question.scale == EXACT else ratio_of(after, question.fixed_tokens + view.tokens),
    )
