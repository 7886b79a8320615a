"""Request bodies of any size that look like an agent's session on this repository; the same sources, the same bytes.

A person asks, the assistant says a word and calls one to three tools, their results come back, and so on; every
fourteenth message is a new question. What is written, replaced and read are slices of this repository's own sources, in
sizes that differ as those of real files do. The length of all slices is stretched until the body has the wanted size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODEL = "claude-sonnet-5"
SALT = "aaaaaaaa"
"""Stands in every message: another word of eight letters in its place makes messages that no server has seen."""

_FOLDERS = ("service", "proto", "tests")
_ENDINGS = (".py", ".proto")
_TURN = 14
# Lengths in hundredths of the unit: many short ones, a few long ones. The cycles have no common factor, so that sizes,
# tools and batches meet in ever new ways.
_RESULTS = (12, 230, 40, 85, 5, 310, 60, 20, 150, 3, 520)
_ARGUMENTS = (6, 40, 3, 90, 12, 5, 150)
_WORDS = (8, 20, 5, 35, 12)
_BATCHES = (1, 2, 1, 1, 3, 2, 1, 2)
_TOOLS = ("read_file", "run", "edit_file", "search", "read_file")


@dataclass(frozen=True, slots=True)
class Size:
    """How large a body is: its name in tables, its bytes, about, and its messages."""

    name: str
    size: int
    messages: int


SIZES = (Size("200 KB", 200_000, 73), Size("1 MB", 1_000_000, 361), Size("4 MB", 4_000_000, 1_597))
# One message more than the round number, so that the user has the last word.
THOUSAND = Size("1,001 messages", 500_000, 1_001)
EIGHT_THOUSAND = Size("8,001 messages", 4_000_000, 8_001)


def body_of(wanted: Size) -> bytes:
    """An Anthropic body with that many messages, its size right within a hundredth."""
    text = _sources()
    unit = 1_000.0
    body = b""
    for _ in range(12):
        body = _body(text, wanted.messages, unit)
        if abs(len(body) - wanted.size) <= wanted.size // 100:
            break
        unit *= max(0.2, 1 + (wanted.size / len(body) - 1) * 1.2)
    return body


def unseen(body: bytes, number: int) -> bytes:
    """The body with every message different from those of any other number, and as long as before."""
    word = "".join(chr(ord("a") + number // 26**place % 26) for place in range(len(SALT) - 1)) + "z"
    return body.replace(SALT.encode(), word.encode())


def _sources() -> str:
    paths = sorted(path for folder in _FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in _ENDINGS)
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def _body(text: str, count: int, unit: float) -> bytes:
    session = _Session(text, unit)
    value = {
        "model": MODEL,
        "max_tokens": 8_192,
        "system": [{"type": "text", "text": text[:6_000]}],
        "tools": [_tool(name) for name in dict.fromkeys(_TOOLS)],
        "messages": [message for _, message in zip(range(count), session.messages(), strict=False)],
    }
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _tool(name: str) -> dict[str, Any]:
    path = {"type": "string", "description": "Path relative to the root of the repository."}
    schema = {"type": "object", "properties": {"path": path}, "required": ["path"]}
    return {"name": name, "description": f"{name} on the repository; see the answer.", "input_schema": schema}


@dataclass(slots=True)
class _Session:
    """Makes messages one after the other; `at` is where the next slice of the sources begins."""

    text: str
    unit: float
    at: int = 0
    calls: int = 0
    results: Iterator[int] = field(default_factory=lambda: cycle(_RESULTS))
    arguments: Iterator[int] = field(default_factory=lambda: cycle(_ARGUMENTS))
    words: Iterator[int] = field(default_factory=lambda: cycle(_WORDS))
    batches: Iterator[int] = field(default_factory=lambda: cycle(_BATCHES))
    tools: Iterator[str] = field(default_factory=lambda: cycle(_TOOLS))

    def messages(self) -> Iterator[dict[str, Any]]:
        while True:
            yield _message("user", {"type": "text", "text": f"Next, {SALT}: {self._slice(self.words)}"})
            for _ in range(_TURN // 2 - 1):
                said = {"type": "text", "text": f"I look at {SALT} now. {self._slice(self.words)}"}
                uses = [self._use() for _ in range(next(self.batches))]
                yield _message("assistant", said, *uses)
                yield _message("user", *[self._result(use["id"]) for use in uses])
            yield _message("assistant", {"type": "text", "text": f"Done with {SALT}. {self._slice(self.words)}"})

    def _use(self) -> dict[str, Any]:
        self.calls += 1
        name = next(self.tools)
        given = {"path": f"service/compactor/core/part_{self.calls % 97}.py"}
        if name == "edit_file":
            given |= {"old_text": self._slice(self.arguments), "new_text": self._slice(self.arguments)}
        elif name == "run":
            given = {"command": f"python -m pytest tests/unit -k {self._slice(self.words)[:40]!r}"}
        return {"type": "tool_use", "id": f"toolu_{SALT}{self.calls:08d}", "name": name, "input": given}

    def _result(self, id: str) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": id, "content": self._slice(self.results)}

    def _slice(self, lengths: Iterator[int]) -> str:
        length = max(1, int(self.unit * next(lengths) / 100))
        start = self.at % (len(self.text) - length)
        self.at += length + 37
        return self.text[start : start + length]


def _message(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}
