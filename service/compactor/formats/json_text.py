"""Where things stand in JSON text: spans of members and elements, found without decoding them.

Theory. A body is scanned and validated once, by msgspec, which hands back each message as a slice of the caller's
buffer. Where the slices lie is read off the buffer's addresses, so nothing is scanned twice. Only inside a message that
is to be edited does the slower walk below look for members one by one; it jumps over strings with one regular
expression and counts brackets, so a large string costs little.

The walk assumes JSON that has been validated before.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from compactor.model import Span

_SPACE = re.compile(rb"[ \t\n\r]*")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[^,\]} \t\n\r]+")
_STEP = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]|[\]}]', re.DOTALL)


class Member(NamedTuple):
    """A member of an object: its key, decoded, and the spans of the whole member and its value."""

    key: bytes
    start: int
    value: Span


class _Buffer(ctypes.Structure):
    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


def address(view: object) -> int:
    """The address of the first byte of an object that has a buffer."""
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(buffer), 0)
    found = buffer.buf
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return int(found or 0)


def skip_space(text: bytes, at: int) -> int:
    """The first position from `at` on that is no white space."""
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def skip_value(text: bytes, at: int) -> int:
    """The position after the value that begins at `at`."""
    head = text[at]
    if head == 0x22:
        return _STRING.match(text, at).end()  # type: ignore[union-attr]
    if head not in b"[{":
        return _SCALAR.match(text, at).end()  # type: ignore[union-attr]
    depth = 0
    for step in _STEP.finditer(text, at):
        token = text[step.start()]
        if token in b"[{":
            depth += 1
        elif token in b"]}":
            depth -= 1
            if not depth:
                return step.end()
    raise ValueError("the text ends inside a value")


def members(text: bytes, at: int = 0) -> Iterator[Member]:
    """The members of the object that begins at `at` (white space is skipped), in order, duplicates included."""
    at = skip_space(text, skip_space(text, at) + 1)
    while text[at] != 0x7D:
        start = at
        end = _STRING.match(text, at).end()  # type: ignore[union-attr]
        key = text[start + 1 : end - 1]
        if b"\\" in key:
            key = msgspec.json.decode(text[start:end], type=str).encode()
        at = skip_space(text, skip_space(text, end) + 1)
        end = skip_value(text, at)
        yield Member(key, start, Span(at, end))
        at = skip_space(text, end)
        if text[at] == 0x2C:
            at = skip_space(text, at + 1)


def elements(text: bytes, at: int = 0) -> Iterator[Span]:
    """The elements of the array that begins at `at` (white space is skipped), in order."""
    at = skip_space(text, skip_space(text, at) + 1)
    while text[at] != 0x5D:
        end = skip_value(text, at)
        yield Span(at, end)
        at = skip_space(text, end)
        if text[at] == 0x2C:
            at = skip_space(text, at + 1)


def last_member(text: bytes, key: bytes, at: int = 0) -> Member | None:
    """The member that a parser takes for `key`: the last of that name, as every common parser does."""
    found = None
    for member in members(text, at):
        if member.key == key:
            found = member
    return found


def spliced(text: bytes, changes: list[tuple[Span, bytes]]) -> bytes:
    """The text with each span replaced; spans do not overlap and need not be in order."""
    pieces: list[bytes] = []
    at = 0
    for (start, stop), new in sorted(changes):
        pieces += (text[at:start], new)
        at = stop
    pieces.append(text[at:])
    return b"".join(pieces)


def without(text: bytes, member: Member) -> list[tuple[Span, bytes]]:
    """The change that takes a member out of its object, with the comma that goes with it."""
    after = skip_space(text, member.value.stop)
    if text[after] == 0x2C:
        return [(Span(member.start, skip_space(text, after + 1)), b"")]
    before = len(text[: member.start].rstrip(b" \t\n\r"))
    if text[before - 1] == 0x2C:
        return [(Span(before - 1, member.value.stop), b"")]
    return [(Span(member.start, member.value.stop), b"")]
