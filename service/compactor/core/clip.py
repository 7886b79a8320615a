"""Old tool arguments and results become previews (rule R10).

Theory. A value is clipped if it is longer than the limit, counted in bytes of UTF-8 with four to a token, so that the
result depends on nothing but the value and the limit: it is the same on every replica, in every turn, in every way of
counting. What is left is a head and a tail, cut at line ends where one is near, else between graphemes, and a note
between them that says how much is missing and that it is no content. The preview never exceeds the limit, so clipping a
preview changes nothing. A failed result keeps the lines that say why.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from compactor.core.measure import value_size
from compactor.core.view import Read, View, rewritten
from compactor.model import Dialect, Message, Request, Shorten

BYTES_PER_TOKEN = 4
SMALLEST_LIMIT = 160
"""Bytes that a value may always have: below, the note would take the place of the content."""

HEAD_SHARE = 0.6
ERROR_SHARE = 0.4
LINE_SLACK = 0.25
"""How much of a head or tail may be given up to end it at a line."""

_ERROR_LINE = re.compile(
    r"^.*(?:\b(?:error|exception|traceback|fatal|panic|failed|failure|denied|not found)\b|Error:).*$",
    re.IGNORECASE | re.MULTILINE,
)
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\u20e3")
_VIRAMA = 9
"""The combining class of the sign that joins two Indic consonants."""

_LONGEST_GRAPHEME = 64


def limit_bytes(max_tokens: int) -> int:
    """The bytes that a value may have under a limit in tokens."""
    return max(SMALLEST_LIMIT, max_tokens * BYTES_PER_TOKEN)


def shortener(max_tokens: int) -> Shorten:
    """What makes previews under a limit in tokens."""
    limit = limit_bytes(max_tokens)

    def shorten(text: str, is_error: bool) -> str | None:  # noqa: FBT001 - the shape is the protocol's
        return preview(text, limit, is_error=is_error)

    return shorten


def preview(text: str, limit: int, *, is_error: bool) -> str | None:
    """Head, note and tail of a text, at most `limit` bytes long; None where that would be no shorter."""
    if len(text) * 4 <= limit or value_size(text) <= limit:
        return None
    room = limit - len(_note(len(text)).encode())
    errors = _error_lines(text, int(room * ERROR_SHARE)) if is_error or _looks_failed(text) else ""
    room -= value_size(errors)
    head = _head(text, int(room * HEAD_SHARE))
    tail = _tail(text, room - value_size(head))
    if errors and (errors in head or errors in tail):
        errors = ""
    new = f"{head}{_note(len(text) - len(head) - len(tail))}{errors}{tail}"
    return new if len(new) < len(text) else None


def _note(left_out: int) -> str:
    return f"\n[… {left_out:,} characters clipped here to save context; not part of the text …]\n"


def _looks_failed(text: str) -> bool:
    """Formats without a flag for failures put it into words at the beginning or the end."""
    return _ERROR_LINE.search(text[:200]) is not None or _ERROR_LINE.search(text[-200:]) is not None


def _error_lines(text: str, room: int) -> str:
    """The lines that say what failed, the last ones first in rank, as many as there is room for."""
    kept: list[str] = []
    for match in reversed(list(_ERROR_LINE.finditer(text[-200_000:]))):
        line = match.group().strip()
        if line in kept:
            continue
        room -= value_size(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "".join(f"{line}\n" for line in reversed(kept))


def _head(text: str, room: int) -> str:
    end = _boundary(text, len(_prefix(text, room)))
    line = text.rfind("\n", 0, end)
    if line <= 0 or line < end * (1 - LINE_SLACK):
        return text[:end]
    return text[:line].removesuffix("\r")


def _tail(text: str, room: int) -> str:
    start = len(text) - len(_prefix(text[::-1][: room + 1] if room >= 0 else "", room))
    start = _boundary_after(text, start)
    line = text.find("\n", start)
    return text[line + 1 :] if 0 <= line - start <= (len(text) - start) * LINE_SLACK else text[start:]


def _prefix(text: str, room: int) -> str:
    """The longest head of a text that has at most `room` bytes."""
    if room <= 0:
        return ""
    text = text[:room]
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass")[:room].decode("utf-8", "ignore")


def _boundary(text: str, at: int) -> int:
    """The last position at or before `at` that lies between two graphemes."""
    least = max(0, at - _LONGEST_GRAPHEME)
    while at > least and _is_inside(text, at):
        at -= 1
    return at


def _boundary_after(text: str, at: int) -> int:
    """The first position at or after `at` that lies between two graphemes."""
    most = min(len(text), at + _LONGEST_GRAPHEME)
    while at < most and _is_inside(text, at):
        at += 1
    return at


def _is_inside(text: str, at: int) -> bool:
    """Whether a cut at a position would split what a reader sees as one character."""
    if at <= 0 or at >= len(text):
        return False
    new, old = text[at], text[at - 1]
    if new.isascii() and old.isascii():
        return old == "\r" and new == "\n"
    if new in _JOINERS or old == "\u200d" or unicodedata.category(new)[0] == "M":
        return True
    if unicodedata.combining(old) == _VIRAMA:
        return True
    if "\U0001f3fb" <= new <= "\U0001f3ff" or "\U000e0020" <= new <= "\U000e007f":
        return True
    if "\u1160" <= new <= "\u11ff":
        return True
    return _is_flag(new) and _is_flag(old) and _flags_before(text, at) % 2 == 1


def _is_flag(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    start = at
    while start > 0 and at - start < _LONGEST_GRAPHEME and _is_flag(text[start - 1]):
        start -= 1
    return at - start


def clipped(
    view: View,
    request: Request,
    before: int,
    max_tokens: int,
    unclipped_tools: tuple[str, ...],
    dialect: Dialect,
    read: Read,
) -> tuple[View, int]:
    """The view with long values clipped in messages with a raw index under `before`, and how many were."""
    limit = limit_bytes(max_tokens)
    shorten = shortener(max_tokens)
    exempt = _exempt_calls(view.messages, unclipped_tools) if unclipped_tools else {}
    changes: dict[int, bytes] = {}
    count = 0
    for position, message in enumerate(view.messages):
        if message.largest_value <= limit or not 0 <= view.origins[position] < before:
            continue
        new, found = dialect.clip(view.raw(request, position), shorten, exempt.get(position, frozenset()))
        if found:
            changes[position] = new
            count += found
    return rewritten(view, changes, read), count


def _exempt_calls(messages: Sequence[Message], names: tuple[str, ...]) -> Mapping[int, frozenset[str]]:
    """For each position the ids, in calls or results there, of calls of exempt tools."""
    found: dict[int, frozenset[str]] = {}
    open_calls: frozenset[str] = frozenset()
    for position, message in enumerate(messages):
        if message.calls:
            open_calls = frozenset(call.id for call in message.calls if call.name in names)
        if open_calls:
            found[position] = open_calls
    return found
