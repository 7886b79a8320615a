"""The measure measures what it says: on logs that are small enough to know the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.fidelity import instructions, items, names, peers, planted, references, service, sessions
from bench.fidelity.sessions import Call, Moment, Session
from compactor.reader import Facts

FILLER = "alpha bravo charlie delta echo foxtrot golf hotel "


def log(steps: int, *, mentions: str = "") -> list[dict[str, Any]]:
    """A session of steps; the first result mentions something."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Mend the loader."}]
    for step in range(steps):
        call = {"type": "tool_use", "id": f"toolu_{step}", "name": "run", "input": {"command": f"step {step}"}}
        text = f"{mentions} {FILLER * 10}" if step == 0 else FILLER * 10
        result = {"type": "tool_result", "tool_use_id": f"toolu_{step}", "content": text}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


def session(messages: list[dict[str, Any]]) -> Session:
    return Session("made", "anthropic", {"model": "claude-sonnet-4-5", "messages": messages})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cat src/core/data.py", {"src/core/data.py": "file"}),
        ("see https://example.org/a/b, then", {"https://example.org/a/b": "url"}),
        ("git show 5d07be94c1", {"5d07be94c1": "hash"}),
        ("PLAT-48213 for user_id 3668", {"PLAT-48213": "id", "user_id": "code name", "3668": "number"}),
        ("go test ./... 2>/dev/null", {}),
        ("in 2025, chmod 0644, SHA256, </script>", {}),
        ("first\\nSecond", {}),
    ],
)
def test_identifiers_are_what_cannot_be_guessed(text: str, found: dict[str, str]) -> None:
    assert names.used([Call("run", (("command", text),))]) == found


def test_a_number_counts_only_where_its_argument_names_something() -> None:
    call = Call("read", (("offset", 4000), ("order_id", 9917), ("status", "in_progress")))
    assert names.used([call]) == {"9917": "number"}


def test_a_name_is_held_by_itself_only() -> None:
    assert not names.holds("metadata.py", "data.py")
    assert names.holds("metadata.py or data.py:3", "data.py")


def test_what_is_kept_is_not_wanted() -> None:
    later = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "run", "input": {"c": text}}]}
        for text in ("a/one.py", "a/two.py", "a/three.py", "a/four.py", "a/five.py", "a/six.py")
    ]
    gone = "a/one.py a/two.py a/three.py a/four.py a/five.py"
    messages = log(12, mentions=gone)
    messages[-1]["content"][0]["content"] = "a/six.py"
    with service.in_process() as client:
        (row,) = references.measured(client, [Moment(session(messages), len(messages), later)], references.CUT)
    assert sorted(row.wanted) == sorted(gone.split())
    assert row.tokens <= row.budget
    assert row.recall(references.SERVICE) == 1.0
    assert row.recall("tail") == 0.0


def test_every_strategy_keeps_to_its_budget() -> None:
    messages = log(30)
    count = service.counter(session(messages))
    for name, strategy in peers.strategies().items():
        assert count(strategy(messages, 200, count)) <= 201, name


def test_a_sidecar_of_a_raw_log_takes_the_clients_summary_out() -> None:
    messages = [*log(12), {"role": "user", "content": "SUMMARY OF THE CLIENT"}, *log(12)[1:]]
    told = {"kind": "raw-log", "boundaries": [{"at_message": 25, "summary": "SUMMARY OF THE CLIENT"}]}
    changed, (moment,) = sessions._compactions(session(messages), told)
    assert "SUMMARY" not in sessions.said(changed.messages)
    assert moment.reference == "SUMMARY OF THE CLIENT"
    assert moment.before["messages"] == messages[:25]
    assert moment.later == messages[26:]


def test_planted_values_stand_for_themselves() -> None:
    values = [value for item in items.ITEMS for value in (item.value, item.new) if value]
    said = [text for item in items.ITEMS for text in (item.text, item.update) if text]
    assert len(values) == len(set(values)) == len(said)
    for value in values:
        assert sum(names.holds(text, value) for text in said) == 1, value


def test_every_item_is_told_once_and_taken_back_later() -> None:
    carrier = planted.planted(session(log(60)))
    whole = sessions.said(carrier.session.messages)
    for planting in carrier.plantings:
        assert whole.count(planting.item.text) == 1
        if planting.item.update:
            assert planting.updated_at is not None
            assert planting.updated_at > planting.at
            assert planting.item.update in sessions.said(carrier.session.messages[: planting.updated_at])
    assert planted.planted(session(log(60))) == carrier


def test_a_good_model_loses_nothing_and_sizes_are_kept() -> None:
    carrier = planted.planted(session(log(120)))
    rounds = list(planted._rounds(carrier, 0.3, planted.GOOD, Facts(16 << 20)))
    assert len(rounds) == planted.ROUNDS
    assert planted.survival(rounds[-1:]) == 1.0
    assert all(one.size <= 0.31 for one in rounds[3:])


def test_instructions_are_judged_sentence_by_sentence(tmp_path: Path) -> None:
    cases = [
        {"text": "Fix it. Never push to main!", "instructions": ["Never push to main."]},
        {"text": "Prefer tabs, I think they read better.", "instructions": []},
        {"text": "The cat sat.", "instructions": ["The cat sat."]},
    ]
    (tmp_path / "some.json").write_text(json.dumps(cases))
    judged = instructions.measured(tmp_path)
    assert judged is not None
    assert (judged.labelled, judged.found, judged.right) == (2, 2, 1)
    assert judged.missed == ("The cat sat.",)
    assert (judged.recall, judged.precision) == (0.5, 0.5)


def test_without_a_labelled_set_nothing_is_judged(tmp_path: Path) -> None:
    assert instructions.measured(tmp_path) is None
