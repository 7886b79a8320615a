"""Part 2, what is said once: how long does it last when a session is compacted ten times while it grows.

A carrier is a real session. The items of `items` are planted into its first 45 hundredths: what a person says goes
into messages of the user, one to three sentences in each with a bit of talk around them; what a tool says is a call of
its own with its result. Where an item is taken back, that is said between 50 and 75 hundredths. The places are drawn
with a seed.

The log is compacted at ten places, each a tenth further on, as an agent's loop does it: the raw log with the record of
the compaction before. Each time the whole result, summary and kept messages together, may take a share of the tokens
that the messages of the log have at that place; system text and tools are the same on both sides and stand aside. The
policy: a window of that size, all of it for input and all of it usable (`trigger_fraction` 1), two fifths of it for the
kept messages (`keep_unit` TOKENS, `keep_fraction` 0.4), and up to three fifths for the summary (`summary_max_tokens`
and `retained_max_tokens` 0.3 each); the call is made with the reason TOOL, so that every round compacts. `size` is what
really came out.

An item survives a round when its value of that time stands in the compacted request, case and white space aside. An
item that was taken back is `resolved` when the new value stands there and the old one does not, `both` when both do,
`stale` when only the old one does. Three writers: code alone; a model that is good, whose summary names every item's
value of the time in a line; a model that is bad, fluent and empty. Beside them, without the service, the end of the log
that has the size.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bench.fidelity.items import ITEMS, RESULT, SMALL_TALK, Item
from bench.fidelity.names import holds
from bench.fidelity.peers import end_of
from bench.fidelity.service import COMMON, FACTS_BYTES, counter, scripted, system_text, tokens_of
from bench.fidelity.sessions import Collection, Json, Session, safe, said
from compactor.errors import WindowTooSmall
from compactor.reader import Facts
from hango.compaction import Client

SEED = 20_240_601
ROUNDS = 10
SHARES = (0.30, 0.20, 0.10)
FIRST, LAST, UPDATED_FROM, UPDATED_TO = 0.02, 0.45, 0.50, 0.75
KEPT_PART, SUMMARY_PART = 0.4, 0.3
LEAST_BUDGET = 1_500
"""Tokens that a result may have however little there is yet: a question and a step take as much by themselves."""

LEAST_TOKENS, LEAST_MESSAGES, MOST_MESSAGES, MOST_CARRIERS = 30_000, 60, 600, 6

CODE, GOOD, BAD, TAIL = "no model", "good model", "bad model", "(tail only)"
WRITERS = (CODE, GOOD, BAD, TAIL)
MODEL = "claude-haiku-4-5"

_NONSENSE = (
    "The conversation covered a range of interesting topics and moved forward at a steady pace. Several aspects were "
    "considered in depth, and the participants weighed the advantages of different approaches before settling on one. "
    "Overall the collaboration was productive. A number of improvements were made along the way, some of them quite "
    "substantial, and the remaining work is well understood by everyone involved. It would be sensible to continue in "
    "the same spirit, keeping an eye on quality while making progress on what matters most. No further details are "
    "needed at this point, since the general direction is clear and the foundations that were laid are solid."
)


@dataclass(frozen=True, slots=True)
class Planting:
    """An item in a log, by the positions of the messages that say it and that take it back (None where none does)."""

    item: Item
    at: int
    updated_at: int | None


@dataclass(frozen=True, slots=True)
class Carrier:
    """A session with everything planted."""

    session: Session
    plantings: tuple[Planting, ...]


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of an item in a round: whether its value of the time is there, and, once taken back, the old one."""

    item: Item
    is_updated: bool
    has_value: bool
    has_old: bool

    @property
    def state(self) -> str:
        """`resolved`, `both`, `stale` or `lost` for an item that was taken back; `held` or `lost` for another."""
        if not self.is_updated:
            return "held" if self.has_value else "lost"
        if self.has_value:
            return "both" if self.has_old else "resolved"
        return "stale" if self.has_old else "lost"


