"""What telemetry costs: the same calls to a server that exports and to one that does not.

Spans and metrics leave in threads, some time after the call that they tell of. So what is compared is all CPU that each
process takes from before the calls until everything has left. The exporter's waits are far shorter than by default, so
that the run sees many exports: what is told is more than a service pays that exports as seldom as it does by default.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple

from bench.cases import Case, Send, told
from bench.measure import cpu_seconds, server
from tests.builders.receiver import Receiver

SPAN_WAIT_MS, METRIC_WAIT_MS = 200, 1_000
LEAVE_SECONDS = 1.2
RUNS = 5


class Cost(NamedTuple):
    """CPU milliseconds of the server a call, without telemetry and with it, and the median of their ratios by run."""

    size: str
    case: str
    without_ms: float
    with_ms: float
    ratio: float


def costs(seconds: float) -> list[Cost]:
    """Measures every case, all together in about so many seconds."""
    with Receiver() as receiver, server() as plain, _exporting_server(receiver) as telling:
        pairs = list(zip(told(plain[1]), told(telling[1]), strict=True))
        found = [_cost((plain[0], telling[0]), (plain[1], telling[1]), pair, seconds / len(pairs)) for pair in pairs]
        assert receiver.spans, "nothing was exported"
        assert receiver.points, "no metric was exported"
    return found


@contextmanager
def _exporting_server(receiver: Receiver) -> Iterator[tuple[int, Send]]:
    with server(
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.grpc_url,
        OTEL_BSP_SCHEDULE_DELAY=str(SPAN_WAIT_MS),
        OTEL_METRIC_EXPORT_INTERVAL=str(METRIC_WAIT_MS),
    ) as running:
        yield running


def _cost(pids: tuple[int, int], sends: tuple[Send, Send], cases: tuple[Case, Case], seconds: float) -> Cost:
    spent: list[tuple[float, float]] = []
    for _ in range(RUNS):
        before = [cpu_seconds(pid) for pid in pids]
        calls, deadline = 0, time.monotonic() + seconds / RUNS
        while time.monotonic() < deadline or not calls:
            for send, case in zip(sends, cases, strict=True):
                for _ in range(case.calls):
                    send(case.method, case.payload())
            calls += cases[0].calls
        time.sleep(LEAVE_SECONDS)
        without, with_it = (1_000 * (cpu_seconds(pid) - at) / calls for pid, at in zip(pids, before, strict=True))
        spent.append((without, with_it))
    ratio = median([more / less for less, more in spent])
    return Cost(cases[0].size.name, cases[0].name, median([a for a, _ in spent]), median([b for _, b in spent]), ratio)
