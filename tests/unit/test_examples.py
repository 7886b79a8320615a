"""The example sessions are what examples/README.md promises."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from examples.agent import Agent, planning, reading
from examples.agent_tools import Desk, leaks, use
from examples.record import anthropic, openai, write

SESSIONS = Path(__file__).resolve().parents[2] / "examples" / "sessions"
ANTHROPIC = ("explore-anthropic.json", "short-anthropic.json")
OPENAI = ("explore-openai.json", "parallel-openai.json")
LONG = ("explore-anthropic.json", "explore-openai.json")
MACHINE_PATH = re.compile(r"(?<![\w.-])/(?:work|tmp|root|home|Users)(?![\w-])")


@cache
def text(name: str) -> str:
    return (SESSIONS / name).read_text()


def body(name: str) -> dict[str, Any]:
    return json.loads(text(name))


def assert_anthropic_pairs(messages: list[dict[str, Any]]) -> None:
    open_calls: list[str] = []
    for at, message in enumerate(messages):
        assert message["role"] == ("assistant" if at % 2 else "user")
        blocks = message["content"] if isinstance(message["content"], list) else []
        kinds = [block["type"] for block in blocks]
        assert [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] == open_calls
        assert kinds == sorted(kinds, key=["tool_result", "text", "tool_use"].index)
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert open_calls == []


def assert_openai_pairs(messages: list[dict[str, Any]]) -> None:
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            assert message["content"]
            continue
        assert open_calls == []
        calls = message.get("tool_calls", [])
        assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls)
        open_calls = [call["id"] for call in calls]
    assert open_calls == []


@pytest.mark.parametrize("name", ANTHROPIC)
def test_anthropic_sessions_pair_calls_and_results(name: str) -> None:
    session = body(name)
    assert session["model"] == "claude-haiku-4-5"
    assert session["max_tokens"] == 4096
    assert [block["type"] for block in session["system"]] == ["text", "text"]
    assert all(tool["input_schema"]["type"] == "object" for tool in session["tools"])
    assert session["messages"][-1]["role"] == "user"
    assert_anthropic_pairs(session["messages"])


@pytest.mark.parametrize("name", OPENAI)
def test_openai_sessions_pair_calls_and_results(name: str) -> None:
    session = body(name)
    assert session["model"] == "gpt-5.1"
    assert session["messages"][0]["role"] == "system"
    assert session["messages"][-1]["role"] in ("user", "tool")
    assert_openai_pairs(session["messages"])


@pytest.mark.parametrize("name", LONG)
def test_long_sessions_need_compaction(name: str) -> None:
    assert len(body(name)["messages"]) >= 300
    assert len(text(name).encode()) >= 250_000


def test_long_session_holds_rules_failures_and_parallel_calls() -> None:
    messages = body("explore-anthropic.json")["messages"]
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    said = [message["content"] for message in messages if isinstance(message["content"], str)]
    assert any("Always answer in British English" in request for request in said)
    assert any("at most 120 lines at once instead of 200" in request for request in said)
    assert sum(block.get("is_error", False) for block in blocks) >= 4
    assert any(block.get("name") == "update_plan" for block in blocks)
    assert any(
        [block["type"] for block in message["content"]].count("tool_use") > 1
        for message in messages
        if isinstance(message["content"], list)
    )
    assert all(block["type"] in ("text", "tool_use", "tool_result") for block in blocks)


def test_short_session_fits_everywhere() -> None:
    assert len(body("short-anthropic.json")["messages"]) <= 16
    assert len(text("short-anthropic.json")) < 60_000


@pytest.mark.parametrize("name", [*ANTHROPIC, *OPENAI])
def test_sessions_name_no_place_on_a_machine(name: str) -> None:
    assert MACHINE_PATH.findall(re.sub(r"\\+[nrt]", " ", text(name))) == []
    assert leaks(text(name)) == []


def test_sessions_stay_small() -> None:
    assert sum(path.stat().st_size for path in SESSIONS.iterdir()) < 2_000_000


def test_a_session_with_a_machine_path_is_not_written() -> None:
    with pytest.raises(SystemExit, match="not written"):
        write("refused.json", {"messages": [{"role": "user", "content": "see\n/" + "tmp/notes"}]})
    assert not (SESSIONS / "refused.json").exists()


def test_recorder_shapes_batches_failures_and_interjections(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    agent = Agent(Desk(tmp_path, tmp_path / "scratch"))
    agent.hears("Read.")
    agent.does("", reading("a.txt", limit=1), reading("b.txt"), planning(["read", "tell"], 0))
    agent.hears("And?")
    sent, same = anthropic(agent)["messages"], openai(agent)["messages"]
    assert_anthropic_pairs(sent)
    assert_openai_pairs(same)
    assert [block["type"] for block in sent[-1]["content"]] == ["tool_result"] * 3 + ["text"]
    assert [block.get("is_error", False) for block in sent[-1]["content"]] == [False, True, False, False]
    assert [message["role"] for message in same] == ["system", "user", "assistant", "tool", "tool", "tool", "user"]
    assert sent[-1]["content"][0]["content"] == "    1\tone\n(lines left: 1; continue with offset 2)"


def test_tools_write_notes_only_and_scrub_what_differs(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "repository", tmp_path / "scratch")
    desk.root.mkdir()
    refused = use(desk, "write_file", {"path": "notes/../a.md", "content": "x"})
    written = use(desk, "write_file", {"path": "notes/a.md", "content": "x\n"})
    shown = use(desk, "run_python", {"code": "import os; print(os.getcwd(), object(), '3 passed in 0.12s')"})
    failed = use(desk, "run_python", {"code": "raise SystemExit(3)"})
    assert (refused.is_error, written.is_error, shown.is_error, failed.is_error) == (True, False, False, True)
    assert shown.text == ". <object object at 0x…> 3 passed"
    assert failed.text == "exit status 3"
    assert use(desk, "read_file", {"path": "notes/a.md"}).text == "    1\tx"
