"""The answers as tables for people: colours and the terminal's width where there is a terminal, plain text of a fixed
width where there is none.

Everything that comes from a conversation or a server is printed as text, never as markup, its control characters left
out: what a tool once answered must not reach the terminal as a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, TextIO

from google.protobuf.message import Message
from rich import box
from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

WIDTH_WITHOUT_TERMINAL = 100
MOST_RUNS = 24

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STYLES = {
    "UNCHANGED": "green",
    "REUSED": "green",
    "CLIPPED": "cyan",
    "WINDOWED": "cyan",
    "SUMMARIZED": "cyan",
    "TRUNCATED": "yellow",
}
_BAR = 24


def show(what: RenderableType, stream: TextIO) -> None:
    """Prints a table to a stream."""
    _console(stream).print(what)


def show_markdown(text: str, stream: TextIO) -> None:
    """Prints Markdown: rendered on a terminal, as it is elsewhere."""
    if stream.isatty():
        _console(stream).print(Markdown(plain(text), hyperlinks=False))
    else:
        _console(stream).out(plain(text), highlight=False)


def plain(text: str) -> str:
    """The text without control characters, line breaks and tabs aside."""
    return _CONTROLS.sub("", text)


def compaction(response: Any, *, title: str, budget: Any, sent: int, is_explained: bool) -> RenderableType:
    """What a Compact call did. `budget` is the answer of CountTokens for the same request, `sent` counts the result's
    messages.
    """
    table = _facts(title)
    outcome, reason = name_of(response, "outcome"), name_of(response, "reason")
    because = "" if reason == "UNSPECIFIED" else f", reason {reason}"
    table.add_row("Outcome", Text(outcome, style=_STYLES.get(outcome, "")).append(because, style="default"))
    before, after = response.original_input_tokens, response.compacted_input_tokens
    counted = f", counted by {name_of(response, 'token_count_source')}"
    table.add_row("Input tokens", f"{before:,} -> {after:,}{_change(before, after)}{counted}")
    table.add_row("Window", _window(budget, response.available_input_tokens + after))
    table.add_row("Trigger", f"{budget.trigger_input_tokens:,}, the result is at {_share(after, budget)}")
    table.add_row("Room left", f"{response.available_input_tokens:,}")
    table.add_row("Messages", f"{len(response.explanation.messages):,} -> {sent:,}")
    table.add_row("Raw messages", fates(response.explanation.messages))
    done = f"{response.evicted_message_count:,} messages evicted, {response.clipped_value_count:,} values clipped"
    table.add_row("This call", done)
    if is_explained:
        table.add_row("Boundary", _boundary(response.explanation))
    if response.HasField("retained"):
        table.add_row("Retained", retained(response.retained))
    if response.HasField("summarizer_usage"):
        table.add_row("Summarizer", _usage(response.summarizer_usage))
    marks = [f"{name_of(mark, 'target').lower()} {mark.index}" for mark in response.breakpoints]
    table.add_row("Breakpoints", ", ".join(marks) or "none")
    if response.HasField("history"):
        path = f"{response.history.path} " if response.history.path else ""
        table.add_row("History", _text(f"{path}{name_of(response.history, 'status')}"))
    if response.HasField("compaction"):
        record = response.compaction
        table.add_row("Record", f"sequence {record.sequence}, first kept message {record.first_kept_index}")
    _add_notices(table, response.notices)
    return Group(table, _runs(response.explanation.messages)) if is_explained else table


def token_count(response: Any, *, title: str) -> RenderableType:
    """Where the tokens of a request are spent."""
    parts = Table(title=_text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    parts.add_column("Part")
    parts.add_column("Tokens", justify="right")
    parts.add_column("Share", justify="right")
    parts.add_column("", style="cyan")
    total = max(1, response.input_tokens)
    for name in ("system", "tools", "messages", "media"):
        tokens = getattr(response.breakdown, name)
        bar = "#" * round(_BAR * tokens / total)
        parts.add_row(name.capitalize(), f"{tokens:,}", f"{tokens / total:.0%}", bar)
    parts.add_section()
    parts.add_row(Text("Input tokens", style="bold"), Text(f"{response.input_tokens:,}", style="bold"), "", "")
    table = _facts("")
    table.add_row("Counted by", f"{name_of(response, 'token_count_source')}, margin {response.margin:.2f}")
    table.add_row("Window", _window(response, response.available_input_tokens + response.input_tokens))
    over = "over it" if response.input_tokens > response.trigger_input_tokens else "not over it"
    share = _share(response.input_tokens, response)
    table.add_row("Trigger", f"{response.trigger_input_tokens:,}, the request is at {share}, {over}")
    table.add_row("Room left", f"{response.available_input_tokens:,}")
    _add_notices(table, response.notices)
    return Group(parts, table)


def summary(response: Any, *, title: str) -> RenderableType:
    """What a Summarize call kept and cost; the summary itself aside."""
    table = _facts(title)
    table.add_row("Written by", name_of(response, "summary_source"))
    table.add_row("Length", f"{len(response.summary):,} characters")
    table.add_row("Retained", retained(response.retained))
    if response.HasField("usage"):
        table.add_row("Summarizer", _usage(response.usage))
    if response.missing_identifiers:
        table.add_row("Re-attached", f"{len(response.missing_identifiers):,} identifiers")
    _add_notices(table, response.notices)
    return table


def fates(messages: Sequence[Any]) -> str:
    """What became of the raw messages, in runs: "0-311 evicted, 312-349 kept, 2 clipped"."""
    found = []
    for is_evicted, run in groupby(messages, key=lambda message: name_of(message, "fate") == "EVICTED"):
        members = list(run)
        clipped = sum(name_of(message, "fate") == "CLIPPED" for message in members)
        rest = f", {clipped} clipped" if clipped else ""
        found.append(f"{_range(members)} {'evicted' if is_evicted else 'kept'}{rest}")
    left_out = len(found) - MOST_RUNS
    return "; ".join(found[:MOST_RUNS]) + (f"; and {left_out} runs more" if left_out > 0 else "") if found else "none"


def retained(kept: Any) -> str:
    """How much of each kind code kept."""
    counts = [
        f"{len(getattr(kept, name))} {name.replace('_', ' ')}"
        for name in ("instructions", "facts", "requests", "identifiers", "files", "tool_outcomes", "open_questions")
    ]
    return ", ".join((*counts, "a plan" if kept.plan else "no plan"))


def name_of(message: Message, field: str) -> str:
    """The short name of an enum field's value; its number where this version does not know it."""
    enum: Any = message.DESCRIPTOR.fields_by_name[field].enum_type
    number = getattr(message, field)
    if number not in enum.values_by_number:
        return str(number)
    prefix = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return str(enum.values_by_number[number].name.removeprefix(prefix))


