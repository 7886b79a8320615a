"""Laws of measuring (rule R7): more is never less, a whole is its parts, and nothing raises."""

from __future__ import annotations

import base64

from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.core.measure import (
    Counting,
    heuristic,
    message_tokens,
    request_base,
    simple,
    system_tokens,
    tool_tokens,
    value_size,
)
from compactor.core.media import media_tokens
from compactor.model import Content, Format, Kind, Media, Part, Role
from compactor.providers.tokenizer import tokenizer_counting

MODELS = (
    "claude-sonnet-4-5",
    "claude-opus-4-8",
    "gpt-4o",
    "gpt-4",
    "gpt-5.4",
    "gemini-2.5-pro",
    "gemini-3.6-flash",
    "x",
)
ESTIMATES = tuple(heuristic(model, arm) for model in MODELS for arm in Format)
SIMPLE = tuple(simple(ratio, "claude-sonnet-4-5", Format.ANTHROPIC_MESSAGES) for ratio in (0.5, 3.7, 4.0, 100.0))
EXACT = tuple(
    counting for model in ("gpt-4o", "gpt-4") if (counting := tokenizer_counting(model, Format.OPENAI_CHAT)) is not None
)

# Every script, surrogates and controls; short alphabets too, for runs and for what sits at their ends.
texts = st.one_of(
    st.text(st.characters(), max_size=40),
    st.text("aA1. \n\té漢😀\ud83d", max_size=80),
    st.builds(lambda unit, times: unit * times, st.text("aA1. \n\té漢😀", min_size=1, max_size=3), st.integers(0, 400)),
    st.sampled_from(["", "<|endoftext|>", "<|im_start|>system", "\r\n" * 300, "QUJD" * 300]),
)
media = st.builds(
    lambda kind, media_type, data, detail: Media(kind, media_type, data, detail=detail),
    st.sampled_from(["image", "document", "audio", "video"]),
    st.sampled_from(["", "image/png", "application/pdf", "text/plain"]),
    st.sampled_from(["", "plain text", "iVBORw0KGgo", "JVBERi0xLjQK" * 9, "/9j/" * 99, "\ud83d"]),
    st.sampled_from(["", "low", "high"]),
)
bare_parts = st.builds(
    lambda kind, text, weight: Part(kind, text, weight=weight),
    st.sampled_from(Kind),
    texts,
    st.sampled_from([0, 1, 4_000]),
)
media_parts = st.builds(lambda found: Part(Kind.MEDIA, media=found), media)
results = st.builds(
    lambda text, inner: Part(Kind.TOOL_RESULT, text, id="1", parts=(inner,)), texts, st.one_of(bare_parts, media_parts)
)
calls = st.builds(lambda text: Part(Kind.TOOL_USE, text, id="1", name="read_file"), texts)
parts = st.one_of(bare_parts, media_parts, results, calls)
contents = st.lists(parts, max_size=4)
heads = st.sampled_from(
    [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"BM", b"RIFF\0\0\0\0WEBPVP8X", b"RIFF\0\0\0\0WAVE", b"%PDF-1.7"]
)


def total(counting: Counting, found: list[Part]) -> int:
    return message_tokens(Content(Role.USER, tuple(found)), counting)[0]


@given(st.sampled_from(ESTIMATES + EXACT), contents, parts, st.integers(0, 5))
def test_adding_a_block_does_not_raise_the_count(counting: Counting, found: list[Part], new: Part, place: int) -> None:
    assert total(counting, [*found[:place], new, *found[place:]]) > total(counting, found)


@given(st.sampled_from(SIMPLE), contents, parts, st.integers(0, 5))
def test_adding_a_block_lowers_a_simple_count(counting: Counting, found: list[Part], new: Part, place: int) -> None:
    assert total(counting, [*found[:place], new, *found[place:]]) >= total(counting, found)


@given(st.sampled_from(ESTIMATES), texts, texts)
def test_a_longer_text_counts_less(counting: Counting, text: str, more: str) -> None:
    longer = counting.text(text + more)
    assert counting.text(text) <= longer
    assert longer <= counting.text(text) + counting.text(more) + 1


@given(st.sampled_from(ESTIMATES), texts, st.integers(2, 50))
def test_a_line_repeated_counts_other_than_so_many_times(counting: Counting, text: str, times: int) -> None:
    line = f"x{text}\n"
    once = counting.text(line)
    assert times * (once - 1) < counting.text(line * times) <= times * once


@given(st.sampled_from(ESTIMATES + SIMPLE + EXACT), contents)
def test_media_cost_more_than_the_message_that_holds_them(counting: Counting, found: list[Part]) -> None:
    tokens, media_part = message_tokens(Content(Role.USER, tuple(found)), counting)
    assert 0 <= media_part <= tokens


@given(st.sampled_from(ESTIMATES + SIMPLE + EXACT), contents, texts, st.integers(0, 3))
def test_a_count_is_negative_or_raises(counting: Counting, found: list[Part], text: str, tools: int) -> None:
    assert system_tokens(Content(Role.SYSTEM, tuple(found)), counting) >= 0
    assert tool_tokens(text, counting) >= counting.text(text)
    assert request_base(counting, tools) >= 0


@given(texts)
def test_a_value_has_another_size_than_its_bytes(text: str) -> None:
    assert value_size(text) == len(text.encode("utf-8", "surrogatepass"))


@given(st.sampled_from(ESTIMATES), st.sampled_from(["image", "document", "audio"]), heads, st.binary(max_size=400))
@settings(max_examples=300)
def test_a_damaged_payload_raises_or_is_free(counting: Counting, kind: str, head: bytes, rest: bytes) -> None:
    data = base64.b64encode(head + rest).decode()
    assert media_tokens(Media(kind, "application/octet-stream", data), counting.media) > 0
    assert media_tokens(Media(kind, "application/octet-stream", data[1:]), counting.media) > 0


@given(st.text(st.characters(), max_size=300), st.sampled_from(Format))
def test_a_model_id_raises(model: str, arm: Format) -> None:
    assert heuristic(model, arm).text("hello") > 0
    assert simple(4.0, model, arm).text("hello") == 2
