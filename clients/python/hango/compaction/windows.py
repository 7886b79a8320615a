"""A window over messages that needs no service: the newest or the important ones, or a summary by a function of yours.

    window = ContextWindow(max_messages=30, max_tokens=4_000, reserve_tokens=2_000)
    messages = window.apply(messages).messages

Messages are dicts as Anthropic or OpenAI take them. System messages at the head always stay, batches of tool calls and
results are whole or gone, and the window begins where a person speaks, so that the provider takes the result. For
records, histories, retained state and real counts, ask the service.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Message = Mapping[str, Any]
Strategy = Literal["RECENT", "IMPORTANT", "SUMMARIZE"]

MESSAGE_OVERHEAD = 4
"""Tokens that a message takes besides its text: its role and its borders."""

_SUMMARY = "Summary of the earlier messages of this conversation, which were left out:\n\n"


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    def count(self, text: str) -> int:
        """Tokens of a text."""


@dataclass(frozen=True, slots=True)
class SimpleTokenCounter:
    """Characters divided by a number, rounded up; about 4 for English.

    >>> SimpleTokenCounter().count("Hello, world")
    3
    """

    characters_per_token: float = 4.0

    def __post_init__(self) -> None:
        if not self.characters_per_token > 0:
            raise ValueError(f"characters_per_token is {self.characters_per_token}, it has to be above 0")

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return int(-(-len(text) // self.characters_per_token))


@dataclass(frozen=True, slots=True)
class ModelTokenCounter:
    """The tokenizer of a model, by `tiktoken`; the fallback where that is not installed or does not know the model."""

    model: str
    fallback: TokenCounter = SimpleTokenCounter()

    def count(self, text: str) -> int:
        """Tokens of a text."""
        encoding = _encoding(self.model)
        return self.fallback.count(text) if encoding is None else len(encoding.encode(text, disallowed_special=()))


@dataclass(slots=True)
class TokenBudget:
    """Tokens that may be used, those reserved for output aside, and what was used of them.

    >>> budget = TokenBudget(total=8_000, reserved=2_000)
    >>> budget.consume(1_500)
    >>> budget.available, budget.is_over
    (4500, False)
    """

    total: int
    reserved: int = 0
    used: int = 0

    def __post_init__(self) -> None:
        if self.total < 0 or not 0 <= self.reserved <= self.total or self.used < 0:
            raise ValueError(f"a budget of {self.total} cannot have {self.reserved} reserved and {self.used} used")

    @property
    def available(self) -> int:
        """What is left; never below 0."""
        return max(0, self.total - self.reserved - self.used)

    @property
    def is_over(self) -> bool:
        """Whether more was used than there was."""
        return self.used > self.total - self.reserved

    def consume(self, tokens: int) -> None:
        """Uses tokens. Raises ValueError for a negative number."""
        if tokens < 0:
            raise ValueError(f"{tokens} tokens cannot be used")
        self.used += tokens

    def reset(self) -> None:
        """Begins anew."""
        self.used = 0


@dataclass(frozen=True, slots=True)
class Windowed:
    """What a window leaves of messages; always usable.

    `error` is what the summarizer raised, where a summary was wanted and the newest messages were kept instead.
    """

    messages: list[Message]
    summary: str = ""
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """A window of so many messages and tokens.

    `max_messages` counts system messages at the head; `max_tokens` 0 is no limit. `reserve_tokens` are kept free of it.
    With `SUMMARIZE`, more than `compaction_threshold` messages call the summarizer, a function or a coroutine function,
    with those that are too old; where it fails, the newest that fit are kept and the result names the error.
    """

    max_messages: int = 100
    max_tokens: int = 0
    reserve_tokens: int = 4_096
    strategy: Strategy = "RECENT"
    compaction_threshold: int = 50
    counter: TokenCounter = SimpleTokenCounter()
    summarizer: Callable[[Sequence[Message]], str | Awaitable[str]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("max_messages", "compaction_threshold"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, it has to be at least 1")
        if self.max_tokens < 0 or self.reserve_tokens < 0:
            raise ValueError("max_tokens and reserve_tokens have to be at least 0")
        if self.max_tokens and self.reserve_tokens >= self.max_tokens:
            raise ValueError(f"of {self.max_tokens} tokens {self.reserve_tokens} cannot be reserved")
        if self.strategy not in ("RECENT", "IMPORTANT", "SUMMARIZE"):
            raise ValueError(f"strategy is {self.strategy!r}, it has to be RECENT, IMPORTANT or SUMMARIZE")

    def estimate_tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of messages, by the counter."""
        return sum(map(self._size, messages))

    def available_tokens(self, messages: Sequence[Message]) -> int:
        """What messages leave of the budget, below 0 where they exceed it. Raises ValueError where there is none."""
        if not self.max_tokens:
            raise ValueError("a window without max_tokens has no budget")
        return self.max_tokens - self.reserve_tokens - self.estimate_tokens(messages)

    def apply(self, messages: Sequence[Message]) -> Windowed:
        """The messages that fit. Raises TypeError for a summarizer that has to be awaited: see `apply_async`."""
        old, rest = self._split(messages)
        if not old or self.summarizer is None:
            return self._plain(messages, _missing(old))
        try:
            summary = self.summarizer(old)
        except Exception as error:  # noqa: BLE001 - a turn does not break because a summary failed
            return self._plain(messages, error)
        if not isinstance(summary, str):
            raise TypeError("the summarizer has to be awaited: use apply_async")
        return self._summarized(messages, rest, summary)

    async def apply_async(self, messages: Sequence[Message]) -> Windowed:
        """The messages that fit; the summarizer may be a coroutine function."""
        old, rest = self._split(messages)
        if not old or self.summarizer is None:
            return self._plain(messages, _missing(old))
        try:
            made = self.summarizer(old)
            summary = made if isinstance(made, str) else await made
        except Exception as error:  # noqa: BLE001 - a turn does not break because a summary failed
            return self._plain(messages, error)
        return self._summarized(messages, rest, summary)

    def _split(self, messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
        """The messages that a summary is to stand for, if any, and those behind it."""
        lead = _leading(messages)
        if self.strategy != "SUMMARIZE" or len(messages) <= self.compaction_threshold:
            return [], list(messages)
        most = min(self.max_messages, self.compaction_threshold) - lead - 1
        starts = [at for at in _starts(messages, lead) if at > lead]
        at = next((at for at in starts if len(messages) - at <= most), starts[-1] if starts else lead)
        return list(messages[lead:at]), list(messages[at:])

    def _summarized(self, messages: Sequence[Message], rest: list[Message], summary: str) -> Windowed:
        if not summary.strip():
            return self._plain(messages, ValueError("the summarizer returned nothing"))
        told: Message = {"role": "user", "content": _SUMMARY + summary}
        head = list(messages[: _leading(messages)])
        kept = self._recent([*head, told, *rest], len(head) + 1)
        return Windowed(kept, summary)

    def _plain(self, messages: Sequence[Message], error: Exception | None) -> Windowed:
        lead = _leading(messages)
        if self.strategy == "IMPORTANT":
            return Windowed(self._important(messages, lead), error=error)
        return Windowed(self._recent(messages, lead), error=error)

    def _recent(self, messages: Sequence[Message], lead: int) -> list[Message]:
        at = self._cut(messages, lead, 1.0)
        return [*messages[:lead], *messages[at:]]

    def _important(self, messages: Sequence[Message], lead: int) -> list[Message]:
        if self._has_room(messages, 1.0):
            return list(messages)
        at = self._cut(messages, lead, 0.5)
        kept: set[int] = set()
        for unit in reversed(list(_units(messages, lead, at))):
            tried = [messages[place] for place in sorted({*range(lead), *kept, *unit})] + list(messages[at:])
            if _is_important(messages[unit[0]]) and self._has_room(tried, 1.0):
                kept.update(unit)
        while kept and not _is_request(messages[min(kept)]):
            kept.remove(min(kept))
        return [*messages[:lead], *(messages[place] for place in sorted(kept)), *messages[at:]]

    def _cut(self, messages: Sequence[Message], lead: int, share: float) -> int:
        """Where the newest messages begin that take no more than a share of the room."""
        starts = [lead, *(at for at in _starts(messages, lead) if at > lead)]
        fitting = (at for at in starts if self._has_room([*messages[:lead], *messages[at:]], share))
        return next(fitting, starts[-1])

    def _has_room(self, messages: Sequence[Message], share: float) -> bool:
        if len(messages) > max(1, int(self.max_messages * share)):
            return False
        budget = int((self.max_tokens - self.reserve_tokens) * share)
        return not self.max_tokens or self.estimate_tokens(messages) <= budget

    def _size(self, message: Message) -> int:
        content = message.get("content")
        rest = {name: value for name, value in message.items() if name not in ("role", "content") and value}
        texts = [content if isinstance(content, str) else json.dumps(content or "", ensure_ascii=False)]
        texts += [json.dumps(rest, ensure_ascii=False)] if rest else []
        return MESSAGE_OVERHEAD + sum(map(self.counter.count, texts))


def _missing(old: Sequence[Message]) -> Exception | None:
    return ValueError("a summary is wanted and there is no summarizer") if old else None


def _leading(messages: Sequence[Message]) -> int:
    """How many system messages stand at the head."""
    roles = (message.get("role") for message in messages)
    return next((at for at, role in enumerate(roles) if role not in ("system", "developer")), len(messages))


def _starts(messages: Sequence[Message], lead: int) -> Iterator[int]:
    """Where a window may begin: where a person speaks, or the assistant where no result follows what is gone."""
    yields_assistant = any(message.get("role") in ("system", "developer", "tool") for message in messages)
    for unit in _units(messages, lead, len(messages)):
        if _is_request(messages[unit[0]]) or (yields_assistant and messages[unit[0]].get("role") == "assistant"):
            yield unit[0]


def _units(messages: Sequence[Message], first: int, stop: int) -> Iterator[range]:
    """Messages that belong together: calls with their results, every other message by itself."""
    at = first
    while at < stop:
        end = at + 1
        while end < stop and _has_results(messages[end]):
            end += 1
        yield range(at, end)
        at = end


def _blocks(message: Message, kind: str) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(isinstance(block, dict) and block.get("type") == kind for block in content)


def _has_results(message: Message) -> bool:
    return message.get("role") == "tool" or _blocks(message, "tool_result")


def _is_request(message: Message) -> bool:
    return message.get("role") == "user" and not _has_results(message)


def _is_important(message: Message) -> bool:
    return _is_request(message) or bool(message.get("tool_calls")) or _blocks(message, "tool_use")


def _encoding(model: str) -> Any:
    """The model's tokenizer, None where there is none to be had without a download."""
    try:
        import tiktoken
        from tiktoken.registry import ENCODINGS
    except ImportError:
        return None
    try:
        return ENCODINGS.get(tiktoken.encoding_name_for_model(model))
    except KeyError:
        return None
