"""The rules of the house, executed: layering, generated code, tables that documentation repeats."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from compactor import config, errors, status
from hango.compaction.v1 import compaction_pb2, errors_pb2

ROOT = Path(__file__).resolve().parents[2]


def test_imports_go_down_the_house() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_generated_code_is_fresh(tmp_path: Path) -> None:
    protos = sorted(str(path) for path in (ROOT / "proto").rglob("*.proto"))
    outputs = [f"--{kind}_out={tmp_path}" for kind in ("python", "pyi", "grpc_python")]
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", *outputs, *protos]
    subprocess.run(command, check=True)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.py*"))
    assert made
    stale = [str(path) for path in made if (tmp_path / path).read_bytes() != _checked_in(path)]
    assert not stale, f"run make generate: {stale}"


def _checked_in(path: Path) -> bytes:
    found = ROOT / "clients" / "python" / path
    return found.read_bytes() if found.exists() else b""


def _leaves(kind: type[errors.CompactionError]) -> set[type[errors.CompactionError]]:
    below = kind.__subclasses__()
    return set().union(*map(_leaves, below)) if below else {kind}


def test_every_error_has_a_status() -> None:
    assert set(status.TABLE) == _leaves(errors.CompactionError)


def test_every_reason_is_one_of_the_contract() -> None:
    known = {name.removeprefix("ERROR_REASON_") for name in list(errors_pb2.ErrorReason.keys())}
    assert {entry.reason for entry in status.TABLE.values()} <= known


@pytest.mark.parametrize("kind", sorted(status.TABLE, key=lambda kind: kind.__name__))
def test_every_value_of_an_error_is_in_its_metadata(kind: type[errors.CompactionError]) -> None:
    made = status.status_of(kind("a sentence", field="policy.x", value=3))
    info = next(detail for detail in made.details if detail.type_url.endswith("google.rpc.ErrorInfo"))
    assert b"policy.x" in info.value
    assert grpc.StatusCode[made_code(made.code)] is status.TABLE[kind].code


def made_code(number: int) -> str:
    return next(code.name for code in grpc.StatusCode if code.value[0] == number)


@pytest.mark.parametrize("name", sorted(config.VARIABLES))
def test_every_variable_is_documented(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def test_every_standard_variable_that_is_read_is_documented() -> None:
    code = (ROOT / "service" / "compactor" / "exporting.py").read_text(encoding="utf-8")
    names = set(re.findall(r'"(OTEL_[A-Z_]+[A-Z])"', code))
    documented = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert names
    assert not [name for name in names if f"`{name}`" not in documented]


@pytest.mark.parametrize("reason", sorted({entry.reason for entry in status.TABLE.values()}))
def test_every_error_is_documented(reason: str) -> None:
    assert f"`{reason}`" in (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", compaction_pb2.NoticeCode.keys()[1:])
def test_every_notice_is_documented(code: str) -> None:
    assert f"`{code.removeprefix('NOTICE_CODE_')}`" in (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")


def test_no_path_of_a_machine_is_in_the_project() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    pattern = re.compile(rb"(?<![\w.])/(?:home|root|Users|work)/\w")
    found = [
        name
        for name in filter(None, listed.decode().split("\0"))
        if (ROOT / name).is_file() and pattern.search((ROOT / name).read_bytes())
    ]
    assert not found
