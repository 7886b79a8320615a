"""Counters of sessions in a database: what a loop writes once a turn, in one UPDATE, whatever was retried in it.

    from hango.compaction.sessions import SqlSessions

    with SqlSessions.open("sqlite:///var/sessions.db") as store:      # or postgresql+psycopg://user@host/name
        store.upgrade()                                               # the migrations; once, and after a new version
        session = Session(client, "tour", store=store)

The table is `sessions`, which an application may have already: the migrations make it only where it is missing, and add
the columns `last_input_tokens` and `compactions`, both int not null default 0. The command

    python -m hango.compaction.sessions upgrade|downgrade|current URL

runs them by hand; `downgrade` takes the last one back. Nothing is dropped that was there before. Needs the extra
`sessions`, for PostgreSQL also `postgresql`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple, Protocol

import sqlalchemy as sa
from alembic.util import CommandError
from sqlalchemy.dialects import postgresql, sqlite

from hango.compaction.sessions.engines import begun, engine_of
from hango.compaction.sessions.migrating import Migrations

__all__ = ["Counters", "SessionStore", "SessionsFailed", "SqlSessions"]

DEFAULT_URL = "sqlite:///var/sessions.db"
MOST = 2**31 - 1
"""The largest number that a column holds."""

_SESSION_ID = re.compile(r"[A-Za-z0-9_:-][A-Za-z0-9._:-]{0,127}")
_INSERTS = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_NOT_MIGRATED = "were its migrations run?"
_NOT_ADDED = "its rows need more than an id, so a session has to be there before its first turn"
_HINTS = {
    "SQLITE_ERROR": _NOT_MIGRATED,
    "UndefinedTable": _NOT_MIGRATED,
    "UndefinedColumn": _NOT_MIGRATED,
    "SQLITE_CONSTRAINT_NOTNULL": _NOT_ADDED,
    "NotNullViolation": _NOT_ADDED,
}


class SessionStore(Protocol):
    """Where a loop writes what its turns came to."""

    def record_turn(self, session_id: str, *, last_input_tokens: int, compactions: int) -> None:
        """Writes what a turn came to, in one UPDATE: the last input tokens, and how many compactions to add."""
        ...


class Counters(NamedTuple):
    """What is known of a session: the input tokens of its last turn, and the compactions of all."""

    last_input_tokens: int
    compactions: int


class SessionsFailed(Exception):
    """The database cannot be used. The message names the kind of failure, never an address, a password or a value."""


class SqlSessions:
    """A `SessionStore` over SQLAlchemy, for SQLite and PostgreSQL. Safe to share between threads; each process opens
    its own, after it was forked.

    `table` and `id_column` name what an application has already. The column has to be unique, and of any type that the
    database compares with the id as text: text, varchar, uuid. Raises SessionsFailed for an engine of another database.
    """

    def __init__(self, engine: sa.Engine, *, table: str = "sessions", id_column: str = "id") -> None:
        if engine.dialect.name not in _INSERTS or engine.dialect.is_async:
            raise SessionsFailed(f"sessions are kept in SQLite or PostgreSQL, not in {engine.dialect.name}, nor async")
        self._engine = engine
        self._migrations = Migrations(engine, table, id_column)
        self._table = sa.table(table, *map(sa.column, (id_column, *Counters._fields)))
        self._id = self._table.c[id_column]

    @classmethod
    def open(cls, url: str = DEFAULT_URL, *, table: str = "sessions", id_column: str = "id") -> SqlSessions:
        """A store of the database at a URL of SQLAlchemy's; nothing is read or written yet, but the folder of an SQLite
        file is made.

        Raises SessionsFailed for a URL that cannot be read, a database without a driver, a folder that cannot be made.
        """
        try:
            engine = engine_of(sa.make_url(url))
        except ImportError as error:
            raise SessionsFailed(f"the database's driver is not installed: {error.name}") from None
        except (sa.exc.ArgumentError, ValueError, OSError) as error:
            raise SessionsFailed(f"the database's URL cannot be used: {type(error).__name__}") from None
        return cls(engine, table=table, id_column=id_column)

    @property
    def engine(self) -> sa.Engine:
        """The engine, to share its pool."""
        return self._engine

    def upgrade(self) -> SqlSessions:
        """Brings the table up to date, and returns the store. Does nothing where it is. Raises SessionsFailed."""
        with _speaking_for_itself():
            self._migrations.upgrade()
        return self

    def downgrade(self) -> None:
        """Takes the last migration back. Raises SessionsFailed."""
        with _speaking_for_itself():
            self._migrations.downgrade()

    def revision(self) -> str:
        """The migration that the database is at; empty before the first. Raises SessionsFailed."""
        with _speaking_for_itself():
            return self._migrations.current()

    def add(self, session_id: str) -> None:
        """Makes sure that a session has a row. Raises ValueError for a malformed id, SessionsFailed."""
        with self._begun() as connection:
            connection.execute(self._insert(session_id, Counters(0, 0)).on_conflict_do_nothing())

    def counters(self, session_id: str) -> Counters | None:
        """What is known of a session; None where it has no row. Raises ValueError for a bad id, SessionsFailed."""
        wanted = sa.select(self._table.c.last_input_tokens, self._table.c.compactions)
        with self._begun() as connection:
            row = connection.execute(wanted.where(self._id == _bound(session_id))).one_or_none()
        return None if row is None else Counters(*row)

    def record_turn(self, session_id: str, *, last_input_tokens: int, compactions: int) -> None:
        """Writes what a turn came to, in one UPDATE; a session without a row gets one, by an INSERT behind it.

        Raises ValueError for a malformed id or a number that is none, below 0 or above 2**31 - 1, SessionsFailed.
        """
        turn = Counters(_number("last_input_tokens", last_input_tokens), _number("compactions", compactions))
        columns = self._table.c
        values = {"last_input_tokens": turn.last_input_tokens, "compactions": columns.compactions + turn.compactions}
        written = sa.update(self._table).where(self._id == _bound(session_id)).values(values)
        with self._begun() as connection:
            if not connection.execute(written).rowcount:
                connection.execute(
                    self._insert(session_id, turn).on_conflict_do_update(index_elements=[self._id], set_=values)
                )

    def close(self) -> None:
        """Gives the connections back."""
        self._engine.dispose()

    def __enter__(self) -> SqlSessions:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _insert(self, session_id: str, counters: Counters) -> Any:
        insert = _INSERTS[self._engine.dialect.name](self._table)
        return insert.values({self._id.name: _bound(session_id), **counters._asdict()})

    @contextmanager
    def _begun(self) -> Iterator[sa.Connection]:
        with _speaking_for_itself(), begun(self._engine) as connection:
            yield connection


@contextmanager
def _speaking_for_itself() -> Iterator[None]:
    """Says what went wrong without the database's own words, which may quote values or addresses."""
    try:
        yield
    except CommandError as error:  # Alembic's words name revisions and columns, nothing else
        raise SessionsFailed(f"the migrations of the sessions cannot be run: {error}") from None
    except sa.exc.SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        kind = getattr(cause, "sqlite_errorname", type(cause).__name__)
        hint = f"; {_HINTS[kind]}" if kind in _HINTS else ""
        raise SessionsFailed(f"the database of the sessions cannot be used: {kind}{hint}") from None


def _bound(session_id: str) -> Any:
    """A session's id as a parameter without a type of its own, so that it takes the type of the column."""
    if not _SESSION_ID.fullmatch(session_id):
        raise ValueError("a session id is 1 to 128 of A-Z a-z 0-9 . _ : - and does not start with a dot")
    return sa.bindparam(None, session_id, type_=sa.types.NullType(), unique=True)


def _number(name: str, value: int) -> int:
    if not isinstance(value, int) or not 0 <= value <= MOST:
        raise ValueError(f"{name} is {value!r}, it has to be a whole number from 0 to {MOST}")
    return value
