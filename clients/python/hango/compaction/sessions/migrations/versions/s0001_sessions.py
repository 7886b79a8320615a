"""The table of the sessions, where an application has none of its own.

The table itself remembers who made it, by the name of its primary key: that stays through changes of columns, through
dumps and restores, and on both databases.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

from hango.compaction.sessions.migrating import primary_key

revision = "s0001"
down_revision = None

_TABLE, _ID = context.config.attributes["table"], context.config.attributes["id_column"]


def upgrade() -> None:
    """Makes the table, unless it is there."""
    if not sa.inspect(op.get_bind()).has_table(_TABLE):
        key = sa.PrimaryKeyConstraint(_ID, name=primary_key(_TABLE))
        op.create_table(_TABLE, sa.Column(_ID, sa.String(128), nullable=False), key)


def downgrade() -> None:
    """Drops the table only where the upgrade made it, and nobody has added a column since."""
    found = sa.inspect(op.get_bind())
    is_ours = found.get_pk_constraint(_TABLE)["name"] == primary_key(_TABLE)
    if is_ours and [column["name"] for column in found.get_columns(_TABLE)] == [_ID]:
        op.drop_table(_TABLE)
