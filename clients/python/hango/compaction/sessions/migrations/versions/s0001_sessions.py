"""The table of the sessions, where an application has none of its own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "s0001"
down_revision = None

_TABLE, _ID = context.config.attributes["table"], context.config.attributes["id_column"]


def upgrade() -> None:
    """Makes the table, unless it is there."""
    if not sa.inspect(op.get_bind()).has_table(_TABLE):
        op.create_table(_TABLE, sa.Column(_ID, sa.String(128), primary_key=True))


def downgrade() -> None:
    """Drops the table only where it holds nothing and could not be anybody else's."""
    connection = op.get_bind()
    columns = {column["name"] for column in sa.inspect(connection).get_columns(_TABLE)}
    rows = connection.execute(sa.select(sa.func.count()).select_from(sa.table(_TABLE))).scalar_one()
    if columns == {_ID} and not rows:
        op.drop_table(_TABLE)
