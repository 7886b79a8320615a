"""Whole calls with `redact`: no credential is in anything that leaves but the kept part, which is not touched."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from compactor.app import Compactor
from compactor.counts import Counts
from compactor.errors import FieldNotSupported
from compactor.ports import Failure, SummarizerFailed
from compactor.providers.kingfisher import KingfisherRedactor
from compactor.providers.scripted import ScriptedSummarizer
from compactor.providers.tokenizer import tokenizer_counting
from compactor.reader import Facts
from compactor.stores.memory import MemoryHistory
from compactor.summaries import Summaries
from compactor.wire import answers, calls
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import policy_pb2
from tests.builders import credentials

FILLER = "alpha bravo charlie delta echo foxtrot golf hotel "
SHOWN = credentials.shown()
SECRETS = [secret for one in SHOWN.values() for secret in one.secrets if len(secret) > 12]
KEPT = "postgres://app:" + SHOWN["stripe"].secrets[0] + "@db/kept"
GOOD = (
    f"Goal: mend the loader with {SHOWN['jwt'].secrets[0]}. The parser was rewritten. Next: look at rows.py. {FILLER}"
)


def log(asks: str = "Mend the loader for COMP-4711.") -> list[dict[str, Any]]:
    """A session in which every kind of credential is said, written and read; one stands in what is kept."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": asks}]
    for turn, (kind, one) in enumerate(SHOWN.items()):
        given = {"path": f"src/part{turn}.py", "content": f"# {kind}\n{one.text}\n"}
        call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "write_file", "input": given}
        text = f"{FILLER * 3}\n{one.text}\n{FILLER * 3}"
        result = {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": [{"type": "text", "text": text}]}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        messages += [{"role": "assistant", "content": f"Part {turn} was read: {one.text}"}]
        messages += [{"role": "user", "content": f"Always use this: {one.text}. Go on with part {turn + 1}."}]
    return [*messages, {"role": "assistant", "content": f"Connected to {KEPT}."}, {"role": "user", "content": "Go on."}]


def service(model: ScriptedSummarizer | None = None, history: MemoryHistory | None = None) -> Compactor:
    history = history or MemoryHistory()
    return Compactor(
        history=history,
        facts=Facts(16 << 20),
        counts=Counts(tokenizer_counting, None, 1.0),
        summaries=Summaries(model, history),
        redactor=KingfisherRedactor(),
    )


def compacted(by: Compactor, messages: list[dict[str, Any]], **options: Any) -> pb.CompactResponse:
    policy = policy_pb2.Policy(
        max_input_tokens=30_000,
        reserve_output_tokens=0,
        keep_message_count=2,
        summarizer_model="claude-haiku-4-5",
        redact=True,
    )
    policy.MergeFrom(options.pop("policy", policy_pb2.Policy()))
    tool = {"name": "write_file", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}
    sent = {"model": "claude-opus-5", "max_tokens": 100, "tools": [tool], "messages": messages}
    request = pb.CompactRequest(
        session_id="s1", policy=policy, reason=3, native={"format": 1, "body": json.dumps(sent).encode()}
    )
    request.MergeFrom(pb.CompactRequest(**options))

    async def answered() -> pb.CompactResponse:
        call = calls.compact_call(request, by)
        return answers.compact_response(request, call, await by.compact(call))

    return asyncio.run(answered())


def kept_by(history: MemoryHistory) -> str:
    return "".join(data.decode() for data in history.files.values())


def leaks(text: str) -> list[str]:
    """Secrets of which more than a few letters stand in a text."""
    return [secret for secret in SECRETS if secret[:12] in text or secret[-12:] in text]


def everything_but_the_kept(response: pb.CompactResponse) -> str:
    """All that a response says, the bytes of the kept messages aside."""
    told = pb.CompactResponse.FromString(response.SerializeToString())
    body = json.loads(told.native.body)
    told.ClearField("native")
    return f"{told}\n{body['messages'][:-2]}".replace("\\n", "\n").replace('\\"', '"')


@pytest.mark.parametrize("mode", ["STORE", "RETURN"])
@pytest.mark.parametrize("is_by_model", [True, False])
def test_nothing_leaves_unmasked_but_the_kept_part(mode: str, is_by_model: bool) -> None:
    model, history = ScriptedSummarizer(GOOD), MemoryHistory()
    policy = policy_pb2.Policy(history_mode=f"HISTORY_MODE_{mode}", instructions=f"Note {SHOWN['npm'].secrets[0]}")
    response = compacted(service(model if is_by_model else None, history), log(), policy=policy)
    assert response.outcome == pb.OUTCOME_SUMMARIZED
    assert leaks(everything_but_the_kept(response)) == []
    assert len(model.asked) == is_by_model
    assert all(leaks(prompt.system + prompt.text) == [] for _, prompt in model.asked)
    segment = response.history.markdown or kept_by(history)
    assert leaks(segment) == []
    assert "[masked: AWS key " in segment
    assert "Credentials are masked" in segment
    assert "[masked: " in response.compaction.summary


def test_the_kept_part_is_the_callers_own() -> None:
    messages = log()
    kept = json.loads(compacted(service(), messages).native.body)["messages"][-2:]
    assert kept == messages[-2:]
    assert KEPT in str(kept)


def test_what_the_work_needs_is_retained() -> None:
    response = compacted(service(), log())
    assert "COMP-4711" in response.compaction.summary
    assert "src/part3.py" in str(response.retained)


def test_the_open_request_in_the_summary_message_is_masked() -> None:
    asked = [{"role": "user", "content": f"Deploy with DB_PASSWORD={SECRETS[0]} and finish."}]
    for turn in range(30):
        call = {"type": "tool_use", "id": f"t{turn}", "name": "write_file", "input": {"path": f"a{turn}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": FILLER * 20}
        asked += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    summary = compacted(service(), asked).compaction.summary
    assert "<open_request>\nDeploy with DB_PASSWORD=[masked: " in summary
    assert leaks(summary) == []


def test_without_it_nothing_is_masked() -> None:
    policy = policy_pb2.Policy(redact=False, history_mode="HISTORY_MODE_RETURN")
    response = compacted(service(), log(), policy=policy)
    assert "[masked: " not in str(response)
    assert SHOWN["aws id"].secrets[0] in response.history.markdown


def grown(messages: list[dict[str, Any]], by: int = 30) -> list[dict[str, Any]]:
    more = [{"role": role, "content": FILLER * 30} for _ in range(by) for role in ("assistant", "user")]
    return [*messages, *more]


def test_a_retry_appends_nothing_whether_it_masks_or_not() -> None:
    history = MemoryHistory()
    for redact in (True, True, False, True):
        compacted(service(history=history), log(), policy=policy_pb2.Policy(redact=redact))
    assert kept_by(history).count("# Compaction ") == 1
    assert leaks(kept_by(history)) == []


def test_a_session_that_switches_it_on_appends_only_what_is_new() -> None:
    history = MemoryHistory()
    first = compacted(service(history=history), log(), policy=policy_pb2.Policy(redact=False))
    compacted(service(history=history), grown(log()), previous_compaction=first.compaction)
    before, after = kept_by(history).split("\n# Compaction 2 ", 1)
    assert "Credentials are masked" not in before
    assert "Credentials are masked" in after
    assert "## Message 0:" not in after
    assert "postgres://app:[masked: " in after


def test_the_summary_in_force_is_masked_where_it_was_not() -> None:
    model = ScriptedSummarizer(f"Goal: mend it with {SHOWN['jwt'].secrets[0]}. Next: rows. {FILLER}", GOOD)
    by = service(model)
    first = compacted(by, log(), policy=policy_pb2.Policy(redact=False))
    assert leaks(first.compaction.summary)
    second = compacted(by, grown(log()), previous_compaction=first.compaction, turn_id="two")
    assert leaks(second.compaction.summary) == []
    assert leaks(model.asked[-1][1].text) == []


@pytest.mark.parametrize(("then", "now"), [(True, False), (False, True)])
def test_a_record_reproduces_its_bytes_whatever_the_policy_says_now(then: bool, now: bool) -> None:
    first = compacted(service(), log(), policy=policy_pb2.Policy(redact=then))
    again = _replayed(first, now)
    assert again.outcome == pb.OUTCOME_REUSED
    assert json.loads(again.native.body)["messages"] == json.loads(first.native.body)["messages"]


def _replayed(first: pb.CompactResponse, redact: bool) -> pb.CompactResponse:
    by = service()
    sent = {"model": "claude-opus-5", "max_tokens": 100, "messages": log()}
    tool = {"name": "write_file", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}
    request = pb.CompactRequest(
        session_id="s1",
        policy=policy_pb2.Policy(max_input_tokens=30_000, reserve_output_tokens=0, redact=redact),
        previous_compaction=first.compaction,
        native={"format": 1, "body": json.dumps({**sent, "tools": [tool]}).encode()},
    )

    async def answered() -> pb.CompactResponse:
        call = calls.compact_call(request, by)
        return answers.compact_response(request, call, await by.compact(call))

    return asyncio.run(answered())


def test_replicas_mask_alike() -> None:
    one, other = compacted(service(), log()), compacted(service(), log())
    assert one.SerializeToString(deterministic=True) == other.SerializeToString(deterministic=True)


def test_a_secret_has_the_same_mask_in_every_segment() -> None:
    history = MemoryHistory()
    first = compacted(service(history=history), log())
    again = [*grown(log()), {"role": "assistant", "content": f"Now {SHOWN['aws id'].secrets[0]}"}]
    compacted(service(history=history), grown(again), previous_compaction=first.compaction)
    one, two = kept_by(history).split("\n# Compaction 2 ", 1)
    assert "[masked: AWS key 1]" in one
    assert "Now [masked: AWS key 1]" in two


def test_a_model_that_fails_leaves_a_masked_summary_by_code() -> None:
    model = ScriptedSummarizer(SummarizerFailed("down", Failure.UNAVAILABLE))
    assert leaks(everything_but_the_kept(compacted(service(model), log()))) == []


@pytest.mark.parametrize("is_by_model", [True, False])
def test_summarize_masks_all_of_it(is_by_model: bool) -> None:
    model = ScriptedSummarizer(GOOD)
    by = service(model if is_by_model else None)
    policy = policy_pb2.Policy(redact=True, summarizer_model="claude-haiku-4-5")
    body = json.dumps({"model": "claude-opus-5", "max_tokens": 100, "messages": log()}).encode()
    request = pb.SummarizeRequest(
        policy=policy,
        native={"format": 1, "body": body},
        previous_summary=f"Before: {SHOWN['anthropic'].secrets[0]}",
    )

    async def answered() -> pb.SummarizeResponse:
        known = calls.policy_of(request.policy)
        source = calls.source_of(request, known, by)
        answer = await by.summarize(source.request, source.dialect, known, request.previous_summary)
        return answers.summarize_response(answer)

    response = asyncio.run(answered())
    assert leaks(str(response).replace("\\n", "\n")) == []
    assert "[masked: " in response.summary
    assert all(leaks(prompt.text) == [] for _, prompt in model.asked)


def test_a_server_that_knows_no_credentials_refuses() -> None:
    by = Compactor(
        history=MemoryHistory(),
        facts=Facts(1 << 20),
        counts=Counts(tokenizer_counting, None, 1.0),
        summaries=Summaries(None),
    )
    with pytest.raises(FieldNotSupported):
        compacted(by, log())
