"""The raw transcript stays whole: a session is reloaded after compactions, and every message is there, untouched."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
import sqlalchemy as sa

from compactor.core.segments import FOLDER
from hango.compaction import Client, Compaction, Session
from hango.compaction.sessions import SqlSessions
from tests.builders.provider import Provider, overflow, text
from tests.integration.conftest import Server, StartServer

FILLER = "alpha bravo charlie delta echo foxtrot golf hotel india juliett "
TOOL = {"name": "read_file", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}
STEPS = 30
POLICY = {"max_input_tokens": 3_000, "reserve_output_tokens": 0}


class Application:
    """What an application keeps of its sessions: messages as raw JSON, one row each, only ever appended to, and the
    record of each session.
    """

    def __init__(self, url: str) -> None:
        self.counters = SqlSessions.open(url).upgrade()
        self.engine = self.counters.engine
        known = sa.MetaData()
        self._messages = sa.Table(
            "messages",
            known,
            sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("session_id", sa.String(128), nullable=False),
            sa.Column("raw", sa.LargeBinary, nullable=False),
        )
        self._records = sa.Table(
            "records", known, sa.Column("session_id", sa.String(128)), sa.Column("record", sa.LargeBinary)
        )
        known.create_all(self.engine)

    def append(self, session_id: str, raw: bytes) -> None:
        with self.engine.begin() as connection:
            connection.execute(self._messages.insert().values(session_id=session_id, raw=raw))

    def messages(self, session_id: str) -> list[bytes]:
        columns = self._messages.c
        wanted = sa.select(columns.raw).where(columns.session_id == session_id).order_by(columns.id)
        with self.engine.begin() as connection:
            return list(connection.execute(wanted).scalars())

    def keep(self, session_id: str, record: Compaction) -> None:
        with self.engine.begin() as connection:
            connection.execute(self._records.insert().values(session_id=session_id, record=record.SerializeToString()))

    def record(self, session_id: str) -> Compaction:
        wanted = sa.select(self._records.c.record).where(self._records.c.session_id == session_id)
        with self.engine.begin() as connection:
            return Compaction.FromString(connection.execute(wanted).scalar_one())

    def body(self, session_id: str) -> bytes:
        """The raw request, made from the store and never from an earlier answer."""
        body = json.dumps({"model": "claude-sonnet-5", "max_tokens": 100, "tools": [TOOL]}).encode()
        return body[:-1] + b', "messages": [' + b",".join(self.messages(session_id)) + b"]}"

    def __enter__(self) -> Application:
        return self

    def __exit__(self, *_: object) -> None:
        self.counters.close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as endpoint:
        yield endpoint


@pytest.fixture
def summarizer() -> Iterator[Provider]:
    with Provider() as endpoint:
        yield endpoint


@pytest.fixture
def summarizing(start_server: StartServer, summarizer: Provider) -> Server:
    """A server with a model to ask."""
    return start_server(
        ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=summarizer.url, HANGO_SUMMARIZER_MODEL="claude-haiku-4-5"
    )


def agent_turn(step: int) -> list[dict[str, Any]]:
    """What the loop appends in one turn: odd spellings included, which have to survive."""
    call = {"type": "tool_use", "id": f"t{step}", "name": "read_file", "input": {"path": f"src/p{step}.py"}}
    # The big ones are clipped in what is sent, and have to be whole in the store and in the history.
    lines = f"{step}: {FILLER}\N{GRINNING FACE} 1e400\r\n" * (60 if step % 9 == 4 else 6)
    result = {"type": "tool_result", "tool_use_id": f"t{step}", "content": lines}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": f"Part {step} was read. {FILLER * 2}"},
        {"role": "user", "content": f"Go on with part {step + 1}.\r\n{FILLER}"},
    ]


def spelled(value: dict[str, Any], step: int) -> bytes:
    """A message as some program wrote it: spaced or not, escaped or not."""
    return json.dumps(value, ensure_ascii=bool(step % 2), indent=1 if step % 3 == 0 else None).encode()


def texts(message: dict[str, Any]) -> list[str]:
    """What a history has to hold of a message."""
    if isinstance(message["content"], str):
        return [message["content"]]
    return [block["content"] if "content" in block else block["input"]["path"] for block in message["content"]]


def test_every_message_is_found_untouched_after_compactions(
    summarizing: Server, summarizer: Provider, provider: Provider, database_url: str
) -> None:
    written: list[bytes] = []
    outcomes: Counter[str] = Counter()
    refused = 0
    with (
        Application(database_url) as application,
        Client.connect(summarizing.target) as client,
        anthropic.Anthropic(api_key="k", base_url=provider.url, max_retries=0) as sdk,
    ):
        session = Session(client, "tour", store=application.counters, policy=POLICY)

        def append(value: dict[str, Any], step: int) -> None:
            written.append(spelled(value, step))
            application.append("tour", written[-1])

        append({"role": "user", "content": "Mend the loader; the ticket is COMP-4711."}, 0)
        for step in range(STEPS):
            for value in agent_turn(step):
                append(value, step)
            # Now and then the provider refuses once, or twice, before it answers.
            provider.script(*[overflow()] * {12: 2, 18: 1, 24: 2}.get(step, 0), text("Done."))
            result = session.run(application.body("tour"), lambda data: sdk.messages.create(**json.loads(data)))
            assert result.compaction is not None
            outcomes[result.compaction.outcome] += 1
            refused += result.overflow_count
        assert session.record is not None
        application.keep("tour", session.record)
    assert outcomes.keys() >= {"CLIPPED", "SUMMARIZED", "TRUNCATED"}
    assert refused == 5
    assert len(summarizer.asked()) >= outcomes["SUMMARIZED"]

    with Application(database_url) as reloaded, Client.connect(summarizing.target) as client:
        assert reloaded.messages("tour") == written  # byte for byte
        record = reloaded.record("tour")
        counters = reloaded.counters.counters("tour")
        again = client.compact(reloaded.body("tour"), record=record, session_id="tour", policy=POLICY)
    assert counters is not None
    assert counters.compactions == record.sequence
    assert again.outcome == "REUSED"
    assert json.loads(again.body)["messages"] == provider.asked()[-1]["messages"]  # what the model saw last

    history = (summarizing.history_root / FOLDER / "tour.md").read_bytes().decode()
    assert record.first_kept_index > 20
    for index, message in enumerate(map(json.loads, written[: record.first_kept_index])):
        [_, found] = history.split(f"\n## Message {index}: ")  # once, however often a call was retried
        role, _, rest = found.partition("\n")
        assert role == message["role"]
        assert all(part in rest.partition("\n## Message ")[0] for part in texts(message))
