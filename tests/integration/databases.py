"""Databases for tests: an SQLite file, and a PostgreSQL server of the tests' own, thrown away afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEBIAN = Path("/usr/lib/postgresql")
UNPRIVILEGED = "nobody"
"""Whom the server runs as where the tests run as root, which it refuses."""


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of a fresh database. Fails where there is no PostgreSQL to start."""
    user = UNPRIVILEGED if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
    try:
        if user:
            shutil.chown(folder, user)
        data, port = folder / "data", _free_port()
        _run("initdb", "-D", data, "-U", "tests", "-A", "trust", "--no-sync", user=user)
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        _run("pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start", user=user)
        try:
            yield f"postgresql+psycopg://tests@127.0.0.1:{port}/postgres"
        finally:
            _run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop", user=user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(program: str, *arguments: object, user: str | None) -> None:
    command = [_found(program), *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, timeout=60, user=user, cwd="/")


def _found(program: str) -> str:
    newest = sorted(DEBIAN.glob(f"*/bin/{program}"), key=lambda path: int(path.parts[-3]))
    found = str(newest[-1]) if newest else shutil.which(program)
    assert found, f"{program} is not installed; `make test` leaves these tests out"
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
