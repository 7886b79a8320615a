"""The migrations of the sessions' table, run by Alembic over an engine; no file of settings is needed.

A migration is one transaction, and one at a time: replicas that start together take turns, on SQLite by its write lock,
on PostgreSQL by an advisory lock. Threads take turns before that, because Alembic keeps its context in globals.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext

from hango.compaction.sessions.engines import begun

_LOCK = "SELECT pg_advisory_xact_lock(448311224175)"  # the letters of hango
_one_at_a_time = threading.Lock()


def version_table(table: str) -> str:
    """Where the state of a table's migrations is kept, apart from an application's own."""
    return f"hango_{table}_version"


def primary_key(table: str) -> str:
    """The name of the primary key by which a table is known that the migrations made; one that needs no quotes, which
    SQLAlchemy 2.0 does not read back from SQLite.
    """
    return re.sub(r"\W", "_", f"hango_{table}_pkey".lower())


@dataclass(frozen=True, slots=True)
class Migrations:
    """The migrations of one table. All of them raise CommandError and SQLAlchemyError."""

    engine: sa.Engine
    table: str
    id_column: str

    def upgrade(self) -> None:
        """Runs what is not yet run."""
        with self._turn() as connection:
            command.upgrade(self._config(connection), "head")

    def downgrade(self) -> None:
        """Takes the last migration back; does nothing before the first."""
        with self._turn() as connection:
            if self._revision(connection):
                command.downgrade(self._config(connection), "-1")

    def current(self) -> str:
        """The revision; empty before the first."""
        with begun(self.engine) as connection:
            return self._revision(connection)

    @contextmanager
    def _turn(self) -> Iterator[sa.Connection]:
        """A transaction that nobody else migrates in."""
        with _one_at_a_time, begun(self.engine) as connection:
            if self.engine.dialect.name == "postgresql":
                connection.exec_driver_sql(_LOCK)
            elif not getattr(connection.connection.dbapi_connection, "in_transaction", False):
                connection.exec_driver_sql("BEGIN IMMEDIATE")  # otherwise each statement would commit by itself
            yield connection

    def _revision(self, connection: sa.Connection) -> str:
        context = MigrationContext.configure(connection, opts={"version_table": version_table(self.table)})
        return context.get_current_revision() or ""

    def _config(self, connection: sa.Connection) -> Config:
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        config.attributes.update(connection=connection, table=self.table, id_column=self.id_column)
        return config
