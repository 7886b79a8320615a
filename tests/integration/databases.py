"""Databases for tests: a PostgreSQL server of the tests' own, thrown away afterwards, and schemas without tables."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

DEBIAN = Path("/usr/lib/postgresql")
UNPRIVILEGED = "nobody"
"""Whom the server runs as where the tests run as root, which it refuses."""

ANOTHER_SERVER = "TEST_POSTGRESQL_URL"
"""The variable that names a running server to use, as postgresql+psycopg://user@host/database."""


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of a server's database. Fails where there is no PostgreSQL to start."""
    named = os.environ.get(ANOTHER_SERVER)
    if named:
        yield named
        return
    user = UNPRIVILEGED if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
    try:
        if user:
            shutil.chown(folder, user)
        data = folder / "data"
        how = ("-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        _run("initdb", "-D", data, *how, user=user)
        options = (
            f"-k {folder} -c listen_addresses='' -c fsync=off"  # a socket in a folder of its own: no port to race for
        )
        _run("pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start", user=user)
        try:
            yield f"postgresql+psycopg://tests@/postgres?host={folder}"
        finally:
            _run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop", user=user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def schema(server: str) -> Iterator[str]:
    """The URL of a fresh schema, which is dropped at the end; what else is in the database stays as it is."""
    name = f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(server, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.schema.CreateSchema(name))
    try:
        url = sa.make_url(server).update_query_dict({"options": f"-csearch_path={name}"})
        yield url.render_as_string(hide_password=False)
    finally:
        with engine.begin() as connection:
            connection.execute(sa.schema.DropSchema(name, cascade=True))


def _run(program: str, *arguments: object, user: str | None) -> None:
    command = [_found(program), *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, user=user, cwd="/")
    assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"


def _found(program: str) -> str:
    newest = sorted(DEBIAN.glob(f"*/bin/{program}"), key=lambda path: int(path.parts[-3]))
    found = shutil.which(program) or (str(newest[-1]) if newest else None)
    assert found, f"{program} is not installed; `make test` leaves these tests out, {ANOTHER_SERVER} names a server"
    return found
