"""Chat Completions bodies: what is read from them, and the bytes of what changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compactor.errors import EmptyConversation, MalformedPayload
from compactor.formats.openai import DIALECT
from compactor.model import Content, Kind
from tests.builders.conversations import Body, asked, compact, openai_answered, openai_called, openai_log, said
from tests.property.harness import indexed


def read(message: Body) -> Content:
    return DIALECT.read(compact(message))


def kinds(message: Body) -> list[Kind]:
    return [part.kind for part in read(message).parts]


def test_null_content_beside_calls_is_no_text() -> None:
    assert kinds(openai_called("a", "b")) == [Kind.TOOL_USE, Kind.TOOL_USE]


def test_arguments_that_are_no_json_are_read_as_they_are() -> None:
    for arguments in ("", "{", '{"a": ', "null", "\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "ignore")):
        call = openai_called("a")
        call["tool_calls"][0]["function"]["arguments"] = arguments
        assert read(call).parts[0].text == arguments


@pytest.mark.parametrize("value", [None, 5, [], {}, "x"])
def test_ids_names_and_arguments_of_any_type_are_survived(value: Any) -> None:
    call = {"role": "assistant", "tool_calls": [{"id": value, "function": {"name": value, "arguments": value}}]}
    assert kinds(call) == [Kind.TOOL_USE]
    assert kinds({"role": "assistant", "tool_calls": [{"id": value, "function": value, "custom": value}]}) == [
        Kind.TOOL_USE
    ]
    assert kinds({"role": "tool", "tool_call_id": value, "content": "x"}) == [Kind.TOOL_RESULT]
    assert kinds({"role": "user", "content": [{"type": "image_url", "image_url": value}]}) == [Kind.MEDIA]
    assert kinds({"role": "user", "content": [{"type": "input_audio", "input_audio": value}]}) == [Kind.MEDIA]
    assert kinds({"role": "user", "content": [{"type": "file", "file": value}]}) == [Kind.MEDIA]
    read({"role": "assistant", "content": "x", "function_call": value, "refusal": value, "reasoning": value})


@pytest.mark.parametrize("calls", [{}, "x", 7, [7], [None], ["x"]])
def test_calls_that_are_no_list_of_objects_are_refused(calls: Any) -> None:
    with pytest.raises(MalformedPayload):
        read({"role": "assistant", "content": "x", "tool_calls": calls})


def test_custom_and_legacy_calls_are_calls() -> None:
    custom = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    part = read({"role": "assistant", "tool_calls": [custom]}).parts[0]
    assert (part.kind, part.name, part.text) == (Kind.TOOL_USE, "patch", "*** Begin")
    legacy = read({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}).parts[0]
    result = read({"role": "function", "name": "f", "content": "x"}).parts[0]
    assert legacy.id == result.id


def test_leading_system_messages_are_the_prompt_and_a_later_one_is_a_note() -> None:
    note = {"role": "system", "content": "n"}
    prompt = [note, {"role": "developer", "content": "d"}]
    assert indexed(openai_log(*prompt, asked(), note, said())).leading == 2
    with pytest.raises(EmptyConversation):
        indexed(openai_log(*prompt))


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_maximum_output_has_two_names(name: str) -> None:
    assert indexed(openai_log(asked(), **{name: 77})).max_output_tokens == 77


def test_reasoning_is_read_once_whatever_its_name() -> None:
    for name in ("reasoning_content", "reasoning"):
        assert kinds({"role": "assistant", "content": "x", name: "t"}) == [Kind.THINKING, Kind.TEXT]
    both = {"role": "assistant", "content": "x", "reasoning_content": "t", "reasoning": "t"}
    assert kinds(both) == [Kind.THINKING, Kind.TEXT]


@pytest.mark.parametrize(
    "raw",
    [
        b'{"role":"assistant","reasoning_content":"t","content":"\\u0041"}',
        b'{"role":"assistant", "content":"\\u0041" , "reasoning_content" : "t" }',
        b'{"reasoning_content":"t","role":"assistant","content":"\\u0041","reasoning":"t"}',
        b'{"reasoning_details":[{"text":"t"}],"role":"assistant","content":"\\u0041"}',
    ],
)
def test_strip_takes_reasoning_and_leaves_the_rest_as_spelled(raw: bytes) -> None:
    new = DIALECT.strip(raw)
    assert json.loads(new) == {"role": "assistant", "content": "A"}
    assert b'"\\u0041"' in new


def test_data_url_is_media_and_no_text() -> None:
    url = "data:image/png;base64," + "iVBO" * 9_000
    part = read(asked([{"type": "image_url", "image_url": {"url": url, "detail": "low"}}])).parts[0]
    assert part.media is not None
    assert (part.text, part.media.media_type, part.media.detail) == ("", "image/png", "low")


def test_unknown_part_is_opaque_and_stays_in_the_count() -> None:
    assert kinds(asked([{"type": "brand_new", "x": "y" * 900}])) == [Kind.OPAQUE]
    short = indexed(openai_log(asked([{"type": "brand_new", "x": "y"}]))).messages[0].tokens
    assert indexed(openai_log(asked([{"type": "brand_new", "x": "y" * 900}]))).messages[0].tokens > short


@pytest.mark.parametrize("content", [None, "", []])
def test_tool_message_without_content_is_a_result(content: Any) -> None:
    assert kinds(openai_answered("a", content)) == [Kind.TOOL_RESULT]


def test_no_breakpoint_is_ever_set() -> None:
    assert DIALECT.mark(compact(asked()), "5m") is None
    assert DIALECT.mark_block(b"{}", "5m") == b"{}"


def test_user_message_holds_any_text() -> None:
    text = '"\\\u2028\0😀\n</x>'
    assert json.loads(DIALECT.user_message(text)) == {"role": "user", "content": text}
