"""The command line as a program: files and pipes, exit statuses, a server on either kind of socket."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hango.compaction import Client, CompactResult

SMALL = ("--set", "max_input_tokens=60000")


@pytest.fixture
def compactor(
    tmp_path: Path, environment: Callable[..., dict[str, str]]
) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs the program in a folder of its own."""

    def run(
        *arguments: object, stdin: bytes = b"", module: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[bytes]:
        program = [sys.executable, "-m", "compactor"] if module else [str(Path(sys.executable).with_name("compactor"))]
        return subprocess.run(
            [*program, *map(str, arguments)],
            input=stdin,
            env=environment(HANGO_HISTORY_ROOT=str(tmp_path / "histories"), **variables),
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )

    return run


def error_of(done: subprocess.CompletedProcess[bytes]) -> str:
    text = done.stderr.decode()
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("name", ["explore-anthropic.json", "explore-openai.json"])
def test_the_table_is_plain_text_where_there_is_no_terminal(compactor: Any, sessions: Path, name: str) -> None:
    done = compactor("compact", sessions / name, *SMALL)
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert "SUMMARIZED, reason THRESHOLD" in text
    assert "evicted; " in text
    assert "/conversation_history/" in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_entry_point_and_the_module_say_the_same(compactor: Any, sessions: Path) -> None:
    body = sessions / "short-anthropic.json"
    assert compactor("count", body).stdout == compactor("count", body, module=False).stdout


@pytest.mark.parametrize("where", ["in process", "server", "unix_server"])
def test_json_is_all_that_stands_on_standard_output(
    compactor: Any, sessions: Path, where: str, request: pytest.FixtureRequest
) -> None:
    way = [] if where == "in process" else ["--target", request.getfixturevalue(where).target]
    body = (sessions / "explore-openai.json").read_bytes()
    done = compactor("compact", "-", "--json", "--session", "piped", *SMALL, *way, stdin=body)
    answer = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, b"")
    assert answer["outcome"] == "OUTCOME_SUMMARIZED"
    assert answer["compaction"]["sequence"] == 1
    assert answer["history"]["path"] == "/conversation_history/piped.md"
    assert "native" not in answer
    assert "explanation" not in answer


def test_the_body_on_standard_output_leaves_the_table_to_standard_error(compactor: Any, sessions: Path) -> None:
    done = compactor("compact", sessions / "explore-anthropic.json", "-o", "-", *SMALL)
    assert done.returncode == 0
    assert json.loads(done.stdout)["model"] == "claude-haiku-4-5"
    assert "SUMMARIZED" in done.stderr.decode()


def test_a_preset_is_a_policy_that_set_changes(compactor: Any, sessions: Path) -> None:
    path = sessions / "explore-openai.json"
    roomy = ("--set", "max_input_tokens=1000000")
    for changed, most in (((), 200), (("--set", "max_message_count=20"), 20)):
        done = compactor("compact", path, "--preset", "research", *roomy, *changed, "-o", "-")
        assert done.returncode == 0, done.stderr
        assert b"WINDOWED" in done.stderr
        assert len(json.loads(done.stdout)["messages"]) <= most
    unknown = compactor("compact", path, "--preset", "novel")
    assert unknown.returncode == 2
    assert "chat" in error_of(unknown)


def test_a_record_serves_the_next_turn(compactor: Any, sessions: Path, tmp_path: Path) -> None:
    log = json.loads((sessions / "explore-anthropic.json").read_bytes())
    turn, out, record = tmp_path / "turn.json", tmp_path / "out.json", tmp_path / "record.json"

    def compacted(messages: list[Any]) -> tuple[Any, Any]:
        turn.write_text(json.dumps({**log, "messages": messages}))
        done = compactor("compact", turn, "--record", record, "-o", out, "--json", "--session", "tour", *SMALL)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), json.loads(out.read_bytes())

    first, sent = compacted(log["messages"][:-2])
    assert first["outcome"] == "OUTCOME_SUMMARIZED"
    assert json.loads(record.read_text()) == first["compaction"]
    second, sent_next = compacted(log["messages"])
    assert second["outcome"] == "OUTCOME_REUSED"
    assert json.loads(record.read_text()) == first["compaction"]
    assert sent_next["messages"] == [*sent["messages"], *log["messages"][-2:]]
    assert not list(tmp_path.glob(".*"))


