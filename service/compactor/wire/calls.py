"""Requests of the contract as values: what a caller sends, checked, named and refused where it cannot be served."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

from google.protobuf.message import Message

from compactor.app import Compactor
from compactor.errors import EmptyConversation, FieldNotSupported, MalformedPayload, PolicyOutOfRange
from compactor.exchange import CompactCall
from compactor.formats import anthropic, openai
from compactor.formats.prefixes import Prefixes
from compactor.formats.reading import ReaderOf
from compactor.model import Compaction, Dialect, Format, ObservedOverflow, ObservedUsage, Reason, Request, Strategy
from compactor.policy import (
    LARGEST,
    HistoryMode,
    KeepUnit,
    Policy,
    Reasoning,
    Repair,
    Summarizer,
    TokenCounter,
    check,
)
from compactor.wire.conversation import body_of
from hango.compaction.v1 import compaction_pb2, compaction_service_pb2, conversation_pb2, policy_pb2


class _FormatEntry(NamedTuple):
    format: Format
    read: Callable[[bytes, ReaderOf, Prefixes], Request]
    dialect: Dialect


_FORMATS = {
    conversation_pb2.PAYLOAD_FORMAT_ANTHROPIC_MESSAGES: _FormatEntry(
        Format.ANTHROPIC_MESSAGES, anthropic.index, anthropic.DIALECT
    ),
    conversation_pb2.PAYLOAD_FORMAT_OPENAI_CHAT: _FormatEntry(Format.OPENAI_CHAT, openai.index, openai.DIALECT),
}
_TYPED = _FORMATS[conversation_pb2.PAYLOAD_FORMAT_ANTHROPIC_MESSAGES]

_ENUMS = {
    "keep_unit": (policy_pb2.KeepUnit, KeepUnit),
    "strategy": (policy_pb2.Strategy, Strategy),
    "summarizer": (policy_pb2.Summarizer, Summarizer),
    "token_counter": (policy_pb2.TokenCounter, TokenCounter),
    "reasoning": (policy_pb2.Reasoning, Reasoning),
    "repair": (policy_pb2.Repair, Repair),
    "history_mode": (policy_pb2.HistoryMode, HistoryMode),
}
_SCALARS = tuple(field.name for field in fields(Policy) if field.name not in (*_ENUMS, "unclipped_tools"))


class Source(NamedTuple):
    """A request with the dialect of its bytes."""

    request: Request
    dialect: Dialect


def compact_call(message: compaction_service_pb2.CompactRequest, compactor: Compactor) -> CompactCall:
    """A Compact call. Raises the error of what is wrong with it, before anything is counted."""
    policy = policy_of(message.policy)
    record = record_of(message.previous_compaction) if message.HasField("previous_compaction") else None
    source = source_of(message, policy, compactor)
    stable = message.stable_system_count if message.HasField("stable_system_count") else None
    if stable is not None and stable < 0:
        raise _out_of_range("stable_system_count", stable, "at least 0")
    return CompactCall(
        request=source.request,
        dialect=source.dialect,
        policy=policy,
        record=record,
        reason=_reason(message.reason, "reason"),
        session_id=message.session_id,
        turn_id=message.turn_id,
        stable_system_count=stable,
        usage=usage_of(message),
        overflow=_overflow(message.overflow) if message.HasField("overflow") else None,
    )


def source_of(message: Any, policy: Policy, compactor: Compactor) -> Source:
    """The request in either arm, indexed."""
    match message.WhichOneof("source"):
        case "native":
            entry = _FORMATS.get(message.native.format)
            if entry is None:
                raise MalformedPayload("native.format is not set", detail="format")
            body = message.native.body
        case "conversation":
            entry = _TYPED
            if not message.conversation.messages:
                raise EmptyConversation("the conversation has no messages", message_count=0)
            body = body_of(message.conversation)
        case _:
            raise MalformedPayload("the call has no source", detail="source")
    return Source(entry.read(body, compactor.readers(policy, entry.format), compactor.prefixes), entry.dialect)


def policy_of(message: policy_pb2.Policy) -> Policy:
    """The policy. Raises PolicyOutOfRange."""
    values: dict[str, Any] = {name: getattr(message, name) for name in _SCALARS if message.HasField(name)}
    for name, (enum, kind) in _ENUMS.items():
        number = getattr(message, name)
        if number not in enum.values():
            raise _out_of_range(f"policy.{name}", number, "a value of the enum")
        if number:
            values[name] = kind(_short(enum, number))
    policy = Policy(unclipped_tools=tuple(message.unclipped_tools), **values)
    check(policy)
    return policy


def record_of(message: compaction_pb2.Compaction) -> Compaction:
    """A record as the caller sends it back."""
    strategy = _strategy(message.strategy)
    ranges = tuple((kept.start, kept.stop) for kept in message.kept_ranges)
    pinned = None
    if ranges and strategy is Strategy.SUMMARIZE:
        pinned = ranges[0][0]
        if ranges != ((pinned, pinned + 1),):
            raise _not_supported("previous_compaction.kept_ranges")
        ranges = ()
    return Compaction(
        sequence=message.sequence,
        turn_id=message.turn_id,
        reason=_reason(message.reason, "previous_compaction.reason"),
        summary=message.summary,
        first_kept_index=message.first_kept_index,
        pinned_index=pinned,
        strategy=strategy,
        kept_ranges=ranges,
        clipped_before_index=message.clipped_before_index,
        clip_max_tokens=message.clip_max_tokens,
        unclipped_tools=tuple(message.unclipped_tools),
        stripped_before_index=message.stripped_before_index,
        repairs=message.repair == policy_pb2.REPAIR_SYNTHESIZE,
        history_path=message.history_path,
        prefix_digest=message.prefix_digest,
        original_input_tokens=message.original_input_tokens,
        compacted_input_tokens=message.compacted_input_tokens,
        estimate_ratio=message.estimate_ratio,
    )


def usage_of(message: Any) -> ObservedUsage | None:
    """What a provider reported, as a call says; None where it says nothing. Raises PolicyOutOfRange."""
    if not message.HasField("last_usage"):
        return None
    usage = ObservedUsage(
        message.last_usage.message_count, message.last_usage.input_tokens, message.last_usage.sequence
    )
    _check_counts("last_usage", **usage._asdict())
    return usage


def _overflow(message: compaction_service_pb2.ObservedOverflow) -> ObservedOverflow:
    overflow = ObservedOverflow(message.actual_input_tokens, message.max_input_tokens)
    _check_counts("overflow", **overflow._asdict())
    return overflow


def _check_counts(field: str, **values: int) -> None:
    for name, value in values.items():
        if not 0 <= value <= LARGEST:
            raise _out_of_range(f"{field}.{name}", value, f"at least 0, at most {LARGEST}")


def _reason(number: int, field: str) -> Reason:
    if number not in compaction_pb2.CompactionReason.values():
        raise _out_of_range(field, number, "a value of the enum")
    return Reason(_short(compaction_pb2.CompactionReason, number))


def _strategy(number: int) -> Strategy:
    if number not in policy_pb2.Strategy.values():
        raise _out_of_range("previous_compaction.strategy", number, "a value of the enum")
    return Strategy(_short(policy_pb2.Strategy, number)) if number else Strategy.SUMMARIZE


def _short(enum: Any, number: int) -> str:
    """An enum value's name without the enum's own."""
    return str(enum.Name(number)).removeprefix(enum.Name(0).removesuffix("UNSPECIFIED"))


def refuse_set(message: Message, *names: str, prefix: str = "") -> None:
    """Refuses fields that are set and whose behaviour this version does not have."""
    for name in names:
        if message.HasField(name):
            raise _not_supported(prefix + name)


def _not_supported(field: str) -> FieldNotSupported:
    return FieldNotSupported(f"{field} is not supported by this version", field=field)


def _out_of_range(field: str, value: object, bounds: str) -> PolicyOutOfRange:
    return PolicyOutOfRange(f"{field} is {value}, it has to be {bounds}", field=field, value=value, range=bounds)
