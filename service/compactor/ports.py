"""The doors through which the outside is reached: one method each, so that a double is a few lines.

The doubles that ship are `stores.memory` and `providers.scripted`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import NamedTuple, Protocol

from compactor.core.assignment import Prompt
from compactor.core.credentials import Found
from compactor.core.segments import Segment
from compactor.model import Request, SummarizerUsage


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


class Reply(NamedTuple):
    """What a model answered: its text, why it stopped, whether it called a tool, and what the call cost."""

    text: str
    stop_reason: str
    calls_tool: bool
    usage: SummarizerUsage


class Summarizer(Protocol):
    """Has a model write."""

    async def write(self, model: str, prompt: Prompt, max_output_tokens: int, timeout_seconds: float) -> Reply:
        """The model's answer to a prompt. Raises SummarizerFailed, also after `timeout_seconds`."""
        ...


class Failure(StrEnum):
    """How a model failed to answer. `REFUSED`: the provider does not take this call, and will not take it again."""

    UNAVAILABLE = "UNAVAILABLE"
    TIMEOUT = "TIMEOUT"
    RATE_LIMITED = "RATE_LIMITED"
    REFUSED = "REFUSED"
    UNAUTHORIZED = "UNAUTHORIZED"


class SummarizerFailed(Exception):
    """The provider gave no answer. Never holds content. `retry_seconds` is when it wants to be asked again, if said."""

    def __init__(self, detail: str, failure: Failure, *, calls: int = 1, retry_seconds: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.failure = failure
        self.calls = calls
        self.retry_seconds = retry_seconds


class Redactor(Protocol):
    """Knows credentials when it sees them."""

    async def ready(self) -> None:
        """Returns once it can find any. Waiting occupies no thread, and may be given up."""
        ...

    def find(self, text: str) -> Sequence[Found]:
        """The credentials that stand in a text, in order, none over another: the same for the same text, in any thread,
        in linear time and without asking anybody.
        """
        ...


class Leaf(Protocol):
    """The place of one summary among those of a session, held alone as long as it is open."""

    @property
    def data(self) -> bytes | None:
        """What was kept there last, None for nothing."""
        ...

    async def keep(self, data: bytes) -> None:
        """Keeps what is to be found there from now on. Raises HistoryError."""
        ...


class SummaryShelf(Protocol):
    """Keeps what summaries cost money, where every replica finds them."""

    def leaf(self, session_id: str, key: str, patience_seconds: float) -> AbstractAsyncContextManager[Leaf]:
        """Opens a place once nobody else has it open. Raises HistoryError where it cannot, also after the patience."""
        ...
