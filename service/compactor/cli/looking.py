"""What lets a person look: the pages, and the replay with its table, its JSON and its progress bar.

Templates are the extra `look`; without it, a page is refused before anything is done.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from compactor.cli.arguments import Arguments
from compactor.cli.exits import WrongUsage
from compactor.cli.tables import plain
from compactor.config import from_environment
from compactor.profiles import profile_of
from compactor.replay import playing, session
from compactor.replay.outcome import Replay, Way
from compactor.replay.prices import tariff_of
from hango.compaction import Client, CompactResult
from hango.compaction.v1.compaction_service_pb2 import CountTokensResponse

MOST_COMPACTIONS = 40

_NAMES = {Way.COMPACT: "compact", Way.NEVER: "never compact", Way.SLIDE: "slide every call"}


def check() -> None:
    """Raises WrongUsage where pages cannot be made."""
    if find_spec("jinja2") is None:
        raise WrongUsage("--html needs the package jinja2: pip install 'hango-compaction[look]'")


def report_page(title: str, source: dict[str, Any], result: CompactResult, budget: CountTokensResponse) -> bytes:
    """The page of one compaction."""
    from compactor.pages.report import report

    text = report(
        title=title,
        format=source["format"],
        raw=source["body"],
        sent=result.body,
        response=result.response,
        budget=budget,
    )
    return text.encode()


def replay_page(title: str, replay: Replay) -> bytes:
    """The page of a replay."""
    from compactor.pages.plots import plots

    return plots(title=title, replay=replay).encode()


def with_model(body: bytes, model: str) -> bytes:
    """The body for another model. Raises WrongUsage."""
    try:
        return session.with_model(body, model)
    except ValueError as error:
        raise WrongUsage(f"--model cannot be set in FILE: {error}") from None


def played(
    client: Client, source: dict[str, Any], budget: CountTokensResponse, arguments: Arguments, session_id: str
) -> Replay:
    """Plays the session in a body, with a progress bar where there is a terminal."""
    found = session.session_of(source["body"], source["format"])
    if not found.calls:
        raise WrongUsage("FILE holds no call of a model: nothing stands before what the assistant said")
    try:
        tariff = tariff_of(found.request.model, dict(arguments.prices))
    except ValueError as error:
        raise WrongUsage(f"--price: {error}") from None
    setting = playing.Setting(
        policy=source["policy"],
        window=budget.max_input_tokens,
        trigger=budget.trigger_input_tokens,
        profile=profile_of(found.request.model, from_environment().profiles),
        tariff=tariff,
        pause=arguments.pause,
        session_id=session_id,
    )
    with _progress() as progress:
        task = progress.add_task("model calls", total=len(found.calls))
        try:
            return playing.play(client, found, setting, lambda number: progress.update(task, completed=number))
        except playing.CallFailed as failed:
            progress.stop()
            sys.stderr.write(f"call {failed.call} of {len(found.calls)} was refused\n")
            raise failed.error from None


def replay_json(replay: Replay) -> str:
    """The replay for programs."""
    told = {
        "model": replay.model,
        "format": replay.format,
        "window": replay.window,
        "trigger": replay.trigger,
        "prices": replay.tariff.source,
        "unit": replay.tariff.unit,
        "cache": replay.rules,
        "ways": {way.value: _way(replay, way) for way in Way},
        "compactions": [
            {
                "call": step.call,
                "messages": step.message_count,
                "outcome": step.outcome,
                "reason": step.reason,
                "tokens_before": step.before,
                "tokens_after": step.after,
                "evicted": step.evicted,
                "clipped": step.clipped,
                "boundary": step.boundary_note,
                "notices": list(step.notices),
                "summary_cost": step.summary_cost,
            }
            for step in replay.compactions
        ],
        "calls": [
            {
                "call": step.call,
                "messages": step.message_count,
                "ways": {way.value: {**spend.use._asdict(), "cost": spend.cost} for way, spend in step.spends.items()},
            }
            for step in replay.steps
        ],
    }
    return json.dumps(told, indent=2) + "\n"


def replay_table(replay: Replay, *, title: str) -> RenderableType:
    """The replay for people: the ways beside each other, then the compactions."""
    ways = Table(title=plain(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    ways.add_column("")
    for heading in ("Calls", "Tokens sent", "Cache read", "Written", "Uncached", "Cost"):
        ways.add_column(heading, justify="right")
    rows = [(_NAMES[way], replay.total(way)) for way in Way]
    if Way.NEVER in replay.failures:
        rows.insert(1, ("… up to where never fails", replay.total(Way.COMPACT, replay.failures[Way.NEVER].call)))
    for name, total in rows:
        numbers = (total.calls, total.sent, total.read, total.written, total.uncached)
        ways.add_row(name, *(f"{number:,}" for number in numbers), _money(total.cost, replay.tariff.unit))
    facts = Table(show_header=False, box=None, pad_edge=False)
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for way, failure in replay.failures.items():
        why = f"at call {failure.call}: {failure.input_tokens:,} tokens, a window of {replay.window:,}"
        facts.add_row("Fails", Text(f"{_NAMES[way]} {why}", style="yellow"))
    facts.add_row("Model", plain(f"{replay.model}, window {replay.window:,}, trigger {replay.trigger:,}"))
    facts.add_row("Prices", plain(replay.tariff.source))
    facts.add_row("Cache", f"simulated: {replay.rules}")
    return Group(ways, facts, _compactions(replay))


def _way(replay: Replay, way: Way) -> dict[str, Any]:
    told: dict[str, Any] = replay.total(way)._asdict()
    failure = replay.failures.get(way)
    if failure is not None:
        told["fails_at"] = failure._asdict()
        told["compact_until_there"] = replay.total(Way.COMPACT, failure.call)._asdict()
    return told


def _compactions(replay: Replay) -> RenderableType:
    found = replay.compactions
    if not found:
        return Text("\nNothing was compacted.")
    table = Table(title="Compactions", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, justify in (
        ("Call", "right"),
        ("Outcome", "left"),
        ("Before", "right"),
        ("After", "right"),
        ("Evicted", "right"),
        ("Clipped", "right"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for step in found[:MOST_COMPACTIONS]:
        numbers = (step.before, step.after, step.evicted, step.clipped)
        table.add_row(str(step.call), step.outcome, *(f"{number:,}" for number in numbers))
    if len(found) > MOST_COMPACTIONS:
        table.add_row("…", f"{len(found) - MOST_COMPACTIONS} more", "", "", "", "")
    return table


def _money(cost: float, unit: str) -> str:
    return f"${cost:,.4f}" if unit == "USD" else f"{cost:,.0f} tokens"


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
