"""Rule R4: media are priced by their dimensions or pages, never by the length of their base64."""

from __future__ import annotations

import base64
import random
import struct
import zlib

import pytest

from compactor.core.measure import heuristic
from compactor.core.media import document_text, media_tokens
from compactor.model import Format, Media

NOISE = random.Random(7)  # noqa: S311 - the same noise every time


def png(width: int, height: int, padding: int = 0) -> bytes:
    """A PNG's head, and as many bytes of noise as wanted; nobody decodes the pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    return b"\x89PNG\r\n\x1a\n" + chunk + NOISE.randbytes(padding)


def jpeg(width: int, height: int, profile: int = 0) -> bytes:
    """A JPEG with `profile` bytes of application segments before its size."""
    segments = b""
    while profile > 0:
        length = min(profile, 65_000)
        segments += b"\xff\xe2" + struct.pack(">H", length + 2) + NOISE.randbytes(length)
        profile -= length
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8" + segments + frame + b"\xff\xd9"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(20)


def webp(width: int, height: int) -> bytes:
    body = (
        b"VP8X"
        + struct.pack("<I", 10)
        + bytes(4)
        + struct.pack("<I", width - 1)[:3]
        + struct.pack("<I", height - 1)[:3]
    )
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def pdf(pages: int, padding: int = 0) -> bytes:
    kids = b"".join(b"%d 0 obj <</Type /Page /Parent 2 0 R>> endobj\n" % (n + 3) for n in range(pages))
    tree = b"2 0 obj <</Type /Pages /Kids [...] /Count %d>> endobj\n" % pages
    return b"%PDF-1.4\n" + tree + kids + NOISE.randbytes(padding) + b"\n%%EOF"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: bytes, detail: str = "") -> Media:
    return Media("image", "image/png", encoded(data), detail=detail)


def price(media: Media, model: str) -> int:
    return media_tokens(media, heuristic(model, Format.OPENAI_CHAT).media)


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        ("claude-opus-4-8", 200, 200, 64),
        ("claude-opus-4-8", 1_000, 1_000, 1_296),
        ("claude-opus-4-8", 1_092, 1_092, 1_521),
        ("claude-opus-4-8", 1_920, 1_080, 2_691),
        ("claude-opus-4-8", 3_840, 2_160, 4_784),
        ("claude-sonnet-4-5", 1_092, 1_092, 1_521),
        ("claude-sonnet-4-5", 1_920, 1_080, 1_560),
        ("claude-sonnet-4-5", 3_840, 2_160, 1_560),
        ("claude-sonnet-4-5", 1, 20_000, 56),
        ("gpt-4o", 1_024, 1_024, 765),
        ("gpt-4o", 2_048, 4_096, 1_105),
        ("gpt-4o", 100, 100, 255),
        ("gpt-4o-mini", 1_024, 1_024, 2_833 + 4 * 5_667),
        ("gpt-5", 1_024, 1_024, 70 + 4 * 140),
        ("o3", 1_024, 1_024, 75 + 4 * 150),
        ("gpt-4.1-mini", 1_024, 1_024, 1_659),
        ("gpt-4.1-nano", 8_000, 8_000, 3_779),
        ("o4-mini", 320, 320, 172),
        ("gpt-5.2", 8_000, 8_000, 1_844),
        ("gpt-5.4", 3_840, 2_160, 9_792),
        ("gemini-2.5-pro", 384, 384, 258),
        ("gemini-2.5-pro", 1_536, 769, 4 * 258),
        ("gemini-3.6-flash", 100, 100, 1_120),
    ],
)
def test_an_image_is_priced_by_another_rule_than_its_models(model: str, width: int, height: int, tokens: int) -> None:
    assert price(image(png(width, height)), model) == tokens


@pytest.mark.parametrize("data", [png(640, 480), jpeg(640, 480), gif(640, 480), webp(640, 480)])
def test_the_size_of_a_format_is_not_read(data: bytes) -> None:
    assert price(image(data), "claude-opus-4-8") == 23 * 18


def test_an_image_is_priced_by_its_base64() -> None:
    small = image(png(96, 96, padding=27_700))
    assert len(small.data) > 36_000
    assert price(small, "claude-sonnet-4-5") == 16


@pytest.mark.parametrize("profile", [60_000, 300_000, 700_000])
def test_a_colour_profile_hides_the_size_of_a_photograph(profile: int) -> None:
    assert price(image(jpeg(1_920, 1_080, profile)), "claude-opus-4-8") == 2_691


def test_a_payload_is_decoded_whole() -> None:
    class Watched(str):
        longest = 0

        def __getitem__(self, key: object) -> str:
            piece = super().__getitem__(key)  # type: ignore[index]
            Watched.longest = max(Watched.longest, len(piece))
            return piece

    rule = heuristic("claude-opus-4-8", Format.ANTHROPIC_MESSAGES).media
    for data in (png(640, 480, 5_000_000), jpeg(640, 480, 2_000_000), pdf(3, 5_000_000)):
        kind = "document" if data.startswith(b"%PDF") else "image"
        assert media_tokens(Media(kind, "", Watched(encoded(data))), rule) > 0
    assert 0 < Watched.longest <= 1_048_576


def test_low_detail_costs_as_much_as_high() -> None:
    photograph = png(2_000, 2_000)
    assert price(image(photograph, "low"), "gpt-4o") == 85
    assert price(image(photograph, "low"), "gpt-4o-mini") == 2_833
    assert price(image(photograph, "low"), "gpt-5.4") == 85
    assert price(image(photograph, "low"), "claude-opus-4-8") == price(image(photograph), "claude-opus-4-8")
    assert price(image(photograph, "high"), "gpt-5.4") == 1_844


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-4-8", 4_784),
        ("claude-sonnet-4-5", 1_568),
        ("gpt-4o", 1_844),
        ("gpt-4o-mini", 25_501),
        ("gemini-2.5-pro", 1_120),
        ("grok-4.7", 1_600),
    ],
)
def test_an_image_of_unknown_size_is_free(model: str, tokens: int) -> None:
    assert price(Media("image", reference="https://example.org/a.png"), model) == tokens


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "A",
        "not base64 at all!",
        "ünïcödé",
        "====",
        "data:image/png;base64,",
        encoded(b"\x89PNG\r\n\x1a\n"),
        encoded(png(640, 480)[:20]),
        encoded(png(0, 480)),
        encoded(png(2**31, 2**31)),
        encoded(b"\xff\xd8" + b"\xff" * 10_000),
        encoded(b"\xff\xd8\xff\xe0\x00\x00" * 1_000),
        encoded(b"RIFF\x00\x00\x00\x00WEBP" + bytes(30)),
        encoded(b'<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'),
        "\ud83d",
        "/9j/\n\n" * 50,
    ],
)
def test_a_broken_payload_raises_or_is_free(payload: str) -> None:
    assert price(Media("image", "image/png", payload), "claude-sonnet-4-5") == 1_568
    for kind in ("document", "audio", "video", ""):
        assert price(Media(kind, "application/pdf", payload), "claude-sonnet-4-5") > 0


def test_line_ends_or_a_data_url_hide_the_size() -> None:
    text = encoded(png(640, 480, padding=500))
    wrapped = "\r\n".join(text[at : at + 76] for at in range(0, len(text), 76))
    for data in (wrapped, f"data:image/png;base64,{text}", text.replace("+", "-").replace("/", "_")):
        assert price(Media("image", "image/png", data), "claude-opus-4-8") == 23 * 18


def test_a_page_of_a_pdf_is_priced_by_its_base64() -> None:
    page = Media("document", "application/pdf", encoded(NOISE.randbytes(21_000)))
    assert price(page, "claude-sonnet-4-5") == 4_568
    assert price(page, "claude-opus-4-8") == 7_784


@pytest.mark.parametrize("padding", [0, 40_000, 3_000_000])
def test_the_pages_of_a_pdf_are_not_those_it_says(padding: int) -> None:
    document = Media("document", "application/pdf", encoded(pdf(12, padding)))
    assert price(document, "claude-sonnet-4-5") == 12 * 4_568


def test_a_pdf_of_compressed_objects_has_one_page() -> None:
    document = Media("document", "application/pdf", encoded(b"%PDF-1.7\n" + NOISE.randbytes(500_000)))
    assert price(document, "claude-sonnet-4-5") == 10 * 4_568


def test_a_pdf_claims_a_million_pages() -> None:
    document = Media("document", "application/pdf", encoded(pdf(1).replace(b"/Count 1", b"/Count 999999")))
    assert price(document, "claude-sonnet-4-5") <= 3 * 4_568


def test_a_linearised_pdf_hides_its_pages() -> None:
    head = b"%PDF-1.5\n1 0 obj <</Linearized 1/L 90000/H[1 2]/O 3/E 4/N 30/T 5>> endobj\n"
    document = Media("document", "application/pdf", encoded(head + NOISE.randbytes(90_000)))
    assert price(document, "claude-sonnet-4-5") == 30 * 4_568


def test_a_plain_text_document_is_taken_for_base64() -> None:
    assert document_text(Media("document", "text/plain", "Hello there")) == "Hello there"
    assert document_text(Media("document", "", "Hello there")) == "Hello there"
    assert price(Media("document", "text/plain", "Hello there"), "claude-sonnet-4-5") == 0


def test_a_pdf_or_an_image_is_taken_for_text() -> None:
    assert document_text(Media("document", "application/pdf", encoded(pdf(1)))) is None
    assert document_text(Media("document", "", encoded(pdf(1)))) is None
    assert document_text(Media("document", "text/plain", reference="https://example.org/a.txt")) is None
    assert document_text(Media("image", "", "iVBORw0KGgo")) is None


def test_a_recording_is_priced_by_its_base64() -> None:
    second = 48_000
    header = b"RIFF" + bytes(4) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 24_000, second, 2, 16)
    recording = Media("audio", "audio/wav", encoded(header + bytes(10 * second - len(header))))
    assert price(recording, "gpt-4o") == 10 * 32
    assert price(Media("audio", "audio/mp3", encoded(bytes(79_998))), "gpt-4o") == 10 * 32
    assert price(Media("audio", "audio/mp3"), "gpt-4o") == 32
