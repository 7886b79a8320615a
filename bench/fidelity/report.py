"""The tables for people, and the same numbers as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.fidelity import planted, references
from bench.fidelity.harvesting import Cost
from bench.fidelity.instructions import Judged
from bench.fidelity.items import KINDS
from bench.fidelity.losses import Loss
from bench.fidelity.names import KINDS as NAME_KINDS
from bench.fidelity.planted import ROUNDS, SHARES, WRITERS, Round
from bench.fidelity.references import CLIENT, CUT, REAL, SERVICE, Row

REFERENCES_AIM = 0.85
"""The share of later references that should be there at the size of the client's own summary."""

PLANTED_AIMS = {0.30: 1.00, 0.20: 0.90, 0.10: 0.55}
"""The share of planted items that should be there after ten rounds, by share of the size, without a model."""

_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that was measured."""

    source: str
    rows: Sequence[Row]
    losses: Sequence[Loss]
    rounds: Sequence[Round]
    judged: Judged | None
    cost: Cost


def printed(found: Findings, console: Console) -> None:
    """Tells it to people."""
    console.print(f"Measured on {found.source}.\n")
    for group in (REAL, CUT):
        rows = [row for row in found.rows if row.group == group]
        if rows:
            console.print(_references(group, rows), _summed(rows), "")
    if found.rows:
        console.print(_kinds(found.rows), _losses(found.losses), "")
    else:
        console.print("References to what is gone: no run named enough of it again.\n")
    if found.rounds:
        console.print(
            _survival(found.rounds), _course(found.rounds), _by_kind(found.rounds), _forgotten(found.rounds), ""
        )
    if found.judged is None:
        console.print("Instructions: no labelled set at tests/fidelity/instructions, skipped.\n")
    else:
        console.print(_instructions(found.judged), "")
    cost = found.cost
    console.print(
        f"Harvesting: {cost.again:.0f} ms of CPU a MB, {cost.first:.0f} the first time, over {cost.megabytes:.1f} MB."
    )


def as_json(found: Findings) -> dict[str, Any]:
    """The numbers, for machines."""
    return {
        "source": found.source,
        "references": [_row_json(row) for row in found.rows],
        "references_summed": {
            group: _summed_json([row for row in found.rows if row.group == group]) for group in (REAL, CUT)
        },
        "losses": [asdict(loss) for loss in found.losses],
        "planted": [_round_json(one) for one in found.rounds],
        "instructions": asdict(found.judged) if found.judged else None,
        "harvesting": asdict(found.cost),
        "aims": {"references": REFERENCES_AIM, "planted": {str(share): aim for share, aim in PLANTED_AIMS.items()}},
    }


def _references(group: str, rows: Sequence[Row]) -> Table:
    strategies = _strategies(rows)
    table = _table(f"References to what is gone: {group}", "moment", "wanted", "budget", "taken", *strategies)
    for row in rows:
        recalls = [_share(row.recall(name)) if name in row.held else "" for name in strategies]
        table.add_row(row.moment.name, str(len(row.wanted)), f"{row.budget:,}", f"{row.tokens:,}", *recalls)
    return table


def _summed(rows: Sequence[Row]) -> Table:
    strategies = _strategies(rows)
    table = _table("", "", *strategies)
    files, others = ("file",), tuple(kind for kind in NAME_KINDS if kind != "file")
    for name, kinds in (("all", ()), ("files touched later", files), ("all but files", others)):
        table.add_row(f"{name}, mean", *(_share(references.mean(rows, strategy, kinds)) for strategy in strategies))
        table.add_row(f"{name}, pooled", *(_share(references.pooled(rows, strategy, kinds)) for strategy in strategies))
    table.add_row("aim, mean", f"{REFERENCES_AIM:.2f}")
    return table


def _kinds(rows: Sequence[Row]) -> Table:
    wanted = references.kinds_of(rows)
    table = _table("By kind, all moments pooled", "kind", "wanted", *_strategies(rows))
    for kind in NAME_KINDS:
        if wanted[kind]:
            recalls = (_share(references.pooled(rows, strategy, (kind,))) for strategy in _strategies(rows))
            table.add_row(kind, str(wanted[kind]), *recalls)
    return table


def _losses(found: Sequence[Loss]) -> Table:
    table = _table("What the service lost", "why", "best place", "lost", "last part is there", "examples")
    for (reason, place), count in Counter((loss.reason, loss.place) for loss in found).most_common():
        these = [loss for loss in found if (loss.reason, loss.place) == (reason, place)]
        names = list(dict.fromkeys(loss.name for loss in these))
        examples = ", ".join(names[:: max(1, len(names) // _EXAMPLES)][:_EXAMPLES])
        table.add_row(reason, place, str(count), str(sum(loss.has_end for loss in these)), examples)
    return table


def _survival(rounds: Sequence[Round]) -> Table:
    title = f"Planted items after {ROUNDS} rounds"
    table = _table(title, "share", "writer", "size", "there", "aim", "resolved", "both", "stale", "lost", "worst log")
    for share in SHARES:
        for writer in WRITERS:
            last = [one for one in _of(rounds, share, writer) if one.number == ROUNDS]
            told = planted.states(last)
            worst = min(planted.survival([one]) or 0.0 for one in last)
            aim = f"{PLANTED_AIMS[share]:.2f}" if writer == planted.CODE else ""
            numbers = [_share(told[name]) for name in ("resolved", "both", "stale", "lost")]
            there = _share(planted.survival(last))
            table.add_row(f"{share:.0%}", writer, f"{planted.size(last):.1%}", there, aim, *numbers, _share(worst))
    return table


def _course(rounds: Sequence[Round]) -> Table:
    numbers = range(1, ROUNDS + 1)
    table = _table("Round by round: items that are there", "share", "writer", *map(str, numbers))
    for share in SHARES:
        for writer in WRITERS:
            mine = _of(rounds, share, writer)
            course = (_share(planted.survival([one for one in mine if one.number == number])) for number in numbers)
            table.add_row(f"{share:.0%}", writer, *course)
    return table


def _by_kind(rounds: Sequence[Round]) -> Table:
    table = _table(f"By kind after {ROUNDS} rounds", "share", "writer", *KINDS)
    for share in SHARES:
        for writer in WRITERS:
            last = [one for one in _of(rounds, share, writer) if one.number == ROUNDS]
            table.add_row(f"{share:.0%}", writer, *(_share(planted.survival(last, kind)) for kind in KINDS))
    return table


def _forgotten(rounds: Sequence[Round]) -> Table:
    table = _table(f"Items that are not there after {ROUNDS} rounds, in how many logs", "share", "writer", "items")
    for share in SHARES:
        for writer in (planted.CODE, planted.BAD):
            last = [one for one in _of(rounds, share, writer) if one.number == ROUNDS]
            lost = Counter(fate.item.topic for one in last for fate in one.fates if not fate.has_value)
            items = ", ".join(f"{topic} {count}" for topic, count in lost.most_common())
            table.add_row(f"{share:.0%}", writer, items or "none")
    return table


def _instructions(judged: Judged) -> Table:
    table = _table("Instructions", "labelled", "found", "right", "recall", "precision")
    numbers = (judged.labelled, judged.found, judged.right)
    table.add_row(*map(str, numbers), _share(judged.recall), _share(judged.precision))
    return table


def _of(rounds: Iterable[Round], share: float, writer: str) -> list[Round]:
    return [one for one in rounds if (one.share, one.writer) == (share, writer)]


def _strategies(rows: Sequence[Row]) -> list[str]:
    found = dict.fromkeys(strategy for row in rows for strategy in row.held)
    return sorted(found, key=lambda name: (name != SERVICE, name != CLIENT))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate(columns):
        left = at == 0 or column in ("writer", "kind", "best place", "examples", "items")
        table.add_column(column, justify="left" if left else "right", overflow="fold")
    return table


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _row_json(row: Row) -> dict[str, Any]:
    return {
        "moment": row.moment.name,
        "group": row.group,
        "budget": row.budget,
        "tokens": row.tokens,
        "wanted": dict(row.wanted),
        "recall": {name: row.recall(name) for name in row.held},
    }


def _summed_json(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        name: {
            "mean": references.mean(rows, name),
            "pooled": references.pooled(rows, name),
            "files, mean": references.mean(rows, name, ("file",)),
            "files, pooled": references.pooled(rows, name, ("file",)),
        }
        for name in _strategies(rows)
    }


def _round_json(one: Round) -> dict[str, Any]:
    states = {fate.item.topic: fate.state for fate in one.fates}
    return {**asdict(one), "fates": states, "survival": planted.survival([one])}
