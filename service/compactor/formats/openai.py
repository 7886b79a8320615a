"""OpenAI Chat Completions: an index over a request body, and the bytes of the messages that change.

System text stands in the messages themselves: the leading system messages are the prompt, a later one is a note like
any other message. Rule names (OA-1, …) are those that `core.validate` explains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import msgspec

from compactor.errors import EmptyConversation, MalformedPayload
from compactor.formats import json_text, openai_repair
from compactor.formats.clipping import clip_strings, clip_text
from compactor.formats.prefixes import Prefixes
from compactor.formats.reading import (
    Frame,
    Reader,
    ReaderOf,
    compact,
    decoded,
    frame_members,
    in_body,
    options,
    scan,
    text_of,
    visible_text,
)
from compactor.model import Content, Element, Format, Kind, Media, Part, Request, Role, Shorten, Span

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
_OPTIONS = (b"max_completion_tokens", b"max_tokens")
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,", re.ASCII)


def index(body: bytes, reader_of: ReaderOf, prefixes: Prefixes) -> Request:
    """Indexes a request body. Raises MalformedPayload or EmptyConversation."""
    found = scan(body, Format.OPENAI_CHAT, prefixes)
    reader = reader_of(found.model)
    frame = reader.frame(found.frame, lambda: _frame(found.frame, reader))
    messages, keys = reader.messages(found.raws, DIALECT.read)
    leading = len(list(takewhile(lambda message: message.role is Role.SYSTEM, messages)))
    if leading == len(messages):
        raise EmptyConversation("the request has no messages besides system text", message_count=leading)
    maximum = frame.fields["max_completion_tokens"] or frame.fields["max_tokens"]
    return Request(
        format=Format.OPENAI_CHAT,
        body=body,
        model=found.model,
        messages=messages,
        keys=keys,
        starts=found.starts,
        stops=found.stops,
        array=found.array,
        tools=frame.tools,
        tools_span=in_body(frame.tools_span, found, body),
        leading=leading,
        max_output_tokens=maximum if isinstance(maximum, int) and maximum > 0 else None,
    )


def _frame(text: bytes, reader: Reader) -> Frame:
    members = frame_members(text)
    fields = options(text, members, _OPTIONS)
    span = members.get(b"tools")
    tools: tuple[Element, ...] = ()
    if span is not None and text[slice(*span)] != b"null":
        value = decoded(text[slice(*span)], "tools")
        if not isinstance(value, list) or not all(isinstance(tool, dict) for tool in value):
            raise MalformedPayload("tools is not a list of objects", place="tools")
        tools = tuple(
            Element(text[slice(*at)], reader.tool(text[slice(*at)]), markable=False, offset=at.start - span.start)
            for at in json_text.elements(text, span.start)
        )
    return Frame(tools=tools, tools_span=span, fields=fields)


class OpenAIDialect:
    """What can be done with the bytes of a Chat Completions message; see `model.Dialect`."""

    format = Format.OPENAI_CHAT

    def read(self, raw: bytes) -> Content:
        message = decoded(raw, "a message")
        if not isinstance(message, dict):
            raise MalformedPayload("a message is not an object", place="messages")
        named = message.get("role")
        role = _ROLES.get(named) if isinstance(named, str) else None
        if role is None:
            raise MalformedPayload("a message has no role of the format", place="messages")
        if role is Role.TOOL:
            return _tool_message(message)
        parts = [
            Part(Kind.THINKING, message[name])
            for name in _REASONING
            if isinstance(message.get(name), str) and message[name]
        ][:1]
        parts += _content_parts(message.get("content"))
        if isinstance(message.get("refusal"), str) and message["refusal"]:
            parts.append(Part(Kind.TEXT, message["refusal"]))
        parts += _calls(message)
        return Content(role, tuple(parts), _breaches(role, message), _marks(message))

    def clip(self, raw: bytes, shorten: Shorten, exempt: frozenset[str]) -> tuple[bytes, int]:
        message = decoded(raw, "a message")
        changes: list[tuple[Span, bytes]] = []
        if message.get("role") in ("tool", "function"):
            if _call_id(message) not in exempt:
                changes = _clip_content(raw, shorten)
        elif message.get("tool_calls"):
            changes = _clip_calls(raw, message["tool_calls"], shorten, exempt)
        return (json_text.spliced(raw, changes), len(changes)) if changes else (raw, 0)

    def strip(self, raw: bytes) -> bytes:
        for name in _REASONING:
            member = json_text.last_member(raw, name.encode())
            if member is not None:
                raw = json_text.spliced(raw, json_text.without(raw, member))
        return raw

    def mark(self, raw: bytes, ttl: str) -> bytes | None:  # noqa: ARG002 - the format has no breakpoints
        return None

    def mark_block(self, raw: bytes, ttl: str) -> bytes:  # noqa: ARG002 - the format has no breakpoints
        return raw

    def user_message(self, text: str) -> bytes:
        return b'{"role":"user","content":' + compact(text).encode() + b"}"

    def repair(self, messages: Sequence[bytes]) -> list[tuple[int, bytes | None]]:
        return openai_repair.repair(messages)


DIALECT = OpenAIDialect()


def _call_id(message: dict[str, Any]) -> str:
    if message.get("role") == "function":
        return f"function:{message.get('name')}"
    value = message.get("tool_call_id")
    return value if isinstance(value, str) else ""


def _tool_message(message: dict[str, Any]) -> Content:
    content = message.get("content")
    breaches = ("OA-3",) if content is None or content == [] else ()
    inner = tuple(_content_parts(content))
    text = "\n".join(part.text for part in inner if part.text)
    name = message.get("name")
    nested = inner if isinstance(content, list) else ()
    part = Part(Kind.TOOL_RESULT, text, _call_id(message), name if isinstance(name, str) else "", parts=nested)
    return Content(Role.TOOL, (part,), breaches, _marks(message))


def _content_parts(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [Part(Kind.TEXT, content)] if content else []
    if content is None:
        return []
    if not isinstance(content, list):
        raise MalformedPayload("a message's content is neither a text nor a list of parts", place="messages")
    return [_content_part(part) for part in content]


def _content_part(part: Any) -> Part:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise MalformedPayload("a content part has no type", place="messages")
    kind = part["type"]
    if kind in ("text", "input_text", "output_text"):
        return Part(Kind.TEXT, text_of(part.get("text"), "a content part"))
    if kind == "image_url":
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        detail = image.get("detail") if isinstance(image, dict) else ""
        return Part(Kind.MEDIA, media=_media("image", url, detail if isinstance(detail, str) else ""))
    if kind == "input_audio":
        audio = part.get("input_audio")
        audio = audio if isinstance(audio, dict) else {}
        data = audio.get("data")
        return Part(
            Kind.MEDIA, media=Media("audio", f"audio/{audio.get('format')}", data if isinstance(data, str) else "")
        )
    if kind == "file":
        file = part.get("file")
        file = file if isinstance(file, dict) else {}
        data = file.get("file_data")
        if isinstance(data, str) and data:
            return Part(Kind.MEDIA, media=_media("document", data, "") if data.startswith("data:") else _bare(data))
        return Part(Kind.MEDIA, media=_media("document", file.get("file_id"), ""))
    text = visible_text(part)
    return Part(Kind.OPAQUE, text, name=kind, weight=max(0, len(compact(part)) - len(text.encode())))


def _media(type: str, address: object, detail: str) -> Media:
    text = address if isinstance(address, str) else ""
    match = _DATA_URL.match(text)
    if match is None:
        return Media(type, reference=text, detail=detail)
    return Media(type, match.group(1) or "", text[match.end() :], detail=detail)


def _bare(data: str) -> Media:
    """A file whose bytes come without a data URL around them."""
    return Media("document", "application/pdf", data)


def _calls(message: dict[str, Any]) -> list[Part]:
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise MalformedPayload("tool_calls is not a list", place="messages")
    found = [_call(call) for call in calls or ()]
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        found.append(Part(Kind.TOOL_USE, str(legacy.get("arguments") or ""), f"function:{legacy.get('name')}"))
    return found


def _call(call: Any) -> Part:
    if not isinstance(call, dict):
        raise MalformedPayload("a tool call is not an object", place="messages")
    function, custom = call.get("function"), call.get("custom")
    if isinstance(function, dict):
        name, text = function.get("name"), function.get("arguments")
    elif isinstance(custom, dict):
        name, text = custom.get("name"), custom.get("input")
    else:
        name, text = "", compact(call)
    identifier = call.get("id")
    return Part(
        Kind.TOOL_USE,
        text if isinstance(text, str) else compact(text) if text is not None else "",
        identifier if isinstance(identifier, str) else "",
        name if isinstance(name, str) else "",
    )


def _clip_content(raw: bytes, shorten: Shorten) -> list[tuple[Span, bytes]]:
    """The changes to a tool message. The format has no flag for failures, so the words of a result have to tell."""
    content = json_text.last_member(raw, b"content")
    if content is None:
        return []
    if raw[content.value.start] == 0x22:
        return clip_text(raw, content.value, shorten, is_error=False)
    changes: list[tuple[Span, bytes]] = []
    if raw[content.value.start] == 0x5B:
        for part in json_text.elements(raw, content.value.start):
            text = json_text.last_member(raw, b"text", part.start)
            if text is not None:
                changes += clip_text(raw, text.value, shorten, is_error=False)
    return changes


def _clip_calls(
    raw: bytes, calls: list[dict[str, Any]], shorten: Shorten, exempt: frozenset[str]
) -> list[tuple[Span, bytes]]:
    member = json_text.last_member(raw, b"tool_calls")
    changes: list[tuple[Span, bytes]] = []
    if member is None:
        return changes
    for at, call in zip(json_text.elements(raw, member.value.start), calls, strict=True):
        if isinstance(call.get("id"), str) and call["id"] in exempt:
            continue
        function = json_text.last_member(raw, b"function", at.start)
        custom = json_text.last_member(raw, b"custom", at.start)
        if function is not None and raw[function.value.start] == 0x7B:
            arguments = json_text.last_member(raw, b"arguments", function.value.start)
            if arguments is not None and raw[arguments.value.start] == 0x22:
                changes += _clip_arguments(raw, arguments.value, shorten)
        elif custom is not None and raw[custom.value.start] == 0x7B:
            text = json_text.last_member(raw, b"input", custom.value.start)
            if text is not None:
                changes += clip_text(raw, text.value, shorten, is_error=False)
    return changes


def _clip_arguments(raw: bytes, at: Span, shorten: Shorten) -> list[tuple[Span, bytes]]:
    """The change to an arguments text: long strings inside its JSON; a text that is no JSON object stays as it is."""
    inner = msgspec.json.decode(raw[slice(*at)], type=str).encode()
    try:
        msgspec.json.decode(inner, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError):
        return []
    changes = clip_strings(inner, Span(0, len(inner)), shorten, is_error=False)
    if not changes:
        return []
    return [(at, msgspec.json.encode(json_text.spliced(inner, changes).decode()))]


def _breaches(role: Role, message: dict[str, Any]) -> tuple[str, ...]:
    """The rules that a message breaks by itself."""
    found: set[str] = set()
    content, calls = message.get("content"), message.get("tool_calls")
    if "tool_calls" in message and not calls:
        found.add("OA-3")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if part.get("type") == "text"]
        if not content or any(not str(text or "").strip() for text in texts):
            found.add("OA-3")
    else:
        says = calls or message.get("function_call") or message.get("refusal") or message.get("audio")
        if not (isinstance(content, str) and content.strip()) and not (role is Role.ASSISTANT and says):
            found.add("OA-3")
    for call in calls or ():
        function = call.get("function")
        if isinstance(function, dict) and not _is_object(function.get("arguments")):
            found.add("OA-4")
        if not call.get("id"):
            found.add("OA-1")
    return tuple(sorted(found))


def _is_object(arguments: object) -> bool:
    try:
        msgspec.json.decode(arguments if isinstance(arguments, str) else "", type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return False
    return True


def _marks(message: dict[str, Any]) -> tuple[str, ...]:
    """Breakpoints in Anthropic's manner, which gateways in front of Claude models take in this format too."""
    content = message.get("content")
    blocks = [message, *(content if isinstance(content, list) else ())]
    return tuple("5m" for block in blocks if isinstance(block, dict) and block.get("cache_control"))
