"""A Conversation as the Anthropic body that it stands for, so that the provider's rules can be checked on it."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

from hango.compaction.v1 import conversation_pb2 as pb

Json = dict[str, Any]

_ROLES = {pb.ROLE_USER: "user", pb.ROLE_ASSISTANT: "assistant", pb.ROLE_SYSTEM: "system"}


def body_of(conversation: pb.Conversation) -> Json:
    """The body, decoded."""
    return {
        "model": conversation.model,
        "system": [_block(block) for block in conversation.system],
        "tools": [_marked({"name": tool.name}, tool) for tool in conversation.tools],
        "messages": [
            {"role": _ROLES[message.role], "content": [_block(block) for block in message.content]}
            for message in conversation.messages
        ],
    }


def _marked(value: Json, element: pb.ContentBlock | pb.Tool) -> Json:
    if element.HasField("cache_control"):
        value["cache_control"] = {"type": "ephemeral", "ttl": element.cache_control.ttl or "5m"}
    return value


def _block(block: pb.ContentBlock) -> Json:
    return _marked(_value(block), block)


def _value(block: pb.ContentBlock) -> Json:
    match block.WhichOneof("kind"):
        case "text":
            return {"type": "text", "text": block.text.text}
        case "thinking" if block.thinking.redacted_data:
            return {"type": "redacted_thinking", "data": block.thinking.redacted_data}
        case "thinking":
            return {"type": "thinking", "thinking": block.thinking.thinking, "signature": block.thinking.signature}
        case "tool_use":
            use = block.tool_use
            return {"type": "tool_use", "id": use.id, "name": use.name, "input": json.loads(use.input_json or "{}")}
        case "tool_result":
            content = [_block(part) for part in block.tool_result.content]
            return {"type": "tool_result", "tool_use_id": block.tool_result.tool_use_id, "content": content}
        case "media":
            return {"type": "image", "data": b64encode(block.media.data).decode()}
        case "opaque":
            return json.loads(block.opaque.json)
        case _:
            raise AssertionError("a block holds nothing")
