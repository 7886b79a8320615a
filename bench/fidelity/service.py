"""The service under measurement: its own code in this process, and what comes back of a request at a given size."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

from bench.fidelity.sessions import Json, Session
from compactor.app import Compactor
from compactor.core.measure import heuristic
from compactor.counts import Counts
from compactor.model import Format
from compactor.profiles import profile_of
from compactor.providers.scripted import ScriptedSummarizer
from compactor.providers.tokenizer import tokenizer_counting
from compactor.reader import Facts
from compactor.stores.memory import MemoryHistory
from compactor.summaries import Summaries
from compactor.wire import answers, calls
from hango.compaction import Client
from hango.compaction.calls import CompactResult
from hango.compaction.transport import Method

Count = Callable[[str], int]
Policy = Mapping[str, object]

ROOMY = 100_000_000
"""A window that nothing here fills, so that the summary has the size that it is given."""

FACTS_BYTES = 256 << 20
COMMON: Policy = {
    "reserve_output_tokens": 0,
    "trigger_fraction": 1.0,
    "token_counter": "HEURISTIC",
    "prompt_caching": False,
    "history_mode": "OFF",
}
"""The same in every call. No history: what counts is what the request itself still holds."""

_FORMATS = {"anthropic": Format.ANTHROPIC_MESSAGES, "openai": Format.OPENAI_CHAT}
_TRIES = 4


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction left of a request.

    `summary` is the text of the summary message, frame and open request included, `tokens` its size. The raw messages
    from `first_kept` on are kept.
    """

    summary: str
    tokens: int
    first_kept: int


@contextmanager
def in_process() -> Iterator[Client]:
    """A client of the service in this process that reaches no provider."""
    with TemporaryDirectory() as folder, Client.in_process(history_root=folder, environment={}) as client:
        yield client


@contextmanager
def scripted(reply: str, *, facts: Facts) -> Iterator[Client]:
    """A client of the service in this process with a model that always writes the same; facts are remembered there."""
    with Client(_Hosted(_compactor(ScriptedSummarizer(reply), facts))) as client:
        yield client


def counter(session: Session) -> Count:
    """Tokens of a text as the service counts it for a session, by the heuristic for its model."""
    return heuristic(session.model, _FORMATS[session.format]).text


def tokens_of(client: Client, session: Session, body: Json) -> tuple[int, int]:
    """Input tokens of the messages of a request, and of everything else in it."""
    found = client.count_tokens(body, format=session.format, policy={"token_counter": "HEURISTIC"})
    messages = found.breakdown.messages + found.breakdown.media
    return messages, found.input_tokens - messages


def compacted_to(client: Client, session: Session, body: Json, budget: int) -> Compacted:
    """The request with all but its last step behind a summary of a given size.

    The summary message as a whole takes at most `budget` tokens; a few calls find the size of the summary in it. Where
    the frame and the user's open request alone are more, the message is larger, and `tokens` says so.
    """
    count, most = counter(session), budget
    for _ in range(_TRIES):
        policy = {
            **COMMON,
            "summarizer": "EXTRACTIVE",
            "max_input_tokens": ROOMY,
            "keep_message_count": 0,
            "summary_max_tokens": max(1, most),
            "retained_max_tokens": 0,
        }
        found = _compacted(client.compact(body, format=session.format, policy=policy, reason="TOOL"), count)
        if found.tokens <= budget or most <= 1:
            break
        most = max(1, most - (found.tokens - budget))
    return found


def system_text(body: Json) -> str:
    """The system text of a request that stands beside its messages."""
    system = body.get("system", "")
    return system if isinstance(system, str) else "\n".join(str(block.get("text", "")) for block in system)


def _compacted(result: CompactResult, count: Count) -> Compacted:
    record = result.record
    assert record is not None, f"nothing was compacted: {result.outcome}"
    return Compacted(record.summary, count(record.summary), record.first_kept_index)


def _compactor(summarizer: ScriptedSummarizer, facts: Facts) -> Compactor:
    history = MemoryHistory()
    return Compactor(
        history=history,
        facts=facts,
        counts=Counts(tokenizer_counting, None, 1.0),
        summaries=Summaries(summarizer, history, profile_of),
        profile_of=profile_of,
    )


class _Hosted:
    """A transport to a service that was put together here."""

    def __init__(self, compactor: Compactor) -> None:
        self._compactor = compactor
        self._runner = asyncio.Runner()

    def call(self, method: Method, request: Any, timeout: float) -> Any:
        return self._runner.run(self._compacted(request, timeout) if method == "Compact" else self._counted(request))

    def close(self) -> None:
        self._runner.close()

    async def _compacted(self, request: Any, timeout: float) -> Any:
        call = calls.compact_call(request, self._compactor)
        return answers.compact_response(request, call, await self._compactor.compact(call, timeout))

    async def _counted(self, request: Any) -> Any:
        policy = calls.policy_of(request.policy)
        source = calls.source_of(request, policy, self._compactor)
        return answers.count_response(await self._compactor.count_tokens(source.request, policy))
