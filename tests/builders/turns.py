"""A compaction service, a provider and a store that follow a script, and sessions over them, waiting and awaiting."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from typing import Any

from hango.compaction import AsyncClient, AsyncSession, Client, Compaction, CompactResponse, Session
from hango.compaction.v1 import compaction_pb2
from hango.compaction.v1 import compaction_service_pb2 as pb

REASONS = compaction_pb2.CompactionReason
BODY = {
    "model": "claude-haiku-4-5",
    "max_tokens": 100,
    "messages": [
        {"role": "user", "content": "Look at the loader."},
        {"role": "assistant", "content": "It drops a row."},
        {"role": "user", "content": "Mend it."},
    ],
}
REPLY = {"stop_reason": "end_turn", "usage": {"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 5}}
TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum"


def answer(
    before: int, after: int, *, sequence: int = 1, outcome: str = "SUMMARIZED", reason: str = ""
) -> CompactResponse:
    """A response that keeps the last message and puts a summary before it, or everything where nothing was done."""
    record = Compaction(sequence=sequence, history_path="/conversation_history/tour.md") if sequence else None
    return CompactResponse(
        compaction=record,
        outcome=f"OUTCOME_{outcome}",
        reason=f"COMPACTION_REASON_{reason or 'UNSPECIFIED'}",
        original_input_tokens=before,
        compacted_input_tokens=after,
        evicted_message_count=2 if outcome == "SUMMARIZED" else 0,
    )


AS_IT_IS = answer(90, 90, sequence=0, outcome="UNCHANGED")
LADDER = (
    answer(220, 170, sequence=1, reason="THRESHOLD"),
    answer(170, 120, sequence=2, reason="OVERFLOW"),
    answer(120, 60, sequence=3, outcome="TRUNCATED", reason="TRUNCATE"),
)


class Service:
    """Answers Compact calls by its script and keeps them."""

    def __init__(self, *script: CompactResponse | BaseException) -> None:
        self.script = list(script)
        self.calls: list[pb.CompactRequest] = []

    def call(self, method: str, request: Any, timeout: float) -> Any:
        self.calls.append(copy.deepcopy(request))
        step = self.script.pop(0)
        if isinstance(step, BaseException):
            raise step
        response = copy.deepcopy(step)
        if request.HasField("conversation"):
            response.conversation.CopyFrom(request.conversation)
            return response
        body = json.loads(request.native.body)
        if response.outcome not in (pb.OUTCOME_UNCHANGED, pb.OUTCOME_REUSED):
            summary = {"type": "text", "text": "Summary.", "cache_control": {"type": "ephemeral"}}
            body["messages"] = [{"role": "user", "content": [summary]}, *body["messages"][-1:]]
        response.native.body = json.dumps(body).encode()
        return response

    def close(self) -> None: ...

    @property
    def reasons(self) -> list[str]:
        return [REASONS.Name(call.reason).removeprefix("COMPACTION_REASON_") for call in self.calls]


class AsyncService:
    def __init__(self, service: Service) -> None:
        self.service = service

    async def call(self, method: str, request: Any, timeout: float) -> Any:
        await asyncio.sleep(0)
        return self.service.call(method, request, timeout)

    async def close(self) -> None: ...


class Provider:
    """Answers requests by its script and keeps them; an exception is raised, a function called."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.requests: list[Any] = []

    def __call__(self, request: Any) -> Any:
        self.requests.append(request)
        step = self.script.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step() if callable(step) else step


class Store:
    """Keeps what is written of turns; fails while it is told to."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, int]] = []
        self.is_down = False

    def record_turn(self, session_id: str, *, last_input_tokens: int, compactions: int) -> None:
        if self.is_down:
            raise OSError("the database is away")
        self.rows.append((session_id, last_input_tokens, compactions))


class Waiting:
    """A session over a `Client`."""

    def __init__(self, service: Service, **options: Any) -> None:
        self.session: Any = Session(Client(service), "tour", **options)

    def run(self, body: Any, send: Callable[[Any], Any], **options: Any) -> Any:
        return self.session.run(body, send, **options)

    def turn(self, *calls: tuple[Any, Callable[[Any], Any]]) -> list[Any]:
        with self.session.turn() as turn:
            return [turn.call(body, send) for body, send in calls]


class Awaiting:
    """A session over an `AsyncClient`, behind the same methods."""

    def __init__(self, service: Service, **options: Any) -> None:
        self.session: Any = AsyncSession(AsyncClient(AsyncService(service)), "tour", **options)

    def run(self, body: Any, send: Callable[[Any], Any], **options: Any) -> Any:
        return asyncio.run(self.session.run(body, awaited(send), **options))

    def turn(self, *calls: tuple[Any, Callable[[Any], Any]]) -> list[Any]:
        async def several() -> list[Any]:
            async with self.session.turn() as turn:
                return [await turn.call(body, awaited(send)) for body, send in calls]

        return asyncio.run(several())


def awaited(send: Callable[[Any], Any]) -> Callable[[Any], Any]:
    async def sent(request: Any) -> Any:
        await asyncio.sleep(0)
        return send(request)

    return sent


Kind = type[Waiting] | type[Awaiting]
KINDS: list[Kind] = [Waiting, Awaiting]