def test_a_record_survives_a_call_with_another_log(compactor: Any, sessions: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    assert compactor("compact", sessions / "explore-anthropic.json", "--record", record, *SMALL).returncode == 0
    kept = record.read_bytes()
    done = compactor("compact", sessions / "short-anthropic.json", "--record", record)
    assert b"RECORD_STALE" in done.stdout
    assert record.read_bytes() == kept


def test_a_summary_can_be_piped(compactor: Any, sessions: Path) -> None:
    done = compactor("summarize", sessions / "short-anthropic.json", "-o", "-")
    assert done.returncode == 0
    assert done.stdout.startswith(b"## ")
    assert b"EXTRACTIVE" in done.stderr


def test_a_reader_that_has_seen_enough_is_no_failure(sessions: Path, environment: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "compactor", "summarize", str(sessions / "explore-anthropic.json")]
    variables = environment(HANGO_HISTORY_ROOT=str(tmp_path))
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize("where", ["in process", "server"])
def test_an_error_names_reason_message_and_metadata(
    compactor: Any, sessions: Path, where: str, request: pytest.FixtureRequest
) -> None:
    way = [] if where == "in process" else ["--target", request.getfixturevalue(where).target]
    done = compactor("compact", sessions / "explore-anthropic.json", "--set", "max_input_tokens=400", *way)
    assert (done.returncode, done.stdout) == (1, b"")
    first, *metadata = error_of(done).splitlines()
    assert first.startswith("error: WINDOW_TOO_SMALL (FAILED_PRECONDITION): ")
    assert "  max_input_tokens: 400" in metadata


def test_a_request_over_the_size_limit_is_told_so_in_process(compactor: Any, sessions: Path) -> None:
    done = compactor("count", sessions / "explore-openai.json", HANGO_MAX_MESSAGE_BYTES="2048")
    assert done.returncode == 1
    assert error_of(done).startswith("error: REQUEST_TOO_LARGE (RESOURCE_EXHAUSTED): ")


def test_a_server_that_is_not_there_is_one_line(compactor: Any, sessions: Path, tmp_path: Path) -> None:
    done = compactor("count", sessions / "short-anthropic.json", "--target", f"unix:{tmp_path / 'none'}")
    assert done.returncode == 1
    assert error_of(done).startswith("error: UNAVAILABLE: ")
    assert len(error_of(done).splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["compact", "nowhere.json"], 2, "cannot read nowhere.json: no such file"),
        (["compact", "."], 2, "cannot read .: is a directory"),
        (["count", "-"], 1, "MALFORMED_PAYLOAD"),
        (["frobnicate"], 2, "invalid choice"),
        ([], 2, "required: COMMAND"),
    ],
)
def test_wrong_usage_is_said_clearly(compactor: Any, arguments: list[str], status: int, message: str) -> None:
    done = compactor(*arguments, stdin=b"no JSON")
    assert (done.returncode, done.stdout) == (status, b"")
    assert message in error_of(done)


@pytest.mark.parametrize("command", ["serve", "count"])
@pytest.mark.parametrize(("name", "value"), [("HANGO_FROB", "1"), ("HANGO_MAX_CONCURRENT", "many")])
def test_an_environment_that_cannot_be_used_is_one_line(
    compactor: Any, sessions: Path, command: str, name: str, value: str
) -> None:
    arguments = [command] if command == "serve" else [command, sessions / "short-anthropic.json"]
    done = compactor(*arguments, **{name: value})
    assert done.returncode == 2
    assert name in error_of(done)
    assert len(error_of(done).splitlines()) == 1


def test_an_address_that_is_taken_is_one_line(compactor: Any, server: Any) -> None:
    done = compactor("serve", HANGO_LISTEN=server.target)
    assert done.returncode == 2
    assert "HANGO_LISTEN" in error_of(done)
    assert len(error_of(done).splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_stops_when_told(start_server: Any, number: signal.Signals) -> None:
    server = start_server()
    server.process.send_signal(number)
    assert server.process.wait() == 0
    lines = server.log.read_text().splitlines()
    assert lines
    assert all(line.split(" ")[1:3] == ["INFO", "compactor:"] for line in lines)


@contextmanager
def counting_provider() -> Iterator[tuple[str, threading.Event, threading.Event]]:
    """A provider whose counting endpoint answers when it is let go: its address, "was asked", "may answer"."""
    asked, may_answer = threading.Event(), threading.Event()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            asked.set()
            may_answer.wait(60)
            answer = b'{"input_tokens": 1000}'
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as provider:
        thread = threading.Thread(target=provider.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{provider.server_port}", asked, may_answer
        finally:
            may_answer.set()
            provider.shutdown()
            thread.join()


def test_a_call_in_flight_is_finished_before_the_server_stops(start_server: Any, sessions: Path) -> None:
    body = (sessions / "short-anthropic.json").read_bytes()
    with counting_provider() as (address, asked, may_answer), ThreadPoolExecutor() as threads:
        server = start_server(
            ANTHROPIC_API_KEY="none",
            ANTHROPIC_BASE_URL=address,
            HANGO_COUNT_TIMEOUT_SECONDS="60",
            HANGO_DRAIN_SECONDS="60",
        )
        with Client.connect(server.target) as client:
            policy = {"token_counter": "PROVIDER", "history_mode": "OFF"}
            answer = threads.submit(client.compact, body, policy=policy)
            assert asked.wait(60)
            server.process.send_signal(signal.SIGTERM)
            while server.is_serving():
                time.sleep(0.05)
            assert not answer.done()
            may_answer.set()
            result: CompactResult = answer.result()
            assert result.outcome == "UNCHANGED"
            assert result.response.original_input_tokens == 1000
        assert server.process.wait() == 0