class _Console(Console):
    """A console that leaves a closed pipe to the command, which knows what that means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console(stream: TextIO) -> Console:
    return _Console(
        file=stream, width=None if stream.isatty() else WIDTH_WITHOUT_TERMINAL, highlight=False, markup=False
    )


def _facts(title: str) -> Table:
    table = Table(
        title=_text(title) if title else None,
        title_justify="left",
        title_style="bold",
        show_header=False,
        box=box.SIMPLE_HEAD if title else None,
        pad_edge=False,
    )
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _text(text: str, style: str = "") -> Text:
    return Text(plain(text), style=style)


def _window(budget: Any, input_budget: int) -> str:
    reserved = budget.max_input_tokens - input_budget
    return f"{budget.max_input_tokens:,}, {f'{reserved:,}' if reserved else 'none'} of it reserved for output"


def _change(before: int, after: int) -> str:
    return f" ({(after - before) / before:+.0%})" if before and before != after else ""


def _share(tokens: int, budget: Any) -> str:
    return f"{tokens / max(1, budget.trigger_input_tokens):.0%}"


def _boundary(explanation: Any) -> Text:
    taken, wanted = explanation.first_kept_index, explanation.wanted_first_kept_index
    note = f": {explanation.boundary_note}" if explanation.boundary_note else ""
    return _text(f"wanted {wanted}, taken {taken}{note}")


def _usage(usage: Any) -> Text:
    cached = usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    read = f"{usage.input_tokens:,} in, {cached:,} cached, {usage.output_tokens:,} out"
    return _text(f"{usage.model}, {usage.call_count} calls, {read}")


def _add_notices(table: Table, notices: Iterable[Any]) -> None:
    label = "Notices"
    for notice in notices:
        table.add_row(
            label, _text(name_of(notice, "code"), style="yellow").append(plain(f"  {notice.detail}"), "default")
        )
        label = ""


def _runs(messages: Sequence[Any]) -> Table:
    """Runs of messages of one fate, with what they cost."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Raw messages")
    table.add_column("Fate")
    table.add_column("Tokens", justify="right")
    runs = [list(run) for _, run in groupby(messages, key=lambda message: message.fate)]
    for run in runs[:MOST_RUNS]:
        tokens = sum(message.input_tokens for message in run)
        table.add_row(_range(run), name_of(run[0], "fate").lower(), f"{tokens:,}")
    if len(runs) > MOST_RUNS:
        table.add_row(f"{len(runs) - MOST_RUNS} runs more", "", "")
    return table


def _range(run: Sequence[Any]) -> str:
    return f"{run[0].index}-{run[-1].index}"
