"""Runs the migrations over the connection that the caller has; Alembic executes this file."""

from __future__ import annotations

from alembic import context

from hango.compaction.sessions.migrating import version_table

_GIVEN = context.config.attributes

context.configure(connection=_GIVEN["connection"], version_table=version_table(_GIVEN["table"]))
with context.begin_transaction():
    context.run_migrations()
