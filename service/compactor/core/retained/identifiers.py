"""Identifiers worth keeping: what a later message may have to name exactly and nobody can guess.

Paths, URLs, ids, hashes, versions, amounts, dates, codes. One pattern goes over all text: it begins at a digit or a
slash, so that prose costs a scan and no more, takes what follows, and what stands before is added by looking at the
text backwards. What people and the assistant write, and short arguments, are also searched for names that have
neither: constants, file names, addresses, words in backticks. A long text gives its head and its tail, where ids and
results stand.

Names of code are words of several parts. They are found in the head and the tail of every text.

Worth: the need for a thing falls as a power of the time since it was seen, and its sightings add up; so it is for
people and in the news (Anderson and Schooler, Reflections of the environment in memory, 1991), and so it was in the
sessions that this was measured on. Each sighting counts by its place, the whole by what the name looks like and by its
length: of two that are worth the same the shorter one is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from compactor.core.retained import wording

MOST_IDENTIFIERS = 1_000
MOST_IN_MESSAGE = 96
LONGEST = 240
LONGEST_SAID = 400
WINDOW = 4_096
WINDOW_NAMED = 6_144
WINDOW_VALUE = 3_072  # what is written to files is found there
_SHORTEST_SYMBOL = 4

IN_RESULT, IN_WORDS, IN_FAILURE, IN_REQUEST, IN_ARGUMENTS = 1, 2, 2, 3, 4
"""What the place of a sighting says for it."""

SOON, FALL = 3.0, 0.7
"""The worth of a sighting falls with its age in messages, `(1 + age / SOON) ** -FALL`: measured on real sessions."""

_FILE = re.compile(
    r".+\.(?:py|go|tsx?|jsx?|json|md|txt|sh|ya?ml|toml|rs|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|html|css|sql|proto|csv"
    r"|xml|lock|cfg|ini|env)"
)
_LETTERS = "À-ɏЀ-ӿ"  # of alphabets whose words stand between blanks; others would run on into the prose
_TOKEN = re.compile(rf"[\w./~@${_LETTERS}][\w./@~%+${_LETTERS}:-]{{3,239}}", re.ASCII)
_PLACE = re.compile(r"[^:]*(?::[0-9]+)+[.,:;-]*")  # a path with its line, or a time
_AMOUNT = re.compile(r"[$€£¥₩]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DIGIT = re.compile(r"[0-9]")
_JOINTS = re.compile(r"[^A-Za-z0-9_]+")
_ESCAPE = re.compile(r"\\[bntr\"]")  # of JSON, and of patterns that begin at a word
_URL = re.compile(r"://[^\s\"'`<>\\^{}|]{3,400}")
_SCHEME = re.compile(r"[a-zA-Z+]{2,12}", re.ASCII)
_WINDOWS_PATH = re.compile(r"[A-Za-z]:\\{1,2}[\w.-]{1,80}(?:\\{1,2}[\w.-][\w. -]{0,80})*")
_NAME = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}|\b[A-Z][A-Z0-9]{0,40}_[A-Z0-9_]{1,80}\b"
    r"|(?<![\w-])[\w-]{0,64}(?:\.[\w-]{1,64}){0,4}\.[a-z]{1,5}[0-9]?\b(?![\w(.])|[€£¥₩][0-9][0-9.,]{0,20}|[0-9][0-9.,]{0,20}[€£¥₩]"
)
_DULL_NUMBER = re.compile(
    r"[0-9]{1,4}[-,.:/]*|[0-9]{1,6}[-,:/][0-9]{1,5}|[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*|[0-9]+\.(?:[0-9]|[0-9]{3,})"
    r"|[0-9.,]+(?:[A-Za-z]{1,4}|%)|0[xo][0-9a-f]{1,4}|[0-9]{1,3}-[a-z][a-z-]*|[0-9.]{1,4}[a-zA-Z_.]+|[0-9a-f]{6}"
)
_DULL_PATH = re.compile(r"/[A-Za-z0-9_-]{1,20}|/[a-z]{1,12}/|//.*|/dev/[a-z]+")
_DULL_WORD = re.compile(
    r"[a-zA-Z]{1,6}[0-9]{1,2}|(?:sha|SHA|md|MD|u?int|float|utf|UTF|base|aes|AES|rsa|RSA|amd|arm|ipv|iso|ISO|es|python"
    r"|http|HTTP|oauth|x)-?[0-9]{1,5}(?:-[0-9]{1,2})?|[a-z]{1,12}/|[0-9a-f]{6}"
)
_DULL_STARTS = ("--", "application/", "image/", "text/", "audio/", "video/")
_PAIR = re.compile(r"[A-Za-z]+/[A-Za-z]+")  # "and/or" as well as a short path
_HEX = re.compile(r"[0-9a-f]{7,64}", re.ASCII)
_WHOLE = re.compile(r"[\w./:@#~+%$=&?,-]+")
_NAMES_A_NUMBER = re.compile(
    r"(?:^|_|[a-z])(?:ids?|no|number|num|amount|price|total|port|account|pr|issue|order|code|zip|phone)$", re.IGNORECASE
)
_TELLS = re.compile(r"[0-9/.@:A-Z#-]")
_EDGE = ".,:;!?-*_=+()[]{}\"'`"
_LEFT_EDGE = ",:;!?*=+()[]{}\"'`"


class Sighting(NamedTuple):
    """An identifier as a message shows it, and how much the place where it stands says for it."""

    text: str
    weight: int


def scan(text: str, found: dict[str, int], weight: int, *, window: int = WINDOW) -> None:
    """Adds what stands in a text of any length to what was found, at the given weight."""
    if len(text) > window:
        text = wording.ends(text, window)
    if "://" in text:
        text = _take_urls(text, found, weight)
    if "\\" in text:
        text = _ESCAPE.sub(" ", text)
    if "," in text:
        for amount in _AMOUNT.findall(text):
            found.setdefault(amount, weight)
    for names in filter(None, map(_names, dict.fromkeys(_TOKEN.findall(text)))):
        for name in names:
            if weight > found.get(name, 0):
                found[name] = weight


@lru_cache(maxsize=1 << 16)
def _names(token: str) -> tuple[str, ...]:
    """The identifiers in a run of letters: the whole of what has a slash or a digit in it, of others the names of code.

    Most runs are plain words and come again and again, which is why the answers are remembered.
    """
    if token.isalpha() and (token.islower() or token[1:].islower()):
        return ()
    if ":" in token and not _PLACE.fullmatch(token):
        return tuple(dict.fromkeys(name for part in token.split(":") if len(part) > 3 for name in _names(part)))
    bare = token.rstrip(_EDGE).lstrip(_LEFT_EDGE)
    if "/" in bare or _DIGIT.search(bare):
        return (bare,) if 3 < len(bare) <= LONGEST and not _is_dull(bare) else ()
    return _symbols(bare)


def _symbols(word: str) -> tuple[str, ...]:
    """The names of code in a word: a file's whole, else its parts between dots, those that are no plain word."""
    if _FILE.fullmatch(word):
        return (word,)
    parts = (part for part in _JOINTS.split(word) if len(part) >= _SHORTEST_SYMBOL)
    return tuple(part for part in parts if "_" in part.strip("_") or not (part.isupper() or part[1:].islower()))


