"""Compacts a recorded agent session over gRPC, as an agent's loop would, and shows what became of it.

    python -m examples.demo [SESSION.json]

Starts the service on a free port of this machine, sends the session's request as three turns of an agent's loop would,
each with the record of the one before, prints what became of it, and shows where the originals are. Everything that it
writes is under `var/demo`.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "var" / "demo"
SESSION = "examples/sessions/explore-anthropic.json"
WINDOW = 60_000
START_SECONDS = 30.0


def main() -> int:
    """Plays the demonstration."""
    session = sys.argv[1] if len(sys.argv) > 1 else SESSION
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    with service() as target:
        compact = ["compact", session, "--target", target, "--session", "demo", "--record", "var/demo/record.json"]
        compact += ["-o", "var/demo/request.json"]
        size = (ROOT / session).stat().st_size
        say(f"1. A session of {size:,} bytes is over the trigger of its model's window: clipping old values is enough.")
        run([*compact, "--turn", "turn-1"])
        say(f"2. The same raw log and the record, against a window of {WINDOW:,} tokens: the oldest messages give way.")
        run([*compact, "--turn", "turn-2", "--set", f"max_input_tokens={WINDOW}"])
        say("3. The next turn: nothing is decided anew, the record is replayed, the bytes are the same.")
        run([*compact, "--turn", "turn-3", "--set", f"max_input_tokens={WINDOW}"])
    history = WORK / "history" / "conversation_history" / "demo.md"
    say("4. What was left out is whole in the history; its first lines:")
    print("\n".join(history.read_text(encoding="utf-8").splitlines()[:14]))
    say(f"The request to send: {(WORK / 'request.json').relative_to(ROOT)}\nThe history: {history.relative_to(ROOT)}")
    return 0


@contextmanager
def service() -> Iterator[str]:
    """The service in a process of its own, as long as it is needed; gives its address."""
    target = f"127.0.0.1:{free_port()}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HANGO_")}
    environment |= {"HANGO_LISTEN": target, "HANGO_HISTORY_ROOT": str(WORK / "history")}
    say(f"$ HANGO_LISTEN={target} HANGO_HISTORY_ROOT=var/demo/history compactor serve &")
    process = subprocess.Popen([sys.executable, "-m", "compactor", "serve"], cwd=ROOT, env=environment)
    try:
        wait_until_serving(target, process)
        yield target
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=START_SECONDS)


def wait_until_serving(target: str, process: subprocess.Popen[bytes]) -> None:
    """Waits for the health of the service, or raises SystemExit."""
    deadline = time.monotonic() + START_SECONDS
    with grpc.insecure_channel(target) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise SystemExit(f"the service ended with status {process.returncode}")
            try:
                if (
                    stub.Check(health_pb2.HealthCheckRequest(), timeout=1).status
                    == health_pb2.HealthCheckResponse.SERVING
                ):
                    return
            except grpc.RpcError:
                time.sleep(0.1)
    raise SystemExit("the service did not start in time")


def run(arguments: list[str]) -> None:
    """Runs a command of the command line, and shows it."""
    say(f"$ compactor {' '.join(arguments)}")
    subprocess.run([sys.executable, "-m", "compactor", *arguments], cwd=ROOT, check=True)


def say(text: str) -> None:
    """Tells the reader something."""
    print(f"\n{text}\n", flush=True)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
