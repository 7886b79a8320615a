"""An agent with OpenTelemetry set up, as a process of its own: it makes a session do all that telemetry tells of.

    python -m tests.builders.agent SERVICE OTLP_ENDPOINT PROMETHEUS_PORT HISTORY_ROOT

Its request comes from standard input. It prints a line when it is done, and may be scraped until its input ends.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from prometheus_client import start_http_server

from hango.compaction import Client, CompactionError, Session

POLICY = {"max_input_tokens": 4_000, "reserve_output_tokens": 0, "token_counter": "HEURISTIC"}
USAGE = {"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 5}


def main() -> int:
    """Runs the session, prints a line, and waits."""
    target, endpoint, port, root = sys.argv[1:]
    resource = Resource.create({"service.name": "agent", "service.instance.id": "agent"})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint, insecure=True)))
    exported = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint, insecure=True))
    meters = MeterProvider([exported, PrometheusMetricReader()], resource=resource)
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(meters)
    start_http_server(int(port), "127.0.0.1")
    body = json.loads(sys.stdin.readline())
    with tracers.get_tracer("tests").start_as_current_span("turn"):
        with Client.connect(target) as client:
            _turns(client, body)
        with Client.connect("127.0.0.1:1", timeout=0.5) as nobody:
            Session(nobody, "alone").run(body, _replies({"usage": USAGE}))
        with Client.in_process(history_root=root) as near:
            near.compact(body, session_id="near", policy=POLICY)
            _refused(near, body)
    tracers.force_flush()
    meters.force_flush()
    print("done", flush=True)  # noqa: T201 - what its parent waits for
    sys.stdin.read()
    return 0


def _turns(client: Client, body: dict[str, Any]) -> None:
    """A call that is answered after an overflow, one that fails, and one that the service refuses."""
    session = Session(client, "agent", policy=POLICY)
    session.run(body, _replies(RuntimeError("prompt is too long: 210000 tokens > 200000 maximum"), {"usage": USAGE}))
    try:
        session.run(body, _replies(LookupError("no such model")))
    except LookupError:
        _refused(client, body)


def _refused(client: Client, body: dict[str, Any]) -> None:
    with suppress(CompactionError):
        client.compact(body, session_id="small", policy={**POLICY, "max_input_tokens": 200})
        raise AssertionError("it was not refused")


def _replies(*script: Any) -> Any:
    left = list(script)

    def send(request: dict[str, Any]) -> Any:
        assert request["messages"]
        step = left.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    return send


if __name__ == "__main__":
    raise SystemExit(main())
