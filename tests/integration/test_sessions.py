"""Counters of sessions in real databases: migrations and their rollback, one UPDATE a turn, nothing lost in between."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import anthropic
import pytest
import sqlalchemy as sa

from hango.compaction import Client, Session
from hango.compaction.sessions import MOST, Counters, SessionsFailed, SqlSessions
from tests.builders.provider import Provider, overflow, text
from tests.integration.conftest import Server

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "sessions.md"
COUNTERS = {"last_input_tokens", "compactions"}
PROCESSES = 3
TURNS = 20
REPLICA = """
import sys
from hango.compaction.sessions import SqlSessions
with SqlSessions.open(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    store.upgrade()
    for turn in range(int(sys.argv[2])):
        store.record_turn("s1", last_input_tokens=turn, compactions=1)
"""


@pytest.fixture
def bare(database_url: str) -> Iterator[SqlSessions]:
    """A store whose database has no tables."""
    with SqlSessions.open(database_url) as opened:
        yield opened


@pytest.fixture
def store(bare: SqlSessions) -> SqlSessions:
    return bare.upgrade()


def told(store: SqlSessions, statement: str) -> list[Any]:
    """What the database says to a statement."""
    with store.engine.begin() as connection:
        answer = connection.exec_driver_sql(statement)
        return [tuple(row) for row in answer] if answer.returns_rows else []


def columns(store: SqlSessions, table: str = "sessions") -> dict[str, Any]:
    return {column["name"]: column for column in sa.inspect(store.engine).get_columns(table)}


def has_table(store: SqlSessions, table: str = "sessions") -> bool:
    return bool(sa.inspect(store.engine).has_table(table))


def test_the_columns_are_whole_numbers_that_start_from_nothing(store: SqlSessions) -> None:
    for name in COUNTERS:
        column = columns(store)[name]
        assert isinstance(column["type"], sa.Integer)
        assert not column["nullable"]
        assert column["default"] == "0"
    assert store.counters("s1") is None
    store.add("s1")
    store.add("s1")
    assert store.counters("s1") == Counters(0, 0)


def test_the_rollback_drops_the_counters_and_nothing_else(bare: SqlSessions) -> None:
    told(bare, "create table sessions (id varchar(128) primary key, title text not null default 'none', weight int)")
    told(bare, "create index by_weight on sessions (weight)")
    told(bare, "insert into sessions values ('s1', 'kept', 7)")
    before = columns(bare).keys()
    bare.upgrade()
    assert columns(bare).keys() == before | COUNTERS
    assert bare.counters("s1") == Counters(0, 0)
    bare.record_turn("s1", last_input_tokens=9, compactions=1)
    bare.record_turn("s2", last_input_tokens=9, compactions=1)
    bare.downgrade()
    assert columns(bare).keys() == before
    assert told(bare, "select * from sessions order by id") == [("s1", "kept", 7), ("s2", "none", None)]
    assert [index["name"] for index in sa.inspect(bare.engine).get_indexes("sessions")] == ["by_weight"]
    assert bare.upgrade().counters("s1") == Counters(0, 0)


def test_migrations_can_be_run_again_and_again(bare: SqlSessions) -> None:
    revisions = [bare.revision()]
    for step in (bare.upgrade, bare.upgrade, bare.downgrade, bare.downgrade, bare.downgrade, bare.upgrade):
        step()
        revisions.append(bare.revision())
    assert revisions == ["", "s0002", "s0002", "s0001", "", "", "s0002"]


@pytest.mark.parametrize("shape", ["id varchar(128) primary key", "id varchar(128) primary key, title text"])
def test_a_table_that_was_there_outlives_every_rollback(bare: SqlSessions, shape: str) -> None:
    told(bare, f"create table sessions ({shape})")
    bare.upgrade()
    bare.downgrade()
    bare.downgrade()
    assert bare.revision() == ""
    assert has_table(bare)


def test_a_table_of_ours_goes_with_the_last_rollback(store: SqlSessions) -> None:
    store.add("s1")
    store.downgrade()
    assert columns(store).keys() == {"id"}
    store.downgrade()
    assert not has_table(store)


def test_a_table_of_ours_that_others_built_upon_stays(store: SqlSessions) -> None:
    told(store, "alter table sessions add column title text")
    store.downgrade()
    store.downgrade()
    assert columns(store).keys() == {"id", "title"}


def test_counters_of_an_applications_own_are_used_but_never_dropped(bare: SqlSessions) -> None:
    told(bare, "create table sessions (id text primary key, compactions int not null default 0)")
    with pytest.raises(SessionsFailed, match="has a column compactions already"):
        bare.upgrade()
    assert columns(bare).keys() == {"id", "compactions"}  # what ran before the refusal is taken back
    assert bare.revision() == ""
    told(bare, "alter table sessions add column last_input_tokens int not null default 0")
    bare.record_turn("s1", last_input_tokens=5, compactions=1)
    assert bare.counters("s1") == Counters(5, 1)
    bare.downgrade()
    assert columns(bare).keys() >= COUNTERS


def test_each_table_of_a_database_has_migrations_of_its_own(store: SqlSessions, database_url: str) -> None:
    with SqlSessions.open(database_url, table="Chats of ours", id_column="session_id") as chats:
        assert chats.revision() == ""
        chats.upgrade()
        chats.record_turn("s1", last_input_tokens=3, compactions=1)
        chats.record_turn("s1", last_input_tokens=4, compactions=1)
        assert chats.counters("s1") == Counters(4, 2)
        assert store.counters("s1") is None
        chats.downgrade()
        chats.downgrade()
    assert not has_table(store, "Chats of ours")
    assert store.revision() == "s0002"


def test_an_applications_own_alembic_is_left_alone(bare: SqlSessions) -> None:
    told(bare, "create table alembic_version (version_num varchar(32) primary key)")
    told(bare, "insert into alembic_version values ('theirs')")
    bare.upgrade()
    bare.downgrade()
    assert told(bare, "select version_num from alembic_version") == [("theirs",)]


def test_a_database_of_a_later_version_is_told_from_a_broken_one(store: SqlSessions) -> None:
    told(store, "update hango_sessions_version set version_num = 's9999'")
    with pytest.raises(SessionsFailed, match="s9999"):
        store.upgrade()
    store.record_turn("s1", last_input_tokens=1, compactions=0)


def test_turns_add_up(store: SqlSessions) -> None:
    store.record_turn("s1", last_input_tokens=100, compactions=0)
    store.record_turn("s1", last_input_tokens=90, compactions=2)
    store.record_turn("s2", last_input_tokens=MOST, compactions=1)
    assert store.counters("s1") == Counters(90, 2)
    assert store.counters("s2") == Counters(MOST, 1)


@pytest.mark.parametrize("kind", ["text", "char(36)", "uuid"])
def test_an_id_takes_the_type_of_its_column(bare: SqlSessions, kind: str) -> None:
    told(bare, f"create table sessions (id {kind} primary key)")
    name = "7f9c24e8-3b12-4fef-91e0-0a8a4d3f1a2b"
    bare.upgrade().add(name)
    bare.record_turn(name, last_input_tokens=1, compactions=1)
    other = name.replace("7", "8")
    bare.record_turn(other, last_input_tokens=2, compactions=2)
    assert bare.counters(name) == Counters(1, 1)
    assert bare.counters(other) == Counters(2, 2)


def test_threads_lose_nothing(store: SqlSessions, database_url: str) -> None:
    with SqlSessions.open(database_url) as other, ThreadPoolExecutor(8) as pool:

        def turned(turn: int) -> None:
            (store, other)[turn % 2].record_turn("s1", last_input_tokens=turn, compactions=1)

        list(pool.map(turned, range(100)))
    counters = store.counters("s1")
    assert counters is not None
    assert counters.compactions == 100


def test_replicas_that_start_together_lose_nothing(bare: SqlSessions, database_url: str) -> None:
    command = [sys.executable, "-c", REPLICA, database_url, str(TURNS)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    replicas = [subprocess.Popen(command, **pipes) for _ in range(PROCESSES)]
    for replica in replicas:
        assert replica.stdout is not None
        assert replica.stdout.readline() == "ready\n"
    for replica in replicas:
        assert replica.stdin is not None
        replica.stdin.write("go\n")
        replica.stdin.flush()
    for replica in replicas:
        replica.communicate(timeout=60)
    assert [replica.returncode for replica in replicas] == [0] * PROCESSES
    assert bare.counters("s1") == Counters(TURNS - 1, PROCESSES * TURNS)


def test_one_update_a_turn_whatever_was_retried_in_it(store: SqlSessions, server: Server) -> None:
    """Two turns through the official SDK, the first call refused once as too long."""
    statements: list[str] = []

    def noted(_: object, __: object, statement: str, *rest: object) -> None:
        statements.append(statement)

    store.add("tour")
    sa.event.listen(store.engine, "before_cursor_execute", noted)
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
            assert result.overflow_count == (not turn)
            log["messages"].append({"role": "assistant", "content": result.reply.content[0].text})
        asked = provider.asked()
    assert len(asked) == 3  # one call was retried
    written = [statement.split()[:2] for statement in statements if "sessions" in statement]
    assert written == [["UPDATE", "sessions"]] * 2
    assert result.usage is not None
    assert store.counters("tour") == Counters(result.usage.input_tokens, 1)


def test_a_database_without_the_migrations_says_so(bare: SqlSessions) -> None:
    with pytest.raises(SessionsFailed, match="were its migrations run"):
        bare.record_turn("s1", last_input_tokens=1, compactions=0)


def test_a_row_that_needs_more_than_an_id_says_so(bare: SqlSessions) -> None:
    told(bare, "create table sessions (id text primary key, owner text not null)")
    bare.upgrade()
    with pytest.raises(SessionsFailed, match="has to be there before its first turn"):
        bare.record_turn("s1", last_input_tokens=1, compactions=0)
    told(bare, "insert into sessions (id, owner) values ('s1', 'o')")
    bare.record_turn("s1", last_input_tokens=1, compactions=0)
    assert bare.counters("s1") == Counters(1, 0)


def test_readers_do_not_wait_for_a_writer_of_a_file_and_writers_only_so_long(tmp_path: Path) -> None:
    with SqlSessions.open(f"sqlite:///{tmp_path}/sessions.db?timeout=0.1") as store:
        store.upgrade().record_turn("s1", last_input_tokens=1, compactions=1)
        with store.engine.connect() as writer:
            writer.exec_driver_sql("BEGIN IMMEDIATE")
            assert store.counters("s1") == Counters(1, 1)
            with pytest.raises(SessionsFailed, match="SQLITE_BUSY"):
                store.record_turn("s1", last_input_tokens=2, compactions=1)
        store.record_turn("s1", last_input_tokens=2, compactions=1)
        assert store.counters("s1") == Counters(2, 2)


def test_a_file_that_another_one_has_just_now_is_opened_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as holder, SqlSessions.open(f"sqlite:///{path}?timeout=0.05") as store:
        holder.execute("BEGIN EXCLUSIVE")
        sa.event.listen(store.engine, "connect", lambda *_: holder.rollback())  # after the store's own first words
        assert store.upgrade().revision() == "s0002"


@pytest.mark.slow
@pytest.mark.postgresql
def test_a_row_that_is_held_is_waited_for_only_so_long(postgresql_url: str) -> None:
    with SqlSessions.open(postgresql_url) as store:
        store.upgrade().add("s1")
        with store.engine.begin() as holder:
            holder.exec_driver_sql("select id from sessions where id = 's1' for update")
            with pytest.raises(SessionsFailed, match="LockNotAvailable"):
                store.record_turn("s1", last_input_tokens=1, compactions=1)
        store.record_turn("s1", last_input_tokens=1, compactions=1)
        assert store.counters("s1") == Counters(1, 1)


@pytest.mark.postgresql
def test_a_connection_that_was_cut_is_replaced(postgresql_url: str) -> None:
    with SqlSessions.open(postgresql_url) as store, SqlSessions.open(postgresql_url) as other:
        store.upgrade().add("s1")
        [(pid,)] = told(store, "select pg_backend_pid()")
        assert told(other, f"select pg_terminate_backend({pid}, 10000)") == [(True,)]
        store.record_turn("s1", last_input_tokens=1, compactions=1)
        assert store.counters("s1") == Counters(1, 1)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hango.compaction.sessions", *arguments]
    return subprocess.run(command, capture_output=True, check=False, text=True, timeout=60)


def snippet(language: str, word: str) -> str:
    """The one code block of the documentation in a language that has a word in it."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    [found] = [block for block in blocks if word in block]
    return str(found)


def test_the_documented_program_runs(server: Server, tmp_path: Path) -> None:
    code = snippet("python", "SqlSessions").replace("127.0.0.1:50051", server.target).replace("var/", f"{tmp_path}/")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("None\n", "")


def test_an_application_may_add_the_documented_columns_itself(bare: SqlSessions) -> None:
    told(bare, "create table sessions (id text primary key)")
    for statement in filter(str.strip, snippet("sql", "alter").split(";")):
        told(bare, statement)
    bare.record_turn("s1", last_input_tokens=5, compactions=1)
    assert bare.counters("s1") == Counters(5, 1)


def test_the_command_runs_the_migrations(bare: SqlSessions, database_url: str) -> None:
    assert run("upgrade", database_url, "--table", "chats", "--id-column", "key").stdout == "s0002\n"
    assert columns(bare, "chats").keys() == {"key"} | COUNTERS
    assert run("downgrade", database_url, "--table", "chats").stdout == "s0001\n"
    assert run("current", database_url).stdout == "no migration was run\n"


def test_the_command_says_what_failed_and_no_password() -> None:
    done = run("upgrade", "postgresql://u:secret@127.0.0.1:1/d")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: the database of the sessions cannot be used: OperationalError\n"
