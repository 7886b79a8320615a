"""Spans and metrics of what the service does, by OpenTelemetry's API: nothing happens until a provider of them is set
up.

Names are those of the semantic conventions for generative AI where they have one. No content, only numbers and names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opentelemetry import metrics, trace

from compactor.ports import Reply, SummarizerFailed

_tracer = trace.get_tracer("compactor")
_meter = metrics.get_meter("compactor")
_token_usage = _meter.create_histogram(
    "gen_ai.client.token.usage", unit="{token}", description="Tokens of calls that the service makes of models."
)

SUMMARIZE = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "hango.call.purpose": "summarize"}


@contextmanager
def summarizer_call(model: str) -> Iterator[Callable[[Reply], None]]:
    """A span around one call of a summarizer, apart from the conversation's own; gives what tells it the answer."""
    asked = {**SUMMARIZE, "gen_ai.request.model": model}
    with _tracer.start_as_current_span(
        f"chat {model}",
        kind=trace.SpanKind.CLIENT,
        attributes=asked,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:

        def told(reply: Reply) -> None:
            usage = reply.usage
            tokens = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
            span.set_attribute("gen_ai.usage.input_tokens", tokens)
            span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)
            span.set_attribute("gen_ai.response.finish_reasons", (reply.stop_reason,))
            _token_usage.record(tokens, {**asked, "gen_ai.token.type": "input"})
            _token_usage.record(usage.output_tokens, {**asked, "gen_ai.token.type": "output"})

        try:
            yield told
        except SummarizerFailed as error:
            span.set_attribute("error.type", error.failure.lower())
            span.set_status(trace.StatusCode.ERROR)
            raise
