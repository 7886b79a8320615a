"""Rule R18: identifiers worth keeping are found wherever they stand, and ranked."""

from __future__ import annotations

import pytest

from compactor.core.retained import harvest, retain
from compactor.core.retained.identifiers import scan
from compactor.model import Content, Kind, Part, Role


def found_in(text: str) -> set[str]:
    found: dict[str, int] = {}
    scan(text, found, 1)
    return set(found)


@pytest.mark.parametrize(
    "identifier",
    [
        "/usr/local/share/app/config.yaml",
        "src/app/models/user.py",
        "./scripts/build-all.sh",
        ".github/workflows/ci.yml",
        "https://example.org/a/b?x=1&y=2#frag",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "9b1d7ff20e5c",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "v1.12.3",
        "2.0.1-rc.4",
        "ABC-123",
        "JIRA-7",
        "BC-90125",
        "2026-06-30",
        "2026-06-30T12:15:00",
        "$1,234.50",
        "HAT136",
        "M05KNL",
        "mia_li_3668",
        "127.0.0.1:8080",
        "100625347",
        "Ordner/Übersicht/März.csv",
    ],
)
@pytest.mark.parametrize("around", ["{}", 'see "{}" there', "id={}, next", "({}).", "値は {} です", '{{"id": "{}"}}'])
def test_identifier_is_found_whole(identifier: str, around: str) -> None:
    assert identifier in found_in(around.format(identifier))


@pytest.mark.parametrize(
    "text", ["line 12 of 340", "int64 or utf-8", "</div></span>", "12:30:45", "// note", "a...b", "3 px"]
)
def test_what_names_nothing_is_not_found(text: str) -> None:
    assert found_in(text) == set()


def test_identifier_at_the_end_of_a_long_result_is_found() -> None:
    identifier = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
    assert identifier in found_in("filler text\n" * 100_000 + f"created {identifier}")


def test_letter_of_an_escape_is_no_part_of_a_path() -> None:
    assert found_in(r"first\n/usr/lib/x.so\nhttps://example.org/a\tsecond") == {
        "/usr/lib/x.so",
        "https://example.org/a",
    }


def test_names_without_digits_are_found_in_what_people_write() -> None:
    text = "Set POSTHOG_API_KEY, see main.go and `run_all --fast`, or ask ops@example.org about C:\\Temp\\log.txt."
    kept = retain([harvest(Content(Role.USER, (Part(Kind.TEXT, text),)))]).identifiers
    assert {"POSTHOG_API_KEY", "main.go", "run_all --fast", "ops@example.org", "C:\\Temp\\log.txt"} <= set(kept)


def test_argument_of_a_tool_outranks_an_id_seen_in_a_result() -> None:
    messages = [
        Content(Role.ASSISTANT, (Part(Kind.TOOL_USE, '{"reservation_id": "K1NW8N"}', "c1", "get"),)),
        Content(Role.TOOL, (Part(Kind.TOOL_RESULT, "flight HAT023 by gift_card_8020792", "c1"),)),
    ]
    kept = retain([harvest(message) for message in messages]).identifiers
    assert kept[0] == "K1NW8N"
    assert {"HAT023", "gift_card_8020792"} <= set(kept)


def test_numbers_that_name_nothing_are_no_identifiers() -> None:
    arguments = '{"timeout": 120000, "output_mode": "content", "order_number": 4412345}'
    call = Content(Role.ASSISTANT, (Part(Kind.TOOL_USE, arguments, "c1", "Grep"),))
    assert retain([harvest(call)]).identifiers == ("4412345",)


def test_newer_sighting_outranks_an_older_one_of_the_same_kind() -> None:
    messages = [Content(Role.USER, (Part(Kind.TEXT, f"Look at order ORD-{number}."),)) for number in (111, 222, 333)]
    assert retain([harvest(message) for message in messages]).identifiers == ("ORD-333", "ORD-222", "ORD-111")
