"""Laws of clipping: everything but long texts stays, a preview is never longer, and a second clip changes nothing."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import regex
from hypothesis import given
from hypothesis import strategies as st

from compactor.core import clip
from compactor.formats import anthropic, openai
from compactor.model import Format
from tests.builders.conversations import RANDOMS, Body, Sample, compact, long_text, samples

DIALECTS = {Format.ANTHROPIC_MESSAGES: anthropic.DIALECT, Format.OPENAI_CHAT: openai.DIALECT}
LIMITS = st.sampled_from((0, 1, 40, 50, 60, 120, 250, 1_000))
TEXTS = RANDOMS.map(long_text) | st.text(max_size=60).map(lambda text: text * 20)


def assert_same_shape(new: Any, old: Any, path: tuple[Any, ...] = ()) -> None:
    """Two JSON values that differ in long texts alone, and there only where the new one is shorter."""
    assert type(new) is type(old), path
    if isinstance(old, dict):
        assert list(new) == list(old), path
        for name, value in old.items():
            assert_same_shape(new[name], value, (*path, name))
    elif isinstance(old, list):
        assert len(new) == len(old), path
        for at, value in enumerate(old):
            assert_same_shape(new[at], value, (*path, at))
    elif isinstance(old, str) and new != old:
        is_inside = "input" in path or "inside" in path
        assert is_inside or path[-1] in ("arguments", "content", "text"), path
        if path[-1] == "arguments" and not is_inside:
            assert_same_shape(json.loads(new), json.loads(old), (*path, "inside"))
        else:
            assert len(new) < len(old), path
            assert len(new.encode()) < len(old.encode()), path
    else:
        assert new == old, path


def is_clippable(message: Body) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    has_values = any(block.get("type") in ("tool_use", "tool_result") for block in blocks)
    return has_values or message["role"] == "tool" or bool(message.get("tool_calls"))


@given(samples(), LIMITS)
def test_clip_keeps_everything_but_long_values(source: Sample, limit: int) -> None:
    dialect, shorten = DIALECTS[source.format], clip.shortener(limit)
    for message in source.messages:
        raw = compact(message)
        new, count = dialect.clip(raw, shorten, frozenset())
        assert (count == 0) == (new == raw)
        assert len(new) <= len(raw)
        assert_same_shape(json.loads(new), json.loads(raw))
        if not is_clippable(message):
            assert new == raw


@given(samples(), LIMITS)
def test_clipping_twice_is_clipping_once(source: Sample, limit: int) -> None:
    dialect, shorten = DIALECTS[source.format], clip.shortener(limit)
    for message in source.messages:
        once, _ = dialect.clip(compact(message), shorten, frozenset())
        assert dialect.clip(once, shorten, frozenset()) == (once, 0)


@given(samples(), LIMITS)
def test_exempt_calls_are_never_clipped(source: Sample, limit: int) -> None:
    dialect, shorten = DIALECTS[source.format], clip.shortener(limit)
    for message in source.messages:
        raw = compact(message)
        ids = {block.get("id") or block.get("tool_use_id") for block in _blocks(message)}
        ids |= {call["id"] for call in message.get("tool_calls") or ()} | {message.get("tool_call_id")}
        assert dialect.clip(raw, shorten, frozenset(ids)) == (raw, 0)


def _blocks(message: Body) -> list[Body]:
    content = message.get("content")
    return content if isinstance(content, list) else []


@given(TEXTS, st.integers(160, 4_000), st.booleans())
def test_preview_is_short_whole_and_final(text: str, limit: int, is_error: bool) -> None:
    new = clip.preview(text, limit, is_error=is_error)
    if new is None:
        return
    assert len(new) < len(text)
    assert len(new.encode()) < len(text.encode())
    assert len(new.encode()) <= limit
    assert clip.preview(new, limit, is_error=is_error) is None


@given(TEXTS, st.integers(160, 2_000))
def test_preview_splits_no_grapheme(text: str, limit: int) -> None:
    new = clip.preview(text, limit, is_error=False)
    if new is None or max(map(len, regex.findall(r"\X", text))) > 30:
        return
    head, _, rest = new.partition("\n[… ")
    _, _, tail = rest.partition("…]\n")
    bounds = {0, *(match.end() for match in regex.finditer(r"\X", text))}
    if text.startswith(head):
        assert len(head) in bounds
    if text.endswith(tail):
        assert len(text) - len(tail) in bounds


@given(st.lists(st.sampled_from(("fine", "all good", "Error: E42 at line 7", "  ok", "x" * 300)), min_size=30))
def test_preview_of_a_failure_says_what_failed(lines: list[str]) -> None:
    text = "\n".join(lines)
    new = clip.preview(text, 600, is_error=True)
    if new is not None and "Error: E42 at line 7" in lines:
        assert "Error: E42 at line 7" in new


def test_a_long_text_of_any_seed_is_clipped_in_linear_time() -> None:
    text = long_text(Random(7)) * 500  # noqa: S311 - reproducible on purpose
    new = clip.preview(text, 4_000, is_error=True)
    assert new is not None
    assert len(new.encode()) <= 4_000
