"""Facts of messages, remembered by content: what was read once is not read again in the next turn.

The key of a fact is a 128-bit digest of the message's bytes with a secret seed of this process, together with the way
of counting. A fact only saves work; losing it never changes an answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import xxhash

from compactor.core.facts import facts
from compactor.core.measure import Counting, system_tokens, tool_tokens
from compactor.core.retained import Harvest, harvest
from compactor.core.view import has_mark
from compactor.errors import MalformedPayload
from compactor.formats.prefixes import Prefixes
from compactor.formats.reading import Frame
from compactor.memo import Memo
from compactor.model import Content, Dialect, Format, Message, Request

Read = Callable[[bytes], Content]

_SEED = secrets.randbits(64)
_MESSAGE_BYTES, _PART_BYTES = 400, 120
_HARVEST_BYTES, _FINDING_BYTES = 300, 200


def digest(raw: bytes) -> bytes:
    """The key of some bytes in this process."""
    return xxhash.xxh3_128_digest(raw, _SEED)


class Facts:
    """Everything that is remembered of message bytes, bounded by about `max_bytes` in all."""

    def __init__(self, max_bytes: int) -> None:
        self._messages: Memo[Message] = Memo(max_bytes // 2, _message_cost)
        self._harvests: Memo[Harvest] = Memo(max_bytes // 8 * 3, _harvest_cost)
        self._frames: Memo[Frame] = Memo(max_bytes // 16, _frame_cost)
        self.prefixes = Prefixes(max_bytes // 16, _SEED)

    def reader(self, counting: Counting, format: Format) -> CachedReader:
        """A reader of a format that counts in the given way."""
        return CachedReader(counting, format, self._messages, self._frames)

    def harvester(self, request: Request, dialect: Dialect) -> Callable[[int], Harvest]:
        """What is worth keeping of a raw message, by its index."""
        memo = self._harvests

        def harvested(index: int) -> Harvest:
            key = request.keys[index]
            found = memo.recall(key)
            if found is None:
                found = harvest(dialect.read(request.raw(index)))
                memo.keep(key, found)
            return found

        return harvested


class CachedReader:
    """Gives the facts of messages, counts system text and tools; see `formats.reading.Reader`.

    The format and the way of counting are in the seed of its keys, so that equal bytes have facts for each.
    """

    __slots__ = ("_frames", "_memo", "_seed", "counting")

    def __init__(self, counting: Counting, format: Format, memo: Memo[Message], frames: Memo[Frame]) -> None:
        self.counting = counting
        self._seed = xxhash.xxh3_64_intdigest(f"{format}/{counting.name}".encode(), _SEED)
        self._memo = memo
        self._frames = frames

    def messages(self, raws: Sequence[memoryview], read: Read) -> tuple[list[Message], list[bytes]]:
        make, seed = xxhash.xxh3_128_digest, self._seed
        keys = [make(raw, seed) for raw in raws]
        known = self._memo.recall_all(keys)
        if None not in known:
            return known, keys  # type: ignore[return-value]
        return [
            self._read(bytes(raws[index]), keys[index], read, index) if message is None else message
            for index, message in enumerate(known)
        ], keys

    def message(self, raw: bytes, read: Read) -> Message:
        """The facts of one message of ours."""
        key = xxhash.xxh3_128_digest(raw, self._seed)
        message = self._memo.recall(key)
        if message is None:
            message = facts(read(raw), self.counting)
            self._memo.keep(key, message)
        return message

    def system(self, content: Content) -> int:
        return system_tokens(content, self.counting)

    def tool(self, definition: bytes) -> int:
        return tool_tokens(definition.decode(), self.counting)

    def frame(self, text: bytes, build: Callable[[], Frame]) -> Frame:
        key = xxhash.xxh3_128_digest(text, self._seed)
        found = self._frames.recall(key)
        if found is None:
            try:
                found = build()
            except RecursionError:
                raise MalformedPayload("the request is nested too deeply", detail="depth") from None
            self._frames.keep(key, found)
        return found

    def _read(self, raw: bytes, key: bytes, read: Read, index: int) -> Message:
        try:
            message = facts(read(raw), self.counting)._replace(has_mark=has_mark(raw))
        except MalformedPayload as error:
            raise _placed(error, index) from None
        except RecursionError:
            raise MalformedPayload(f"messages[{index}] is nested too deeply", message_index=index) from None
        self._memo.keep(key, message)
        return message


def _message_cost(message: Message) -> int:
    return _MESSAGE_BYTES + _PART_BYTES * len(message.kinds)


def _frame_cost(frame: Frame) -> int:
    return 1_000 + sum(400 + len(element.raw) for element in (*frame.system, *frame.tools))


def _harvest_cost(found: Harvest) -> int:
    return _HARVEST_BYTES + _FINDING_BYTES * sum([len(part) for part in found if isinstance(part, tuple)])


def _placed(error: MalformedPayload, index: int) -> MalformedPayload:
    """The error with the message that it is about."""
    return MalformedPayload(f"messages[{index}]: {error.message}", **{**error.metadata, "message_index": index})
