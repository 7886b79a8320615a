"""Spans and metrics of a session's model calls, by OpenTelemetry's API: nothing happens until an exporter is set up.

Names are those of the semantic conventions for generative AI where they have one, else `hango.`. No content, only
numbers and names: an exception is named by its class, because its text may repeat what was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opentelemetry import metrics, trace

from hango.compaction.usage import Usage
from hango.compaction.v1.compaction_pb2 import CompactionReason
from hango.compaction.v1.compaction_service_pb2 import CompactResponse

SCOPE = "hango.compaction"

Tell = Callable[[Usage | None, BaseException | None], None]
"""Tells a chat span how its call ended: what the reply reported, or the exception."""


class Telemetry:
    """The spans and metrics of a session, of the given providers or of the process's own."""

    def __init__(
        self, tracer_provider: trace.TracerProvider | None = None, meter_provider: metrics.MeterProvider | None = None
    ) -> None:
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        self._read_ratio = metrics.get_meter(SCOPE, meter_provider=meter_provider).create_histogram(
            "hango.cache.read_ratio", unit="1", description="Part of a model call's input that its cache gave."
        )

    @contextmanager
    def chat(self, model: str, provider: str | None, *, is_compacted: bool) -> Iterator[Tell]:
        """The span around one model call, current while it lasts; gives what tells it how the call ended.

        `is_compacted` says that the request was compacted anew just before.
        """
        known = {"gen_ai.request.model": model, "gen_ai.provider.name": provider}
        asked = {"gen_ai.operation.name": "chat"} | {name: value for name, value in known.items() if value}
        with self._tracer.start_as_current_span(
            f"chat {model}".rstrip(),
            kind=trace.SpanKind.CLIENT,
            attributes={**asked, **({"gen_ai.conversation.compacted": True} if is_compacted else {})},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:

            def told(usage: Usage | None, error: BaseException | None) -> None:
                if error is not None:
                    span.set_attribute("error.type", type(error).__qualname__)
                    span.set_status(trace.StatusCode.ERROR)
                if usage is not None:
                    self._count(span, usage, asked)

            yield told

    def _count(self, span: trace.Span, usage: Usage, asked: dict[str, str]) -> None:
        span.set_attribute("gen_ai.usage.input_tokens", usage.input_tokens)
        if usage.output_tokens is not None:
            span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)
        if usage.cache_read_ratio is not None:
            self._read_ratio.record(usage.cache_read_ratio, asked)


def compacted(response: CompactResponse) -> None:
    """Says on the caller's current span what a compaction did."""
    path = response.history.path or response.compaction.history_path
    trace.get_current_span().add_event(
        "gen_ai.conversation.compacted",
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
    trace.get_current_span().add_event("provider.context_overflow_retry")


def _short(reason: CompactionReason) -> str:
    return CompactionReason.Name(reason).removeprefix("COMPACTION_REASON_").lower()
