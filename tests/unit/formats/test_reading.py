"""What both formats accept and refuse in a body, and what they leave as it is."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from compactor.errors import CompactionError, EmptyConversation, MalformedPayload
from compactor.formats.reading import LONGEST_MODEL, compact, decoded, text_of, visible_text
from compactor.model import Format, Request
from hango.compaction.v1 import policy_pb2
from tests.builders.conversations import Sample
from tests.property import harness

ANTHROPIC, OPENAI = Format.ANTHROPIC_MESSAGES, Format.OPENAI_CHAT
FORMATS = pytest.mark.parametrize("format", [ANTHROPIC, OPENAI], ids=str)
PLAIN = '{"model":"m","messages":[{"role":"user","content":"hi"}]}'


def index(body: bytes | str, format: Format = ANTHROPIC) -> Request:
    data = body.encode() if isinstance(body, str) else body
    return harness.indexed(Sample(format, {}, data))


def returned(body: bytes | str, format: Format = ANTHROPIC) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    policy = policy_pb2.Policy(prompt_caching=False)
    return harness.compact(harness.request((format, data), policy=policy)).native.body


def with_block(value: str) -> str:
    """A body with a value of any kind inside a block of a kind that nobody knows."""
    return '{"model":"m","messages":[{"role":"user","content":[{"type":"new_block","x":' + value + "}]}]}"


@FORMATS
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b"{}",
        b'{"messages":null}',
        b'{"messages":{}}',
        b'{"messages":"x"}',
        b'{"messages":[1]}',
        b'{"messages":[null]}',
        b'{"messages":[[]]}',
        b'{"messages":[{}]}',
        b'{"messages":[{"role":"user","content":"x"}]} x',
        b'{"messages":[{"role":"user","content":"x"},]}',
        b'{"messages":[{"role":"user","content":"x"}],}',
        b'{"messages":[{"role":"robot","content":"x"}]}',
        b'{"messages":[{"role":null,"content":"x"}]}',
        b'{"messages":[{"role":["user"],"content":"x"}]}',
        b'{"messages":[{"role":{},"content":"x"}]}',
        b'{"messages":[{"role":"user","content":7}]}',
        b'{"messages":[{"role":"user","content":{"a":1}}]}',
        b'{"messages":[{"role":"user","content":[7]}]}',
        b'{"messages":[{"role":"user","content":[{}]}]}',
        b'{"messages":[{"role":"user","content":[{"type":7}]}]}',
        b'{"messages":[{"role":"user","content":[{"type":"text","text":7}]}]}',
        b'{"model":7,"messages":[{"role":"user","content":"x"}]}',
        b'{"tools":{},"messages":[{"role":"user","content":"x"}]}',
        b'{"tools":[7],"messages":[{"role":"user","content":"x"}]}',
    ],
)
def test_body_that_is_no_request_is_refused(format: Format, body: bytes) -> None:
    with pytest.raises(MalformedPayload):
        index(body, format)


@FORMATS
def test_body_without_messages_is_empty(format: Format) -> None:
    with pytest.raises(EmptyConversation):
        index('{"model":"m","messages":[]}', format)
    with pytest.raises(EmptyConversation):
        index('{"model":"m","messages" : [ \n ] }', format)


@FORMATS
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "0x1", "1e", "--1"])
def test_number_that_is_no_json_is_refused(format: Format, number: str) -> None:
    with pytest.raises(MalformedPayload):
        index(with_block(number), format)


@FORMATS
@pytest.mark.parametrize(
    "number",
    ["1e400", "-1E+400", "1e-400", "-0", "-0.0", "1.50", "1E5", "0.1e1", "9" * 25, "1" * 400, "9" * 5_000, "[1e400,9]"],
)
def test_number_of_any_size_comes_back_as_it_was_spelled(format: Format, number: str) -> None:
    body = with_block(number)
    assert returned(body, format) == body.encode()


@FORMATS
@pytest.mark.parametrize("place", ["top", "model", "tool", "thinking"])
def test_huge_number_outside_of_the_messages_comes_back_too(format: Format, place: str) -> None:
    members = {
        "top": '"x":[1e400]',
        "model": '"temperature":1e400',
        "tool": '"tools":[{"name":"t","n":1e400}]',
        "thinking": '"thinking":{"n":1e400},"max_tokens":' + "9" * 30,
    }
    body = PLAIN[:-1] + "," + members[place] + "}"
    assert returned(body, format) == body.encode()


@FORMATS
@pytest.mark.parametrize("escape", ["\\ud800", "\\udc00", "\\ud83d x", "\\udc4d\\ud83d", "\\uD800\\u0041"])
def test_half_of_a_surrogate_pair_is_refused_with_the_message_that_holds_it(format: Format, escape: str) -> None:
    body = '{"model":"m","messages":[{"role":"user","content":"ok"},{"role":"assistant","content":"a' + escape + '"}]}'
    with pytest.raises(MalformedPayload, match=r"messages\[1\].*surrogate") as caught:
        index(body, format)
    assert caught.value.metadata["place"] == "messages[1]"


@FORMATS
def test_half_of_a_surrogate_pair_beside_a_huge_number_is_refused_too(format: Format) -> None:
    with pytest.raises(MalformedPayload):
        index(with_block('[1e400,"\\ud800"]'), format)


@FORMATS
def test_pair_of_surrogate_escapes_comes_back_as_it_was_spelled(format: Format) -> None:
    body = PLAIN.replace("hi", "\\ud83d\\udc4d \\u00e9 \\/ \\u0000")
    assert returned(body, format) == body.encode()


@FORMATS
@pytest.mark.parametrize("value", [b'"\xff"', b'"\xc3"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\xf8\x88\x80\x80\x80"'])
@pytest.mark.parametrize("number", [b"1", b"1e400"])
def test_bytes_that_are_no_utf_8_are_refused(format: Format, value: bytes, number: bytes) -> None:
    inside = with_block("[@]").encode().replace(b"@", number + b"," + value)
    outside = PLAIN[:-1].encode() + b',"x":[' + number + b"," + value + b"]}"
    for body in (inside, outside):
        with pytest.raises(MalformedPayload):
            index(body, format)


@FORMATS
def test_byte_order_mark_is_refused(format: Format) -> None:
    with pytest.raises(MalformedPayload):
        index(b"\xef\xbb\xbf" + PLAIN.encode(), format)


@FORMATS
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_other_encoding_is_refused(format: Format, encoding: str) -> None:
    with pytest.raises(MalformedPayload):
        index(PLAIN.encode(encoding), format)


@FORMATS
@pytest.mark.parametrize("member", ['"messages":[{"role":"user","content":"b"}]', '"model":"n"', '"m\\u006fdel":"n"'])
def test_member_that_stands_twice_at_the_top_is_refused(format: Format, member: str) -> None:
    with pytest.raises(MalformedPayload, match="twice"):
        index(PLAIN[:-1] + "," + member + "}", format)


@FORMATS
def test_member_that_stands_twice_further_down_passes(format: Format) -> None:
    body = '{"model":"m","messages":[{"role":"user","content":"a","content":"b","x":{"y":1,"y":2}}],"z":{"a":1,"a":2}}'
    assert returned(body, format) == body.encode()


@FORMATS
@pytest.mark.parametrize("depth", [10, 200, 430, 480, 900, 940, 960, 980, 990, 1_000, 5_000, 100_000])
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("[", "]"),
        ('{"content":', "}"),
        ('[{"type":"tool_result","content":', "}]"),
        ('[{"type":"document","source":{"content":', "}}]"),
        ("[1e400,", "]"),
        ('{"n":1e400,"content":', "}"),
    ],
)
def test_nesting_of_any_depth_is_taken_or_refused(format: Format, depth: int, opening: str, closing: str) -> None:
    nested = opening * depth + "1" + closing * depth
    block = '{"model":"m","messages":[{"role":"user","content":[{"type":"new_block","content":' + nested + "}]}]}"
    result = block.replace("new_block", "tool_result")
    outside = (
        PLAIN[:-1] + ',"tools":[{"name":"t","x":' + nested + '}],"system":[{"type":"x","content":' + nested + "}]}"
    )
    for body in (block, result, outside):
        with contextlib.suppress(CompactionError):
            assert returned(body, format) == body.encode()


@FORMATS
@pytest.mark.parametrize("space", [" ", "\n", "\t", "\r\n  "])
def test_white_space_anywhere_stays(format: Format, space: str) -> None:
    tokens = [
        "{",
        '"model"',
        ":",
        '"m"',
        ",",
        '"messages"',
        ":",
        "[",
        "{",
        '"role"',
        ":",
        '"user"',
        ",",
        '"content"',
        ":",
    ]
    tokens += ['"hi"', "}", ",", "{", '"role"', ":", '"assistant"', ",", '"content"', ":", '"x"', "}", "]", "}"]
    body = space + space.join(tokens) + space
    assert returned(body, format) == body.encode()
    assert index(body, format).raw(1).decode() == space.join(tokens[18:27])


@FORMATS
def test_gaps_between_messages_may_all_differ(format: Format) -> None:
    message = '{"role":"user","content":"x"}'
    body = '{"model":"m","messages":[ %s,%s , %s\n,\t%s  ]}' % ((message,) * 4)
    request = index(body, format)
    assert [request.raw(number).decode() for number in range(4)] == [message] * 4


@FORMATS
def test_order_of_members_does_not_matter(format: Format) -> None:
    body = '{"messages":[{"content":"hi","role":"user"}],"tools":[{"name":"t"}],"model":"m"}'
    request = index(body, format)
    assert request.model == "m"
    assert len(request.tools) == 1
    assert returned(body, format) == body.encode()


@FORMATS
def test_unknown_members_everywhere_stay(format: Format) -> None:
    body = (
        '{"x":{"y":[1]},"model":"m","messages":[{"z":null,"role":"user","content":[{"type":"text","text":"a","q":1.0}],'
        '"w":"\\u0041"}],"tools":[{"name":"t","unknown":{}}],"":0}'
    )
    assert returned(body, format) == body.encode()


@FORMATS
@pytest.mark.parametrize("model", ['"model":null,', "", '"model":"",'])
def test_missing_model_is_an_unknown_one(format: Format, model: str) -> None:
    body = PLAIN.replace('"model":"m",', model)
    assert index(body, format).model == ""
    assert returned(body, format) == body.encode()


@FORMATS
def test_of_an_endless_model_name_only_the_beginning_is_looked_at(format: Format) -> None:
    body = json.dumps({"model": "claude-haiku-4-5" + "x" * 100_000, "messages": [{"role": "user", "content": "hi"}]})
    assert index(body, format).model == "claude-haiku-4-5" + "x" * (LONGEST_MODEL - 16)
    assert returned(body, format) == body.encode()


@FORMATS
@pytest.mark.parametrize("tools", ["null", "[]"])
def test_no_tools_in_any_spelling(format: Format, tools: str) -> None:
    body = PLAIN[:-1] + ',"tools":' + tools + "}"
    assert index(body, format).tools == ()
    assert returned(body, format) == body.encode()


@FORMATS
def test_string_that_holds_brackets_and_quotes_is_no_structure(format: Format) -> None:
    odd = json.dumps('"]}],"messages":[{"role":"user"}] \\" \\\\')
    body = '{"model":"m","x":' + odd + ',"messages":[{"role":"user","content":' + odd + '}],"y":' + odd + "}"
    request = index(body, format)
    assert len(request.messages) == 1
    assert returned(body, format) == body.encode()


def test_huge_body_of_one_string_is_taken() -> None:
    body = PLAIN.replace("hi", "x" * 5_000_000)
    assert len(index(body).raw(0)) == 5_000_028


def test_decoded_gives_numbers_that_do_not_fit_as_texts() -> None:
    assert decoded(b'{"a":1e400,"b":5}', "x") == {"a": "1e400", "b": "5"}
    assert decoded(b'{"a":1.5}', "x") == {"a": 1.5}


@pytest.mark.parametrize(("value", "expected"), [(None, ""), ("x", "x")])
def test_text_may_be_null(value: Any, expected: str) -> None:
    assert text_of(value, "place") == expected


def test_visible_text_leaves_opaque_payloads_out() -> None:
    block = {"type": "x", "title": "t", "encrypted": "zzz", "content": [{"text": "a"}, {"data": "b"}, "c"], "text": ""}
    assert visible_text(block) == "t\na"
    assert compact({"é": 1}) == '{"é":1}'
