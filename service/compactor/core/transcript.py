"""Evicted messages as Markdown: what a person or an agent finds when it opens the history."""

from __future__ import annotations

import binascii
import hashlib
import json
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator

from compactor.model import Content, Kind, Media, Part

MASKED = "Credentials are masked: where one stood, its kind stands, and a number by which it is known again.\n\n"
"""Stands before messages that are not shown as they were."""


def markdown(messages: Iterable[tuple[int, Content]]) -> str:
    """The messages as Markdown, each with its raw index: one heading of level 2 a message, every text in a fence.

    Texts are as they were, save that half of a surrogate pair, which UTF-8 cannot hold, becomes its JSON escape.
    Reasoning is left out, media and what only the provider can read become a note.
    """
    text = "".join(piece for index, content in messages for piece in _message(index, content))
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def _message(index: int, content: Content) -> Iterator[str]:
    yield f"## Message {index}: {content.role.value}\n\n"
    if not content.parts:
        yield "*no content*\n\n"
    for part in content.parts:
        yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    match part.kind:
        case Kind.TEXT:
            yield _fenced(part.text)
        case Kind.THINKING:
            yield f"*reasoning left out: {len(part.text)} characters{_sealed(part)}*\n\n"
        case Kind.TOOL_USE | Kind.SERVER_TOOL_USE:
            arguments = "" if part.text else ", no arguments"
            yield f"Tool use {label(part.name)}, id {label(part.id)}{arguments}{_sealed(part)}\n\n"
            yield from _arguments(part.text)
        case Kind.TOOL_RESULT | Kind.SERVER_TOOL_RESULT:
            error = ", is an error" if part.is_error else ""
            empty = "" if part.text or part.parts else ", empty"
            yield f"Tool result, id {label(part.id)}{error}{empty}{_sealed(part)}\n\n"
            yield from _result(part)
        case Kind.MEDIA:
            yield _media(part.media or Media("media"))
            yield _fenced_if_any(part.text)
        case Kind.OPAQUE:
            yield f"*block {label(part.name)}{_sealed(part)}*\n\n"
            yield _fenced_if_any(part.text)


def _arguments(text: str) -> Iterator[str]:
    r"""The JSON text as it stands, but strings that are spelled with escapes stand under it as they read.

    So what a tool wrote to a file can be searched line by line, and is found however its caller spelled it:
    `{"path": "a.py", "content": "x\ny"}` becomes `{"path": "a.py", "content": <text 1>}` and a block of two lines.
    """
    if "\\" not in text or not _is_object(text):
        yield _fenced_if_any(text)
        return
    shown: list[str] = []

    def numbered(found: re.Match[str]) -> str:
        string, colon = found.groups()
        if colon or "\\" not in string:
            return found[0]
        shown.append(json.loads(string))
        return f"<text {len(shown)}>"

    yield _fenced(_STRING.sub(numbered, text))
    for number, string in enumerate(shown, start=1):
        yield f"Text {number}:\n\n{_fenced(string)}"


_STRING = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?')


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _result(part: Part) -> Iterator[str]:
    if not any(inner.text for inner in part.parts):
        yield _fenced_if_any(part.text)
    for inner in part.parts:
        yield from _part(inner)


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += fence
    language = "json" if text[:1] in ("{", "[") else "text"
    return f"{fence}{language}\n{text}\n{fence}\n\n"


def _fenced_if_any(text: str) -> str:
    return _fenced(text) if text else ""


def _sealed(part: Part) -> str:
    return f", {part.weight} bytes that only the provider can read" if part.weight else ""


def _media(media: Media) -> str:
    facts = [label(media.media_type)] if media.media_type else []
    if media.data:
        data, spelling = _media_bytes(media.data)
        facts += [f"{len(data)} bytes{spelling}", f"SHA-256 {hashlib.sha256(data).hexdigest()}"]
    if media.reference.startswith("data:"):
        data = media.reference.encode(errors="backslashreplace")
        facts += [f"data URL of {len(data)} bytes", f"SHA-256 {hashlib.sha256(data).hexdigest()}"]
    elif media.reference:
        facts.append(f"at {label(media.reference)}")
    return f"*{_PLAIN.sub('', media.type) or 'media'} left out: {', '.join(facts) or 'no data'}*\n\n"


def _media_bytes(data: str) -> tuple[bytes, str]:
    try:
        return b64decode("".join(data.split()), validate=True), ""
    except (binascii.Error, ValueError):
        return data.encode(errors="backslashreplace"), " that are not base64"


_PLAIN = re.compile(r"[^A-Za-z_]")


def label(text: str) -> str:
    r"""A name or id as a code span: letters that could end the span or its line become JSON escapes.

    >>> label("read_file"), label("of<two>")
    ('`read_file`', '`of\\u003ctwo\\u003e`')
    """
    if _NAME.fullmatch(text):
        return f"`{text}`"
    return f"`{_UNSAFE.sub(_escaped, json.dumps(text)[1:-1]) or ' '}`"


def _escaped(letter: re.Match[str]) -> str:
    return f"\\u{ord(letter[0]):04x}"


_NAME = re.compile(r"[\w./:@+?=&%#~,;-]{1,2000}", re.ASCII)
_UNSAFE = re.compile(r"[`<>\x7f]")
