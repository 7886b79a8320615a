"""Histories in memory: the double of the file system that ships with the service."""

from __future__ import annotations

from compactor.core.segments import Segment, addition, path_of


class MemoryHistory:
    """Keeps each session's history as bytes, as they would stand in its file. `files` holds them by path."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    async def append(self, session_id: str, segment: Segment) -> str:
        """Appends what is not archived yet, and returns the path. Raises HistoryError for a bad session id."""
        path = path_of(session_id)
        there = self.files.get(path, b"")
        keep, data = addition(segment, len(there), lambda at, count: there[at : at + count])
        if data:
            self.files[path] = there[:keep] + data
        return path
