"""What the model sees: the raw log with a record replayed over it (rules R1, R2).

A view is a list of positions. Each position is a raw message as it is, a raw message with new bytes (clipped, stripped,
repaired), or a message of ours. Nothing here copies the messages that do not change.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from compactor.model import ArrayName, Dialect, Edit, Literal, Message, Piece, Raw, Request

OURS = -1
"""The origin of a message that the raw log does not have."""

_MARK = re.compile(rb'"cache_control"\s*:\s*(?:null|\{[^{}]*"ephemeral"[^{}]*\})')
_SPACE_AND_COMMA = re.compile(rb"\s*,?\s*")


def has_mark(raw: bytes) -> bool:
    """Whether `without_marks` would change a message."""
    return _MARK.search(raw) is not None


Read = Callable[[bytes], Message]
"""Gives the facts of a message from its bytes."""


@dataclass(frozen=True, slots=True, repr=False)
class View:
    """Messages as they would be sent.

    `origins[i]` is the raw index of position i, `OURS` for a message of ours. `literals` holds the bytes of the
    positions that are not raw messages as they are. `summary_at` is the position of the summary message.
    """

    messages: Sequence[Message]
    origins: Sequence[int]
    literals: Mapping[int, bytes] = field(default_factory=dict)
    summary_at: int | None = None

    @property
    def tokens(self) -> int:
        """Tokens of the messages alone."""
        return sum([message.tokens for message in self.messages])

    @property
    def first(self) -> int:
        """The position of the first message that may be evicted: after the prompt and the summary."""
        return 0 if self.summary_at is None else self.summary_at + 1

    def raw(self, request: Request, position: int) -> bytes:
        """The bytes of one position."""
        found = self.literals.get(position)
        return request.raw(self.origins[position]) if found is None else found


def whole(request: Request) -> View:
    """The raw log as it is."""
    return View(request.messages, range(len(request.messages)))


def tail(request: Request, first_kept: int, before: Sequence[int], summary: bytes | None, read: Read) -> View:
    """The prompt, the summary message if there is one, what is kept `before`, and the raw messages from an index on."""
    lead = request.leading
    if summary is None and first_kept <= lead:
        return whole(request)
    ours = [] if summary is None else [read(summary)]
    kept = [*before, *range(first_kept, len(request.messages))]
    messages = [*request.messages[:lead], *ours, *[request.messages[index] for index in kept]]
    origins = [*range(lead), *([OURS] * len(ours)), *kept]
    return View(messages, origins, {lead: summary} if summary is not None else {}, lead if ours else None)


def rewritten(view: View, changes: Mapping[int, bytes], read: Read) -> View:
    """The view with new bytes at some positions."""
    if not changes:
        return view
    messages = list(view.messages)
    for position, raw in changes.items():
        messages[position] = read(raw)
    return View(messages, view.origins, {**view.literals, **changes}, view.summary_at)


def stripped(view: View, request: Request, before: int, dialect: Dialect, read: Read) -> View:
    """The view without the reasoning of messages with a raw index under `before` (R20)."""
    changes = {
        position: dialect.strip(view.raw(request, position))
        for position, message in enumerate(view.messages)
        if message.has_thinking and 0 <= view.origins[position] < before
    }
    return rewritten(view, changes, read)


def repaired(view: View, request: Request, dialect: Dialect, read: Read) -> View:
    """The view with its pairing mended by the dialect; the prompt and the summary are left out of it."""
    first = max(view.first, request.leading)
    raws = [view.raw(request, position) for position in range(first, len(view.messages))]
    messages, origins = list(view.messages[:first]), list(view.origins[:first])
    literals = {position: raw for position, raw in view.literals.items() if position < first}
    for index, new in dialect.repair(raws):
        position = first + index if index >= 0 else OURS
        raw = new if new is not None else view.literals.get(position)
        if raw is not None:
            literals[len(messages)] = raw
        messages.append(view.messages[position] if raw is None else read(raw))
        origins.append(view.origins[position] if index >= 0 else OURS)
    return View(messages, origins, literals, view.summary_at)


def pieces(view: View) -> tuple[Piece, ...]:
    """The view as runs of raw messages and new ones."""
    found: list[Piece] = []
    for position in _breaks(view):
        origin, literal = view.origins[position], view.literals.get(position)
        if literal is None:
            found.append(Raw(origin, _run_end(view, position)))
        else:
            found.append(Literal(literal, None if origin == OURS else origin))
    return tuple(found)


def messages_edit(request: Request, view: View) -> list[Edit]:
    """The edit of the raw request that makes the messages of a view; none where they are the raw ones."""
    found = pieces(view)
    is_whole = found == (Raw(0, len(request.messages)),)
    return [] if is_whole else [Edit(ArrayName.MESSAGES, found)]


def _breaks(view: View) -> Iterable[int]:
    """The positions at which a piece begins."""
    origins, literals = view.origins, view.literals
    if isinstance(origins, range) and not literals:
        return [0] if origins else []
    return [
        position
        for position in range(len(origins))
        if position == 0
        or position in literals
        or position - 1 in literals
        or origins[position] != origins[position - 1] + 1
    ]


def _run_end(view: View, position: int) -> int:
    """The raw index after the run of untouched raw messages that begins at a position."""
    origins = view.origins
    if isinstance(origins, range) and not view.literals:
        return origins[-1] + 1
    at = position + 1
    while at < len(origins) and at not in view.literals and origins[at] == origins[at - 1] + 1:
        at += 1
    return origins[at - 1] + 1


def prefix_digest(request: Request, stop: int) -> bytes:
    """SHA-256 over the raw messages before an index, joined by commas, without their `cache_control` members.

    System messages at the head are left out: system text may change. Breakpoints are left out because callers move them
    from turn to turn: a mark is no content.
    """
    lead = request.leading
    if stop <= lead:
        return hashlib.sha256().digest()
    starts, stops = request.starts[lead:stop], request.stops[lead:stop]
    if stops[-1] - starts[0] == sum(stops) - sum(starts) + len(starts) - 1:
        text = request.body[starts[0] : stops[-1]]
        if not any(message.has_mark for message in request.messages[lead:stop]):
            return hashlib.sha256(text).digest()
    else:
        text = b",".join([request.raw(index) for index in range(lead, stop)])
    return hashlib.sha256(without_marks(text)).digest()


def without_marks(text: bytes) -> bytes:
    """JSON text without its `cache_control` members and the commas that go with them.

    Inside a string the quotes of such a member are escaped, so what looks like one is one.
    """
    pieces: list[bytes] = []
    at = 0
    for match in _MARK.finditer(text):
        before = text[at : match.start()].rstrip(b" \t\n\r")
        at = match.end()
        if before.endswith(b","):
            before = before[:-1]
        else:
            at = _SPACE_AND_COMMA.match(text, at).end()  # type: ignore[union-attr]
        pieces.append(before)
    pieces.append(text[at:])
    return b"".join(pieces) if at else text
