"""What leaves the service and the client as telemetry, read from a real OTLP receiver, from the Prometheus endpoint and
from the log: the names, the values, the caller's trace, and never a word of the conversation.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.sdk.trace import TracerProvider
from prometheus_client.parser import text_string_to_metric_families

from hango.compaction import AsyncClient, Client, CompactionError, CompactResult
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import conversation_pb2
from tests.builders.provider import Provider, failure, text
from tests.builders.receiver import Point, Receiver, Span
from tests.integration.conftest import Server, StartServer, bare_environment, free_port, running

COMPACT = "/hango.compaction.v1.CompactionService/Compact"
SECRETS = {
    "system": "xylophone-in-the-system",
    "user": "xylophone-in-the-prompt",
    "argument": "xylophone-in-the-argument",
    "result": "xylophone-in-the-result",
    "thought": "xylophone-in-the-thought",
    "tool": "xylophone-in-the-tool",
}
WORDS = "xylophone"
SUMMARY = "Goal: the xylophone-in-the-summary is to be tuned; loader.py was read, rows.py comes next, two tests fail."
QUICK = {"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_METRIC_EXPORT_INTERVAL": "200"}
POLICY = {"max_input_tokens": 4_000, "reserve_output_tokens": 0, "token_counter": "HEURISTIC"}


def body(**fields: Any) -> dict[str, Any]:
    """A request with words planted in every place that holds some."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Always tune the {SECRETS['user']}."}]
    for step in range(20):
        thought = {"type": "thinking", "thinking": SECRETS["thought"], "signature": "c2ln"}
        given = {"path": f"src/{SECRETS['argument']}/{step}.py"}
        call = {"type": "tool_use", "id": f"t{step}", "name": "read_file", "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{step}", "content": f"{SECRETS['result']} alpha bravo " * 40}
        messages += [{"role": "assistant", "content": [thought, call]}, {"role": "user", "content": [result]}]
    messages.append({"role": "user", "content": "Go on."})
    tool = {"name": "read_file", "description": SECRETS["tool"], "input_schema": {"type": "object"}}
    known = {"model": "claude-sonnet-4-5", "max_tokens": 100, "system": SECRETS["system"], "tools": [tool]}
    return {**known, "messages": messages, **fields}


@contextmanager
def served(folder: Path, provider: Provider | None = None, **variables: str) -> Iterator[Server]:
    """A server with a model to ask, where there is a provider for it."""
    key = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": provider.url} if provider else {}
    more = {"HANGO_SUMMARIZER_MODEL": "claude-haiku-4-5", "HANGO_SUMMARIZER_TIMEOUT_SECONDS": "3"}
    with running(folder, None, {**key, **more, **variables}) as server:
        yield server


class Watched:
    """A server whose telemetry goes to a receiver."""

    def __init__(self, receiver: Receiver, provider: Provider, server: Server, protocol: str) -> None:
        self.receiver, self.provider, self.server, self.protocol = receiver, provider, server, protocol

    def compact(self, session: str, sent: dict[str, Any] | None = None, **options: Any) -> CompactResult:
        with Client.connect(self.server.target) as client:
            return client.compact(sent or body(), session_id=session, policy={**POLICY, **options})

    def spans(self, session: str, count: int) -> list[Span]:
        """The spans of a session's calls, once so many have arrived."""

        def found(receiver: Receiver) -> list[Span]:
            spans = [span for span in receiver.spans if span.attributes.get("gen_ai.conversation.id") == session]
            return spans if len(spans) >= count else []

        arrived: list[Span] = self.receiver.wait(found)
        assert len(arrived) == count
        return arrived

    def span(self, session: str) -> Span:
        return self.spans(session, 1)[0]

    def points(self, name: str, **attributes: str) -> list[Point]:
        return [
            point
            for point in self.receiver.points
            if point.name == name and all(point.attributes.get(key) == value for key, value in attributes.items())
        ]


