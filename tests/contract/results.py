"""What always has to hold of a result: it is the source but for what the response says, and no worse than the source.

Both arms are compared by the same rules, on `Parts`: elements in their own spelling (JSON text, or a message of the
contract) and decoded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from hango.compaction.v1 import compaction_pb2, conversation_pb2, policy_pb2
from hango.compaction.v1 import compaction_service_pb2 as pb
from tests.builders import provider_rules, raw_json, typed

_NOT_VALUES = frozenset({"id", "name", "type", "role", "tool_use_id", "tool_call_id", "media_type", "data", "url"})
_VALUES = frozenset({"tool_use", "tool_result", "tool_calls"})
_REASONING = ("thinking", "redacted_thinking")


@dataclass(frozen=True)
class Parts:
    """A request taken apart. `frame` is everything but system text and messages; `strings` are all texts, decoded."""

    spelling: bytes
    frame: Any
    system: Sequence[Any]
    messages: Sequence[Any]
    leading: int
    strings: Sequence[str]
    violations: Counter[str]

    def decoded(self, element: Any) -> Any:
        """An element as plain JSON, numbers as they are spelled."""
        if isinstance(element, str):
            return raw_json.spelled(element)
        return _pairs(json_format.MessageToDict(element, preserving_proto_field_name=True))


def _pairs(value: Any) -> Any:
    if isinstance(value, dict):
        return raw_json.Pairs((key, _pairs(item)) for key, item in value.items())
    return [_pairs(item) for item in value] if isinstance(value, list) else value


def parts_of(source: conversation_pb2.Conversation | conversation_pb2.NativePayload) -> Parts:
    """A request of either arm, taken apart. Raises ValueError for what is no JSON."""
    return _typed(source) if isinstance(source, conversation_pb2.Conversation) else _native(source)


def _typed(source: conversation_pb2.Conversation) -> Parts:
    frame = conversation_pb2.Conversation()
    frame.CopyFrom(source)
    frame.ClearField("system")
    frame.ClearField("messages")
    texts = raw_json.strings(json_format.MessageToDict(source))
    spelling = source.SerializeToString(deterministic=True)
    broken = provider_rules.anthropic_violations(typed.body_of(source))
    return Parts(spelling, frame, list(source.system), list(source.messages), 0, texts, broken)


def _native(source: conversation_pb2.NativePayload) -> Parts:
    text = source.body.decode()
    value = json.loads(text)
    spans = {member.key: (member.start, member.stop) for member in raw_json.members(text)}
    is_openai = source.format == conversation_pb2.PAYLOAD_FORMAT_OPENAI_CHAT
    edited = ["messages"] if is_openai else ["messages", "system"]
    frame = text
    for start, stop in sorted((spans[key] for key in edited if key in spans), reverse=True):
        frame = f"{frame[:start]}…{frame[stop:]}"
    leading = 0
    if is_openai:
        while leading < len(value["messages"]) and value["messages"][leading]["role"] in ("system", "developer"):
            leading += 1
    find = provider_rules.openai_violations if is_openai else provider_rules.anthropic_violations
    return Parts(
        spelling=source.body,
        frame=frame,
        system=[] if is_openai else _array(text, spans.get("system")),
        messages=_array(text, spans.get("messages")),
        leading=leading,
        strings=raw_json.strings(value),
        violations=find(value),
    )


def _array(text: str, span: tuple[int, int] | None) -> list[str]:
    """The elements of an array as they are spelled; a plain text counts as the block that it stands for."""
    if span is None or text[slice(*span)] == "null":
        return []
    if text[span[0]] == '"':
        return [f'{{"type":"text","text":{text[slice(*span)]}}}']
    return [text[start:stop] for start, stop in raw_json.elements(text, span[0])]


def check(source: Parts, result: Parts, response: pb.CompactResponse, policy: policy_pb2.Policy) -> None:
    """Raises AssertionError for the first thing in a result that no response may come with."""
    assert result.frame == source.frame, "something besides system text and messages was changed"
    record = response.compaction
    assert not result.violations - source.violations, f"the result adds violations: {result.violations}"
    _check_system(source, result, response.breakpoints)
    repairs = policy_pb2.REPAIR_SYNTHESIZE in (policy.repair, record.repair)
    if repairs and any(notice.code == compaction_pb2.NOTICE_CODE_REQUEST_REPAIRED for notice in response.notices):
        return
    _check_messages(source, result, response)


def _check_system(source: Parts, result: Parts, breakpoints: Sequence[compaction_pb2.Breakpoint]) -> None:
    marked = {at.index for at in breakpoints if at.target == compaction_pb2.BREAKPOINT_TARGET_SYSTEM}
    assert len(result.system) == len(source.system), "system blocks came or went"
    assert marked <= set(range(len(source.system))), "a breakpoint is on a system block that is not there"
    for at, (old, new) in enumerate(zip(source.system, result.system, strict=True)):
        if at not in marked:
            assert new == old, f"system[{at}] was changed"
        else:
            assert _without_mark(result.decoded(new)) == source.decoded(old), f"system[{at}] was changed by its mark"


def _without_mark(value: Any) -> Any:
    left = raw_json.Pairs(pair for pair in value if pair[0] != "cache_control")
    assert left != value, "a breakpoint is named that was not set"
    return left


def _check_messages(source: Parts, result: Parts, response: pb.CompactResponse) -> None:
    record, lead = response.compaction, source.leading
    kept_from = max(lead, record.first_kept_index)
    ours = 1 if record.summary else 0
    is_window = record.strategy in (policy_pb2.STRATEGY_RECENT, policy_pb2.STRATEGY_IMPORTANT)
    owed = kept_from > lead and not is_window
    assert owed == bool(ours), "messages were evicted without a word, or a word was put before none"
    besides = [index for kept in record.kept_ranges for index in range(kept.start, kept.stop)]
    assert besides == sorted({*besides} & {*range(lead, kept_from)}), "a kept range holds no evicted message"
    origins = [*range(lead), *[-1] * ours, *besides, *range(kept_from, len(source.messages))]
    wanted = [None if index < 0 else source.messages[index] for index in origins]
    assert len(result.messages) == len(wanted), "the result does not have the messages that its record names"
    for at, (origin, old, new) in enumerate(zip(origins, wanted, result.messages, strict=True)):
        if origin < 0:
            assert record.summary in _texts(result.decoded(new)), "the summary message is not the record's"
        elif new != old:
            assert_lighter(source.decoded(old), result.decoded(new), record, origin, f"messages[{at}]")
    for point in response.breakpoints:
        if point.target == compaction_pb2.BREAKPOINT_TARGET_MESSAGE:
            assert origins[point.index] == -1, "a breakpoint was set on one of the caller's messages"
            assert "cache_control" in str(result.decoded(result.messages[point.index])), "a breakpoint was not set"


def assert_lighter(old: Any, new: Any, record: compaction_pb2.Compaction, origin: int, place: str) -> None:
    """Raises AssertionError unless the message is what the record's clipping and stripping can make of it."""
    if origin < record.stripped_before_index:
        old, new = _without_reasoning(old), _without_reasoning(new)
        if not dict(old).get("content"):
            return
    if origin < record.clipped_before_index:
        _assert_shorter(old, new, place, is_value=dict(old).get("role") == "tool")
        return
    assert new == old, f"{place} was changed"