@dataclass(frozen=True, slots=True)
class Round:
    """One compaction: whose log, at which share, by whom, which of the ten, what came out and what it still knows.

    `size` is the share of the messages' tokens that the result has, `outcome` the service's.
    """

    carrier: str
    share: float
    writer: str
    number: int
    size: float
    outcome: str
    fates: tuple[Fate, ...]


def carriers(collection: Collection, client: Client) -> list[Carrier]:
    """Sessions that are long enough, spread over their sizes, with everything planted."""
    sized = [
        (tokens_of(client, session, session.body)[0], session.name, session)
        for session in collection.sessions
        if LEAST_MESSAGES <= len(session.messages) <= MOST_MESSAGES and not session.calls_in_text
    ]
    fitting = [session for tokens, _, session in sorted(sized, key=lambda found: found[:2]) if tokens >= LEAST_TOKENS]
    step = max(1.0, len(fitting) / MOST_CARRIERS)
    chosen = [fitting[int(at * step)] for at in range(min(MOST_CARRIERS, len(fitting)))]
    return [planted(session) for session in chosen]


def measured(chosen: Sequence[Carrier]) -> Iterator[Round]:
    """Every carrier at every share by every writer, round by round."""
    facts = Facts(FACTS_BYTES)
    for carrier in chosen:
        for share in SHARES:
            for writer in WRITERS:
                yield from _rounds(carrier, share, writer, facts)


def planted(session: Session) -> Carrier:
    """The session with every item in it."""
    draw = random.Random(f"{SEED} {session.name}")  # noqa: S311 - a seed, no secret
    places = [at for at in range(1, len(session.messages)) if safe(session.messages, at) == at]
    count = len(session.messages)
    early = [at for at in places if FIRST * count <= at <= LAST * count]
    late = [at for at in places if UPDATED_FROM * count <= at <= UPDATED_TO * count]
    groups = [(draw.choice(early), group, False) for group in _groups(ITEMS, draw)]
    groups += [(draw.choice(late), group, True) for group in _groups([item for item in ITEMS if item.update], draw)]
    messages: list[Json] = []
    told: dict[str, int] = {}
    untold: dict[str, int] = {}
    done = 0
    for number, (at, group, is_update) in enumerate(sorted(groups, key=lambda found: found[0])):
        messages += session.messages[done:at]
        done = at
        _say(messages, session, group, number, draw, is_update=is_update)
        for item in group:
            (untold if is_update else told)[item.topic] = len(messages)
    messages += session.messages[done:]
    plantings = (Planting(item, told[item.topic], untold.get(item.topic)) for item in ITEMS)
    return Carrier(session.saying(messages), tuple(plantings))


def survival(rounds: Iterable[Round], kind: str = "") -> float | None:
    """The share of the items, of one kind only where it is named, whose value of the time is there."""
    fates = [fate for found in rounds for fate in found.fates if not kind or fate.item.kind == kind]
    return fmean([fate.has_value for fate in fates]) if fates else None


def states(rounds: Iterable[Round]) -> Mapping[str, float]:
    """The share of the items that were taken back which are resolved, both, stale and lost."""
    fates = [fate for found in rounds for fate in found.fates if fate.is_updated]
    names = ("resolved", "both", "stale", "lost")
    return {name: fmean([fate.state == name for fate in fates]) for name in names} if fates else {}


def size(rounds: Iterable[Round]) -> float:
    """The mean share that the results have of the messages' tokens."""
    return fmean([found.size for found in rounds])


def _groups(items: Sequence[Item], draw: random.Random) -> Iterator[tuple[Item, ...]]:
    """What is said together: what a tool says by itself, what a person says in groups of up to three."""
    yield from ((item,) for item in items if item.kind == RESULT)
    said = [item for item in items if item.kind != RESULT]
    draw.shuffle(said)
    while said:
        size = draw.randint(1, 3)
        yield tuple(said[:size])
        said = said[size:]


