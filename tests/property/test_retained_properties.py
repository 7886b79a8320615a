"""Laws of the retained state, the extractive summary and the frame: any text, any budget, however hostile."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.core.briefing import REQUEST_TAG, SUMMARY_TAG, frame, neutral
from compactor.core.extractive import extract
from compactor.core.retained import harvest, last_words, retain
from compactor.model import Content, Kind, Part, Retained, Role

SPICE = st.sampled_from(
    [
        "</conversation_summary>", "<open_request>", "## Plan", "```", "`", "- [ ] a", "never ", "must not", "/a/b.py",
        "https://x.y/z?q=1", "BC-90125", "<system-reminder>", "</system-reminder>", "*** Update File: a", "必须", "?",
        "\u2028", "\x00", "\ud800", "C:\\a", "Error: x", "exit code 3", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "\r\n",
        "(Open file: n/a)", "bash-$",
    ]
)  # fmt: skip
TEXTS = st.lists(st.one_of(SPICE, st.text(max_size=30)), max_size=12).map("".join)
ARGUMENTS = st.one_of(
    TEXTS,
    st.dictionaries(
        st.sampled_from(
            ["command", "path", "file_path", "todos", "plan", "content", "taskId", "status", "input", "question"]
        ),
        st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS), st.lists, max_leaves=5),
        max_size=4,
    ).map(json.dumps),
)
TOOLS = st.sampled_from(
    ["Bash", "TodoWrite", "TaskUpdate", "TaskCreate", "apply_patch", "str_replace_editor", "ask", "Read", ""]
)
IDS = st.sampled_from(["a", "b", ""])
PARTS = st.one_of(
    st.builds(lambda text: Part(Kind.TEXT, text), TEXTS),
    st.builds(lambda text: Part(Kind.THINKING, text), TEXTS),
    st.builds(lambda text, at, tool: Part(Kind.TOOL_USE, text, at, tool), ARGUMENTS, IDS, TOOLS),
    st.builds(lambda text, at, bad: Part(Kind.TOOL_RESULT, text, at, is_error=bad), TEXTS, IDS, st.booleans()),
    st.just(Part(Kind.MEDIA)),
)
CONTENTS = st.builds(
    lambda role, parts: Content(role, tuple(parts)), st.sampled_from(list(Role)), st.lists(PARTS, max_size=5)
)
HOSTILE = (
    "a", "/", ".", "'", '"', "\n", "`", "1", "-", "a.", "1/", "://", "http://", "a@", "A_", "<system-reminder>",
    "```\n", "- [ ] x\n", "? ", "。", "\\", "never ", "use a ", "*** Update File: x\n", "exit code ", "< ", "> ",
    "cat ", "<conversation_summary ", "\u2028", "\ud800", "a_1", "no more than ",
)  # fmt: skip


def count(text: str) -> int:
    return (len(text.encode("utf-8", "surrogatepass")) + 3) // 4


@given(st.lists(CONTENTS, max_size=8))
def test_harvest_never_raises_and_is_a_function_of_the_message(contents: list[Content]) -> None:
    first = [harvest(content) for content in contents]
    assert first == [harvest(content) for content in contents]
    assert retain(first) == retain(list(first))


@given(st.lists(CONTENTS, max_size=8))
def test_retained_state_is_bounded_and_each_thing_stands_once(contents: list[Content]) -> None:
    kept = retain([harvest(content) for content in contents])
    assert kept.dropped == ()
    for things in (kept.instructions, kept.requests, kept.identifiers, kept.tool_outcomes, kept.open_questions):
        assert len(set(things)) == len(things)
    assert len({path for path, _ in kept.files}) == len(kept.files)
    assert not any("\n" in text for text in (*kept.instructions, *kept.identifiers))
    for outcome in kept.tool_outcomes:
        assert len((outcome.request + outcome.outcome).splitlines()) <= 1


@given(st.lists(CONTENTS, max_size=8), st.integers(0, 2_000), TEXTS, TEXTS)
def test_extract_keeps_the_budget_and_is_deterministic(
    contents: list[Content], max_tokens: int, words: str, previous: str
) -> None:
    kept = retain([harvest(content) for content in contents])
    text, dropped = extract(kept, max_tokens=max_tokens, count=count, last_words=words, previous=previous)
    assert (text, dropped) == extract(kept, max_tokens=max_tokens, count=count, last_words=words, previous=previous)
    assert count(text) <= max_tokens
    if max_tokens >= 8 and (kept != Retained() or words.strip()):
        assert text


@given(st.lists(CONTENTS, max_size=8), TEXTS)
def test_every_line_of_a_briefing_is_its_own_or_marked_as_copied(contents: list[Content], words: str) -> None:
    text, _ = extract(
        retain([harvest(content) for content in contents]), max_tokens=10_000, count=count, last_words=words
    )
    headings = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    assert len(headings) == len(set(headings))


@given(TEXTS, TEXTS, st.sampled_from(["", "/conversation_history/s.md"]))
def test_frame_is_not_broken_by_what_is_inside(summary: str, request: str, path: str) -> None:
    text = frame(summary, history_path=path, request=request)
    for tag, times in ((SUMMARY_TAG, 1), (REQUEST_TAG, 1 if request.strip() else 0)):
        assert text.count(f"<{tag}>") == text.count(f"</{tag}>") == times
    assert text.partition(f"<{SUMMARY_TAG}>")[0] == frame("x").partition(f"<{SUMMARY_TAG}>")[0]


@given(TEXTS)
def test_request_in_the_frame_is_verbatim_but_for_look_alikes(request: str) -> None:
    inside = frame("s", request=request).partition(f"<{REQUEST_TAG}>\n")[2].removesuffix(f"\n</{REQUEST_TAG}>")
    if request.strip():
        assert inside.replace("&lt;", "<") == request.replace("&lt;", "<")
        assert neutral(inside) == inside


@pytest.mark.parametrize("unit", HOSTILE, ids=repr)
def test_a_megabyte_of_anything_is_gone_through_once(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    arguments = json.dumps({"command": text, "path": text, "todos": text, "content": text})
    contents = [
        Content(Role.USER, (Part(Kind.TEXT, text),)),
        Content(Role.ASSISTANT, (Part(Kind.TEXT, text), Part(Kind.TOOL_USE, arguments, "a", "TodoWrite"))),
        Content(Role.ASSISTANT, (Part(Kind.TOOL_USE, text, "b", "bash"),)),
        Content(Role.USER, (Part(Kind.TOOL_RESULT, text, "a"), Part(Kind.TOOL_RESULT, text, "b", is_error=True))),
    ]
    harvests = [harvest(content) for content in contents]
    briefing, _ = extract(retain(harvests), max_tokens=500, count=count, last_words=last_words(harvests), previous=text)
    assert count(briefing) <= 500
    assert frame(text, request=text).endswith(">")
