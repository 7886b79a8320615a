"""Anthropic bodies: what is read from them, and the bytes of what changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compactor.errors import MalformedPayload
from compactor.formats.anthropic import DIALECT
from compactor.model import Content, Kind, Role
from tests.builders.conversations import Body, answered, asked, called, compact, log, said
from tests.property.harness import indexed

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def read(message: Body) -> Content:
    return DIALECT.read(compact(message))


def kinds(message: Body) -> list[Kind]:
    return [part.kind for part in read(message).parts]


def test_text_as_string_and_as_block_are_the_same() -> None:
    assert read(asked("hi")).parts == read(asked([{"type": "text", "text": "hi"}])).parts


def test_every_known_kind_is_read() -> None:
    blocks = [
        THOUGHT,
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "t"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "mcp_tool_use", "id": "m", "name": "n", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m", "content": []},
        {"type": "tool_use", "id": "a", "name": "n", "input": {}},
        {"type": "brand_new", "x": 1},
    ]
    assert kinds(said(blocks)) == [
        Kind.THINKING,
        Kind.THINKING,
        Kind.TEXT,
        Kind.SERVER_TOOL_USE,
        Kind.SERVER_TOOL_RESULT,
        Kind.SERVER_TOOL_USE,
        Kind.SERVER_TOOL_RESULT,
        Kind.TOOL_USE,
        Kind.OPAQUE,
    ]


@pytest.mark.parametrize("source", [{"type": "url", "url": "u"}, {"type": "file", "file_id": "f"}, None, "x", [], {}])
def test_image_of_any_source_is_media(source: Any) -> None:
    assert kinds(asked([{"type": "image", "source": source}])) == [Kind.MEDIA]


@pytest.mark.parametrize("content", [None, "", [], [{"type": "text", "text": ""}]])
def test_result_without_text_is_a_result(content: Any) -> None:
    part = read(answered("a", result=content)).parts[0]
    assert (part.kind, part.id, part.text) == (Kind.TOOL_RESULT, "a", "")


def test_null_content_is_an_empty_message() -> None:
    assert read({"role": "assistant", "content": None}) == Content(Role.ASSISTANT, (), ("A-9",))


@pytest.mark.parametrize("value", [None, 5, [], {}, "x"])
def test_ids_and_names_of_any_type_are_survived(value: Any) -> None:
    block = {"type": "tool_use", "id": value, "name": value, "input": value}
    assert kinds(said([block])) == [Kind.TOOL_USE]
    block = {"type": "tool_result", "tool_use_id": value, "is_error": value}
    assert kinds(asked([block])) == [Kind.TOOL_RESULT]
    block = {"type": "text", "text": "x", "cache_control": value}
    assert kinds(asked([block])) == [Kind.TEXT]
    block = {"type": "thinking", "thinking": None, "signature": value}
    assert kinds(said([block])) == [Kind.THINKING]


@pytest.mark.parametrize("system", [7, {}, True, [7], [{}], [{"type": "text", "text": 5}]])
def test_system_that_is_no_text_is_refused(system: Any) -> None:
    with pytest.raises(MalformedPayload):
        indexed(log(asked(), system=system))


@pytest.mark.parametrize(("system", "count"), [(None, 0), ("", 1), ("x", 1), ([], 0)])
def test_system_of_any_spelling(system: Any, count: int) -> None:
    request = indexed(log(asked(), system=system))
    assert len(request.system) == count
    assert request.system_is_text == isinstance(system, str)


@pytest.mark.parametrize("maximum", [None, 0, -1, "8", 1.5, [], {}, True])
def test_maximum_output_that_is_no_number_counts_as_none(maximum: Any) -> None:
    found = indexed(log(asked(), max_tokens=maximum)).max_output_tokens
    assert found is None or found == 1


def test_thinking_is_enabled_only_where_it_says_so() -> None:
    assert indexed(log(asked(), thinking={"type": "enabled", "budget_tokens": 1024})).thinking_enabled
    for value in (None, {}, {"type": "disabled"}, {"type": "adaptive"}, [], "enabled"):
        assert not indexed(log(asked(), thinking=value)).thinking_enabled


def test_signature_weighs_by_its_length() -> None:
    short, long = read(said([THOUGHT])), read(said([{**THOUGHT, "signature": "x" * 900}]))
    assert long.parts[0].weight - short.parts[0].weight == 900 - len(THOUGHT["signature"])


def test_strip_takes_reasoning_and_leaves_the_rest_as_spelled() -> None:
    kept = b'{"text":"\\u0041" ,"type":"text"}'
    raw = b'{ "content" : [ {"type":"thinking","thinking":"t","signature":"s"}, ' + kept + b' ] ,"role":"assistant"}'
    assert DIALECT.strip(raw) == b'{ "content" : [' + kept + b'] ,"role":"assistant"}'


def test_strip_leaves_no_message_empty() -> None:
    value = json.loads(DIALECT.strip(compact(said([THOUGHT, {"type": "redacted_thinking", "data": "x"}]))))
    assert value["content"][0]["text"].strip()


def test_mark_goes_onto_the_last_block() -> None:
    raw = compact(asked([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))
    new = DIALECT.mark(raw, "5m")
    assert new is not None
    assert json.loads(new)["content"][1] == {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}
    assert json.loads(new)["content"][0] == {"type": "text", "text": "a"}


@pytest.mark.parametrize("block", [THOUGHT, {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}])
def test_mark_is_refused_on_reasoning_and_where_one_is(block: Body) -> None:
    assert DIALECT.mark(compact(said([block])), "5m") is None


def test_user_message_holds_any_text() -> None:
    text = '"\\\u2028\0😀\n</x>'
    assert json.loads(DIALECT.user_message(text)) == {"role": "user", "content": [{"type": "text", "text": text}]}


def test_facts_tell_requests_from_results() -> None:
    request = indexed(log(asked(), called("a"), answered("a"), said()))
    assert [message.is_request for message in request.messages] == [True, False, False, False]
    assert [message.results for message in request.messages] == [(), (), ("a",), ()]
    assert [[call.id for call in message.calls] for message in request.messages] == [[], ["a"], [], []]