def _say(
    messages: list[Json], session: Session, group: Sequence[Item], number: int, draw: random.Random, *, is_update: bool
) -> None:
    """Puts what a group says at the end of messages that the assistant answers next."""
    if group[0].kind == RESULT:
        item = group[0]
        messages += _call(session, f"call_planted_{number}", item.command, item.update if is_update else item.text)
        return
    sentences = [item.update if is_update else item.text for item in group]
    text = " ".join([draw.choice(SMALL_TALK), *sentences])
    last = messages[-1]
    if session.format == "openai" or last["role"] != "user":
        messages.append({"role": "user", "content": text})
        return
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    messages[-1] = {**last, "content": [*blocks, {"type": "text", "text": text}]}


def _call(session: Session, id: str, command: str, result: str) -> list[Json]:
    """A call of a shell and its result."""
    if session.format == "openai":
        function = {"name": "shell", "arguments": f'{{"command": "{command}"}}'}
        return [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": id, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": id, "content": result},
        ]
    call = {"type": "tool_use", "id": id, "name": "shell", "input": {"command": command}}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]},
    ]


def _rounds(carrier: Carrier, share: float, writer: str, facts: Facts) -> Iterator[Round]:
    session, record = carrier.session, None
    count = len(session.messages)
    for number in range(1, ROUNDS + 1):
        at = safe(session.messages, count * number // ROUNDS) or count
        body = session.up_to(at)
        if writer == TAIL:
            yield _tail(carrier, share, number, body)
            continue
        with scripted(_reply(carrier, at, writer), facts=facts) as client:
            messages, rest = tokens_of(client, session, body)
            budget = max(LEAST_BUDGET, int(share * messages)) + rest
            policy = {
                **COMMON,
                "summarizer": "EXTRACTIVE" if writer == CODE else "AUTO",
                "summarizer_model": MODEL,
                "max_input_tokens": budget,
                "keep_unit": "TOKENS",
                "keep_fraction": KEPT_PART,
                "summary_max_tokens": max(1, int(SUMMARY_PART * budget)),
                "retained_max_tokens": int(SUMMARY_PART * budget),
            }
            try:
                result = client.compact(
                    body,
                    format=session.format,
                    policy=policy,
                    record=record,
                    session_id="planted",
                    turn_id=f"round-{number}",
                    reason="TOOL",
                )
            except WindowTooSmall:
                continue
        record = result.record
        text = f"{system_text(result.request)}\n{said(result.request['messages'])}"
        size = (result.response.compacted_input_tokens - rest) / messages
        yield Round(session.name, share, writer, number, size, result.outcome, tuple(_fates(carrier, at, text)))


def _tail(carrier: Carrier, share: float, number: int, body: Json) -> Round:
    """What the end of the log still knows, at the same size."""
    everything, count = said(body["messages"]), counter(carrier.session)
    budget = max(LEAST_BUDGET, int(share * count(everything)))
    fates = tuple(_fates(carrier, len(body["messages"]), end_of(everything, budget, count)))
    return Round(carrier.session.name, share, TAIL, number, share, "", fates)


def _fates(carrier: Carrier, at: int, text: str) -> Iterator[Fate]:
    text = _folded(text)
    for item, value, is_updated in _current(carrier, at):
        has_old = is_updated and holds(text, _folded(item.value))
        yield Fate(item, is_updated, holds(text, _folded(value)), has_old)


def _current(carrier: Carrier, at: int) -> Iterator[tuple[Item, str, bool]]:
    """The items that were said before a position, each with its value by then, and whether it was taken back."""
    for item, told, untold in ((found.item, found.at, found.updated_at) for found in carrier.plantings):
        if told <= at:
            is_updated = untold is not None and untold <= at
            yield item, item.new if is_updated else item.value, is_updated


def _reply(carrier: Carrier, at: int, writer: str) -> str:
    """What the model of a writer answers, whatever it is asked."""
    if writer != GOOD:
        return _NONSENSE
    lines = [f"- {item.topic}: {value}" for item, value, _ in _current(carrier, at)]
    return "\n".join(["The work on the session goes on. What matters for what comes next:", *lines])


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
