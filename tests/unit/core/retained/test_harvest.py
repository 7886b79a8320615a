"""What a message gives, whatever is in it."""

from __future__ import annotations

from compactor.core.retained import NOTHING, harvest, retain
from compactor.model import Content, Kind, Part, Retained, Role


def test_nothing_comes_of_nothing() -> None:
    assert retain([]) == Retained()
    assert harvest(Content(Role.USER, ())) is NOTHING
    assert harvest(Content(Role.SYSTEM, (Part(Kind.TEXT, "Never sleep."),))) is NOTHING


def test_thinking_media_and_opaque_parts_are_passed_over() -> None:
    parts = (Part(Kind.THINKING, "I must read /etc/passwd."), Part(Kind.MEDIA), Part(Kind.OPAQUE, '{"x": "/a/b/c"}'))
    assert retain([harvest(Content(Role.ASSISTANT, parts))]) == Retained()


def test_order_of_messages_decides_what_is_newest() -> None:
    one, two = (harvest(Content(Role.USER, (Part(Kind.TEXT, text),))) for text in ("first", "second"))
    assert retain([one, two]).requests == ("second", "first")
    assert retain([two, one]).requests == ("first", "second")


def test_arguments_nested_beyond_reason_are_survived() -> None:
    deep = '{"a":' * 50_000
    kept = retain([harvest(Content(Role.ASSISTANT, (Part(Kind.TOOL_USE, deep, "c", "odd"),)))])
    assert kept.tool_outcomes[0].tool == "odd"
