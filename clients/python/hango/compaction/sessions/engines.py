"""Engines of the two databases, and transactions that wait for others only so long."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

PATIENCE_SECONDS = 10
"""How long a write waits for a connection, for another writer of an SQLite file, for a lock of PostgreSQL."""

_PATIENCE = {"pysqlite": "timeout", "psycopg": "connect_timeout", "psycopg2": "connect_timeout"}
_POSTGRESQL = ("postgresql", "postgres")


def engine_of(url: sa.URL) -> sa.Engine:
    """An engine for a URL, which connects when it is used. The folder of an SQLite file is made where it is missing.

    `postgresql://` without a driver means psycopg. What a URL says of patience itself holds.
    """
    if url.drivername in _POSTGRESQL:
        url = url.set(drivername="postgresql+psycopg")
    if url.get_driver_name() in _PATIENCE:
        url = url.set(query={_PATIENCE[url.get_driver_name()]: str(PATIENCE_SECONDS), **url.query})
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url, pool_pre_ping=True, pool_timeout=PATIENCE_SECONDS)
    if url.database in (None, "", ":memory:"):  # it lives in one connection, which serves one transaction at a time
        one = {"poolclass": sa.QueuePool, "pool_size": 1, "max_overflow": 0, "pool_timeout": PATIENCE_SECONDS}
        return sa.create_engine(url, connect_args={"check_same_thread": False}, **one)
    if not str(url.database).startswith("file:"):
        Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(url, pool_timeout=PATIENCE_SECONDS)
    sa.event.listen(engine, "connect", _readers_do_not_wait)
    return engine


@contextmanager
def begun(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction, committed at its end. SQLite's patience is its connection's, PostgreSQL's is set here."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{PATIENCE_SECONDS}s'")
        yield connection


def _readers_do_not_wait(connection: Any, _: object) -> None:
    """The mode is the file's, for good. SQLite does not wait for who has the file just now, and neither is it needed:
    the next connection sets it. A file that cannot be used at all says so at the first statement.
    """
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode=WAL")
