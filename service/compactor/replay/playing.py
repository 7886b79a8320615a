"""Plays a session: every model call through the service, and what its input would have cost in each way.

The three ways send the same log to the same simulated provider, each with a cache of its own. *Compact* is what the
service answers, the record of one call going into the next. *Never* sends the raw log, until it is larger than the
window: there a provider refuses it, and the way ends. *Slide* drops the oldest messages, at places where no call is
torn from its result, whenever the log is above the trigger. In all three the loop marks the end of its system text and
its newest message for caching, as loops that use the cache do; marks that are in the log count besides these.

Every number is the service's: tokens come from its explanations, and nothing is counted here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from compactor.core.view import without_marks
from compactor.model import Dialect, Format, SummarizerUsage
from compactor.profiles import Profile
from compactor.replay.cache import (
    AUTOMATIC_LIFE,
    LIVES,
    LOOKED_BACK,
    MOST_MARKS,
    AutomaticCache,
    Cache,
    Element,
    MarkedCache,
)
from compactor.replay.outcome import Failure, Replay, Spend, Step, Way
from compactor.replay.prices import Tariff
from compactor.replay.session import Session
from hango.compaction import Client, Compaction, CompactionError, Policy
from hango.compaction.v1 import compaction_pb2 as record_pb
from hango.compaction.v1 import compaction_service_pb2 as pb


class Setting(NamedTuple):
    """How a session is played: the policy, window and trigger in tokens, the model's profile, the tariff, and seconds
    from one call to the next.
    """

    policy: Policy
    window: int
    trigger: int
    profile: Profile
    tariff: Tariff
    pause: float
    session_id: str = ""


class CallFailed(Exception):
    """The service refused a call of the session; the cause is its error."""

    def __init__(self, call: int, error: CompactionError) -> None:
        super().__init__(f"call {call}")
        self.call = call
        self.error = error


def play(client: Client, session: Session, setting: Setting, told: Callable[[int], None]) -> Replay:
    """Plays a session to its end; `told` hears the number of each call that is done. Raises CallFailed."""
    game = _Game(session, setting)
    steps: list[Step] = []
    record: Compaction | None = None
    for number, count in enumerate(session.calls, 1):
        try:
            result = client.compact(
                session.body(count),
                format=_format(session),
                policy=setting.policy,
                record=record,
                session_id=setting.session_id,
                turn_id=f"call-{number}",
                explain=True,
                result_mode="EDITS",
            )
        except CompactionError as error:
            raise CallFailed(number, error) from error
        record = result.record
        steps.append(game.step(number, count, result.response))
        told(number)
    return Replay(
        model=session.request.model,
        format=_format(session),
        window=setting.window,
        trigger=setting.trigger,
        tariff=setting.tariff,
        rules=_rules(session, setting),
        steps=tuple(steps),
        failures=dict(game.failures),
    )


@dataclass(slots=True)
class _Game:
    """The three ways side by side, each with its cache, and where the sliding window has come to."""

    session: Session
    setting: Setting
    caches: dict[Way, Cache] = field(default_factory=dict)
    failures: dict[Way, Failure] = field(default_factory=dict)
    start: int = 0

    def step(self, number: int, count: int, response: pb.CompactResponse) -> Step:
        """One call in all ways that have not failed."""
        lead, raw = _raw_elements(self.session, response.explanation, self._life)
        self._slide(lead, raw)
        kept = [*raw[: self.session.request.leading], *raw[max(self.start, self.session.request.leading) :]]
        rows = {
            Way.COMPACT: _sent_elements(self.session, response, lead),
            Way.NEVER: [*lead, *raw],
            Way.SLIDE: [*lead, *kept],
        }
        spends = {}
        for way, row in rows.items():
            tokens = sum(element.tokens for element in row)
            if way is not Way.COMPACT and tokens > self.setting.window:
                self.failures.setdefault(way, Failure(number, tokens))
            if way not in self.failures:
                spends[way] = self._spend(way, _with_newest_marked(row, self._life), number)
        return Step(
            call=number,
            message_count=count,
            outcome=pb.Outcome.Name(response.outcome).removeprefix("OUTCOME_"),
            reason=record_pb.CompactionReason.Name(response.reason).removeprefix("COMPACTION_REASON_"),
            before=response.original_input_tokens,
            after=response.compacted_input_tokens,
            evicted=response.evicted_message_count,
            clipped=response.clipped_value_count,
            boundary_note=response.explanation.boundary_note,
            notices=tuple(
                record_pb.NoticeCode.Name(notice.code).removeprefix("NOTICE_CODE_") for notice in response.notices
            ),
            dropped=count - len(kept),
            spends=spends,
            summary_cost=_summary_cost(response, self.setting.tariff),
        )

    @property
    def _life(self) -> str:
        return self.setting.policy.cache_ttl or "5m"

    def _spend(self, way: Way, row: Sequence[Element], number: int) -> Spend:
        if way not in self.caches:
            self.caches[way] = _cache(self.session, self.setting)
        use = self.caches[way].send(row, (number - 1) * self.setting.pause)
        return Spend(use, self.setting.tariff.cost(use))

    def _slide(self, lead: Sequence[Element], raw: Sequence[Element]) -> None:
        """Moves the window's start on, as far as the log has grown over the trigger."""
        prompt = sum(element.tokens for element in (*lead, *raw[: self.session.request.leading]))
        left = prompt + sum(element.tokens for element in raw[max(self.start, self.session.request.leading) :])
        for start in self.session.starts:
            if left <= self.setting.trigger or start >= len(raw):
                return
            if start > self.start:
                first = max(self.start, self.session.request.leading)
                left -= sum(element.tokens for element in raw[first:start])
                self.start = start


