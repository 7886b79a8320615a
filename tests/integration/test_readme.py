"""The README's snippets, run as they are written, against a server on a port of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "127.0.0.1:50051"


def snippet(language: str, word: str) -> str:
    """The one code block of a language that has a word in it."""
    blocks = re.findall(
        rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    [found] = [block for block in blocks if word in block]
    return str(found)


def test_python_snippet_runs(server: Any) -> None:
    code = snippet("python", "Client.connect").replace(ADDRESS, server.target)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["SUMMARIZED", "REUSED", "REUSED"]


def test_command_line_snippet_runs(server: Any, tmp_path: Path) -> None:
    text = snippet("sh", "serve &").partition("serve &\n")[2]
    text = text.replace(ADDRESS, server.target).replace("var/", f"{tmp_path}/")
    text = text.replace(".venv/bin/compactor", f"{sys.executable} -m compactor")
    done = subprocess.run(["bash", "-c", text], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "SUMMARIZED" in done.stdout


@pytest.mark.skipif(shutil.which("jq") is None, reason="the snippet needs jq")
def test_grpc_snippet_runs(server: Any) -> None:
    text = snippet("sh", "buf curl").replace(ADDRESS, server.target)
    text = text.replace(".venv/bin/buf", str(Path(sys.executable).with_name("buf")))
    done = subprocess.run(["bash", "-o", "pipefail", "-c", text], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "OUTCOME_CLIPPED" in done.stdout