@pytest.fixture(scope="module", params=["grpc", "http/protobuf"])
def watched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    protocol: str = request.param
    with ExitStack() as stack:
        receiver, provider = stack.enter_context(Receiver()), stack.enter_context(Provider(text(SUMMARY)))
        url = receiver.grpc_url if protocol == "grpc" else receiver.http_url
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, **QUICK}
        variables["ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE"] = "content"  # which the SDK itself would heed
        server = stack.enter_context(served(tmp_path_factory.mktemp("otlp"), provider, **variables))
        yield Watched(receiver, provider, server, protocol)


def test_a_compaction_is_an_event_with_the_responses_numbers(watched: Watched) -> None:
    response = watched.compact("event").response
    span = watched.span("event")
    [event] = span.events
    assert event.name == "gen_ai.conversation.compacted"
    assert event.attributes == {
        "hango.tokens.before": response.original_input_tokens,
        "hango.tokens.after": response.compacted_input_tokens,
        "hango.messages.evicted": response.evicted_message_count,
        "hango.compaction.reason": "threshold",
        "hango.fs.path": "/conversation_history/event.md",
    }
    assert response.evicted_message_count > 0
    assert response.original_input_tokens > response.compacted_input_tokens > 0
    assert (span.kind, span.status) == ("SERVER", 0)
    assert span.attributes["rpc.system"] == "grpc"
    assert span.attributes["rpc.method"] == "Compact"
    assert span.attributes["rpc.grpc.status_code"] == 0
    assert span.attributes["gen_ai.request.model"] == "claude-sonnet-4-5"
    assert span.attributes["hango.compaction.outcome"] == "summarized"
    assert span.resource["service.name"] == "compactor"
    assert {protocol for _, protocol, _ in watched.receiver.sent} == {watched.protocol.partition("/")[0]}


def test_what_was_not_compacted_anew_has_no_event(watched: Watched) -> None:
    first = watched.compact("again")
    with Client.connect(watched.server.target) as client:
        again = client.compact(body(), session_id="again", record=first.record, policy=POLICY)
        roomy = client.compact(body(), session_id="again", policy={**POLICY, "max_input_tokens": 500_000})
    assert (again.outcome, roomy.outcome) == ("REUSED", "UNCHANGED")
    events = {span.attributes["hango.compaction.outcome"]: len(span.events) for span in watched.spans("again", 3)}
    assert events == {"summarized": 1, "reused": 0, "unchanged": 0}


def test_the_summarizers_call_is_a_client_span_below_the_services(watched: Watched) -> None:
    watched.compact("summarizer")
    above = watched.span("summarizer")
    chat = watched.receiver.wait(lambda receiver: [span for span in receiver.spans if span.parent == above.id])[0]
    assert (chat.name, chat.kind, chat.trace) == ("chat claude-haiku-4-5", "CLIENT", above.trace)
    assert chat.attributes["hango.call.purpose"] == "summarize"
    assert chat.attributes["gen_ai.usage.output_tokens"] > 0
    assert not chat.events
    assert not [span.name for span in watched.receiver.spans if span.parent == chat.id]


def test_the_callers_trace_goes_on_in_the_service(watched: Watched) -> None:
    tracers = TracerProvider()
    with tracers.get_tracer("agent").start_as_current_span("turn") as turn:
        watched.compact("trace")
    span, context = watched.span("trace"), turn.get_span_context()
    assert (span.trace, span.parent) == (f"{context.trace_id:032x}", f"{context.span_id:016x}")


def test_the_trace_of_a_caller_that_awaits_goes_on_too(watched: Watched) -> None:
    async def call() -> int:
        async with AsyncClient.connect(watched.server.target) as client:
            with TracerProvider().get_tracer("agent").start_as_current_span("turn") as turn:
                await client.compact(body(), session_id="awaited", policy=POLICY)
            return turn.get_span_context().span_id

    above = asyncio.run(call())
    assert watched.span("awaited").parent == f"{above:016x}"


