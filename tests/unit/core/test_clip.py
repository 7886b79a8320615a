"""Previews of old values (R10)."""

from __future__ import annotations

import json

import pytest

from compactor.core import clip
from compactor.formats import anthropic, openai
from tests.builders.conversations import Body, answered, called, compact, openai_answered, openai_called

LIMIT = 400


def shown(text: str, limit: int = LIMIT, *, is_error: bool = False) -> str:
    new = clip.preview(text, limit, is_error=is_error)
    assert new is not None
    return new


def clipped(message: Body, limit_tokens: int = 50, exempt: frozenset[str] = frozenset()) -> tuple[Body, int]:
    dialect = openai.DIALECT if "tool_calls" in message or message["role"] == "tool" else anthropic.DIALECT
    new, count = dialect.clip(compact(message), clip.shortener(limit_tokens), exempt)
    return json.loads(new), count


def test_value_at_the_limit_is_left_alone() -> None:
    assert clip.preview("x" * LIMIT, LIMIT, is_error=False) is None
    assert clip.preview("x" * (LIMIT + 1), LIMIT, is_error=False) is not None


@pytest.mark.parametrize("length", range(LIMIT + 1, LIMIT + 120, 7))
def test_value_just_above_the_limit_does_not_grow_by_its_note(length: int) -> None:
    text = "word " * (length // 5 + 1)
    assert len(shown(text)) < len(text)


def test_preview_keeps_head_and_tail_so_that_an_identifier_at_the_end_survives() -> None:
    new = shown("FIRST-1 " + "filler " * 1_000 + "LAST-9f3a")
    assert new.startswith("FIRST-1")
    assert new.endswith("LAST-9f3a")


def test_note_says_how_much_was_left_out() -> None:
    text = "abcdefgh" * 1_000
    new = shown(text)
    head, _, rest = new.partition("\n[…")
    note, _, tail = rest.partition("…]\n")
    assert f"{len(text) - len(head) - len(tail):,}" in note


def test_preview_of_a_preview_is_itself() -> None:
    assert clip.preview(shown("line\n" * 2_000), LIMIT, is_error=False) is None


@pytest.mark.parametrize("unit", ["😀", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪", "e\u0301", "각", "3️⃣", "Z\u0351\u036b\u0343"])
@pytest.mark.parametrize("shift", range(4))
def test_no_cut_splits_what_is_read_as_one_character(unit: str, shift: int) -> None:
    new = shown("a" * shift + unit * 300)
    head, _, rest = new.partition("\n[…")
    tail = rest.partition("…]\n")[2]
    assert head == "a" * shift + unit * ((len(head) - shift) // len(unit))
    assert tail == unit * (len(tail) // len(unit))
    new.encode("utf-8")


def test_cut_falls_on_a_line_end_where_one_is_near() -> None:
    new = shown("\n".join(f"line {number} of the output" for number in range(300)))
    head = new.partition("\n[…")[0]
    assert head.splitlines()[-1].endswith("of the output")


def test_carriage_return_and_line_feed_stay_together() -> None:
    for shift in range(8):
        new = shown("x" * shift + "ab\r\n" * 400)
        assert "\r\n[…" not in new.replace("ab\r\n[…", "")
        head = new.partition("\n[…")[0]
        assert not head.endswith("\r") or new[len(head)] == "\n"


def test_failed_result_keeps_the_line_that_says_why() -> None:
    text = "noise\n" * 500 + "ValueError: the port 8080 is taken\n" + "noise\n" * 500
    assert "ValueError: the port 8080 is taken" in shown(text, is_error=True)


def test_failure_that_only_words_tell_is_recognised() -> None:
    text = "Command failed with exit status 1\n" + "noise\n" * 500 + "fatal: not a git repository\n" + "noise\n" * 500
    assert "fatal: not a git repository" in shown(text)


def test_million_characters_without_a_line_end_are_clipped_at_once() -> None:
    assert len(shown("x" * 1_000_000)) <= LIMIT
    assert len(shown("\u0301" * 1_000_000).encode()) <= LIMIT


def test_arguments_stay_json_with_the_same_keys_and_types() -> None:
    message = called(
        "a", content="x" * 5_000, path="src/a.py", count=3, flag=True, nothing=None, deep={"list": ["y" * 900]}
    )
    new, count = clipped(message)
    old_input, new_input = message["content"][0]["input"], new["content"][0]["input"]
    assert count == 2
    assert list(new_input) == list(old_input)
    assert {key: type(value) for key, value in new_input.items()} == {
        key: type(value) for key, value in old_input.items()
    }
    assert new_input["path"] == "src/a.py"
    assert len(new_input["deep"]["list"][0]) < 900


def test_openai_arguments_are_clipped_inside_their_json_text() -> None:
    message = openai_called("a", content="x" * 5_000, path="src/a.py")
    new, count = clipped(message)
    inside = json.loads(new["tool_calls"][0]["function"]["arguments"])
    assert count == 1
    assert inside["path"] == "src/a.py"
    assert len(inside["content"]) < 5_000


@pytest.mark.parametrize("arguments", ["", "{", '{"a": "' + "x" * 5_000, "[1]" + " " * 5_000, '"' + "x" * 5_000 + '"'])
def test_arguments_that_are_no_object_pass_through(arguments: str) -> None:
    message = openai_called("a")
    message["tool_calls"][0]["function"]["arguments"] = arguments
    assert clipped(message) == (message, 0)


def test_image_inside_a_result_is_never_cut() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR" * 9_000}}
    message = answered("a", result=[{"type": "text", "text": "x" * 5_000}, image])
    new, count = clipped(message)
    assert count == 1
    assert new["content"][0]["content"][1] == image


def test_text_beside_results_and_calls_is_never_cut() -> None:
    message = answered("a", result="x" * 5_000)
    message["content"].append({"type": "text", "text": "y" * 5_000})
    new, _ = clipped(message)
    assert new["content"][1] == message["content"][1]


def test_thinking_and_server_results_are_never_cut() -> None:
    message = called("a", content="x" * 5_000)
    hidden = [
        {"type": "thinking", "thinking": "t" * 5_000, "signature": "s" * 5_000},
        {"type": "redacted_thinking", "data": "d" * 5_000},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q" * 5_000}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"encrypted_content": "e" * 5_000}]},
    ]
    message["content"] = hidden + message["content"]
    new, count = clipped(message)
    assert count == 1
    assert new["content"][:4] == hidden


def test_ids_and_names_are_never_cut_however_long() -> None:
    message = called("i" * 5_000, name="n" * 5_000, content="x" * 5_000)
    new, _ = clipped(message)
    assert new["content"][0]["id"] == "i" * 5_000
    assert new["content"][0]["name"] == "n" * 5_000


def test_exempt_call_and_its_result_stay_whole() -> None:
    assert clipped(called("a", content="x" * 5_000), exempt=frozenset("a"))[1] == 0
    assert clipped(answered("a", result="x" * 5_000), exempt=frozenset("a"))[1] == 0
    assert clipped(openai_answered("a", "x" * 5_000), exempt=frozenset("a"))[1] == 0
    assert clipped(openai_called("a", content="x" * 5_000), exempt=frozenset("a"))[1] == 0


def test_small_value_first_does_not_end_the_search() -> None:
    message = answered("a", "b", "c", result="x" * 5_000)
    message["content"][0]["content"] = "small"
    new, count = clipped(message)
    assert count == 2
    assert new["content"][0]["content"] == "small"


def test_what_is_not_clipped_keeps_its_spelling() -> None:
    long = "x" * 5_000
    raw = (
        '{ "role":"assistant" ,"content":[ {"type":"tool_use","x":1e400,"id":"a","name":"w","input":'
        '{"\\u0061" : 1.50,"big":123456789012345678901234567890,"e":"\\u00e9\\/","c":"' + long + '"} } ] }'
    ).encode()
    new, count = anthropic.DIALECT.clip(raw, clip.shortener(50), frozenset())
    before, after = raw.decode().split(long)
    assert count == 1
    assert new.decode().startswith(before)
    assert new.decode().endswith(after)


def test_long_key_is_not_taken_for_a_value() -> None:
    message = called("a", **{"k" * 5_000: "short"})
    assert clipped(message) == (message, 0)


def test_legacy_function_result_is_clipped_like_a_tool_result() -> None:
    raw = compact({"role": "function", "name": "f", "content": "x" * 5_000})
    new, count = openai.DIALECT.clip(raw, clip.shortener(50), frozenset())
    assert count == 1
    assert len(json.loads(new)["content"]) < 5_000
