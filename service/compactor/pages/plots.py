"""The page of a replay: tokens and cost over the calls, for each way of keeping the window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from compactor.pages.rendering import money, page
from compactor.replay.outcome import Replay, Step, Way

WIDTH, HEIGHT = 1_000, 400
TICKS = 4
MOST_CALLS = 2_000
"""Calls that the table at the end of the page has at most."""

_LABELS = {Way.COMPACT: "Compact", Way.NEVER: "Never compact", Way.SLIDE: "Slide every call"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a plot: its points as SVG wants them, and where it ends."""

    way: Way
    points: str
    end_x: float
    end_y: float
    has_failed: bool


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot with its scale: the values at the left ticks from the top down, and the calls at the lower ones."""

    lines: Sequence[Line]
    values: Sequence[str]
    calls: Sequence[int]
    levels: Sequence[tuple[str, float]]
    marks: Sequence[float]


def plots(*, title: str, replay: Replay) -> str:
    """The page of a replay."""
    return page(
        "replay.html",
        title=title,
        replay=replay,
        ways=list(Way),
        labels=_LABELS,
        compact=Way.COMPACT,
        totals={way: replay.total(way) for way in Way},
        until={way: replay.total(Way.COMPACT, failure.call) for way, failure in replay.failures.items()},
        headline=_headline(replay),
        unit=replay.tariff.unit,
        tokens=_tokens(replay),
        cost=_cost(replay),
        steps=replay.steps[:MOST_CALLS],
        left_out=max(0, len(replay.steps) - MOST_CALLS),
        money=lambda cost: money(cost, replay.tariff.unit),
    )


def _headline(replay: Replay) -> str:
    """What a reader should take away, in a sentence."""
    paid = replay.total(Way.COMPACT)
    told = [f"{paid.calls:,} calls with compaction cost {money(paid.cost, replay.tariff.unit)}"]
    for way, words in ((Way.NEVER, "never compacting"), (Way.SLIDE, "sliding at every call")):
        failure, total = replay.failures.get(way), replay.total(way)
        if failure is not None:
            told.append(f"{words} fails at call {failure.call:,}")
        elif not paid.cost or math.isclose(total.cost, paid.cost, rel_tol=0.005):
            told.append(f"{words} costs the same")
        else:
            told.append(f"{words} costs {total.cost / paid.cost:.2f} times as much")
    return "; ".join(told) + "."


def _tokens(replay: Replay) -> Plot:
    values = {way: [step.spends[way].use.sent for step in replay.steps if way in step.spends] for way in Way}
    failed = [failure.input_tokens for failure in replay.failures.values()]
    most = max([replay.trigger, *failed, *(max(row, default=0) for row in values.values())])
    levels = [("trigger", replay.trigger)]
    if replay.window <= most * 1.5:
        levels.append(("window", replay.window))
        most = max(most, replay.window)
    top = _nice(most)
    marks = [_x(step.call, replay.steps) for step in replay.compactions]
    places = [(name, HEIGHT - HEIGHT * level / top) for name, level in levels]
    return _plot(replay, values, top, [f"{top * tick // TICKS:,}" for tick in range(TICKS, -1, -1)], places, marks)


def _cost(replay: Replay) -> Plot:
    values: dict[Way, Sequence[float]] = {}
    for way in Way:
        steps = [step for step in replay.steps if way in step.spends]
        extra = [step.summary_cost if way is Way.COMPACT else 0.0 for step in steps]
        values[way] = list(accumulate(step.spends[way].cost + more for step, more in zip(steps, extra, strict=True)))
    top = _nice(max([row[-1] for row in values.values() if row], default=0.0))
    ticks = [money(top * tick / TICKS, replay.tariff.unit) for tick in range(TICKS, -1, -1)]
    return _plot(replay, values, top, ticks, [], [_x(step.call, replay.steps) for step in replay.compactions])


def _plot(
    replay: Replay,
    values: dict[Way, Sequence[float]] | dict[Way, list[int]],
    top: float,
    ticks: Sequence[str],
    levels: Sequence[tuple[str, float]],
    marks: Sequence[float],
) -> Plot:
    lines = []
    for way in (Way.SLIDE, Way.NEVER, Way.COMPACT):  # the last one lies above the others
        row = values[way]
        points = [(_x(call, replay.steps), HEIGHT - HEIGHT * value / top) for call, value in enumerate(row, 1)]
        if points:
            text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            lines.append(Line(way, text, *points[-1], way in replay.failures))
    count = len(replay.steps)
    calls = [1 + round((count - 1) * tick / TICKS) for tick in range(TICKS + 1)] if count > TICKS else [1, count]
    return Plot(lines, ticks, calls, levels, marks)


def _x(call: int, steps: Sequence[Step]) -> float:
    return WIDTH * (call - 1) / max(1, len(steps) - 1)


def _nice(most: float) -> float:
    """A round number that is no smaller."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    found = next(step * power for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10) if step * power >= most * 0.9999)
    return int(found) if found >= TICKS and found == int(found) else found
