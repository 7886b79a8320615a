"""Part 1, references to what is gone: of what a run names later, how much does the compacted request still hold.

At a moment the request is compacted so that only its last step stands behind the summary. The *wanted* identifiers are
those in the arguments of the calls that the run made next, that stand in the evicted messages and in nothing that is
kept: neither the system text, the last step, nor the tools. Recall is the share of them that the text in the place of
the evicted messages holds. The budget is the size of the client's own summary where it wrote one; else 3,000 tokens,
but no more than a quarter of the evicted messages. Every strategy gets the same budget and the same wanted identifiers.
Of the service the whole summary message counts, its frame and the user's open request included.

`mean` weighs every moment alike, `pooled` every identifier. Moments with fewer than five wanted ones are left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bench.fidelity import peers
from bench.fidelity.names import holds, used
from bench.fidelity.service import Compacted, compacted_to, counter, system_text
from bench.fidelity.sessions import Json, Moment, calls, calls_in_text, said
from hango.compaction import Client

BUDGET = 3_000
EVICTED_PER_BUDGET = 4
LEAST_WANTED = 5

SERVICE, CLIENT = "service", "client's summary"
REAL, CUT = "real compactions", "cuts at 50 % and 75 %"


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a moment. `held` are, by strategy, the wanted identifiers that are still there.

    `wanted` has the kind of each identifier. `tokens` is what the service's summary message took of the budget.
    """

    moment: Moment
    group: str
    budget: int
    tokens: int
    wanted: Mapping[str, str]
    held: Mapping[str, frozenset[str]]
    compacted: Compacted

    def recall(self, strategy: str, kinds: Sequence[str] = ()) -> float | None:
        """The share of the wanted identifiers, of some kinds only, that a strategy holds; None where there are none."""
        wanted = [name for name, kind in self.wanted.items() if not kinds or kind in kinds]
        return len(self.held[strategy].intersection(wanted)) / len(wanted) if wanted else None


def measured(client: Client, moments: Iterable[Moment], group: str) -> list[Row]:
    """A row for each moment that has enough to be found."""
    return [row for moment in moments if (row := _row(client, moment, group)) is not None]


def mean(rows: Iterable[Row], strategy: str, kinds: Sequence[str] = ()) -> float | None:
    """The mean of a strategy's recalls."""
    found = [recall for row in rows if strategy in row.held and (recall := row.recall(strategy, kinds)) is not None]
    return fmean(found) if found else None


def pooled(rows: Iterable[Row], strategy: str, kinds: Sequence[str] = ()) -> float | None:
    """The recall of a strategy over the identifiers of all rows together."""
    held = wanted = 0
    for row in rows:
        names = [name for name, kind in row.wanted.items() if not kinds or kind in kinds]
        if strategy in row.held:
            held += len(row.held[strategy].intersection(names))
            wanted += len(names)
    return held / wanted if wanted else None


def kinds_of(rows: Iterable[Row]) -> Counter[str]:
    """How many identifiers of each kind are wanted."""
    return Counter(kind for row in rows for kind in row.wanted.values())


def evicted(moment: Moment, compacted: Compacted) -> Sequence[Json]:
    """The messages that a compaction left out; system messages at the head are never."""
    return [message for message in moment.session.messages[: compacted.first_kept] if not _is_system(message)]


def _row(client: Client, moment: Moment, group: str) -> Row | None:
    session = moment.session
    count = counter(session)
    size = count(moment.reference) if moment.reference else 0
    reader = calls_in_text if session.calls_in_text else calls
    named = used(call for message in moment.later for call in reader(message))
    if len(named) < LEAST_WANTED:
        return None
    compacted = compacted_to(client, session, moment.before, size or BUDGET)
    gone = evicted(moment, compacted)
    gone_text = said(gone)
    kept_text = _kept_text(moment, compacted)
    wanted = {name: kind for name, kind in named.items() if holds(gone_text, name) and not holds(kept_text, name)}
    if len(wanted) < LEAST_WANTED:
        return None
    budget = size or min(BUDGET, count(gone_text) // EVICTED_PER_BUDGET)
    if budget < (size or BUDGET):
        compacted = compacted_to(client, session, moment.before, budget)
    left = {SERVICE: compacted.summary}
    if moment.reference:
        left[CLIENT] = moment.reference
    left |= {name: strategy(gone, budget, count) for name, strategy in peers.strategies().items()}
    held = {strategy: frozenset(name for name in wanted if holds(text, name)) for strategy, text in left.items()}
    return Row(moment, group, budget, compacted.tokens, wanted, held, compacted)


def _kept_text(moment: Moment, compacted: Compacted) -> str:
    """Everything of the request that no strategy takes away."""
    messages = moment.session.messages
    leading = [message for message in messages[: compacted.first_kept] if _is_system(message)]
    body = moment.session.body
    tools = json.dumps(body.get("tools", ()), ensure_ascii=False)
    return "\n".join((system_text(body), tools, said(leading), said(messages[compacted.first_kept : moment.at])))


def _is_system(message: Json) -> bool:
    return message["role"] in ("system", "developer")
