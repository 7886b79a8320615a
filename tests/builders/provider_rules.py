"""What the providers refuse, as a strict checker of whole bodies: the tests' own, apart from the service's validator.

Names are those of the project's table of provider rules; what only the provider can know (signatures, encrypted
content, what a model supports) is not checked.

    A-1   a call without its result in the next message      A-2   a result without its call in the message before
    A-3   something ahead of the results of a message        A-4   two results for one call
    A-5   a tool use id twice                                A-6   a block in a message of the wrong role
    A-7   tool blocks without tool definitions               A-8   a blank text
    A-9   a message without content                          A-10  a breakpoint on a blank text
    A-11  a breakpoint on reasoning                          A-12  more than four breakpoints
    A-13  a 1h breakpoint behind a 5m one                    A-16  the first message is not the user's
    A-27  a breakpoint on a deferred tool                    A-28  a system message in the wrong place
    T-4   reasoning without signature or data                S-1   a server tool's call and result torn apart
    C-2   a compaction block that is not first               C-7   an empty compaction block
    OA-1  a call without its tool message                    OA-2  a tool message without its call
    OA-3  a message or list of calls without content         OA-4  arguments that are no JSON object
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_REASONING = ("thinking", "redacted_thinking")


def anthropic_violations(body: Json) -> Counter[str]:
    """The rules that a Messages body breaks, and how often."""
    messages = [(message.get("role"), _blocks(message.get("content"))) for message in body.get("messages") or []]
    return Counter(
        [
            *_pairing(messages),
            *_each_block(messages),
            *_order(messages),
            *_server_tools(messages),
            *_tools(body, messages),
            *_breakpoints(body, messages),
        ]
    )


def openai_violations(body: Json) -> Counter[str]:
    """The rules that a Chat Completions body breaks, and how often."""
    found: list[str] = []
    waiting: list[str] = []
    for message in body.get("messages") or []:
        if message.get("role") == "tool":
            if message.get("tool_call_id") in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                found.append("OA-2")
        else:
            found += ["OA-1"] * len(waiting)
            waiting = [call.get("id") for call in message.get("tool_calls") or []]
        found += _openai_message(message)
    return Counter([*found, *["OA-1"] * len(waiting)])


def _openai_message(message: Json) -> Iterator[str]:
    calls, content = message.get("tool_calls"), message.get("content")
    if calls == []:
        yield "OA-3"
    has_content = bool(content.strip()) if isinstance(content, str) else bool(content)
    if message.get("role") == "tool":
        has_content = content is not None
    if not (has_content or calls or message.get("function_call") or message.get("refusal")):
        yield "OA-3"
    for call in calls or []:
        if "function" in call and not _is_object(call["function"].get("arguments")):
            yield "OA-4"


def _is_object(arguments: Any) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (TypeError, ValueError):
        return False


def _blocks(content: Any) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content or []


def _of(blocks: list[Json], kind: str) -> list[Json]:
    return [block for block in blocks if block["type"] == kind]


def _pairing(messages: list[tuple[str, list[Json]]]) -> Iterator[str]:
    seen: set[str] = set()
    for (_, before), (_, after) in zip([("", []), *messages], [*messages, ("", [])], strict=True):
        calls = [block["id"] for block in _of(before, "tool_use")]
        results = [block["tool_use_id"] for block in _of(after, "tool_result")]
        yield from ["A-1" for call in calls if call not in results]
        yield from ["A-2" for result in results if result not in calls]
        yield from ["A-4" for result in set(results) if results.count(result) > 1]
        yield from ["A-5" for call in calls if call in seen]
        seen.update(calls)


def _each_block(messages: list[tuple[str, list[Json]]]) -> Iterator[str]:
    for position, (role, blocks) in enumerate(messages):
        if not blocks and not (role == "assistant" and position == len(messages) - 1):
            yield "A-9"
        kinds = [block["type"] == "tool_result" for block in blocks]
        if kinds != sorted(kinds, reverse=True):
            yield "A-3"
        for block in blocks:
            yield from _block(role, block)


def _block(role: str, block: Json) -> Iterator[str]:
    kind, mark = block["type"], block.get("cache_control")
    if kind == "text" and not block["text"].strip():
        yield "A-8"
        if mark:
            yield "A-10"
    if kind in _REASONING:
        if mark:
            yield "A-11"
        if not (block.get("signature") or block.get("data")):
            yield "T-4"
    wants_assistant = kind in _REASONING or kind == "tool_use" or kind.startswith("server_tool")
    if (wants_assistant and role != "assistant") or (kind == "tool_result" and role != "user"):
        yield "A-6"
    if kind == "compaction" and block.get("content") == "":
        yield "C-7"


def _order(messages: list[tuple[str, list[Json]]]) -> Iterator[str]:
    opens_with_compaction = bool(messages) and bool(_of(messages[0][1][:1], "compaction"))
    if messages and messages[0][0] != "user" and not opens_with_compaction:
        yield "A-16"
    yield from ["C-2" for number, (_, blocks) in enumerate(messages) if number and _of(blocks, "compaction")]
    for position, (role, blocks) in enumerate(messages):
        if role != "system":
            continue
        follows = position and (messages[position - 1][0] == "user" or _ends_in_server_call(messages[position - 1][1]))
        precedes = position == len(messages) - 1 or messages[position + 1][0] == "assistant"
        if not (follows and precedes) or len(_of(blocks, "text")) != len(blocks):
            yield "A-28"


def _ends_in_server_call(blocks: list[Json]) -> bool:
    return bool(blocks) and blocks[-1]["type"] == "server_tool_use"


def _server_tools(messages: list[tuple[str, list[Json]]]) -> Iterator[str]:
    """A pair may stand in two messages of the assistant that a pause has parted, never in more."""
    waiting: list[str] = []
    for position, (role, blocks) in enumerate(messages):
        if role != "assistant":
            yield from ["S-1"] * len(waiting)
            waiting = []
        for block in blocks:
            if block["type"] == "server_tool_use":
                waiting.append(block["id"])
            elif block["type"].endswith("_tool_result") and "tool_use_id" in block:
                if block["tool_use_id"] in waiting:
                    waiting.remove(block["tool_use_id"])
                else:
                    yield "S-1"
        if position == len(messages) - 1 and role == "assistant":
            waiting = []  # a pause at the end is going to be continued
    yield from ["S-1"] * len(waiting)


def _tools(body: Json, messages: list[tuple[str, list[Json]]]) -> Iterator[str]:
    uses = any(_of(blocks, "tool_use") or _of(blocks, "tool_result") for _, blocks in messages)
    if uses and not body.get("tools"):
        yield "A-7"
    yield from ["A-27" for tool in body.get("tools") or [] if tool.get("defer_loading") and tool.get("cache_control")]


def _breakpoints(body: Json, messages: list[tuple[str, list[Json]]]) -> Iterator[str]:
    blocks = [*(body.get("tools") or []), *_blocks(body.get("system"))]
    for _, content in messages:
        for block in content:
            inner = block.get("content")
            blocks += [*(inner if isinstance(inner, list) else []), block]
    lives = [block["cache_control"].get("ttl") or "5m" for block in blocks if block.get("cache_control")]
    if len(lives) > 4:
        yield "A-12"
    if lives != sorted(lives):  # "1h" sorts ahead of "5m"
        yield "A-13"
