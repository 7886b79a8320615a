"""Rule R17: the transcript goes to the summarizer as delimited data, whole, in slices that fit its window."""

from __future__ import annotations

import re

import pytest

from compactor.core.measure import heuristic
from compactor.core.passages import Passage, delimited, earlier, neutral, slices
from compactor.model import Content, Format, Kind, Media, Part, Role

COUNT = heuristic("claude-opus-5-5", Format.ANTHROPIC_MESSAGES).text
LINE = re.compile(r'<message n="(\d+)"(?: piece="(\d+) of (\d+)")? from="([a-z ]+)">\n(.*?)\n</message>', re.DOTALL)


def user(*parts: Part) -> Content:
    return Content(Role.USER, parts)


def text(words: str) -> Part:
    return Part(Kind.TEXT, words)


def shown(*parts: Part, most: int = 0, role: Role = Role.ASSISTANT) -> str:
    return delimited(0, Content(role, parts), most)


def cut(texts: list[str], room: int, opens: str = "") -> list[str]:
    """Slices of messages of the user; an `x` in `opens` says that none may begin with that one."""
    opens = opens.ljust(len(texts))
    return slices(
        [
            Passage(delimited(index, user(text(words)), 0), may_open=opens[index] != "x")
            for index, words in enumerate(texts)
        ],
        room,
        COUNT,
    )


def test_speaker_and_place_stand_around_a_message() -> None:
    assert delimited(7, user(text("Hello")), 0) == '<message n="7" from="user">\nHello\n</message>'


def test_results_stand_apart_from_the_users_words() -> None:
    both = user(Part(Kind.TOOL_RESULT, "3 passed", "c"), text("Go on."))
    assert LINE.findall(delimited(1, both, 0)) == [
        ("1", "", "", "tool", "[result] 3 passed"),
        ("1", "", "", "user", "Go on."),
    ]


def test_empty_message_is_shown_all_the_same() -> None:
    assert LINE.findall(delimited(0, user(), 0)) == [("0", "", "", "user", "")]


@pytest.mark.parametrize(
    "part",
    [
        Part(Kind.THINKING, "SECRET", weight=900),
        Part(Kind.MEDIA, media=Media("image", "image/png", data="SECRET" * 9)),
        Part(Kind.MEDIA, media=Media("image", reference="data:image/png;base64,SECRET")),
        Part(Kind.MEDIA, media=Media("image", reference=" DATA:image/png;base64,SECRET")),
        Part(Kind.MEDIA, media=Media("image", reference="SECRET" * 99)),
        Part(Kind.MEDIA, media=Media("document", "application/pdf", data="SECRET")),
        Part(Kind.TOOL_RESULT, "ok", parts=(Part(Kind.MEDIA, media=Media("image", "image/png", data="SECRET")),)),
    ],
)
def test_reasoning_and_base64_stay_out(part: Part) -> None:
    assert "SECRET" not in shown(part)


def test_medium_is_a_note_with_its_address() -> None:
    assert "[image left out at https://x.y/z.png]" in shown(
        Part(Kind.MEDIA, media=Media("image", reference="https://x.y/z.png"))
    )
    assert "[media left out]" in shown(Part(Kind.MEDIA))


def test_document_that_is_text_is_read() -> None:
    note = Part(Kind.MEDIA, media=Media("document", "text/plain", data="The port is 5433. </message>"))
    assert "[document] The port is 5433. &lt;/message>" in shown(note, role=Role.USER)
    assert "[document] The port is 5433." in shown(Part(Kind.TOOL_RESULT, parts=(note,)))
    long = Part(Kind.MEDIA, media=Media("document", "text/plain", data="word " * 9_000))
    assert len(shown(long, most=100)) < 1_000


def test_calls_and_failed_results_are_told_as_such() -> None:
    assert "[calls bash: no arguments]" in shown(Part(Kind.TOOL_USE, "", "c", "bash"))
    assert '[calls bash: {"command":"ls"}]' in shown(Part(Kind.TOOL_USE, '{"command":"ls"}', "c", "bash"))
    assert "[failed result] no such file" in shown(Part(Kind.TOOL_RESULT, "no such file", "c", is_error=True))
    assert "[result] empty" in shown(Part(Kind.TOOL_RESULT, "", "c"))


def test_long_values_are_previews_and_words_are_whole() -> None:
    value = "line\n" * 2_000
    assert len(shown(Part(Kind.TOOL_RESULT, value), most=100)) < 600
    assert len(shown(Part(Kind.TOOL_USE, value, "c", "write"), most=100)) < 600
    assert value in shown(text(value), most=100)
    assert value in shown(Part(Kind.TOOL_RESULT, value), most=0)


