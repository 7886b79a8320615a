"""The counters of a session's context: the input tokens of its last turn, and its compactions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "s0002"
down_revision = "s0001"

_TABLE = context.config.attributes["table"]
_COUNTERS = ("last_input_tokens", "compactions")


def upgrade() -> None:
    """Adds the columns that are missing; existing sessions start from 0."""
    for name in _COUNTERS:
        if name not in _columns():
            op.add_column(_TABLE, sa.Column(name, sa.Integer, nullable=False, server_default="0"))


def downgrade() -> None:
    """Drops them, and nothing else."""
    for name in _COUNTERS:
        if name in _columns():
            op.drop_column(_TABLE, name)


def _columns() -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns(_TABLE)}
