"""Histories in memory: the double of the file system that ships with the service."""

from __future__ import annotations

from asyncio import Lock
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from compactor.core.segments import Segment, addition, note, noted, path_of


class MemoryHistory:
    """Keeps each session's history as bytes, as they would stand in its file. `files` holds them by path."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._locks: defaultdict[tuple[str, str], Lock] = defaultdict(Lock)

    async def append(self, session_id: str, segment: Segment) -> str:
        """Appends what is not archived yet, and returns the path. Raises HistoryError for a bad session id."""
        path = path_of(session_id)
        there = self.files.get(path, b"")
        keep, data = addition(segment, len(there), lambda at, count: there[at : at + count])
        if data:
            self.files[path] = there[:keep] + data
        return path

    @asynccontextmanager
    async def leaf(self, session_id: str, key: str, patience_seconds: float) -> AsyncIterator[_Leaf]:
        """Opens the place of a summary, once nobody else of this process has it open."""
        del patience_seconds
        async with self._locks[session_id, key]:
            yield _Leaf(self.files, path_of(session_id), key)


@dataclass(frozen=True, slots=True)
class _Leaf:
    files: dict[str, bytes]
    path: str
    key: str

    @property
    def data(self) -> bytes | None:
        there = self.files.get(self.path, b"")
        return noted(self.key, len(there), lambda at, count: there[at : at + count])

    async def keep(self, data: bytes) -> None:
        there = self.files.get(self.path, b"")
        kept, added = note(self.key, data, len(there), lambda at, count: there[at : at + count])
        self.files[self.path] = there[:kept] + added
