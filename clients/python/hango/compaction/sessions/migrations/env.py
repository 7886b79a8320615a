"""Runs the migrations over the connection that the caller has; Alembic executes this file."""

from __future__ import annotations

from alembic import context

from hango.compaction.sessions.migrating import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
with context.begin_transaction():
    context.run_migrations()
