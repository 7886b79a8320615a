"""The typed arm: a Conversation as a request body of the Anthropic shape and back.

Inside there is one kind of work, on JSON. A conversation is written out as a body, message by message; the texts that
are JSON already (arguments, opaque blocks) go in as they are. What comes back are ranges of the caller's own messages,
copied, and a few new ones, read from their JSON. So a message that was not edited is the caller's own.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

import msgspec

from compactor.errors import MalformedPayload
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
    """A copy of the conversation with edits applied; kept messages are the caller's own."""
    result = pb.Conversation(model=conversation.model, max_output_tokens=conversation.max_output_tokens)
    by_array = {edit.array: edit.pieces for edit in edits}
    for array, source, target, read in (
        (ArrayName.SYSTEM, conversation.system, result.system, block_from),
        (ArrayName.TOOLS, conversation.tools, result.tools, None),
        (ArrayName.MESSAGES, conversation.messages, result.messages, message_from),
    ):
        for piece in by_array.get(array, (Raw(0, len(source)),)):
            match piece:
                case Raw(start, stop):
                    target.extend(source[start:stop])  # type: ignore[arg-type]
                case Literal(data) if read is not None:
                    target.append(read(data))  # type: ignore[arg-type]
    return result


def message_from(data: bytes) -> pb.Message:
    """A new message from its JSON."""
    value = msgspec.json.decode(data)
    content = value["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    raws = msgspec.json.decode(data, type=_Message).content
    blocks = [_block_from(block, raw) for block, raw in zip(content, raws, strict=True)]
    return pb.Message(role=_ROLE_NUMBERS[value["role"]], content=blocks)


class _Message(msgspec.Struct):
    content: list[msgspec.Raw]


def block_from(data: bytes) -> pb.ContentBlock:
    """A new block from its JSON."""
    return _block_from(msgspec.json.decode(data), data)


def _block_from(value: dict[str, Any], raw: bytes | msgspec.Raw) -> pb.ContentBlock:
    block = pb.ContentBlock()
    mark = value.get("cache_control")
    if isinstance(mark, dict):
        block.cache_control.ttl = mark.get("ttl", "")
        block.cache_control.SetInParent()
    kind = value["type"]
    if kind == "text":
        block.text.text = value["text"]
    elif kind == "thinking":
        block.thinking.thinking, block.thinking.signature = value.get("thinking", ""), value.get("signature", "")
        block.thinking.SetInParent()
    elif kind == "redacted_thinking":
        block.thinking.redacted_data = value.get("data", "")
    elif kind == "tool_use":
        arguments = bytes(msgspec.json.decode(raw, type=_Input).input).decode()
        block.tool_use.id, block.tool_use.name, block.tool_use.input_json = value["id"], value["name"], arguments
    elif kind == "tool_result":
        _result_from(block.tool_result, value, raw)
    elif kind in ("image", "document") and _fill_media(block.media, value.get("source")):
        pass
    else:
        block.opaque.type, block.opaque.json = kind, bytes(raw).decode()
    return block


class _Input(msgspec.Struct):
    input: msgspec.Raw


class _Content(msgspec.Struct):
    content: list[msgspec.Raw] = []


def _result_from(target: pb.ToolResult, value: dict[str, Any], raw: bytes | msgspec.Raw) -> None:
    target.tool_use_id = value["tool_use_id"]
    target.is_error = value.get("is_error") is True
    content = value.get("content")
    if isinstance(content, str):
        target.content.append(pb.ContentBlock(text=pb.Text(text=content)))
    elif content:
        raws = msgspec.json.decode(raw, type=_Content).content
        target.content.extend(_block_from(part, inner) for part, inner in zip(content, raws, strict=True))


def _fill_media(target: pb.Media, source: object) -> bool:
    match source:
        case {"type": "base64", "data": str(data), "media_type": str(media_type)}:
            target.media_type, target.data = media_type, b64decode(data)
        case {"type": "url", "url": str(url)}:
            target.url = url
        case {"type": "file", "file_id": str(file_id)}:
            target.file_id = file_id
        case _:
            return False
    return True


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
    return _object(members + _marks(tool.HasField("cache_control"), tool.cache_control.ttl))


def _marks(is_set: bool, ttl: str) -> list[tuple[str, bytes]]:  # noqa: FBT001 - presence and value of one field
    if not is_set:
        return []
    value = {"type": "ephemeral", "ttl": ttl} if ttl else {"type": "ephemeral"}
    return [("cache_control", _json(value))]


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
    return _object(members + _marks(block.HasField("cache_control"), block.cache_control.ttl))


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
            return _json_object(block.opaque.json, f"{place}.opaque.json")
        case _:
            raise MalformedPayload(f"{place} holds nothing", place=place)


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
            raise MalformedPayload(f"{place}.media has no source", place=place)
    return [("type", kind), ("source", _json(source))]