def scan_named(text: str, found: dict[str, int], weight: int) -> None:
    """Adds the names in a text that people write: constants, file names, addresses, amounts, words in backticks."""
    if len(text) > WINDOW_NAMED:
        text = wording.ends(text, WINDOW_NAMED)
    if "`" in text:
        for name in text.split("`")[1::2]:
            if 3 < len(name) <= 120 and _is_name(name):
                found.setdefault(name, weight)
    if ":\\" in text:
        for path in _WINDOWS_PATH.findall(text):
            found.setdefault(path.rstrip(_EDGE), weight)
    ascii_only = text.isascii()
    if ascii_only and "_" not in text and "@" not in text and text.count(".") <= text.count(". ") + text.endswith("."):
        return
    for word in text.split():
        if "_" in word or "." in word[1:-1] or "@" in word or not (ascii_only or word.isascii()):
            for match in _NAME.findall(word):
                name = match.rstrip(_EDGE).lstrip(_LEFT_EDGE)
                if len(name) > 3 and not _is_dull(name):
                    found.setdefault(name, weight)


def scan_argument(name: str, value: str, found: dict[str, int], weight: int) -> None:
    """Adds an argument of a tool: as a whole where it looks like one identifier, else what stands in it.

    A number is taken only where its name says that it names something; text that an edit replaces is left out.
    """
    if name.startswith("old_") or (value.isdigit() and not _NAMES_A_NUMBER.search(name)):
        return
    if len(value) <= LONGEST and _WHOLE.fullmatch(value):
        token = value.rstrip(_EDGE).lstrip(_LEFT_EDGE)
        if len(token) > 3 and not token.isalpha() and _TELLS.search(token) and not _is_dull(token):
            found[token] = max(found.get(token, 0), weight)
        return
    if len(value) <= LONGEST_SAID:
        scan(value, found, weight)
        scan_named(value, found, weight)
    else:
        scan(value, found, weight, window=WINDOW_VALUE)


