"""What a strict provider refuses in a request, judged from its decoded value alone, without the service's own code.

Stricter than `provider_rules` about calls of one message and about members of ours, and it lets ids come again in later
turns, as real logs do.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from compactor.model import Format

Body = dict[str, Any]

THINKING = ("thinking", "redacted_thinking")


def breaches(format: Format, body: Body | bytes) -> list[str]:
    """The rules that a request breaks, sorted; a rule stands there as often as it is broken."""
    value = json.loads(body) if isinstance(body, bytes) else body
    found = _anthropic(value) if format is Format.ANTHROPIC_MESSAGES else _openai(value)
    return sorted(found)


def added(format: Format, before: Body | bytes, after: Body | bytes) -> list[str]:
    """The rules that a result breaks more often than the request it was made of."""
    return sorted((Counter(breaches(format, after)) - Counter(breaches(format, before))).elements())


def blocks_of(message: Body) -> list[Body]:
    """The blocks of a message; a plain text counts as one."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content or []


def _anthropic(body: Body) -> Iterator[str]:
    messages = body["messages"]
    last = len(messages) - 1
    if messages[0]["role"] != "user":
        yield "first message is not the user's"
    for index, message in enumerate(messages):
        blocks, role = blocks_of(message), message["role"]
        if not blocks and not (index == last and role == "assistant"):
            yield "message without content"
        for block in blocks:
            yield from _block(block, role)
        if role == "system":
            if index == 0 or messages[index - 1]["role"] != "user":
                yield "system note not behind the user"
            if index < last and messages[index + 1]["role"] != "assistant":
                yield "system note not before the assistant"
    yield from _anthropic_pairs(messages)
    yield from _server_pairs(messages)
    yield from _marks(body)


def _block(block: Body, role: str) -> Iterator[str]:
    kind = block["type"]
    if kind == "text" and not block["text"].strip():
        yield "empty text"
    if kind in THINKING and "cache_control" in block:
        yield "breakpoint on reasoning"
    if role != "assistant" and (kind in THINKING or kind in ("tool_use", "server_tool_use")):
        yield "block of the assistant elsewhere"
    if role != "user" and kind == "tool_result":
        yield "result outside of the user's message"
    if kind == "tool_use" and not isinstance(block["input"], dict):
        yield "input is no object"
    if any(name.startswith(("_", "hango")) for name in block):
        yield "key of ours"


def _anthropic_pairs(messages: list[Body]) -> Iterator[str]:
    waiting: list[str] = []
    for message in messages:
        blocks = blocks_of(message)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        kinds = [block["type"] == "tool_result" for block in blocks]
        if kinds != sorted(kinds, reverse=True):
            yield "result behind other content"
        for id, times in Counter(results).items():
            if id not in waiting:
                yield "result without its call"
            if times > 1:
                yield "two results for one call"
        for id in waiting:
            if id not in results:
                yield "call without its result"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(waiting)) < len(waiting):
            yield "two calls with one id"


def _server_pairs(messages: list[Body]) -> Iterator[str]:
    waiting: set[str] = set()
    for message in messages:
        if message["role"] != "assistant":
            if waiting:
                yield "server call without its result"
            waiting = set()
            continue
        for block in blocks_of(message):
            if block["type"] == "server_tool_use":
                waiting.add(block["id"])
            elif block["type"].endswith("_tool_result"):
                if block["tool_use_id"] not in waiting:
                    yield "server result without its call"
                waiting.discard(block["tool_use_id"])


def _marks(body: Body) -> Iterator[str]:
    places = [*(body.get("tools") or ())]
    places += [block for block in body.get("system") or () if isinstance(block, dict)]
    for message in body["messages"]:
        for block in blocks_of(message):
            inner = block.get("content")
            places += [part for part in inner if isinstance(part, dict)] if isinstance(inner, list) else []
            places.append(block)
    lives = [place["cache_control"].get("ttl", "5m") for place in places if place.get("cache_control")]
    if len(lives) > 4:
        yield "more than four breakpoints"
    if lives != sorted(lives):  # "1h" sorts before "5m"
        yield "longer-lived breakpoint behind a shorter one"


def _openai(body: Body) -> Iterator[str]:
    waiting: list[str] = []
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            id = message["tool_call_id"]
            if id not in waiting:
                yield "result without its call"
            else:
                waiting.remove(id)
            if message.get("content") is None:
                yield "message without content"
            continue
        yield from ["call without its result"] * len(waiting)
        calls = message.get("tool_calls")
        waiting = [call["id"] for call in calls or ()]
        if calls == []:
            yield "empty list of calls"
        if not calls and not message.get("content"):
            yield "message without content"
        for call in calls or ():
            if "function" in call and not isinstance(json.loads(call["function"]["arguments"]), dict):
                yield "arguments are no object"
        if any(name.startswith(("_", "hango")) for name in message):
            yield "key of ours"
    if waiting and body["messages"][-1].get("role") == "tool":
        yield from ["call without its result"] * len(waiting)