def test_a_traceparent_that_is_none_breaks_nothing(watched: Watched) -> None:
    with grpc.insecure_channel(watched.server.target) as channel:
        call = channel.unary_unary(COMPACT, pb.CompactRequest.SerializeToString, pb.CompactResponse.FromString)
        request = _request("malformed")
        for value in ("00-zz-zz-01", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x" * 5_000):
            assert call(request, metadata=(("traceparent", value), ("tracestate", "=,=")), timeout=30).HasField(
                "native"
            )
    assert {span.parent for span in watched.spans("malformed", 3)} == {""}


def test_metrics_have_the_responses_numbers(watched: Watched) -> None:
    def sums() -> dict[str, float]:
        found = {
            "before": watched.points("hango.compaction.tokens", **{"hango.tokens.stage": "before"}),
            "after": watched.points("hango.compaction.tokens", **{"hango.tokens.stage": "after"}),
            "compactions": watched.points("hango.context.compactions", reason="tool"),
            "evicted": watched.points("hango.context.evicted_messages"),
            "clipped": watched.points("hango.context.tool_args_truncated"),
            "input": watched.points("hango.context.input_tokens", **{"gen_ai.request.model": "claude-opus-4-5"}),
        }
        return {name: sum(point.value for point in points) for name, points in found.items()}

    time.sleep(0.5)  # what the tests before have counted has left
    earlier = sums()
    with Client.connect(watched.server.target) as client:
        sent = body(model="claude-opus-4-5")
        told = client.compact(sent, session_id="metrics", reason="TOOL", policy=POLICY).response
        light = {**POLICY, "max_input_tokens": 9_000, "max_argument_tokens": 50}
        clipped = client.compact(sent, session_id="clipped", policy=light).response
    assert clipped.outcome == pb.OUTCOME_CLIPPED
    assert clipped.clipped_value_count > 0
    expected = {
        "before": told.original_input_tokens + clipped.original_input_tokens,
        "after": told.compacted_input_tokens + clipped.compacted_input_tokens,
        "compactions": 1,
        "evicted": told.evicted_message_count,
        "clipped": told.clipped_value_count + clipped.clipped_value_count,
        "input": told.compacted_input_tokens + clipped.compacted_input_tokens,
    }
    watched.receiver.wait(lambda _: sums()["input"] - earlier["input"] == expected["input"])
    assert {name: value - earlier[name] for name, value in sums().items()} == expected
    usage = {
        point.attributes["gen_ai.token.type"]: point
        for point in watched.points("gen_ai.client.token.usage", **{"hango.call.purpose": "summarize"})
    }
    assert set(usage) == {"input", "output"}
    assert usage["input"].value > usage["output"].value > 0
    [calls] = watched.points("rpc.server.call.duration", **{"rpc.response.status_code": "OK"})
    assert calls.attributes["rpc.method"] == COMPACT.lstrip("/")
    assert calls.count >= 1
    assert calls.unit == "s"


def test_an_error_has_its_reason_on_the_span_and_no_exception(watched: Watched) -> None:
    with pytest.raises(CompactionError) as error:
        watched.compact("error", max_input_tokens=200)
    assert error.value.reason == "WINDOW_TOO_SMALL"

    def found(receiver: Receiver) -> list[Span]:
        return [span for span in receiver.spans if span.attributes.get("error.type") == "WINDOW_TOO_SMALL"]

    span = watched.receiver.wait(found)[0]
    assert span.attributes["rpc.grpc.status_code"] == grpc.StatusCode.FAILED_PRECONDITION.value[0]
    assert not span.events
    watched.receiver.wait(lambda _: watched.points("rpc.server.call.duration", **{"error.type": "FAILED_PRECONDITION"}))


def test_a_call_that_was_served_in_a_plainer_way_is_counted_once(watched: Watched) -> None:
    watched.provider.script(failure(500))
    try:
        watched.compact("degraded")
    finally:
        watched.provider.script(text(SUMMARY))
    cause = {"hango.degraded.cause": "summarizer_failed"}
    [point] = watched.receiver.wait(lambda _: watched.points("hango.context.degraded_calls", **cause))
    assert point.value == 1
    failed = watched.receiver.wait(
        lambda receiver: [span for span in receiver.spans if span.name.startswith("chat") and span.status == 2]
    )
    assert failed[0].attributes["error.type"] == "unavailable"
    assert not failed[0].events


def test_no_word_of_a_conversation_is_in_what_left(watched: Watched) -> None:
    """Searched are all bytes that the tests of this module have made the server send, errors and failures included."""
    with grpc.insecure_channel(watched.server.target) as channel:
        call = channel.unary_unary(COMPACT, None, None)
        broken = _request("broken")
        broken.native.body = json.dumps(body()).encode()[:-3]
        for data in (b"\xff" + WORDS.encode(), broken.SerializeToString()):
            with pytest.raises(grpc.RpcError):
                call(data, timeout=30)
    unpaired = body()
    del unpaired["messages"][-2]
    with pytest.raises(CompactionError):
        watched.compact("unpaired", unpaired, max_input_tokens=500_000)
    watched.compact("whole")
    watched.span("whole")
    sent = [data for _, _, data in watched.receiver.sent]
    assert any(b"gen_ai.conversation.compacted" in data for data in sent)
    assert any(b"hango.context.input_tokens" in data for data in sent)
    assert not [data for data in sent if WORDS.encode() in data]
    assert WORDS not in watched.server.log.read_text()


def _request(session: str) -> pb.CompactRequest:
    request = pb.CompactRequest(session_id=session)
    request.native.format = conversation_pb2.PAYLOAD_FORMAT_ANTHROPIC_MESSAGES
    request.native.body = json.dumps(body()).encode()
    request.policy.max_input_tokens = 500_000
    return request


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_what_waits_is_sent_when_the_server_is_told_to_stop(tmp_path: Path, protocol: str) -> None:
    with Receiver() as receiver:
        url = receiver.grpc_url if protocol == "grpc" else receiver.http_url
        slow = {"OTEL_BSP_SCHEDULE_DELAY": "600000", "OTEL_METRIC_EXPORT_INTERVAL": "600000"}
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, **slow}
        with served(tmp_path, **variables) as server:
            with Client.connect(server.target) as client:
                client.compact(body(), session_id="flushed", policy=POLICY)
            assert not receiver.sent
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(30) == 0
        assert [span.attributes["gen_ai.conversation.id"] for span in receiver.spans] == ["flushed"]
        assert "hango.context.compactions" in {point.name for point in receiver.points}


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
@pytest.mark.parametrize("manner", ["nobody listens", "nobody answers"])
def test_a_dead_collector_costs_no_call_and_no_long_goodbye(tmp_path: Path, protocol: str, manner: str) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if manner == "nobody answers":
            silent.listen(64)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol, **QUICK}
        with served(tmp_path, OTEL_BSP_MAX_QUEUE_SIZE="4", OTEL_BSP_MAX_EXPORT_BATCH_SIZE="2", **variables) as server:
            with Client.connect(server.target, timeout=10) as client:
                for number in range(40):
                    assert client.compact(body(), session_id=f"dead-{number}", policy=POLICY).outcome == "SUMMARIZED"
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(30) == 0
        assert WORDS not in server.log.read_text()


