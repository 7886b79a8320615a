"""The dashboard, the alert rules and the tables of the documentation, held against what a running service and a running
agent really export: a name that nobody emits is a panel that stays empty and an alert that never comes.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from compactor.telemetry import DEGRADING
from hango.compaction import Client
from tests.builders.agent import POLICY
from tests.builders.provider import Provider, failure, text
from tests.builders.receiver import Point, Receiver, Span
from tests.integration.conftest import bare_environment, free_port, running
from tests.integration.test_telemetry import SUMMARY, body

ROOT = Path(__file__).resolve().parents[2]
DEPLOYED = ROOT / "deploy" / "observability"
DASHBOARD = json.loads((DEPLOYED / "grafana" / "dashboards" / "context-compaction.json").read_text())
ALERTS = yaml.safe_load((DEPLOYED / "alerts.yaml").read_text())["groups"]
SCRAPED_LABELS = {"job", "instance", "le"}
"""Labels that Prometheus sets, and the one of a histogram's buckets."""

FROM = {"compactor": "service", "opentelemetry.instrumentation.grpc": "service", "hango.compaction": "client"}


@dataclass
class Emitted:
    """What was emitted: spans and points over OTLP, and the labels of each sample with their values as scraped."""

    spans: list[Span]
    points: list[Point]
    samples: dict[str, dict[str, set[str]]] = field(default_factory=dict)

    def scraped(self, port: int) -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            page = answer.read().decode()
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                labels = self.samples.setdefault(sample.name, {})
                for name, value in sample.labels.items():
                    labels.setdefault(name, set()).add(value)


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emitted]:
    with ExitStack() as stack:
        receiver, provider = stack.enter_context(Receiver()), stack.enter_context(Provider(text(SUMMARY)))
        ports = (free_port(), free_port())
        variables = {
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": provider.url,
            "HANGO_SUMMARIZER_MODEL": "claude-haiku-4-5",
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.grpc_url,
            "OTEL_METRICS_EXPORTER": "otlp,prometheus",
            "OTEL_EXPORTER_PROMETHEUS_HOST": "127.0.0.1",
            "OTEL_EXPORTER_PROMETHEUS_PORT": str(ports[0]),
        }
        folder = tmp_path_factory.mktemp("observed")
        server = stack.enter_context(running(folder, None, variables))
        with Client.connect(server.target) as client:
            client.compact(body(), session_id="first", policy=POLICY)
            provider.script(failure(400))
            client.compact(body(), session_id="second", policy=POLICY)
        command = [server.target, receiver.grpc_url, str(ports[1]), str(folder / "near")]
        agent = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "tests.builders.agent", *command],
                cwd=ROOT,
                env=bare_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(json.dumps(body()) + "\n")
        agent.stdin.flush()
        assert agent.stdout.readline() == "done\n"
        found = Emitted([], [])
        for port in ports:
            found.scraped(port)
        agent.stdin.close()
        assert agent.wait(30) == 0
        server.process.terminate()
        assert server.process.wait(30) == 0
        found.spans, found.points = receiver.spans, receiver.points
        yield found


def _queries() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            if "expr" in target:
                yield f"{panel['title']} {target['refId']}", target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()  # type: ignore[union-attr]
            yield f"variable {variable['name']}", f"count by ({label}) ({metric})"


def _alerts() -> Iterator[tuple[str, str]]:
    for group in ALERTS:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


def _plain(query: str) -> str:
    """A query as Prometheus gets it from Grafana."""
    return (
        query.replace("$__rate_interval", "5m")
        .replace("$model", ".*")
        .replace("$input_price", "1")
        .replace("$output_price", "5")
    )


@pytest.mark.parametrize(("where", "query"), [*_queries(), *_alerts()])
def test_a_query_names_only_what_is_emitted(emitted: Emitted, where: str, query: str) -> None:
    selectors: list[Any] = []
    grouped: set[str] = set()

    def visit(node: Any) -> bool:
        match node:
            case promql.VectorSelector():
                selectors.append(node)
            case promql.AggregateExpr():
                grouped.update(node.modifier.labels if node.modifier else ())
        return True

    promql.walk(promql.parse(_plain(query)), visit)
    assert selectors
    for selector in selectors:
        assert selector.name in emitted.samples, f"{where}: nobody emits {selector.name}"
        labels = emitted.samples[selector.name]
        missing = (grouped | {matcher.name for matcher in selector.matchers.matchers}) - set(labels) - SCRAPED_LABELS
        assert not missing, f"{where}: {selector.name} has no {missing}"
        for matcher in selector.matchers.matchers:
            known = labels[matcher.name]
            if matcher.name == "hango_degraded_cause":
                known = {code.lower() for code in DEGRADING}  # not every cause can be provoked
            found = [value for value in known if re.fullmatch(matcher.value, value)]
            assert found, f"{where}: {selector.name} never has {matcher.name}={matcher.value}"


