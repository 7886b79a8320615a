"""The raw transcript stays whole: a session is reloaded after compactions, and every message is there, untouched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
import sqlalchemy as sa

from compactor.core.segments import FOLDER
from hango.compaction import Client, Session
from hango.compaction.sessions import SqlSessions
from tests.builders.provider import Provider, overflow, text
from tests.integration.conftest import Server, StartServer

FILLER = "alpha bravo charlie delta echo foxtrot golf hotel india juliett "
TOOL = {"name": "read_file", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}


class Messages:
    """An application's own store of messages: raw JSON, one row each, only ever appended to."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._table = sa.Table(
            "messages",
            sa.MetaData(),
            sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("session_id", sa.String(128), nullable=False),
            sa.Column("raw", sa.LargeBinary, nullable=False),
        )
        self._table.metadata.create_all(engine)

    def append(self, session_id: str, raw: bytes) -> None:
        with self._engine.begin() as connection:
            connection.execute(self._table.insert().values(session_id=session_id, raw=raw))

    def history(self, session_id: str) -> list[bytes]:
        wanted = sa.select(self._table.c.raw).where(self._table.c.session_id == session_id).order_by(self._table.c.id)
        with self._engine.begin() as connection:
            return list(connection.execute(wanted).scalars())


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as endpoint:
        yield endpoint


@pytest.fixture
def summarizing(start_server: StartServer) -> Iterator[Server]:
    """A server with a model to ask."""
    with Provider() as summarizer:
        yield start_server(
            ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=summarizer.url, HANGO_SUMMARIZER_MODEL="claude-haiku-4-5"
        )


def agent_turn(step: int) -> list[dict[str, Any]]:
    """What the loop appends in one turn: odd spellings included, which have to survive."""
    call = {"type": "tool_use", "id": f"t{step}", "name": "read_file", "input": {"path": f"src/p{step}.py"}}
    result = {"type": "tool_result", "tool_use_id": f"t{step}", "content": f"{FILLER * 6} \N{GRINNING FACE} 1e400"}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": f"Part {step} was read. {FILLER * 2}"},
        {"role": "user", "content": f"Go on with part {step + 1}.\r\n{FILLER}"},
    ]


def raw(value: dict[str, Any], step: int) -> bytes:
    """A message as some program wrote it: spaced or not, escaped or not."""
    return json.dumps(value, ensure_ascii=bool(step % 2), indent=1 if step % 3 == 0 else None).encode()


def test_every_message_is_found_untouched_after_compactions(
    summarizing: Server, provider: Provider, tmp_path: Path
) -> None:
    own = text("Done.")
    with SqlSessions.open(f"sqlite:///{tmp_path}/app.db") as store:
        store.upgrade()
        messages, written = Messages(store.engine), []
        outcomes: list[str] = []

        def append(value: dict[str, Any], step: int) -> None:
            written.append(raw(value, step))
            messages.append("tour", written[-1])

        with (
            Client.connect(summarizing.target) as client,
            anthropic.Anthropic(api_key="k", base_url=provider.url, max_retries=0) as sdk,
        ):
            policy = {"max_input_tokens": 6_000, "reserve_output_tokens": 0}
            session = Session(client, "tour", store=store, policy=policy)
            append({"role": "user", "content": "Mend the loader; the ticket is COMP-4711."}, 0)
            for step in range(30):
                for value in agent_turn(step):
                    append(value, step)
                # Now and then the provider refuses once, or twice, before it answers.
                provider.script(*[overflow()] * {12: 2, 18: 1, 24: 2}.get(step, 0), own)
                # What is sent is always made from the store, never from an earlier answer.
                log = b",".join(messages.history("tour"))
                body = json.dumps({"model": "claude-sonnet-5", "max_tokens": 100, "tools": [TOOL]}).encode()
                body = body[:-1] + b', "messages": [' + log + b"]}"
                result = session.run(body, lambda data: sdk.messages.create(**json.loads(data)))
                assert result.compaction is not None
                outcomes.append(result.compaction.outcome)

        assert "SUMMARIZED" in outcomes
        assert "TRUNCATED" in outcomes
        assert session.record is not None
        assert messages.history("tour") == written  # byte for byte
        counters = store.counters("tour")
        assert counters is not None
        assert counters.compactions >= 4

    kept = session.record.first_kept_index
    text_of_history = (summarizing.history_root / FOLDER / "tour.md").read_text()
    assert kept > 20
    for index in range(kept):
        assert text_of_history.count(f"## Message {index}: ") == 1
