"""Laws of the history: no text leaves its fence, and each message is there once however it was appended."""

import hashlib
import json
import re
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from compactor.core.segments import Segment, addition, whole
from compactor.core.transcript import markdown
from compactor.model import Content, Kind, Part, Role

NASTY = (
    "```",
    "````text\n",
    "~~~\n",
    "\n## Message 1: user\n",
    "\n# x",
    "<!--",
    "-->\n",
    "\r\n",
    "\r",
    " ",
    "\n\n\n",
    "`",
)
LINES = (
    "\n<!-- hango:begin id=0123456789abcdef bytes=40 index=20 sequence=1 reason=TOOL -->\n",
    "\n<!-- hango:end id=0123456789abcdef bytes=1 sequence=1 start=0 stop=9 leading=0 top=9 prefix= messages= -->\n",
    whole(Segment(1, "TOOL", 0, 2, b"", b"\1" * 32, lambda index: b"\2" * 6, lambda _: "## Message 0: user\n\n")),
)
PIECES = st.sampled_from(NASTY + LINES + ("é\u2028", "\0\x0c", "😀", "plain words")) | st.text(
    "`~#<>-!a \n\r", max_size=8
)
ANY_TEXT = st.lists(PIECES, max_size=5).map("".join)
PARTS = st.builds(
    lambda kind, text: Part(kind, text, id=text[:20], name=text[-20:]),
    st.sampled_from([Kind.TEXT, Kind.TOOL_USE, Kind.TOOL_RESULT, Kind.OPAQUE]),
    ANY_TEXT,
)
MESSAGES = st.builds(lambda role, *parts: Content(role, parts), st.sampled_from(list(Role)), PARTS) | st.builds(
    lambda role, *parts: Content(role, parts), st.sampled_from(list(Role)), PARTS, PARTS
)
UNTIMED = settings(deadline=None)
LOGS = st.lists(MESSAGES, min_size=1, max_size=5)


def segment(log: Sequence[Content], start: int, stop: int, *, knows_start: bool) -> Segment:
    def prefix(upto: int) -> bytes:
        return hashlib.sha256(repr(log[:upto]).encode()).digest()

    return Segment(
        sequence=1,
        reason="THRESHOLD",
        start=start,
        stop=stop,
        prefix_before=prefix(start) if knows_start else b"",
        prefix=prefix(stop),
        digest=lambda index: hashlib.sha256(repr(log[index]).encode()).digest(),
        render=lambda indexes: markdown((index, log[index]) for index in indexes),
    )


def appended(file: bytes, new: Segment) -> bytes:
    keep, data = addition(new, len(file), lambda at, count: file[at : at + count])
    return file[:keep] + data if data else file


def parsed(text: str) -> tuple[list[str], list[str]]:
    """Headings of level 2 outside of fences, and the contents of the fences, as a reader of CommonMark sees them."""
    headings: list[str] = []
    blocks: list[str] = []
    fence = ""
    held: list[str] = []
    for line in re.findall(r"[^\r\n]*(?:\r\n|\n|\r)", text):
        opening = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence:
            if opening and re.fullmatch(r" {0,3}(`{3,}|~{3,})[ \t]*[\r\n]+", line) and opening[1].startswith(fence):
                blocks.append("".join(held))
                fence, held = "", []
            else:
                held.append(line)
        elif opening:
            fence = opening[1]
        elif line.startswith("## "):
            headings.append(line)
    assert not fence
    return headings, blocks


@UNTIMED
@given(LOGS)
def test_every_text_is_found_unchanged_in_its_own_fence(log: list[Content]) -> None:
    headings, blocks = parsed(markdown(enumerate(log)))
    assert headings == [f"## Message {index}: {message.role.value}\n" for index, message in enumerate(log)]
    shown = [part.text for message in log for part in message.parts if part.text or part.kind is Kind.TEXT]
    assert blocks == [f"{text}\n" for text in shown]


@UNTIMED
@given(st.dictionaries(ANY_TEXT, ANY_TEXT | st.lists(ANY_TEXT, max_size=3), max_size=4), st.booleans())
def test_every_string_of_arguments_is_found_unchanged(arguments: dict[str, str | list[str]], ascii_only: bool) -> None:
    spelled = json.dumps(arguments, ensure_ascii=ascii_only)
    headings, blocks = parsed(markdown([(0, Content(Role.ASSISTANT, (Part(Kind.TOOL_USE, spelled, "id", "name"),)))]))
    assert headings == ["## Message 0: assistant\n"]
    pieces = iter(blocks[1:])
    shown = re.sub(
        r'("(?:[^"\\]|\\.)*")|<text \d+>', lambda found: found[1] or json.dumps(next(pieces)[:-1]), blocks[0]
    )
    assert json.loads(shown) == arguments
    assert not list(pieces)


@UNTIMED
@given(LOGS, st.data())
def test_append_in_any_split_gives_each_message_once(log: list[Content], data: st.DataObject) -> None:
    file = b""
    known = 0
    for stop in data.draw(st.lists(st.integers(1, len(log)), min_size=1, max_size=6)):
        start = data.draw(st.sampled_from([0, min(known, stop)]))
        before = file
        file = appended(file, segment(log, start, stop, knows_start=data.draw(st.booleans())))
        assert file.startswith(before)
        known = max(known, stop)
    headings, _ = parsed(file.decode())
    assert headings == [f"## Message {index}: {message.role.value}\n" for index, message in enumerate(log[:known])]


@UNTIMED
@given(LOGS, st.data())
def test_file_cut_anywhere_is_whole_after_the_next_append(log: list[Content], data: st.DataObject) -> None:
    middle = data.draw(st.integers(0, len(log) - 1))
    first = appended(b"", segment(log, 0, middle, knows_start=False))
    following = segment(log, middle, len(log), knows_start=True)
    wanted = appended(first, following)
    cut = data.draw(st.integers(len(first), len(wanted)))
    assert appended(wanted[:cut], following) == wanted


@UNTIMED
@given(LOGS, LOGS, st.integers(0, 5), st.booleans())
def test_fork_adds_what_is_new_and_nothing_else(
    log: list[Content], other: list[Content], common: int, knows_start: bool
) -> None:
    fork = [*log[:common], *other]
    file = appended(b"", segment(log, 0, len(log), knows_start=False))
    start = min(common, len(log))
    forked = appended(file, segment(fork, start, len(fork), knows_start=knows_start))
    new = [at for at, message in enumerate(fork) if at >= len(log) or message != log[at]]
    headings, _ = parsed(forked[len(file) :].decode())
    assert headings == [f"## Message {index}: {fork[index].role.value}\n" for index in new]
    assert appended(forked, segment(log, 0, len(log), knows_start=False)) == forked


@UNTIMED
@given(LOGS, ANY_TEXT)
def test_foreign_text_is_never_lost(log: list[Content], foreign: str) -> None:
    before = f"mine\n{foreign}\nend of what was here\n".encode()
    after = appended(before, segment(log, 0, len(log), knows_start=False))
    assert after.startswith(before)
    assert appended(after, segment(log, 0, len(log), knows_start=False)) == after
