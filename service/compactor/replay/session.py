"""A recorded log, cut into the model calls that it was made of.

The model was called wherever the assistant speaks and did not speak just before; the request of that call is the log up
to there. What the log ends with, if it is not the assistant, is a call whose answer was not recorded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import msgspec

from compactor.core import boundary
from compactor.core.measure import heuristic
from compactor.formats import anthropic, openai
from compactor.model import Dialect, Format, Request, Role
from compactor.reader import Facts

_BYTES = 64_000_000


@dataclass(frozen=True, slots=True, repr=False)
class Session:
    """A recorded session. `calls` holds for each model call how many messages its request has; `starts` are the
    positions at which a window may begin without tearing a call from its result.
    """

    request: Request
    dialect: Dialect
    calls: tuple[int, ...]
    starts: tuple[int, ...]

    def body(self, count: int) -> bytes:
        """The request of the call with so many messages."""
        whole = self.request
        return whole.body[: whole.stops[count - 1]] + whole.body[whole.array.stop - 1 :]


def session_of(body: bytes, format: str) -> Session:
    """Cuts a log, of the format "anthropic" or "openai". Raises MalformedPayload or EmptyConversation."""
    facts = Facts(_BYTES)
    shape = Format.ANTHROPIC_MESSAGES if format == "anthropic" else Format.OPENAI_CHAT
    module = anthropic if format == "anthropic" else openai
    request: Request = module.index(body, lambda model: facts.reader(heuristic(model, shape), shape), facts.prefixes)
    speaks = [message.role is Role.ASSISTANT for message in request.messages]
    calls = [at for at in range(1, len(speaks)) if speaks[at] and not speaks[at - 1] and at > request.leading]
    if not speaks[-1] and len(speaks) > request.leading:
        calls.append(len(speaks))
    cuts = boundary.cuts(request.messages, request.leading, thinking_enabled=False)
    return Session(request, module.DIALECT, tuple(calls), tuple(sorted({request.leading, *cuts.keeps, *cuts.turns})))


def with_model(body: bytes, model: str) -> bytes:
    """The body with another model. Raises ValueError where the body is no JSON object."""
    try:
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("it is no JSON object") from None
    members["model"] = msgspec.Raw(json.dumps(model).encode())
    return msgspec.json.encode(members)
