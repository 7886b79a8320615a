"""The contract suite: every case, over the wire and in process, and the laws of the case files themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hango.compaction.testing.v1 import contract_case_pb2
from hango.compaction.v1 import compaction_pb2
from tests.contract import case_file
from tests.contract.judge import REASONS, Judge
from tests.contract.transports import InProcess, Transport, server

NAMES = case_file.names()
LISTED = Path(__file__).with_name("known_failing.txt")
ELSEWHERE = {
    "UNSPECIFIED",
    "PROVIDER_UNAVAILABLE",
    "PROVIDER_TIMEOUT",
    "PROVIDER_RATE_LIMITED",
    "SUMMARY_REJECTED",
    "OVERLOADED",
    "REQUEST_TOO_LARGE",
    "UNAUTHENTICATED",
}
"""Reasons that no request alone can bring about in this version."""

RULES = {f"R{number}" for number in range(1, 29)}
UNBUILT = {"R6", "R26", "R27", "R28"}
"""Rules that this version does not have, or that belong to the caller or to telemetry."""


def known_failing() -> dict[str, str]:
    lines = [line for line in LISTED.read_text().splitlines() if line.strip() and not line.startswith("#")]
    found = {name: reason.strip() for name, _, reason in (line.partition("  ") for line in lines)}
    assert all(found.values()), "a case is listed as failing without a reason"
    return found


KNOWN_FAILING = known_failing()


@pytest.fixture(scope="session")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Transport]:
    folder = tmp_path_factory.mktemp("wire")
    with server(folder / "history", folder / "log") as transport:
        yield transport


@pytest.fixture(scope="session")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> Transport:
    return InProcess(tmp_path_factory.mktemp("in-process"))


@pytest.mark.parametrize("transport_name", ["wire", "in_process"])
@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, transport_name: str, request: pytest.FixtureRequest) -> None:
    judge = Judge(case_file.load(name), request.getfixturevalue(transport_name))
    if name not in KNOWN_FAILING:
        judge.run()
        return
    try:
        judge.run()
    except AssertionError as error:
        pytest.xfail(f"{KNOWN_FAILING[name]}: {error}")
    pytest.fail("is listed in known_failing.txt, but passes")


def test_known_failing_names_cases() -> None:
    assert set(KNOWN_FAILING) <= set(NAMES)


def test_sessions_are_not_shared_between_cases() -> None:
    owners: dict[str, str] = {}
    for name in NAMES:
        for step in case_file.load(name).steps:
            if step.compact.session_id:
                assert owners.setdefault(step.compact.session_id, name) == name


def test_every_rule_and_error_of_a_single_request_has_a_case() -> None:
    covered = {rule for name in NAMES for rule in case_file.load(name).covers}
    reasons = {name.removeprefix("ERROR_REASON_") for name in REASONS}
    notices = {value.name.removeprefix("NOTICE_CODE_") for value in compaction_pb2.NoticeCode.DESCRIPTOR.values}
    assert (RULES - UNBUILT) | (reasons - ELSEWHERE) <= covered
    assert covered <= RULES | reasons | notices


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"purpose": "p", "covers": ["R1"], "steps": [{"compact": {}, "expect": {"outcom": 1}}]}', "outcom"),
        ('{"purpose": "p", "covers": ["R1"], "steps": [{"compact": {"polcy": {}}, "expect": {}}]}', "polcy"),
        ('{"purpose": "p", "purpose": "q"}', "twice"),
        ('{"purpose": "p", "covers": ["R1"], "steps": [{"expect": {}}]}', "call"),
        ('{"purpose": "p", "covers": ["R1"], "steps": [{"compact": {}}]}', "answer"),
        ('{"purpose": "p", "covers": ["rule 1"], "steps": [{"compact": {}, "expect": {}}]}', "rule 1"),
        ('{"purpose": "p", "covers": ["R1"]}', "steps"),
    ],
)
def test_a_typo_in_a_case_fails_when_it_is_read(text: str, words: str) -> None:
    with pytest.raises(case_file.CaseError, match=words):
        case_file.parsed(text)


def test_an_expectation_that_says_nothing_about_the_call_fails(in_process: Transport) -> None:
    step = contract_case_pb2.Step(expect=contract_case_pb2.Expectation(message_count=1))
    step.count_tokens.native.body = b"{}"
    with pytest.raises(case_file.CaseError, match="message_count"):
        Judge(contract_case_pb2.ContractCase(steps=[step]), in_process).run()


def test_shorthands_are_written_out() -> None:
    value = {"a": [{"repeat": 2, "of": ["m{n} {filler:7}"]}, "{times:3:é}"], "b": "{n}"}
    assert case_file.written_out(value) == {"a": ["m1 alpha b", "m2 alpha b", "ééé"], "b": "{n}"}
