"""Part 4, what it costs to look for what is worth keeping, in CPU milliseconds a megabyte of messages.

Every message of every session is decoded first; the time is that of `harvest` alone, which a service pays once in the
life of a message. `first` is a pass in a process that has seen none of it, `again` the quickest of the passes after it,
when the caches of names are warm.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from bench.fidelity.sessions import Collection
from compactor.core.retained import harvest
from compactor.formats import anthropic, openai
from compactor.model import Dialect

PASSES = 3

_DIALECTS: Mapping[str, Dialect] = {"anthropic": anthropic.DIALECT, "openai": openai.DIALECT}


@dataclass(frozen=True, slots=True)
class Cost:
    """Megabytes of messages, and CPU milliseconds a megabyte."""

    megabytes: float
    first: float
    again: float


def measured(collection: Collection) -> Cost:
    """The cost over all sessions. To be called before anything else has harvested them in this process."""
    contents = []
    size = 0
    for session in collection.sessions:
        read = _DIALECTS[session.format].read
        for message in session.messages:
            raw = json.dumps(message, ensure_ascii=False).encode()
            size += len(raw)
            contents.append(read(raw))
    spent = []
    for _ in range(1 + PASSES):
        start = time.process_time()
        for content in contents:
            harvest(content)
        spent.append(1_000 * (time.process_time() - start))
    megabytes = size / 1e6
    return Cost(megabytes, spent[0] / megabytes, min(spent[1:]) / megabytes)
