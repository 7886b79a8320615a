"""The command line by its parts: what may be typed, what is printed."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from compactor.cli import main, tables
from compactor.cli.arguments import Arguments, parser
from compactor.cli.files import write
from compactor.cli.serving import OneLine, OneObject
from hango.compaction import Client
from hango.compaction.v1 import compaction_pb2 as record_pb
from hango.compaction.v1 import compaction_service_pb2 as pb

SESSIONS = Path(__file__).resolve().parents[2] / "examples" / "sessions"
SHORT = SESSIONS / "short-anthropic.json"


@pytest.fixture(autouse=True)
def histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HANGO_HISTORY_ROOT", str(tmp_path / "histories"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    return tmp_path / "histories" / "conversation_history"


def printed(what: RenderableType) -> str:
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(what)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())


def test_importing_the_command_line_imports_no_grpc() -> None:
    code = "import compactor.cli, sys; sys.exit(any(name in sys.modules for name in ('grpc', 'google', 'rich')))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_options_are_read_whatever_their_order() -> None:
    typed = "compact --set a=1 - --reason OVERFLOW --set b=2 --stable-system-count 0 --session s --turn t --explain"
    read = parser().parse_args(typed.split(), namespace=Arguments())
    assert read.settings == ["a=1", "b=2"]
    assert (read.file, read.reason, read.stable_system_count) == ("-", "overflow", 0)
    assert (read.session, read.turn, read.explain) == ("s", "t", True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "max_tokens=1"], "no field 'max_tokens'; it has max_input_tokens, "),
        (["--set", "max_input_tokens"], "has to be FIELD=VALUE"),
        (["--set", "max_input_tokens=many"], "a whole number"),
        (["--set", "repair=MEND"], "REJECT or SYNTHESIZE"),
        (["--set", "prompt_caching=perhaps"], "true or false"),
        (["--json", "-o", "-"], "both want standard output"),
        (["-o", "no/such/folder"], "is no folder"),
        (["--record", "no/such/folder"], "is no folder"),
    ],
)
def test_wrong_values_are_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compact", str(SHORT), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("compactor compact: error: ")
    assert message in err


@pytest.mark.parametrize("arguments", [["--reason", "whim"], ["--timeout", "0"], ["--format", "gemini"], ["--no-such"]])
def test_wrong_options_are_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["compact", str(SHORT), *arguments])
    assert left.value.code == 2
    assert capsys.readouterr().out == ""


def test_a_body_that_does_not_tell_its_format_asks_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = tmp_path / "plain.json"
    body.write_text('{"model":"mistral-large","messages":[{"role":"user","content":"Hello"}]}')
    assert main(["count", str(body)]) == 2
    assert "say --format anthropic or openai" in capsys.readouterr().err
    assert main(["count", str(body), "--format", "openai", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokenCountSource"].startswith("TOKEN_COUNT_SOURCE_")


@pytest.mark.parametrize("text", ["[]", '{"sequence": "one"}', '{"sequel": 1}', "\xff"])
def test_a_record_that_is_none_is_wrong_usage(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "record.json"
    record.write_text(text, encoding="latin-1")
    assert main(["compact", str(SHORT), "--record", str(record)]) == 2
    assert str(record) in capsys.readouterr().err
    assert record.read_text(encoding="latin-1") == text


@pytest.mark.parametrize(
    ("name", "arguments", "session"),
    [
        ("tour.json", [], "tour"),
        ("..my tour (2).json", [], "my-tour-2-"),
        ("tour.json", ["--session", "other"], "other"),
        ("世界.json", [], "-"),
    ],
)
def test_the_history_is_named_after_the_file(
    name: str, arguments: list[str], session: str, tmp_path: Path, histories: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = tmp_path / name
    body.write_bytes(SHORT.read_bytes())
    assert main(["compact", str(body), *arguments, "--set", "trigger_input_tokens=2500", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["history"]["path"] == f"/conversation_history/{session}.md"
    assert [path.name for path in histories.glob("*.md")] == [f"{session}.md"]


def test_a_history_is_not_named_where_none_is_kept(histories: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compact", str(SHORT), "--set", "trigger_input_tokens=2500", "--set", "history_mode=OFF"]
    assert main(command) == 0
    assert "SKIPPED" in capsys.readouterr().out
    assert not histories.exists()


def test_the_table_says_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compact", str(SHORT), "--explain", "--set", "trigger_input_tokens=2500", "--set", "unclipped_tools=a,b"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for label in ("Outcome", "Input tokens", "Window", "Trigger", "Raw messages", "Boundary", "Retained", "History"):
        assert label in out
    assert "SUMMARIZED, reason THRESHOLD" in out
    assert "SUMMARY_EXTRACTIVE" in out
    assert "0-" in out


def test_a_count_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", str(SHORT)]) == 0
    rows = {words[0]: words[1] for line in capsys.readouterr().out.splitlines() if len(words := line.split()) > 1}
    parts = sum(int(rows[name].replace(",", "")) for name in ("System", "Tools", "Messages", "Media"))
    assert main(["count", str(SHORT), "--json"]) == 0
    assert parts == int(json.loads(capsys.readouterr().out)["inputTokens"])


def test_a_summary_is_markdown_where_there_is_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tmp_path / "before.md"
    before.write_text("The deployment key is in vault-77.")
    assert main(["summarize", str(SHORT), "--previous-summary", str(before)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("## ")
    assert "vault-77" in out
    assert "Written by" in out


def fate(index: int, kind: str) -> record_pb.MessageFate:
    return record_pb.MessageFate(index=index, input_tokens=1, fate=f"FATE_{kind}")


def test_fates_are_told_in_runs() -> None:
    kinds = ["EVICTED"] * 312 + ["CLIPPED", "KEPT", "CLIPPED"] + ["KEPT"] * 35
    messages = [fate(index, kind) for index, kind in enumerate(kinds)]
    assert tables.fates(messages) == "0-311 evicted; 312-349 kept, 2 clipped"
    assert tables.fates([]) == "none"


def test_fates_of_very_many_runs_are_cut() -> None:
    messages = [fate(index, "EVICTED" if index % 2 else "KEPT") for index in range(100)]
    assert tables.fates(messages).endswith(f"; and {100 - tables.MOST_RUNS} runs more")


def test_what_a_server_says_is_neither_markup_nor_a_command_to_the_terminal() -> None:
    notice = record_pb.Notice(code=record_pb.NOTICE_CODE_INPUT_VIOLATION, detail="[red]a\x1b[31mb\x07 \u202ec")
    response = pb.CountTokensResponse(input_tokens=10, notices=[notice])
    text = printed(tables.token_count(response, title="[bold]x.json"))
    assert "[red]a[31mb c" in text
    assert "[bold]x.json" in text
    assert "\x1b" not in text


def test_an_enum_value_of_a_later_version_is_its_number() -> None:
    assert tables.name_of(pb.CompactResponse(outcome=77), "outcome") == "77"  # type: ignore[arg-type]
    assert tables.name_of(pb.CompactResponse(outcome=pb.OUTCOME_CLIPPED), "outcome") == "CLIPPED"


def test_every_part_of_a_response_has_its_row() -> None:
    response = pb.CompactResponse(
        outcome=pb.OUTCOME_SUMMARIZED,
        original_input_tokens=2_000,
        compacted_input_tokens=500,
        available_input_tokens=300,
        summarizer_usage=record_pb.SummarizerUsage(model="small", call_count=2, input_tokens=9, output_tokens=3),
        breakpoints=[record_pb.Breakpoint(target=record_pb.BREAKPOINT_TARGET_SYSTEM, index=1)],
        history=record_pb.History(status=record_pb.HISTORY_STATUS_RETURNED, markdown="..."),
    )
    budget = pb.CountTokensResponse(max_input_tokens=1_000, trigger_input_tokens=800)
    text = printed(tables.compaction(response, title="x", budget=budget, sent=3, is_explained=False))
    assert "2,000 -> 500 (-75%)" in text
    assert "1,000, 200 of it reserved for output" in text
    assert "small, 2 calls, 9 in, 0 cached, 3 out" in text
    assert "system 1" in text
    assert "RETURNED" in text


def test_files_are_written_whole_and_keep_their_mode(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    out.write_bytes(b"before")
    out.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(out)
    write(str(link), b"after")
    assert link.is_symlink()
    assert out.read_bytes() == b"after"
    assert out.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "out.json"]


def test_what_cannot_be_written_is_not_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compact", str(SHORT), "-o", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith(f"error: cannot write {tmp_path}: ")


def test_a_log_record_is_one_line_without_the_words_of_an_exception() -> None:
    words = "secret\nwords"
    try:
        raise ValueError(words)
    except ValueError:
        record = logging.LogRecord("compactor", logging.ERROR, __file__, 1, "it\nbroke", None, sys.exc_info())
    line = OneLine().format(record)
    assert "\n" not in line
    assert "secret" not in line
    assert "it | broke | ValueError" in line
    assert line.split(" ")[0].endswith("Z")


def test_a_log_object_has_no_words_of_an_exception_and_only_our_own_fields() -> None:
    words = "secret\nwords"
    try:
        raise ValueError(words)
    except ValueError:
        record = logging.LogRecord("compactor", logging.ERROR, __file__, 1, "it\nbroke", None, sys.exc_info())
    record.__dict__.update(fields={"session": "s"}, body="secret body")
    line = OneObject().format(record)
    assert "\n" not in line
    assert "secret" not in line
    told = json.loads(line)
    assert (told["message"], told["session"], told["level"]) == ("it\nbroke", "s", "ERROR")
    assert told["exception"].startswith("ValueError\n")
    assert set(told) == {"time", "level", "logger", "message", "session", "exception"}


def test_an_interrupted_command_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "count_tokens", interrupted)
    assert main(["count", str(SHORT)]) == 130
    assert capsys.readouterr() == ("", "")
