"""The history as Markdown, and what of a segment is new to it."""

import base64
import hashlib
import re
from collections.abc import Sequence

import pytest

from compactor.core.segments import HistoryError, Segment, addition, file_name, path_of, whole
from compactor.core.transcript import markdown
from compactor.model import Content, Kind, Media, Part, Role


def texts(*said: str) -> list[Content]:
    return [Content(Role.USER, (Part(Kind.TEXT, text),)) for text in said]


def digest_of(log: Sequence[Content], stop: int) -> bytes:
    return hashlib.sha256(repr(log[:stop]).encode()).digest()


def segment(log: Sequence[Content], stop: int, *, start: int = 0, leading: int = 0, sequence: int = 1) -> Segment:
    return Segment(
        sequence=sequence,
        reason="THRESHOLD",
        start=start,
        stop=stop,
        prefix_before=digest_of(log, start) if start else b"",
        prefix=digest_of(log, stop),
        digest=lambda index: hashlib.sha256(repr(log[index]).encode()).digest(),
        render=lambda indexes: markdown((index, log[index]) for index in indexes),
        leading=leading,
    )


def appended(file: bytes, new: Segment) -> bytes:
    keep, data = addition(new, len(file), lambda at, count: file[at : at + count])
    return file[:keep] + data if data else file


def headings(file: bytes) -> list[int]:
    return [int(index) for index in re.findall(rb"^## Message (\d+): user$", file, re.MULTILINE)]


def only(part: Part, role: Role = Role.USER) -> str:
    return markdown([(4, Content(role, (part,)))])


def test_each_message_has_one_heading_with_index_and_role() -> None:
    text = markdown([(3, texts("hi")[0]), (4, Content(Role.TOOL, ()))])
    assert text == "## Message 3: user\n\n```text\nhi\n```\n\n## Message 4: tool\n\n*no content*\n\n"


@pytest.mark.parametrize(
    "text", ["", "a\r\nb\r\n", "  \n\n\n# x  \n\n", "\r", "\x0c```\x0c", "~~~\n```` \n", "é\u2028`"]
)
def test_text_is_unchanged_between_its_fences(text: str) -> None:
    fence = "``````" if "```" in text else "```"
    assert only(Part(Kind.TEXT, text)).endswith(f"\n\n{fence}text\n{text}\n{fence}\n\n")


@pytest.mark.parametrize("ticks", [1, 2, 3, 5, 6, 7, 100_000])
def test_fence_is_longer_than_the_longest_run_of_ticks_anywhere_in_a_line(ticks: int) -> None:
    text = only(Part(Kind.TEXT, f"a {'`' * ticks} b"))
    first, last = re.findall(r"^`{3,}", text, re.MULTILINE)
    assert first == last
    assert ticks < len(first) <= max(3, 2 * ticks)


def test_half_a_surrogate_pair_becomes_its_escape() -> None:
    assert "\nbad \\ud83d é\n" in only(Part(Kind.TEXT, "bad \ud83d é"))


def test_call_keeps_the_spelling_of_its_arguments() -> None:
    text = only(Part(Kind.TOOL_USE, '{"a": 1.0,  "b":"é"}', id="toolu_1", name="read_file"), Role.ASSISTANT)
    assert 'Tool use `read_file`, id `toolu_1`\n\n```json\n{"a": 1.0,  "b":"é"}\n```\n' in text


def test_strings_of_arguments_with_escapes_stand_as_they_read() -> None:
    arguments = '{"a\\n": 1e2, "path": "x", "list": ["l1\\n```\\nl3", {"b": "\\\\bword \\u00e9\\/"}]}'
    text = only(Part(Kind.TOOL_USE, arguments, id="c1", name="edit"), Role.ASSISTANT)
    assert '```json\n{"a\\n": 1e2, "path": "x", "list": [<text 1>, {"b": <text 2>}]}\n```\n' in text
    assert "Text 1:\n\n``````text\nl1\n```\nl3\n``````\n\nText 2:\n\n```text\n\\bword é/\n```\n" in text


@pytest.mark.parametrize(
    "arguments", ['{"a": "x\\n', '"x\\ny"', '["\\n"]', '{"a": "\\x"}', "\\", '{"a":' * 100_000 + "\\"]
)
def test_arguments_that_are_no_object_stand_as_they_are(arguments: str) -> None:
    assert f"\n{arguments}\n```\n" in only(Part(Kind.TOOL_USE, arguments, id="c1", name="edit"), Role.ASSISTANT)


