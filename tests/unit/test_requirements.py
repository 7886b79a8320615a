"""The table of requirements names tests that exist, each requirement once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(
    r"^\| ([HO][\w-]*) \| .+ \| `([^`]+)` \|$", (ROOT / "docs" / "requirements.md").read_text(), re.MULTILINE
)


def test_every_requirement_stands_once() -> None:
    names = [name for name, _ in ROWS]
    assert len(names) > 40
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("proof", sorted({proof for _, proof in ROWS}))
def test_every_proof_exists(proof: str) -> None:
    path, _, function = proof.partition("::")
    source = ROOT / path
    assert source.is_file()
    if function:
        tree = ast.parse(source.read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