def _raw_elements(session: Session, told: record_pb.Explanation, life: str) -> tuple[list[Element], list[Element]]:
    """Tools and system text, and the raw messages, by the counts of an explanation."""
    request = session.request
    leading = sum(fate.input_tokens for fate in told.messages[: request.leading])
    tools_life = next((tool.mark for tool in reversed(request.tools) if tool.mark), "")
    system_life = next((block.mark for block in reversed(request.system) if block.mark), life)
    lead = [
        Element("tools", told.original.tools, max(1, len(request.tools)), tools_life),
        Element("system", told.original.system - leading, max(1, len(request.system)), system_life),
    ]
    raw = [_raw(session, fate.index, fate.input_tokens) for fate in told.messages]
    return lead, raw


def _raw(session: Session, index: int, tokens: int) -> Element:
    message = session.request.messages[index]
    return Element(index, tokens, max(1, len(message.kinds)), message.marks[-1] if message.marks else "")


def _sent_elements(session: Session, response: pb.CompactResponse, lead: Sequence[Element]) -> list[Element]:
    """The result of the service as a row: raw messages stand for themselves, new ones for their bytes."""
    told = response.explanation
    prompt = sum(sent.input_tokens for sent in told.sent[: session.request.leading])
    tools, system = lead
    row = [
        tools._replace(tokens=told.compacted.tools),
        system._replace(tokens=told.compacted.system - prompt),
    ]
    for piece, sent in zip(_pieces(response, len(told.messages)), told.sent, strict=True):
        if isinstance(piece, int):
            row.append(_raw(session, piece, sent.input_tokens))
        else:
            row.append(_made(piece, session.dialect, sent.input_tokens))
    return row


def _pieces(response: pb.CompactResponse, count: int) -> Iterator[int | bytes]:
    """The messages of a result in order: the index of a raw one, or the bytes of a new one."""
    edits = [edit for edit in response.edits if edit.array == record_pb.ARRAY_NAME_MESSAGES]
    if not edits:
        yield from range(count)
    for edit in edits:
        for piece in edit.pieces:
            if piece.HasField("range"):
                yield from range(piece.range.start, piece.range.stop)
            else:
                yield piece.native_element


def _made(raw: bytes, dialect: Dialect, tokens: int) -> Element:
    content = dialect.read(raw)
    life = content.marks[-1] if content.marks else ""
    return Element(without_marks(raw), tokens, max(1, len(content.parts)), life)


def _with_newest_marked(row: Sequence[Element], life: str) -> Sequence[Element]:
    """The row with a breakpoint on its newest message, where there is room for one."""
    if row[-1].life or sum(element.life != "" for element in row) >= MOST_MARKS:
        return row
    return [*row[:-1], row[-1]._replace(life=life)]


def _cache(session: Session, setting: Setting) -> Cache:
    least = setting.profile.min_cacheable_tokens
    return MarkedCache(least) if session.request.format is Format.ANTHROPIC_MESSAGES else AutomaticCache(least)


def _rules(session: Session, setting: Setting) -> str:
    least, pause = setting.profile.min_cacheable_tokens, f"{setting.pause:g} seconds from call to call"
    if session.request.format is Format.ANTHROPIC_MESSAGES:
        life = f"{LIVES[setting.policy.cache_ttl or '5m'] / 60:g} minutes"
        return (
            f"prefixes of at least {least:,} tokens that end at a breakpoint live {life}; a breakpoint looks back over "
            f"{LOOKED_BACK} blocks; {pause}"
        )
    return f"every prefix of at least {least:,} tokens lives {AUTOMATIC_LIFE / 60:g} minutes; {pause}"


def _summary_cost(response: pb.CompactResponse, tariff: Tariff) -> float:
    if not response.HasField("summarizer_usage"):
        return 0.0
    paid: Any = response.summarizer_usage
    return tariff.summary_cost(SummarizerUsage(*(getattr(paid, name) for name in SummarizerUsage._fields)))


def _format(session: Session) -> Any:
    return "anthropic" if session.request.format is Format.ANTHROPIC_MESSAGES else "openai"
