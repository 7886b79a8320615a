"""What counts as an identifier, and when a text holds one. Independent of the service's own extractors on purpose.

An identifier is what a later message may have to name exactly and cannot guess: a URL, a path, a file name, a hash or
UUID, an id, a name of code of more than one part, a number of at least four digits. A text holds an identifier when it
stands in it letter by letter and is no part of a longer word.

What can be guessed names nothing: years, modes of files, algorithms, `/tmp`, the closing tags of markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bench.fidelity.sessions import Call

FIRST_CHARACTERS = 400
"""Of each argument: whole files are written by calls, and what stands deep in them is no reference."""

KINDS = ("file", "path", "url", "code name", "id", "hash", "number")

_ENDINGS = (
    "py|go|tsx?|jsx?|mjs|jsonl?|md|txt|sh|ya?ml|toml|rs|java|html|css|sql|cfg|ini|lock|mod|sum|log|csv|xml|proto|c|h"
    "|cpp|rb|pl"
)
_PATTERN = re.compile(
    r"(?P<url>https?://[^\s\"'<>)\]}`\\]+)"
    r"|(?P<path>(?<![</\w])(?!//)(?:[\w.@~+-]*/)+[\w.@+-]+)"
    rf"|(?P<file>(?<![\w.])[\w-]+(?:\.[\w-]+)*\.(?:{_ENDINGS})\b)"
    r"|(?P<hash>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}\b)"
    r"|(?P<id>\b[A-Z]{2,}-\d+\b|\b(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{6,}\b)"
    r"|(?P<code_name>\b[A-Za-z]+_[A-Za-z0-9_]+\b|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b)"
    r"|(?P<number>(?<![\w.])\d{4,}\b)",
    re.ASCII,
)
_FILE = re.compile(rf".*\.(?:{_ENDINGS})", re.ASCII)
_NAMES_SOMETHING = re.compile(
    r"(?:id|no|num|number|port|amount|price|zip|code|pr|issue|order|account)s?$", re.IGNORECASE
)
_SAYS_HOW = re.compile(r"(?:^|_)(?:status|state|mode|type|kind|priority|level)$", re.IGNORECASE)
_ESCAPE = re.compile(r"\\[nrt]")
_EDGE = ".,:;-"
_DULL = re.compile(r"/dev/\w+|/tmp|[./~+-]*|.{1,3}|(?:19|20)[0-9]{2}|0[0-7]{3}|(?:SHA|MD|UTF|AES|ISO)-?[0-9]+")


def identifiers(text: str) -> Iterator[tuple[str, str]]:
    """The identifiers of a text in order, each with its kind."""
    for found in _PATTERN.finditer(text):
        kind = (found.lastgroup or "").replace("_", " ")
        name = found[0].rstrip(_EDGE)
        if not _DULL.fullmatch(name):
            yield name, "file" if kind == "path" and _FILE.fullmatch(name) else kind


def used(calls: Iterable[Call]) -> dict[str, str]:
    """The identifiers in the arguments of calls, each with its kind, in order.

    A number by itself counts only where its argument says that it names something: no offset, no timeout. Arguments
    that say how and not what, a mode or a status, name nothing.
    """
    found: dict[str, str] = {}
    for call in calls:
        for name, value in call.arguments:
            if _NAMES_SOMETHING.search(name) if not isinstance(value, str) else not _SAYS_HOW.search(name):
                for text, kind in identifiers(_ESCAPE.sub(" ", str(value)[:FIRST_CHARACTERS])):
                    found.setdefault(text, kind)
    return found


def holds(text: str, name: str) -> bool:
    """Whether a name stands in a text by itself.

    >>> holds("see data.py and b.go", "a.py"), holds("see src/b.go:12", "b.go")
    (False, True)
    """
    at = text.find(name)
    while at >= 0:
        stop = at + len(name)
        if not (_goes_on(name[:1], text[max(0, at - 1) : at]) or _goes_on(name[-1:], text[stop : stop + 1])):
            return True
        at = text.find(name, at + 1)
    return False


def _goes_on(edge: str, beside: str) -> bool:
    return _is_word(edge) and _is_word(beside)


def _is_word(letter: str) -> bool:
    return letter.isascii() and (letter.isalnum() or letter == "_")
