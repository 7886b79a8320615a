"""What both formats share in reading: one scan of a body, the frame around its messages, and errors that name a place.

The *frame* of a body is everything but its messages: model, system text, tools, options. It hardly changes from turn to
turn, so what was read from it is kept by its digest, as the facts of each message are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import msgspec

from compactor.errors import EmptyConversation, MalformedPayload
from compactor.formats import json_text
from compactor.formats.prefixes import Prefixes
from compactor.model import Content, Element, Message, Span

LONGEST_MODEL = 256
"""Characters of a model's name that are looked at, and remembered: a caller may write anything there."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Reader(Protocol):
    """Gives the facts of messages and counts the rest, in one way of counting; knows what was read before."""

    def messages(
        self, raws: Sequence[memoryview], read: Callable[[bytes], Content]
    ) -> tuple[list[Message], list[bytes]]:
        """The facts of messages and the keys of their content, in order."""
        ...

    def system(self, content: Content) -> int:
        """The tokens of a system block."""
        ...

    def tool(self, definition: bytes) -> int:
        """The tokens of a tool definition."""
        ...

    def frame(self, text: bytes, build: Callable[[], Frame]) -> Frame:
        """What was read from a frame of these bytes before, else what `build` reads now."""
        ...


ReaderOf = Callable[[str], Reader]
"""Chooses the reader, and so the way of counting, for a model."""


class Frame(NamedTuple):
    """What was read from a body without its messages. Spans are positions in that text, the messages array being a `0`.

    `fields` are the option values that a format looks at, by name, decoded.
    """

    fields: dict[str, Any]
    system: tuple[Element, ...] = ()
    system_span: Span | None = None
    system_is_text: bool = False
    tools: tuple[Element, ...] = ()
    tools_span: Span | None = None


class _Body(msgspec.Struct, gc=False):
    messages: list[msgspec.Raw]


class _Frame(msgspec.Struct, gc=False):
    model: msgspec.Raw = msgspec.Raw(b'""')


_BODY, _FRAME = msgspec.json.Decoder(_Body), msgspec.json.Decoder(_Frame)
_RESUMED = b'{"messages":[0'


class Scan(NamedTuple):
    """A body's messages as slices, where they stand, and the rest."""

    raws: list[memoryview]
    starts: list[int]
    stops: list[int]
    array: Span
    frame: bytes
    model: str


def scan(body: bytes, format_name: str, prefixes: Prefixes) -> Scan:
    """Finds the messages of a body, validating all that no earlier body began with. Raises MalformedPayload or
    EmptyConversation.
    """
    view = memoryview(body)
    digests = prefixes.digests(view)
    known, starts, stops = prefixes.recall(digests)
    if not stops or not _resume(body, starts, stops):
        known = 0
        starts, stops = _scan(body, format_name)
    if known < len(digests):
        prefixes.keep(digests, known, starts, stops)
    start = len(body[: starts[0]].rstrip(b" \t\n\r")) - 1
    stop = json_text.skip_space(body, stops[-1]) + 1
    frame = b"".join((view[:start], b"0", view[stop:]))
    if not body.isascii():
        _check_utf8(frame, format_name)
    model = text_of(decoded(bytes(_FRAME.decode(frame).model), "model"), "model")[:LONGEST_MODEL]
    raws = [view[at:end] for at, end in zip(starts, stops, strict=True)]
    return Scan(raws, starts, stops, Span(start, stop), frame, model)


def _resume(body: bytes, starts: list[int], stops: list[int]) -> bool:
    """Adds the messages behind the known ones, a number in the place of those; False where a scan has to tell why that
    cannot be done.
    """
    at = stops[-1]
    text = _RESUMED + body[at:]
    try:
        raws = _BODY.decode(text).messages
    except (RecursionError, msgspec.MsgspecError):
        return False
    base = json_text.address(text)
    if json_text.address(raws[0]) - base != len(_RESUMED) - 1:  # the member is there twice
        return False
    if len(raws) > 1:
        new_starts, new_stops = _places(text, raws[1:], json_text.address(raws[1]) - base)
        shift = at - len(_RESUMED)
        starts += [place + shift for place in new_starts]
        stops += [place + shift for place in new_stops]
    return True


def _scan(body: bytes, format_name: str) -> tuple[list[int], list[int]]:
    try:
        raws = _BODY.decode(body).messages
    except RecursionError:
        raise MalformedPayload(
            f"native.body is no {format_name} request: it is nested too deeply", detail="depth"
        ) from None
    except msgspec.MsgspecError as error:
        raise _malformed(body, format_name, error) from None
    if not raws:
        raise EmptyConversation("the request has no messages", message_count=0)
    return _places(body, raws, json_text.address(raws[0]) - json_text.address(body))


