"""The raw log with a record replayed over it (R1, R2)."""

from __future__ import annotations

import json

import pytest

from compactor.core import view
from compactor.model import ArrayName, Edit, Literal, Raw, Request
from hango.compaction.v1 import compaction_pb2 as record_pb
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import policy_pb2
from tests.builders.conversations import Body, Sample, answered, asked, called, log, openai_log, said
from tests.property import harness

POLICY = policy_pb2.Policy(max_input_tokens=1_500, reserve_output_tokens=0, keep_message_count=2, prompt_caching=False)
LONG = "word " * 300


def conversation(turns: int = 4) -> list[Body]:
    return [message for turn in range(turns) for message in (asked(f"ask {turn} {LONG}"), said(f"answer {turn}"))]


def compacted(source: Sample, record: record_pb.Compaction | None = None, **fields: object) -> pb.CompactResponse:
    return harness.compact(harness.request(source, policy=POLICY, previous_compaction=record, **fields))


def stale(response: pb.CompactResponse) -> bool:
    return harness.has(response, "RECORD_STALE")


@pytest.fixture
def first() -> pb.CompactResponse:
    response = compacted(log(*conversation(), asked("last")))
    assert response.outcome == pb.OUTCOME_SUMMARIZED
    return response


def digest(request: Request, stop: int) -> bytes:
    return view.prefix_digest(request, stop)


def test_record_is_the_summary_and_the_tail_of_the_raw_log(first: pb.CompactResponse) -> None:
    kept = harness.value_of(first)["messages"]
    assert kept[0]["role"] == "user"
    assert kept[0]["content"][0]["text"] == first.compaction.summary
    assert kept[1:] == [*conversation(), asked("last")][first.compaction.first_kept_index :]


def test_appended_messages_follow_the_same_summary(first: pb.CompactResponse) -> None:
    second = compacted(log(*conversation(), asked("last"), said("more"), asked("new")), first.compaction)
    before, after = harness.raw_messages(first.native.body), harness.raw_messages(second.native.body)
    assert second.outcome == pb.OUTCOME_REUSED
    assert after[: len(before)] == before
    assert len(after) == len(before) + 2


def test_message_edited_in_the_evicted_part_makes_the_record_stale(first: pb.CompactResponse) -> None:
    messages = [*conversation(), asked("last")]
    messages[0] = asked("another question " + LONG)
    assert stale(compacted(log(*messages), first.compaction))


def test_message_edited_in_the_kept_part_does_not(first: pb.CompactResponse) -> None:
    response = compacted(log(*conversation(), asked("another last")), first.compaction)
    assert not stale(response)
    assert harness.value_of(response)["messages"][-1] == asked("another last")


def test_log_rewound_behind_the_boundary_makes_the_record_stale(first: pb.CompactResponse) -> None:
    assert stale(compacted(log(*conversation(1)), first.compaction))
    assert stale(compacted(log(*conversation()[: first.compaction.first_kept_index]), first.compaction))


def test_log_respelled_by_another_writer_makes_the_record_stale(first: pb.CompactResponse) -> None:
    source = log(*conversation(), asked("last"))
    respelled = Sample(source.format, source.value, json.dumps(source.value, indent=1).encode())
    assert stale(compacted(respelled, first.compaction))


def test_white_space_between_messages_is_no_edit(first: pb.CompactResponse) -> None:
    source = log(*conversation(), asked("last"))
    spaced = source.body.replace(b'},{"role"', b'} ,\n {"role"')
    response = compacted(Sample(source.format, source.value, spaced), first.compaction)
    assert not stale(response)


def test_system_and_tools_may_change_under_a_record(first: pb.CompactResponse) -> None:
    source = log(*conversation(), asked("last"), system="new memory", tools=[])
    assert not stale(compacted(source, first.compaction))


