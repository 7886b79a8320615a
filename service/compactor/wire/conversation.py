"""The typed arm: a Conversation as a request body of the Anthropic shape and back.

Inside there is one kind of work, on JSON. A conversation is written out as a body, message by message; the texts that
are JSON already (arguments, opaque blocks) go in as they are. What comes back are ranges of the caller's own messages,
copied, and a few new ones, read from their JSON. So a message that was not edited is the caller's own.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from compactor.errors import MalformedPayload
from compactor.formats.reading import decoded
from compactor.model import ArrayName, Edit, Literal, Raw
from hango.compaction.v1 import conversation_pb2 as pb

_ROLES = {pb.ROLE_USER: "user", pb.ROLE_ASSISTANT: "assistant", pb.ROLE_SYSTEM: "system"}
_ROLE_NUMBERS = {name: number for number, name in _ROLES.items()}


def body_of(conversation: pb.Conversation) -> bytes:
    """The conversation as a request body. Raises MalformedPayload naming what cannot be written as one."""
    parts = [b'{"model":', _json(conversation.model)]
    if conversation.max_output_tokens:
        parts.append(b',"max_tokens":%d' % conversation.max_output_tokens)
    if conversation.system:
        blocks = [_block(block, f"system[{at}]") for at, block in enumerate(conversation.system)]
        parts += (b',"system":', _array(blocks))
    if conversation.tools:
        parts += (b',"tools":', _array([_tool(tool, f"tools[{at}]") for at, tool in enumerate(conversation.tools)]))
    messages = [_message(message, f"messages[{at}]") for at, message in enumerate(conversation.messages)]
    parts += (b',"messages":', _array(messages), b"}")
    return b"".join(parts)


def applied(conversation: pb.Conversation, edits: Sequence[Edit]) -> pb.Conversation:
    """A copy of the conversation with edits applied; what was not edited is the caller's own."""
    result = pb.Conversation()
    result.CopyFrom(conversation)
    for edit in edits:
        made = _MAKERS[edit.array]
        raws, target = getattr(conversation, edit.array.lower()), getattr(result, edit.array.lower())
        del target[:]
        for piece in edit.pieces:
            target.extend(raws[slice(*piece)] if isinstance(piece, Raw) else [made(piece, conversation)])
    return result


def message(literal: Literal, source: pb.Conversation) -> pb.Message:
    """A new message; the blocks that it has from the message that it stands for are the caller's own."""
    value = decoded(literal.data, "a message")
    known = _known(source.messages[literal.origin].content) if literal.origin is not None else {}
    if isinstance(value["content"], str):
        block = pb.ContentBlock(text=pb.Text(text=value["content"]))
        return pb.Message(role=_ROLE_NUMBERS[value["role"]], content=[block])
    raws = msgspec.json.decode(literal.data, type=_Content).content
    blocks = [_block_from(block, bytes(raw), known) for block, raw in zip(value["content"], raws, strict=True)]
    return pb.Message(role=_ROLE_NUMBERS[value["role"]], content=blocks)


def system_block(literal: Literal, source: pb.Conversation) -> pb.ContentBlock:
    """A new system block: the caller's own with a breakpoint."""
    mark = decoded(literal.data, "a system block").get("cache_control")
    block = pb.ContentBlock()
    if literal.origin is not None:
        block.CopyFrom(source.system[literal.origin])
    block.cache_control.ttl = mark.get("ttl", "") if isinstance(mark, dict) else ""
    return block


_MAKERS: Mapping[ArrayName, Callable[[Literal, pb.Conversation], Any]] = {
    ArrayName.SYSTEM: system_block,
    ArrayName.MESSAGES: message,  # tool definitions are never edited
}


def _known(blocks: Iterable[pb.ContentBlock]) -> dict[bytes, pb.ContentBlock]:
    """The caller's blocks by the JSON that was written for them, those inside results included."""
    found: dict[bytes, pb.ContentBlock] = {}
    for block in blocks:
        found[_block(block, "")] = block
        if block.HasField("tool_result"):
            found.update(_known(block.tool_result.content))
    return found


class _Input(msgspec.Struct):
    input: msgspec.Raw


class _Content(msgspec.Struct):
    content: list[msgspec.Raw] = []


def _block_from(value: dict[str, Any], raw: bytes, known: Mapping[bytes, pb.ContentBlock]) -> pb.ContentBlock:
    """A block from its JSON: the caller's own where it is one of those, else a new one."""
    if raw in known:
        return known[raw]
    block = pb.ContentBlock()
    match value["type"]:
        case "text":
            block.text.text = value["text"]
        case "tool_use":
            arguments = bytes(msgspec.json.decode(raw, type=_Input).input).decode()
            block.tool_use.id, block.tool_use.name, block.tool_use.input_json = value["id"], value["name"], arguments
        case "tool_result":
            block.tool_result.CopyFrom(_result_from(value, raw, known))
        case "thinking":
            block.thinking.thinking, block.thinking.signature = value.get("thinking", ""), value.get("signature", "")
        case "redacted_thinking":
            block.thinking.redacted_data = value.get("data", "")
        case kind:
            block.opaque.type, block.opaque.json = kind, raw.decode()
            return block
    mark = value.get("cache_control")
    if isinstance(mark, dict):
        block.cache_control.SetInParent()
        block.cache_control.ttl = mark.get("ttl", "")
    return block