def _places(body: bytes, raws: list[msgspec.Raw], first: int) -> tuple[list[int], list[int]]:
    """Where messages begin and end.

    Most writers put nothing but a comma between two of them. If so the last one stands where the sizes say; and as
    every gap has a comma at least, it stands there only if so. Else each gap is looked at.
    """
    sizes = [memoryview(raw).nbytes for raw in raws]
    starts = list(accumulate([size + 1 for size in sizes[:-1]], initial=first))
    if json_text.address(raws[-1]) - json_text.address(body) != starts[-1]:
        starts, at = [], first
        for size in sizes:
            starts.append(at)
            at = json_text.skip_space(body, json_text.skip_space(body, at + size) + 1)
    return starts, list(map(int.__add__, starts, sizes))


def frame_members(frame: bytes) -> dict[bytes, Span]:
    """The values of a frame's members by key. A key that is there twice would be read differently by different parsers,
    so it is refused with MalformedPayload.
    """
    found: dict[bytes, Span] = {}
    for member in json_text.members(frame):
        if member.key in found:
            name = member.key.decode()[:40]
            raise MalformedPayload(f"native.body has the member {name!r} twice", detail="duplicate member", member=name)
        found[member.key] = member.value
    return found


def options(frame: bytes, members: dict[bytes, Span], names: Sequence[bytes]) -> dict[str, Any]:
    """The values of some members of a frame by name, decoded; None for those that it does not have."""
    return {
        name.decode(): decoded(frame[slice(*members[name])], name.decode()) if name in members else None
        for name in names
    }


def in_body(span: Span | None, found: Scan, body: bytes) -> Span | None:
    """Where a span of a frame stands in the body: behind the messages it is further on by their size."""
    if span is None or span.start < found.array.start:
        return span
    shift = len(body) - len(found.frame)
    return Span(span.start + shift, span.stop + shift)


def decoded(raw: bytes, place: str) -> Any:
    """A JSON value decoded; numbers that Python cannot hold become texts. Raises MalformedPayload naming the place."""
    try:
        try:
            return msgspec.json.decode(raw)
        except msgspec.ValidationError:
            return json.loads(raw.decode(), parse_float=str, parse_int=str)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise MalformedPayload(f"{place} is not valid JSON in UTF-8", place=place) from None


def text_of(value: object, place: str) -> str:
    """A text member; null counts as empty. Raises MalformedPayload for anything else."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise MalformedPayload(f"{place} is not a text", place=place)


def compact(value: object) -> str:
    """A decoded JSON value as compact JSON text."""
    return msgspec.json.encode(value).decode()


def visible_text(value: Any) -> str:
    """The plain texts inside a block of a kind that has no case of its own, opaque payloads left out."""
    found: list[str] = []
    _collect_visible(value, found)
    return "\n".join(found)


_VISIBLE = ("text", "stdout", "stderr", "title", "output", "refusal", "url")


def _collect_visible(value: Any, found: list[str]) -> None:
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key in _VISIBLE and isinstance(item, str) and item:
            found.append(item)
        elif key == "content":
            if isinstance(item, str) and item:
                found.append(item)
            for part in item if isinstance(item, list) else [item]:
                _collect_visible(part, found)


def _check_utf8(frame: bytes, format_name: str) -> None:
    try:
        frame.decode()
    except UnicodeDecodeError:
        raise MalformedPayload(f"native.body is no {format_name} request: it is not UTF-8", detail="encoding") from None


def _malformed(body: bytes, format_name: str, error: Exception) -> MalformedPayload:
    """The error for a body that could not be scanned, naming the message where a lone surrogate is the reason."""
    index = _surrogate_index(body)
    if index is not None:
        place = f"messages[{index}]" if index >= 0 else "native.body"
        return MalformedPayload(f"{place} holds half of a surrogate pair, which UTF-8 cannot carry", place=place)
    detail = str(error)[:120]
    return MalformedPayload(f"native.body is no {format_name} request: {detail}", detail=detail)


def _surrogate_index(body: bytes) -> int | None:
    """The index of the first message with a lone surrogate, -1 where it stands elsewhere, None where there is none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    messages = value.get("messages") if isinstance(value, dict) else None
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        if _LONE_SURROGATE.search(json.dumps(message, ensure_ascii=False)):
            return index
    return -1 if _LONE_SURROGATE.search(json.dumps(value, ensure_ascii=False)) else None
