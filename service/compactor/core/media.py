"""What an image, a document or a recording costs in tokens: by its size, pages or length, never by its base64 text.

A noisy photograph of 1920 by 1080 is 1.4 MB of base64, which as text would be 354,000 tokens; Claude charges 2,691.
Only a bounded head of the payload is ever decoded (and for a document also a bounded tail), so that the price of
pricing does not grow with the payload. What cannot be read there has a flat price, and nothing here raises: a payload
that is broken is for the provider to refuse.

The rules are the providers' own, as documented for their vision models; the flat prices are the largest that one
image costs under the rule, or nearly so.
"""

from __future__ import annotations

import binascii
import io
import re
from dataclasses import dataclass
from itertools import islice
from typing import assert_never

import imagesize

from compactor.model import Media


@dataclass(frozen=True, slots=True)
class Cover:
    """Claude: squares of 28 pixels that cover the image, after the least downscale that meets both ceilings.

    `longest_edge` is in pixels, of the image padded to whole squares; `most` is in squares, which are tokens.
    """

    longest_edge: int
    most: int


@dataclass(frozen=True, slots=True)
class Tiles:
    """OpenAI: `base`, and `tile` for each square of 512 pixels once the image fits 2,048 and its short side 768."""

    base: int
    tile: int


@dataclass(frozen=True, slots=True)
class Patches:
    """OpenAI's small and newer models: squares of 32 pixels, each costing `percent` hundredths of a token.

    The image is scaled down to `most` squares; where the caller asks for high detail, to `most_high`.
    """

    percent: int
    most: int
    most_high: int


@dataclass(frozen=True, slots=True)
class Crops:
    """Gemini 2: `crop` for an image of at most 384 pixels a side, else for each square of 768."""

    crop: int


@dataclass(frozen=True, slots=True)
class Flat:
    """Gemini 3 at its default resolution: every image costs the same."""

    tokens: int


ImageRule = Cover | Tiles | Patches | Crops | Flat


@dataclass(frozen=True, slots=True)
class MediaRule:
    """How a family of models prices media: an image by `image`, or `unknown_image` tokens where its size is unknown."""

    image: ImageRule
    unknown_image: int

    @property
    def page(self) -> int:
        """A page of a document: its text, 3,000 at most as Anthropic says, and an image of the page."""
        return 3_000 + self.unknown_image


# Heads in base64 characters. Sizes stand in the first bytes, except in a JPEG, where a colour profile or a preview may
# come before them.
_HEADS = (256, 4_096)
_JPEG_HEADS = (4_096, 131_072, 1_048_576)
_DOCUMENT_END = 131_072
_LARGEST_SIDE = 32_768  # a header that says more is broken or hostile

_LOW_DETAIL = 85
_BYTES_PER_PAGE = 50_000
_FEWEST_BYTES_PER_PAGE = 32
_AUDIO_TOKENS_PER_SECOND = 32  # Gemini's rate, the highest that is documented
_AUDIO_BYTES_PER_SECOND = 8_000  # 64 kbit/s: little for music, so rather too many seconds than too few


def media_tokens(media: Media, rule: MediaRule) -> int:
    """The price of one image, document or recording in tokens.

    A document whose text stands in the request (`document_text`) costs nothing here: it is counted as the text it is.

    >>> media_tokens(Media("image", reference="https://example.org/a.png"), MediaRule(Cover(1568, 1568), 1568))
    1568
    """
    match media.type:
        case "document":
            return 0 if document_text(media) is not None else _pages(_payload(media)) * rule.page
        case "audio":
            return _audio(_payload(media))
        case _:
            return _image(media, rule)


def document_text(media: Media) -> str | None:
    """The text of a document that is sent as plain text, and None for every other medium.

    A document of no stated type is plain text unless it begins as a PDF does in base64.
    """
    if media.type != "document" or not media.data:
        return None
    is_text = media.media_type.startswith("text/") if media.media_type else not media.data.startswith("JVBERi")
    return media.data if is_text else None


