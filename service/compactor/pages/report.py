"""The page of one compaction: how the window was and is filled, where it was cut and why, the fate of each message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from google.protobuf.message import Message

from compactor.formats import anthropic, openai
from compactor.model import Content, Dialect
from compactor.pages import messages
from compactor.pages.messages import Block, Excerpt
from compactor.pages.rendering import page
from hango.compaction.v1.compaction_pb2 import FATE_CLIPPED, FATE_EVICTED, FATE_KEPT
from hango.compaction.v1.compaction_service_pb2 import CompactResponse, CountTokensResponse

MOST_SUMMARY = 60_000

_FATES = {FATE_KEPT: "kept", FATE_CLIPPED: "clipped", FATE_EVICTED: "evicted"}
_PARTS = {
    "system": "System text",
    "tools": "Tools",
    "summary": "Summary",
    "kept": "Whole messages",
    "clipped": "Clipped messages",
}
_OUTCOMES = {
    "UNCHANGED": "The request fits as it is.",
    "REUSED": "An earlier compaction was laid over the log again; nothing new was decided.",
    "CLIPPED": "Old tool arguments and results were shortened; no message was left out.",
    "WINDOWED": "Old messages were left out, without a summary in their place.",
    "SUMMARIZED": "Old messages were left out, and a summary stands in their place.",
    "TRUNCATED": "Whole oldest turns were dropped.",
}
_REASONS = {
    "UNSPECIFIED": "Nothing triggered it.",
    "THRESHOLD": "The request was over a trigger.",
    "OVERFLOW": "The provider had refused the request as too large.",
    "TOOL": "The model asked for it.",
    "TRUNCATE": "Compacting was not enough.",
}
_RETAINED = {
    "instructions": "Standing instructions",
    "facts": "Facts",
    "requests": "Requests",
    "open_questions": "Open questions",
    "identifiers": "Identifiers",
}


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a bar, in tokens from its left end."""

    name: str
    start: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Row:
    """A message in the list. `index` is the raw one, None for a message that the service made; `after` are its tokens
    in the result, None where it is not sent. `mark` says that a cached prefix ends at it.
    """

    index: int | None
    role: str
    fate: str
    tokens: int | None
    after: int | None
    preview: str
    blocks: Sequence[Block]
    mark: bool


@dataclass(frozen=True, slots=True)
class Run:
    """Messages of one fate next to each other."""

    fate: str
    first: int
    last: int
    count: int
    tokens: int


def report(
    *, title: str, format: str, raw: bytes, sent: bytes, response: CompactResponse, budget: CountTokensResponse
) -> str:
    """The page of an explained answer. `raw` and `sent` are the bodies before and after, `budget` is the count of the
    raw one, of which window and trigger are used.
    """
    told = response.explanation
    dialect: Dialect = anthropic.DIALECT if format == "anthropic" else openai.DIALECT
    rows = _rows(response, messages.raw_messages(raw), messages.raw_messages(sent), dialect)
    before, after = response.original_input_tokens, response.compacted_input_tokens
    limit = after + response.available_input_tokens
    window = budget.max_input_tokens
    outcome, reason = name_of(response, "outcome"), name_of(response, "reason")
    return page(
        "report.html",
        title=title,
        format=format,
        outcome=outcome,
        outcome_words=_OUTCOMES.get(outcome, ""),
        reason=reason,
        reason_words=_REASONS.get(reason, ""),
        source=name_of(response, "token_count_source"),
        before=before,
        after=after,
        change=f"{(after - before) / before:+.0%}".replace("-", "−") if before else "",
        window=window,
        limit=limit,
        reserved=window - limit,
        trigger=budget.trigger_input_tokens,
        room=response.available_input_tokens,
        parts=_PARTS,
        uses={"before": _use(told.original), "after": _use(told.compacted)},
        bars={"before": _bar(told.original), "after": _bar(told.compacted)},
        scale=max(window, before, after, 1),
        told=told,
        strip=_strip(_runs(told)),
        strip_total=max(1, sum(fate.input_tokens for fate in told.messages)),
        runs=_runs(told),
        counts={name: sum(fate.fate == number for fate in told.messages) for number, name in _FATES.items()},
        rows=rows,
        response=response,
        history=name_of(response.history, "status") if response.HasField("history") else "",
        strategy=name_of(response.compaction, "strategy") if response.HasField("compaction") else "",
        summary=_summary(response),
        retained=_retained(response),
        breakpoints=[(name_of(mark, "target").lower(), mark.index) for mark in response.breakpoints],
        notices=[(name_of(notice, "code"), notice.detail) for notice in response.notices],
    )


