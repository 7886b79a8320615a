"""Two replicas over one history, and killed ones: the same bytes from either, one segment, one summary, one bill."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from compactor.core.segments import FOLDER
from hango.compaction import Client, CompactionError, CompactResult
from tests.integration.conftest import Server, StartServer

FILLER = "alpha bravo charlie delta echo foxtrot golf hotel india juliett "


class Counting:
    """A provider whose every summary is another one, after a pause; `asked` are the requests that it got."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.pause_seconds = 0.0
        self.url = ""
        self._lock = threading.Lock()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self.asked.append(body)
            number = len(self.asked)
        time.sleep(self.pause_seconds)
        text = f"Summary number {number}: the loader was read, the parser still drops the last row."
        usage = {"input_tokens": 100, "output_tokens": 20}
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }


@pytest.fixture
def provider() -> Iterator[Counting]:
    counting = Counting()
    with _listening(counting):
        yield counting


@contextmanager
def _listening(counting: Counting) -> Iterator[None]:
    class Endpoint(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            data = json.dumps(counting.answer(body)).encode()
            with suppress(OSError):  # a replica that was killed does not listen any more
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        server.daemon_threads = True
        counting.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


@pytest.fixture
def replica(start_server: StartServer, provider: Counting, tmp_path: Path) -> Any:
    """Starts a replica with the shared history."""

    def start() -> Server:
        return start_server(
            HANGO_HISTORY_ROOT=str(tmp_path),
            ANTHROPIC_API_KEY="k",
            ANTHROPIC_BASE_URL=provider.url,
            HANGO_SUMMARIZER_MODEL="claude-haiku-4-5",
        )

    return start


def body(turns: int = 30) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Mend the loader; the ticket is COMP-4711."}]
    for turn in range(turns):
        messages += [{"role": "assistant", "content": f"Part {turn} was read. {FILLER * 4}"}]
        messages += [{"role": "user", "content": f"Go on with part {turn + 1}. {FILLER * 2}"}]
    return {"model": "claude-sonnet-5", "max_tokens": 100, "messages": messages}


def compacted(server: Server, turn_id: str = "one", seconds: float = 30, **options: Any) -> CompactResult:
    with Client.connect(server.target, timeout=seconds) as client:
        policy = {"max_input_tokens": 4_000, "reserve_output_tokens": 0, "token_counter": "HEURISTIC"}
        return client.compact(body(), session_id="s1", turn_id=turn_id, policy=policy, **options)


def history(root: Path) -> str:
    return (root / FOLDER / "s1.md").read_text()


def is_whole(text: str) -> bool:
    """Whether every evicted message stands in a history once."""
    return all(text.count(f"## Message {index}: ") == 1 for index in range(40))


def test_either_replica_gives_the_same_bytes_and_one_pays(replica: Any, provider: Counting, tmp_path: Path) -> None:
    here, there = replica(), replica()
    first, second = compacted(here), compacted(there)
    assert first.outcome == "SUMMARIZED"
    assert "Summary number 1" in first.record.summary  # type: ignore[union-attr]
    assert first.body == second.body
    assert first.record == second.record
    assert len(provider.asked) == 1
    assert is_whole(history(tmp_path))
    with_record = compacted(there, record=first.record)
    assert with_record.body == first.body
    assert len(provider.asked) == 1


def test_twins_at_two_replicas_share_one_summary(replica: Any, provider: Counting, tmp_path: Path) -> None:
    provider.pause_seconds = 1.0
    servers = [replica(), replica()]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(compacted, servers * 2))
    assert len({result.body for result in results}) == 1
    assert len(provider.asked) == 1
    assert is_whole(history(tmp_path))


def test_a_replica_killed_while_the_model_writes_leaves_one_segment(
    replica: Any, provider: Counting, tmp_path: Path
) -> None:
    provider.pause_seconds = 5.0
    here, there = replica(), replica()
    with ThreadPoolExecutor(1) as pool:
        lost = pool.submit(_lost, here)
        _until(lambda: bool(provider.asked))
        assert is_whole(history(tmp_path))  # kept before the model was asked
        here.process.send_signal(signal.SIGKILL)
        assert lost.result(30) is None
    provider.pause_seconds = 0.0
    result = compacted(there)
    assert result.outcome == "SUMMARIZED"
    assert result.record is not None
    assert result.record.summary.count("Summary number") == 1
    text = history(tmp_path)
    assert is_whole(text)
    assert text.count("\n# Compaction ") == 1


def test_a_reply_that_was_lost_after_the_summary_is_found_again(
    replica: Any, provider: Counting, tmp_path: Path
) -> None:
    here = replica()
    first = compacted(here)  # the reply is thrown away, and the replica with all that it remembers
    here.process.send_signal(signal.SIGKILL)
    here.process.wait(10)
    again = compacted(replica())
    assert again.body == first.body
    assert again.record == first.record
    assert len(provider.asked) == 1
    assert history(tmp_path).count("\n# Compaction ") == 1


def test_a_caller_that_could_not_wait_finds_the_summary(replica: Any, provider: Counting) -> None:
    provider.pause_seconds = 2.0
    server = replica()
    hurried = compacted(server, seconds=1.5)
    assert "SUMMARIZER_FAILED" in str(hurried.response.notices)
    _until(lambda: "Summary number 1" in str(compacted(server).record))
    assert len(provider.asked) == 1


def _lost(server: Server) -> CompactResult | None:
    try:
        return compacted(server, seconds=20)
    except CompactionError:
        return None


def _until(condition: Any, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)
