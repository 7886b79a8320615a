"""CPU of another process and time of calls, taken so that a shared machine disturbs them least.

One call is in flight at a time. The cases take turns, a few calls each, for some rounds; a case is compared with the
echo of the same body in the same round, and what is told is the median of these ratios.
"""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import grpc

from bench.cases import Case, Send, checked, unseen_call
from compactor.config import from_environment
from compactor.server import compactor_of
from compactor.wire import answers, calls
from hango.compaction.v1 import compaction_service_pb2 as pb

ROOT = Path(__file__).resolve().parent.parent
SETTLE_SECONDS = 0.002
"""After its answer a server still has some cleaning up to do."""


class Row(NamedTuple):
    """What came of a case: medians over the rounds, `ratio` to the echo of the same body."""

    size: str
    case: str
    server_cpu_ms: float
    ratio: float
    p50_ms: float
    aim: float | None


class Inside(NamedTuple):
    """CPU milliseconds of one call inside this process, without gRPC, round by round: all known, and never seen."""

    known: list[float]
    first_seen: list[float]


@contextmanager
def server(**variables: str) -> Iterator[tuple[int, Send]]:
    """A server in a process of its own, with more variables: its process id, and how it is called."""
    with TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.server"],
            cwd=ROOT,
            env={**_environment(folder), **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
            with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
                yield process.pid, lambda method, payload: channel.unary_unary(method, None, None)(payload)
        finally:
            process.stdin.close()
            process.wait(10)


def rounds(pid: int, send: Send, cases: Sequence[Case], seconds: float, most: int) -> list[Row]:
    """Measures the cases in turn until the time is up, at least three rounds and at most so many."""
    cpu: list[list[float]] = [[] for _ in cases]
    times: list[list[float]] = [[] for _ in cases]
    deadline = time.monotonic() + seconds
    done = 0
    while done < most and (done < 3 or time.monotonic() < deadline):
        for at, case in enumerate(cases):
            spent, took = _spent(pid, send, case)
            cpu[at].append(spent)
            times[at] += took
        done += 1
    echoes = {case.size: cpu[at] for at, case in enumerate(cases) if case.name == "echo"}
    return [
        Row(
            case.size.name,
            case.name,
            median(cpu[at]),
            median([mine / echo for mine, echo in zip(cpu[at], echoes[case.size], strict=True)]),
            median(times[at]),
            case.aim,
        )
        for at, case in enumerate(cases)
    ]


def inside(logs: Mapping[str, bytes], seconds: float) -> dict[str, Inside]:
    """The calls made in this process in turn, from the bytes of the request to the bytes of the answer."""
    with TemporaryDirectory() as folder:
        compactor = compactor_of(from_environment(_environment(folder)))

        async def answered(payload: bytes) -> bytes:
            request = pb.CompactRequest.FromString(payload)
            asked = calls.compact_call(request, compactor)
            return answers.compact_response(request, asked, await compactor.compact(asked)).SerializeToString()

        async def spent(payload: bytes) -> float:
            start = time.process_time()
            answer = await answered(payload)
            took = time.process_time() - start
            checked(answer, pb.OUTCOME_SUMMARIZED)
            return 1_000 * took

        async def all_spent() -> dict[str, Inside]:
            found = {name: Inside([], []) for name in logs}
            for _ in range(3):
                for name, call in logs.items():
                    found[name].first_seen.append(await spent(unseen_call(call)))
            for call in logs.values():
                await answered(call)
            gc.collect()
            gc.freeze()  # as the real server does once it runs
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                for name, call in logs.items():
                    found[name].known.append(await spent(call))
            return found

        return asyncio.run(all_spent())


def _spent(pid: int, send: Send, case: Case) -> tuple[float, list[float]]:
    """CPU milliseconds of the server a call, and the milliseconds that each call took."""
    payloads = [case.payload() for _ in range(case.calls)]
    if not case.is_new:
        send(case.method, payloads[0])
    times: list[float] = []
    time.sleep(SETTLE_SECONDS)
    before = cpu_seconds(pid)
    for payload in payloads:
        start = time.perf_counter()
        send(case.method, payload)
        times.append(1_000 * (time.perf_counter() - start))
    time.sleep(SETTLE_SECONDS)
    return 1_000 * (cpu_seconds(pid) - before) / case.calls, times


def cpu_seconds(pid: int) -> float:
    """CPU seconds of all threads of a process, to the nanosecond.

    The number of such a clock is made as `clock_getcpuclockid` of the C library makes it (Linux).
    """
    return time.clock_gettime(~pid << 3 | 2)


def _environment(folder: str) -> dict[str, str]:
    """The environment of this process with the service's defaults, and nothing that reaches a provider."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HANGO_", "ANTHROPIC_", "OTEL_"))}
    return {**kept, "HANGO_LISTEN": "127.0.0.1:0", "HANGO_HISTORY_ROOT": folder}
