"""What may be typed: the commands, their options, and the help that explains them."""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PRICE_KINDS = ("input", "read", "write", "write-1h", "output")
REASONS = ("threshold", "overflow", "tool", "truncate")

_EXIT = "Exit status: 0 done, 1 the request could not be served, 2 wrong usage."
_FILE = "a request as it is about to go to its provider, JSON; - for standard input"
_COMPACT = """\
Returns a request that fits the model's context window.

The request is the raw one, never one that an earlier call returned. With --record, the record of one call is there for
the next. Evicted messages are appended to the history of the session below HANGO_HISTORY_ROOT, of the server where
--target names one; --set history_mode=OFF keeps none."""
_REPLAY = """\
Plays a recorded session again, one call of the model after the other, and says what its input would have cost.

FILE is the whole log. Each call goes through Compact, with the record of the one before; no model is called but the
summarizer, where one is configured (--set summarizer=EXTRACTIVE asks none). The provider's prompt cache is simulated.
Beside it stand two other ways: never compacting, until the window is full, and sliding, which drops the oldest messages
at every call that is over the trigger. No history is kept unless --set history_mode=STORE says so."""
_SESSION = """\
names the history; by default the name of FILE without its ending, other characters than A-Z a-z 0-9 . _ : - as -, or
"stdin"; none with history_mode=OFF"""


class Arguments(argparse.Namespace):
    """The command line, read. Options of another command than `command` are at their defaults."""

    command: str
    file: str = "-"
    format: str | None = None
    target: str | None = None
    timeout: float = 120.0
    settings: list[str]
    preset: str | None = None
    json: bool = False
    out: str | None = None
    record: Path | None = None
    session: str | None = None
    turn: str = ""
    reason: str | None = None
    stable_system_count: int | None = None
    explain: bool = False
    previous_summary: Path | None = None
    html: str | None = None
    model: str | None = None
    prices: list[tuple[str, float]]
    pause: float = 30.0


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="compactor",
        description="Keeps a long agent session inside its model's context window.",
        epilog=_EXIT,
    )
    top.add_argument("--version", action="version", version=f"compactor {_version()}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser(
        "serve",
        help="serve hango.compaction.v1 over gRPC until SIGTERM",
        description="Serves hango.compaction.v1 over gRPC until SIGTERM or SIGINT; then the calls in flight finish. "
        "All configuration is in the environment: HANGO_LISTEN, HANGO_HISTORY_ROOT, …",
        epilog="Exit status: 0 drained, 1 the server could not start, 2 the environment cannot be used.",
    )
    _compact(
        commands.add_parser(
            "compact",
            help="a request that fits",
            description=_COMPACT,
            epilog=_EXIT,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    _add_common(
        commands.add_parser(
            "count",
            help="where the input tokens are spent",
            description="Counts the input tokens of the whole request: where they are spent and how much room is left.",
            epilog=_EXIT,
        )
    )
    _replay(
        commands.add_parser(
            "replay",
            help="a whole session played again, with what it would have cost",
            description=_REPLAY,
            epilog=_EXIT,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    _summarize(
        commands.add_parser(
            "summarize", help="a summary of the messages", description="Summarises the messages.", epilog=_EXIT
        )
    )
    return top


def _compact(command: argparse.ArgumentParser) -> None:
    _add_common(command)
    command.add_argument("-o", dest="out", metavar="OUT", help="write the compacted body there; - for standard output")
    command.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="read the last compaction record from there, if it exists, and write the new one; "
        "left alone when none is in force",
    )
    command.add_argument("--session", metavar="ID", help=_SESSION)
    command.add_argument("--turn", default="", metavar="ID", help="names the turn, for retries")
    command.add_argument("--reason", type=str.lower, choices=REASONS, help="why; by default the budget decides")
    command.add_argument(
        "--stable-system-count",
        type=int,
        metavar="N",
        help="leading system blocks that do not change between turns; by default all",
    )
    command.add_argument(
        "--explain", action="store_true", help="say where the boundary is and why, and what each run costs"
    )
    command.add_argument("--html", metavar="PAGE", help="write a page there that shows what happened to each message")


def _replay(command: argparse.ArgumentParser) -> None:
    _add_common(command)
    command.add_argument("--model", metavar="NAME", help="play it for another model; by default the one in FILE")
    command.add_argument(
        "--price",
        dest="prices",
        action="append",
        type=_price,
        default=[],
        metavar="KIND=DOLLARS",
        help=f"the price of a million tokens, as often as needed: {', '.join(PRICE_KINDS)}; by default the list's",
    )
    command.add_argument(
        "--pause",
        type=_pause,
        default=30.0,
        metavar="SECONDS",
        help="time from one call to the next, by which cached prefixes are forgotten; by default 30",
    )
    command.add_argument("--html", metavar="PAGE", help="write a page there with plots over the calls")


def _summarize(command: argparse.ArgumentParser) -> None:
    _add_common(command)
    command.add_argument(
        "-o", dest="out", metavar="OUT", help="write the summary there, Markdown; - for standard output"
    )
    command.add_argument(
        "--previous-summary", type=Path, metavar="FILE", help="a summary of what came before, to be carried on"
    )


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help=_FILE)
    command.add_argument("--format", choices=("anthropic", "openai"), help="the shape of the body; by default detected")
    command.add_argument(
        "--target", metavar="ADDRESS", help="host:port or unix:path of a running server; by default in this process"
    )
    command.add_argument("--timeout", type=_seconds, default=120.0, metavar="SECONDS", help="by default 120")
    command.add_argument(
        "--preset",
        metavar="NAME",
        help="begin with the policy of a preset, chat, research or quick; --set changes fields of it",
    )
    command.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="set a field of the policy by its contract name, as often as needed: max_input_tokens=60000, "
        "repair=SYNTHESIZE, prompt_caching=false, unclipped_tools=a,b",
    )
    command.add_argument("--json", action="store_true", help="print the response as proto3 JSON, the body left out")


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} has to be above 0")
    return seconds


def _pause(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} has to be 0 or more")
    return seconds


def _price(text: str) -> tuple[str, float]:
    kind, equals, dollars = text.partition("=")
    if not equals or kind not in PRICE_KINDS:
        raise argparse.ArgumentTypeError(f"{text} has to be KIND=DOLLARS with one of {', '.join(PRICE_KINDS)}")
    try:
        price = float(dollars)
    except ValueError:
        price = -1.0
    if not 0 <= price < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} has to name dollars, 0 or more")
    return kind, price


def _version() -> str:
    try:
        return version("hango-compaction")
    except PackageNotFoundError:
        return "unknown"
