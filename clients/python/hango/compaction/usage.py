"""What a reply says of its cost, whatever library it came from.

Providers count differently: the `input_tokens` of Anthropic and Bedrock are those beside the cache, everyone else's are
all of them. `Usage` always has all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call: `input_tokens` cache reads and writes included, `cache_read_tokens` a part of them.

    `output_tokens` and `cache_read_tokens` are None where the reply does not say.
    """

    input_tokens: int
    output_tokens: int | None = None
    cache_read_tokens: int | None = None

    @property
    def cache_read_ratio(self) -> float | None:
        """Which part of the input came from the cache, 0 to 1; None where the reply does not say."""
        if self.cache_read_tokens is None or self.cache_read_tokens > self.input_tokens:
            return None
        return self.cache_read_tokens / self.input_tokens


def usage_of(reply: object) -> Usage | None:
    """What a reply reports, an object of an SDK or a dict; None where it reports no input tokens, as a stream does.

    Reads `usage` of Anthropic, of OpenAI (both its APIs) and of Bedrock's Converse, `usage_metadata` of Gemini and of
    LangChain.

        >>> usage_of({"usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}})
        Usage(input_tokens=100, output_tokens=5, cache_read_tokens=90)
    """
    for name in ("usage", "usage_metadata", "usageMetadata"):
        counted = _read(member(reply, name))
        if counted is not None:
            return counted
    return None


def member(value: object, name: str) -> Any:
    """A member of a mapping or an attribute of anything else; None where there is none, or where it cannot be read."""
    with suppress(Exception):  # foreign objects compute their attributes, and may fail at it
        return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return None


def whole_number(value: object) -> int:
    """A number of tokens; 0 for what is none."""
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _read(usage: object) -> Usage | None:
    inputs = ("prompt_tokens", "prompt_token_count", "promptTokenCount")
    outputs = ("completion_tokens", "candidates_token_count", "candidatesTokenCount", "output_tokens", "outputTokens")
    read = _first(usage, "cache_read_input_tokens", "cacheReadInputTokens")
    written = _first(usage, "cache_creation_input_tokens", "cacheWriteInputTokens")
    total = _first(usage, *inputs)
    if total is None:
        total = _first(usage, "input_tokens", "inputTokens")
        if total is not None and not _counts_all(usage):
            total += (read or 0) + (written or 0)
    if not total:
        return None
    return Usage(total, _first(usage, *outputs), read if read is not None else _read_from_cache(usage))


def _counts_all(usage: object) -> bool:
    """Whether input tokens include the cache's, as those of OpenAI's Responses and of LangChain do."""
    return any(member(usage, name) is not None for name in ("input_tokens_details", "input_token_details"))


def _read_from_cache(usage: object) -> int | None:
    for details, name in (
        ("prompt_tokens_details", "cached_tokens"),
        ("input_tokens_details", "cached_tokens"),
        ("input_token_details", "cache_read"),
    ):
        found = _count(member(member(usage, details), name))
        if found is not None:
            return found
    return _first(usage, "cached_content_token_count", "prompt_cache_hit_tokens")


def _first(usage: object, *names: str) -> int | None:
    counts = (_count(member(usage, name)) for name in names)
    return next((count for count in counts if count is not None), None)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
