"""What the `OTEL_` variables ask for, and OpenTelemetry's SDK set up for it.

Theory. `exports_of` reads which signals go where; it imports nothing, so a service that is asked for nothing pays for
nothing: no SDK, no thread, and the API that `telemetry` speaks to stays without effect. `exporting` sets up the SDK,
whose exporters read the rest of their variables themselves (endpoint, headers, intervals, sampler, resource). Spans and
metrics wait in memory and leave in threads of the SDK; a collector that is slow or away costs what waits, never a call.
At the end what still waits is sent, for a bounded time.

The SDK and the exporters are the extra `telemetry`, not dependencies of everyone: their parts are pinned to each other
and to a range of protobuf, and the client of this package lives in agents that have a set-up of their own.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import grpc
from opentelemetry import metrics, trace

from compactor.config import ConfigError

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import SpanExporter

log = logging.getLogger("compactor")

SERVED = "hango.compaction.v1.CompactionService"
NAME = "compactor"
"""`service.name` where no variable says another."""

Interceptors: TypeAlias = "Sequence[grpc.aio.ServerInterceptor[Any, Any]]"

FLUSH_SECONDS = 5.0
"""How long the end of the process waits for what has not been sent yet."""

OTLP_GRPC, OTLP_HTTP, CONSOLE, PROMETHEUS = "otlp over grpc", "otlp over http/protobuf", "console", "prometheus"
_PROTOCOLS = {"grpc": OTLP_GRPC, "http/protobuf": OTLP_HTTP}
_REFUSED = {
    "OTEL_LOGS_EXPORTER": "none, or unset: logs go to standard error, as JSON with HANGO_LOG_FORMAT=json",
    "OTEL_CONFIG_FILE": "unset: configuration by a file is not supported by this version",
    "OTEL_EXPERIMENTAL_CONFIG_FILE": "unset: configuration by a file is not supported by this version",
}


class Address(NamedTuple):
    """Where Prometheus may scrape."""

    host: str
    port: int


DEFAULT_ADDRESS = Address("localhost", 9_464)


@dataclass(frozen=True, slots=True)
class Exports:
    """Where spans and metrics go, each a tuple of names; `scraped` is where Prometheus may ask, if it may."""

    traces: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    scraped: Address = DEFAULT_ADDRESS

    @property
    def is_off(self) -> bool:
        """Whether nothing goes anywhere."""
        return not (self.traces or self.metrics)


def exports_of(environment: Mapping[str, str]) -> Exports:
    """What the variables ask for. Raises ConfigError for what is malformed or not to be had.

    A signal is exported where `OTEL_{TRACES,METRICS}_EXPORTER` names an exporter, or where an OTLP endpoint is set and
    that variable is not.
    """

    def text(name: str) -> str:
        return environment.get(name, "").strip()

    if text("OTEL_SDK_DISABLED").lower() == "true":
        return Exports()
    for name, wanted in _REFUSED.items():
        if text(name) not in ("", "none"):
            raise ConfigError(f"{name} is {text(name)!r}; it has to be {wanted}")
    traces = _exporters("TRACES", text, (CONSOLE,))
    metrics = _exporters("METRICS", text, (CONSOLE, PROMETHEUS))
    host, port = text("OTEL_EXPORTER_PROMETHEUS_HOST"), text("OTEL_EXPORTER_PROMETHEUS_PORT")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) <= 65_535):
        raise ConfigError(f"OTEL_EXPORTER_PROMETHEUS_PORT is {port!r}; it has to be a whole number from 1 to 65535")
    return Exports(traces, metrics, Address(host or DEFAULT_ADDRESS.host, int(port) if port else DEFAULT_ADDRESS.port))


def _exporters(signal: str, text: Callable[[str], str], known: Sequence[str]) -> tuple[str, ...]:
    variable = f"OTEL_{signal}_EXPORTER"
    listed = text(variable)
    has_endpoint = text(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT") or text("OTEL_EXPORTER_OTLP_ENDPOINT")
    names = [name.strip() for name in (listed or ("otlp" if has_endpoint else "none")).split(",")]
    if names == ["none"]:
        return ()
    for name in names:
        if name not in ("otlp", *known):
            raise ConfigError(f"{variable} is {listed!r}; it has to be none, or of {', '.join(('otlp', *known))}")
    return tuple(dict.fromkeys(_otlp(signal, text) if name == "otlp" else name for name in names))


def _otlp(signal: str, text: Callable[[str], str]) -> str:
    own, common = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    variable = own if text(own) else common
    protocol = text(variable) or "grpc"
    if protocol not in _PROTOCOLS:
        raise ConfigError(f"{variable} is {protocol!r}; it has to be one of {', '.join(_PROTOCOLS)}")
    return _PROTOCOLS[protocol]


@contextmanager
def exporting(exports: Exports) -> Iterator[Interceptors]:
    """Exports while it lasts, and sends what is left at its end; gives what a server needs to make spans of its calls.

    Raises ConfigError for what is not installed, or cannot be set up.
    """
    if exports.is_off:
        yield ()
        return
    ends: list[Callable[[], object]] = []
    try:
        interceptors = _set_up(exports, ends)
    except ImportError as error:
        raise ConfigError(
            f"the OTEL_ variables ask for {', '.join(dict.fromkeys((*exports.traces, *exports.metrics)))}, and "
            f"{error.name or 'a package'} is not installed: pip install 'hango-compaction[telemetry]'"
        ) from None
    except (ValueError, TypeError, RuntimeError, OSError) as error:
        raise ConfigError(f"what the OTEL_ variables ask for cannot be set up: {error}") from None
    log.info("spans go to: %s; metrics go to: %s", *(", ".join(to) or "-" for to in (exports.traces, exports.metrics)))
    try:
        yield interceptors
    finally:
        _flush(ends)


def _set_up(exports: Exports, ends: list[Callable[[], object]]) -> Interceptors:
    """Sets up the process's providers; `ends` gets what ends them."""
    from opentelemetry.instrumentation.grpc import aio_server_interceptor, filters
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = _resource()
    interceptors = []
    if exports.traces:
        tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        for name in exports.traces:
            tracers.add_span_processor(BatchSpanProcessor(_span_exporter(name)))
        trace.set_tracer_provider(tracers)
        ends.append(tracers.shutdown)
        only_ours = filters.service_name(SERVED)
        interceptors.append(aio_server_interceptor(_QuietTracers(tracers), only_ours))  # type: ignore[no-untyped-call]
    if exports.metrics:
        readers = [_metric_reader(name, exports.scraped, ends) for name in exports.metrics]
        meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        metrics.set_meter_provider(meters)
        ends.append(meters.shutdown)
    return interceptors


