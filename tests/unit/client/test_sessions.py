"""Counters of sessions, as far as no database has to be there: ids, numbers, URLs, and a database in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from hango.compaction.sessions import MOST, Counters, SessionsFailed, SqlSessions


@pytest.fixture
def store() -> Iterator[SqlSessions]:
    with SqlSessions.open("sqlite://") as opened:
        yield opened.upgrade()


@pytest.mark.parametrize("session_id", ["a", "_", "A.z_0:9-", "-x", "x" * 128])
def test_every_id_of_the_contract_is_taken(store: SqlSessions, session_id: str) -> None:
    store.record_turn(session_id, last_input_tokens=1, compactions=0)
    assert store.counters(session_id) == Counters(1, 0)


@pytest.mark.parametrize("session_id", ["", ".x", "../a", "x" * 129, "a b", "é", "s1\n", "'; drop table sessions; --"])
def test_a_malformed_id_is_refused(store: SqlSessions, session_id: str) -> None:
    for call in (store.add, store.counters, lambda name: store.record_turn(name, last_input_tokens=1, compactions=0)):
        with pytest.raises(ValueError, match="session id"):
            call(session_id)


@pytest.mark.parametrize("value", [-1, MOST + 1, 1.5, float("nan"), "1", None])
@pytest.mark.parametrize("name", ["last_input_tokens", "compactions"])
def test_a_number_that_no_column_holds_is_refused(store: SqlSessions, name: str, value: Any) -> None:
    numbers = {"last_input_tokens": 0, "compactions": 0, name: value}
    with pytest.raises(ValueError, match=f"{name} is .* whole number from 0 to 2147483647"):
        store.record_turn("s1", **numbers)
    assert store.counters("s1") is None


def test_threads_share_a_database_in_memory(store: SqlSessions) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda turn: store.record_turn("s1", last_input_tokens=turn, compactions=1), range(200)))
    counters = store.counters("s1")
    assert counters is not None
    assert counters.compactions == 200


def test_threads_migrate_databases_of_their_own() -> None:
    stores = [SqlSessions.open("sqlite://") for _ in range(6)]
    with ThreadPoolExecutor(len(stores)) as pool:
        list(pool.map(SqlSessions.upgrade, stores))
    assert {store.revision() for store in stores} == {"s0002"}
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "mysql://u:secret@h/d",
        "mssql+pyodbc://u:secret@h/d",
        "postgresql+nodriver://u:secret@h/d",
        "postgresql+asyncpg://u:secret@h/d",
        "postgresql://u:secret@h:port/d",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SessionsFailed) as told:
        SqlSessions.open(url)
    assert "secret" not in str(told.value)
    assert told.value.__suppress_context__


def test_a_folder_that_cannot_be_made_is_a_failure_of_the_database(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SessionsFailed, match="URL cannot be used"):
        SqlSessions.open(f"sqlite:///{tmp_path}/file/sessions.db")


def test_a_file_that_is_no_database_is_a_failure_of_the_database(tmp_path: Path) -> None:
    (tmp_path / "sessions.db").write_bytes(b"no database" * 1_000)
    with SqlSessions.open(f"sqlite:///{tmp_path}/sessions.db") as store, pytest.raises(SessionsFailed, match="NOTADB"):
        store.upgrade()


def test_an_engine_of_another_database_is_refused() -> None:
    with pytest.raises(SessionsFailed, match="SQLite or PostgreSQL"):
        SqlSessions(sa.create_mock_engine("mysql+pymysql://", executor=None))  # type: ignore[arg-type]


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_postgresql_means_the_driver_of_the_extra(scheme: str) -> None:
    with SqlSessions.open(f"{scheme}://u@h/d") as store:
        assert store.engine.url.drivername == "postgresql+psycopg"


@pytest.mark.parametrize(("url", "name"), [("sqlite:///x.db", "timeout"), ("postgresql://u@h/d", "connect_timeout")])
def test_a_urls_own_patience_holds(url: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for given, expected in ((url, "10"), (f"{url}?{name}=3", "3")):
        with SqlSessions.open(given) as store:
            assert store.engine.url.query[name] == expected


def test_a_database_that_is_not_there_is_named_without_its_address() -> None:
    with SqlSessions.open("postgresql://u:secret@127.0.0.1:1/d") as store, pytest.raises(SessionsFailed) as told:
        store.counters("s1")
    assert str(told.value) == "the database of the sessions cannot be used: OperationalError"
    assert told.value.__suppress_context__


def test_the_client_needs_no_sqlalchemy() -> None:
    code = "import hango.compaction, sys; sys.exit(bool({'sqlalchemy', 'alembic'} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", code], check=True)
