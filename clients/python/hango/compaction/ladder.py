"""The steps of a model call, its outcomes, and how they are walked through: waiting or awaiting.

What a call does next is decided by a generator. It yields what is to be done, `Ask` or `Send`, and is sent what came
of it, `Answered` or `Failed`; what it returns is how the call ends. Exceptions travel as values, so that the generator
says in one place which of them are the caller's.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from hango.compaction.calls import Body, CompactResult
from hango.compaction.overflow import overflow_in, overflow_of
from hango.compaction.sources import Format, format_of
from hango.compaction.v1.compaction_pb2 import Compaction
from hango.compaction.v1.compaction_service_pb2 import ObservedOverflow
from hango.compaction.v1.conversation_pb2 import Conversation
from hango.compaction.views import Payload


class ContextOverflow(Exception):
    """The model stopped because its context window was full, and did so again after truncation.

    `reply` is its last reply, `compaction` the record in force.
    """

    def __init__(self, reply: Any, compaction: Compaction | None) -> None:
        super().__init__("the model's context window was full, and nothing more can be left out of the request")
        self.reply = reply
        self.compaction = compaction


def compaction_of(error: BaseException) -> Compaction | None:
    """The record that was in force when a session's call failed; None for none, and for an exception of another origin.

    An exception that wraps one of a session's, by `raise … from`, has its record.

        try:
            session.run(body, send)
        except anthropic.APIError as error:
            saved = compaction_of(error)
    """
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(found := getattr(cause, "compaction", None), Compaction):
            return found
        seen.add(id(cause))
        cause = cause.__cause__
    return None


class Answered(NamedTuple):
    """A step that came to something."""

    value: Any


class Failed(NamedTuple):
    """A step that ended in an exception."""

    error: BaseException


class Ask(NamedTuple):
    """A Compact call, by its options."""

    options: dict[str, Any]


class Send(NamedTuple):
    """A request for the model."""

    request: Any


Outcome = Answered | Failed
Step = Ask | Send
Ladder = Generator[Step, Outcome, Outcome]


def climb(ladder: Ladder, compact: Callable[..., CompactResult], send: Callable[[Any], Any]) -> Any:
    """What the call comes to. Raises what it ends in."""
    outcome: Outcome | None = None
    while not isinstance(step := _next(ladder, outcome), _End):
        try:
            outcome = Answered(compact(**step.options) if isinstance(step, Ask) else send(step.request))
        except BaseException as error:  # noqa: BLE001 -- goes on as a value; the ladder ends in it unless it is an overflow
            outcome = Failed(error)
    return _given(step.outcome)


async def climb_async(
    ladder: Ladder, compact: Callable[..., Awaitable[CompactResult]], send: Callable[[Any], Awaitable[Any]]
) -> Any:
    """The same, awaited."""
    outcome: Outcome | None = None
    while not isinstance(step := _next(ladder, outcome), _End):
        try:
            outcome = Answered(await (compact(**step.options) if isinstance(step, Ask) else send(step.request)))
        except BaseException as error:  # noqa: BLE001 -- as above
            outcome = Failed(error)
    return _given(step.outcome)


class _End(NamedTuple):
    outcome: Outcome


def _next(ladder: Ladder, outcome: Outcome | None) -> Step | _End:
    try:
        return next(ladder) if outcome is None else ladder.send(outcome)
    except StopIteration as done:
        return _End(done.value)


def _given(outcome: Outcome) -> Any:
    if isinstance(outcome, Answered):
        return outcome.value
    try:
        raise outcome.error
    finally:
        del outcome  # which the exception's own traceback would keep alive


@dataclass(frozen=True, slots=True)
class Raw:
    """The caller's raw request: as it came, and as it goes over the wire. `model` is empty where it cannot be read."""

    body: Body
    payload: Payload
    format: Format | None
    model: str
    message_count: int

    @classmethod
    def of(cls, body: Body, format: Format | None) -> Raw:
        """Objects of SDKs in a dict, such as content blocks of an earlier reply, become what they are on the wire.

        Raises MalformedPayload or UnknownFormat for a body that does not tell its format, TypeError for one that cannot
        be written as JSON.
        """
        if isinstance(body, Conversation):
            return cls(body, _copied(body), None, body.model, len(body.messages))
        payload = body if isinstance(body, bytes) else _encoded(body)
        chosen = format_of(payload) if format is None else format
        head = _Head()
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the service says what is wrong
            head = msgspec.json.decode(payload, type=_Head)
        return cls(body, payload, chosen, head.model if isinstance(head.model, str) else "", len(head.messages))

    def request(self, result: CompactResult) -> Body:
        """A result's request in the form in which this one came."""
        if result.conversation is not None:
            return _copied(result.conversation)
        return result.request if isinstance(self.body, dict) else result.body

    def like(self, payload: Payload) -> Body:
        """Any request in the form in which this one came."""
        if isinstance(self.body, dict) and isinstance(payload, bytes):
            decoded: dict[str, Any] = json.loads(payload)
            return decoded
        return payload


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body, enc_hook=_plain)
    except UnicodeEncodeError:  # half of a surrogate pair: the service names the message that holds it
        return json.dumps(body, default=_plain, separators=(",", ":")).encode()


def _plain(value: Any) -> Any:
    """An object of an SDK as the members that were set, as the SDK itself would send it."""
    for name in ("to_dict", "model_dump"):
        if callable(method := getattr(value, name, None)):
            return method(mode="json", exclude_unset=True)
    raise TypeError(f"a request cannot hold an object of the type {type(value).__name__}")


def _copied(conversation: Conversation) -> Conversation:
    copied = Conversation()
    copied.CopyFrom(conversation)
    return copied


class _Head(msgspec.Struct):
    model: Any = None
    messages: list[msgspec.Raw] = []


@dataclass(frozen=True, slots=True)
class Refused:
    """An overflow, the how-many-th of its call: what the provider answered, and what it named."""

    outcome: Outcome
    named: ObservedOverflow
    count: int

    @classmethod
    def if_so(cls, outcome: Outcome, count: int) -> Refused | None:
        """The overflow that an outcome is; None where it is none."""
        match outcome:
            case Answered(reply):
                named = overflow_in(reply)
            case Failed(Exception() as error):
                named = overflow_of(error)
            case _:
                return None
        return None if named is None else cls(outcome, named, count)

    @property
    def numbers(self) -> ObservedOverflow | None:
        """What the provider named; None where it named no number."""
        return self.named if self.named.actual_input_tokens or self.named.max_input_tokens else None

    def final(self, record: Compaction | None, why: BaseException | None = None) -> Failed:
        """The end of the ladder: the provider's own exception, or ours for a stop reason. `why` cut it short."""
        outcome = self.outcome
        error = outcome.error if isinstance(outcome, Failed) else ContextOverflow(outcome.value, record)
        if why is not None:
            error.add_note(f"the compaction service gave no smaller request: {type(why).__name__}")
        return Failed(error)
