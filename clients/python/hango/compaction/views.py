"""What the model last saw of a session, laid under a longer log where the service cannot be asked.

A log only grows. So what the last Compact call made of it, with the messages behind it that are new since, is what the
service would give if nothing triggers: the record replayed. Where the log did not go on from there, there is no such
view.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import msgspec

from hango.compaction.calls import CompactResult
from hango.compaction.sources import encoded
from hango.compaction.v1.conversation_pb2 import Conversation

Payload = bytes | Conversation
"""A request as it goes over the wire."""


@dataclass(frozen=True, slots=True)
class View:
    """A raw request and what a Compact call made of it."""

    raw: Payload
    result: CompactResult

    def of(self, raw: Payload) -> Payload | None:
        """What the model would see of a later raw request; None where that does not go on from this one.

        Breakpoints in what the model has seen are left out, so that those of the later request have their places.
        """
        if isinstance(raw, Conversation):
            return self._of_conversation(raw)
        if isinstance(self.raw, Conversation):
            return None
        try:
            return self._of_native(raw, self.raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    def _of_native(self, raw: bytes, before: bytes) -> bytes | None:
        (_, old), (prompt, new), (_, seen) = map(_parts, (before, raw, self.result.body))
        if len(new) < len(old) or any(_unmarked(a) != _unmarked(b) for a, b in zip(old, new, strict=False)):
            return None
        members = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        messages = [*prompt, *map(_unmarked, seen), *new[len(old) :]]
        members["messages"] = msgspec.Raw(b"[" + b",".join(messages) + b"]")
        return msgspec.json.encode(members)

    def _of_conversation(self, raw: Conversation) -> Conversation | None:
        if not isinstance(self.raw, Conversation) or self.result.conversation is None:
            return None
        old, new = _unmarked_messages(self.raw), _unmarked_messages(raw)
        if new[: len(old)] != old:
            return None
        view = Conversation()
        view.CopyFrom(raw)
        del view.messages[:]
        view.messages.extend([*_unmarked_messages(self.result.conversation), *raw.messages[len(old) :]])
        return view


class _Body(msgspec.Struct):
    messages: list[msgspec.Raw]


class _Message(msgspec.Struct):
    role: str = ""


def _parts(body: bytes) -> tuple[list[bytes], list[bytes]]:
    """The messages of a body: system text at its head, which may differ from turn to turn, and the rest."""
    messages = [bytes(message) for message in msgspec.json.decode(body, type=_Body).messages]
    roles = (msgspec.json.decode(message, type=_Message).role for message in messages)
    head = len(list(takewhile(lambda role: role in ("system", "developer"), roles)))
    return messages[:head], messages[head:]


def _unmarked(message: bytes) -> bytes:
    """A message without its breakpoints; as it is where it has none."""
    if b'"cache_control"' not in message:
        return message
    value: Any = json.loads(message)
    blocks = value.get("content") if isinstance(value, dict) else None
    if not isinstance(blocks, list):
        return message
    return encoded({**value, "content": [_without_mark(block) for block in blocks]})


def _without_mark(block: Any) -> Any:
    if not isinstance(block, Mapping):
        return block
    return {name: value for name, value in block.items() if name != "cache_control"}


def _unmarked_messages(conversation: Conversation) -> list[Any]:
    copy = Conversation()
    copy.messages.extend(conversation.messages)
    for message in copy.messages:
        for block in message.content:
            block.ClearField("cache_control")
    return list(copy.messages)
