"""Rule R18: questions that still wait for an answer."""

from __future__ import annotations

from compactor.core.retained import harvest, last_words, retain
from compactor.model import Content, Kind, Part, Role


def said(role: Role, text: str) -> Content:
    return Content(role, (Part(Kind.TEXT, text),))


def open_questions(*messages: Content) -> tuple[str, ...]:
    return retain([harvest(message) for message in messages]).open_questions


def test_question_of_the_assistant_waits_until_the_user_speaks() -> None:
    asked = said(Role.ASSISTANT, "Both work. Shall I use Redis?")
    assert open_questions(asked) == ("Shall I use Redis?",)
    assert open_questions(asked, said(Role.USER, "Yes.")) == ()


def test_question_of_the_user_waits_until_the_assistant_concludes() -> None:
    asked = said(Role.USER, "Fix it. Which port does it use?")
    working = Content(Role.ASSISTANT, (Part(Kind.TEXT, "Let me look."), Part(Kind.TOOL_USE, "{}", "c", "ls")))
    assert open_questions(asked, working) == ("Which port does it use?",)
    assert open_questions(asked, working, said(Role.ASSISTANT, "It is 8080.")) == ()


def test_question_put_through_a_tool_waits_for_the_result() -> None:
    asked = Content(Role.ASSISTANT, (Part(Kind.TOOL_USE, '{"question": "Which one?"}', "c", "ask_clarification"),))
    assert open_questions(asked) == ("Which one?",)
    assert open_questions(asked, Content(Role.TOOL, (Part(Kind.TOOL_RESULT, "The first.", "c"),))) == ()


def test_question_marks_in_code_are_no_questions() -> None:
    assert open_questions(said(Role.ASSISTANT, "Done.\n```\nx ? y : z ?\n```")) == ()


def test_last_words_are_the_assistants() -> None:
    messages = [said(Role.ASSISTANT, "First."), said(Role.ASSISTANT, "Second."), said(Role.USER, "Go on.")]
    assert last_words([harvest(message) for message in messages]) == "Second."
    assert last_words([]) == ""
