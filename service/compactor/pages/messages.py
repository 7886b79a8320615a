"""Messages as a page shows them: what each part says, and of a clipped value what is gone.

The texts of a whole session are too much for a page, so each gets a share of `TEXT_BUDGET`, and what is left out is
said. A cut is found by comparing the raw value with the one that was sent: what both begin and end with was kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from compactor.model import Content, Kind, Media, Part

TEXT_BUDGET = 2_000_000
LEAST_TEXT, MOST_TEXT = 300, 4_000
"""Characters of texts on a page, and of one text at least and at most."""

AROUND_A_CUT = 500
"""Characters shown at most of what a cut left at either end, and of what it took."""

PREVIEW = 140

_LABELS = {
    Kind.TEXT: "text",
    Kind.THINKING: "reasoning",
    Kind.TOOL_USE: "call of",
    Kind.TOOL_RESULT: "result",
    Kind.SERVER_TOOL_USE: "call of",
    Kind.SERVER_TOOL_RESULT: "result",
    Kind.MEDIA: "media",
    Kind.OPAQUE: "other block",
}


class Excerpt(NamedTuple):
    """A text as far as it is shown: its head, how many characters are left out, and its tail."""

    head: str
    left_out: int = 0
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """A clipped value: what stays at both ends, what is gone, and what stands in its place."""

    head: Excerpt
    gone: Excerpt
    gone_characters: int
    instead: Excerpt
    tail: Excerpt


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a message: a label, a name, and its text or its cut."""

    label: str
    name: str
    is_error: bool
    text: Excerpt | None
    cut: Cut | None = None


def raw_messages(body: bytes) -> list[bytes]:
    """The messages of a body, as they are spelled."""
    return [bytes(raw) for raw in msgspec.json.decode(body, type=_Messages).messages]


class _Messages(msgspec.Struct):
    messages: list[msgspec.Raw]


def room_for_each(count: int) -> int:
    """Characters that each of so many messages may show."""
    return max(LEAST_TEXT, min(MOST_TEXT, TEXT_BUDGET // max(1, count)))


def blocks(content: Content, room: int) -> list[Block]:
    """The parts of a message that is sent as it is, or not at all."""
    share = max(LEAST_TEXT, room // max(1, len(content.parts)))
    return [_block(part, excerpt(_text(part), share)) for part in content.parts]


def clipped_blocks(raw: Content, sent: Content, room: int) -> list[Block]:
    """The parts of a message that is sent with clipped values; where parts were left out, as it is sent."""
    before: Sequence[Part] = raw.parts
    if len(before) != len(sent.parts):
        before = [part for part in before if part.kind is not Kind.THINKING]
    if len(before) != len(sent.parts):
        return blocks(sent, room)
    share = max(LEAST_TEXT, room // max(1, len(sent.parts)))
    return [
        _block(new, excerpt(_text(new), share))
        if _text(old) == _text(new)
        else _block(new, None, _cut(old, new, share))
        for old, new in zip(before, sent.parts, strict=True)
    ]


def preview(content: Content) -> str:
    """A message in a line."""
    for part in content.parts:
        text = " ".join(_text(part)[: 4 * PREVIEW].split())
        if text or part.name:
            line = f"{part.name} {text}".strip()
            return line[: PREVIEW - 1] + "…" if len(line) > PREVIEW else line
    return ""


def excerpt(text: str, room: int) -> Excerpt:
    """As much of a text as there is room for: its head, and a quarter of the room for its tail."""
    if len(text) <= room + room // 8:
        return Excerpt(text)
    tail = room // 4
    return Excerpt(text[: room - tail], len(text) - room, text[len(text) - tail :])


def _cut(old: Part, new: Part, room: int) -> Cut:
    before, after = _text(old), _text(new)
    head = _equal(before, after)
    most = min(len(before), len(after)) - head
    tail = _equal(before[::-1][:most], after[::-1][:most])
    gone = before[head : len(before) - tail]
    end = len(before) - tail
    quarter = min(AROUND_A_CUT, max(LEAST_TEXT // 3, room // 4))
    return Cut(
        head=excerpt(before[:head], quarter),
        gone=excerpt(gone, quarter),
        gone_characters=len(gone),
        instead=excerpt(after[head : len(after) - tail], quarter),
        tail=excerpt(before[end:], quarter),
    )


def _equal(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _block(part: Part, text: Excerpt | None, cut: Cut | None = None) -> Block:
    name = part.name
    if part.media is not None:
        name = _media_name(part.media)
    return Block(_LABELS[part.kind], name, part.is_error, text, cut)


def _text(part: Part) -> str:
    if part.kind is Kind.THINKING and not part.text:
        return f"({part.weight:,} bytes that only the provider can read)"
    inner = [_media_name(piece.media) for piece in part.parts if piece.media is not None]
    return "\n".join([part.text, *(f"[{name}]" for name in inner)]) if inner else part.text


def _media_name(media: Media) -> str:
    where = media.reference[:80] if media.reference else f"{len(media.data) * 3 // 4:,} bytes"
    return f"{media.media_type or media.type}, {where}"
