"""Edits applied by the client give the bytes that the service sends in FULL mode."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hango.compaction import Client, CompactResponse, Conversation, apply_edits
from hango.compaction.v1 import compaction_pb2, conversation_pb2

SESSIONS = sorted((Path(__file__).resolve().parents[3] / "examples" / "sessions").glob("*.json"))
POLICIES: dict[str, dict[str, object]] = {
    "untouched": {},
    "summarized": {"max_input_tokens": 20_000, "reserve_output_tokens": 0},
    "clipped": {"trigger_input_tokens": 2_000, "max_argument_tokens": 50, "keep_message_count": 4},
    "cached": {"max_input_tokens": 20_000, "prompt_caching": True, "cache_ttl": "1h"},
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Client.in_process(history_root=tmp_path_factory.mktemp("histories"), environment={}) as made:
        yield made


def spellings(body: bytes) -> dict[str, bytes]:
    """The same request as different writers put it."""
    value = json.loads(body)
    messages_first = {"messages": value["messages"], **value}
    return {
        "as recorded": body,
        "indented": json.dumps(value, indent=2).encode(),
        "messages first": json.dumps(messages_first, ensure_ascii=False).encode(),
        "loose": b" \n"
        + json.dumps(value, separators=(" ,\t", " : ")).replace('"messages"', '"mess\\u0061ges"').encode(),
    }


@pytest.mark.parametrize("spelling", ["as recorded", "indented", "messages first", "loose"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_edits_give_the_bytes_of_full(client: Client, path: Path, policy: str, spelling: str) -> None:
    body = spellings(path.read_bytes())[spelling]
    options: dict[str, Any] = {"policy": {**POLICIES[policy], "history_mode": "OFF"}}
    full = client.compact(body, **options)
    edits = client.compact(body, **options, result_mode="EDITS")
    assert apply_edits(body, edits.response) == edits.body == full.body


def test_a_plain_system_text_becomes_the_new_blocks(client: Client) -> None:
    messages = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": f"{at} " + "word " * 200} for at in range(41)
    ]
    body = {"model": "claude-sonnet-4-5", "system": "Be brief. " * 2_000, "messages": messages}
    full = client.compact(body, policy={"history_mode": "OFF"})
    edits = client.compact(body, policy={"history_mode": "OFF"}, result_mode="EDITS")
    assert isinstance(full.request["system"], list)
    assert edits.body == full.body


@pytest.mark.parametrize("indent", [None, 2])
def test_a_run_of_system_blocks_keeps_what_stands_between_them(client: Client, indent: int | None) -> None:
    system = [{"type": "text", "text": f"Rule {at}. " * 800} for at in range(4)]
    body = {"model": "claude-sonnet-4-5", "system": system, "messages": [{"role": "user", "content": "Hi"}]}
    raw = json.dumps(body, indent=indent).encode()
    full = client.compact(raw, policy={"history_mode": "OFF"})
    edits = client.compact(raw, policy={"history_mode": "OFF"}, result_mode="EDITS")
    assert "cache_control" in full.request["system"][-1]
    assert edits.body == full.body


def conversation() -> Conversation:
    def message(at: int) -> conversation_pb2.Message:
        role = conversation_pb2.ROLE_ASSISTANT if at % 2 else conversation_pb2.ROLE_USER
        text = conversation_pb2.Text(text=f"{at} " + "word " * 300)
        return conversation_pb2.Message(role=role, content=[conversation_pb2.ContentBlock(text=text)])

    system = [conversation_pb2.ContentBlock(text=conversation_pb2.Text(text="Be brief. " * 2_000))]
    messages = [message(at) for at in range(41)]
    return Conversation(model="claude-sonnet-4-5", system=system, messages=messages, max_output_tokens=100)


def test_edits_of_a_conversation_give_the_conversation_of_full(client: Client) -> None:
    policy = {"history_mode": "OFF", "max_input_tokens": 12_000}
    full = client.compact(conversation(), policy=policy)
    edits = client.compact(conversation(), policy=policy, result_mode="EDITS")
    assert full.outcome == "SUMMARIZED"
    assert edits.conversation == full.conversation
    assert full.body == edits.body == b""


def test_a_response_without_edits_gives_the_source_itself() -> None:
    body = b"never looked at"
    assert apply_edits(body, CompactResponse()) is body


def response(array: compaction_pb2.ArrayName, start: int, stop: int) -> CompactResponse:
    piece = compaction_pb2.Piece(range=compaction_pb2.IndexRange(start=start, stop=stop))
    return CompactResponse(edits=[compaction_pb2.Edit(array=array, pieces=[piece])])


@pytest.mark.parametrize(
    ("body", "edits"),
    [
        (b'{"messages":[1,2]}', response(compaction_pb2.ARRAY_NAME_MESSAGES, 1, 3)),
        (b'{"messages":[1,2]}', response(compaction_pb2.ARRAY_NAME_MESSAGES, 1, 1)),
        (b'{"messages":[1,2]}', response(compaction_pb2.ARRAY_NAME_MESSAGES, -1, 1)),
        (b'{"messages":[1,2]}', response(compaction_pb2.ARRAY_NAME_SYSTEM, 0, 1)),
        (b'{"messages":[1,2],"system":"x"}', response(compaction_pb2.ARRAY_NAME_SYSTEM, 0, 1)),
        (b'{"messages":[1,2],"messages":[3]}', response(compaction_pb2.ARRAY_NAME_MESSAGES, 0, 1)),
        (b'{"messages":{}}', response(compaction_pb2.ARRAY_NAME_MESSAGES, 0, 1)),
        (b"nothing", response(compaction_pb2.ARRAY_NAME_MESSAGES, 0, 1)),
    ],
)
def test_edits_of_another_body_are_refused(body: bytes, edits: CompactResponse) -> None:
    with pytest.raises(ValueError, match=r"edits|body"):
        apply_edits(body, edits)
