"""The result as ranges of the raw request and literal pieces, and the bytes that come of them."""

from __future__ import annotations

from collections.abc import Sequence

from compactor.model import ArrayName, Edit, Literal, Piece, Raw, Request, Span


def applied(request: Request, edits: Sequence[Edit]) -> bytes:
    """The body with its edits applied; the caller's own bytes where there are none."""
    changes: list[tuple[Span, bytes]] = []
    for edit in edits:
        match edit.array:
            case ArrayName.MESSAGES:
                inner = b",".join([_bytes(piece, request) for piece in edit.pieces])
                changes.append((Span(request.array.start + 1, request.array.stop - 1), inner))
            case ArrayName.SYSTEM if request.system_span is not None:
                changes.append((request.system_span, _array(edit.pieces, [block.raw for block in request.system])))
            case ArrayName.TOOLS if request.tools_span is not None:
                changes.append((request.tools_span, _array(edit.pieces, [tool.raw for tool in request.tools])))
            case _:
                raise ValueError(f"the request has no {edit.array} to edit")
    return _spliced(request.body, changes) if changes else request.body


def _bytes(piece: Piece, request: Request) -> bytes:
    match piece:
        case Raw(start, stop):
            return request.body[request.starts[start] : request.stops[stop - 1]]
        case Literal(data):
            return data


def _array(pieces: Sequence[Piece], raws: Sequence[bytes]) -> bytes:
    elements: list[bytes] = []
    for piece in pieces:
        match piece:
            case Raw(start, stop):
                elements += raws[start:stop]
            case Literal(data):
                elements.append(data)
    return b"[" + b",".join(elements) + b"]"


def _spliced(text: bytes, changes: list[tuple[Span, bytes]]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for (start, stop), new in sorted(changes):
        parts += (text[at:start], new)
        at = stop
    parts.append(text[at:])
    return b"".join(parts)
