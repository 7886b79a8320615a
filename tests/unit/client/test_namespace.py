"""What the client package offers is what it says it offers."""

from __future__ import annotations

import doctest
import subprocess
import sys
from types import ModuleType

import pytest

import hango.compaction
from hango.compaction import errors, sources
from hango.compaction.v1 import errors_pb2


def test_all_is_the_namespace() -> None:
    public = {
        name
        for name, value in vars(hango.compaction).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }
    assert set(hango.compaction.__all__) == public
    assert sorted(hango.compaction.__all__) == sorted(set(hango.compaction.__all__))


def test_every_reason_of_the_contract_has_its_error() -> None:
    reasons = {name.removeprefix("ERROR_REASON_") for name in errors_pb2.ErrorReason.keys()[1:]}
    assert set(errors.BY_REASON) == reasons


@pytest.mark.parametrize("name", ["format_of", "policy_of"])
def test_examples_in_docstrings_hold(name: str) -> None:
    found = doctest.DocTestFinder(recurse=False).find(getattr(sources, name), name)
    runner = doctest.DocTestRunner()
    for example in found:
        assert runner.run(example, out=lambda _: None).failed == 0
    assert runner.tries


def test_the_service_is_imported_only_when_asked_for() -> None:
    code = "import hango.compaction, sys; sys.exit('compactor' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
