"""Laws of safe cuts: whatever is cut there, both sides are whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compactor.core import boundary
from tests.builders import pairing
from tests.builders.conversations import Body, Sample, samples
from tests.property import harness


def is_whole(source: Sample, messages: list[Body]) -> bool:
    """Whether every call in the messages has its result among them and the other way round."""
    head: Body = {"role": "user", "content": "x"}
    found = pairing.breaches(source.format, {**source.value, "messages": [head, *messages]})
    return not [rule for rule in found if "call" in rule or "result" in rule]


@given(samples())
def test_both_sides_of_every_cut_are_whole(source: Sample) -> None:
    request = harness.indexed(source)
    cuts = boundary.cuts(request.messages, request.leading, thinking_enabled=request.thinking_enabled)
    closed = {"role": "user", "content": "x"}
    for cut in cuts.keeps + cuts.turns:
        evicted, kept = source.messages[request.leading : cut], source.messages[cut:]
        assert is_whole(source, [*evicted, closed]), f"what cut {cut} evicts is torn"
        assert is_whole(source, kept), f"what cut {cut} keeps is torn"


@given(samples())
def test_keep_cuts_are_where_the_assistant_begins_to_speak(source: Sample) -> None:
    request = harness.indexed(source)
    cuts = boundary.cuts(request.messages, request.leading, thinking_enabled=request.thinking_enabled)
    assert cuts.keeps == sorted(set(cuts.keeps))
    for cut in cuts.keeps:
        assert request.leading < cut < len(source.messages)
        assert source.messages[cut]["role"] == "assistant"
        assert source.messages[cut - 1]["role"] != "assistant"


@given(samples())
def test_turns_begin_where_a_person_speaks(source: Sample) -> None:
    request = harness.indexed(source)
    cuts = boundary.cuts(request.messages, request.leading, thinking_enabled=request.thinking_enabled)
    asked = [
        index
        for index, message in enumerate(source.messages)
        if message["role"] == "user" and not any("tool_use_id" in block for block in pairing.blocks_of(message))
    ]
    assert cuts.request == asked[-1]
    assert cuts.turns == [index for index in asked if index > request.leading]


@given(samples(), st.integers(0, 40))
def test_cuts_do_not_depend_on_what_comes_later(source: Sample, more: int) -> None:
    request = harness.indexed(source)
    count = len(source.messages) - min(more, len(source.messages) - 1)
    whole = boundary.cuts(request.messages, request.leading, thinking_enabled=False)
    part = boundary.cuts(request.messages[:count], request.leading, thinking_enabled=False)
    assert part.keeps == [cut for cut in whole.keeps if cut < count]
    assert part.turns == [cut for cut in whole.turns if cut < count]


@given(st.lists(st.integers(1, 60), unique=True).map(sorted), st.integers(-5, 70))
def test_snap_goes_back_to_the_nearest_cut_and_forward_only_where_there_is_none(keeps: list[int], wanted: int) -> None:
    found = boundary.snap(keeps, wanted)
    earlier = [cut for cut in keeps if cut <= wanted]
    assert found == (earlier[-1] if earlier else keeps[0] if keeps else None)