def name_of(message: Message, field: str) -> str:
    """The short name of an enum field's value; its number where this version does not know it."""
    enum: Any = message.DESCRIPTOR.fields_by_name[field].enum_type
    number = getattr(message, field)
    if number not in enum.values_by_number:
        return str(number)
    prefix = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return str(enum.values_by_number[number].name.removeprefix(prefix))


def _use(use: Any) -> dict[str, int]:
    return {name: getattr(use, name) for name in _PARTS}


def _bar(use: Any) -> list[Segment]:
    found, at = [], 0
    for name, tokens in _use(use).items():
        if tokens:
            found.append(Segment(name, at, tokens))
        at += tokens
    return found


def _rows(response: CompactResponse, raw: Sequence[bytes], sent: Sequence[bytes], dialect: Dialect) -> list[Row]:
    """Every raw message, and those of the service's own where they stand in the result."""
    told = response.explanation
    room = messages.room_for_each(len(raw))
    at = {message.raw_index: place for place, message in enumerate(told.sent) if message.HasField("raw_index")}
    marked = {mark.index for mark in response.breakpoints if name_of(mark, "target") == "MESSAGE"}
    rows: list[Row] = []

    def make(start: int, stop: int) -> None:
        places = range(start, stop)
        rows.extend(_made(dialect.read(sent[place]), told.sent[place], mark=place in marked) for place in places)

    done = 0
    for fate in told.messages:
        place = at.get(fate.index)
        if place is not None:
            make(done, place)
            done = place + 1
        content = dialect.read(raw[fate.index])
        shown = messages.blocks(content, room)
        if fate.fate == FATE_CLIPPED and place is not None:
            shown = messages.clipped_blocks(content, dialect.read(sent[place]), room)
        rows.append(
            Row(
                index=fate.index,
                role=content.role,
                fate=_FATES.get(fate.fate, str(fate.fate)),
                tokens=fate.input_tokens,
                after=None if place is None else told.sent[place].input_tokens,
                preview=messages.preview(content),
                blocks=shown,
                mark=place in marked,
            )
        )
    make(done, len(sent))
    return rows


def _made(content: Content, told: Any, *, mark: bool) -> Row:
    return Row(
        index=None,
        role=content.role,
        fate="made",
        tokens=None,
        after=told.input_tokens,
        preview=messages.preview(content),
        blocks=messages.blocks(content, messages.MOST_TEXT),
        mark=mark,
    )


def _strip(runs: Sequence[Run]) -> list[Segment]:
    """The raw messages as one bar, neighbours of one fate together."""
    found, at = [], 0
    for run in runs:
        found.append(Segment(run.fate, at, run.tokens))
        at += run.tokens
    return found


def _runs(told: Any) -> list[Run]:
    found = []
    for fate, run in groupby(told.messages, key=lambda message: message.fate):
        members = list(run)
        tokens = sum(member.input_tokens for member in members)
        found.append(Run(_FATES.get(fate, str(fate)), members[0].index, members[-1].index, len(members), tokens))
    return found


def _summary(response: CompactResponse) -> Excerpt | None:
    text = response.compaction.summary
    return messages.excerpt(text, MOST_SUMMARY) if text else None


def _retained(response: CompactResponse) -> list[tuple[str, list[str]]]:
    if not response.HasField("retained"):
        return []
    kept = response.retained
    found: list[tuple[str, list[str]]] = [(label, list(getattr(kept, name))) for name, label in _RETAINED.items()]
    found.insert(3, ("Plan", [kept.plan] if kept.plan else []))
    found.append(("Files", [f"{file.path} ({name_of(file, 'access').lower()})" for file in kept.files]))
    outcomes = [
        f"{done.tool} {done.request} → {done.outcome}{' (failed)' if done.is_error else ''}"
        for done in kept.tool_outcomes
    ]
    found.append(("Tool outcomes", outcomes))
    return found
