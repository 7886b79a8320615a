"""How edits make the result: ranges of the raw request and new elements, spliced over the caller's own bytes.

Theory. The body is scanned once, by msgspec, which gives each message as a slice. Their lengths, with the white space
and commas between them, say where every one of them stands; the few other members of the body are walked over. What no
edit names is copied as it is, so the result has the bytes that the service would have sent in FULL mode.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, overload

import msgspec

from hango.compaction.v1.compaction_pb2 import ARRAY_NAME_MESSAGES, ArrayName, Edit, Piece
from hango.compaction.v1.compaction_service_pb2 import CompactResponse
from hango.compaction.v1.conversation_pb2 import Conversation

_SPACE = re.compile(rb"[ \t\n\r]*")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[^,\]} \t\n\r]+")
_STEP = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]|[\]}]', re.DOTALL)


class _Span(NamedTuple):
    start: int
    stop: int


class _Body(msgspec.Struct, gc=False):
    messages: list[msgspec.Raw]


_MESSAGES = msgspec.json.Decoder(_Body)


@overload
def apply_edits(source: bytes, response: CompactResponse) -> bytes: ...
@overload
def apply_edits(source: Conversation, response: CompactResponse) -> Conversation: ...
def apply_edits(source: bytes | Conversation, response: CompactResponse) -> bytes | Conversation:
    """The request to send: the source of a call with the edits of its response, equal to what FULL mode returns.

    A response without edits gives the source itself. Raises ValueError where the edits cannot be those of this source.

        response = stub.Compact(CompactRequest(native=NativePayload(body=body, ...), result_mode=RESULT_MODE_EDITS))
        body_to_send = apply_edits(body, response)
    """
    if isinstance(source, Conversation):
        return _edited(source, response.edits)
    if not response.edits:
        return source
    try:
        return _spliced(source, response.edits)
    except (IndexError, AttributeError, msgspec.MsgspecError):
        raise ValueError("the edits are not of this body") from None


def _spliced(body: bytes, edits: Sequence[Edit]) -> bytes:
    raws = _MESSAGES.decode(body).messages
    members, messages = _layout(body, [memoryview(raw).nbytes for raw in raws])
    changes: list[tuple[_Span, bytes]] = []
    for edit in edits:
        span = members.get(ArrayName.Name(edit.array).removeprefix("ARRAY_NAME_").lower().encode())
        if span is None:
            raise ValueError(f"the body has no array {ArrayName.Name(edit.array)} to edit")
        elements = messages if edit.array == ARRAY_NAME_MESSAGES else _elements(body, span)
        pieces = [_run(body, piece, elements) for piece in edit.pieces]
        changes.append((span, b"[" + b",".join(pieces) + b"]"))
    parts: list[bytes] = []
    at = 0
    for span, new in sorted(changes):
        parts += (body[at : span.start], new)
        at = span.stop
    return b"".join((*parts, body[at:]))


def _run(body: bytes, piece: Piece, elements: Sequence[_Span]) -> bytes:
    """A run of elements with what stands between them, or the new one."""
    if piece.WhichOneof("piece") == "range":
        start, stop = _checked(piece, len(elements))
        return body[elements[start].start : elements[stop - 1].stop]
    return piece.native_element


def _elements(body: bytes, span: _Span) -> Sequence[_Span]:
    """The spans of the elements of `system` or `tools`; a plain text there has none."""
    if body[span.start] != 0x5B:
        return ()
    raws = msgspec.json.decode(body[slice(*span)], type=list[msgspec.Raw])
    return _run_of(body, span.start, [memoryview(raw).nbytes for raw in raws])[0]


def _checked(piece: Piece, count: int) -> _Span:
    start, stop = piece.range.start, piece.range.stop
    if not 0 <= start < stop <= count:
        raise ValueError(f"the edits name the elements {start} to {stop} of {count}")
    return _Span(start, stop)


def _layout(body: bytes, sizes: Sequence[int]) -> tuple[dict[bytes, _Span], list[_Span]]:
    """The spans of the values of a valid body's members by key, and of its messages, which have the given sizes."""
    members: dict[bytes, _Span] = {}
    messages: list[_Span] = []
    at = _past_space(body, _past_space(body, 0) + 1)
    while body[at] != 0x7D:
        end = _matched(_STRING, body, at)
        key = msgspec.json.decode(body[at:end], type=str).encode()
        start = _past_space(body, _past_space(body, end) + 1)
        if key == b"messages" and key not in members:
            messages, end = _run_of(body, start, sizes)
        else:
            end = _past_value(body, start)
        members[key] = _Span(start, end)
        at = _past_space(body, end)
        if body[at] == 0x2C:
            at = _past_space(body, at + 1)
    return members, messages


def _run_of(body: bytes, start: int, sizes: Sequence[int]) -> tuple[list[_Span], int]:
    """The spans of an array's elements of known sizes, and the position after the array."""
    spans: list[_Span] = []
    at = _past_space(body, start + 1)
    for size in sizes:
        spans.append(_Span(at, at + size))
        at = _past_space(body, at + size)
        if body[at] == 0x2C:
            at = _past_space(body, at + 1)
    if body[at] != 0x5D:
        raise ValueError("the body has two arrays of messages")
    return spans, at + 1


def _past_space(text: bytes, at: int) -> int:
    return _matched(_SPACE, text, at)


def _past_value(text: bytes, at: int) -> int:
    head = text[at]
    if head not in b"[{":
        return _matched(_STRING if head == 0x22 else _SCALAR, text, at)
    depth = 0
    for step in _STEP.finditer(text, at):
        token = text[step.start()]
        depth += (token in b"[{") - (token in b"]}")
        if not depth:
            return step.end()
    raise ValueError("the body ends inside a value")


def _matched(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    return pattern.match(text, at).end()  # type: ignore[union-attr]


def _edited(source: Conversation, edits: Sequence[Edit]) -> Conversation:
    result = Conversation()
    result.CopyFrom(source)
    for edit in edits:
        name = ArrayName.Name(edit.array).removeprefix("ARRAY_NAME_").lower()
        raws, target = getattr(source, name), getattr(result, name)
        del target[:]
        for piece in edit.pieces:
            kind = piece.WhichOneof("piece")
            target.extend(raws[slice(*_checked(piece, len(raws)))] if kind == "range" else [getattr(piece, str(kind))])
    return result
