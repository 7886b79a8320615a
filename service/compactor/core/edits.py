"""The result as ranges of the raw request and literal pieces, and the bytes that come of them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import assert_never

from compactor.model import ArrayName, Edit, Element, Literal, Piece, Raw, Request, Span


def applied(request: Request, edits: Sequence[Edit]) -> bytes:
    """The body with its edits applied; the caller's own bytes where there are none."""
    return b"".join(parts(request, edits)) if edits else request.body


def parts(request: Request, edits: Sequence[Edit]) -> list[bytes | memoryview]:
    """The body with its edits applied, as the runs of raw bytes and the new pieces that it is joined from.

    One rule for each array: a range is the raw text from its first element's first byte to its last element's last,
    pieces are joined by commas, and stand between brackets in the place of the array, or of the plain system text.
    """
    body = memoryview(request.body)
    found: list[bytes | memoryview] = []
    at = 0
    for (start, stop), pieces in sorted([_change(request, body, edit) for edit in edits], key=itemgetter(0)):
        found += (body[at:start], *pieces)
        at = stop
    return [*found, body[at:]]


def _change(request: Request, body: memoryview, edit: Edit) -> tuple[Span, list[bytes | memoryview]]:
    match edit.array:
        case ArrayName.MESSAGES:
            return request.array, _array(edit.pieces, body, request.starts, request.stops)
        case ArrayName.SYSTEM:
            return _frame_change(edit, body, request.system, request.system_span)
        case ArrayName.TOOLS:
            return _frame_change(edit, body, request.tools, request.tools_span)
        case _:
            assert_never(edit.array)


def _frame_change(
    edit: Edit, body: memoryview, elements: Sequence[Element], at: Span | None
) -> tuple[Span, list[bytes | memoryview]]:
    if at is None:
        raise ValueError(f"the request has no {edit.array} to edit")
    starts = [at.start + element.offset for element in elements]
    stops = [start + len(element.raw) for start, element in zip(starts, elements, strict=True)]
    return at, _array(edit.pieces, body, starts, stops)


def _array(
    pieces: Sequence[Piece], body: memoryview, starts: Sequence[int], stops: Sequence[int]
) -> list[bytes | memoryview]:
    found: list[bytes | memoryview] = []
    for piece in pieces:
        found.append(b"," if found else b"[")
        match piece:
            case Raw(start, stop):
                found.append(body[starts[start] : stops[stop - 1]])
            case Literal(data):
                found.append(data)
    return [*(found or [b"["]), b"]"]