def _image(media: Media, rule: MediaRule) -> int:
    is_low = media.detail == "low"
    if is_low and isinstance(rule.image, Tiles):
        return rule.image.base
    if is_low and isinstance(rule.image, Patches):
        return _LOW_DETAIL
    if isinstance(rule.image, Flat):
        return rule.image.tokens
    size = _size(_payload(media))
    if size is None:
        return rule.unknown_image
    width, height = size
    match rule.image:
        case Cover(longest_edge, most):
            return _cover(width, height, longest_edge // 28, most)
        case Tiles(base, tile):
            return base + tile * _tiles(width, height)
        case Patches(percent, most, most_high):
            ceiling = most_high if media.detail == "high" else most
            return _ceil(min(_squares(width, height, 32), ceiling) * percent, 100)
        case Crops(crop):
            return crop if max(width, height) <= 384 else crop * _squares(width, height, 768)
        case _:
            assert_never(rule.image)


def _cover(width: int, height: int, edge: int, most: int) -> int:
    """Squares that cover the image after the least downscale to `edge` squares a side and `most` in all.

    The number of squares only grows with the scale, and jumps where one side fills its last square. So the largest
    scale that is allowed fills `n` squares exactly along one of the sides: try every n, take the best.

    >>> _cover(1920, 1080, 92, 4784), _cover(1920, 1080, 56, 1568), _cover(3840, 2160, 92, 4784)
    (2691, 1560, 4784)
    """
    across, down = _ceil(width, 28), _ceil(height, 28)
    if across <= edge and down <= edge and across * down <= most:
        return across * down
    best = 1
    for filled in range(1, edge + 1):
        for other in (_ceil(filled * height, width), _ceil(filled * width, height)):
            if other <= edge and filled * other <= most:
                best = max(best, filled * other)
    return best


def _tiles(width: int, height: int) -> int:
    """Squares of 512 pixels after the downscale; integers throughout, since 768 of 768 must not become 769.

    >>> _tiles(1024, 1024), _tiles(2048, 4096), _tiles(300, 200)
    (4, 6, 1)
    """
    numerator, denominator = 1, 1
    for wanted, side in ((2_048, max(width, height)), (768, min(width, height))):
        if wanted * denominator < numerator * side:
            numerator, denominator = wanted, side
    return _ceil(width * numerator, denominator * 512) * _ceil(height * numerator, denominator * 512)


def _squares(width: int, height: int, side: int) -> int:
    return _ceil(width, side) * _ceil(height, side)


def _ceil(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def _payload(media: Media) -> str:
    """The base64 text, without the header of a data URL."""
    return media.data.partition(",")[2] if media.data.startswith("data:") else media.data


def _decode(text: str) -> bytes:
    """The bytes of a piece of base64 that begins at a multiple of four characters; empty where it is none."""
    letters = "".join(text.split()).replace("-", "+").replace("_", "/")
    try:
        return binascii.a2b_base64(letters[: len(letters) // 4 * 4])
    except ValueError:
        return b""


def _size(payload: str) -> tuple[int, int] | None:
    """Width and height in pixels, None where the head does not say."""
    start = _decode(payload[:64])
    if start.startswith(b"\xff\xd8"):
        heads: tuple[int, ...] = _JPEG_HEADS
    elif start.startswith((b"\x89PNG\r\n\x1a\n", b"GIF8", b"BM")) or (start[:4] == b"RIFF" and start[8:12] == b"WEBP"):
        heads = _HEADS
    else:  # a format that no provider takes, or none: parsers of containers and XML are not let near it
        return None
    for head in heads:
        width, height = _parse(_decode(payload[:head]))
        if 0 < width <= _LARGEST_SIDE and 0 < height <= _LARGEST_SIDE:
            return width, height
        if head >= len(payload):
            break
    return None


def _parse(head: bytes) -> tuple[int, int]:
    try:
        width, height = imagesize.get(io.BytesIO(head))
        return int(width), int(height)
    except Exception:  # noqa: BLE001 - what a parser raises on a broken or cut image is not documented
        return -1, -1


_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PAGE_TREE = re.compile(rb"/Type\s*/Pages(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s+(\d{1,6})(?!\d)")
_LINEARIZED = re.compile(rb"/Linearized\b[^>]{0,400}?/N\s+(\d{1,6})(?!\d)")


def _pages(payload: str) -> int:
    """Pages of a PDF, at least 1.

    What the head and tail say: the count of a page tree, the header of a linearised file, or the pages themselves. In
    many files all of that is compressed; a page is taken to be 50,000 bytes then.
    """
    size = len(payload) // 4 * 3
    if len(payload) <= 2 * _DOCUMENT_END:
        visible = _decode(payload)
    else:
        tail = (len(payload) - _DOCUMENT_END) // 4 * 4
        visible = _decode(payload[:_DOCUMENT_END]) + b"\n" + _decode(payload[tail:])
    counts = [sum(1 for _ in _PAGE.finditer(visible))]
    if linearized := _LINEARIZED.search(visible, 0, 1_024):
        counts.append(int(linearized[1]))
    for tree in islice(_PAGE_TREE.finditer(visible), 64):
        start = visible.rfind(b"obj", max(0, tree.start() - 16_384), tree.start())
        stop = visible.find(b"endobj", tree.end(), tree.end() + 16_384)
        if start >= 0 and stop >= 0 and (count := _COUNT.search(visible, start, stop)):
            counts.append(int(count[1]))
    said = min(max(counts), size // _FEWEST_BYTES_PER_PAGE)
    return max(1, said or size // _BYTES_PER_PAGE)


def _audio(payload: str) -> int:
    """A recording by its seconds, at least one: a WAV file says its rate, of anything else a low one is assumed."""
    head = _decode(payload[:64])
    rate = int.from_bytes(head[28:32], "little") if head[:4] == b"RIFF" and head[8:12] == b"WAVE" else 0
    seconds = _ceil(len(payload) // 4 * 3, max(rate, _AUDIO_BYTES_PER_SECOND))
    return max(1, seconds) * _AUDIO_TOKENS_PER_SECOND