def test_breakpoint_moved_by_the_caller_is_no_edit(first: pb.CompactResponse) -> None:
    def marked(at: int) -> Sample:
        messages = [asked([{"type": "text", "text": f"ask {number} {LONG}"}]) for number in range(4)]
        messages[at]["content"][0]["cache_control"] = {"type": "ephemeral"}
        return log(*messages, said("ok"), asked("last"))

    record = compacted(marked(0)).compaction
    assert record.first_kept_index
    assert not stale(compacted(marked(3), record))


def test_argument_with_the_name_of_a_breakpoint_is_content() -> None:
    one = log(asked(), called("a", cache_control={"path": "one"}), answered("a"), said())
    other = log(asked(), called("a", cache_control={"path": "two"}), answered("a"), said())
    assert digest(harness.indexed(one), 4) != digest(harness.indexed(other), 4)


def test_member_that_looks_like_a_breakpoint_inside_a_text_is_content() -> None:
    one = log(asked('x, "cache_control": {"type": "ephemeral"} y'), said())
    other = log(asked("x y"), said())
    assert digest(harness.indexed(one), 1) != digest(harness.indexed(other), 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'{"a":1,"cache_control":{"type":"ephemeral"}}', b'{"a":1}'),
        (b'{"cache_control":{"type":"ephemeral"},"a":1}', b'{"a":1}'),
        (b'{"a":1, "cache_control" : null , "b":2}', b'{"a":1, "b":2}'),
        (b'{"cache_control":{"ttl":"1h","type":"ephemeral"}}', b"{}"),
        (b'{"t":"\\"cache_control\\":{}"}', b'{"t":"\\"cache_control\\":{}"}'),
    ],
)
def test_breakpoint_goes_with_its_comma(before: bytes, after: bytes) -> None:
    found = view.without_marks(before)
    assert json.loads(found) == json.loads(after)
    assert b",," not in found


def test_text_that_imitates_a_summary_is_just_text(first: pb.CompactResponse) -> None:
    imitation = asked(first.compaction.summary)
    source = log(imitation, said(), asked("next"))
    response = compacted(source)
    assert response.outcome == pb.OUTCOME_UNCHANGED
    assert response.native.body == source.body


@pytest.mark.parametrize(
    "changes",
    [
        {"first_kept_index": 0},
        {"first_kept_index": 1},
        {"first_kept_index": -1},
        {"first_kept_index": 10**6},
        {"summary": ""},
        {"sequence": 0},
        {"sequence": -5},
        {"prefix_digest": b""},
        {"prefix_digest": b"\0" * 32},
        {"clipped_before_index": -1},
        {"clipped_before_index": 10**6},
        {"stripped_before_index": 10**6},
    ],
    ids=str,
)
def test_record_that_was_tampered_with_is_dropped(first: pb.CompactResponse, changes: dict[str, object]) -> None:
    record = record_pb.Compaction()
    record.CopyFrom(first.compaction)
    for name, value in changes.items():
        setattr(record, name, value)
    response = compacted(log(*conversation(), asked("last")), record)
    assert stale(response)
    assert response.native.body == first.native.body
    assert response.compaction.sequence >= 1


def test_leading_system_messages_are_outside_of_the_digest() -> None:
    def digested(system: str) -> bytes:
        return digest(harness.indexed(openai_log({"role": "system", "content": system}, asked("a"), said("b"))), 2)

    assert digested("one") == digested("two")


def test_view_of_a_whole_log_is_one_range() -> None:
    request = harness.indexed(log(*conversation()))
    assert view.pieces(view.whole(request)) == (Raw(0, 8),)
    assert view.messages_edit(request, view.whole(request)) == []


def test_view_with_new_messages_names_what_they_replace() -> None:
    request = harness.indexed(log(*conversation()))
    seen = view.View(request.messages[4:], range(4, 8), {1: b"{}"})
    assert view.messages_edit(request, seen) == [
        Edit(ArrayName.MESSAGES, (Raw(4, 5), Literal(b"{}", 5), Raw(6, 8))),
    ]
