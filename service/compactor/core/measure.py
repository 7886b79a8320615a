"""How many input tokens a piece of a request costs, in the way of counting that fits the request's model.

A `Counting` is one such way: what text costs, what media cost, and the fixed costs around them. The whole request is
`request_base` + `system_tokens` of each system block + `tool_tokens` of each tool + `message_tokens` of each message;
no part's count depends on another part, so counts can be kept per part, and adding a part can only raise the sum.

The heuristic prices every byte by its class, and the places where a run of one class begins: words, capitals, humps of
camel case, digits, punctuation, line ends (`core.weights` has the figures and how far off they are). A loop over bytes
would do 2 MB a second in Python, so the work is done by three primitives of C speed: `bytes.translate` looks prices
up, Adler-32 with a zero seed sums bytes in its low half, and the beginnings of runs are found in an integer as long as
the text, in which every byte holds the bits of its class and `x ^ (x & x << 8)` leaves those that the byte before it
lacks.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from math import ceil

from compactor.core.families import Costs, family_of
from compactor.core.media import MediaRule, document_text, media_tokens
from compactor.core.weights import WEIGHTS, Vocabulary, Weights
from compactor.model import Content, CountSource, Format, Kind, Part

Count = Callable[[str], int]
"""Tokens of a text."""


@dataclass(frozen=True, slots=True)
class Counting:
    """One way of counting.

    `name` stands for everything in it, so that a count can be kept under it. `margin` is how far below the truth the
    count of a request may lie, as a multiplier (95th percentile; 1.0 is exact). The texts of a message are counted as
    one, with `separator` between them; where it is None, each by itself.
    """

    name: str
    source: CountSource
    margin: float
    text: Count
    costs: Costs
    media: MediaRule
    separator: str | None = "\n"


def heuristic(model: str, format: Format) -> Counting:
    """Counts by byte classes. Knows every model: one it has never heard of counts in the dearest vocabulary."""
    family = family_of(model, format)
    return Counting(
        name=f"heuristic/{family.name}",
        source=CountSource.HEURISTIC,
        margin=1.10,
        text=_by_class(family.vocabulary, family.scale),
        costs=family.costs,
        media=family.media,
    )


def simple(characters_per_token: float, model: str, format: Format) -> Counting:
    """Counts characters / `characters_per_token`, rounded up for each message, block and tool; media as always."""
    family = family_of(model, format)

    def count(text: str) -> int:
        return ceil(len(text) / characters_per_token)

    return Counting(
        name=f"simple/{characters_per_token!r}/{family.name}",
        source=CountSource.HEURISTIC,
        margin=1.0,
        text=count,
        costs=Costs(),
        media=family.media,
        separator="",
    )


def request_base(counting: Counting, tool_count: int) -> int:
    """What a request costs before its first block, with the hidden prompt that tools bring along."""
    return counting.costs.base + (counting.costs.tools if tool_count else 0)


def system_tokens(content: Content, counting: Counting) -> int:
    """Tokens of a system block, media included."""
    tokens, _ = _tokens(content.parts, counting)
    return counting.costs.system + tokens


def tool_tokens(json_text: str, counting: Counting) -> int:
    """Tokens of a tool definition, given as it is serialised in the request."""
    return counting.costs.tool + counting.text(json_text)


def message_tokens(content: Content, counting: Counting) -> tuple[int, int]:
    """Tokens of a message, media included, and how many of them are media."""
    tokens, media = _tokens(content.parts, counting)
    return counting.costs.message + tokens, media


def value_size(text: str) -> int:
    """UTF-8 bytes of a value. Clip limits are stated in tokens of four bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _tokens(parts: Iterable[Part], counting: Counting) -> tuple[int, int]:
    costs = counting.costs
    texts: list[str] = []
    tokens = media = hidden = 0
    for part in parts:
        tokens += costs.block
        if part.kind is _THINKING and part.weight:
            # A signature holds the reasoning once more, encrypted: a provider that counts one does not count the other.
            tokens += max(counting.text(part.text), _hidden(part.weight, costs))
            continue
        if part.kind in _USES:
            tokens += costs.tool_use
        elif part.kind in _RESULTS:
            tokens += costs.tool_result
        if part.name:
            texts.append(part.name)
        if part.text:
            texts.append(part.text)
        tokens += costs.block * len(part.parts)  # their texts are in the text of the result
        for inner in (part, *part.parts):
            if inner.media is not None:
                media += media_tokens(inner.media, counting.media)
                if text := document_text(inner.media):
                    texts.append(text)
            hidden += inner.weight
    if counting.separator is not None:
        tokens += counting.text(counting.separator.join(texts))
    else:
        tokens += sum(map(counting.text, texts))
    return tokens + _hidden(hidden, costs) + media, media


