"""Anthropic Messages: an index over a request body, and the bytes of the messages that change.

Rule names (A-1, T-4, …) are those that `core.validate` explains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compactor.errors import MalformedPayload
from compactor.formats import anthropic_repair, json_text
from compactor.formats.anthropic_repair import THINKING
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

STRIPPED = b'[{"type":"text","text":"(reasoning left out)"}]'
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_MEDIA = frozenset({"image", "document"})
_OUR_HEAD, _OUR_TAIL = b'{"role":"user","content":[{"type":"text","text":"', b'"}]}'
_OPTIONS = (b"max_tokens", b"thinking")


def index(body: bytes, reader_of: ReaderOf, prefixes: Prefixes) -> Request:
    """Indexes a request body. Raises MalformedPayload or EmptyConversation."""
    found = scan(body, Format.ANTHROPIC_MESSAGES, prefixes)
    reader = reader_of(found.model)
    frame = reader.frame(found.frame, lambda: _frame(found.frame, reader))
    messages, keys = reader.messages(found.raws, DIALECT.read)
    maximum, thinking = frame.fields["max_tokens"], frame.fields["thinking"]
    return Request(
        format=Format.ANTHROPIC_MESSAGES,
        body=body,
        model=found.model,
        messages=messages,
        keys=keys,
        starts=found.starts,
        stops=found.stops,
        array=found.array,
        system=frame.system,
        system_span=in_body(frame.system_span, found, body),
        system_is_text=frame.system_is_text,
        tools=frame.tools,
        tools_span=in_body(frame.tools_span, found, body),
        max_output_tokens=maximum if isinstance(maximum, int) and maximum > 0 else None,
        thinking_enabled=isinstance(thinking, dict) and thinking.get("type") == "enabled",
    )


def _frame(text: bytes, reader: Reader) -> Frame:
    members = frame_members(text)
    fields = options(text, members, _OPTIONS)
    system_span, tools_span = members.get(b"system"), members.get(b"tools")
    system, is_text = _system(text, system_span, reader)
    return Frame(fields, system, system_span, is_text, _tools(text, tools_span, reader), tools_span)


def _system(text: bytes, span: Span | None, reader: Reader) -> tuple[tuple[Element, ...], bool]:
    if span is None:
        return (), False
    value = decoded(text[slice(*span)], "system")
    if value is None:
        return (), False
    if isinstance(value, str):
        block = b'{"type":"text","text":' + text[slice(*span)] + b"}"
        content = Content(Role.SYSTEM, (Part(Kind.TEXT, value),))
        return (Element(block, reader.system(content), bool(value.strip())),), True
    if not isinstance(value, list):
        raise MalformedPayload("system is neither a text nor a list of blocks", place="system")
    return tuple(
        _system_block(text[slice(*at)], block, f"system[{number}]", reader, at.start - span.start)
        for number, (at, block) in enumerate(zip(json_text.elements(text, span.start), value, strict=True))
    ), False


def _system_block(raw: bytes, block: Any, place: str, reader: Reader, offset: int) -> Element:
    part = _part(block, place)
    can_carry = part.kind is Kind.TEXT and bool(part.text.strip())
    return Element(raw, reader.system(Content(Role.SYSTEM, (part,))), can_carry, offset, _ttl(block))


def _tools(text: bytes, span: Span | None, reader: Reader) -> tuple[Element, ...]:
    if span is None or text[span.start : span.stop] == b"null":
        return ()
    value = decoded(text[slice(*span)], "tools")
    if not isinstance(value, list) or not all(isinstance(tool, dict) for tool in value):
        raise MalformedPayload("tools is not a list of objects", place="tools")
    return tuple(
        Element(
            text[slice(*at)],
            reader.tool(text[slice(*at)]),
            markable=not tool.get("defer_loading"),
            offset=at.start - span.start,
            mark=_ttl(tool),
        )
        for at, tool in zip(json_text.elements(text, span.start), value, strict=True)
    )


def _ttl(block: Any) -> str:
    mark = block.get("cache_control")
    return str(mark.get("ttl") or "5m") if isinstance(mark, dict) else ""


class AnthropicDialect:
    """What can be done with the bytes of an Anthropic message; see `model.Dialect`."""

    format = Format.ANTHROPIC_MESSAGES

    def read(self, raw: bytes) -> Content:
        message = decoded(raw, "a message")
        if not isinstance(message, dict):
            raise MalformedPayload("a message is not an object", place="messages")
        role = _ROLES.get(_identifier(message.get("role")))
        if role is None:
            raise MalformedPayload("a message has no role of the format", place="messages")
        content = message.get("content")
        if isinstance(content, str):
            breaches = ("A-8",) if not content.strip() else ()
            return Content(role, (Part(Kind.TEXT, content),), breaches)
        if content is None:
            return Content(role, (), ("A-9",))
        if not isinstance(content, list):
            raise MalformedPayload("a message's content is neither a text nor a list of blocks", place="messages")
        parts = tuple([_part(block, "a content block") for block in content])
        return Content(role, parts, _breaches(role, content), _marks(content))

    def clip(self, raw: bytes, shorten: Shorten, exempt: frozenset[str]) -> tuple[bytes, int]:
        changes: list[tuple[Span, bytes]] = []
        for at, block in _blocks(raw):
            kind = block.get("type")
            if kind == "tool_use" and _identifier(block.get("id")) not in exempt:
                member = json_text.last_member(raw, b"input", at.start)
                if member is not None:
                    changes += clip_strings(raw, member.value, shorten, is_error=False)
            elif kind == "tool_result" and _identifier(block.get("tool_use_id")) not in exempt:
                changes += _clip_result(raw, at, shorten, is_error=block.get("is_error") is True)
        return (json_text.spliced(raw, changes), len(changes)) if changes else (raw, 0)

    def strip(self, raw: bytes) -> bytes:
        content = json_text.last_member(raw, b"content")
        if content is None or raw[content.value.start] != 0x5B:
            return raw
        kept = [raw[slice(*at)] for at, block in _blocks(raw) if block.get("type") not in THINKING]
        new = b"[" + b",".join(kept) + b"]" if kept else STRIPPED
        return json_text.spliced(raw, [(content.value, new)])

    def mark(self, raw: bytes, ttl: str) -> bytes | None:
        if raw.startswith(_OUR_HEAD) and raw.endswith(_OUR_TAIL):
            return self.mark_block(raw[: -len(_OUR_TAIL) + 2], ttl) + b"]}"
        content = json_text.last_member(raw, b"content")
        if content is None:
            return None
        if raw[content.value.start] == 0x22:
            block = b'[{"type":"text","text":' + raw[slice(*content.value)] + b"}]"
            raw = json_text.spliced(raw, [(content.value, block)])
        at, block_value = list(_blocks(raw))[-1]
        if block_value.get("type") in THINKING or "cache_control" in block_value:
            return None
        return json_text.spliced(raw, [(at, self.mark_block(raw[slice(*at)], ttl))])

    def mark_block(self, raw: bytes, ttl: str) -> bytes:
        lifetime = b',"ttl":"1h"' if ttl == "1h" else b""
        return raw.rstrip()[:-1] + b',"cache_control":{"type":"ephemeral"' + lifetime + b"}}"

    def user_message(self, text: str) -> bytes:
        return _OUR_HEAD + compact(text).encode()[1:-1] + _OUR_TAIL

    def repair(self, messages: Sequence[bytes]) -> list[tuple[int, bytes | None]]:
        return anthropic_repair.repair(messages)


DIALECT = AnthropicDialect()


def _blocks(raw: bytes) -> list[tuple[Span, dict[str, Any]]]:
    """The blocks of a message whose content is a list, each with its span."""
    content = json_text.last_member(raw, b"content")
    if content is None or raw[content.value.start] != 0x5B:
        return []
    spans = json_text.elements(raw, content.value.start)
    return [(at, decoded(raw[slice(*at)], "a content block")) for at in spans]


def _clip_result(raw: bytes, at: Span, shorten: Shorten, *, is_error: bool) -> list[tuple[Span, bytes]]:
    content = json_text.last_member(raw, b"content", at.start)
    if content is None:
        return []
    if raw[content.value.start] == 0x22:
        return clip_text(raw, content.value, shorten, is_error=is_error)
    if raw[content.value.start] != 0x5B:
        return []
    changes: list[tuple[Span, bytes]] = []
    for part in json_text.elements(raw, content.value.start):
        kind = json_text.last_member(raw, b"type", part.start)
        text = json_text.last_member(raw, b"text", part.start)
        if kind is not None and text is not None and raw[slice(*kind.value)] == b'"text"':
            changes += clip_text(raw, text.value, shorten, is_error=is_error)
    return changes


def _part(block: Any, place: str) -> Part:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise MalformedPayload(f"{place} has no type", place=place)
    kind = block["type"]
    if kind == "text":
        return Part(Kind.TEXT, text_of(block.get("text"), f"{place}.text"))
    if kind == "tool_use":
        return _call(Kind.TOOL_USE, block)
    if kind == "tool_result":
        return _result(block, place)
    if kind == "thinking":
        signature = block.get("signature")
        weight = len(signature) if isinstance(signature, str) else 0
        return Part(Kind.THINKING, text_of(block.get("thinking"), f"{place}.thinking"), weight=weight)
    if kind == "redacted_thinking":
        data = block.get("data")
        return Part(Kind.THINKING, weight=len(data) if isinstance(data, str) else 0)
    if kind in _MEDIA:
        return _media_part(block, place)
    if kind in ("server_tool_use", "mcp_tool_use"):
        return _call(Kind.SERVER_TOOL_USE, block)
    if kind.endswith("_tool_result"):
        return _opaque(Kind.SERVER_TOOL_RESULT, block, _identifier(block.get("tool_use_id")))
    return _opaque(Kind.OPAQUE, block, "")


def _call(kind: Kind, block: dict[str, Any]) -> Part:
    arguments = block.get("input")
    text = compact(arguments) if arguments is not None else ""
    return Part(kind, text, _identifier(block.get("id")), _identifier(block.get("name")))


def _identifier(value: object) -> str:
    return value if isinstance(value, str) else ""


def _result(block: dict[str, Any], place: str) -> Part:
    content = block.get("content")
    identifier, is_error = _identifier(block.get("tool_use_id")), block.get("is_error") is True
    if isinstance(content, list):
        parts = tuple(_part(part, f"{place}.content") for part in content)
        text = "\n".join(part.text for part in parts if part.text)
        return Part(Kind.TOOL_RESULT, text, identifier, is_error=is_error, parts=parts)
    return Part(Kind.TOOL_RESULT, text_of(content, f"{place}.content"), identifier, is_error=is_error)


def _media_part(block: dict[str, Any], place: str) -> Part:
    source = block.get("source")
    source = source if isinstance(source, dict) else {}
    nested = source.get("content")
    if isinstance(nested, list):
        parts = tuple(_part(part, f"{place}.source.content") for part in nested)
        return Part(Kind.OPAQUE, "\n".join(part.text for part in parts if part.text), name=block["type"], parts=parts)
    data = source.get("data")
    reference = source.get("url") or source.get("file_id")
    media = Media(
        type=block["type"],
        media_type=_identifier(source.get("media_type")),
        data=data if isinstance(data, str) else nested if isinstance(nested, str) else "",
        reference=_identifier(reference),
    )
    return Part(Kind.MEDIA, media=media)


def _opaque(kind: Kind, block: dict[str, Any], identifier: str) -> Part:
    text = visible_text(block)
    weight = max(0, len(compact(block)) - len(text.encode()))
    return Part(kind, text, identifier, block["type"], weight=weight)


def _breaches(role: Role, blocks: list[dict[str, Any]]) -> tuple[str, ...]:
    """The rules that a message breaks by itself."""
    found: set[str] = set() if blocks else {"A-9"}
    ahead = False
    for block in blocks:
        kind, mark = block["type"], block.get("cache_control")
        if kind == "text" and not str(block.get("text") or "").strip():
            found.update(("A-8", "A-10") if mark else ("A-8",))
        elif kind in THINKING:
            if mark:
                found.add("A-11")
            if not block.get("signature" if kind == "thinking" else "data"):
                found.add("T-4")
        if kind == "tool_result":
            if ahead:
                found.add("A-3")
            if role is not Role.USER:
                found.add("A-6")
        else:
            ahead = True
            if role is not Role.ASSISTANT and (kind.endswith(("tool_use", "tool_result")) or kind in THINKING):
                found.add("A-6")
            if role is Role.SYSTEM and kind != "text":
                found.add("A-28")
    return tuple(sorted(found))


def _marks(blocks: list[dict[str, Any]]) -> tuple[str, ...]:
    found: list[str] = []
    for block in blocks:
        inner = block.get("content")
        if isinstance(inner, list):
            found += [_ttl(part) for part in inner if isinstance(part, dict) and part.get("cache_control")]
        if block.get("cache_control"):
            found.append(_ttl(block))
    return tuple(found)
