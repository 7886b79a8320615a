"""The counters of a session's context: the input tokens of its last turn, and its compactions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op
from alembic.util import CommandError

revision = "s0002"
down_revision = "s0001"

_TABLE = context.config.attributes["table"]
_COUNTERS = ("last_input_tokens", "compactions")


def upgrade() -> None:
    """Adds the columns; existing sessions start from 0. A column that is there is somebody else's: it is refused,
    because the rollback would drop it.
    """
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns(_TABLE)}
    for name in _COUNTERS:
        if name in columns:
            raise CommandError(f"the table has a column {name} already; it can be used as it is, without migrations")
        op.add_column(_TABLE, sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    """Drops them, and nothing else."""
    for name in _COUNTERS:
        op.drop_column(_TABLE, name)
