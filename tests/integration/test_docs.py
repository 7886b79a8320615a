"""Every snippet and command in the documents runs, in the order in which a reader meets it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hango.compaction import Client

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (
    "docs/windows.md",
    "docs/learning/10-context-management.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "users").glob("*-*.md")),
)
SESSION = ROOT / "examples" / "sessions" / "short-anthropic.json"


def blocks(document: str, language: str) -> Iterator[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    yield from re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the snippets take for granted: a client, a body and its messages."""
    body = json.loads(SESSION.read_text(encoding="utf-8"))
    monkeypatch.chdir(ROOT)
    with Client.in_process(history_root=tmp_path, environment={}) as client:
        yield {"client": client, "body": body, "messages": body["messages"], "json": json, "Path": Path}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_snippets_run(document: str, space: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    snippets = list(blocks(document, "python"))
    assert snippets
    for snippet in snippets:
        exec(compile(snippet, document, "exec"), space)  # noqa: S102 - our own documents


def test_answers_to_the_exercises_are_right(space: dict[str, Any]) -> None:
    for snippet in blocks("docs/learning/10-context-management.md", "python"):
        exec(compile(snippet, "exercise", "exec"), space)  # noqa: S102 - our own documents
        if "evicted_message_count" in snippet:
            first = space["told"]
    assert first.compacted_input_tokens < 30_000 < first.original_input_tokens
    assert 330 < first.evicted_message_count < 389
    explanation = space["explanation"]
    assert (explanation.wanted_first_kept_index, explanation.first_kept_index) == (4, 3)
    assert "moved back" in explanation.boundary_note
    assert space["turns"]["before"] < 0.1 < 0.5 < space["turns"]["after"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_run(document: str, tmp_path: Path) -> None:
    shutil.copy(SESSION, tmp_path / "session.json")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for script in blocks(document, "sh"):
        for line in script.splitlines():
            if line.startswith("compactor ") and not line.startswith("compactor serve"):
                done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True)  # noqa: S602
                assert done.returncode == 0, done.stderr.decode()
