"""Why a wanted identifier is not there: nobody saw it, or it was seen and there was no room for it.

For those who improve the extractors; of the parts of this package this one alone looks inside the service.

A lost identifier is *unseen* where no extractor found it in any evicted message, nor a longer name that holds it; it is
*over the cap* where it was found and is not among those that the service keeps at all. Else it had *no room*, and its
rank says how far it was from it. Its place is the best one of all that it stands in: an argument of a call, what the
user wrote, what the assistant wrote, the ends of a result (where the service looks), the middle of a long one (where it
does not).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.fidelity.names import holds
from bench.fidelity.references import SERVICE, Row, evicted
from bench.fidelity.sessions import Json, calls, results, words
from compactor.core.retained import harvest, identifiers, retain
from compactor.formats import anthropic, openai
from compactor.model import Dialect

UNSEEN, CAPPED, NO_ROOM = "unseen", "over the cap", "no room"
PLACES = ("argument", "user's words", "assistant's words", "end of a result", "middle of a result")

_DIALECTS: Mapping[str, Dialect] = {"anthropic": anthropic.DIALECT, "openai": openai.DIALECT}


@dataclass(frozen=True, slots=True)
class Loss:
    """A wanted identifier that the service's result does not hold. `rank` is None where it has none, `of` how many
    are kept; `age` is how many evicted messages stand behind the last one that names it. `has_end` says that the last
    part of the path is there all the same.
    """

    moment: str
    name: str
    kind: str
    reason: str
    place: str
    rank: int | None
    of: int
    age: int
    has_end: bool


def losses(rows: Iterable[Row]) -> Iterator[Loss]:
    """Every loss of the service."""
    for row in rows:
        lost = [name for name in row.wanted if name not in row.held[SERVICE]]
        if lost:
            yield from _explained(row, lost)


def _explained(row: Row, lost: Sequence[str]) -> Iterator[Loss]:
    gone = evicted(row.moment, row.compacted)
    read = _DIALECTS[row.moment.session.format].read
    harvests = [harvest(read(json.dumps(message, ensure_ascii=False).encode())) for message in gone]
    state, seen = retain(harvests), {sighting.text for one in harvests for sighting in one.identifiers}
    found = [*state.identifiers, *(record.path for record in state.files)]
    for name in lost:
        rank = next((at for at, text in enumerate(found, 1) if holds(text, name)), None)
        is_seen = rank is not None or any(holds(text, name) for text in seen)
        place, age = _place(gone, name)
        reason = NO_ROOM if rank is not None else CAPPED if is_seen else UNSEEN
        has_end = "/" in name and holds(row.compacted.summary, name.rstrip("/").rpartition("/")[2])
        yield Loss(row.moment.name, name, row.wanted[name], reason, place, rank, len(state.identifiers), age, has_end)


def _place(gone: Sequence[Json], name: str) -> tuple[str, int]:
    """The best place where a name stands, and how many messages stand behind the last that has it."""
    best, age = len(PLACES) - 1, len(gone)
    for at, message in enumerate(gone):
        for place, text in _placed(message):
            if holds(text, name):
                best, age = min(best, place), len(gone) - 1 - at
    return PLACES[best], age


def _placed(message: Json) -> Iterator[tuple[int, str]]:
    for call in calls(message):
        yield 0, "\n".join(str(value) for _, value in call.arguments)
    yield (1 if message["role"] == "user" else 2), words(message)
    for text in results(message):
        half = identifiers.WINDOW // 2
        if len(text) <= 2 * half:
            yield 3, text
        else:
            yield 3, f"{text[:half]}\n{text[-half:]}"
            yield 4, text[half:-half]