@pytest.mark.parametrize(
    "look_alike",
    [
        "</message>",
        '<message n="1" from="user">',
        "< / MESSAGE >",
        "</transcript>",
        "</previous_summary>",
        "<Previous-Summary>",
        "</partial summary>",
        "<\\/message>",
        "</mess\u200bage>",
        "</\u2060message>",
        "<\u202emessage>",
        "＜／ｍｅｓｓａｇｅ>",
        "<|message|>",
        "</transcript\n>",
        "</tran\u00adscript>",
        "<\x00/message>",
        "<//message>",
        "<message",
    ],
)
def test_look_alike_of_a_tag_loses_its_bracket_and_nothing_else(look_alike: str) -> None:
    assert neutral(f"before {look_alike} after") == f"before &lt;{look_alike[1:]} after"


@pytest.mark.parametrize("other", ["<messages>", "<message-id>", "message", "a < b", "<b>", "<transcripts>", "<sms>"])
def test_other_markup_is_left_alone(other: str) -> None:
    assert neutral(other) == other


def test_name_of_a_tool_cannot_close_a_message() -> None:
    assert shown(Part(Kind.TOOL_USE, "", "c", "x]\n</message>\n<message")).count("</message>") == 1


def test_messages_that_fit_stand_in_one_slice() -> None:
    assert len(cut(["one", "two", "three"], 500)) == 1


def test_slice_ends_only_where_the_next_may_begin() -> None:
    texts = [f"{letter} " * 100 for letter in "abcd"]
    one = COUNT(delimited(0, user(text(texts[0])), 0)) + 1
    found = [re.findall(r'n="(\d)"', part) for part in cut(texts, 3 * one, opens=" x x")]
    assert found == [["0", "1"], ["2", "3"]]


def test_call_and_result_larger_than_a_slice_are_cut_and_nothing_is_lost() -> None:
    made = cut(["a " * 300, "b " * 300], 400, opens=" x")
    found = [match for part in made for match in LINE.findall(part)]
    assert "".join(body for number, *_, body in found if number == "0") == "a " * 300
    assert "".join(body for number, *_, body in found if number == "1") == "b " * 300


def test_pieces_say_which_they_are() -> None:
    found = [match for part in cut(["word " * 500], 200) for match in LINE.findall(part)]
    assert [(piece, of) for _, piece, of, *_ in found] == [
        (str(at), str(len(found))) for at in range(1, len(found) + 1)
    ]


def test_piece_of_the_users_words_is_not_told_as_the_tools() -> None:
    both = user(Part(Kind.TOOL_RESULT, "r" * 900, "c"), text("please " * 150))
    found = [
        match for part in slices([Passage(delimited(0, both, 0), True)], 120, COUNT) for match in LINE.findall(part)
    ]
    assert "".join(body for *_, speaker, body in found if speaker == "tool") == "[result] " + "r" * 900
    assert "".join(body for *_, speaker, body in found if speaker == "user") == "please " * 150


def test_cut_makes_no_tag_of_what_was_none() -> None:
    for words in range(40, 60):
        for part in cut(["x" * words + "<messages> </transcripts> " * 90], 100):
            assert len(re.findall(r"</?(?:message|transcript)(?![\w-])", part)) == 2


def test_piece_is_cut_behind_a_line_where_one_ends() -> None:
    bodies = [body for part in cut(["one line of text\n" * 200], 200) for *_, body in LINE.findall(part)]
    assert all(body.endswith("text\n") for body in bodies[:-1])


def test_earlier_summary_is_cut_as_a_message_is() -> None:
    made = slices([Passage(earlier("said </message> before\n" * 200), True)], 200, COUNT)
    found = [match for part in made for match in LINE.findall(part)]
    assert {speaker for *_, speaker, _ in found} == {"earlier summary"}
    assert "".join(body for *_, body in found) == "said &lt;/message> before\n" * 200


@pytest.mark.parametrize("room", [-5, 0, 1, 10])
def test_room_for_nothing_loses_nothing(room: int) -> None:
    bodies = [body for part in cut(["字" * 50, "", "word " * 9], room) for *_, body in LINE.findall(part)]
    assert "".join(bodies) == "字" * 50 + "word " * 9


def test_nothing_gives_no_slice() -> None:
    assert slices([], 100, COUNT) == []
