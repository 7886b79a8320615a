"""Counters of sessions in real databases: the migration, its rollback, one UPDATE a turn, nothing lost in between."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import pytest
import sqlalchemy as sa

from hango.compaction import Client, Session
from hango.compaction.sessions import MOST, Counters, SessionsFailed, SqlSessions
from tests.builders.provider import Provider, overflow, text
from tests.integration.conftest import Server
from tests.integration.databases import postgresql

DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]


@pytest.fixture(scope="module")
def postgresql_url() -> Iterator[str]:
    with postgresql() as url:
        yield url


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/folder/sessions.db"
        return
    address: str = request.getfixturevalue("postgresql_url")
    yield address
    engine = sa.create_engine(address)
    with engine.begin() as connection:
        metadata = sa.MetaData()
        metadata.reflect(connection)
        metadata.drop_all(connection)
    engine.dispose()


@pytest.fixture
def store(url: str) -> Iterator[SqlSessions]:
    with SqlSessions.open(url) as opened:
        yield opened.upgrade()


def columns(store: SqlSessions) -> dict[str, Any]:
    return {column["name"]: column for column in sa.inspect(store.engine).get_columns("sessions")}


def test_the_columns_are_whole_numbers_that_start_from_nothing(store: SqlSessions) -> None:
    for name in ("last_input_tokens", "compactions"):
        column = columns(store)[name]
        assert isinstance(column["type"], sa.Integer)
        assert not column["nullable"]
        assert str(column["default"]).strip("'\"") == "0"
    store.add("s1")
    assert store.counters("s1") == Counters(0, 0)
    assert store.counters("s2") is None


def test_the_rollback_drops_the_counters_and_nothing_else(url: str) -> None:
    engine = sa.create_engine(url) if url.startswith("postgresql") else SqlSessions.open(url).engine
    with engine.begin() as connection:
        connection.execute(sa.text("create table sessions (id varchar(128) primary key, title text)"))
        connection.execute(sa.text("insert into sessions (id, title) values ('s1', 'kept')"))
    store = SqlSessions(engine)
    assert store.revision() == ""
    store.upgrade()
    store.upgrade()
    store.record_turn("s1", last_input_tokens=9, compactions=1)
    assert store.counters("s1") == Counters(9, 1)
    store.downgrade()
    assert set(columns(store)) == {"id", "title"}
    with engine.begin() as connection:
        assert connection.execute(sa.text("select id, title from sessions")).all() == [("s1", "kept")]
    store.downgrade()  # the table was there before: it stays
    store.downgrade()
    assert store.revision() == ""
    assert set(columns(store)) == {"id", "title"}
    store.upgrade()
    assert store.counters("s1") == Counters(0, 0)
    store.close()


def test_a_table_of_ours_goes_with_the_last_rollback(store: SqlSessions) -> None:
    store.downgrade()
    store.downgrade()
    assert not sa.inspect(store.engine).has_table("sessions")


def test_turns_add_up(store: SqlSessions) -> None:
    store.record_turn("s1", last_input_tokens=100, compactions=0)
    store.record_turn("s1", last_input_tokens=90, compactions=2)
    store.record_turn("s2", last_input_tokens=MOST, compactions=1)
    assert store.counters("s1") == Counters(90, 2)
    assert store.counters("s2") == Counters(MOST, 1)


def test_many_writers_lose_nothing(store: SqlSessions, url: str) -> None:
    with SqlSessions.open(url) as other, ThreadPoolExecutor(8) as pool:
        for turn in range(100):
            pool.submit((store, other)[turn % 2].record_turn, "s1", last_input_tokens=turn, compactions=1)
        pool.shutdown()
    counters = store.counters("s1")
    assert counters is not None
    assert counters.compactions == 100


@pytest.mark.parametrize("session_id", ["", ".x", "../a", "x" * 129, "a b", "é", "s1\n", "'; drop table sessions; --"])
def test_a_malformed_id_is_refused(store: SqlSessions, session_id: str) -> None:
    for call in (store.add, store.counters, lambda name: store.record_turn(name, last_input_tokens=1, compactions=0)):
        with pytest.raises(ValueError, match="session id"):
            call(session_id)


@pytest.mark.parametrize(("tokens", "compactions"), [(-1, 0), (0, -1), (MOST + 1, 0), (0, MOST + 1)])
def test_a_number_that_no_column_holds_is_refused(store: SqlSessions, tokens: int, compactions: int) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        store.record_turn("s1", last_input_tokens=tokens, compactions=compactions)
    assert store.counters("s1") is None


def test_a_database_that_was_not_upgraded_says_so(url: str) -> None:
    with SqlSessions.open(url) as bare, pytest.raises(SessionsFailed, match="upgraded"):
        bare.record_turn("s1", last_input_tokens=1, compactions=0)


def test_another_table_and_column(url: str) -> None:
    with SqlSessions.open(url, table="chats", id_column="key") as store:
        store.upgrade()
        store.record_turn("s1", last_input_tokens=3, compactions=1)
        assert store.counters("s1") == Counters(3, 1)
        assert not sa.inspect(store.engine).has_table("sessions")


@pytest.mark.parametrize("url", ["nonsense", "mysql://u:secret@h/d", "postgresql+nodriver://u:secret@h/d"])
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SessionsFailed) as caught:
        SqlSessions.open(url)
    assert "secret" not in str(caught.value)


def test_a_database_that_is_not_there_is_named_without_its_address() -> None:
    with (
        SqlSessions.open("postgresql+psycopg://u:secret@127.0.0.1:1/d") as store,
        pytest.raises(SessionsFailed) as told,
    ):
        store.counters("s1")
    assert "secret" not in str(told.value)
    assert "127.0.0.1" not in str(told.value)
    assert told.value.__cause__ is None


def test_the_command_runs_the_migrations(url: str) -> None:
    def told(command: str) -> str:
        arguments = [sys.executable, "-m", "hango.compaction.sessions", command, url]
        return subprocess.run(arguments, capture_output=True, check=True, text=True, timeout=60).stdout.strip()

    assert [told(command) for command in ("current", "upgrade", "current", "downgrade", "upgrade")] == [
        "no migration was run",
        "s0002",
        "s0002",
        "s0001",
        "s0002",
    ]


def test_one_update_a_turn_whatever_was_retried_in_it(store: SqlSessions, server: Server) -> None:
    """Two turns through the official SDK, the first call refused once as too long."""
    statements: list[str] = []

    def noted(_: object, __: object, statement: str, *rest: object) -> None:
        statements.append(statement)

    sa.event.listen(store.engine, "before_cursor_execute", noted)
    store.add("tour")
    log: dict[str, Any] = {"model": "claude-haiku-4-5", "max_tokens": 100, "messages": []}
    with (
        Provider(overflow(9_000, 8_000), text("Done.")) as provider,
        anthropic.Anthropic(api_key="k", base_url=provider.url, max_retries=0) as sdk,
        Client.connect(server.target) as client,
    ):
        session = Session(client, "tour", store=store, policy={"summarizer": "EXTRACTIVE", "history_mode": "OFF"})
        for turn in range(2):
            words = f"Go on with part {turn}. " + "alpha bravo charlie delta echo " * 30
            log["messages"].append({"role": "user", "content": words})
            for step in range(6 * (not turn)):
                log["messages"].append({"role": "assistant", "content": f"Step {step}. {words}"})
                log["messages"].append({"role": "user", "content": f"And {step}. {words}"})
            result = session.run(log, lambda request: sdk.messages.create(**request))
            log["messages"].append({"role": "assistant", "content": result.reply.content[0].text})
        asked = provider.asked()
    assert len(asked) == 3  # one call was retried
    updates = [statement for statement in statements if statement.upper().startswith("UPDATE SESSIONS")]
    assert len(updates) == 2
    counters = store.counters("tour")
    assert counters is not None
    assert counters.compactions == 1
    assert counters.last_input_tokens > 0
