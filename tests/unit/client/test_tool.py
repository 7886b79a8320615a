"""The tool by which a model asks for a compaction."""

from __future__ import annotations

from typing import Any

import pytest

from hango.compaction import COMPACT_CONVERSATION, Client, Session, compact_conversation


def test_the_tool_has_the_shape_of_its_format() -> None:
    anthropic, openai = compact_conversation(), compact_conversation("openai")
    assert set(anthropic) == {"name", "description", "input_schema"}
    assert openai["type"] == "function"
    assert openai["function"]["parameters"] == anthropic["input_schema"]
    assert anthropic["name"] == openai["function"]["name"] == COMPACT_CONVERSATION == "compact_conversation"
    with pytest.raises(ValueError, match="anthropic or openai"):
        compact_conversation("gemini")  # type: ignore[arg-type]


def test_a_tool_that_its_caller_changes_stays_the_callers() -> None:
    changed = compact_conversation()
    changed["input_schema"]["properties"]["focus"] = {"type": "string"}
    changed["cache_control"] = {"type": "ephemeral"}
    assert compact_conversation()["input_schema"]["properties"] == {}
    assert "cache_control" not in compact_conversation()


class Silent:
    def call(self, method: str, request: Any, timeout: float) -> Any: ...

    def close(self) -> None: ...


def test_what_the_tool_answers_says_what_will_happen() -> None:
    text = Session(Client(Silent()), "tour").request_compaction()
    assert "before your next step" in text
