"""The real server, as a process of its own, and real databases."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.integration.databases import postgresql, schema

SECONDS_TO_START = 60
SESSIONS = Path(__file__).resolve().parents[2] / "examples" / "sessions"


@dataclass(frozen=True)
class Server:
    """A running server: where it listens, where its histories are, what it logs."""

    target: str
    history_root: Path
    log: Path
    process: subprocess.Popen[bytes]

    def is_serving(self) -> bool:
        with grpc.insecure_channel(self.target) as channel:
            try:
                answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)
            except grpc.RpcError:
                return False
            return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


StartServer = Callable[..., Server]


def bare_environment(**variables: str) -> dict[str, str]:
    """The environment without what would configure the service or reach a provider."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HANGO_", "ANTHROPIC_", "OTEL_"))}
    return {**kept, **variables}


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def running(folder: Path, listen: str | None, variables: dict[str, str]) -> Iterator[Server]:
    target = listen or f"127.0.0.1:{free_port()}"
    log, root = folder / "server.log", folder / "histories"
    environment = bare_environment(**{"HANGO_LISTEN": target, "HANGO_HISTORY_ROOT": str(root), **variables})
    command = [sys.executable, "-m", "compactor", "serve"]
    with log.open("wb") as stream, subprocess.Popen(command, env=environment, stderr=stream) as process:
        server = Server(target, root, log, process)
        try:
            deadline = time.monotonic() + SECONDS_TO_START
            while not server.is_serving():
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
            yield server
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)


@pytest.fixture
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """Starts servers for one test: `start_server(listen, HANGO_…=…)`, on a free port unless said otherwise."""
    with ExitStack() as servers:

        def start(listen: str | None = None, **variables: str) -> Server:
            folder = tmp_path_factory.mktemp("server")
            return servers.enter_context(running(folder, listen, variables))

        yield start


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on a TCP port, shared by the tests that only call it."""
    with running(tmp_path_factory.mktemp("server"), None, {}) as started:
        yield started


@pytest.fixture(scope="session")
def unix_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on a UNIX socket, shared by the tests that only call it."""
    folder = tmp_path_factory.mktemp("unix")
    with running(folder, f"unix:{folder / 's'}", {}) as started:
        yield started


@pytest.fixture(scope="session")
def environment() -> Callable[..., dict[str, str]]:
    """The environment for a process of a test, with the given variables."""
    return bare_environment


@pytest.fixture(scope="session")
def sessions() -> Path:
    """The folder of the example sessions."""
    return SESSIONS


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a PostgreSQL server."""
    with postgresql() as url:
        yield url


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """The URL of a PostgreSQL database without tables."""
    with schema(postgresql_server) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without tables: one test on SQLite, and the same one on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/folder/sessions.db"
    url: str = request.getfixturevalue("postgresql_url")
    return url
