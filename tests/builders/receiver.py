"""An OTLP receiver on loopback ports, over gRPC and HTTP, that keeps every byte that it is sent.

    with Receiver() as receiver:
        ...  # OTEL_EXPORTER_OTLP_ENDPOINT=receiver.grpc_url, or receiver.http_url with OTEL_EXPORTER_OTLP_PROTOCOL

It reads the messages of the protocol with their published definitions and answers as a collector does.
"""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_pb

SECONDS_TO_ARRIVE = 30.0
_SERVICES = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.metrics.v1.MetricsService": "metrics",
}
_MESSAGES = {"traces": trace_pb.ExportTraceServiceRequest, "metrics": metrics_pb.ExportMetricsServiceRequest}
_ANSWERS = {"traces": trace_pb.ExportTraceServiceResponse, "metrics": metrics_pb.ExportMetricsServiceResponse}
KINDS = {1: "INTERNAL", 2: "SERVER", 3: "CLIENT"}


@dataclass(frozen=True)
class Event:
    name: str
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Span:
    """A span as it arrived; ids in hexadecimal, `parent` empty for none."""

    name: str
    kind: str
    trace: str
    id: str
    parent: str
    status: int
    attributes: dict[str, Any]
    events: list[Event]
    resource: dict[str, Any]
    scope: str


@dataclass(frozen=True)
class Point:
    """A point of a metric as it arrived last: the value of a counter, or sum and count of a histogram."""

    name: str
    unit: str
    kind: str
    attributes: dict[str, Any]
    value: float
    count: int
    scope: str


class Receiver:
    """Both endpoints; `sent` is what came in, as (signal, protocol, bytes)."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, bytes]] = []
        self._came = threading.Condition()
        self._grpc = grpc.server(ThreadPoolExecutor(4), options=[("grpc.so_reuseport", 0)])
        self._grpc.add_generic_rpc_handlers((_Methods(self),))
        self.grpc_url = f"http://127.0.0.1:{self._grpc.add_insecure_port('127.0.0.1:0')}"
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.http_url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._serving = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> Receiver:
        self._grpc.start()
        self._serving.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._grpc.stop(None).wait()
        self._http.shutdown()
        self._serving.join()
        self._http.server_close()

    def take(self, signal: str, protocol: str, data: bytes) -> bytes:
        """Keeps what was sent, and answers it."""
        _MESSAGES[signal].FromString(data)
        with self._came:
            self.sent.append((signal, protocol, data))
            self._came.notify_all()
        return _ANSWERS[signal]().SerializeToString()

    @property
    def spans(self) -> list[Span]:
        """All spans so far, in the order in which they arrived."""
        return [
            span for data in self._of("traces") for span in _spans(trace_pb.ExportTraceServiceRequest.FromString(data))
        ]

    @property
    def points(self) -> list[Point]:
        """The newest point of each metric and set of attributes, of all processes that sent any."""
        newest: dict[Any, Point] = {}
        for data in self._of("metrics"):
            for source, point in _points(metrics_pb.ExportMetricsServiceRequest.FromString(data)):
                newest[source, point.scope, point.name, tuple(sorted(point.attributes.items()))] = point
        return list(newest.values())

    def wait(self, arrived: Callable[[Receiver], Any]) -> Any:
        """What a look at the receiver gives, once it gives anything; an error where it never does."""
        deadline = time.monotonic() + SECONDS_TO_ARRIVE
        with self._came:
            while not (found := arrived(self)):
                left = deadline - time.monotonic()
                assert left > 0, f"nothing of the kind arrived; spans {[span.name for span in self.spans]}"
                self._came.wait(min(left, 1.0))
        return found

    def _of(self, signal: str) -> list[bytes]:
        return [data for kind, _, data in list(self.sent) if kind == signal]


class _Methods(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        signal = _SERVICES.get(str(handler_call_details.method).strip("/").partition("/")[0])
        if signal is None:
            return None
        return grpc.unary_unary_rpc_method_handler(lambda data, _: self._receiver.take(signal, "grpc", data))


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                data = gzip.decompress(data)
            signal = self.path.rpartition("/v1/")[2]
            known = signal in _MESSAGES and self.headers["content-type"] == "application/x-protobuf"
            answer = receiver.take(signal, "http", data) if known else b""
            self.send_response(200 if known else 404)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: object) -> None: ...

    return Handler


def _spans(request: trace_pb.ExportTraceServiceRequest) -> Iterator[Span]:
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Span(
                    span.name,
                    KINDS[span.kind],
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.status.code,
                    _attributes(span.attributes),
                    [Event(event.name, _attributes(event.attributes)) for event in span.events],
                    _attributes(resource.resource.attributes),
                    scope.scope.name,
                )


def _points(request: metrics_pb.ExportMetricsServiceRequest) -> Iterator[tuple[str, Point]]:
    for resource in request.resource_metrics:
        source = str(_attributes(resource.resource.attributes).get("service.instance.id"))
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for counted in metric.sum.data_points:
                    value = counted.as_double if counted.HasField("as_double") else counted.as_int
                    yield source, _point(metric, "counter", counted, value, 0, scope.scope.name)
                for told in metric.histogram.data_points:
                    yield source, _point(metric, "histogram", told, told.sum, told.count, scope.scope.name)


def _point(metric: Any, kind: str, point: Any, value: float, count: int, scope: str) -> Point:
    return Point(metric.name, metric.unit, kind, _attributes(point.attributes), value, count, scope)


def _attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(entry) for entry in value.array_value.values]
    return getattr(value, kind)