def test_a_query_for_traces_names_only_what_is_emitted(emitted: Emitted) -> None:
    queries = [
        target["query"] for panel in DASHBOARD["panels"] for target in panel.get("targets", []) if "query" in target
    ]
    assert queries
    events = {event.name for span in emitted.spans for event in span.events}
    for query in queries:
        for name in re.findall(r'event:name = "([^"]+)"', query):
            assert name in events
        for name, value in re.findall(r'span\.([\w.]+) = ("[^"]*"|true)', query):
            assert json.loads(value) in {span.attributes.get(name) for span in emitted.spans}
        assert re.search(r"event:name|span\.", query)


def test_every_metric_of_the_rules_is_on_the_dashboard(emitted: Emitted) -> None:
    shown = " ".join(query for _, query in _queries())
    ours = {name for name in emitted.samples if name.startswith(("hango_", "gen_ai_", "rpc_"))}
    stems = {re.sub(r"_(bucket|count|sum|created|total)$", "", name) for name in ours}
    assert len(stems) == len({point.name for point in emitted.points if point.scope in FROM})
    assert not [stem for stem in stems if stem not in shown]


def test_the_panels_ask_sources_that_are_provisioned() -> None:
    provisioned = yaml.safe_load((DEPLOYED / "grafana/provisioning/datasources/sources.yaml").read_text())[
        "datasources"
    ]
    kinds = {source["type"] for source in provisioned}
    variables = {f"${{{variable['name']}}}": variable for variable in DASHBOARD["templating"]["list"]}
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            asked = target["datasource"]
            assert variables[asked["uid"]]["query"] == asked["type"]
            assert asked["type"] in kinds
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)


def test_the_stack_mounts_only_what_there_is() -> None:
    services = yaml.safe_load((DEPLOYED / "compose.yaml").read_text())["services"]
    mounted = [volume.split(":")[0] for service in services.values() for volume in service["volumes"]]
    assert mounted
    assert not [path for path in mounted if not (DEPLOYED / path).exists()]
    collector = yaml.safe_load((DEPLOYED / "collector.yaml").read_text())
    for pipeline in collector["service"]["pipelines"].values():
        for part in ("receivers", "processors", "exporters"):
            assert set(pipeline[part]) <= set(collector[part])


TURNS = 'gen_ai_client_operation_duration_seconds_count{hango_call_purpose="turn",gen_ai_request_model="m"}'
FIRING: dict[str, dict[str, str]] = {
    "CompactionThrash": {
        'hango_context_compactions_total{reason="threshold"}': "0+4x120",
        'hango_context_input_tokens_count{gen_ai_request_model="m"}': "0+10x120",
    },
    "PromptCacheCollapse": {
        'hango_cache_read_ratio_sum{gen_ai_request_model="m"}': "0+1x120",
        'hango_cache_read_ratio_count{gen_ai_request_model="m"}': "0+10x120",
    },
    "CompactionDegraded": {
        'hango_context_degraded_calls_total{hango_degraded_cause="summarizer_failed"}': "0+2x120",
        'hango_context_input_tokens_count{gen_ai_request_model="m"}': "0+10x120",
    },
    "CompactionOutputInvalid": {
        'hango_context_degraded_calls_total{hango_degraded_cause="output_invalid"}': "0x100 1x20"
    },
    "CompactionServiceBypassed": {
        'hango_context_unserved_calls_total{error_type="unavailable"}': "0+1x120",
        'gen_ai_client_operation_duration_seconds_count{hango_call_purpose="turn"}': "0+10x120",
    },
    "ContextOverflows": {
        'hango_context_overflows_total{gen_ai_request_model="m"}': "0+1x120",
        TURNS: "0+10x120",
    },
    "CompactionSlow": {
        'rpc_server_call_duration_seconds_bucket{rpc_method="s/Compact",le="5.0"}': "0+1x120",
        'rpc_server_call_duration_seconds_bucket{rpc_method="s/Compact",le="10.0"}': "0+10x120",
        'rpc_server_call_duration_seconds_bucket{rpc_method="s/Compact",le="+Inf"}': "0+10x120",
    },
}
"""For each alert, series in which it has to fire."""

