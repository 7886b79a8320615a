"""Mending broken pairing in Chat Completions messages, so that a log that was damaged before can be sent.

Theory. The calls of an assistant's message have to be answered by the tool messages right behind it, each once. That
run is rebuilt only if it breaks the rule: a placeholder is put where an answer is missing, of two the last stays. A
tool message whose call is not in the assistant's message before the run becomes a message of the user, behind the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compactor.formats import json_text
from compactor.formats.anthropic_repair import NO_TEXT, ORPHANED, PLACEHOLDER
from compactor.formats.reading import compact, decoded, visible_text


def repair(messages: Sequence[bytes]) -> list[tuple[int, bytes | None]]:
    """The messages, mended: for each which one it is, -1 for a new one, and its bytes where they are new."""
    values = [decoded(raw, "a message") for raw in messages]
    result: list[tuple[int, bytes | None]] = []
    at = 0
    while at < len(values):
        value = values[at]
        calls = _call_ids(value)
        result.append((at, _as_user(value) if value["role"] == "tool" else _cleaned(messages[at], value)))
        at += 1
        if not calls or at == len(values):
            continue
        stop = at
        while stop < len(values) and values[stop]["role"] == "tool":
            stop += 1
        result += _answered(calls, range(at, stop), values)
        at = stop
    return result


def _answered(calls: list[str], run: range, values: list[dict[str, Any]]) -> list[tuple[int, bytes | None]]:
    answers = {str(values[index].get("tool_call_id")): index for index in run}
    if len(answers) == len(run) and answers.keys() == set(calls):
        return [(index, _with_content(values[index])) for index in run]
    result: list[tuple[int, bytes | None]] = []
    for call in dict.fromkeys(calls):
        index = answers.get(call)
        result.append((-1, _placeholder(call)) if index is None else (index, _with_content(values[index])))
    called = set(calls)
    return result + [
        (index, _as_user(values[index])) for index in run if str(values[index].get("tool_call_id")) not in called
    ]


def _call_ids(value: dict[str, Any]) -> list[str]:
    calls = value.get("tool_calls") if value["role"] == "assistant" else None
    return [str(call.get("id")) for call in calls or ()]


def _placeholder(call: str) -> bytes:
    return compact({"role": "tool", "tool_call_id": call, "content": PLACEHOLDER}).encode()


def _as_user(value: dict[str, Any]) -> bytes:
    content = value.get("content")
    text = content if isinstance(content, str) else visible_text({"content": content})
    return compact({"role": "user", "content": f"{ORPHANED}\n{text}"}).encode()


def _with_content(value: dict[str, Any]) -> bytes | None:
    """A tool message needs content, if only an empty text; None where it has some."""
    return None if value.get("content") is not None else compact({**value, "content": ""}).encode()


def _cleaned(raw: bytes, value: dict[str, Any]) -> bytes | None:
    """A message of the user or assistant that says nothing gets a word, and an empty list of calls goes."""
    new = raw
    if "tool_calls" in value and not value["tool_calls"]:
        member = json_text.last_member(new, b"tool_calls")
        if member is not None:
            new = json_text.spliced(new, json_text.without(new, member))
    says = any(value.get(name) for name in ("tool_calls", "function_call", "refusal", "audio"))
    content = value.get("content")
    is_blank = not content or (isinstance(content, str) and not content.strip())
    if is_blank and not (value["role"] == "assistant" and says):
        member = json_text.last_member(new, b"content")
        text = compact(NO_TEXT).encode()
        if member is None:
            new = new.rstrip()[:-1] + b',"content":' + text + b"}"
        else:
            new = json_text.spliced(new, [(member.value, text)])
    return None if new is raw or new == raw else new
