"""What a caller hands over: a request body and its format, and a policy by the contract's names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Literal

import grpc
import msgspec
from google.protobuf.descriptor import FieldDescriptor

from hango.compaction.errors import MalformedPayload, UnknownFormat
from hango.compaction.v1.conversation_pb2 import (
    PAYLOAD_FORMAT_ANTHROPIC_MESSAGES,
    PAYLOAD_FORMAT_OPENAI_CHAT,
    NativePayload,
)
from hango.compaction.v1.policy_pb2 import Policy

Format = Literal["anthropic", "openai"]
Json = dict[str, Any]

FORMATS: Mapping[Format, Any] = {
    "anthropic": PAYLOAD_FORMAT_ANTHROPIC_MESSAGES,
    "openai": PAYLOAD_FORMAT_OPENAI_CHAT,
}

MOST_LOOKED_AT = 64
"""Messages that are looked at for a sign of their format."""

_MEMBERS: Mapping[Format, frozenset[str]] = {
    "anthropic": frozenset({"system", "anthropic_version", "anthropic_beta", "stop_sequences", "thinking"}),
    "openai": frozenset({"max_completion_tokens", "parallel_tool_calls", "response_format", "stream_options", "stop"}),
}
_BLOCKS: Mapping[Format, frozenset[str]] = {
    "anthropic": frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"}),
    "openai": frozenset({"image_url", "input_audio", "file", "refusal"}),
}
_MODELS: Mapping[Format, re.Pattern[str]] = {
    "anthropic": re.compile(r"claude"),
    "openai": re.compile(r"(?:^|/)(?:gpt-|chatgpt-|o\d)"),
}


def encoded(body: Json) -> bytes:
    """A request as compact JSON in UTF-8."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        # Half of a surrogate pair: as an escape it reaches the service, which names the message that holds it.
        return json.dumps(body, separators=(",", ":")).encode()


def native(body: bytes | Json, format: Format | None) -> NativePayload:
    """A body for the wire; without a format, of the one that it shows. Raises what `format_of` does."""
    chosen = format_of(body) if format is None else format
    if chosen not in FORMATS:
        raise ValueError(f"format is {chosen!r}, it has to be {' or '.join(FORMATS)}")
    return NativePayload(format=FORMATS[chosen], body=body if isinstance(body, bytes) else encoded(body))


def format_of(body: bytes | Json) -> Format:
    """The format that a request body shows.

    The first sign decides: a member that only one format has (`system`, `max_completion_tokens`, …), the shape of the
    tools, the shape of the first 64 messages (a leading system message, `tool_calls`, the types of content blocks), the
    name of the model. A body of plain text for a model of another maker reads the same in both formats and has to be
    named: UnknownFormat. Raises MalformedPayload for bytes that are no JSON object.

        >>> format_of({"model": "claude-haiku-4-5", "messages": [{"role": "user", "content": "Hello"}]})
        'anthropic'
    """
    top = body if isinstance(body, dict) else _top(body)
    for sign in (_by_members(top), _by_tools(top), _by_messages(top), _by_model(top)):
        if sign is not None:
            return sign
    raise UnknownFormat(
        "the body does not tell its format; say anthropic or openai",
        code=grpc.StatusCode.INVALID_ARGUMENT,
        reason="MALFORMED_PAYLOAD",
        metadata={"detail": "format"},
    )


class _Top(msgspec.Struct):
    """The top of a body, its messages not decoded yet."""

    model: Any = None
    tools: Any = None
    messages: list[msgspec.Raw] = []


def _top(body: bytes) -> Json:
    try:
        top = msgspec.json.decode(body, type=_Top)
        names = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        return {**names, "model": top.model, "tools": top.tools, "messages": map(_message, top.messages)}
    except (msgspec.MsgspecError, RecursionError):
        return _leniently(body)


