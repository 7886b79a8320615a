"""A session's model calls, kept inside the context window: compact, send, and where the provider refuses, once more.

    session = Session(client, "tour", record=saved)
    result = session.run(body, lambda request: anthropic.messages.create(**request))
    saved = result.record  # kept with the session: after a restart it goes into the next Session

`body` is the caller's raw request and is never changed. `send` gets the compacted one in the same form (a dict for a
dict, bytes for bytes, a Conversation for a Conversation), sends it, and returns whatever its SDK returns.

A call climbs a ladder (rule R23), and each rung sends fewer tokens than the one before:

1. the reason is left to the budget, or TOOL where the model has asked for a compaction;
2. after an overflow, OVERFLOW, with the numbers that the provider named;
3. after a second one, TRUNCATE.

A rung that cannot make the request smaller is not sent. What the call ends in is the provider's own exception, or
`ContextOverflow` where the overflow was a stop reason. Every exception carries the record in force: `compaction_of`.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import grpc
from opentelemetry import metrics, trace

from hango.compaction import telemetry
from hango.compaction.calls import Body, CompactResult, PolicyLike, Reason, policy_message
from hango.compaction.client import AsyncClient, Client
from hango.compaction.errors import CompactionError, NotServed
from hango.compaction.ladder import Answered, Ask, Failed, Ladder, Outcome, Raw, Refused, Send, Step, climb, climb_async
from hango.compaction.sources import Format
from hango.compaction.tool import COMPACTION_REQUESTED
from hango.compaction.usage import Usage, usage_of
from hango.compaction.v1.compaction_pb2 import Compaction
from hango.compaction.v1.compaction_service_pb2 import OUTCOME_REUSED, OUTCOME_UNCHANGED, ObservedUsage
from hango.compaction.v1.conversation_pb2 import Conversation
from hango.compaction.views import View

if TYPE_CHECKING:
    from hango.compaction.sessions import SessionStore

AnyClient = TypeVar("AnyClient", Client, AsyncClient)
Request = TypeVar("Request", bytes, dict[str, Any], Conversation)
Reply = TypeVar("Reply")

IfNotServed = Literal["SEND", "RAISE"]
"""What becomes of a call while the service gives no answer."""

_AFTER_OVERFLOW: tuple[Reason, ...] = ("OVERFLOW", "TRUNCATE")
_FAILED_INSIDE = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS)

_log = logging.getLogger("hango.compaction")


@dataclass(frozen=True, slots=True)
class CallResult(Generic[Reply]):
    """What one model call came to.

    `reply` is what `send` returned. `record` is the record in force, to be stored with the session; None where the raw
    request is sent as it is. `compaction` is the result whose request was answered. `degraded` says why there is none:
    the service gave no answer, and the request went out without it. `overflow_count` says how often the provider
    refused before it answered; `usage` is what the reply reports, None where it cannot be read.
    """

    reply: Reply
    record: Compaction | None
    compaction: CompactResult | None
    degraded: CompactionError | None
    overflow_count: int
    usage: Usage | None


@dataclass(slots=True)
class _Tally:
    """What a turn has come to so far: its compactions, and the input tokens of its last request that was answered, or
    of its last one where none was.
    """

    turn_id: str
    compactions: int = 0
    sent_tokens: int = 0
    answered_tokens: int | None = None
    is_over: bool = False

    def answer(self, usage: Usage | None) -> None:
        """Notes that the last request was answered."""
        self.answered_tokens = usage.input_tokens if usage else self.sent_tokens

    @property
    def last_input_tokens(self) -> int:
        """What is written of the turn; 0 where nothing is known of it: none was answered, nothing was compacted."""
        if self.answered_tokens is not None:
            return self.answered_tokens
        return self.sent_tokens if self.compactions else 0


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request to send. `sequence` is that of the record in force for it, None where it is unlike any record's."""

    request: Body
    compaction: CompactResult | None
    degraded: CompactionError | None
    is_new: bool
    sequence: int | None


