"""Where things stand in JSON text."""

from __future__ import annotations

import json

import pytest

from compactor.formats import json_text
from compactor.model import Span

ODD = b' { "a" : [1, "]", {"b":"}"}] ,"\\u0062":"x\\"y" , "c":-1.5e3,"a":null }'


def values(text: bytes, at: int = 0) -> list[tuple[bytes, bytes]]:
    return [(member.key, text[slice(*member.value)]) for member in json_text.members(text, at)]


def test_members_are_found_in_order_with_duplicates_and_decoded_keys() -> None:
    assert values(ODD) == [
        (b"a", b'[1, "]", {"b":"}"}]'),
        (b"b", b'"x\\"y"'),
        (b"c", b"-1.5e3"),
        (b"a", b"null"),
    ]


def test_last_of_equal_members_counts() -> None:
    found = json_text.last_member(ODD, b"a")
    assert found is not None
    assert ODD[slice(*found.value)] == b"null"
    assert json_text.last_member(ODD, b"z") is None


@pytest.mark.parametrize("text", [b"{}", b" { } ", b"{\n}"])
def test_empty_object_has_no_members(text: bytes) -> None:
    assert values(text) == []


@pytest.mark.parametrize("text", [b"[]", b" [ ] ", b"[\n]"])
def test_empty_array_has_no_elements(text: bytes) -> None:
    assert list(json_text.elements(text)) == []


def test_elements_of_every_kind() -> None:
    text = b' [ "a,b" , [1,[2]] ,{"x":[]}, null,true , -0.5 ]'
    found = [text[slice(*at)] for at in json_text.elements(text)]
    assert found == [b'"a,b"', b"[1,[2]]", b'{"x":[]}', b"null", b"true", b"-0.5"]


@pytest.mark.parametrize("key", ["é", "a\\", 'q"', "\u2028", "😀", ""])
def test_key_of_any_letters_is_found(key: str) -> None:
    for ascii_only in (True, False):
        text = json.dumps({"first": 1, key: "v"}, ensure_ascii=ascii_only).encode()
        found = json_text.last_member(text, key.encode())
        assert found is not None
        assert text[slice(*found.value)] == b'"v"'


def test_string_that_ends_in_backslashes_ends_where_it_ends() -> None:
    text = b'{"a":"x\\\\","b":"y\\\\\\"z"}'
    assert values(text) == [(b"a", b'"x\\\\"'), (b"b", b'"y\\\\\\"z"')]


def test_changes_are_spliced_in_any_order() -> None:
    assert json_text.spliced(b"abcdef", [(Span(4, 5), b"-"), (Span(0, 2), b"++")]) == b"++cd-f"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (b'{"x":1}', b"{}"),
        (b'{"x":1,"y":2}', b'{"y":2}'),
        (b'{"y":2,"x":1}', b'{"y":2}'),
        (b'{"y":2 , "x" : 1 , "z":3}', b'{"y":2 , "z":3}'),
        (b'{"y":2 ,\n "x" : 1 }', b'{"y":2  }'),
    ],
)
def test_member_goes_with_its_comma(text: bytes, left: bytes) -> None:
    member = json_text.last_member(text, b"x")
    assert member is not None
    assert json_text.spliced(text, json_text.without(text, member)) == left


def test_deep_nesting_is_walked_without_recursion() -> None:
    text = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b',"b":1}'
    assert [key for key, _ in values(text)] == [b"a", b"b"]


def test_long_string_is_jumped_over() -> None:
    text = b'{"a":"' + b"\\\\" * 2_000_000 + b'","b":1}'
    assert [key for key, _ in values(text)] == [b"a", b"b"]