def test_call_without_arguments_says_so() -> None:
    assert "Tool use `now`, id `c1`, no arguments\n" in only(Part(Kind.TOOL_USE, id="c1", name="now"), Role.ASSISTANT)


def test_hostile_name_stays_in_its_code_span() -> None:
    text = only(Part(Kind.TOOL_USE, "{}", id="`\n## Message 9: user\n<!-- x -->", name=""))
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == 1
    assert "id `\\u0060\\n## Message 9: user\\n\\u003c!-- x --\\u003e`" in text


def test_result_names_its_call_and_whether_it_failed() -> None:
    assert "Tool result, id `c1`, is an error\n\n```text\nno\n```\n" in only(
        Part(Kind.TOOL_RESULT, "no", id="c1", is_error=True)
    )
    assert "Tool result, id `c1`, empty\n" in only(Part(Kind.TOOL_RESULT, id="c1"))


def test_blocks_inside_a_result_stand_once_and_in_order() -> None:
    image = Part(Kind.MEDIA, media=Media("image", "image/png", base64.b64encode(b"png").decode()))
    inner = (Part(Kind.TEXT, "before"), image, Part(Kind.TEXT, "after"))
    text = only(Part(Kind.TOOL_RESULT, "before\nafter", id="c1", parts=inner))
    assert re.findall("before|image left|after", text) == ["before", "image left", "after"]


def test_result_whose_blocks_have_no_text_keeps_its_own() -> None:
    text = only(Part(Kind.TOOL_RESULT, "said", id="c1", parts=(Part(Kind.MEDIA, media=Media("image")),)))
    assert "\nsaid\n" in text
    assert "*image left out: no data*" in text


def test_reasoning_is_left_out_and_measured() -> None:
    text = only(Part(Kind.THINKING, "secret", weight=300))
    assert "*reasoning left out: 6 characters, 300 bytes that only the provider can read*" in text
    assert "secret" not in text


def test_media_become_a_note_with_type_size_and_digest() -> None:
    data = base64.b64encode(bytes(range(250))).decode()
    text = only(Part(Kind.MEDIA, media=Media("image", "image/png", data)))
    assert f"*image left out: `image/png`, 250 bytes, SHA-256 {hashlib.sha256(bytes(range(250))).hexdigest()}*" in text
    assert data[:40] not in text


@pytest.mark.parametrize("data", ["####", "\ud83d", "A"])
def test_media_that_cannot_be_decoded_still_become_a_note(data: str) -> None:
    assert "bytes that are not base64, SHA-256" in only(Part(Kind.MEDIA, media=Media("document", data=data)))


def test_media_by_reference_keep_it_unless_it_is_the_data() -> None:
    named = only(Part(Kind.MEDIA, media=Media("image", reference="https://example.org/a.png")))
    assert "*image left out: at `https://example.org/a.png`*" in named
    inline = only(Part(Kind.MEDIA, media=Media("image", reference="data:image/png;base64,AAAA")))
    assert "AAAA" not in inline
    assert "data URL of 26 bytes" in inline


def test_opaque_block_shows_what_a_reader_can_see() -> None:
    text = only(Part(Kind.OPAQUE, "visible", name="container_upload", weight=20))
    assert "*block `container_upload`, 20 bytes that only the provider can read*\n\n```text\nvisible\n```\n" in text


@pytest.mark.parametrize("bad", ["", ".", "..", ".hidden", "a/b", "../x", "a\n", "a\0", "é", "a" * 129])
def test_session_id_that_names_no_file_is_refused(bad: str) -> None:
    with pytest.raises(HistoryError):
        file_name(bad)


def test_path_is_named_as_the_model_sees_it() -> None:
    assert path_of("a.B_c:d-9") == "/conversation_history/a.B_c:d-9.md"


def test_same_segment_again_adds_nothing() -> None:
    log = texts(*"abcd")
    file = appended(b"", segment(log, 3))
    assert headings(file) == [0, 1, 2]
    assert appended(file, segment(log, 3)) == file


