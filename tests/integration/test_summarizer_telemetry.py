"""What a summary costs is told apart from the conversation's own tokens: a span and a metric of its own, without
content.

Each check runs in a process of its own, because the providers of spans and metrics are one a process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

PROGRAM = """
import asyncio, json, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from compactor.core.assignment import Assignment
from compactor.core.passages import Passage
from compactor.model import SummarizerUsage
from compactor.ports import Failure, Reply, SummarizerFailed
from compactor.providers.scripted import ScriptedSummarizer
from compactor.summaries import NotWritten, Summaries, Task

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))

usage = SummarizerUsage("claude-haiku-4-5", 1, 900, 70, 40, 60)
good = Reply("SECRET words of a summary that is good.", "end_turn", calls_tool=False, usage=usage)
answers = [SummarizerFailed("down", Failure.UNAVAILABLE), good] if sys.argv[1] == "down" else [good]
task = Task(("claude-haiku-4-5", "claude-opus-5"), Assignment(),
            lambda: [Passage("SECRET " * 100, may_open=True)], len, 10_000, b"")
asyncio.run(Summaries(ScriptedSummarizer(*answers)).write(task, None))

told = [{"name": span.name, "kind": span.kind.name, "status": span.status.status_code.name,
         "attributes": dict(span.attributes), "events": len(span.events)} for span in spans.get_finished_spans()]
points = [
    {"name": metric.name, "unit": metric.unit, "sum": point.sum, "attributes": dict(point.attributes)}
    for resource in reader.get_metrics_data().resource_metrics
    for scope in resource.scope_metrics if scope.scope.name == "compactor"  # the SDK has some of its own
    for metric in scope.metrics for point in metric.data.data_points
]
print(json.dumps({"spans": told, "points": points}))
"""


def _told(how: str) -> dict[str, Any]:
    run = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, check=True, text=True, timeout=60)
    assert "SECRET" not in run.stdout
    told: dict[str, Any] = json.loads(run.stdout)
    return told


def test_a_summary_has_a_span_and_a_metric_of_its_own() -> None:
    told = _told("up")
    (span,) = told["spans"]
    assert (span["name"], span["kind"], span["events"]) == ("chat claude-haiku-4-5", "CLIENT", 0)
    assert span["attributes"] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-haiku-4-5",
        "gen_ai.response.finish_reasons": ["end_turn"],
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 70,
        "hango.call.purpose": "summarize",
    }
    usage = [point for point in told["points"] if point["name"] == "gen_ai.client.token.usage"]
    assert {point["attributes"]["gen_ai.token.type"]: point["sum"] for point in usage} == {"input": 1_000, "output": 70}
    [duration] = [point for point in told["points"] if point["name"] == "gen_ai.client.operation.duration"]
    assert [duration["unit"], *(point["unit"] for point in usage)] == ["s", "{token}", "{token}"]
    assert {point["attributes"]["hango.call.purpose"] for point in told["points"]} == {"summarize"}


def test_a_call_that_failed_says_so_on_its_span() -> None:
    failed, other = _told("down")["spans"]
    assert (failed["status"], failed["attributes"]["error.type"]) == ("ERROR", "unavailable")
    assert (other["name"], other["status"]) == ("chat claude-opus-5", "UNSET")