def _without_reasoning(message: Any) -> Any:
    """A message without its reasoning, in the form of any of the arms."""
    members = []
    for key, item in message:
        if key.startswith("reasoning"):
            continue
        if key == "content" and isinstance(item, list):
            item = [block for block in item if not _is_reasoning(block)]
        members.append((key, item))
    return raw_json.Pairs(members)


def _is_reasoning(block: Any) -> bool:
    return dict(block).get("type") in _REASONING or "thinking" in dict(block)


def _assert_shorter(old: Any, new: Any, place: str, *, is_value: bool) -> None:
    """Raises AssertionError unless the two differ in strings of tool arguments and results alone, which are shorter."""
    if isinstance(old, raw_json.Pairs):
        assert isinstance(new, raw_json.Pairs), f"{place} is no object any more"
        assert [key for key, _ in new] == [key for key, _ in old], f"{place} has other keys"
        inside = is_value or str(dict(old).get("type")) in _VALUES
        for (key, was), (_, is_now) in zip(old, new, strict=True):
            is_inside = (inside and (key not in _NOT_VALUES or is_value_key(place))) or key in _VALUES
            _assert_shorter(was, is_now, f"{place}.{key}", is_value=is_inside)
    elif isinstance(old, list):
        assert isinstance(new, list), f"{place} is no list any more"
        assert len(new) == len(old), f"{place} has another length"
        for at, (was, is_now) in enumerate(zip(old, new, strict=True)):
            _assert_shorter(was, is_now, f"{place}[{at}]", is_value=is_value)
    elif isinstance(old, str) and not isinstance(old, raw_json.Number) and new != old:
        assert is_value, f"{place} is no tool argument or result, but was changed"
        assert isinstance(new, str), f"{place} is no text any more"
        _assert_shorter_text(old, new, place)
    else:
        assert new == old, f"{place} was changed"


def is_value_key(place: str) -> bool:
    """Whether a place lies inside a tool's arguments, where every key is the caller's."""
    return ".input." in f"{place}."


def _assert_shorter_text(old: str, new: str, place: str) -> None:
    assert len(new) < len(old), f"{place} is no shorter for being clipped"
    assert "\ufffd" in old or "\ufffd" not in new, f"{place} was cut inside a character"
    if place.endswith((".arguments", ".input_json")):
        _assert_shorter(raw_json.spelled(old), raw_json.spelled(new), f"{place}.input", is_value=True)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, raw_json.Pairs):
        return [text for _, item in value for text in _texts(item)]
    return [text for item in value for text in _texts(item)] if isinstance(value, list) else []


def spelling_of(element: Any) -> Any:
    """An element in a form that can be compared and searched."""
    return element.SerializeToString(deterministic=True) if isinstance(element, Message) else element