def _result_from(value: dict[str, Any], raw: bytes, known: Mapping[bytes, pb.ContentBlock]) -> pb.ToolResult:
    raws = msgspec.json.decode(raw, type=_Content).content
    content = [
        _block_from(part, bytes(inner), known) for part, inner in zip(value.get("content") or (), raws, strict=True)
    ]
    return pb.ToolResult(tool_use_id=value["tool_use_id"], content=content, is_error=value.get("is_error") is True)


def _json(value: object) -> bytes:
    return msgspec.json.encode(value)


def _array(elements: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(elements) + b"]"


def _object(members: Sequence[tuple[str, bytes]]) -> bytes:
    return b"{" + b",".join([_json(name) + b":" + value for name, value in members]) + b"}"


def _json_object(text: str, place: str) -> bytes:
    """A text that has to be a JSON object, as it is."""
    data = text.encode()
    try:
        msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError):
        raise MalformedPayload(f"{place} is not a JSON object", place=place) from None
    return data


def _tool(tool: pb.Tool, place: str) -> bytes:
    members = [("name", _json(tool.name))]
    if tool.description:
        members.append(("description", _json(tool.description)))
    schema = _json_object(tool.input_schema_json or "{}", f"{place}.input_schema_json")
    members.append(("input_schema", schema))
    return _object(members + _marks(tool))


def _marks(marked: pb.ContentBlock | pb.Tool) -> list[tuple[str, bytes]]:
    """The breakpoint of a block or tool as a member, if it has one."""
    if not marked.HasField("cache_control"):
        return []
    ttl = marked.cache_control.ttl
    return [("cache_control", _json({"type": "ephemeral", "ttl": ttl} if ttl else {"type": "ephemeral"}))]


def _message(message: pb.Message, place: str) -> bytes:
    role = _ROLES.get(message.role)
    if role is None:
        raise MalformedPayload(f"{place}.role is not set", place=f"{place}.role")
    content = [_block(block, f"{place}.content[{at}]") for at, block in enumerate(message.content)]
    return b'{"role":"' + role.encode() + b'","content":' + _array(content) + b"}"


def _block(block: pb.ContentBlock, place: str) -> bytes:
    members = _members(block, place)
    if isinstance(members, bytes):
        return members
    return _object(members + _marks(block))


def _members(block: pb.ContentBlock, place: str) -> list[tuple[str, bytes]] | bytes:
    match block.WhichOneof("kind"):
        case "text":
            return [("type", b'"text"'), ("text", _json(block.text.text))]
        case "thinking" if block.thinking.redacted_data:
            return [("type", b'"redacted_thinking"'), ("data", _json(block.thinking.redacted_data))]
        case "thinking":
            thought = block.thinking
            members = [("type", b'"thinking"'), ("thinking", _json(thought.thinking))]
            return [*members, ("signature", _json(thought.signature))]
        case "tool_use":
            call = block.tool_use
            arguments = _json_object(call.input_json or "{}", f"{place}.tool_use.input_json")
            return [("type", b'"tool_use"'), ("id", _json(call.id)), ("name", _json(call.name)), ("input", arguments)]
        case "tool_result":
            result = block.tool_result
            content = [_block(part, f"{place}.content[{at}]") for at, part in enumerate(result.content)]
            members = [("type", b'"tool_result"'), ("tool_use_id", _json(result.tool_use_id))]
            if content:
                members.append(("content", _array(content)))
            return [*members, ("is_error", b"true")] if result.is_error else members
        case "media":
            return _media(block.media, place)
        case "opaque":
            return _opaque(block, place)
        case _:
            raise MalformedPayload(f"{place} holds nothing", place=place)


def _opaque(block: pb.ContentBlock, place: str) -> bytes:
    """A block that is JSON already, as it is; with the breakpoint of the block around it where it has none itself."""
    raw = _json_object(block.opaque.json, f"{place}.opaque.json")
    if not block.HasField("cache_control") or b'"cache_control"' in raw:
        return raw
    comma = b"," if raw.strip()[1:-1].strip() else b""
    [(name, value)] = _marks(block)
    return raw.rstrip()[:-1] + comma + _json(name) + b":" + value + b"}"


def _media(media: pb.Media, place: str) -> list[tuple[str, bytes]]:
    kind = b'"image"' if media.media_type.startswith("image/") or not media.media_type else b'"document"'
    match media.WhichOneof("source"):
        case "data":
            data = b64encode(media.data).decode()
            source: dict[str, str] = {"type": "base64", "media_type": media.media_type, "data": data}
        case "url":
            source = {"type": "url", "url": media.url}
        case "file_id":
            source = {"type": "file", "file_id": media.file_id}
        case _:
            raise MalformedPayload(f"{place}.media has no source", place=f"{place}.media")
    return [("type", kind), ("source", _json(source))]
