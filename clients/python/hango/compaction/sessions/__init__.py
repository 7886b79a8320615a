"""Counters of sessions in a database: what a loop writes once a turn, in one UPDATE, whatever was retried in it.

    from hango.compaction.sessions import SqlSessions

    with SqlSessions.open("sqlite:///var/sessions.db") as store:      # or postgresql+psycopg://user@host/name
        store.upgrade()                                               # the migrations; once, and after a new version
        session = Session(client, "tour", store=store)

The table is `sessions`, which an application may have already: the migrations make it only where it is missing, and add
the columns `last_input_tokens` and `compactions`, both int not null default 0. The command

    python -m hango.compaction.sessions upgrade|downgrade|current URL

runs them by hand; `downgrade` takes the last one back. Needs the extra `sessions`, for PostgreSQL also `postgresql`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import StaticPool

from hango.compaction.sessions import migrating

__all__ = ["Counters", "SessionStore", "SessionsFailed", "SqlSessions"]

DEFAULT_URL = "sqlite:///var/sessions.db"
MOST = 2**31 - 1
"""The largest number that a column holds."""

PATIENCE_SECONDS = 10
"""How long a write waits for another writer of an SQLite file."""

_SESSION_ID = re.compile(r"[A-Za-z0-9_:-][A-Za-z0-9._:-]{0,127}")
_INSERTS = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


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
    """A `SessionStore` over SQLAlchemy, for SQLite and PostgreSQL. Safe to share between threads and processes.

    `table` and `id_column` name what an application has already; the column has to hold text, and be unique.
    """

    def __init__(self, engine: sa.Engine, *, table: str = "sessions", id_column: str = "id") -> None:
        self._engine = engine
        self._table = sa.table(
            table, sa.column(id_column, sa.String), sa.column("last_input_tokens"), sa.column("compactions")
        )
        self._id = self._table.c[id_column]

    @classmethod
    def open(cls, url: str = DEFAULT_URL, *, table: str = "sessions", id_column: str = "id") -> SqlSessions:
        """A store of the database at a URL of SQLAlchemy's; nothing is read or written yet.

        Raises SessionsFailed for a URL that cannot be read or a database without a driver.
        """
        try:
            engine = _engine(sa.make_url(url))
        except (sa.exc.ArgumentError, ModuleNotFoundError, KeyError, ValueError) as error:
            raise SessionsFailed(f"the database's URL cannot be used: {type(error).__name__}") from None
        return cls(engine, table=table, id_column=id_column)

    @property
    def engine(self) -> sa.Engine:
        """The engine, to share its pool."""
        return self._engine

    def upgrade(self) -> SqlSessions:
        """Brings the table up to date, and returns the store. Does nothing where it is. Raises SessionsFailed."""
        self._migrate(migrating.upgrade)
        return self

    def downgrade(self) -> None:
        """Takes the last migration back. Raises SessionsFailed."""
        self._migrate(migrating.downgrade)

    def revision(self) -> str:
        """The migration that the database is at; empty before the first. Raises SessionsFailed."""
        return self._migrate(migrating.current)

    def add(self, session_id: str) -> None:
        """Makes sure that a session has a row. Raises ValueError for a malformed id, SessionsFailed."""
        with self._begun() as connection:
            connection.execute(self._insert(session_id, Counters(0, 0)).on_conflict_do_nothing())

    def counters(self, session_id: str) -> Counters | None:
        """What is known of a session; None where it has no row. Raises ValueError for a bad id, SessionsFailed."""
        wanted = sa.select(self._table.c.last_input_tokens, self._table.c.compactions)
        with self._begun() as connection:
            row = connection.execute(wanted.where(self._id == _checked(session_id))).one_or_none()
        return None if row is None else Counters(*row)

    def record_turn(self, session_id: str, *, last_input_tokens: int, compactions: int) -> None:
        """Writes what a turn came to, in one UPDATE; a session without a row gets one.

        Raises ValueError for a malformed id or a number that is below 0 or too large for its column, SessionsFailed.
        """
        turn = Counters(_number("last_input_tokens", last_input_tokens), _number("compactions", compactions))
        columns = self._table.c
        values = {"last_input_tokens": turn.last_input_tokens, "compactions": columns.compactions + turn.compactions}
        written = sa.update(self._table).where(self._id == _checked(session_id)).values(values)
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
        return insert.values({self._id.name: _checked(session_id), **counters._asdict()})

    def _migrate(self, step: Any) -> str:
        try:
            revision: str = step(self._engine, table=self._table.name, id_column=self._id.name)
        except sa.exc.SQLAlchemyError as error:
            raise _failed(error) from None
        return revision

    @contextmanager
    def _begun(self) -> Iterator[sa.Connection]:
        """A transaction; what the database says of it without its words, which may quote values or addresses."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise _failed(error) from None


def _engine(url: sa.URL) -> sa.Engine:
    if url.get_backend_name() not in _INSERTS:
        raise ValueError(url.get_backend_name())
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url, pool_pre_ping=True)
    if url.database in (None, "", ":memory:"):
        return sa.create_engine(url, poolclass=StaticPool, connect_args={"check_same_thread": False})
    if not url.query:
        Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(url, connect_args={"timeout": PATIENCE_SECONDS})
    sa.event.listen(engine, "connect", _readers_do_not_wait)
    return engine


def _readers_do_not_wait(connection: Any, _: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")


def _checked(session_id: str) -> str:
    if not _SESSION_ID.fullmatch(session_id):
        raise ValueError("a session id is 1 to 128 of A-Z a-z 0-9 . _ : - and does not start with a dot")
    return session_id


def _number(name: str, value: int) -> int:
    if not 0 <= value <= MOST:
        raise ValueError(f"{name} is {value}, it has to be at least 0, at most {MOST}")
    return value


def _failed(error: sa.exc.SQLAlchemyError) -> SessionsFailed:
    cause = getattr(error, "orig", None)
    kind = type(cause or error).__name__
    return SessionsFailed(f"the database of the sessions cannot be used: {kind}; is it there, and upgraded?")
