"""What a provider's prompt cache reads and writes in a row of requests: a simulation by its published rules.

Theory. A request is a row of elements (tools, system text, messages), so a prefix is a place in a tree in which equal
beginnings share a branch. The cache is a set of such places with the time at which each is forgotten; reading an entry
renews it. A read ends at the deepest place that the rules find, so an element that differs in one byte ends it for all
that comes after. A request's tokens are then read, written, or neither, and the three add up to what was sent.

With *marked* prefixes (Anthropic) entries are written only where a request has a breakpoint, and each breakpoint looks
for an entry at its own place and at those up to `LOOKED_BACK` blocks before it. What lies behind the last breakpoint is
not cached. With *automatic* prefixes (OpenAI and others) every place is an entry. In both, a prefix shorter than the
model's minimum is neither written nor read.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

MOST_MARKS = 4
"""Breakpoints that a request may have."""

LOOKED_BACK = 20
"""Blocks, its own included, over which a breakpoint looks for an entry."""

LIVES = {"5m": 300.0, "1h": 3_600.0}
"""Seconds that an entry lives from when it was last used, by the life that its breakpoint asks for."""

AUTOMATIC_LIFE = 300.0
"""Seconds that an automatic entry lives: the shortest that a provider names, many live longer."""

AUTOMATIC_STEP = 128
"""Automatic reads are whole multiples of so many tokens."""


class Element(NamedTuple):
    """A piece of a request. `key` stands for its bytes, breakpoints aside; `blocks` are the content blocks in it;
    `life` is that of the breakpoint at its end, empty where there is none.
    """

    key: Hashable
    tokens: int
    blocks: int = 1
    life: str = ""


class Use(NamedTuple):
    """The input tokens of one request by what the cache did with them; `written_long` are written for an hour."""

    read: int = 0
    written: int = 0
    written_long: int = 0
    uncached: int = 0

    @property
    def sent(self) -> int:
        """All of them."""
        return self.read + self.written + self.written_long + self.uncached


class Cache(Protocol):
    """A provider's cache for one model and one caller."""

    def send(self, elements: Sequence[Element], now: float) -> Use:
        """What becomes of a request at a time in seconds; the cache remembers it. Times never go back."""
        ...


class MarkedCache:
    """A cache of the prefixes that end at breakpoints."""

    def __init__(self, least_tokens: int) -> None:
        self._least = least_tokens
        self._tree = _Tree()
        self._entries: dict[int, tuple[float, str]] = {}

    def send(self, elements: Sequence[Element], now: float) -> Use:
        places, ends = self._tree.path(elements), list(accumulate(element.tokens for element in elements))
        marks = [at for at, element in enumerate(elements) if element.life and ends[at] >= self._least]
        found = [self._found(elements, places, at, now) for at in marks]
        deepest = max((at for at in found if at is not None), default=None)
        read = 0 if deepest is None else ends[deepest]
        for at in found:
            if at is not None:
                self._keep(places[at], self._entries[places[at]][1], now)
        spent, done = {"5m": 0, "1h": 0}, read
        for at in marks:
            if ends[at] > read:
                self._keep(places[at], elements[at].life, now)
                spent[elements[at].life] += ends[at] - done
                done = ends[at]
        return Use(read, spent["5m"], spent["1h"], (ends[-1] if ends else 0) - done)

    def _found(self, elements: Sequence[Element], places: Sequence[int], mark: int, now: float) -> int | None:
        """The deepest entry that a breakpoint finds."""
        passed = 0
        for at in range(mark, -1, -1):
            if passed >= LOOKED_BACK:
                break
            if self._entries.get(places[at], _FORGOTTEN)[0] >= now:
                return at
            passed += elements[at].blocks
        return None

    def _keep(self, place: int, life: str, now: float) -> None:
        self._entries[place] = (now + LIVES[life], life)


class AutomaticCache:
    """A cache of every prefix; what it writes it does unasked."""

    def __init__(self, least_tokens: int) -> None:
        self._least = least_tokens
        self._tree = _Tree()
        self._until: dict[int, float] = {}

    def send(self, elements: Sequence[Element], now: float) -> Use:
        places, ends = self._tree.path(elements), list(accumulate(element.tokens for element in elements))
        total = ends[-1] if ends else 0
        known = [end for place, end in zip(places, ends, strict=True) if self._until.get(place, -1.0) >= now]
        read = max(known, default=0) // AUTOMATIC_STEP * AUTOMATIC_STEP
        self._until.update(dict.fromkeys(places, now + AUTOMATIC_LIFE))
        if total < self._least:
            return Use(uncached=total)
        read = read if read >= self._least else 0
        return Use(read=read, written=total - read)


_FORGOTTEN = (-1.0, "")


class _Tree:
    """Numbers for rows of elements, so that equal beginnings have equal numbers."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, Hashable], int] = {}

    def path(self, elements: Sequence[Element]) -> list[int]:
        """The number of the row's beginning up to each element."""
        places, at, found = self._places, 0, []
        for element in elements:
            at = places.setdefault((at, element.key), len(places) + 1)
            found.append(at)
        return found
