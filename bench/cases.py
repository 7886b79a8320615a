"""What is measured: each case as the bytes of a call, and a check that the server does what the case says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from bench.bodies import EIGHT_THOUSAND, SIZES, THOUSAND, Size, body_of, unseen
from bench.server import ECHO
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import conversation_pb2, policy_pb2

Send = Callable[[str, bytes], bytes]
"""Calls a method with bytes and returns the bytes of the answer."""

COMPACT = "/hango.compaction.v1.CompactionService/Compact"
COUNT_TOKENS = "/hango.compaction.v1.CompactionService/CountTokens"
ROOMY = 100_000_000
"""A window that nothing here fills."""

UNCHANGED_AIM = 2.5
"""The most that an unchanged request of 1 MB should cost, in echoes of the same bytes."""

DECISION_AIM_MS = 60.0
"""The most that a decision over 8,000 messages should cost, in CPU milliseconds inside the process, all known."""

LINEAR_AIM = 9.0
"""The most that a decision over 8,001 messages should cost, in decisions over 1,001."""

_DECISION_SHARE = 0.6  # of its own tokens is the trigger of a request that has to be brought down
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Case:
    """One row: what is sent, `calls` times in a round.

    `payload` makes the bytes of the next call. `is_new` says that no two calls are the same, so that none may be made
    beforehand to warm up. `aim` is the most that the case should cost, in echoes of the same body.
    """

    size: Size
    name: str
    method: str
    payload: Callable[[], bytes]
    calls: int
    is_new: bool = False
    aim: float | None = None


def served(send: Send) -> list[Case]:
    """The cases that go through a server, each tried once; an echo comes first in each size."""
    found: list[Case] = []
    for size in SIZES:
        found += _fitting(send, size)
    for size in (THOUSAND, EIGHT_THOUSAND):
        found += _decisions(send, size)
    return found


def told(send: Send) -> list[Case]:
    """The cases on which telemetry is measured: the cheapest calls, where it weighs most, and one that compacts."""
    fitting = [case for size in SIZES[:2] for case in _fitting(send, size) if case.name == "unchanged"]
    return fitting + [case for case in _decisions(send, THOUSAND) if case.name == "decision"]


def decision(size: Size, send: Send) -> bytes:
    """A call that has to decide afresh over a whole log and keeps no history."""
    body = body_of(size)
    request = _tight(body, send)
    request.policy.history_mode = policy_pb2.HISTORY_MODE_OFF
    return request.SerializeToString()


def checked(answer: bytes, *outcomes: pb.Outcome) -> pb.CompactResponse:
    """The response, which has to have one of the outcomes."""
    response = pb.CompactResponse.FromString(answer)
    assert response.outcome in outcomes, f"outcome {pb.Outcome.Name(response.outcome)}: {response.notices}"
    return response


def unseen_call(call: bytes) -> bytes:
    """The call with every message different from those of any call before."""
    return unseen(call, next(_numbers))


def _next_turn(call: bytes) -> bytes:
    """The call with a last step, two messages, that no server has seen: what an agent sends turn by turn."""
    at = call.rindex(b'{"role":"assistant"')
    return call[:at] + unseen_call(call[at:])


def _fitting(send: Send, size: Size) -> list[Case]:
    """A request under its trigger, in all that a caller may want to have back."""
    body = body_of(size)
    whole = _request(body, ROOMY)
    edits = _request(body, ROOMY)
    edits.result_mode = pb.RESULT_MODE_EDITS
    tight = _tight(body, send)
    tight.policy.history_mode = policy_pb2.HISTORY_MODE_OFF
    made = checked(send(COMPACT, tight.SerializeToString()), pb.OUTCOME_SUMMARIZED)
    replay = pb.CompactRequest()
    replay.CopyFrom(tight)
    replay.previous_compaction.CopyFrom(made.compaction)
    payloads = [request.SerializeToString() for request in (whole, edits, replay)]
    outcomes = (pb.OUTCOME_UNCHANGED, pb.OUTCOME_UNCHANGED, pb.OUTCOME_REUSED)
    for payload, outcome in zip(payloads, outcomes, strict=True):
        checked(send(COMPACT, payload), outcome)
    calls = 20 if size.size < 500_000 else 10 if size.size < 2_000_000 else 4
    return [
        _echo(size, body, calls),
        Case(
            size, "unchanged", COMPACT, lambda: payloads[0], calls, aim=UNCHANGED_AIM if size.name == "1 MB" else None
        ),
        Case(size, "unchanged, next turn", COMPACT, lambda: _next_turn(payloads[0]), calls, is_new=True),
        Case(size, "unchanged, edits", COMPACT, lambda: payloads[1], calls),
        Case(size, "record replayed", COMPACT, lambda: payloads[2], calls),
        Case(size, "unchanged, first seen", COMPACT, lambda: unseen_call(payloads[0]), 1, is_new=True),
    ]


def _decisions(send: Send, size: Size) -> list[Case]:
    """A request over its trigger: clipping is considered, a cut found and checked, a summary written by code."""
    body = body_of(size)
    request = _tight(body, send)
    request.policy.history_mode = policy_pb2.HISTORY_MODE_OFF
    off = request.SerializeToString()
    request.session_id = "bench"
    request.policy.history_mode = policy_pb2.HISTORY_MODE_RETURN
    returned = request.SerializeToString()
    request.policy.history_mode = policy_pb2.HISTORY_MODE_STORE

    def stored() -> bytes:
        request.session_id = f"bench-{next(_numbers)}"
        return request.SerializeToString()

    for payload in (off, returned, stored()):
        checked(send(COMPACT, payload), pb.OUTCOME_SUMMARIZED)
    calls = 4 if size is THOUSAND else 1
    return [
        _echo(size, body, 4 * calls),
        Case(size, "decision", COMPACT, lambda: off, calls),
        Case(size, "decision, history returned", COMPACT, lambda: returned, calls),
        Case(size, "decision, history stored", COMPACT, stored, calls, is_new=True),
        Case(size, "decision, first seen", COMPACT, lambda: unseen_call(off), 1, is_new=True),
    ]


def _echo(size: Size, body: bytes, calls: int) -> Case:
    return Case(size, "echo", ECHO, lambda: body, calls)


def _request(body: bytes, window: int) -> pb.CompactRequest:
    native = conversation_pb2.NativePayload(format=conversation_pb2.PAYLOAD_FORMAT_ANTHROPIC_MESSAGES, body=body)
    policy = policy_pb2.Policy(max_input_tokens=window, history_mode=policy_pb2.HISTORY_MODE_OFF)
    return pb.CompactRequest(native=native, policy=policy, turn_id="bench")


def _tight(body: bytes, send: Send) -> pb.CompactRequest:
    """The request under a trigger at a share of its own tokens."""
    request = _request(body, ROOMY)
    question = pb.CountTokensRequest(native=request.native, policy=request.policy)
    tokens = pb.CountTokensResponse.FromString(send(COUNT_TOKENS, question.SerializeToString())).input_tokens
    request.policy.max_input_tokens = int(tokens * _DECISION_SHARE) + 8_192
    request.policy.trigger_fraction = 1.0
    return request