def _message(raw: msgspec.Raw) -> Json | None:
    try:
        return msgspec.json.decode(raw, type=Json)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _leniently(body: bytes) -> Json:
    """A body that the strict reader refuses, so that the service may say what is wrong with it."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _malformed("the body is not JSON", type(error).__name__) from None
    if not isinstance(value, dict):
        raise _malformed("the body is not a JSON object", type(value).__name__)
    return value


def _malformed(message: str, detail: str) -> MalformedPayload:
    code = grpc.StatusCode.INVALID_ARGUMENT
    return MalformedPayload(message, code=code, reason="MALFORMED_PAYLOAD", metadata={"detail": detail})


def _by_members(top: Json) -> Format | None:
    return next((format for format, names in _MEMBERS.items() if not names.isdisjoint(top)), None)


def _by_tools(top: Json) -> Format | None:
    for tool in _objects(top.get("tools")):
        if "input_schema" in tool:
            return "anthropic"
        if "function" in tool:
            return "openai"
    return None


def _by_messages(top: Json) -> Format | None:
    for at, message in enumerate(islice(_objects(top.get("messages")), MOST_LOOKED_AT)):
        role = message.get("role")
        if role in ("tool", "function", "developer") or "tool_calls" in message or (role == "system" and not at):
            return "openai"
        kinds = {block.get("type") for block in _objects(message.get("content"))}
        for format, blocks in _BLOCKS.items():
            if not blocks.isdisjoint(kinds):
                return format
    return None


def _by_model(top: Json) -> Format | None:
    model = str(top.get("model") or "")
    return next((format for format, pattern in _MODELS.items() if pattern.search(model)), None)


def _objects(value: object) -> Iterable[Json]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list | map) else ()


def policy_of(values: Mapping[str, object]) -> Policy:
    """A policy from values by the contract's names; None is "not set".

    Enums go by their short names. Every value may also be given as text, as on a command line; a text for a list is
    split at commas. Raises ValueError, naming the fields that there are, for another name, or what the value has to be.

        >>> policy_of({"max_input_tokens": 60_000, "repair": "SYNTHESIZE", "unclipped_tools": ["write_file"]})
        max_input_tokens: 60000
        unclipped_tools: "write_file"
        repair: REPAIR_SYNTHESIZE
        <BLANKLINE>
    """
    policy = Policy()
    fields = Policy.DESCRIPTOR.fields_by_name
    for name, value in values.items():
        if name not in fields:
            raise ValueError(f"the policy has no field {name!r}; it has {', '.join(fields)}")
        if value is None:
            continue
        field = fields[name]
        if not field.has_presence:  # every field of the policy but the lists has it
            getattr(policy, name).extend(_list(name, value))
            continue
        try:
            setattr(policy, name, _value(field, value))
        except (TypeError, ValueError, LookupError):
            raise ValueError(f"policy.{name} is {value!r}; it has to be {_kind(field)}") from None
    return policy


def _list(name: str, value: object) -> list[str]:
    items = [item.strip() for item in value.split(",")] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise ValueError(f"policy.{name} is {value!r}; it has to be a list of texts")
    return [item for item in items if item]


_TRUTH = {"true": True, "false": False}
_READ: Mapping[int, tuple[str, Callable[[str], object]]] = {
    FieldDescriptor.CPPTYPE_INT32: ("a whole number", int),
    FieldDescriptor.CPPTYPE_INT64: ("a whole number", int),
    FieldDescriptor.CPPTYPE_DOUBLE: ("a number", float),
    FieldDescriptor.CPPTYPE_BOOL: ("true or false", lambda text: _TRUTH[text.strip().lower()]),
    FieldDescriptor.CPPTYPE_STRING: ("a text", str),
}


def _value(field: Any, value: object) -> object:
    """A value of a field's own type. Raises TypeError, ValueError or LookupError."""
    if isinstance(value, bool) != (field.cpp_type == FieldDescriptor.CPPTYPE_BOOL) and not isinstance(value, str):
        raise TypeError
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        numbers = _short_names(field)
        return numbers[value.strip().upper()] if isinstance(value, str) else _known(value, numbers)
    return _READ[field.cpp_type][1](value) if isinstance(value, str) else value


def _known(value: object, numbers: Mapping[str, int]) -> object:
    if value not in numbers.values():
        raise ValueError
    return value


def _short_names(field: Any) -> dict[str, int]:
    """The values of an enum by their names without the enum's own, the unspecified one left out."""
    values = field.enum_type.values
    prefix = values[0].name.removesuffix("UNSPECIFIED")
    return {value.name.removeprefix(prefix): value.number for value in values[1:]}


def _kind(field: Any) -> str:
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        return " or ".join(_short_names(field))
    return _READ[field.cpp_type][0]
