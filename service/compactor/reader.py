"""Facts of messages, remembered by content: what was read once is not read again in the next turn.

The key of a fact is a 128-bit digest of the message's bytes with a secret seed of this process, together with the way
of counting. A fact only saves work; losing it never changes an answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import msgspec
import xxhash

from compactor.core.facts import facts
from compactor.core.measure import Counting, system_tokens, tool_tokens
from compactor.core.retained import Harvest, harvest
from compactor.errors import MalformedPayload
from compactor.formats.reading import Frame
from compactor.memo import Memo
from compactor.model import Content, Dialect, Message

Read = Callable[[bytes], Content]

_SEED = secrets.randbits(64)
_MESSAGE_BYTES = 400
_PART_BYTES = 120


def digest(raw: bytes | msgspec.Raw) -> bytes:
    """The key of some bytes in this process."""
    return xxhash.xxh3_128_digest(raw, _SEED)


class Facts:
    """Everything that is remembered of message bytes, bounded by about `max_bytes` in all."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes // 2
        self._messages: dict[str, Memo[Message]] = {}
        self._frames: Memo[Frame] = Memo(max_bytes // 8, _frame_cost)
        self._harvests: Memo[Harvest] = Memo(max_bytes // 4, _harvest_cost)

    def reader(self, counting: Counting) -> CachedReader:
        """A reader that counts in the given way."""
        memo = self._messages.get(counting.name)
        if memo is None:
            if len(self._messages) >= MOST_COUNTINGS:
                self._messages.clear()
            memo = self._messages[counting.name] = Memo(self._max_bytes // MOST_COUNTINGS * 4, _message_cost)
        return CachedReader(counting, memo, self._frames)

    def harvester(self, dialect: Dialect) -> Callable[[bytes], Harvest]:
        """What is worth keeping of a message, by its bytes."""
        memo, name = self._harvests, str(dialect.format)

        def harvested(raw: bytes) -> Harvest:
            key = (name, digest(raw))
            found = memo.recall(key)
            if found is None:
                found = harvest(dialect.read(raw))
                memo.keep(key, found)
            return found

        return harvested


MOST_COUNTINGS = 16
"""Ways of counting that are remembered side by side; callers that make up more start over."""


class CachedReader:
    """Gives the facts of messages, counts system text and tools; see `formats.reading.Reader`."""

    __slots__ = ("_frames", "_memo", "counting")

    def __init__(self, counting: Counting, memo: Memo[Message], frames: Memo[Frame]) -> None:
        self.counting = counting
        self._memo = memo
        self._frames = frames

    def messages(self, raws: Sequence[msgspec.Raw], read: Read) -> list[Message]:
        recall, make = self._memo.recall, xxhash.xxh3_128_digest
        found: list[Message] = []
        for index, raw in enumerate(raws):
            key = make(raw, _SEED)
            message = recall(key)
            if message is None:
                message = self._read(bytes(raw), read, index)
                self._memo.keep(key, message)
            found.append(message)
        return found

    def message(self, raw: bytes, read: Read) -> Message:
        """The facts of one message."""
        return self.messages([raw], read)[0]  # type: ignore[list-item]

    def system(self, content: Content) -> int:
        return system_tokens(content, self.counting)

    def tool(self, definition: bytes) -> int:
        return tool_tokens(definition.decode(), self.counting)

    def frame(self, text: bytes, build: Callable[[], Frame]) -> Frame:
        key = (self.counting.name, digest(text))
        found = self._frames.recall(key)
        if found is None:
            found = build()
            self._frames.keep(key, found)
        return found

    def _read(self, raw: bytes, read: Read, index: int) -> Message:
        try:
            return facts(read(raw), self.counting)
        except MalformedPayload as error:
            raise _placed(error, index) from None


def _message_cost(message: Message) -> int:
    return _MESSAGE_BYTES + _PART_BYTES * len(message.kinds)


def _frame_cost(frame: Frame) -> int:
    return 1_000 + sum(400 + len(element.raw) for element in (*frame.system, *frame.tools))


def _harvest_cost(found: Harvest) -> int:
    return 300 + 200 * sum(len(part) if isinstance(part, tuple) else 1 for part in found)


def _placed(error: MalformedPayload, index: int) -> MalformedPayload:
    """The error with the message that it is about."""
    return MalformedPayload(f"messages[{index}]: {error.message}", **{**error.metadata, "message_index": index})
