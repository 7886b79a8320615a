"""The edits of a result, and the bytes that come of them."""

from __future__ import annotations

import pytest

from compactor.core.edits import applied
from compactor.model import ArrayName, Edit, Format, Literal, Raw, Request
from tests.builders.conversations import Sample
from tests.property.harness import indexed

SPACED = (
    '{ "system" : [ {"type":"text","text":"s0"} ,\n {"type":"text","text":"é s1"} ] , "x":1e400,'
    '"messages": [ {"role":"user","content":"m0"} , {"role":"assistant","content":"m1"},\t'
    '{"role":"user","content":"m2"} ]'
    ', "model":"m", "tools" : [ {"name":"t0"} , {"name":"t1"} ] , "é" : 1.50 }'
).encode()


def request(body: bytes = SPACED) -> Request:
    return indexed(Sample(Format.ANTHROPIC_MESSAGES, {}, body))


def test_no_edit_is_the_same_object() -> None:
    given = request()
    assert applied(given, ()) is given.body


def test_range_keeps_what_stands_between_its_elements() -> None:
    new = applied(request(), (Edit(ArrayName.MESSAGES, (Raw(0, 3),)),))
    assert new == SPACED.replace(b'[ {"role"', b'[{"role"').replace(b'"m2"} ]', b'"m2"}]')


def test_literal_stands_between_ranges_with_plain_commas() -> None:
    new = applied(request(), (Edit(ArrayName.MESSAGES, (Literal(b"{}"), Raw(2, 3))),))
    assert b'"messages": [{},{"role":"user","content":"m2"}]' in new


def test_arrays_in_front_of_and_behind_the_messages_are_edited_together() -> None:
    edits = (
        Edit(ArrayName.TOOLS, (Raw(1, 2), Literal(b'{"name":"new"}'))),
        Edit(ArrayName.MESSAGES, (Raw(1, 2),)),
        Edit(ArrayName.SYSTEM, (Literal(b'{"type":"text","text":"first"}'), Raw(1, 2))),
    )
    new = applied(request(), edits).decode()
    assert '"system" : [{"type":"text","text":"first"},{"type":"text","text":"é s1"}] ,' in new
    assert '"messages": [{"role":"assistant","content":"m1"}]' in new
    assert '"tools" : [{"name":"t1"},{"name":"new"}] , "é" : 1.50 }' in new
    assert new.startswith("{ ")
    assert '"x":1e400,' in new


def test_plain_system_text_is_replaced_whole() -> None:
    body = b'{"messages":[{"role":"user","content":"x"}],"system":"plain","model":"m"}'
    new = applied(request(body), (Edit(ArrayName.SYSTEM, (Literal(b'{"type":"text","text":"plain"}', 0),)),))
    assert new == body.replace(b'"plain"', b'[{"type":"text","text":"plain"}]')


def test_array_that_is_not_there_cannot_be_edited() -> None:
    body = b'{"messages":[{"role":"user","content":"x"}],"model":"m"}'
    with pytest.raises(ValueError, match="SYSTEM"):
        applied(request(body), (Edit(ArrayName.SYSTEM, (Literal(b"{}"),)),))


def test_adjacent_ranges_are_joined_by_a_comma() -> None:
    new = applied(request(), (Edit(ArrayName.MESSAGES, (Raw(0, 1), Raw(1, 3))),))
    assert b'"m0"},{"role":"assistant","content":"m1"},\t{"role"' in new
