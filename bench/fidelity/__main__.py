"""Runs the measurement and prints tables; see `docs/fidelity.md`. Always ends with status 0: it only tells."""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path

from rich.console import Console

from bench.fidelity import harvesting, instructions, losses, planted, references, report, service, sessions


def main() -> int:
    """Measures, prints, and writes the numbers to a file where one is named."""
    description = "What a compacted request still knows of the messages that are gone."
    parser = argparse.ArgumentParser(prog="python -m bench.fidelity", description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to a file")
    options = parser.parse_args()
    logging.getLogger("compactor").setLevel(logging.ERROR)  # a word for each model that it does not know
    collection = sessions.collection()
    cost = harvesting.measured(collection)
    with service.in_process() as client:
        rows = references.measured(client, collection.real, references.REAL)
        rows += references.measured(client, collection.cuts, references.CUT)
        carriers = planted.carriers(collection, client)
    found = report.Findings(
        source=collection.source,
        rows=rows,
        losses=list(losses.losses(rows)),
        rounds=list(planted.measured(carriers)),
        judged=instructions.measured(),
        cost=cost,
    )
    report.printed(found, Console(width=160, highlight=False))
    if options.json:
        options.json.write_text(json.dumps(report.as_json(found), indent=2, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
