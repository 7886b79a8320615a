"""Whatever the provider does when it summarizes or counts: an answer in time, valid, and what went wrong named."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hango.compaction import Client, CompactionError, CompactResult
from hango.compaction.v1.compaction_pb2 import NoticeCode
from tests.builders.provider import (
    SUMMARY,
    Provider,
    Reply,
    count,
    echo,
    failure,
    message,
    overflow,
    raw,
    redirect,
    reset,
    slow,
    text,
)
from tests.builders.provider_rules import anthropic_violations
from tests.integration.conftest import bare_environment, running

DEADLINE_SECONDS = 10.0
TIMEOUT_SECONDS = 1.5
WINDOW = 4_000
FILLER = "alpha bravo charlie delta echo foxtrot golf hotel india juliett "
PICTURE = "iVBORw0KGgo" + "A" * 400

BY_PROVIDER = {"token_counter": "PROVIDER"}

FAILED = "SUMMARIZER_FAILED"
REJECTED = "SUMMARY_REJECTED"

SUMMARIZE_FAULTS: dict[str, tuple[Reply, str]] = {
    "slow": (slow(TIMEOUT_SECONDS * 3), FAILED),
    "slow and cut off": (slow(TIMEOUT_SECONDS * 3, reset()), FAILED),
    "closes the connection": (reset(), FAILED),
    "breaks off": (raw(b'{"id": "msg_1", "type": "mess', name="broken off", claims=400), FAILED),
    "no JSON": (raw(b"\x00\xff nonsense", name="garbage"), FAILED),
    "a page": (raw(b"<html><body>502 Bad Gateway</body></html>", name="page", kind="text/html"), FAILED),
    "nothing": (raw(b"", name="nothing"), FAILED),
    "a list": (raw(b"[]", name="list"), FAILED),
    "null": (raw(b"null", name="null"), FAILED),
    "a number": (raw(b"7", name="number"), FAILED),
    "deep JSON": (raw(b"[" * 50_000, name="deep"), FAILED),
    "redirect": (redirect(), FAILED),
    "400": (failure(400), FAILED),
    "401": (failure(401), FAILED),
    "403": (failure(403), FAILED),
    "404": (failure(404), FAILED),
    "413": (failure(413), FAILED),
    "429": (failure(429), FAILED),
    "429 for an hour": (failure(429, retry_after="3600"), FAILED),
    "429 for no time": (failure(429, retry_after="soon"), FAILED),
    "500": (failure(500), FAILED),
    "503": (failure(503), FAILED),
    "529": (failure(529), FAILED),
    "overflow": (overflow(), FAILED),
    "content is null": (message(None), FAILED),
    "content is a text": (message("words"), FAILED),
    "no content": (message([]), REJECTED),
    "blank": (text(" \n\t "), REJECTED),
    "too little": (text("OK."), REJECTED),
    "cut off": (text("Goal: move the loader to the new", stop_reason="max_tokens"), REJECTED),
    "refusal": (message([], stop_reason="refusal"), REJECTED),
    "refusal with words": (text("I will not summarize this.", stop_reason="refusal"), REJECTED),
    "refusal in words": (text("I'm sorry, but I can't help with that request."), REJECTED),
    "tool call": (
        message([{"type": "tool_use", "id": "t1", "name": "read_file", "input": {}}], stop_reason="tool_use"),
        REJECTED,
    ),
    "window exceeded": (text("Goal: the", stop_reason="model_context_window_exceeded"), REJECTED),
    "pause": (text(SUMMARY, stop_reason="pause_turn"), REJECTED),
    "unknown stop": (text(SUMMARY, stop_reason="something_new"), REJECTED),
    "asks back": (text("Could you please provide the conversation that you want me to summarize?"), REJECTED),
    "error in words": (text('{"type": "error", "error": {"type": "overloaded_error"}}'), REJECTED),
    "echo": (echo(), REJECTED),
    "half an echo": (echo(0.5), REJECTED),
    "longer than its source": (text("A sentence that goes on and on. " * 4_000), REJECTED),
    "one line for ever": (text("The loader was read.\n" * 300), REJECTED),
    "left-over reasoning": (text("<think>Short plan.</analysis>\nGoal: finish the loader."), REJECTED),
}

COUNT_FAULTS: dict[str, Reply] = {
    **{name: fault for name, (fault, _) in list(SUMMARIZE_FAULTS.items())[:24]},
    "zero": count(0),
    "negative": count(-5),
    "a text": count("1900"),
    "a fraction": count(1900.5),
    "missing": count(None),
    "beyond belief": count(10**12),
    "far too small": count(1),
}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def client(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    variables = {
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": provider.url,
        "HANGO_SUMMARIZER_MODEL": "claude-haiku-4-5",
        "HANGO_SUMMARIZER_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
        "HANGO_COUNT_TIMEOUT_SECONDS": "0.5",
    }
    assert "ANTHROPIC_API_KEY" not in bare_environment()
    with (
        running(tmp_path_factory.mktemp("server"), None, variables) as server,
        Client.connect(server.target, timeout=DEADLINE_SECONDS) as connected,
    ):
        yield connected


def body(name: str, **fields: Any) -> dict[str, Any]:
    """A request of its own for every test, so that no summary is found that another paid for."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    thought = {"type": "thinking", "thinking": "SECRET thoughts", "signature": "c2ln"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": f"Always answer in Latin ({name})."}, image]},
    ]
    for turn in range(20):
        call = {"type": "tool_use", "id": f"t{turn}", "name": "read_file", "input": {"path": f"src/p{turn}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": FILLER * 2}
        messages += [{"role": "assistant", "content": [thought, call]}, {"role": "user", "content": [result]}]
        messages += [{"role": "assistant", "content": f"Part {turn} was read. {FILLER * 2}"}]
        messages += [{"role": "user", "content": f"Go on with part {turn + 1}. {FILLER}"}]
    tool = {"name": "read_file", "input_schema": {"type": "object"}}
    return {"model": "claude-sonnet-4-5", "max_tokens": 100, "tools": [tool], "messages": messages, **fields}


def compacted(client: Client, sent: dict[str, Any], **policy: Any) -> CompactResult:
    """What comes of a call, held against all that has to be true of it, whatever the provider did."""
    began = time.monotonic()
    chosen = {"max_input_tokens": WINDOW, "reserve_output_tokens": 0, "token_counter": "HEURISTIC", **policy}
    result = client.compact(sent, session_id="s1", turn_id="one", policy=chosen)
    assert time.monotonic() - began < DEADLINE_SECONDS
    assert not anthropic_violations(result.request)
    assert result.response.compacted_input_tokens <= WINDOW
    assert result.request["messages"][-1] == sent["messages"][-1]
    return result


def codes(result: Any) -> set[str]:
    return {NoticeCode.Name(notice.code).removeprefix("NOTICE_CODE_") for notice in result.response.notices}


@pytest.mark.parametrize("name", SUMMARIZE_FAULTS)
def test_a_fault_of_the_summarizer_is_absorbed(client: Client, provider: Provider, name: str) -> None:
    fault, notice = SUMMARIZE_FAULTS[name]
    provider.script(fault)
    result = compacted(client, body(name))
    assert {notice, "SUMMARY_EXTRACTIVE"} <= codes(result), result.response.notices
    assert not codes(result) & ({FAILED, REJECTED} - {notice})
    assert result.outcome == "SUMMARIZED"
    assert result.record is not None
    assert "Always answer in Latin" in result.record.summary
    usage = result.response.summarizer_usage
    assert 1 <= usage.call_count <= 4
    provider.script(text())
    after = compacted(client, body(f"after {name}"))
    assert SUMMARY in after.record.summary  # type: ignore[union-attr]
    assert not codes(after) & {FAILED, REJECTED, "SUMMARY_EXTRACTIVE"}


@pytest.mark.parametrize("name", COUNT_FAULTS)
def test_a_fault_of_the_counting_endpoint_is_absorbed(client: Client, provider: Provider, name: str) -> None:
    provider.script(text(), counts=[COUNT_FAULTS[name]])
    result = compacted(client, body(f"count {name}"), **BY_PROVIDER)
    assert "COUNT_FELL_BACK" in codes(result)
    asked = len(provider.asked("/v1/messages/count_tokens"))
    assert asked >= 1
    provider.script(text(), counts=[count(9_000)])  # the next call asks again
    after = compacted(client, body(f"count {name}"), **BY_PROVIDER, summarizer="EXTRACTIVE")
    assert "COUNT_FELL_BACK" not in codes(after)
    assert after.response.original_input_tokens == 9_000


def test_both_at_once(client: Client, provider: Provider) -> None:
    provider.script(failure(529), counts=[failure(529)])
    result = compacted(client, body("both"), **BY_PROVIDER)
    assert {"COUNT_FELL_BACK", FAILED, "SUMMARY_EXTRACTIVE"} <= codes(result)


def test_the_requests_own_model_is_asked_where_the_configured_one_is_gone(client: Client, provider: Provider) -> None:
    provider.script(failure(404), text())
    result = compacted(client, body("gone"))
    assert [asked["model"] for asked in provider.asked()] == ["claude-haiku-4-5", "claude-sonnet-4-5"]
    assert SUMMARY in result.record.summary  # type: ignore[union-attr]
    assert result.response.summarizer_usage.model == "claude-sonnet-4-5"


def test_a_throttled_call_is_made_once_more_and_then_good(client: Client, provider: Provider) -> None:
    provider.script(failure(429, retry_after="0"), text())
    result = compacted(client, body("throttled once"))
    assert not codes(result) & {FAILED, REJECTED}
    assert result.response.summarizer_usage.call_count == 2


@pytest.mark.parametrize(
    "model",
    [
        "claude-haiku-4-5",
        "claude-opus-4-7",
        "claude-sonnet-5-5",
        "claude-opus-5-5",
        "claude-fable-5-1",
        "claude-opus-4-5",
    ],
)
def test_what_is_asked_is_valid_for_every_family(client: Client, provider: Provider, model: str) -> None:
    provider.script(text())
    result = compacted(client, body(f"family {model}"), summarizer_model=model)
    (asked,) = provider.asked()
    assert [seen.refused for seen in provider.seen] == [""]
    assert asked["model"] == model
    assert set(asked) == {"model", "max_tokens", "system", "messages"}
    (sent,) = asked["messages"]
    assert sent["role"] == "user"
    spelled = json.dumps(asked)
    assert "cache_control" not in spelled
    assert "SECRET" not in spelled
    assert PICTURE[:60] not in spelled
    assert "<transcript>" in sent["content"]
    assert "Summarize" in sent["content"].partition("</transcript>")[2]
    assert SUMMARY in result.record.summary  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("fault", "reason", "retries"),
    [
        (failure(503), "PROVIDER_UNAVAILABLE", None),
        (reset(), "PROVIDER_UNAVAILABLE", None),
        (slow(TIMEOUT_SECONDS * 3), "PROVIDER_TIMEOUT", None),
        (failure(429, retry_after="17"), "PROVIDER_RATE_LIMITED", 17.0),
        (failure(401), "SUMMARY_REJECTED", None),
        (text(" "), "SUMMARY_REJECTED", None),
    ],
    ids=lambda value: value.name if isinstance(value, Reply) else str(value),
)
def test_summarize_fails_where_only_a_model_will_do(
    client: Client, provider: Provider, fault: Reply, reason: str, retries: float | None
) -> None:
    provider.script(fault)
    with pytest.raises(CompactionError) as caught:
        client.summarize(body(f"summarize {reason} {fault.name}"), policy={"summarizer": "MODEL"})
    assert caught.value.reason == reason
    assert caught.value.retry_seconds == retries
    assert len(provider.asked()) <= 4  # gRPC does not make the call again by itself
    assert "Latin" not in str(caught.value)


def test_summarize_by_a_model_says_what_it_cost_and_what_was_lost(client: Client, provider: Provider) -> None:
    provider.script(text())
    response = client.summarize(body("summarized"), policy={"summarizer": "MODEL"})
    assert response.summary.startswith(SUMMARY)
    assert (response.usage.call_count, response.usage.model) == (1, "claude-haiku-4-5")
    assert "Always answer in Latin" in response.summary


def test_nothing_of_a_provider_stands_in_what_is_said(client: Client, provider: Provider) -> None:
    provider.script(failure(400, "the secret words of a prompt: MARVIN"), counts=[failure(400, "MARVIN")])
    result = compacted(client, body("secret"), **BY_PROVIDER)
    assert "MARVIN" not in str(result.response.notices)
