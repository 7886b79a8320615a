"""What an explanation says of the tokens: the parts of a window add up, whoever counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hango.compaction import Client
from hango.compaction.v1.compaction_service_pb2 import CompactResponse, ObservedUsage

SESSIONS = Path(__file__).resolve().parents[3] / "examples" / "sessions"
SMALL = {"max_input_tokens": 60_000, "history_mode": "OFF"}
NAMES = ("explore-anthropic.json", "explore-openai.json", "parallel-openai.json", "short-anthropic.json")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client.in_process(environment={}) as made:
        yield made


def compacted(client: Client, body: bytes, **options: Any) -> CompactResponse:
    return client.compact(body, explain=True, **{"policy": SMALL, **options}).response


def assert_adds_up(response: CompactResponse) -> None:
    told = response.explanation
    for use, total in (
        (told.original, response.original_input_tokens),
        (told.compacted, response.compacted_input_tokens),
    ):
        parts = [use.system, use.tools, use.summary, use.kept, use.clipped]
        assert sum(parts) == total
        assert min(parts) >= 0
    prompt = response.compacted_input_tokens - told.compacted.system - told.compacted.tools
    leading = sum(message.input_tokens for message in told.sent) - prompt
    assert 0 <= leading <= told.compacted.system


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("window", [6_000, 60_000, 400_000])
def test_parts_of_the_window_add_up(client: Client, name: str, window: int) -> None:
    body = (SESSIONS / name).read_bytes()
    policy = {"max_input_tokens": window, "history_mode": "OFF", "token_counter": "HEURISTIC"}
    assert_adds_up(compacted(client, body, policy=policy))


def test_the_summary_in_force_is_no_kept_message(client: Client) -> None:
    body = (SESSIONS / "explore-anthropic.json").read_bytes()
    first = compacted(client, body)
    again = compacted(client, body, record=first.compaction)
    assert again.explanation.original.summary == first.explanation.compacted.summary > 0
    assert again.explanation.original.kept == first.explanation.compacted.kept


@pytest.mark.parametrize("factor", [0.2, 0.8, 1.7, 6.0])
def test_parts_add_up_to_what_a_provider_counted(client: Client, factor: float) -> None:
    body = (SESSIONS / "explore-anthropic.json").read_bytes()
    count = len(json.loads(body)["messages"])
    estimate = client.count_tokens(body).input_tokens
    usage = ObservedUsage(message_count=count, input_tokens=int(estimate * factor))
    response = compacted(client, body, last_usage=usage, policy={**SMALL, "max_input_tokens": 2_000_000})
    assert response.original_input_tokens == int(estimate * factor)
    assert_adds_up(response)


def test_every_message_of_the_result_says_which_raw_one_it_is(client: Client) -> None:
    body = (SESSIONS / "explore-anthropic.json").read_bytes()
    result = client.compact(body, explain=True, policy=SMALL)
    raw, sent = json.loads(body)["messages"], result.request["messages"]
    told = result.response.explanation.sent
    assert len(told) == len(sent)
    ours = [place for place, message in enumerate(told) if not message.HasField("raw_index")]
    assert ours == [0]
    assert [raw[message.raw_index]["role"] for message in told[1:]] == [message["role"] for message in sent[1:]]
    kept = [m.index for m in result.response.explanation.messages if m.fate != 3]
    assert [message.raw_index for message in told[1:]] == kept
