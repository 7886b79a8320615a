"""Evicted messages as the text that a summarizer reads: delimited data, cut into slices that fit its window (R17).

Each message stands between two tag lines that say who speaks; nothing inside can close or open one. Tool values are
previews, reasoning is left out, media are a note unless they are text. A slice ends where no tool call is open; a
message that is longer than a slice is cut at a line, and each piece says which it is. Nothing is left out between two
slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from compactor.core import clip
from compactor.core.media import document_text
from compactor.core.tags import Tags
from compactor.model import Content, Kind, Part, Role

_TAGS = Tags("transcript", "previous_summary", "partial_summary", "message")
_END = "\n</message>"
_LEAST_PIECE, _LEAST_TOKENS = 200, 8
"""Characters and tokens that a piece of a message is tried with at least."""

_SLACK = 4
"""Tokens by which a piece may count more between its tag lines than by itself."""

_LONGEST_ADDRESS = 500
"""Characters beyond which what should name a medium is taken for the medium itself."""


_THOUGHTS = ("reason", "think")
"""What the name of a block of a kind that nobody knows holds where it is reasoning."""


class Passage(NamedTuple):
    """A message as it is shown, and whether a slice may begin with it."""

    text: str
    may_open: bool


def delimited(index: int, content: Content, clip_max_tokens: int) -> str:
    """One message between its tag lines; what results it holds stand apart, as the tools' words. Values over the limit
    are previews; 0 leaves them whole.

    >>> print(delimited(3, Content(Role.USER, (Part(Kind.TEXT, "Look at </message> a.py"),)), 0))
    <message n="3" from="user">
    Look at &lt;/message> a.py
    </message>
    """
    spoken = "\n".join(filter(None, (_said(part, clip_max_tokens) for part in content.parts)))
    results = "\n".join(_result(part, clip_max_tokens) for part in content.parts if part.kind is Kind.TOOL_RESULT)
    shown = [_enclosed(index, "tool", results)] if results else []
    if spoken or not shown:
        shown.append(_enclosed(index, "tool" if content.role is Role.TOOL else content.role.value, spoken))
    return "\n".join(shown)


def earlier(summary: str) -> str:
    """An earlier summary as a message, where it is too long to stand by itself."""
    return _enclosed(0, "earlier summary", summary)


def neutral(text: str) -> str:
    """The text with the angle bracket of everything that looks like a tag of the summarizer's frame escaped."""
    return _TAGS.escaped(text)


def slices(passages: Sequence[Passage], room: int, count: Callable[[str], int]) -> list[str]:
    """The passages as texts of at most `room` tokens by `count`, each as long as it can be, in order.

    A slice ends before a passage that may open one, where there is such an end; a passage larger than the room is cut.
    """
    made: list[str] = []
    held: list[str] = []
    used = 0
    for block in _blocks(passages):
        size = sum(count(text) + 1 for text in block)
        if held and used + size > room:
            made.append("\n".join(held))
            held, used = [], 0
        if size <= room:
            held += block
            used += size
            continue
        pieces = [piece for text in block for piece in _pieces(text, room, count)]
        for piece in pieces:
            size = count(piece) + 1
            if held and used + size > room:
                made.append("\n".join(held))
                held, used = [], 0
            held.append(piece)
            used += size
    return [*made, "\n".join(held)] if held else made


def _blocks(passages: Iterable[Passage]) -> Iterator[list[str]]:
    """Runs of passages that belong together: each begins where a slice may begin."""
    block: list[str] = []
    for passage in passages:
        if passage.may_open and block:
            yield block
            block = []
        block.append(passage.text)
    if block:
        yield block


def _pieces(text: str, room: int, count: Callable[[str], int]) -> Iterator[str]:
    """What is said in a message, and what its results say, cut into pieces of at most `room` tokens, each between tag
    lines of its own.
    """
    for said in text.removesuffix(_END).split(f"{_END}\n"):
        whole = f"{said}{_END}"
        if count(whole) <= room:
            yield whole
            continue
        opening, _, body = said.partition("\n")
        longest = _labelled(opening, len(body), len(body))
        most = max(_LEAST_TOKENS, room - count(f"{longest}\n{_END}") - _SLACK)
        bodies = list(_cut(body, most, count)) or [""]
        for number, piece in enumerate(bodies, start=1):
            yield f"{_labelled(opening, number, len(bodies))}\n{neutral(piece)}{_END}"


def _labelled(opening: str, number: int, pieces: int) -> str:
    """The tag line of one of some pieces."""
    return opening.replace(" from=", f' piece="{number} of {pieces}" from=')


def _cut(body: str, most: int, count: Callable[[str], int]) -> Iterator[str]:
    """A text in pieces of at most `most` tokens, cut behind a line where there is one."""
    size = max(_LEAST_PIECE, int(len(body) * most / max(1, count(body)) * 0.9))
    at = 0
    while at < len(body):
        stop = _line_end(body, at, size)
        while stop - at > 1 and count(body[at:stop]) > most:
            stop = at + max(1, (stop - at) * 3 // 4)
        yield body[at:stop]
        at = stop


def _line_end(text: str, at: int, size: int) -> int:
    """The end of the piece that begins at `at`: behind a line where one ends in its second half."""
    stop = at + size
    if stop >= len(text):
        return len(text)
    line = text.rfind("\n", at + size // 2, stop)
    return stop if line < 0 else line + 1


def _enclosed(index: int, speaker: str, text: str) -> str:
    return f'<message n="{index}" from="{speaker}">\n{neutral(text)}{_END}'


def _said(part: Part, most: int) -> str:
    match part.kind:
        case Kind.TEXT:
            return part.text
        case Kind.TOOL_USE | Kind.SERVER_TOOL_USE:
            return f"[calls {part.name}: {_short(part.text, most, is_error=False) or 'no arguments'}]"
        case Kind.SERVER_TOOL_RESULT:
            return _result(part, most)
        case Kind.MEDIA:
            return _media(part, most)
        case Kind.OPAQUE:
            return "" if any(word in part.name for word in _THOUGHTS) else part.text
        case Kind.THINKING | Kind.TOOL_RESULT:
            return ""


def _result(part: Part, most: int) -> str:
    notes = [_media(inner, most) for inner in part.parts if inner.kind is Kind.MEDIA]
    text = _short(part.text, most, is_error=part.is_error)
    head = "[failed result]" if part.is_error else "[result]"
    return "\n".join(filter(None, (f"{head} {text or 'empty'}", *notes)))


def _media(part: Part, most: int) -> str:
    media = part.media
    if media is None:
        return "[media left out]"
    if text := document_text(media):
        return f"[{media.type}] {_short(text, most, is_error=False)}"
    address = media.reference.strip()
    is_address = 0 < len(address) <= _LONGEST_ADDRESS and address[:5].lower() != "data:"
    return f"[{media.type} left out{f' at {address}' if is_address else ''}]"


def _short(text: str, most: int, *, is_error: bool) -> str:
    if not most:
        return text
    return clip.preview(text, clip.limit_bytes(most), is_error=is_error) or text
