"""Rule R18: the user's requests, newest first; pasted code does not crowd out the words."""

from __future__ import annotations

from compactor.core.retained import harvest, retain
from compactor.core.retained.requests import LONGEST_REQUEST, find
from compactor.model import Content, Kind, Part, Role


def said(text: str) -> Content:
    return Content(Role.USER, (Part(Kind.TEXT, text),))


def test_requests_stand_newest_first_and_verbatim() -> None:
    texts = ["First:\n- a\n- b", "Then the second thing.", "yes"]
    assert retain([harvest(said(text)) for text in texts]).requests == tuple(reversed(texts))


def test_equal_requests_stand_once_at_the_newest_place() -> None:
    assert retain([harvest(said(text)) for text in ("go on", "stop", "go on")]).requests == ("go on", "stop")


def test_long_request_keeps_its_head_and_its_tail() -> None:
    kept = find("Start here. " + "filler " * 2_000 + "End there.")
    assert kept.startswith("Start here.")
    assert kept.endswith("End there.")
    assert len(kept) <= LONGEST_REQUEST


def test_pasted_code_is_left_out_of_a_long_request() -> None:
    kept = find("Why does this fail?\n```\n" + "x = 1\n" * 1_000 + "```\nPlease explain it to me.")
    assert kept.startswith("Why does this fail?")
    assert kept.endswith("Please explain it to me.")
    assert "characters of code left out" in kept


def test_text_next_to_results_is_a_request() -> None:
    parts = (Part(Kind.TOOL_RESULT, "ok", "c1"), Part(Kind.TEXT, "[Request interrupted by user]\nUse the other file."))
    assert harvest(Content(Role.USER, parts)).request == "Use the other file."


def test_output_in_the_shape_of_a_user_message_is_no_request_but_the_first_message_is() -> None:
    end = "\n(Open file: /a.py)\n(Current directory: /repo)\nbash-$"
    found = [harvest(said("Solve the issue." + end)), harvest(said("3 passed" + end))]
    assert retain(found).requests == ("Solve the issue." + end,)