def test_a_service_that_is_asked_for_nothing_loads_no_sdk() -> None:
    program = (
        "import os, sys, threading\n"
        "from compactor.exporting import exporting, exports_of\n"
        "import compactor.server\n"
        "with exporting(exports_of(os.environ)) as interceptors: pass\n"
        "print(len(interceptors), threading.active_count(), 'opentelemetry.sdk' in sys.modules)\n"
    )
    for variables in (
        {},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"},
    ):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=bare_environment(**variables),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == ["0", "1", "False"]


def test_what_is_asked_for_and_not_installed_stops_the_start() -> None:
    program = (
        "import sys\n"
        "sys.modules['opentelemetry.instrumentation.grpc'] = None\n"  # as where it is not installed
        "from compactor.cli import main\n"
        "sys.exit(main(['serve']))\n"
    )
    environment = bare_environment(OTEL_TRACES_EXPORTER="otlp", HANGO_LISTEN="127.0.0.1:0")
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert (
        "opentelemetry.instrumentation.grpc is not installed: pip install 'hango-compaction[telemetry]'" in done.stderr
    )


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER is 'zipkin'"),
        ({"OTEL_METRICS_EXPORTER": "otlp,graphite"}, "OTEL_METRICS_EXPORTER is 'otlp,graphite'"),
        ({"OTEL_TRACES_EXPORTER": "prometheus"}, "OTEL_TRACES_EXPORTER is 'prometheus'"),
        ({"OTEL_LOGS_EXPORTER": "otlp"}, "OTEL_LOGS_EXPORTER is 'otlp'"),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
            "OTEL_EXPORTER_OTLP_PROTOCOL is 'http/json'",
        ),
        (
            {"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_EXPORTER_PROMETHEUS_PORT": "0"},
            "OTEL_EXPORTER_PROMETHEUS_PORT",
        ),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, "OTEL_ variables"),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_PROPAGATORS": "no-such"}, "OTEL_ variables"),
        ({"HANGO_LOG_FORMAT": "xml"}, "HANGO_LOG_FORMAT is 'xml'"),
    ],
)
def test_a_variable_that_asks_for_what_cannot_be_stops_the_start(variables: dict[str, str], named: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "compactor", "serve"],
        env=bare_environment(HANGO_LISTEN="127.0.0.1:0", **variables),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_a_prometheus_port_that_is_taken_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        variables = {
            "OTEL_METRICS_EXPORTER": "prometheus",
            "OTEL_EXPORTER_PROMETHEUS_HOST": "127.0.0.1",
            "OTEL_EXPORTER_PROMETHEUS_PORT": str(taken.getsockname()[1]),
        }
        done = subprocess.run(
            [sys.executable, "-m", "compactor", "serve"],
            env=bare_environment(HANGO_LISTEN="127.0.0.1:0", **variables),
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2
    assert "cannot be listened on for Prometheus" in done.stderr


def test_prometheus_may_scrape(start_server: StartServer) -> None:
    port = str(free_port())
    server = start_server(
        OTEL_METRICS_EXPORTER="prometheus",
        OTEL_EXPORTER_PROMETHEUS_HOST="127.0.0.1",
        OTEL_EXPORTER_PROMETHEUS_PORT=port,
    )
    with Client.connect(server.target) as client:
        told = client.compact(body(), session_id="scraped", policy=POLICY).response
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        page = answer.read().decode()
    lines = {sample.name: sample.value for family in text_string_to_metric_families(page) for sample in family.samples}
    assert lines["hango_context_compactions_total"] == 1
    assert lines["hango_context_evicted_messages_sum"] == told.evicted_message_count
    assert lines["hango_context_input_tokens_sum"] == told.compacted_input_tokens
    assert lines["rpc_server_call_duration_seconds_count"] == 1
    assert WORDS not in page


def test_a_log_line_is_an_object_with_the_span_that_it_was_written_in(tmp_path: Path) -> None:
    with Receiver() as receiver:
        variables = {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.grpc_url, **QUICK}
        with served(tmp_path, HANGO_LOG_FORMAT="json", **variables) as server:
            with Client.connect(server.target) as client:
                told = client.compact(body(), session_id="logged", policy=POLICY).response
            span = receiver.wait(lambda receiver: receiver.spans)[0]
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(30)
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert {"time", "level", "logger", "message"} <= set.intersection(*map(set, lines))
    [line] = [line for line in lines if "session" in line]
    assert (line["trace_id"], line["span_id"], line["level"]) == (span.trace, span.id, "INFO")
    assert {name: line[name] for name in ("session", "reason", "outcome", "path")} == {
        "session": "logged",
        "reason": "THRESHOLD",
        "outcome": "SUMMARIZED",
        "path": "/conversation_history/logged.md",
    }
    numbers = (line["tokens_before"], line["tokens_after"], line["evicted"])
    assert numbers == (told.original_input_tokens, told.compacted_input_tokens, told.evicted_message_count)
    assert [name for name in lines[0] if name.endswith("_id")] == []


def test_each_compaction_is_one_line_and_nothing_else_is(start_server: StartServer) -> None:
    server = start_server()
    with Client.connect(server.target) as client:
        first = client.compact(body(), session_id="lines", policy=POLICY)
        client.compact(body(), session_id="lines", record=first.record, policy=POLICY)
        client.compact(body(), session_id="lines", policy={**POLICY, "max_input_tokens": 500_000})
    told = first.response
    [line] = [line for line in server.log.read_text().splitlines() if "session=" in line]
    assert line.partition(" INFO compactor: ")[2] == (
        f"compacted session=lines reason=THRESHOLD outcome=SUMMARIZED tokens_before={told.original_input_tokens} "
        f"tokens_after={told.compacted_input_tokens} evicted={told.evicted_message_count} "
        f"clipped={told.clipped_value_count} path=/conversation_history/lines.md"
    )


BROKEN = """
import asyncio, grpc
from compactor.exporting import Exports, exporting
from compactor.servicer import Servicer, add_to
from hango.compaction import Client, CompactionError

class Broken:
    def __getattr__(self, name):
        raise ValueError("xylophone")

async def main():
    with exporting(Exports(traces=("console",))) as interceptors:
        server = grpc.aio.server(interceptors=interceptors)
        add_to(server, Servicer(Broken(), max_message_bytes=1 << 20, max_concurrent=2))
        target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        try:
            with Client.connect(target) as client:
                await asyncio.to_thread(client.compact, {"model": "claude", "system": "s", "messages": []})
        except CompactionError as error:
            print(error.code.name)
        await server.stop(None)

asyncio.run(main())
"""


def test_an_exception_that_nobody_foresaw_is_told_without_its_words() -> None:
    command = [sys.executable, "-c", BROKEN]
    done = subprocess.run(command, env=bare_environment(), capture_output=True, text=True, check=True, timeout=60)
    code, _, span = done.stdout.partition("\n")
    assert code == "INTERNAL"
    assert json.loads(span)["attributes"]["error.type"] == "INTERNAL"
    assert json.loads(span)["events"] == []
    assert WORDS not in done.stdout + done.stderr


IN_PROCESS = """
import json, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from hango.compaction import Client, Session

spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
body, policy, root = json.load(sys.stdin), json.loads(sys.argv[1]), sys.argv[2]
with Client.in_process(history_root=root) as client, provider.get_tracer("agent").start_as_current_span("turn"):
    Session(client, "near", policy=policy).run(body, lambda request: {"usage": {"input_tokens": 9}})
told = {span.name: span for span in spans.get_finished_spans()}
print(json.dumps({name: [span.parent and span.parent.span_id, span.context.span_id, [e.name for e in span.events]]
                  for name, span in told.items()}))
"""


def test_in_process_the_services_span_is_one_of_its_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_PROCESS, json.dumps(POLICY), str(tmp_path)],
        input=json.dumps(body()),
        env=bare_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    spans = json.loads(done.stdout)
    assert set(spans) == {"turn", COMPACT, "chat claude-sonnet-4-5"}
    _, turn, events = spans["turn"]
    assert events == ["gen_ai.conversation.compacted"]
    parent, _, events = spans[COMPACT]
    assert (parent, events) == (turn, ["gen_ai.conversation.compacted"])
