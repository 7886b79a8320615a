"""A session played: the calls that a log is cut into, and what each way of keeping the window sends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compactor.errors import MalformedPayload
from compactor.profiles import profile_of
from compactor.replay.outcome import Replay, Way
from compactor.replay.playing import CallFailed, Setting, play
from compactor.replay.prices import PROPORTIONS, tariff_of
from compactor.replay.session import session_of, with_model
from hango.compaction import Client, policy_of

SESSIONS = Path(__file__).resolve().parents[3] / "examples" / "sessions"
ANTHROPIC, OPENAI = SESSIONS / "explore-anthropic.json", SESSIONS / "parallel-openai.json"

Play = Callable[..., Replay]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client.in_process(environment={}) as made:
        yield made


@pytest.fixture(scope="module")
def played(client: Client) -> Play:
    def run(body: bytes, *, format: str = "anthropic", pause: float = 30.0, **fields: Any) -> Replay:
        policy = policy_of({"history_mode": "OFF", "token_counter": "HEURISTIC", **fields})
        session = session_of(body, format)
        budget = client.count_tokens(body, policy=policy)
        setting = Setting(
            policy=policy,
            window=budget.max_input_tokens,
            trigger=budget.trigger_input_tokens,
            profile=profile_of(session.request.model),
            tariff=tariff_of("", {"input": 1.0}),
            pause=pause,
        )
        return play(client, session, setting, lambda number: None)

    return run


def body_of(*messages: Any, **members: Any) -> bytes:
    return json.dumps({"model": "claude-haiku-4-5", "max_tokens": 64, "messages": messages, **members}).encode()


def said(role: str, text: str = "words") -> dict[str, Any]:
    return {"role": role, "content": text}


def test_a_log_is_cut_where_the_assistant_begins_to_speak() -> None:
    log = [said("user"), said("assistant"), said("assistant"), said("user"), said("assistant"), said("user")]
    session = session_of(body_of(*log), "anthropic")
    assert session.calls == (1, 4, 6)
    assert json.loads(session.body(4))["messages"] == log[:4]
    assert json.loads(session.body(4))["max_tokens"] == 64


def test_what_the_assistant_said_last_is_no_request() -> None:
    assert session_of(body_of(said("user"), said("assistant")), "anthropic").calls == (1,)


def test_a_log_of_the_assistant_alone_is_no_call() -> None:
    assert session_of(body_of(said("assistant"), said("assistant")), "anthropic").calls == ()


def test_a_body_that_is_no_request_is_refused() -> None:
    with pytest.raises(MalformedPayload):
        session_of(b'{"messages": 3}', "anthropic")
    with pytest.raises(ValueError, match="no JSON object"):
        with_model(b"[]", "x")


def test_another_model_leaves_the_rest_as_it_is() -> None:
    body = body_of(said("user", "é\\u0041"), metadata={"n": 1})
    changed = json.loads(with_model(body, 'a "quoted" name'))
    assert changed == {**json.loads(body), "model": 'a "quoted" name'}
    assert json.loads(with_model(b'{"messages": []}', "m")) == {"messages": [], "model": "m"}


def test_what_is_sent_is_what_the_service_counted(played: Play) -> None:
    replay = played(ANTHROPIC.read_bytes(), max_input_tokens=60_000)
    assert len(replay.steps) == 195
    assert [step.spends[Way.COMPACT].use.sent for step in replay.steps] == [step.after for step in replay.steps]
    assert {step.outcome for step in replay.compactions} == {"CLIPPED", "SUMMARIZED"}


def test_never_compacting_fails_where_the_window_is_full(played: Play) -> None:
    replay = played(ANTHROPIC.read_bytes(), max_input_tokens=60_000)
    failure = replay.failures[Way.NEVER]
    sent = [step.spends[Way.NEVER].use.sent for step in replay.steps if Way.NEVER in step.spends]
    assert len(sent) == failure.call - 1
    assert max(sent) <= 60_000 < failure.input_tokens
    assert replay.total(Way.NEVER).calls == replay.total(Way.COMPACT, failure.call).calls == failure.call - 1


def test_the_window_slides_under_the_trigger_and_tears_no_call_from_its_result(played: Play) -> None:
    body = ANTHROPIC.read_bytes()
    replay = played(body, max_input_tokens=60_000)
    messages = json.loads(body)["messages"]
    assert all(step.spends[Way.SLIDE].use.sent <= replay.trigger for step in replay.steps)
    dropped = [step.dropped for step in replay.steps]
    assert dropped == sorted(dropped)
    assert dropped[-1] > 0
    for start in set(dropped):
        kinds = [block["type"] for block in messages[start]["content"] if isinstance(block, dict)]
        assert "tool_result" not in kinds


def test_ways_are_the_same_while_nothing_is_over_the_trigger(played: Play) -> None:
    replay = played(OPENAI.read_bytes(), format="openai")
    assert not replay.compactions
    assert replay.total(Way.COMPACT) == replay.total(Way.NEVER) == replay.total(Way.SLIDE)
    assert replay.total(Way.COMPACT).read > replay.total(Way.COMPACT).written > 0


def test_a_pause_longer_than_the_cache_lives_reads_nothing(played: Play) -> None:
    assert played(OPENAI.read_bytes(), format="openai", pause=301.0).total(Way.COMPACT).read == 0


def test_sliding_writes_what_compacting_reads(played: Play) -> None:
    replay = played(ANTHROPIC.read_bytes(), max_input_tokens=60_000)
    assert replay.total(Way.SLIDE).written > 5 * replay.total(Way.COMPACT).written
    assert replay.total(Way.SLIDE).cost > 3 * replay.total(Way.COMPACT).cost


def test_a_batch_of_more_blocks_than_are_looked_back_over_is_no_read(played: Play) -> None:
    calls = [{"type": "tool_use", "id": f"t{at}", "name": "read", "input": {}} for at in range(12)]
    results = [{"type": "tool_result", "tool_use_id": f"t{at}", "content": "line\n" * 300} for at in range(12)]
    log = [said("user", "word " * 6_000), {"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    replay = played(body_of(*log, system="short"))
    assert [step.spends[Way.NEVER].use.read for step in replay.steps] == [0, 0]


def test_a_call_that_the_service_refuses_is_named(played: Play) -> None:
    with pytest.raises(CallFailed) as failed:
        played(body_of(said("user"), said("assistant"), said("user", "word " * 9_000)), max_input_tokens=2_000)
    assert failed.value.call == 2


def test_prices_that_were_said_stand_and_the_others_are_in_proportion() -> None:
    tariff = tariff_of("claude-haiku-4-5", {"input": 2.0, "read": 0.5})
    assert tariff.unit == "USD"
    assert tariff.prices == {**{kind: 2 * share for kind, share in PROPORTIONS.items()}, "read": 0.5}  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="input tokens"):
        tariff_of("claude-haiku-4-5", {"read": 0.5})
