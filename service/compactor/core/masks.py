"""Masks in the place of credentials: which secret has which mask, in everything that is made of the same messages.

The secrets of all messages are found once, in their order, and numbered by where they first stand. The raw log only
grows, so a secret has the same mask in each segment of the history and in each summary, on every replica. Masks that
the first message or a summary brings along are another session's; ours are numbered behind them. A secret that no
message has, as a caller's wish or a model's words may, has a mask without a number.

What cannot be taken for anything else is masked wherever it stands, also where nothing around it says what it is, and
in the common spellings: as in JSON, in a URL, in base64. A word that is somebody's password is masked only where it
stands as one.

Messages are masked before anything is made of them: what is cut later cannot be a half of a secret. Blocks of text that
stand side by side are looked at as one, since a secret may go on from one to the next. A mask holds no part of what it
stands for, and is no credential itself, so it passes through later compactions as it is.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import quote

import ahocorasick

from compactor.core.credentials import GENERIC, SECRET, Found
from compactor.core.media import document_text
from compactor.model import Content, Kind, Media, Part

Find = Callable[[str], Sequence[Found]]
"""Finds the credentials in a text, none over another."""

_LEAST_SPREAD, _LONG = 8, 16
_LONGEST_SPELLED = 512
_CALLS = (Kind.TOOL_USE, Kind.SERVER_TOOL_USE)
_LINE = re.compile(r"[A-Za-z0-9+/]{48,}")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NUMBER = re.compile(r"\[masked: [^\[\]\n]{1,64} ([0-9]{1,9})\]", re.ASCII)


class Masks:
    """The masks of the secrets of some messages, and of those that a text has besides."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._behind = 0
        self._masks: dict[str, str] = {}
        self._spelled: dict[str, str] = {}
        self._search = ahocorasick.Automaton()
        self._looked: dict[str, Sequence[Found]] = {}

    def learn(self, contents: Sequence[Content], previous: str = "") -> None:
        """Finds and numbers the secrets of messages, oldest first, behind the masks that a summary of others has."""
        first = [text for run in _runs(contents[0].parts) for part in run for text in _texts(part)] if contents else []
        self._behind = max(map(_highest, (previous, *first)), default=0)
        for content in contents:
            for run in _runs(content.parts):
                self._learn_run(run)
        for secret in filter(_is_unmistakable, self._masks):
            for spelling in _spellings(secret):
                if spelling not in self._spelled:
                    self._spelled[spelling] = secret
                    self._search.add_word(spelling, len(spelling))
        self._search.make_automaton()

    def text(self, text: str) -> str:
        """The text with its credentials masked."""
        return self._side_by_side([text])[0]

    def content(self, content: Content) -> Content:
        """The message with its credentials masked; reasoning, which never leaves, is left as it is."""
        parts = self._parts(content.parts)
        return content if parts == content.parts else content._replace(parts=parts)

    def _learn_run(self, run: Sequence[Part]) -> None:
        if len(run) > 1:
            self._learn_found([part.text for part in run])
            return
        for text in _texts(run[0]):
            if run[0].kind in _CALLS and "\\" in text:
                plain = _respelled(text)
                for spelled in _STRING.findall(plain):
                    self._learn_found([_decoded(spelled)])
                self._learn_found([_STRING.sub(self._string, plain)])
            else:
                self._learn_found([text])

    def _learn_found(self, texts: Sequence[str]) -> None:
        whole = "".join(texts)
        for start, stop, kind in joined(self._looked_for(texts)):
            number = self._behind + len(self._masks) + 1
            self._masks.setdefault(whole[start:stop], f"[masked: {kind or SECRET} {number}]")

    def _looked_for(self, texts: Sequence[str]) -> list[Found]:
        """What is found in texts that stand side by side, as places in the text that they are together."""
        found = [*self._look("".join(texts))]
        at = 0
        for text in texts if len(texts) > 1 else ():
            found += [Found(at + one.start, at + one.stop, one.kind) for one in self._look(text)]
            at += len(text)
        return found

    def _look(self, text: str) -> Sequence[Found]:
        found = self._looked.get(text)
        if found is None:
            found = self._looked[text] = self._find(text) if text else ()
        return found

    def _known(self, text: str) -> Iterator[Found]:
        """Where secrets of the messages stand in a text, in any spelling."""
        if self._search.kind == ahocorasick.AHOCORASICK and text:
            for last, length in self._search.iter(text):
                yield Found(last + 1 - length, last + 1, "")

    def _side_by_side(self, texts: Sequence[str]) -> list[str]:
        """Texts with their credentials masked; where one goes on from one text to the next, both have its mask."""
        whole = "".join(texts)
        places = joined([*self._looked_for(texts), *self._known(whole)])
        if not places:
            return list(texts)
        made: list[str] = []
        begin = 0
        for text in texts:
            end, at = begin + len(text), begin
            pieces: list[str] = []
            for start, stop, kind in places:
                if start < end and stop > begin:
                    pieces += [whole[at : max(start, begin)], self._mask(whole[start:stop], kind)]
                    at = min(stop, end)
            made.append("".join([*pieces, whole[at:end]]))
            begin = end
        return made

    def _mask(self, found: str, kind: str) -> str:
        """The mask of a secret; its kind is that of where it was first found."""
        return self._masks.get(self._spelled.get(found, found)) or f"[masked: {kind or SECRET}]"

    def _parts(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        made: list[Part] = []
        for run in _siblings(parts):
            if len(run) == 1:
                made.append(self._part(run[0]))
            else:
                texts = self._side_by_side([part.text for part in run])
                made += [part._replace(text=text) for part, text in zip(run, texts, strict=True)]
        return tuple(made)

    def _part(self, part: Part) -> Part:
        if part.kind is Kind.THINKING:
            return part
        if part.parts:
            inner = self._parts(part.parts)
            return part if inner == part.parts else part._replace(text=_text_of(inner), parts=inner)
        media = self._media(part.media) if part.media else None
        text = self._arguments(part.text) if part.kind in _CALLS else self.text(part.text)
        return part if (text, media) == (part.text, part.media) else part._replace(text=text, media=media)

    def _media(self, media: Media) -> Media:
        data = self.text(media.data) if document_text(media) else media.data
        return media._replace(data=data, reference=self.text(_address(media)) or media.reference)

    def _arguments(self, text: str) -> str:
        """JSON text with the credentials in it masked, however its strings are spelled; it stays what it was."""
        if "\\" not in text:
            return self.text(text)
        plain = _respelled(text)
        masked = self.text(_STRING.sub(self._string, plain))
        return text if masked == plain else masked

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


def _highest(text: str) -> int:
    """The highest number that a mask in a text has."""
    return max(map(int, _NUMBER.findall(text)), default=0) if "[masked: " in text else 0


def _is_unmistakable(secret: str) -> bool:
    """Whether a secret can be looked for anywhere: no word, no number that could be something else."""
    if len(secret) < _LEAST_SPREAD or secret.isalpha() or secret.isdigit():
        return False
    return len(secret) >= _LONG or any(map(str.isdigit, secret))


def _spellings(secret: str) -> Iterator[str]:
    """A secret as it reads, in JSON, in a URL, and in base64 of a text that has it; the lines of a long one."""
    yield secret
    if len(secret) > _LONGEST_SPELLED:
        yield from _LINE.findall(secret)
        return
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    data = secret.encode(errors="surrogatepass")
    yield quote(data, safe="")
    for before in range(3):
        # The letters at either end hold bits of what stands beside the secret.
        encoded = b64encode(bytes(before) + data).decode().rstrip("=")
        first, last = (0, 2, 3)[before], len(encoded) - bool((before + len(data)) % 3)
        yield encoded[first:last]
        yield encoded[first:last].replace("+", "-").replace("/", "_")


def _respelled(text: str) -> str:
    """JSON text with the letters that its strings spell as numbers, so that a name is seen for what it is."""
    return _STRING.sub(_plainly, text) if "\\u" in text else text


def _plainly(spelled: re.Match[str]) -> str:
    value = _decoded(spelled[0]) if "\\u" in spelled[0] else ""
    plain = json.dumps(value, ensure_ascii=False)
    return plain if value and _is_whole(plain) else spelled[0]


def _is_whole(text: str) -> bool:
    """Whether no half of a surrogate pair is in a text."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _decoded(spelled: str) -> str:
    """A string of JSON as it reads; empty where it is spelled as it reads, or is none."""
    try:
        return str(json.loads(spelled)) if "\\" in spelled else ""
    except ValueError:
        return ""


def _text_of(parts: Iterable[Part]) -> str:
    """The text of a part that has parts."""
    return "\n".join(part.text for part in parts if part.text)


def _address(media: Media) -> str:
    """Where a medium is, if that is said in an address."""
    return "" if media.reference.startswith("data:") else media.reference


def _texts(part: Part) -> Iterator[str]:
    """The texts of a part that has no parts."""
    if part.kind is not Kind.THINKING:
        yield part.text
    if part.media:
        yield _address(part.media)
        yield document_text(part.media) or ""


def _siblings(parts: Iterable[Part]) -> list[list[Part]]:
    """The parts in order; those of text that stand side by side are together."""
    runs: list[list[Part]] = []
    for part in parts:
        if runs and part.kind is Kind.TEXT and runs[-1][-1].kind is Kind.TEXT:
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _runs(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """The same of the parts that have no parts themselves, those inside others included."""
    for run in _siblings(parts):
        if run[0].parts:
            yield from _runs(run[0].parts)
        else:
            yield run
