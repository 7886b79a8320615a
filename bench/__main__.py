"""Runs the measurement and prints a table; see `docs/performance.md`. Always ends with status 0: it only tells."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from compactor.allocator import keep_buffers

keep_buffers()  # for the measurement inside this process; before gRPC is imported, as in the real command

from bench.bodies import EIGHT_THOUSAND, THOUSAND  # noqa: E402
from bench.cases import DECISION_AIM_MS, LINEAR_AIM, UNCHANGED_AIM, decision, served  # noqa: E402
from bench.exporting import Cost, costs  # noqa: E402
from bench.measure import Inside, Row, inside, rounds, server  # noqa: E402


def main() -> int:
    """Measures, prints, and writes the numbers to a file where one is named."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="What the service costs beside an echo.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to a file")
    parser.add_argument("--seconds", type=float, default=25.0, help="how long to measure the server (25)")
    parser.add_argument("--rounds", type=int, default=15, help="the most rounds (15)")
    options = parser.parse_args()
    with server() as (pid, send):
        rows = rounds(pid, send, served(send), options.seconds, options.rounds)
        logs = {size.name: decision(size, send) for size in (THOUSAND, EIGHT_THOUSAND)}
    found = inside(logs, seconds=6.0)
    telling = costs(seconds=12.0)
    _print(rows, found)
    _print_costs(telling)
    if options.json:
        options.json.write_text(json.dumps(_as_json(rows, found, telling), indent=2) + "\n")
    return 0


def _print(rows: Sequence[Row], found: dict[str, Inside]) -> None:
    print(f"{'body':<15} {'case':<28} {'server CPU-ms':>13} {'x echo':>7} {'p50 ms':>8}  aim")
    size = rows[0].size
    for row in rows:
        print(end="\n" if row.size != size else "")
        size = row.size
        aim = "" if row.aim is None else _aim(row.ratio, row.aim, "x")
        numbers = f"{row.server_cpu_ms:>13.2f} {row.ratio:>7.2f} {row.p50_ms:>8.2f}"
        print(f"{row.size:<15} {row.case:<28} {numbers}  {aim}".rstrip())
    print(f"\n{'in process':<15} {'case':<28} {'CPU-ms':>13} {'least':>7} {'':>8}  aim")
    for name, (known, first_seen) in found.items():
        aim = _aim(median(known), DECISION_AIM_MS, " ms") if name == EIGHT_THOUSAND.name else ""
        print(_line(name, "decision", known, aim))
        print(_line(name, "decision, first seen", first_seen))
    for case, growth in _growth(found).items():
        print(f"{'8,001 / 1,001':<15} {case:<28} {growth:>12.2f}x {'':>16}  {_aim(growth, LINEAR_AIM, 'x')}")


def _print_costs(telling: Sequence[Cost]) -> None:
    print(f"\n{'body':<15} {'telemetry exported':<28} {'CPU-ms':>13} {'without':>7} {'ratio':>8}")
    for cost in telling:
        print(f"{cost.size:<15} {cost.case:<28} {cost.with_ms:>13.2f} {cost.without_ms:>7.2f} {cost.ratio:>7.2f}x")


def _line(name: str, case: str, values: Sequence[float], aim: str = "") -> str:
    return f"{name:<15} {case:<28} {median(values):>13.2f} {min(values):>7.2f} {'':>8}  {aim}".rstrip()


def _growth(found: dict[str, Inside]) -> dict[str, float]:
    """What the larger log costs in units of the smaller one, round by round."""
    pairs = zip(found[THOUSAND.name], found[EIGHT_THOUSAND.name], strict=True)
    names = ("decision", "decision, first seen")
    return {
        case: median([more / less for less, more in zip(small, large, strict=True)])
        for case, (small, large) in zip(names, pairs, strict=True)
    }


def _aim(value: float, aim: float, unit: str) -> str:
    return f"at most {aim:g}{unit}: {'met' if value <= aim else 'not met'}"


def _as_json(rows: Sequence[Row], found: dict[str, Inside], telling: Sequence[Cost]) -> dict[str, Any]:
    return {
        "served": [row._asdict() for row in rows],
        "in_process": {name: numbers._asdict() for name, numbers in found.items()},
        "growth": _growth(found),
        "telemetry": [cost._asdict() for cost in telling],
        "aims": {"unchanged, 1 MB, x echo": UNCHANGED_AIM, "decision, ms": DECISION_AIM_MS, "growth": LINEAR_AIM},
    }


if __name__ == "__main__":
    raise SystemExit(main())
