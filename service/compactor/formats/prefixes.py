"""Where the messages of a body stand, as far as an earlier body began with the same bytes.

Theory. A log only grows, so what a caller sends in one turn begins with almost all that it sent in the turn before. A
body is digested in steps of 64 KiB, each digest standing for everything up to there. For each step it is remembered
which messages end in it. Bytes that are equal from the start leave a scanner in the same state, wherever they come
from, so a scan goes on behind the last message of the known steps. What was forgotten only costs a scan.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import xxhash

from compactor.memo import Memo

STEP = 65_536
_STEP_BYTES, _MESSAGE_BYTES = 200, 80


class _Ends(NamedTuple):
    """Where the messages that end in one step begin and end, as positions in the body."""

    starts: list[int]
    stops: list[int]


class Prefixes:
    """Remembers bodies by their beginnings, in about `max_bytes`. The seed of the digests is to be a secret."""

    def __init__(self, max_bytes: int, seed: int) -> None:
        self._memo: Memo[_Ends] = Memo(max_bytes, lambda ends: _STEP_BYTES + _MESSAGE_BYTES * len(ends.stops))
        self._seed = seed

    def digests(self, view: memoryview) -> list[bytes]:
        """The digest of everything up to each step; none for a body that is scanned as quickly."""
        if len(view) < 2 * STEP:
            return []
        hasher = xxhash.xxh3_128(seed=self._seed)
        found: list[bytes] = []
        for stop in range(STEP, len(view) + 1, STEP):
            hasher.update(view[stop - STEP : stop])
            found.append(hasher.digest())
        return found

    def recall(self, digests: list[bytes]) -> tuple[int, list[int], list[int]]:
        """How many steps are known, and where the messages that end in them begin and end."""
        starts: list[int] = []
        stops: list[int] = []
        for count, digest in enumerate(digests):
            ends = self._memo.recall(digest)
            if ends is None:
                return count, starts, stops
            starts += ends.starts
            stops += ends.stops
        return len(digests), starts, stops

    def keep(self, digests: list[bytes], known: int, starts: list[int], stops: list[int]) -> None:
        """Keeps the steps from `known` on."""
        at = bisect_right(stops, known * STEP)
        for count in range(known, len(digests)):
            end = bisect_right(stops, (count + 1) * STEP)
            self._memo.keep(digests[count], _Ends(starts[at:end], stops[at:end]))
            at = end
