"""`compactor replay` and the pages as a person gets them, and the commands of their documentation."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--set", "max_input_tokens=60000")
PROGRAM = [sys.executable, "-m", "compactor"]


def run(*arguments: object, environment: dict[str, str], **options: Any) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)


@pytest.fixture
def variables(tmp_path: Path, environment: Any) -> dict[str, str]:
    made: dict[str, str] = environment(HANGO_HISTORY_ROOT=str(tmp_path / "histories"))
    return made


def test_a_server_and_this_process_play_the_same(server: Any, sessions: Path, variables: dict[str, str]) -> None:
    command = ("replay", sessions / "explore-anthropic.json", *SMALL, "--json")
    here, there = run(*command, environment=variables), run(*command, "--target", server.target, environment=variables)
    assert (here.returncode, here.stderr) == (there.returncode, there.stderr) == (0, "")
    assert here.stdout == there.stdout
    told = json.loads(here.stdout)
    assert set(told["ways"]) == {"compact", "never", "slide"}
    assert told["ways"]["never"]["fails_at"]["input_tokens"] > 60_000
    for call in told["calls"]:
        for way in call["ways"].values():
            assert min(way["read"], way["written"], way["written_long"], way["uncached"]) >= 0
    for name, way in told["ways"].items():
        costs = [call["ways"][name]["cost"] for call in told["calls"] if name in call["ways"]]
        assert way["cost"] == pytest.approx(sum(costs))


def test_the_table_names_the_call_at_which_never_compacting_fails(sessions: Path, variables: dict[str, str]) -> None:
    done = run("replay", sessions / "explore-openai.json", *SMALL, environment=variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"Fails +never compact at call \d+: [\d,]+ tokens, a window of 60,000", done.stdout)
    assert re.search(r"slide every call +195 ", done.stdout)
    assert "SUMMARIZED" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_a_replay_keeps_no_history_unless_it_is_told_to(
    sessions: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    command = ("replay", sessions / "explore-anthropic.json", *SMALL)
    assert run(*command, environment=variables).returncode == 0
    assert not list((tmp_path / "histories").rglob("*.md"))
    kept = run(*command, "--set", "history_mode=STORE", environment=variables)
    assert kept.returncode == 0
    assert (tmp_path / "histories" / "conversation_history" / "explore-anthropic.md").stat().st_size > 10_000


def test_progress_is_shown_on_a_terminal_alone(sessions: Path, variables: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "replay", str(sessions / "short-anthropic.json"), "--json"]
    with subprocess.Popen(
        command, env={**variables, "TERM": "xterm"}, stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                read = os.read(ours, 4_096)
            except OSError:  # how Linux says that the other side is closed
                break
            if not read:
                break
            shown += read
        assert process.stdout is not None
        answer = json.loads(process.stdout.read())
    os.close(ours)
    assert b"model calls" in shown
    assert f"/{len(answer['calls'])}".encode() in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--price", "read=1"], "the price of input tokens has to be said with the others"),
        (["--price", "tokens=1"], "has to be KIND=DOLLARS with one of input, read, write, write-1h, output"),
        (["--price", "input=-1"], "has to name dollars, 0 or more"),
        (["--price", "input=dear"], "has to name dollars, 0 or more"),
        (["--pause", "-1"], "has to be 0 or more"),
        (["--html", "no/such/folder/page.html"], "is no folder"),
    ],
)
def test_wrong_usage_is_told(
    sessions: Path, variables: dict[str, str], options: list[str], message: str, tmp_path: Path
) -> None:
    done = run("replay", sessions / "short-anthropic.json", *options, environment=variables, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_session_without_a_call_is_told(variables: dict[str, str], tmp_path: Path) -> None:
    body = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [{"role": "assistant", "content": "Hello."}]}
    (tmp_path / "log.json").write_text(json.dumps(body), encoding="utf-8")
    done = run("replay", tmp_path / "log.json", environment=variables)
    assert (done.returncode, "holds no call of a model" in done.stderr) == (2, True)
    other = run("replay", "-", "--model", "x", environment=variables, input="[1]")
    assert (other.returncode, "--model cannot be set in FILE" in other.stderr) == (2, True)


def test_the_call_that_the_service_refuses_is_told(variables: dict[str, str], tmp_path: Path) -> None:
    talk = [("user", "a"), ("assistant", "b"), ("user", "word " * 9_000)]
    messages = [{"role": role, "content": text} for role, text in talk]
    body = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": messages}
    (tmp_path / "log.json").write_text(json.dumps(body), encoding="utf-8")
    done = run("replay", tmp_path / "log.json", "--set", "max_input_tokens=2000", environment=variables)
    assert done.returncode == 1
    assert done.stderr.startswith("call 2 of 2 was refused\nerror: WINDOW_TOO_SMALL")


def test_another_model_brings_its_window_and_prices(sessions: Path, variables: dict[str, str]) -> None:
    body = sessions / "short-anthropic.json"
    done = run("replay", body, "--model", "claude-opus-5-5", "--json", environment=variables)
    told = json.loads(done.stdout)
    assert (told["model"], told["window"]) == ("claude-opus-5-5", 1_000_000)
    assert told["prices"].endswith("claude-opus-5-5")
    unknown = json.loads(run("replay", body, "--model", "mine", "--json", environment=variables).stdout)
    assert (unknown["unit"], unknown["prices"]) == ("tokens", "the list has no prices of this model")


@pytest.mark.parametrize("command", ["compact", "replay"])
def test_a_page_without_its_templates_is_refused_before_anything_is_done(
    sessions: Path, variables: dict[str, str], command: str, tmp_path: Path
) -> None:
    body, page = str(sessions / "explore-anthropic.json"), str(tmp_path / "page.html")
    code = (
        "import sys; sys.modules['jinja2'] = None; from compactor.cli import main; "
        f"sys.exit(main([{command!r}, {body!r}, '--html', {page!r}, '--set', 'max_input_tokens=60000']))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--html needs the package jinja2: pip install 'hango-compaction[look]'" in done.stderr
    assert not list(tmp_path.rglob("*.md"))


def test_a_replay_without_the_list_of_prices_tells_tokens(sessions: Path, variables: dict[str, str]) -> None:
    body = str(sessions / "short-anthropic.json")
    code = (
        "import sys; sys.modules['genai_prices'] = None; from compactor.cli import main; "
        f"sys.exit(main(['replay', {body!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "genai-prices is not installed" in done.stdout


def documented(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if "--html" in line or "--price" in line]
    assert lines
    return lines


@pytest.mark.parametrize("line", [*documented("README.md"), *documented("docs/look.md")])
def test_the_commands_of_the_documents_run(line: str, variables: dict[str, str], tmp_path: Path) -> None:
    line = line.replace(".venv/bin/compactor", "compactor").replace("compactor ", f"{sys.executable} -m compactor ", 1)
    line = re.sub(r"--html (?:var/)?", f"--html {tmp_path}/", line)
    done = subprocess.run(line, shell=True, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)  # noqa: S602
    assert (done.returncode, done.stderr) == (0, "")
    for page in tmp_path.glob("*.html"):
        assert "Content-Security-Policy" in page.read_text(encoding="utf-8")
    assert "--price" in line or list(tmp_path.glob("*.html"))