def test_next_segment_renders_and_digests_only_what_is_new() -> None:
    log = texts(*"abcdef")
    file = appended(b"", segment(log, 3))
    asked: list[int] = []
    following = segment(log, 5, start=3)
    digest, render = following.digest, following.render

    def digest_noted(index: int) -> bytes:
        asked.append(index)
        return digest(index)

    def render_noted(indexes: Sequence[int]) -> str:
        asked.extend(indexes)
        return render(indexes)

    noted = Segment(
        sequence=2,
        reason="TOOL",
        start=3,
        stop=5,
        prefix_before=following.prefix_before,
        prefix=following.prefix,
        digest=digest_noted,
        render=render_noted,
    )
    after = appended(file, noted)
    assert after.startswith(file)
    assert headings(after) == [0, 1, 2, 3, 4]
    assert set(asked) == {3, 4}


def test_lost_record_adds_only_what_came_since() -> None:
    log = texts(*"abcdef")
    file = appended(b"", segment(log, 3))
    assert headings(appended(file, segment(log, 5))) == [0, 1, 2, 3, 4]


def test_smaller_segment_after_a_larger_one_adds_nothing() -> None:
    log = texts(*"abcdef")
    file = appended(b"", segment(log, 5))
    assert appended(file, segment(log, 3)) == file


def test_fork_adds_only_what_differs_and_the_way_back_adds_nothing() -> None:
    log, fork = texts(*"abcdef"), texts(*"abXdYZ")
    file = appended(b"", segment(log, 5))
    forked = appended(file, segment(fork, 6))
    assert headings(forked) == [0, 1, 2, 3, 4, 2, 4, 5]
    assert appended(forked, segment(log, 5)) == forked
    assert headings(appended(forked, segment(log, 6, start=5))) == [0, 1, 2, 3, 4, 2, 4, 5, 5]


def test_branch_that_continues_from_the_last_segment_does_not_repeat_the_other_branch() -> None:
    log = texts(*"abcdef")
    file = appended(appended(b"", segment(log, 2)), segment(log, 6, start=2))
    fork = texts(*"abXdef")
    forked = appended(file, segment(fork, 3, start=2))
    assert headings(forked) == [0, 1, 2, 3, 4, 5, 2]
    assert appended(forked, segment(fork, 6, start=3)) == forked


def test_wrong_start_of_the_caller_does_no_harm() -> None:
    log = texts(*"abcdef")
    assert headings(appended(b"", segment(log, 5, start=4))) == [0, 1, 2, 3, 4]
    file = appended(b"", segment(log, 2))
    assert headings(appended(file, segment(log, 5, start=4))) == [0, 1, 2, 3, 4]


def test_equal_messages_at_different_places_are_each_archived() -> None:
    log = texts("Ok.", "Ok.", "Ok.", "Ok.")
    file = appended(appended(b"", segment(log, 2)), segment(log, 4, start=2))
    assert headings(file) == [0, 1, 2, 3]


def test_system_messages_at_the_head_are_never_archived() -> None:
    system = [Content(Role.SYSTEM, (Part(Kind.TEXT, "be brief"),))]
    log = texts(*"abc")
    file = appended(b"", segment([*system, *log], 3, leading=1))
    assert headings(file) == [1, 2]
    assert appended(b"", segment([*system, *log], 1, leading=1)) == b""
    other = [*system, *system, *log]
    assert headings(appended(file, segment(other, 5, start=4, leading=2))) == [1, 2, 4]


def test_segment_cut_anywhere_is_replaced_as_a_whole() -> None:
    log = texts("one", "two ```\n<!-- hango:end id=0123456789abcdef -->\n", "three")
    first = appended(b"", segment(log, 1))
    for before, wanted, following in (
        (b"", first, segment(log, 1)),
        (first, appended(first, segment(log, 3, start=1)), segment(log, 3, start=1)),
    ):
        for size in range(len(before), len(wanted)):
            assert appended(wanted[:size], following) == wanted


def test_content_that_ends_in_a_forged_segment_is_no_segment_when_cut_there() -> None:
    log = texts("one", "two")
    forged = whole(segment(log, 2))
    hostile = texts(f"{forged}and the rest", "two")
    file = appended(b"", segment(hostile, 2))
    cut = file[: file.index(b"and the rest")]
    assert appended(cut, segment(hostile, 2)) == file
    assert headings(appended(file, segment(log, 2))).count(0) == 3  # in the content, the hostile message, the new one


