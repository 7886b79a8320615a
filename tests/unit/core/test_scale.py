"""Rules R5, R6: what a provider counted sets the scale of estimates, within what can be believed."""

from __future__ import annotations

import math

import pytest

from compactor.core.anchor import Anchor
from compactor.core.question import EXACT, MOST_OFF, Scale, ratio_of


def test_scale_without_knowledge_changes_nothing() -> None:
    assert (EXACT.up(7), EXACT.down(7), EXACT.whole(7), EXACT.room(7)) == (7, 7, 7, 7)


@pytest.mark.parametrize(("real", "estimated"), [(1, 1), (1_300, 1_000), (700, 1_000), (9_000, 1_000), (101, 1_000)])
def test_scale_goes_through_what_was_counted(real: int, estimated: int) -> None:
    assert Scale.through(real, estimated).whole(estimated) == real


def test_what_text_cannot_explain_is_hidden_and_stays() -> None:
    scale = Scale.through(9_000, 1_000)
    assert scale == Scale(2, 1, hidden=7_000)
    assert scale.whole(1_100) == 9_200
    assert scale.up(100) == 200


def test_estimate_that_is_far_too_high_never_gives_a_size_of_nothing() -> None:
    scale = Scale.through(101, 1_000)
    assert (scale.whole(10), scale.whole(0)) == (1, 0)
    assert scale.room(1) == 10


def test_nothing_estimated_divides_by_nothing() -> None:
    assert Scale.through(0, 0).whole(0) == 0
    assert ratio_of(0, 0) == 0.0


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.inf, -math.inf, math.nan])
def test_ratio_that_is_none_says_nothing(ratio: float) -> None:
    assert Scale.learned(ratio) == EXACT
    assert Scale.told(ratio) == EXACT


@pytest.mark.parametrize(("ratio", "believed"), [(0.01, 0.1), (10.1, 10.0), (77.0, 10.0), (1e308, 10.0)])
def test_ratio_of_a_record_is_carried_on_as_far_as_it_can_be_believed(ratio: float, believed: float) -> None:
    assert Scale.learned(ratio) == Scale.told(believed)


@pytest.mark.parametrize(("real", "estimated"), [(1, 10), (74, 740), (10, 1), (7_400, 740), (85_196, 851_960)])
def test_ratio_at_the_edge_of_belief_is_carried_on(real: int, estimated: int) -> None:
    assert Anchor(real, estimated).is_plausible
    assert Scale.told(ratio_of(real, estimated)).up(estimated) == real


@pytest.mark.parametrize(("real", "estimated"), [(0, 1), (-1, 1), (1, 11), (11, 1), (0, 0)])
def test_number_beyond_belief_is_no_anchor(real: int, estimated: int) -> None:
    assert not Anchor(real, estimated).is_plausible


def test_bounds_of_belief_are_the_same_both_ways() -> None:
    assert Anchor(MOST_OFF, 1).is_plausible
    assert Anchor(1, MOST_OFF).is_plausible