CALM = {
    'hango_context_compactions_total{reason="threshold"}': "0+1x120",
    'hango_context_input_tokens_count{gen_ai_request_model="m"}': "0+100x120",
    'hango_cache_read_ratio_sum{gen_ai_request_model="m"}': "0+90x120",
    'hango_cache_read_ratio_count{gen_ai_request_model="m"}': "0+100x120",
    'hango_context_degraded_calls_total{hango_degraded_cause="count_fell_back"}': "0+1x120",
    'hango_context_unserved_calls_total{error_type="unavailable"}': "0+1x120",
    'hango_context_overflows_total{gen_ai_request_model="m"}': "0+1x120",
    TURNS: "0+100x120",
    'rpc_server_call_duration_seconds_bucket{rpc_method="s/Compact",le="0.1"}': "0+100x120",
    'rpc_server_call_duration_seconds_bucket{rpc_method="s/Compact",le="+Inf"}': "0+100x120",
}
IDLE = dict.fromkeys(CALM, "0x120")


def test_every_alert_has_series_in_which_it_fires() -> None:
    assert set(FIRING) == {name for name, _ in _alerts()}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize("series", [*FIRING.items(), ("", CALM), ("", IDLE)], ids=[*FIRING, "calm", "idle"])
def test_alerts_fire_when_they_should_and_only_then(tmp_path: Path, series: tuple[str, dict[str, str]]) -> None:
    expected, given = series
    checks = []
    for group in ALERTS:
        for rule in group["rules"]:
            name = rule["alert"]
            selector = f'count(ALERTS{{alertname="{name}", alertstate="firing"}})'
            samples = [{"labels": "{}", "value": 1}] if name == expected else []
            checks.append({"expr": selector, "eval_time": "2h", "exp_samples": samples})
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in given.items()],
            "promql_expr_test": checks,
        }
    ]
    written = tmp_path / "alerts.test.yaml"
    written.write_text(yaml.safe_dump({"rule_files": [str(DEPLOYED / "alerts.yaml")], "tests": tests}))
    done = subprocess.run(["promtool", "test", "rules", str(written)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _table(heading: str) -> list[list[str]]:
    """The rows of a table of the chapter, each as its cells."""
    chapter = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8").partition(f"### {heading}\n")[2]
    lines = [line for line in chapter.partition("\n#")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def _names(cell: str) -> set[str]:
    """What a cell names as attributes; values, in the same type, have no dot."""
    return {name for name in re.findall(r"`([^`]+)`", cell) if "." in name or name == "reason"}


def test_the_table_of_spans_is_what_is_emitted(emitted: Emitted) -> None:
    found: dict[tuple[str, str, str], set[str]] = {}
    for span in emitted.spans:
        if span.scope in FROM:
            name = re.sub(r"^chat .+", "chat {model}", re.sub(r"/\w+$", "/{method}", span.name))
            origin = "client, in process" if span.kind == "INTERNAL" else FROM[span.scope]
            found.setdefault((name, span.kind, origin), set()).update(span.attributes)
    documented = {(name.strip("`"), kind, origin): _names(told) for name, kind, origin, told in _table("Spans")}
    assert documented == found


def test_the_table_of_events_is_what_is_emitted(emitted: Emitted) -> None:
    found: dict[str, set[str]] = {}
    for span in emitted.spans:
        for event in span.events:
            found.setdefault(event.name, set()).update(event.attributes)
    assert {name.strip("`"): _names(told) for name, _, told in _table("Events")} == found


def test_the_table_of_metrics_is_what_is_emitted(emitted: Emitted) -> None:
    found: dict[tuple[str, str, str], tuple[set[str], set[str]]] = {}
    for point in emitted.points:
        if point.scope in FROM:
            origins, attributes = found.setdefault((point.name, point.kind, point.unit), (set(), set()))
            origins.add(FROM[point.scope])
            attributes.update(point.attributes)
    documented = {}
    for name, kind_and_unit, origin, attributes, _ in _table("Metrics"):
        kind, unit = kind_and_unit.split(", ")
        documented[name.strip("`"), kind, unit.strip("`")] = (set(origin.split(", ")), _names(attributes))
    assert documented == found


def test_the_table_names_every_cause(emitted: Emitted) -> None:
    [row] = [row for row in _table("Metrics") if row[0] == "`hango.context.degraded_calls`"]
    assert [code.lower() for code in DEGRADING] == re.findall(r"`(\w+)`", row[4])
