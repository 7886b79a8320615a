"""The result as ranges of the raw request and literal pieces, and the bytes that come of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from compactor.model import ArrayName, Edit, Element, Literal, Piece, Raw, Request, Span


def applied(request: Request, edits: Sequence[Edit]) -> bytes:
    """The body with its edits applied; the caller's own bytes where there are none.

    One rule for each array: a range is the raw text from its first element's first byte to its last element's last,
    pieces are joined by commas, and stand between brackets in the place of the array, or of the plain system text.
    """
    changes: list[tuple[Span, bytes]] = []
    for edit in edits:
        match edit.array:
            case ArrayName.MESSAGES:
                changes.append((request.array, _array(edit.pieces, request.body, request.starts, request.stops)))
            case ArrayName.SYSTEM:
                changes.append(_frame_edit(edit, request, request.system, request.system_span))
            case ArrayName.TOOLS:
                changes.append(_frame_edit(edit, request, request.tools, request.tools_span))
            case _:
                assert_never(edit.array)
    return _spliced(request.body, changes) if changes else request.body


def _frame_edit(edit: Edit, request: Request, elements: Sequence[Element], at: Span | None) -> tuple[Span, bytes]:
    if at is None:
        raise ValueError(f"the request has no {edit.array} to edit")
    starts = [at.start + element.offset for element in elements]
    stops = [start + len(element.raw) for start, element in zip(starts, elements, strict=True)]
    return at, _array(edit.pieces, request.body, starts, stops)


def _array(pieces: Sequence[Piece], body: bytes, starts: Sequence[int], stops: Sequence[int]) -> bytes:
    texts: list[bytes] = []
    for piece in pieces:
        match piece:
            case Raw(start, stop):
                texts.append(body[starts[start] : stops[stop - 1]])
            case Literal(data):
                texts.append(data)
    return b"[" + b",".join(texts) + b"]"


def _spliced(text: bytes, changes: list[tuple[Span, bytes]]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for (start, stop), new in sorted(changes):
        parts += (text[at:start], new)
        at = stop
    parts.append(text[at:])
    return b"".join(parts)
