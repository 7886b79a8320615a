"""Spans and metrics of what the service does, by OpenTelemetry's API: nothing happens until a provider of them is set
up (`exporting`).

Names are those of the semantic conventions for generative AI and for RPC where they have one, else `hango.`; the table
in `docs/operations.md` has them all, and a test compares. No content, only numbers and names: what comes from outside,
such as the name of a model or a stop reason, is cut to the length of a name, and an exception is told by its kind.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import metrics, trace

from compactor.exchange import CompactAnswer, CompactCall
from compactor.model import NoticeCode, Outcome
from compactor.ports import Reply, SummarizerFailed

SCOPE = "compactor"
COMPACTED = "gen_ai.conversation.compacted"
SUMMARIZE = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "hango.call.purpose": "summarize"}

TOKEN_BOUNDS = tuple(float(4**power) for power in range(14))
"""Buckets for tokens, as the conventions for generative AI have them."""

CALL_SECONDS_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""Buckets for the duration of RPCs, as the conventions for RPC have them."""

MODEL_SECONDS_BOUNDS = tuple(0.01 * 2**power for power in range(14))
"""Buckets for the duration of calls of models, as the conventions for generative AI have them."""

MESSAGE_BOUNDS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0, 5_000.0)

DEGRADING = (
    NoticeCode.OUTPUT_INVALID,
    NoticeCode.HISTORY_FAILED,
    NoticeCode.SUMMARIZER_FAILED,
    NoticeCode.SUMMARY_REJECTED,
    NoticeCode.COUNT_FELL_BACK,
)
"""Notices that say that a plainer way was taken than the one that was wanted, the gravest first."""

_LONGEST_NAME = 120
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

_tracer = trace.get_tracer(SCOPE)
_meter = metrics.get_meter(SCOPE)
_input_tokens = _meter.create_histogram(
    "hango.context.input_tokens",
    unit="{token}",
    description="Input tokens of the request that a Compact call gave back.",
    explicit_bucket_boundaries_advisory=TOKEN_BOUNDS,
)
_tokens = _meter.create_histogram(
    "hango.compaction.tokens",
    unit="{token}",
    description="Input tokens of a request before and after a compaction.",
    explicit_bucket_boundaries_advisory=TOKEN_BOUNDS,
)
_compactions = _meter.create_counter(
    "hango.context.compactions", unit="{compaction}", description="Compactions that were made, not those replayed."
)
_evicted = _meter.create_histogram(
    "hango.context.evicted_messages",
    unit="{message}",
    description="Messages that a compaction left out.",
    explicit_bucket_boundaries_advisory=MESSAGE_BOUNDS,
)
_clipped = _meter.create_counter(
    "hango.context.tool_args_truncated", unit="{value}", description="Tool arguments and results made previews."
)
_degraded = _meter.create_counter(
    "hango.context.degraded_calls", unit="{call}", description="Calls that were served in a plainer way than wanted."
)
_rpc_seconds = _meter.create_histogram(
    "rpc.server.call.duration",
    unit="s",
    description="Duration of calls of the service.",
    explicit_bucket_boundaries_advisory=CALL_SECONDS_BOUNDS,
)
_token_usage = _meter.create_histogram(
    "gen_ai.client.token.usage",
    unit="{token}",
    description="Tokens of calls of models.",
    explicit_bucket_boundaries_advisory=TOKEN_BOUNDS,
)
_model_seconds = _meter.create_histogram(
    "gen_ai.client.operation.duration",
    unit="s",
    description="Duration of calls of models.",
    explicit_bucket_boundaries_advisory=MODEL_SECONDS_BOUNDS,
)


def answered(call: CompactCall, answer: CompactAnswer) -> None:
    """Tells of a Compact call, on the current span and in the metrics; of what it compacted, if it did so anew."""
    model = _model(call.request.model)
    _input_tokens.record(answer.after, model)
    span = trace.get_current_span()
    if span.is_recording():
        known = {"gen_ai.conversation.id": call.session_id, "hango.compaction.outcome": answer.outcome.lower(), **model}
        span.set_attributes({name: value for name, value in known.items() if value})
    cause = degradation(answer)
    if cause is not None:
        _degraded.add(1, {"hango.degraded.cause": cause})
    if is_new(answer):
        _compacted(answer, span)


def is_new(answer: CompactAnswer) -> bool:
    """Whether a call compacted anything that was not compacted before."""
    return answer.outcome not in (Outcome.UNCHANGED, Outcome.REUSED)


def degradation(answer: CompactAnswer) -> str | None:
    """Why a call was served in a plainer way than wanted, the gravest reason; None where it was not."""
    told = {notice.code for notice in answer.notices}
    return next((code.lower() for code in DEGRADING if code in told), None)


def history_path(answer: CompactAnswer) -> str:
    """Where the evicted originals of a session are, as the model knows it; empty for nowhere."""
    stored = answer.history.path if answer.history else ""
    return stored or (answer.record.history_path if answer.record else "")


def _compacted(answer: CompactAnswer, span: trace.Span) -> None:
    reason, path = answer.reason.lower(), history_path(answer)
    _compactions.add(1, {"reason": reason})
    _evicted.record(answer.evicted_count)
    _clipped.add(answer.clipped_count)
    _tokens.record(answer.before, {"hango.tokens.stage": "before"})
    _tokens.record(answer.after, {"hango.tokens.stage": "after"})
    span.add_event(
        COMPACTED,
        {
            "hango.tokens.before": answer.before,
            "hango.tokens.after": answer.after,
            "hango.messages.evicted": answer.evicted_count,
            "hango.compaction.reason": reason,
            **({"hango.fs.path": path} if path else {}),
        },
    )


def served(method: str, seconds: float, status: str) -> None:
    """Tells how long a call of the service took, and of the status that it ended in, such as `OK`."""
    known = {"rpc.system.name": "grpc", "rpc.method": method, "rpc.response.status_code": status}
    _rpc_seconds.record(seconds, known if status == "OK" else {**known, "error.type": status})


def refused(reason: str) -> None:
    """Tells on the current span why a call ends in an error, by a reason of the contract."""
    trace.get_current_span().set_attribute("error.type", reason)


@contextmanager
def summarizer_call(model: str) -> Iterator[Callable[[Reply], None]]:
    """A span around one call of a summarizer, apart from the conversation's own; gives what tells it the answer."""
    asked = {**SUMMARIZE, **_model(model)}
    started = time.perf_counter()
    failed: dict[str, str] = {}
    with _tracer.start_as_current_span(
        f"chat {asked.get('gen_ai.request.model', '')}".rstrip(),
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
            span.set_attribute("gen_ai.response.finish_reasons", (_name(reply.stop_reason),))
            _token_usage.record(tokens, {**asked, "gen_ai.token.type": "input"})
            _token_usage.record(usage.output_tokens, {**asked, "gen_ai.token.type": "output"})

        try:
            yield told
        except SummarizerFailed as error:
            failed = {"error.type": error.failure.lower()}
            span.set_attributes(failed)
            span.set_status(trace.StatusCode.ERROR)
            raise
        finally:
            _model_seconds.record(time.perf_counter() - started, {**asked, **failed})


def _model(name: str) -> Mapping[str, str]:
    return {"gen_ai.request.model": name[:_LONGEST_NAME]} if name else {}


def _name(text: str) -> str:
    """A name from outside as it is, if it can be one."""
    return text if _NAME.fullmatch(text) else "other"
