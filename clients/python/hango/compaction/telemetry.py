"""Spans and metrics of a session's model calls, by OpenTelemetry's API: nothing happens until an exporter is set up.

Calls of the service carry the caller's trace, so that the service's spans are below the caller's.

Names are those of the semantic conventions for generative AI where they have one, else `hango.`. No content, only
numbers and names: an exception is named by its class, because its text may repeat what was sent.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from opentelemetry import metrics, trace

from hango.compaction.usage import Usage
from hango.compaction.v1.compaction_pb2 import CompactionReason
from hango.compaction.v1.compaction_service_pb2 import CompactResponse

_log = logging.getLogger("hango.compaction")

SCOPE = "hango.compaction"
SERVICE = "hango.compaction.v1.CompactionService"

COMPACTED = "gen_ai.conversation.compacted"
RETRY = "provider.context_overflow_retry"
TURN = "turn"
"""`hango.call.purpose` of a session's own model calls; those of the service's summarizer have another."""

TOKEN_BOUNDS = tuple(float(4**power) for power in range(14))
"""Buckets for tokens, as the conventions for generative AI have them."""

SECONDS_BOUNDS = tuple(0.01 * 2**power for power in range(14))
"""Buckets for the duration of calls of models, as the conventions for generative AI have them."""

LONGEST_NAME = 120
"""The most of a model's name that is told: it is the caller's text."""

RATIO_BOUNDS = tuple(step / 20 for step in range(21))

Tell = Callable[[Usage | None, BaseException | None], None]
"""Tells a chat span how its call ended: what the reply reported, or the exception."""


class Telemetry:
    """The spans and metrics of a session, of the given providers or of the process's own."""

    def __init__(
        self, tracer_provider: trace.TracerProvider | None = None, meter_provider: metrics.MeterProvider | None = None
    ) -> None:
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        meter = metrics.get_meter(SCOPE, meter_provider=meter_provider)
        self._read_ratio = meter.create_histogram(
            "hango.cache.read_ratio",
            unit="1",
            description="Part of a model call's input that its cache gave.",
            explicit_bucket_boundaries_advisory=RATIO_BOUNDS,
        )
        self._token_usage = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Tokens of calls of models.",
            explicit_bucket_boundaries_advisory=TOKEN_BOUNDS,
        )
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="Duration of calls of models.",
            explicit_bucket_boundaries_advisory=SECONDS_BOUNDS,
        )
        self._overflows = meter.create_counter(
            "hango.context.overflows", unit="{call}", description="Model calls refused because the window was full."
        )
        self._unserved = meter.create_counter(
            "hango.context.unserved_calls", unit="{call}", description="Model calls that went out without the service."
        )

    @contextmanager
    def chat(self, model: str, provider: str | None, session_id: str, *, is_compacted: bool) -> Iterator[Tell]:
        """The span around one model call, current while it lasts; gives what tells it how the call ended.

        `is_compacted` says that the request was compacted anew just before.
        """
        asked = _asked(model, provider)
        told_of = {"hango.call.purpose": TURN, **({"gen_ai.conversation.id": session_id} if session_id else {})}
        started = time.perf_counter()
        with self._tracer.start_as_current_span(
            f"chat {model[:LONGEST_NAME]}".rstrip(),
            kind=trace.SpanKind.CLIENT,
            attributes={**asked, **told_of, **({COMPACTED: True} if is_compacted else {})},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:

            def told(usage: Usage | None, error: BaseException | None) -> None:
                measured = {**asked, "hango.call.purpose": TURN}
                failed = {} if error is None else {"error.type": type(error).__qualname__}
                if failed:
                    span.set_attributes(failed)
                    span.set_status(trace.StatusCode.ERROR)
                self._seconds.record(time.perf_counter() - started, {**measured, **failed})
                if usage is not None:
                    self._count(span, usage, measured)

            yield told

    def overflowed(self, model: str, provider: str | None) -> None:
        """Counts a model call that was refused because the window was full."""
        self._overflows.add(1, _asked(model, provider))

    def unserved(self, cause: str) -> None:
        """Counts a model call that went out without the service, by what failed."""
        self._unserved.add(1, {"error.type": cause})

    def _count(self, span: trace.Span, usage: Usage, measured: dict[str, str]) -> None:
        span.set_attribute("gen_ai.usage.input_tokens", usage.input_tokens)
        self._token_usage.record(usage.input_tokens, {**measured, "gen_ai.token.type": "input"})
        if usage.output_tokens is not None:
            span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)
            self._token_usage.record(usage.output_tokens, {**measured, "gen_ai.token.type": "output"})
        if usage.cache_read_tokens is not None:
            span.set_attribute("gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens)
        if usage.cache_read_ratio is not None:
            self._read_ratio.record(usage.cache_read_ratio, measured)


def compacted(response: CompactResponse) -> None:
    """Says on the caller's current span what a compaction did."""
    path = response.history.path or response.compaction.history_path
    trace.get_current_span().add_event(
        COMPACTED,
        {
            "hango.tokens.before": response.original_input_tokens,
            "hango.tokens.after": response.compacted_input_tokens,
            "hango.messages.evicted": response.evicted_message_count,
            "hango.compaction.reason": _short(response.reason),
            **({"hango.fs.path": path} if path else {}),
        },
    )


def retrying() -> None:
    """Says on the caller's current span that the provider refused a request as too large, and gets a smaller one."""
    trace.get_current_span().add_event(RETRY)


@contextmanager
def in_process(method: str) -> Iterator[None]:
    """The span of a call of the service in this process: what the server's span is over gRPC."""
    with trace.get_tracer(SCOPE).start_as_current_span(
        f"/{SERVICE}/{method}", record_exception=False, set_status_on_exception=False
    ):
        yield


def propagated() -> tuple[tuple[str, str], ...]:
    """The caller's trace as metadata of a call; what gRPC would not take is left out."""
    inject = _inject()
    if inject is None:
        return ()
    carrier: dict[str, str] = {}
    inject(carrier)
    return tuple((name.lower(), value) for name, value in carrier.items() if value.isascii() and value.isprintable())


@cache
def _inject() -> Callable[[dict[str, str]], None] | None:
    """What writes a trace as the process has chosen. None where its choice is not installed: no reason to fail."""
    try:
        from opentelemetry.propagate import inject
    except ValueError:
        _log.warning("OTEL_PROPAGATORS names what is not installed: traces do not go on in the service")
        return None
    return inject


def _asked(model: str, provider: str | None) -> dict[str, str]:
    known = {"gen_ai.request.model": model[:LONGEST_NAME], "gen_ai.provider.name": provider}
    return {"gen_ai.operation.name": "chat"} | {name: value for name, value in known.items() if value}


def _short(reason: CompactionReason) -> str:
    return CompactionReason.Name(reason).removeprefix("COMPACTION_REASON_").lower()
