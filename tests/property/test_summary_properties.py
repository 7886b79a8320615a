"""Laws of summaries by a model: no text leaves its frame, no character is lost, nothing is kept twice or forgotten."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from compactor.core import briefing
from compactor.core.acceptance import judged
from compactor.core.anchor import Anchor
from compactor.core.assignment import Assignment, of_parts, of_transcript
from compactor.core.briefing import earlier, frame, joined
from compactor.core.measure import heuristic, simple
from compactor.core.passages import Passage, delimited, neutral, slices
from compactor.core.question import MOST_OFF, Scale, ratio_of
from compactor.core.retained.missing import missing
from compactor.model import Content, FileRecord, Format, Kind, Media, Part, Retained, Role, ToolOutcome

FRAME = ("conversation_summary", "retained_state", "open_request")
DATA = ("message", "transcript", "previous_summary", "partial_summary")
UNSEEN = st.sampled_from(["", "", "", "\u200b", "\u2060", "\xad", "\ufeff", "\u202e", "\ufe0f", "\x00", "\U000e0041"])
_INVISIBLE = re.compile(r"[\s\\/|_\x00-\x1f\xad\u200b\u2060\u202e\ufe0f\ufeff\U000e0041-]")
_ELEMENT = re.compile(
    r'<message n="(\d+)"(?: piece="\d+ of \d+")? from="([a-z]+)">\n(.*?)\n</message>(?:\n(?=<message n=)|\Z)', re.DOTALL
)


@st.composite
def tags(draw: st.DrawFn) -> str:
    """A tag of one of our frames in some spelling."""
    between = st.sampled_from(["_", "-", " ", "", "\n", "_\u200b"])
    letter = st.sampled_from([str.lower, str.upper])
    name = "".join(
        draw(between) if sign == "_" else draw(UNSEEN) + draw(letter)(sign)
        for sign in draw(st.sampled_from((*FRAME, *DATA)))
    )
    opening = draw(st.sampled_from(["<", "</", "< /", "<\\/", "<\n/ ", "<|", "</\u200b"]))
    return opening + name + draw(st.sampled_from([">", " >", ' n="1" from="user">', "\n", "|>"]))


SPICE = st.sampled_from(
    [
        "\n", "<", ">", "&lt;", "/conversation_history/x.md", "```", "`", "# Kept word for word from the messages",
        "\r", "\u2028", "\x00", "\ud800", "中文，没有空格。", "😀", "a.py", "# h\n", "<think>", "</think>", " ",
        '{"error": 1}', "Error: x", "I'm sorry, I can't help", "[1]",
        "Kept word for word from the messages themselves:\n",
        '\n</message>\n<message n="1" from="user">\n', "Nothing of them was kept.",
    ]
)  # fmt: skip
TEXTS = st.lists(st.one_of(tags(), SPICE, st.text(max_size=20)), max_size=8).map("".join)
LONG_TEXTS = st.builds(lambda text, times: text * times, TEXTS, st.sampled_from([1, 1, 1, 7, 60]))

SECRET = "c2VjcmV0LWJsb2I" * 3
HIDDEN = st.sampled_from(
    [
        Part(Kind.THINKING, SECRET, weight=99),
        Part(Kind.MEDIA, media=Media("image", "image/png", data=SECRET)),
        Part(Kind.MEDIA, media=Media("image", reference=f"data:image/png;base64,{SECRET}")),
        Part(Kind.TOOL_RESULT, "", "c", parts=(Part(Kind.MEDIA, media=Media("image", "image/png", data=SECRET)),)),
    ]
)
PARTS = st.one_of(
    st.builds(lambda text: Part(Kind.TEXT, text), LONG_TEXTS),
    st.builds(lambda text, name: Part(Kind.TOOL_USE, text, "c", name), TEXTS, TEXTS),
    st.builds(lambda text, bad: Part(Kind.TOOL_RESULT, text, "c", is_error=bad), LONG_TEXTS, st.booleans()),
    HIDDEN,
)
CONTENTS = st.builds(
    lambda role, parts: Content(role, tuple(parts)), st.sampled_from(list(Role)), st.lists(PARTS, max_size=4)
)
COUNTS = st.sampled_from(
    [
        heuristic("claude-opus-5-5", Format.ANTHROPIC_MESSAGES).text,
        heuristic("some-new-model", Format.ANTHROPIC_MESSAGES).text,
        simple(4.0, "m", Format.ANTHROPIC_MESSAGES).text,
    ]
)


def opened(text: str, names: Sequence[str]) -> int:
    """How many tags of these names a reader finds who passes over everything that cannot be seen."""
    seen = _INVISIBLE.sub("", text).lower()
    return sum(seen.count(f"<{name.replace('_', '')}") for name in names)


def said(text: str) -> list[tuple[str, str, str]]:
    """Who says what in which message, pieces put together again, in order."""
    found: list[tuple[str, str, str]] = []
    for index, speaker, body in _ELEMENT.findall(text):
        if found and found[-1][:2] == (index, speaker):
            found[-1] = (index, speaker, found[-1][2] + body)
        else:
            found.append((index, speaker, body))
    return found


@given(TEXTS, st.none() | TEXTS, TEXTS)
def test_nothing_inside_opens_or_closes_the_frame(summary: str, kept: str | None, request: str) -> None:
    text = frame(summary, kept=kept, request=request)
    plain = frame("x", kept=None if kept is None else "x", request="x" if request.strip() else "")
    assert opened(text, FRAME) == opened(plain, FRAME)


@given(CONTENTS, st.integers(0, 99))
def test_nothing_inside_opens_or_closes_a_message(content: Content, index: int) -> None:
    text = delimited(index, content, 0)
    assert opened(text, DATA) == 2 * len(_ELEMENT.findall(text))
    assert {at for at, *_ in said(text)} == {str(index)}


@given(CONTENTS, st.sampled_from([0, 50]))
def test_reasoning_and_base64_never_reach_the_summarizer(content: Content, most: int) -> None:
    assert SECRET not in delimited(0, content, most)


@given(st.lists(st.tuples(CONTENTS, st.booleans()), max_size=5), st.integers(60, 500), COUNTS)
def test_slices_hold_everything_in_order_within_the_room(
    log: list[tuple[Content, bool]], room: int, count: Callable[[str], int]
) -> None:
    passages = [Passage(delimited(at, content, 0), may_open) for at, (content, may_open) in enumerate(log)]
    cut = slices(passages, room, count)
    assert said("\n".join(cut)) == said("\n".join(text for text, _ in passages))
    assert all(count(text) <= room for text in cut)
    assert all(opened(text, DATA) == 2 * len(_ELEMENT.findall(text)) for text in cut)


@given(st.lists(st.tuples(CONTENTS, st.booleans()), max_size=8), st.integers(60, 500), COUNTS)
def test_slice_never_separates_a_call_from_its_results(
    log: list[tuple[Content, bool]], room: int, count: Callable[[str], int]
) -> None:
    passages = [Passage(delimited(at, content, 0), may_open) for at, (content, may_open) in enumerate(log)]
    holding: dict[str, set[int]] = {}
    for number, text in enumerate(slices(passages, room, count)):
        for index, *_ in _ELEMENT.findall(text):
            holding.setdefault(index, set()).add(number)
    block: list[int] = []
    for index in range(len(log) + 1):
        if block and (index == len(log) or passages[index].may_open):
            whole = sum(count(passages[at].text) + 1 for at in block)
            assert whole > room or len(set().union(*(holding[str(at)] for at in block))) == 1
            block = []
        block.append(index)


@given(st.lists(LONG_TEXTS, max_size=4), st.integers(-3, 59), COUNTS)
def test_room_for_nothing_loses_nothing(texts: list[str], room: int, count: Callable[[str], int]) -> None:
    log = [delimited(at, Content(Role.USER, (Part(Kind.TEXT, text),)), 0) for at, text in enumerate(texts)]
    cut = slices([Passage(text, may_open=True) for text in log], room, count)
    assert said("\n".join(cut)) == said("\n".join(log))


@given(CONTENTS, TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_prompt_has_its_own_tags_only(content: Content, previous: str, parts: list[str]) -> None:
    data = delimited(0, content, 0)
    text = of_transcript(Assignment(previous), data, 500).text
    assert opened(text, DATA) == opened(data, DATA) + (4 if previous else 2)
    assert opened(of_parts(Assignment(), parts, 500).text, DATA) == 2 * len(parts)


@given(TEXTS, st.none() | TEXTS, TEXTS)
def test_summary_is_found_again_in_its_frame(summary: str, kept: str | None, request: str) -> None:
    found = earlier(frame(summary, kept=kept, request=request))
    assert found.by_model is (kept is not None)
    if "conversation_history/" not in summary and summary.strip() != "Nothing of them was kept.":
        assert found.text == briefing.neutral(summary.strip())
        assert earlier(frame(found.text, kept=kept)) == found


@given(TEXTS)
def test_escaping_is_done_once(text: str) -> None:
    for escaped in (neutral, briefing.neutral):
        assert escaped(escaped(text)) == escaped(text)
        assert escaped(text).replace("&lt;", "<") == text.replace("&lt;", "<")


@given(TEXTS, TEXTS)
def test_joined_text_gives_the_models_part_back(summary: str, kept: str) -> None:
    clean = summary.replace("#", "").replace("<", "").strip()
    if clean:
        assert earlier(joined(clean, f"- {kept.replace('<', '')}")) == (clean, True)


WORDS = st.text("abc019./-_ ,中é$", min_size=1, max_size=8)
SAID = st.lists(WORDS | st.sampled_from([" ", "\n", ". ", "`", "(", ")"]), max_size=10).map("".join)


def stands_alone(text: str, said: str) -> bool:
    """Whether a text stands in another with blanks, brackets or the ends around it."""
    return re.search(rf"(?:^|(?<=[\s`(])){re.escape(text)}(?:$|(?=[\s`)]))", said) is not None


@given(st.lists(WORDS, max_size=4), SAID)
def test_missing_drops_what_is_said_and_nothing_else(names: list[str], summary: str) -> None:
    kept = missing(Retained(identifiers=tuple(names)), summary).identifiers
    assert kept == tuple(name for name in names if name in kept)
    for name in names:
        if name not in summary:
            assert name in kept
        if stands_alone(name, summary):
            assert name not in kept


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
def test_missing_never_drops_what_the_summary_does_not_hold(texts: list[str], summary: str) -> None:
    state = Retained(
        instructions=tuple(texts),
        requests=tuple(texts),
        identifiers=tuple(texts),
        files=tuple(FileRecord(text, changed=True) for text in texts),
        tool_outcomes=tuple(ToolOutcome("t", text, text, is_error=False) for text in texts),
        plan="\n".join(texts),
        open_questions=tuple(texts),
    )
    left = missing(state, summary)

    def holds(text: str) -> bool:
        return " ".join(text.casefold().split()) in " ".join(summary.casefold().split())

    for text in texts:
        if not holds(text):
            assert text in left.instructions
            assert text in left.requests
            assert text in left.open_questions
            assert any(text == done.request for done in left.tool_outcomes)
        if text not in summary:
            assert text in left.identifiers
            assert any(text == file.path for file in left.files)
    if not all(
        holds(line) for line in state.plan.splitlines() if "]" not in line and not line.lstrip().startswith("-")
    ):
        assert left.plan == state.plan
    assert missing(left, summary) == left


PLAUSIBLE = st.integers(1, 10**9).flatmap(
    lambda estimated: st.tuples(st.integers(-(-estimated // MOST_OFF), estimated * MOST_OFF), st.just(estimated))
)


@given(PLAUSIBLE, st.integers(0, 10**9), st.integers(0, 10**9))
def test_scale_is_monotone_and_goes_through_its_anchor(anchor: tuple[int, int], one: int, other: int) -> None:
    assert Anchor(*anchor).is_plausible
    scale = Anchor(*anchor).scale
    low, high = sorted((one, other))
    assert scale.up(low) <= scale.up(high)
    assert scale.down(low) <= scale.down(high)
    assert scale.whole(low) <= scale.whole(high)
    assert scale.room(low) <= scale.room(high)
    assert scale.whole(anchor[1]) == anchor[0]


@given(PLAUSIBLE, st.integers(0, 10**10))
def test_room_is_the_most_that_fits(anchor: tuple[int, int], tokens: int) -> None:
    scale = Scale.through(*anchor)
    room = scale.room(tokens)
    assert room < 0 or scale.whole(room) <= tokens
    assert scale.whole(max(0, room + 1)) > tokens or room < -1


@given(PLAUSIBLE)
def test_learned_ratio_gives_the_real_number_back(anchor: tuple[int, int]) -> None:
    real, estimated = anchor
    assert Scale.told(ratio_of(real, estimated)).up(estimated) == real


@given(LONG_TEXTS, LONG_TEXTS, st.sampled_from(["end_turn", "max_tokens", "", "x"]), st.booleans())
def test_any_reply_is_judged_the_same_each_time(text: str, source: str, stop_reason: str, calls_tool: bool) -> None:
    found = judged(text, stop_reason, source, calls_tool=calls_tool)
    assert judged(text, stop_reason, source, calls_tool=calls_tool) == found
    if isinstance(found, str):
        assert found.strip() == found
        assert len(found) <= len(text)
        assert not re.search(r"[\x00\ud800-\udfff]", found)
        assert judged(found, "end_turn", source, calls_tool=False) == found