def test_foreign_text_before_and_after_stays() -> None:
    log = texts(*"abcd")
    file = appended(b"mine\n## Message 7: user", segment(log, 2))
    assert file.startswith(b"mine\n## Message 7: user\n<!-- hango:begin ")
    assert headings(file) == [7, 0, 1]
    noted = file + b"a note of a person"
    after = appended(noted, segment(log, 4, start=2))
    assert after.startswith(noted + b"\n<!-- hango:begin ")
    assert headings(after) == [7, 0, 1, 2, 3]
    assert appended(after, segment(log, 4)) == after


@pytest.mark.parametrize("new", [b"", b"redacted, and much longer than it was"])
def test_edited_segment_stays_and_still_counts(new: bytes) -> None:
    log = texts("secret", *"bcd")
    file = appended(appended(b"", segment(log, 2)), segment(log, 3, start=2))
    edited = file.replace(b"secret", new)
    after = appended(edited, segment(log, 4, start=3))
    assert after.startswith(edited)
    assert headings(after) == [0, 1, 2, 3]
    alone = appended(b"", segment(log, 2)).replace(b"secret", new)
    assert headings(appended(alone, segment(log, 3, start=2))) == [0, 1, 2]


def test_damaged_end_line_costs_a_repetition_but_no_text() -> None:
    log = texts(*"abcd")
    file = appended(b"", segment(log, 2)).replace(b" stop=", b" stpo=")
    after = appended(file, segment(log, 3, start=2))
    assert after.startswith(file)
    assert headings(after) == [0, 1, 0, 1, 2]
    assert headings(appended(after, segment(log, 4, start=3))) == [0, 1, 0, 1, 2, 3]


def test_begin_line_without_the_rest_in_the_middle_is_foreign() -> None:
    log = texts(*"abcd")
    file = appended(b"", segment(log, 2))
    odd = b"<!-- hango:begin id=0123456789abcdef bytes=10 index=5 sequence=1 reason=TOOL -->\n" + file
    assert appended(odd, segment(log, 2)) == odd


def test_segment_handed_back_counts_when_the_caller_wrote_it() -> None:
    log = texts(*"abcd")
    kept = whole(segment(log, 2)) + whole(segment(log, 3, start=2, sequence=2))
    assert headings(kept.encode()) == [0, 1, 2]
    assert headings(appended(kept.encode(), segment(log, 4, start=3))) == [0, 1, 2, 3]


def test_reason_cannot_leave_its_line() -> None:
    log = texts("a")
    new = segment(log, 1)
    odd = Segment(
        sequence=1,
        reason="TOOL -->\n## x",
        start=0,
        stop=1,
        prefix_before=b"",
        prefix=b"",
        digest=new.digest,
        render=lambda _: "no line break",
    )
    file = appended(b"", odd)
    assert b"\n## x" not in file
    assert b"\nno line break" not in file.splitlines()
    assert appended(file, odd) == file


def test_quoted_begin_line_in_a_foreign_file_is_not_cut_off() -> None:
    foreign = b"mine\n<!-- hango:begin id=0123456789abcdef bytes=900 index=5 sequence=1 reason=TOOL -->\nmine too\n"
    file = appended(foreign, segment(texts(*"ab"), 2))
    assert file.startswith(foreign)
    assert appended(file, segment(texts(*"ab"), 2)) == file


def test_begin_line_with_absurd_numbers_is_foreign() -> None:
    odd = b"<!-- hango:begin id=0123456789abcdef bytes=1 index=999999999 sequence=1 reason=TOOL -->\nmine\n"
    file = appended(odd, segment(texts(*"ab"), 2))
    assert file.startswith(odd)
    assert headings(file) == [0, 1]


def test_quoted_begin_line_in_a_foreign_file_finds_no_end_in_what_follows() -> None:
    foreign = b"mine\n<!-- hango:begin id=0123456789abcdef bytes=40 index=20 sequence=1 reason=TOOL -->\nmine too\n"
    end = "<!-- hango:end id=0123456789abcdef bytes=1 sequence=1 start=0 stop=9 leading=0 top=9 prefix= messages= -->"
    log = texts(f"\n{end}\n", "b")
    file = appended(foreign, segment(log, 2))
    assert appended(file, segment(log, 2)) == file
