"""The doors through which the outside is reached: one method each, so that a double is a few lines.

The doubles that ship are `stores.memory` and `providers.scripted`.
"""

from __future__ import annotations

from typing import Protocol

from compactor.core.segments import Segment
from compactor.model import Request


class HistoryStore(Protocol):
    """Keeps the evicted originals of sessions, append-only."""

    async def append(self, session_id: str, segment: Segment) -> str:
        """Appends what of the segment is not there yet, and returns the path as the model should know it.

        Idempotent. Raises HistoryError when nothing could be written for certain.
        """
        ...


class TokenCounter(Protocol):
    """Counts the input tokens of a whole request, as its provider does."""

    async def count(self, request: Request, body: bytes, timeout_seconds: float) -> int:
        """The provider's number for a body. Raises CountFailed, also after `timeout_seconds`."""
        ...


class CountFailed(Exception):
    """The provider did not count: it is down, slow, throttling, or refuses this request. Never holds content."""
