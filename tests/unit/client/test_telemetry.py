"""Spans, events and metrics of a session's calls, in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from hango.compaction import NotServed
from tests.builders.turns import AS_IT_IS, BODY, KINDS, LADDER, REPLY, TOO_LONG, Kind, Provider, Service

CONTENT = "the rows of the loader"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


class Watched:
    """A session in a turn's span, whose spans and metrics are kept."""

    def __init__(self, kind: Kind, service: Service) -> None:
        self.spans = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        meters = MeterProvider(metric_readers=[self.reader])
        self.made = kind(service, tracer_provider=self.tracers, meter_provider=meters)

    def run(self, send: Callable[[Any], Any], body: Any = BODY) -> None:
        with self.tracers.get_tracer("agent").start_as_current_span("turn"):
            self.made.run(body, send)

    def finished(self) -> tuple[list[ReadableSpan], ReadableSpan]:
        *chats, turn = self.spans.get_finished_spans()
        return chats, turn

    def metrics(self) -> dict[str, Any]:
        data = self.reader.get_metrics_data()
        found = data.resource_metrics[0].scope_metrics if data else []
        return {metric.name: list(metric.data.data_points) for scope in found for metric in scope.metrics}


def test_each_send_has_a_chat_span_and_each_compaction_an_event(kind: Kind) -> None:
    watched = Watched(kind, Service(*LADDER))
    watched.run(Provider(RuntimeError(TOO_LONG), RuntimeError(TOO_LONG), REPLY))
    chats, turn = watched.finished()
    assert [span.name for span in chats] == ["chat claude-haiku-4-5"] * 3
    assert {span.kind for span in chats} == {SpanKind.CLIENT}
    assert all(span.parent and span.parent.span_id == turn.context.span_id for span in chats)
    asked = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "claude-haiku-4-5",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.conversation.compacted": True,
        "gen_ai.conversation.id": "tour",
        "hango.call.purpose": "turn",
    }
    assert dict(chats[0].attributes or {}) == {**asked, "error.type": "RuntimeError"}
    assert chats[0].status.status_code is StatusCode.ERROR
    usage = {
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 60,
    }
    assert dict(chats[2].attributes or {}) == {**asked, **usage}
    assert chats[2].status.status_code is StatusCode.UNSET
    assert not chats[2].events
    assert [event.name for event in turn.events] == [
        "gen_ai.conversation.compacted",
        "provider.context_overflow_retry",
        "gen_ai.conversation.compacted",
        "provider.context_overflow_retry",
        "gen_ai.conversation.compacted",
    ]
    assert dict(turn.events[2].attributes or {}) == {
        "hango.tokens.before": 170,
        "hango.tokens.after": 120,
        "hango.messages.evicted": 2,
        "hango.compaction.reason": "overflow",
        "hango.fs.path": "/conversation_history/tour.md",
    }
    reasons = [(event.attributes or {}).get("hango.compaction.reason") for event in turn.events]
    assert reasons == ["threshold", None, "overflow", None, "truncate"]


def test_a_call_that_compacts_nothing_says_so_by_silence(kind: Kind) -> None:
    watched = Watched(kind, Service(AS_IT_IS))
    watched.run(Provider(REPLY))
    [chat], turn = watched.finished()
    assert "gen_ai.conversation.compacted" not in (chat.attributes or {})
    assert not turn.events


def test_the_last_overflow_is_not_told_as_a_retry(kind: Kind) -> None:
    watched = Watched(kind, Service(*LADDER))
    with pytest.raises(RuntimeError):
        watched.run(Provider(*[RuntimeError(TOO_LONG) for _ in range(3)]))
    _, turn = watched.finished()
    assert [event.name for event in turn.events].count("provider.context_overflow_retry") == 2


def test_the_part_of_the_input_that_the_cache_gave_is_measured(kind: Kind) -> None:
    watched = Watched(kind, Service(AS_IT_IS, AS_IT_IS))
    watched.run(Provider(REPLY))
    watched.run(Provider({"usage": {"prompt_tokens": 10}}))
    [point] = watched.metrics()["hango.cache.read_ratio"]
    assert (point.count, point.sum) == (1, 0.6)
    assert point.attributes["gen_ai.request.model"] == "claude-haiku-4-5"


def test_tokens_and_time_of_a_turns_calls_are_told_apart_from_a_summarizers(kind: Kind) -> None:
    watched = Watched(kind, Service(AS_IT_IS, AS_IT_IS))
    watched.run(Provider(REPLY))
    with pytest.raises(RuntimeError):
        watched.run(Provider(RuntimeError("no such model")))
    told = watched.metrics()
    usage = {point.attributes["gen_ai.token.type"]: point.sum for point in told["gen_ai.client.token.usage"]}
    assert usage == {"input": 100, "output": 5}
    durations = told["gen_ai.client.operation.duration"]
    assert sorted(str(point.attributes.get("error.type")) for point in durations) == ["None", "RuntimeError"]
    for point in (*told["gen_ai.client.token.usage"], *durations):
        assert point.attributes["hango.call.purpose"] == "turn"


def test_every_overflow_is_counted_the_last_one_too(kind: Kind) -> None:
    watched = Watched(kind, Service(*LADDER))
    with pytest.raises(RuntimeError):
        watched.run(Provider(*[RuntimeError(TOO_LONG) for _ in range(3)]))
    [point] = watched.metrics()["hango.context.overflows"]
    assert (point.value, point.attributes["gen_ai.request.model"]) == (3, "claude-haiku-4-5")


def test_a_call_that_goes_out_without_the_service_is_counted(kind: Kind) -> None:
    away = NotServed("away", code=grpc.StatusCode.UNAVAILABLE)
    watched = Watched(kind, Service(AS_IT_IS, away))
    watched.run(Provider(REPLY))
    watched.run(Provider(REPLY))
    [point] = watched.metrics()["hango.context.unserved_calls"]
    assert (point.value, dict(point.attributes)) == (1, {"error.type": "unavailable"})


def test_a_name_that_is_a_text_is_cut(kind: Kind) -> None:
    watched = Watched(kind, Service(AS_IT_IS))
    watched.run(Provider(REPLY), {**BODY, "model": "claude" + "m" * 10_000})
    [chat], _ = watched.finished()
    assert (chat.attributes or {})["gen_ai.request.model"] == "claude" + "m" * 114
    assert len(chat.name) < 200


def test_no_content_is_in_spans_and_metrics(kind: Kind) -> None:
    body = {**BODY, "system": CONTENT, "messages": [{"role": "user", "content": CONTENT}]}
    watched = Watched(kind, Service(*LADDER))
    overflow = RuntimeError(f"prompt is too long: {CONTENT}")
    watched.run(Provider(overflow, {**REPLY, "content": CONTENT}), body)
    with pytest.raises(RuntimeError):
        watched.run(Provider(RuntimeError(f"refused: {CONTENT}")), body)
    chats, _ = watched.finished()
    told = [json.loads(span.to_json()) for span in chats]
    assert CONTENT not in json.dumps([told, str(watched.metrics())])


def test_the_span_of_the_call_is_current_while_it_lasts(kind: Kind) -> None:
    names: list[Any] = []
    watched = Watched(kind, Service(AS_IT_IS))
    with watched.tracers.get_tracer("agent").start_as_current_span("turn"):
        watched.made.run(BODY, lambda request: names.append(getattr(trace.get_current_span(), "name", "")))
        assert getattr(trace.get_current_span(), "name", "") == "turn"
    assert names == ["chat claude-haiku-4-5"]
