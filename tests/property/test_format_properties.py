"""Laws of indexing: what is read from a body stands there, and what is not changed comes back byte for byte."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from compactor.core.edits import applied
from compactor.model import ArrayName, Edit, Format, Literal, Raw
from tests.builders import raw_json
from tests.builders.conversations import RANDOMS, Sample, samples, spelled
from tests.property import harness
from tests.property.test_clip_properties import DIALECTS


@given(samples())
def test_messages_are_found_where_they_stand(source: Sample) -> None:
    request = harness.indexed(source)
    assert [request.raw(index).decode() for index in range(len(request.messages))] == harness.raw_messages(source.body)
    assert request.body == source.body
    start, stop = harness.member(source.body.decode(), "messages")
    assert source.body[slice(*request.array)].decode() == source.body.decode()[start:stop]


@given(samples())
def test_system_and_tools_are_found_as_they_are_spelled(source: Sample) -> None:
    request, text = harness.indexed(source), source.body.decode()
    for name, found in (("system", request.system), ("tools", request.tools)):
        if isinstance(source.value.get(name), list):
            start, _ = harness.member(text, name)
            spans = raw_json.elements(text, start)
            assert [element.raw.decode() for element in found] == [text[slice(*span)] for span in spans]


@given(samples())
def test_no_edit_gives_the_same_bytes(source: Sample) -> None:
    assert applied(harness.indexed(source), ()) == source.body


@given(samples(), st.data())
def test_edit_that_changes_nothing_keeps_every_message(source: Sample, data: st.DataObject) -> None:
    request = harness.indexed(source)
    count = len(request.messages)
    bounds = sorted({0, count, *data.draw(st.lists(st.integers(0, count), max_size=4))})
    pieces = tuple(Raw(start, stop) for start, stop in pairwise(bounds))
    new = applied(request, (Edit(ArrayName.MESSAGES, pieces),))
    assert harness.raw_messages(new) == harness.raw_messages(source.body)
    before, after = source.body.decode(), new.decode()
    start, stop = harness.member(before, "messages")
    new_start, new_stop = harness.member(after, "messages")
    assert (after[:new_start], after[new_stop:]) == (before[:start], before[stop:])


@given(samples(), st.data())
def test_edit_replaces_what_it_names_and_nothing_else(source: Sample, data: st.DataObject) -> None:
    request = harness.indexed(source)
    at = data.draw(st.integers(0, len(request.messages) - 1))
    raws = harness.raw_messages(source.body)
    new = DIALECTS[source.format].user_message("new 😀 \u2028 \0")
    pieces = [Raw(0, at)] if at else []
    pieces = [*pieces, Literal(new)]
    pieces += [Raw(at + 1, len(raws))] if at + 1 < len(raws) else []
    result = applied(request, (Edit(ArrayName.MESSAGES, tuple(pieces)),))
    assert harness.raw_messages(result) == [*raws[:at], new.decode(), *raws[at + 1 :]]


@given(samples())
def test_facts_agree_with_the_value(source: Sample) -> None:
    request = harness.indexed(source)
    for message, value in zip(request.messages, source.messages, strict=True):
        blocks = value["content"] if isinstance(value.get("content"), list) else []
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        calls += [call["id"] for call in value.get("tool_calls") or ()]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        results += [value["tool_call_id"]] if value["role"] == "tool" else []
        assert [call.id for call in message.calls] == calls
        assert list(message.results) == results
        assert message.tokens > 0


@given(samples(), RANDOMS)
def test_spelling_changes_no_fact(source: Sample, random: object) -> None:
    again = Sample(source.format, source.value, spelled(source.value, random))  # type: ignore[arg-type]
    one, other = harness.indexed(source), harness.indexed(again)
    assert [message._replace(tokens=0, largest_value=0, has_mark=False) for message in one.messages] == [
        message._replace(tokens=0, largest_value=0, has_mark=False) for message in other.messages
    ]
    assert one.model == other.model
    assert (one.leading, one.max_output_tokens, one.thinking_enabled) == (
        other.leading,
        other.max_output_tokens,
        other.thinking_enabled,
    )


@given(samples(Format.ANTHROPIC_MESSAGES), st.sampled_from(("5m", "1h")))
def test_mark_adds_one_member_and_nothing_else(source: Sample, ttl: str) -> None:
    dialect = DIALECTS[source.format]
    for raw in harness.raw_messages(source.body):
        new = dialect.mark(raw.encode(), ttl)
        if new is None:
            continue
        assert harness.without_marks(json.loads(new)) == harness.without_marks(json.loads(raw))
        assert new.count(b'"cache_control"') == raw.encode().count(b'"cache_control"') + 1


@given(samples())
def test_strip_takes_the_reasoning_and_leaves_every_other_byte(source: Sample) -> None:
    dialect = DIALECTS[source.format]
    for raw, value in zip(harness.raw_messages(source.body), source.messages, strict=True):
        new = json.loads(dialect.strip(raw.encode()))
        if value["role"] != "assistant":
            continue
        old = json.loads(raw)
        content = new.get("content")
        if isinstance(old.get("content"), list) and source.format is Format.ANTHROPIC_MESSAGES:
            kept = [block for block in old["content"] if "thinking" not in block["type"]]
            assert content == kept or not kept
            assert content
        else:
            old.pop("reasoning_content", None)
            assert new == old