def sightings(found: dict[str, int]) -> tuple[Sighting, ...]:
    """What one message shows; of very many those that weigh most, and of equal ones the first and the last."""
    if len(found) > MOST_IN_MESSAGE:
        names = sorted(found, key=lambda name: -found[name])
        keep = set(names[: MOST_IN_MESSAGE // 2]) | set(names[-(MOST_IN_MESSAGE // 2) :])
        found = {name: weight for name, weight in found.items() if name in keep}
    return tuple(map(Sighting._make, found.items()))


def merge(messages: Iterable[tuple[Sighting, ...]], stale: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The identifiers of all messages, oldest first, in the order of their worth, without those that are stale."""
    seen = list(messages)
    scores: dict[str, float] = {}
    for age, sightings in zip(range(len(seen) - 1, -1, -1), seen, strict=True):
        fresh = (1 + age / SOON) ** -FALL
        for text, weight in sightings:
            scores[text] = scores.get(text, 0.0) + weight * fresh
    for text in stale:
        scores.pop(text, None)

    def rank(text: str) -> tuple[float, str]:
        return -scores[text] * _kind(text) / (4 + len(text)), text

    return tuple(sorted(scores, key=rank)[:MOST_IDENTIFIERS])


def _take_urls(text: str, found: dict[str, int], weight: int) -> str:
    """Adds the URLs of a text; returns it without them, so that their paths are not found again."""
    kept: list[str] = []
    position = 0
    backwards = text[::-1]
    for match in _URL.finditer(text):
        start = match.start()
        scheme = _SCHEME.match(backwards, len(text) - start)
        if not scheme:
            continue
        begin = start - (scheme.end() - scheme.start())
        if begin and text[begin - 1] == "\\":  # the letter of an escape
            begin += 1
        url = text[begin : match.end()]
        if "(" not in url:
            url = url.partition(")")[0]
        url = url.partition("]")[0].rstrip(_EDGE)
        if len(url) <= LONGEST:
            found[url] = max(found.get(url, 0), weight)
        kept.append(text[position:begin])
        position = match.end()
    return " ".join([*kept, text[position:]])


def _is_dull(token: str) -> bool:
    """Whether a token names nothing: short numbers, ranges, times, units, modes, tags, algorithms, elisions."""
    if "..." in token or token.startswith(_DULL_STARTS):
        return True
    if token[0] in "0123456789":
        return bool(_DULL_NUMBER.fullmatch(token))
    if token[0] == "/":
        return len(token) <= 22 and bool(_DULL_PATH.fullmatch(token))
    return len(token) <= 16 and bool(_DULL_WORD.fullmatch(token))


def _is_name(name: str) -> bool:
    """Whether words in backticks name something: no sentence, no bare word."""
    return (
        not name.isalpha()
        and "\n" not in name
        and bool(_TELLS.search(name) or "_" in name)
        and name.count(" ") <= 3
        and not _is_dull(name)
    )


@lru_cache(maxsize=1 << 15)
def _kind(text: str) -> float:
    """What the look of an identifier says for it: an id cannot be guessed or found again, a number says little."""
    if _PAIR.fullmatch(text):
        return 0.7
    has_digit = any(map(str.isdigit, text))
    if text.replace(".", "").replace(",", "").isdigit():
        return 0.85
    if has_digit and _HEX.fullmatch(text.replace("-", "")):
        return 1.2
    return 1.1 if text[0] == "/" or "://" in text or "." in text or (has_digit and not text.islower()) else 1.0
