"""What replies of several libraries report."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hango.compaction import Usage, usage_of

REPLIES: dict[str, tuple[dict[str, Any], Usage | None]] = {
    "anthropic": (
        {
            "usage": {
                "input_tokens": 4,
                "cache_read_input_tokens": 90,
                "cache_creation_input_tokens": 6,
                "output_tokens": 5,
            }
        },
        Usage(100, 5, 90),
    ),
    "anthropic-without-cache": (
        {"usage": {"input_tokens": 4, "cache_read_input_tokens": None, "output_tokens": 5}},
        Usage(4, 5, None),
    ),
    "openai-chat": (
        {"usage": {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 64}}},
        Usage(100, 5, 64),
    ),
    "openai-responses": (
        {"usage": {"input_tokens": 100, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 64}}},
        Usage(100, 5, 64),
    ),
    "openai-compatible": ({"usage": {"prompt_tokens": 100, "completion_tokens": 0}}, Usage(100, 0, None)),
    "deepseek": (
        {"usage": {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64}},
        Usage(100, 5, 64),
    ),
    "litellm": (
        {"usage": {"prompt_tokens": 100, "completion_tokens": 5, "cache_read_input_tokens": 90}},
        Usage(100, 5, 90),
    ),
    "bedrock": (
        {"usage": {"inputTokens": 4, "outputTokens": 5, "cacheReadInputTokens": 90, "cacheWriteInputTokens": 6}},
        Usage(100, 5, 90),
    ),
    "gemini": (
        {"usage_metadata": {"prompt_token_count": 100, "candidates_token_count": 5, "cached_content_token_count": 64}},
        Usage(100, 5, 64),
    ),
    "gemini-rest": ({"usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 5}}, Usage(100, 5, None)),
    "langchain": (
        {"usage_metadata": {"input_tokens": 100, "output_tokens": 5, "input_token_details": {"cache_read": 64}}},
        Usage(100, 5, 64),
    ),
    "nothing": ({"usage": None}, None),
    "zero": ({"usage": {"input_tokens": 0, "output_tokens": 0}}, None),
    "words": ({"usage": {"input_tokens": "4", "prompt_tokens": True}}, None),
    "stream": ({}, None),
}


def as_object(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: as_object(inner) for name, inner in value.items()})
    return value


@pytest.mark.parametrize("case", REPLIES)
def test_usage_is_read_from_dicts_and_objects(case: str) -> None:
    reply, usage = REPLIES[case]
    assert usage_of(reply) == usage_of(as_object(reply)) == usage


class Lazy:
    @property
    def usage(self) -> object:
        raise RuntimeError("the stream was not read")


@pytest.mark.parametrize("reply", [None, "text", 3, [], Lazy()])
def test_a_reply_that_cannot_be_read_reports_nothing(reply: object) -> None:
    assert usage_of(reply) is None


def test_the_read_ratio_is_a_part_of_the_whole_input() -> None:
    assert Usage(100, 5, 90).cache_read_ratio == 0.9
    assert Usage(100, 5, 0).cache_read_ratio == 0
    assert Usage(100, 5, None).cache_read_ratio is None
    assert Usage(100, 5, 101).cache_read_ratio is None
