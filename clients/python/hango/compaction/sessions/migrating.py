"""The migrations of the sessions' table, run by Alembic over an engine; no file of settings is needed."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext

VERSION_TABLE = "hango_sessions_version"
"""Where the state of the migrations is kept, apart from an application's own."""

_LOCK = 0x68616E676F


def upgrade(engine: sa.Engine, *, table: str, id_column: str) -> str:
    """Runs what is not yet run. Returns the revision."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":  # replicas that start together take turns
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        command.upgrade(_config(connection, table, id_column), "head")
        return _revision(connection)


def downgrade(engine: sa.Engine, *, table: str, id_column: str) -> str:
    """Takes the last migration back. Returns the revision."""
    with engine.begin() as connection:
        if _revision(connection):
            command.downgrade(_config(connection, table, id_column), "-1")
        return _revision(connection)


def current(engine: sa.Engine, *, table: str, id_column: str) -> str:
    """The revision; empty before the first."""
    del table, id_column
    with engine.begin() as connection:
        return _revision(connection)


def _revision(connection: sa.Connection) -> str:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision() or ""


def _config(connection: sa.Connection, table: str, id_column: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes.update(connection=connection, table=table, id_column=id_column)
    return config