def _resource() -> Resource:
    """Who exports: what the variables say, and where they say nothing, our name and a fresh instance."""
    from opentelemetry.sdk.resources import Resource

    said = Resource.create()
    ours = {"service.instance.id": str(uuid.uuid4())}
    with suppress(PackageNotFoundError):  # run from a folder
        ours["service.version"] = version("hango-compaction")
    missing: dict[str, Any] = {name: value for name, value in ours.items() if not said.attributes.get(name)}
    if str(said.attributes.get("service.name", "")).startswith("unknown_service"):
        missing["service.name"] = NAME
    return said.merge(Resource(missing))


def _span_exporter(name: str) -> SpanExporter:
    if name == OTLP_GRPC:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as OverGrpc

        return OverGrpc()
    if name == OTLP_HTTP:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as OverHttp

        return OverHttp()
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    return ConsoleSpanExporter()


def _metric_reader(name: str, scraped: Address, ends: list[Callable[[], object]]) -> MetricReader:
    if name == PROMETHEUS:
        return _scraped_reader(scraped, ends)
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, MetricExporter, PeriodicExportingMetricReader

    exporter: MetricExporter
    if name == OTLP_GRPC:
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as OverGrpc

        exporter = OverGrpc()
    elif name == OTLP_HTTP:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as OverHttp

        exporter = OverHttp()
    else:
        exporter = ConsoleMetricExporter()
    return PeriodicExportingMetricReader(exporter)


def _scraped_reader(scraped: Address, ends: list[Callable[[], object]]) -> MetricReader:
    from opentelemetry.exporter.prometheus import PrometheusMetricReader
    from prometheus_client import start_http_server

    reader = PrometheusMetricReader()
    try:
        server, _ = start_http_server(scraped.port, scraped.host)
    except OSError:
        raise OSError(f"{scraped.host}:{scraped.port} cannot be listened on for Prometheus") from None
    ends.append(server.shutdown)
    return reader


def _flush(ends: Sequence[Callable[[], object]]) -> None:
    """Ends the providers, each in a thread of its own, and waits for them a bounded time."""
    threads = [threading.Thread(target=end, name="telemetry", daemon=True) for end in ends]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + FLUSH_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        log.warning("the last spans and metrics could not be sent in %g s", FLUSH_SECONDS)


class _QuietTracers(trace.TracerProvider):
    """Tracers for an instrumentation that writes exceptions into its spans: their texts may hold content."""

    def __init__(self, tracers: trace.TracerProvider) -> None:
        self._tracers = tracers

    def get_tracer(self, *args: Any, **kwargs: Any) -> trace.Tracer:
        return _QuietTracer(self._tracers.get_tracer(*args, **kwargs))


class _QuietTracer(trace.Tracer):
    def __init__(self, tracer: trace.Tracer) -> None:
        self._tracer = tracer

    def start_span(self, *args: Any, **kwargs: Any) -> trace.Span:
        return self._tracer.start_span(*args, **{**kwargs, "record_exception": False})

    @contextmanager
    def start_as_current_span(self, *args: Any, **kwargs: Any) -> Iterator[trace.Span]:  # type: ignore[override]
        with self._tracer.start_as_current_span(*args, **{**kwargs, "record_exception": False}) as span:
            yield cast("trace.Span", _QuietSpan(span))


class _QuietSpan:
    """A span as its instrumentation has it, but for exceptions."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def __getattr__(self, name: str) -> Any:
        return getattr(self._span, name)

    def record_exception(self, *args: object, **kwargs: object) -> None:
        """Nothing: why a call failed is on its span already, in the words of the contract."""
