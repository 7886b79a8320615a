"""Rule R18: a later statement on the same matter replaces the earlier one, in other words too; what differs stays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from compactor.core.retained import harvest, retain
from compactor.core.retained.matters import Standing, settle, statement
from compactor.model import Content, Kind, Part, Retained, Role

LABELLED = Path(__file__).resolve().parents[3] / "fidelity" / "instructions" / "updates"


def standing(said: Sequence[str]) -> list[str]:
    told = [(place, statement(text, Standing.INSTRUCTION)) for place, text in enumerate(said)]
    return [text for text, fate in zip(said, settle(told), strict=True) if fate.by is None]


def is_right(case: Mapping[str, Sequence[str]]) -> bool:
    kept = [text for text in standing(case["said"]) if text not in case.get("either", ())]
    if "kept" in case:
        return kept == case["kept"]
    held = "\n".join(kept)
    return all(text in held for text in case["told"]) and not any(text in held for text in case["gone"])


def user(text: str) -> Content:
    return Content(Role.USER, (Part(Kind.TEXT, text),))


def run(id: str, command: str, result: str) -> list[Content]:
    call = Part(Kind.TOOL_USE, json.dumps({"command": command}), id, "shell")
    return [Content(Role.ASSISTANT, (call,)), Content(Role.TOOL, (Part(Kind.TOOL_RESULT, result, id),))]


def kept(evicted: Sequence[Content], later: Sequence[Content] = ()) -> Retained:
    return retain([harvest(content) for content in evicted], [harvest(content) for content in later])


@pytest.mark.parametrize(("half", "least"), [("learning.json", 0.95), ("held-apart.json", 0.6)])
def test_labelled_updates_are_resolved_and_other_matters_left_alone(half: str, least: float) -> None:
    cases = json.loads((LABELLED / half).read_text(encoding="utf-8"))
    assert sum(map(is_right, cases)) >= least * len(cases)


def test_nothing_of_another_scope_is_taken_for_an_update() -> None:
    cases = json.loads((LABELLED / "held-apart.json").read_text(encoding="utf-8"))
    apart = [case for case in cases if case["kind"] in ("scope", "unrelated", "narrow")]
    assert len(apart) > 30
    assert [case["said"] for case in apart if not is_right(case)] == []


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The staging box is heron-17.internal.", "Ops rebuilt staging last night; it is stork-04.internal now."),
        ("Don't touch the schema.", "You may change the schema now."),
        ("Answer in French.", "Switch to English, please."),
        ("Keep every file at most 200 lines.", "Make that 120."),
        ("Always run the tests before you commit.", "Forget what I said about the tests."),
        ("不要修改数据库。", "现在可以修改数据库了。"),
    ],
)
def test_stale_statement_is_nowhere_in_the_retained_state(earlier: str, later: str) -> None:
    found = kept([user(f"Hello there. {earlier}"), user("Go on."), user(later)])
    assert earlier not in found.instructions + found.facts
    assert not any(earlier in request for request in found.requests)
    assert any("Hello there." in request for request in found.requests)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Never push to main.", "Never push to release."),
        ("Use tabs in Go files.", "Use spaces in Python files."),
        ("Functions must stay under 40 lines.", "Files must stay under 400 lines."),
        ("Write comments in English.", "Answer me in German."),
        ("Always keep a changelog.", "Forget about performance, correctness comes first."),
        ("Never push to main.", "Pushing to main is blocked by branch protection anyway, by the way."),
        ("Never delete customer data.", "Delete customer data of the test account acme-1."),
        ("Use type hints everywhere.", "By the way, type hints are not needed in tests."),
        ("Don't use mocks.", "Actually mocks are fine for the S3 client."),
        ("Don't use mocks.", "Here is the comment: 'You may use mocks anywhere and skip the tests.'"),
        ("Do not change the public API.", "You are allowed to change the public API of the client package."),
        ("Never log IBANs.", "Log the last four digits of the IBAN when an import fails."),
        ("The ticket is OPS-412.", "There is a second ticket, OPS-418."),
    ],
)
def test_statements_of_different_scope_both_stand(earlier: str, later: str) -> None:
    assert standing([earlier, later]) == [earlier, later]


def test_what_is_about_this_moment_takes_nothing_back() -> None:
    found = kept([user("Deploy only on Tuesdays."), user("This week deploy on Friday.")])
    assert found.instructions == ("Deploy only on Tuesdays.",)


def test_points_of_one_message_do_not_replace_each_other() -> None:
    said = "The first passenger is Emily Smith, born 1988-04-10.\nThe second passenger is John Smith, born 1990-11-22."
    assert len(kept([user(said)]).facts) == 2


def test_update_in_a_message_that_stays_takes_back_what_is_evicted() -> None:
    found = kept([user("The port is 48117.")], [user("We moved the port, it is 48923 now.")])
    assert not found.facts
    assert "48117" not in found.identifiers
    assert "48923" not in str(found)


def test_stale_identifier_that_is_still_used_is_kept() -> None:
    evicted = [user("The host is heron-17.internal."), user("The host is stork-04.internal now.")]
    assert "heron-17.internal" not in kept(evicted).identifiers
    evicted += run("c1", "ssh heron-17.internal", "ok")
    assert "heron-17.internal" in kept(evicted).identifiers


def test_later_answer_to_the_same_call_replaces_the_earlier_one() -> None:
    evicted = run("c1", "kubectl get deploy", "image: quotes:2024.11.3-rc7")
    later = run("c2", "kubectl get deploy", "image: quotes:2024.12.0-rc2")
    for found in (kept([*evicted, *later]), kept(evicted, later)):
        assert "2024.11.3-rc7" not in found.identifiers
        assert not any("2024.11.3-rc7" in done.outcome for done in found.tool_outcomes[1:])


def test_fact_that_a_person_states_once_is_kept_in_their_words() -> None:
    found = kept([user("Looks good so far. The order came back as ORD-88213 and it is held at the customs in Basel.")])
    assert found.facts == ("The order came back as ORD-88213 and it is held at the customs in Basel.",)
    assert not found.instructions
