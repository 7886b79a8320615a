"""Masks in the place of credentials: which secret has which mask, in everything that is made of the same messages.

The secrets of all messages are found once, in their order, and numbered by where they first stand. The raw log only
grows, so a secret has the same mask in each segment of the history and in each summary, on every replica. What cannot
be taken for anything else is masked wherever it stands, also where nothing around it says what it is; a word that is
somebody's password only where it stands as one.

Messages are masked before anything is made of them: what is cut later cannot be a half of a secret. A mask holds no
part of what it stands for, and is no credential itself, so it passes through later compactions as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from compactor.core.credentials import GENERIC, SECRET, Found
from compactor.core.media import document_text
from compactor.model import Content, Kind, Media, Part

Find = Callable[[str], Sequence[Found]]
"""Finds the credentials in a text, none over another."""

MOST_SPREAD = 256
"""Secrets that are also looked for where nothing says what they are; each costs a search."""

_LEAST_SPREAD, _LONG = 8, 16
_CALLS = (Kind.TOOL_USE, Kind.SERVER_TOOL_USE)
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


class Masks:
    """The masks of the secrets of some messages, and of those that a text has besides."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._masks: dict[str, str] = {}
        self._spread: list[str] = []
        self._looked: dict[str, Sequence[Found]] = {}

    def learn(self, contents: Iterable[Content]) -> None:
        """Finds and numbers the secrets of messages, oldest first."""
        for content in contents:
            for part in _leaves(content.parts):
                self._learn_part(part)
        # A longer one first: it may hold a shorter one.
        known = [secret for secret in self._masks if _is_unmistakable(secret)][:MOST_SPREAD]
        self._spread = sorted(known, key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text with its credentials masked. Those that no message had are numbered on, in this text alone."""
        found = [*self._look(text), *self._known(text)]
        if not found:
            return text
        masks = dict(self._masks)
        pieces: list[str] = []
        at = 0
        for start, stop, kind in joined(found):
            pieces += [text[at:start], _mask(text[start:stop], kind, masks)]
            at = stop
        return "".join([*pieces, text[at:]])

    def content(self, content: Content) -> Content:
        """The message with its credentials masked; reasoning, which never leaves, is left as it is."""
        parts = tuple(map(self._part, content.parts))
        return content if parts == content.parts else content._replace(parts=parts)

    def _learn_part(self, part: Part) -> None:
        text = part.text
        if part.kind in _CALLS and "\\" in text:
            for spelled in _STRING.findall(text):
                self._learn_text(_decoded(spelled))
            text = _STRING.sub(self._string, text)
        self._learn_text(text)
        if part.media:
            self._learn_text(_address(part.media))
            self._learn_text(document_text(part.media) or "")

    def _learn_text(self, text: str) -> None:
        for found in self._look(text):
            _mask(text[found.start : found.stop], found.kind, self._masks)

    def _look(self, text: str) -> Sequence[Found]:
        found = self._looked.get(text)
        if found is None:
            found = self._looked[text] = self._find(text) if text else ()
        return found

    def _known(self, text: str) -> list[Found]:
        """Where secrets of the messages stand in a text."""
        found: list[Found] = []
        for secret in self._spread:
            at = text.find(secret)
            while at >= 0:
                found.append(Found(at, at + len(secret), ""))
                at = text.find(secret, at + len(secret))
        return found

    def _part(self, part: Part) -> Part:
        if part.kind is Kind.THINKING:
            return part
        inner = tuple(map(self._part, part.parts))
        media = self._media(part.media) if part.media else None
        text = self._arguments(part.text) if part.kind in _CALLS else self.text(part.text)
        if (text, inner, media) == (part.text, part.parts, part.media):
            return part
        return part._replace(text=text, parts=inner, media=media)

    def _media(self, media: Media) -> Media:
        data = self.text(media.data) if document_text(media) else media.data
        return media._replace(data=data, reference=self.text(_address(media)) or media.reference)

    def _arguments(self, text: str) -> str:
        """JSON text with the credentials in it masked, however its strings are spelled; it stays what it was."""
        return self.text(_STRING.sub(self._string, text) if "\\" in text else text)

    def _string(self, spelled: re.Match[str]) -> str:
        value = _decoded(spelled[0])
        masked = self.text(value)
        return spelled[0] if masked == value else json.dumps(masked, ensure_ascii=False)


def joined(found: Iterable[Found]) -> list[Found]:
    """Those that overlap as one, of the kind of the one that begins first, of those of the longest, and of those of one
    that an issuer's format tells.
    """
    made: list[Found] = []
    for start, stop, kind in sorted(found, key=_rank):
        if made and start < made[-1].stop:
            last = made[-1]
            made[-1] = Found(last.start, max(last.stop, stop), last.kind or kind)
        else:
            made.append(Found(start, stop, kind))
    return made


def _rank(found: Found) -> tuple[int, int, bool, bool, str]:
    return found.start, -found.stop, not found.kind, found.kind in GENERIC, found.kind


def _mask(secret: str, kind: str, masks: dict[str, str]) -> str:
    """The mask of a secret among these, made if there is none; its kind is that of where it was first found."""
    return masks.setdefault(secret, f"[masked: {kind or SECRET} {len(masks) + 1}]")


def _is_unmistakable(secret: str) -> bool:
    """Whether a secret can be looked for anywhere: no word, no number that could be something else."""
    if len(secret) < _LEAST_SPREAD or secret.isalpha() or secret.isdigit():
        return False
    return len(secret) >= _LONG or any(map(str.isdigit, secret))


def _decoded(spelled: str) -> str:
    """A string of JSON as it reads; empty where it is spelled as it reads, or is none."""
    try:
        return str(json.loads(spelled)) if "\\" in spelled else ""
    except ValueError:
        return ""


def _address(media: Media) -> str:
    """Where a medium is, if that is said in an address."""
    return "" if media.reference.startswith("data:") else media.reference


def _leaves(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts that hold text of their own, in order, those inside others included."""
    for part in parts:
        if part.parts:
            yield from _leaves(part.parts)
        elif part.kind is not Kind.THINKING:
            yield part