class _Session(Generic[AnyClient]):
    """What both kinds of session share: the state that goes from call to call, and the ladder."""

    def __init__(
        self,
        client: AnyClient,
        session_id: str,
        *,
        record: Compaction | None = None,
        last_usage: ObservedUsage | None = None,
        store: SessionStore | None = None,
        policy: PolicyLike | None = None,
        format: Format | None = None,
        stable_system_count: int | None = None,
        timeout: float | None = None,
        if_not_served: IfNotServed = "SEND",
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        if if_not_served not in ("SEND", "RAISE"):
            raise ValueError(f"if_not_served is {if_not_served!r}, it has to be SEND or RAISE")
        self.session_id = session_id
        self.record = record
        self.last_usage = last_usage
        self._client: AnyClient = client
        self._store = store
        self._options = {
            "session_id": session_id,
            "policy": policy_message(policy),
            "stable_system_count": stable_system_count,
            "timeout": timeout,
        }
        self._format: Format | None = format
        self._if_not_served = if_not_served
        self._telemetry = telemetry.Telemetry(tracer_provider, meter_provider)
        self._view: View | None = None
        self._is_compaction_requested = False
        self._unwritten_compactions = 0
        self._in_call = threading.Lock()

    def request_compaction(self) -> str:
        """Has the next call compacted with reason TOOL; the text of the tool's result.

        It answers a call of `compact_conversation`; several in one batch are one compaction. The wish stands until the
        service has compacted for it, whatever becomes of the model call then: the record has the compaction.
        """
        self._is_compaction_requested = True
        return COMPACTION_REQUESTED

    def _ladder(self, tally: _Tally, body: Body) -> Ladder:
        """One model call, rung by rung."""
        raw = Raw.of(body, self._format)
        ended = yield from self._rung(raw, tally, "TOOL" if self._is_compaction_requested else None, None)
        for reason in _AFTER_OVERFLOW:
            if isinstance(ended, Refused):
                ended = yield from self._rung(raw, tally, reason, ended)
        return ended.final(self.record) if isinstance(ended, Refused) else ended

    def _rung(
        self, raw: Raw, tally: _Tally, reason: Reason | None, refused: Refused | None
    ) -> Generator[Step, Outcome, Outcome | Refused]:
        """Compacts and sends once. Where nothing smaller than what was refused came of it, it stays at that."""
        answer = yield self._question(raw, tally, reason, refused)
        prepared = self._prepared(raw, tally, answer, refused)
        if not isinstance(prepared, _Prepared):
            return prepared
        with self._telemetry.chat(raw.model, raw.format, self.session_id, is_compacted=prepared.is_new) as tell:
            outcome = yield Send(prepared.request)
            usage = usage_of(outcome.value) if isinstance(outcome, Answered) else None
            tell(usage, outcome.error if isinstance(outcome, Failed) else None)
        count = refused.count if refused else 0
        overflow = Refused.if_so(outcome, count + 1)
        if overflow is not None:
            self._telemetry.overflowed(raw.model, raw.format)
            if reason != _AFTER_OVERFLOW[-1]:
                telemetry.retrying()
            return overflow
        if isinstance(outcome, Failed):
            return outcome
        return self._result(raw, tally, prepared, outcome.value, usage, count)

    def _question(self, raw: Raw, tally: _Tally, reason: Reason | None, refused: Refused | None) -> Ask:
        return Ask(
            {
                **self._options,
                "body": raw.payload,
                "format": raw.format,
                "turn_id": tally.turn_id,
                "reason": reason,
                "record": self.record,
                "last_usage": self.last_usage,
                "overflow": refused.numbers if refused else None,
            }
        )

    def _prepared(
        self, raw: Raw, tally: _Tally, outcome: Outcome, refused: Refused | None
    ) -> _Prepared | Failed | Refused:
        """The request to send; or how the call ends, or that it stays refused."""
        if isinstance(outcome, Answered):
            result: CompactResult = outcome.value
            is_new = self._take(raw, tally, result)
            if refused is not None and not _is_smaller(result):
                return refused
            return _Prepared(raw.request(result), result, None, is_new, _sequence(self.record))
        error = outcome.error
        if not isinstance(error, CompactionError):
            return outcome
        if refused is not None:
            return refused.final(self.record, error)
        if self._if_not_served == "RAISE" or not _is_unanswered(error):
            return outcome
        return self._without(raw, error)

    def _take(self, raw: Raw, tally: _Tally, result: CompactResult) -> bool:
        """Makes a result the session's state; whether it compacted anything that was not compacted before."""
        response = result.response
        is_new = response.outcome not in (OUTCOME_UNCHANGED, OUTCOME_REUSED)
        self.record = result.record
        self._is_compaction_requested = False
        self._view = View(raw.payload, result)
        if self.last_usage is not None and self.last_usage.sequence != _sequence(self.record):
            self.last_usage = None  # it is about what the model saw before, never about what it sees now
        tally.compactions += is_new
        tally.sent_tokens = response.compacted_input_tokens
        if is_new:
            telemetry.compacted(response)
        return is_new

    def _without(self, raw: Raw, error: CompactionError) -> _Prepared:
        """What is sent where the service gives no answer: what the model saw last and what is new, else the raw log."""
        self._telemetry.unserved(_cause(error))
        _log.warning("session %s: a request goes out uncompacted, %s", self.session_id, type(error).__name__)
        is_current = self._view is not None and self.record is not None and self._view.result.record == self.record
        view = self._view.of(raw.payload) if self._view is not None and is_current else None
        if view is not None:
            return _Prepared(raw.like(view), None, error, is_new=False, sequence=_sequence(self.record))
        return _Prepared(raw.like(raw.payload), None, error, is_new=False, sequence=None if self.record else 0)

    def _result(
        self, raw: Raw, tally: _Tally, prepared: _Prepared, reply: Any, usage: Usage | None, overflow_count: int
    ) -> Answered:
        tally.answer(usage)
        if usage is not None and prepared.sequence is not None and raw.message_count:
            self.last_usage = ObservedUsage(
                message_count=raw.message_count, input_tokens=usage.input_tokens, sequence=prepared.sequence
            )
        compaction, degraded = prepared.compaction, prepared.degraded
        return Answered(CallResult(reply, self.record, compaction, degraded, overflow_count, usage))

    @contextmanager
    def _calling(self, tally: _Tally) -> Iterator[None]:
        """Holds the session for one call; what fails in it carries the record."""
        if tally.is_over:
            raise RuntimeError("the turn is over")
        if not self._in_call.acquire(blocking=False):
            raise RuntimeError("a session makes one call at a time")
        try:
            yield
        except BaseException as error:
            with suppress(AttributeError, TypeError):  # an exception that takes no attributes
                error.compaction = self.record  # type: ignore[attr-defined]
            raise
        finally:
            self._in_call.release()

    @contextmanager
    def _ending(self, tally: _Tally) -> Iterator[Callable[[], None] | None]:
        """Ends a turn; gives what writes its counters, None where there is nothing to write.

        A store that fails is logged and takes nothing from the caller: the compactions that it did not count are added
        to those of the next turn.
        """
        tally.is_over = True
        compactions = tally.compactions + self._unwritten_compactions
        store, tokens = self._store, tally.last_input_tokens
        write: Callable[[], None] | None = None
        if store is not None and tokens:
            write = partial(store.record_turn, self.session_id, last_input_tokens=tokens, compactions=compactions)
        try:
            yield write
        except Exception:  # noqa: BLE001 -- whatever a store fails with, the reply is the caller's
            self._unwritten_compactions = compactions
            _log.exception("session %s: the turn's counters were not written", self.session_id)
        else:
            self._unwritten_compactions = 0 if write else compactions


class Session(_Session[Client]):
    """The model calls of one session, over a `Client`. For one thread at a time, and one call at a time.

    `record` and `last_usage` are what a stored session has of them, and always the current ones: both belong into the
    caller's storage after each turn. Both are messages of the contract, with SerializeToString and FromString.

    `store` gets the counters of each turn. `policy`, `stable_system_count` and `timeout` go with each Compact call;
    `format` is found from the body where it is not said. `if_not_served` says what becomes of a call while the service
    gives no answer: "SEND", the default, sends what the model saw last and what is new since, or the raw request where
    there is no such view, and says so in the result's `degraded`; "RAISE" raises the CompactionError. Spans and metrics
    go to the given OpenTelemetry providers, or to the process's own. Raises ValueError for a policy that cannot be
    written.

        with Client.connect("127.0.0.1:50051") as client:
            session = Session(client, "tour", policy={"trigger_fraction": 0.7})
            result = session.run(body, lambda request: anthropic.messages.create(**request))
            print(result.reply.content, result.compaction.outcome)
    """

    def run(self, body: Request, send: Callable[[Request], Reply], *, turn_id: str | None = None) -> CallResult[Reply]:
        """A turn of one model call; see `Turn.call` for what it raises."""
        with self.turn(turn_id) as turn:
            return turn.call(body, send)

    def turn(self, turn_id: str | None = None) -> Turn:
        """A turn of several model calls, such as a tool loop; a fresh id where none is given."""
        return Turn(self, turn_id)


class Turn:
    """A turn: model calls under one id, whose counters are written once, when the context ends.

    with session.turn() as turn:
        while calls := tools_called(reply := turn.call(body, send).reply):
            body["messages"] += answers(reply, calls)
    """

    def __init__(self, session: Session, turn_id: str | None = None) -> None:
        self._session = session
        self._tally = _Tally(turn_id or uuid.uuid4().hex)

    @property
    def turn_id(self) -> str:
        """The id that all Compact calls of the turn name."""
        return self._tally.turn_id

    def call(self, body: Request, send: Callable[[Request], Reply]) -> CallResult[Reply]:
        """One model call, compacted and sent up to three times.

        Raises what `send` raises, ContextOverflow where the model's window stayed full, a CompactionError where the
        service refuses the request, RuntimeError for a call within a call or after the turn's end; each with the record
        in force as its attribute `compaction`.
        """
        session = self._session
        with session._calling(self._tally):
            result: CallResult[Reply] = climb(session._ladder(self._tally, body), session._client.compact, send)
            return result

    def __enter__(self) -> Turn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._session._ending(self._tally) as write:
            if write is not None:
                write()


class AsyncSession(_Session[AsyncClient]):
    """The same over an `AsyncClient`, with a `send` that is awaited; the store is called in a thread.

    session = AsyncSession(client, "tour")
    result = await session.run(body, lambda request: anthropic.messages.create(**request))
    """

    async def run(
        self, body: Request, send: Callable[[Request], Awaitable[Reply]], *, turn_id: str | None = None
    ) -> CallResult[Reply]:
        """A turn of one model call; see `Session.run`."""
        async with self.turn(turn_id) as turn:
            return await turn.call(body, send)

    def turn(self, turn_id: str | None = None) -> AsyncTurn:
        """A turn of several model calls; see `Session.turn`."""
        return AsyncTurn(self, turn_id)


class AsyncTurn:
    """The same as `Turn`, with calls that are awaited."""

    def __init__(self, session: AsyncSession, turn_id: str | None = None) -> None:
        self._session = session
        self._tally = _Tally(turn_id or uuid.uuid4().hex)

    @property
    def turn_id(self) -> str:
        """The id that all Compact calls of the turn name."""
        return self._tally.turn_id

    async def call(self, body: Request, send: Callable[[Request], Awaitable[Reply]]) -> CallResult[Reply]:
        """One model call; see `Turn.call`."""
        session = self._session
        with session._calling(self._tally):
            ladder = session._ladder(self._tally, body)
            result: CallResult[Reply] = await climb_async(ladder, session._client.compact, send)
            return result

    async def __aenter__(self) -> AsyncTurn:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._session._ending(self._tally) as write:
            if write is not None:
                await asyncio.to_thread(write)


def _sequence(record: Compaction | None) -> int:
    return record.sequence if record is not None else 0


def _is_smaller(result: CompactResult) -> bool:
    """Whether a result has fewer tokens than what the model saw before, which is what was refused."""
    return result.response.compacted_input_tokens < result.response.original_input_tokens


def _cause(error: CompactionError) -> str:
    """What failed, in the words of the contract or of gRPC."""
    return (error.reason or error.code.name).lower()


def _is_unanswered(error: CompactionError) -> bool:
    """Whether an error says nothing of the request: no answer came, or the service failed inside."""
    return isinstance(error, NotServed) or (not error.reason and error.code in _FAILED_INSIDE)