def _hidden(size: int, costs: Costs) -> int:
    return -(-size * costs.hidden_percent // 100)


_THINKING = Kind.THINKING
_USES = frozenset({Kind.TOOL_USE, Kind.SERVER_TOOL_USE})
_RESULTS = frozenset({Kind.TOOL_RESULT, Kind.SERVER_TOOL_RESULT})


# One bit for each class in which runs begin. A capital also has the bit of lower case: a lower-case letter after it
# goes on with its word, while a capital after a lower-case letter is a hump.
_LOWER, _UPPER, _DIGIT, _PUNCTUATION, _SPACE, _NEWLINE, _NON_ASCII = 1, 2, 4, 8, 16, 32, 64
_WINDOW = 65_536
# Adler's sum wraps around at 65,521. Bytes cost 100 at most on average, since a dearer character has two bytes;
# beginnings cost less than 120, since after a dear one comes a cheap one or none. 512 of either stay below.
_SUMMAND = 512


def _class_bits() -> bytes:
    bits = bytearray(256)
    for code in range(256):
        character = chr(code)
        if code >= 0x80:
            bits[code] = _NON_ASCII
        elif character in "\t\r\n":
            bits[code] = _NEWLINE
        elif character == " ":
            bits[code] = _SPACE
        elif character.islower():
            bits[code] = _LOWER
        elif character.isupper():
            bits[code] = _LOWER | _UPPER
        elif character.isdigit():
            bits[code] = _DIGIT
        elif character.isprintable():
            bits[code] = _PUNCTUATION
    return bytes(bits)


_CLASS_BITS = _class_bits()


def _byte_prices(weights: Weights) -> bytes:
    """The price of each byte by itself. Text outside ASCII pays at its first byte, which tells the script."""
    prices = bytearray([weights.continuation] * 256)
    by_bits = {
        0: weights.control,
        _LOWER: weights.lower,
        _LOWER | _UPPER: weights.upper,
        _DIGIT: weights.digit,
        _PUNCTUATION: weights.punctuation,
        _SPACE: weights.space,
        _NEWLINE: weights.newline,
    }
    for code in range(0x80):
        prices[code] = by_bits[_CLASS_BITS[code]]
    prices[ord("\t")] = weights.tab
    for first, last, price in (
        (0xC0, 0xCD, weights.latin),
        (0xCE, 0xCF, weights.greek),
        (0xD0, 0xD3, weights.cyrillic),
        (0xD4, 0xDF, weights.hebrew_arabic),
        (0xE0, 0xE0, weights.indic_thai),
        (0xE1, 0xE1, weights.georgian_ethiopic),
        (0xE2, 0xE2, weights.symbol),
        (0xE3, 0xE3, weights.kana),
        (0xE4, 0xE9, weights.han),
        (0xEA, 0xED, weights.hangul),
        (0xEE, 0xEF, weights.compatibility),
        (0xF0, 0xFF, weights.emoji),
    ):
        prices[first : last + 1] = bytes([price]) * (last + 1 - first)
    return bytes(prices)


def _start_prices(weights: Weights) -> bytes:
    """The price of beginning a run, by the bits that are new at a byte."""
    prices = bytearray(256)
    prices[_LOWER] = weights.starts_lower_word
    prices[_LOWER | _UPPER] = weights.starts_upper_word
    prices[_UPPER] = weights.starts_camel_hump
    prices[_DIGIT] = weights.starts_digits
    prices[_PUNCTUATION] = weights.starts_punctuation
    prices[_SPACE] = weights.starts_spaces
    prices[_NEWLINE] = weights.starts_newlines
    prices[_NON_ASCII] = weights.starts_non_ascii
    return bytes(prices)


@cache
def _by_class(vocabulary: Vocabulary, scale: int) -> Count:
    weights = WEIGHTS[vocabulary]
    byte_prices, start_prices, class_bits = _byte_prices(weights), _start_prices(weights), _CLASS_BITS
    adler32, from_bytes = zlib.adler32, int.from_bytes

    def count(text: str) -> int:
        data = text.encode("utf-8", "surrogatepass")
        size = len(data)
        if size <= _SUMMAND:
            bits = from_bytes(data.translate(class_bits), "little")
            starts = (bits ^ (bits & bits << 8)).to_bytes(size, "little")
            hundredths = (adler32(data.translate(byte_prices), 0) & 0xFFFF) + (
                adler32(starts.translate(start_prices), 0) & 0xFFFF
            )
        else:
            hundredths = _sum(data.translate(byte_prices))
            before = 0
            for offset in range(0, size, _WINDOW):
                window = data[offset : offset + _WINDOW].translate(class_bits)
                bits = from_bytes(window, "little")
                starts = (bits ^ (bits & (bits << 8 | before))).to_bytes(len(window), "little")
                before = window[-1]
                hundredths += _sum(starts.translate(start_prices))
        return -(-hundredths * scale // 10_000)

    return count


def _sum(values: bytes) -> int:
    adler32 = zlib.adler32
    return sum([adler32(values[at : at + _SUMMAND], 0) & 0xFFFF for at in range(0, len(values), _SUMMAND)])
