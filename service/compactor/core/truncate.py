"""Whole oldest turns go, batches intact, until the request fits; then giant values are clipped (rule R22)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from compactor.core.boundary import Cuts

SMALLER_LIMITS = (8_000, 4_000, 2_000, 1_000, 500, 250, 120, 60, 40)
"""Clip limits of the last resort, in tokens of four bytes, largest first."""


def candidates(cuts: Cuts) -> list[int]:
    """The positions at which a truncated log may begin, ascending: the starts of turns and, inside the open turn, the
    safe cuts, since there the user's request goes into the leading message."""
    if cuts.request is None:
        return cuts.keeps
    turns = [position for position in cuts.turns if position <= cuts.request]
    return turns + cuts.keeps[bisect_left(cuts.keeps, cuts.request) :]


def first_fitting(positions: Sequence[int], suffix: Sequence[int], costs: Sequence[int], room: int) -> int | None:
    """The first position from which on the messages fit, with what the leading message costs there; None: none fits."""
    for position, cost in zip(positions, costs, strict=True):
        if suffix[position] + cost <= room:
            return position
    return None
