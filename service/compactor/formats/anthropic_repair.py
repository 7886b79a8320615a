"""Mending broken pairing in Anthropic messages, so that a log that was damaged before can be sent.

Theory. The calls of an assistant's message have to be answered, each once, at the start of the next message, which is
the user's. Messages of the user that follow a call and hold results are taken as one run, and rebuilt only if they
break that rule: the results in the order of the calls, a placeholder where one is missing, of two the last, then
whatever else the run held. A result whose call is not in the message before becomes text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from compactor.formats import json_text
from compactor.formats.reading import compact, decoded, visible_text
from compactor.model import Span

PLACEHOLDER = "(no result: the call was interrupted)"
NO_TEXT = "(no text)"
ORPHANED = "(an earlier tool result, its call is gone)"
THINKING = frozenset({"thinking", "redacted_thinking"})
"""The types of reasoning blocks; none of them may carry a breakpoint."""


class _Block(NamedTuple):
    raw: bytes
    value: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.value.get("type"))


class _Message(NamedTuple):
    at: int
    role: str
    blocks: list[_Block]

    def of(self, kind: str) -> list[_Block]:
        return [block for block in self.blocks if block.kind == kind]


def repair(messages: Sequence[bytes]) -> list[tuple[int, bytes | None]]:
    """The messages, mended: for each which one it is, -1 for a new one, and its bytes where they are new."""
    parsed = [_parsed(index, raw) for index, raw in enumerate(messages)]
    result: list[tuple[int, bytes | None]] = []
    at = 0
    while at < len(parsed):
        message = parsed[at]
        calls = [str(block.value.get("id")) for block in message.of("tool_use")] if message.role == "assistant" else []
        if not calls:
            result.append((message.at, _without_orphans(message, messages[at])))
            at += 1
            continue
        result.append((message.at, _cleaned(message, messages[at])))
        run = list(_run(parsed, at + 1))
        is_open = at + 1 == len(parsed)
        if is_open:
            break
        result += _answered(calls, run, messages)
        at += 1 + len(run)
    return result


def _run(parsed: Sequence[_Message], at: int) -> Iterator[_Message]:
    """The message after a call, if it is the user's, and those after it that hold nothing but results."""
    for number, message in enumerate(parsed[at:]):
        if message.role != "user" or (number and len(message.of("tool_result")) != len(message.blocks)):
            return
        yield message


def _answered(calls: list[str], run: list[_Message], messages: Sequence[bytes]) -> list[tuple[int, bytes | None]]:
    results = [block for message in run for block in message.of("tool_result")]
    ids = [str(block.value.get("tool_use_id")) for block in results]
    if len(run) == 1 and sorted(ids) == sorted(calls) and len(set(ids)) == len(ids) and _results_first(run[0]):
        return [(run[0].at, _cleaned(run[0], messages[run[0].at]))]
    called = set(calls)
    by_id = {id: block.raw for id, block in zip(ids, results, strict=True)}
    blocks = [by_id.get(call) or _placeholder(call) for call in dict.fromkeys(calls)]
    for message in run:
        for block in message.blocks:
            if block.kind != "tool_result":
                blocks += _cleaned_block(block)
            elif str(block.value.get("tool_use_id")) not in called:
                blocks.append(_as_text(block))
    return [(run[-1].at if run else -1, _user(blocks))]


def _results_first(message: _Message) -> bool:
    kinds = [block.kind == "tool_result" for block in message.blocks]
    return kinds == sorted(kinds, reverse=True)


def _without_orphans(message: _Message, raw: bytes) -> bytes | None:
    """The message with its results, which answer no call, as texts; None where nothing is to be done."""
    if message.role != "user" or not message.of("tool_result"):
        return _cleaned(message, raw)
    blocks: list[bytes] = []
    for block in message.blocks:
        blocks += [_as_text(block)] if block.kind == "tool_result" else _cleaned_block(block)
    return _user(blocks)


def _cleaned(message: _Message, raw: bytes) -> bytes | None:
    """The message without blank texts and without breakpoints where none may be; None where there are none."""
    cleaned = [new for block in message.blocks for new in _cleaned_block(block)]
    if [block.raw for block in message.blocks] == cleaned:
        return None
    content = json_text.last_member(raw, b"content")
    if content is None:
        return None
    return json_text.spliced(raw, [(content.value, b"[" + b",".join(cleaned or [_text(NO_TEXT)]) + b"]")])


def _cleaned_block(block: _Block) -> list[bytes]:
    if block.kind == "text" and not str(block.value.get("text") or "").strip():
        return []
    if block.kind in THINKING:
        mark = json_text.last_member(block.raw, b"cache_control")
        if mark is not None:
            return [json_text.spliced(block.raw, json_text.without(block.raw, mark))]
    return [block.raw]


def _placeholder(call: str) -> bytes:
    content = [{"type": "text", "text": PLACEHOLDER}]
    value = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": True}
    return compact(value).encode()


def _as_text(block: _Block) -> bytes:
    content = block.value.get("content")
    text = content if isinstance(content, str) else visible_text({"content": content})
    return _text(f"{ORPHANED}\n{text}")


def _text(text: str) -> bytes:
    return compact({"type": "text", "text": text}).encode()


def _user(blocks: list[bytes]) -> bytes:
    return b'{"role":"user","content":[' + b",".join(blocks or [_text(NO_TEXT)]) + b"]}"


def _parsed(index: int, raw: bytes) -> _Message:
    value = decoded(raw, "a message")
    content = json_text.last_member(raw, b"content")
    spans: list[Span] = []
    if content is not None and raw[content.value.start] == 0x5B:
        spans = list(json_text.elements(raw, content.value.start))
    if isinstance(value.get("content"), str) and content is not None:
        block = b'{"type":"text","text":' + raw[slice(*content.value)] + b"}"
        return _Message(index, value["role"], [_Block(block, {"type": "text", "text": value["content"]})])
    blocks = [_Block(raw[slice(*at)], decoded(raw[slice(*at)], "a content block")) for at in spans]
    return _Message(index, value["role"], blocks)
