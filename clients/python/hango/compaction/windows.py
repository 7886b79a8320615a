"""A window over messages that needs no service: the newest or the important ones, or a summary by a function of yours.

    window = ContextWindow(max_messages=30, max_tokens=4_000, reserve_tokens=2_000)
    messages = window.apply(messages).messages

Messages are dicts as Anthropic or OpenAI take them. What a provider would refuse is never made: messages are kept or
left out in *units*, a call with all its results among them, and a window begins where a person speaks, or where the
assistant does if the format lets it. System messages always stay, and so does the request that is being worked on. For
records, histories, retained state and real counts, ask the service.
"""

from __future__ import annotations

import inspect
import logging
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal

from hango.compaction.tokens import SimpleTokenCounter, TokenCounter, check_whole, message_tokens

Message = Mapping[str, Any]
Strategy = Literal["RECENT", "IMPORTANT", "SUMMARIZE"]

STRATEGIES = ("RECENT", "IMPORTANT", "SUMMARIZE")

_SUMMARY = "Summary of the earlier messages of this conversation, which were left out:\n\n"
_SYSTEM = ("system", "developer")
_THINKING = ("thinking", "redacted_thinking")

_log = logging.getLogger("hango.compaction")


@dataclass(frozen=True, slots=True)
class Windowed:
    """What a window leaves of messages; always usable.

    `error` is what went wrong with the summary, where one was wanted and the newest messages were kept instead.
    """

    messages: list[Message]
    summary: str = ""
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """A window of so many messages and tokens.

    `max_messages` counts every message, system messages and a summary included. `max_tokens` 0 is no limit; of a limit,
    `reserve_tokens` are kept free for output. What has to stay (system messages, the open request, a batch of calls
    with its results) stays even where it is more than that.

    >>> log = [{"role": "system", "content": "You help."}]
    >>> for number in (1, 2, 3):
    ...     log.append({"role": "user", "content": f"question {number}"})
    ...     log.append({"role": "assistant", "content": f"answer {number}"})
    >>> [message["content"] for message in ContextWindow(max_messages=4).apply(log).messages]
    ['You help.', 'answer 2', 'question 3', 'answer 3']

    With `SUMMARIZE`, more than `compaction_threshold` messages call the summarizer, a function or (with `apply_async`)
    a coroutine function, with those that are too old. Its text stands before the newest, half as many as the threshold,
    so that the next turns do not call it again; go on with the messages that came back.

    >>> window = ContextWindow(
    ...     strategy="SUMMARIZE", compaction_threshold=6, summarizer=lambda old: f"{len(old)} messages about questions"
    ... )
    >>> window.apply(log).summary
    '3 messages about questions'
    """

    max_messages: int = 100
    max_tokens: int = 0
    reserve_tokens: int = 4_096
    strategy: Strategy = "RECENT"
    compaction_threshold: int = 50
    counter: TokenCounter = field(default_factory=SimpleTokenCounter)
    summarizer: Callable[[Sequence[Message]], str | Awaitable[str]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, least in (("max_messages", 1), ("compaction_threshold", 1), ("max_tokens", 0), ("reserve_tokens", 0)):
            check_whole(name, getattr(self, name), least=least)
        if self.max_tokens and self.reserve_tokens >= self.max_tokens:
            raise ValueError(
                f"reserve_tokens is {self.reserve_tokens}, it has to be below max_tokens, which is {self.max_tokens}"
            )
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy is {self.strategy!r}, it has to be one of {', '.join(STRATEGIES)}")
        if not callable(getattr(self.counter, "count", None)):
            raise TypeError(f"counter is {self.counter!r}, it has to have a method count(text)")
        if self.summarizer is not None and not callable(self.summarizer):
            raise TypeError(f"summarizer is {self.summarizer!r}, it has to be a function")

    def estimate_tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of messages, by the counter.

        >>> ContextWindow().estimate_tokens([{"role": "user", "content": "Hello, world"}])
        7
        """
        return sum(message_tokens(message, self.counter) for message in _checked(messages))

    def available_tokens(self, messages: Sequence[Message]) -> int:
        """What messages leave of the budget, below 0 where they exceed it. Raises ValueError where there is none.

        >>> ContextWindow(max_tokens=100, reserve_tokens=40).available_tokens([{"role": "user", "content": "Hello"}])
        54
        """
        if not self.max_tokens:
            raise ValueError("a window without max_tokens has no budget")
        return self.max_tokens - self.reserve_tokens - self.estimate_tokens(messages)

    def apply(self, messages: Sequence[Message]) -> Windowed:
        """The messages that fit. Raises TypeError for a summarizer that has to be awaited: see `apply_async`."""
        log = self._read(messages)
        at = self._old(log)
        if at is None:
            return self._plain(log, None)
        made = self._asked(log, at)
        if inspect.isawaitable(made):
            if inspect.iscoroutine(made):
                made.close()
            raise TypeError("the summarizer has to be awaited: use apply_async")
        return self._summarized(log, at, made)

    async def apply_async(self, messages: Sequence[Message]) -> Windowed:
        """The messages that fit; the summarizer may be a coroutine function."""
        log = self._read(messages)
        at = self._old(log)
        if at is None:
            return self._plain(log, None)
        made = self._asked(log, at)
        if inspect.isawaitable(made):
            try:
                made = await made
            except Exception as error:  # noqa: BLE001 - a turn does not break because a summary failed
                made = error
        return self._summarized(log, at, made)

    def _read(self, messages: Sequence[Message]) -> _Log:
        checked = _checked(messages)
        return _Log(checked, [message_tokens(message, self.counter) for message in checked])

    def _old(self, log: _Log) -> int | None:
        """Where the messages end that a summary is to stand for; None where none is wanted."""
        if self.strategy != "SUMMARIZE" or len(log.messages) <= self.compaction_threshold:
            return None
        most = max(1, min(self.max_messages, self.compaction_threshold) // 2)
        at = log.cut(lambda start: len(log.messages) - start <= most)
        return at if log.old(at) else None

    def _asked(self, log: _Log, at: int) -> Any:
        """What the summarizer returned, or the error."""
        if self.summarizer is None:
            return ValueError("a summary is wanted and there is no summarizer")
        try:
            return self.summarizer(log.old(at))
        except Exception as error:  # noqa: BLE001 - a turn does not break because a summary failed
            return error

    def _summarized(self, log: _Log, at: int, made: Any) -> Windowed:
        """The messages behind a summary; the newest that fit where what was made is none."""
        if isinstance(made, Exception):
            return self._plain(log, made)
        if not isinstance(made, str):
            return self._plain(log, TypeError(f"the summarizer returned {type(made).__name__}, it has to be str"))
        if not made.strip():
            return self._plain(log, ValueError("the summarizer returned nothing"))
        told = {"role": "user", "content": _SUMMARY + made}
        size = message_tokens(told, self.counter)
        least = log.starts[-1] if log.starts else at
        if self.max_tokens and size + log.size(least) > self.max_tokens - self.reserve_tokens:
            return self._plain(log, ValueError("the summary is too long to fit"))
        at = log.cut(lambda start: start >= at and self._has_room(log.size(start) + size, log.count(start) + 1))
        head, rest = log.kept(at, log.bound(at))
        return Windowed([*head, told, *rest], made)

    def _plain(self, log: _Log, error: Exception | None) -> Windowed:
        if error is not None:
            _log.warning("no summary (%s): the newest messages that fit are kept", type(error).__name__)
        if self._has_room(sum(log.sizes), len(log.messages)):
            return Windowed(list(log.messages), error=error)
        share = 0.5 if self.strategy == "IMPORTANT" else 1.0
        at = log.cut(lambda start: self._has_room(log.size(start), log.count(start), share))
        kept = self._important(log, at) if self.strategy == "IMPORTANT" else log.bound(at)
        head, rest = log.kept(at, kept)
        return Windowed([*head, *rest], error=error)

    def _important(self, log: _Log, at: int) -> set[int]:
        """The places before a cut that stay: what has to, then questions and calls, newest first."""
        kept = log.bound(at)
        tokens, count = log.size(at), log.count(at)
        for unit in reversed([unit for unit in log.units if unit.stop <= at]):
            new = [place for place in unit if place not in kept]
            size = sum(log.sizes[place] for place in new)
            if new and log.is_important(unit) and self._has_room(tokens + size, count + len(new)):
                kept.update(new)
                tokens, count = tokens + size, count + len(new)
        if not log.is_openai:
            for unit in log.units:
                if unit.start in kept and _is_request(log.messages[unit.start]):
                    break
                kept.difference_update(unit)
        return kept

    def _has_room(self, tokens: int, count: int, share: float = 1.0) -> bool:
        budget = int((self.max_tokens - self.reserve_tokens) * share)
        return count <= max(1, int(self.max_messages * share)) and (not self.max_tokens or tokens <= budget)


class _Log:
    """Messages with what a window has to know of them: their sizes, what belongs together, and where it may begin."""

    def __init__(self, messages: Sequence[Message], sizes: Sequence[int]) -> None:
        self.messages = messages
        self.sizes = sizes
        self.is_openai = _is_openai(messages)
        roles = (message["role"] for message in messages)
        self.lead = next((at for at, role in enumerate(roles) if role not in _SYSTEM), len(messages))
        self.units = list(_units(messages, self.lead, binds_notes=not self.is_openai))
        asked = [at for at in range(self.lead, len(messages)) if _is_request(messages[at])]
        self.request = asked[-1] if asked else None
        self._stays = [
            place
            for place in range(self.lead, len(messages))
            if place == self.request or (self.is_openai and messages[place]["role"] in _SYSTEM)
        ]
        self._thinks = any(map(_opens_with_thinking, messages[self.request or 0 :]))
        self.starts = [unit.start for unit in self.units if self._may_begin(unit)]
        self._tails = list(accumulate(reversed(sizes), initial=0))[::-1]

    def cut(self, fits: Callable[[int], bool]) -> int:
        """The first place at which a window may begin that fits, else the last; the head where there is none."""
        return next(filter(fits, self.starts), self.starts[-1] if self.starts else self.lead)

    def bound(self, at: int) -> set[int]:
        """The places before a cut that have to stay: the open request, and system messages among OpenAI's."""
        return set(self._stays[: bisect_left(self._stays, at)])

    def size(self, at: int) -> int:
        """Tokens of a window that begins there, the head and what has to stay included."""
        return sum(self.sizes[: self.lead]) + sum([self.sizes[place] for place in self.bound(at)]) + self._tails[at]

    def count(self, at: int) -> int:
        """Messages of such a window."""
        return self.lead + len(self.bound(at)) + len(self.messages) - at

    def old(self, at: int) -> list[Message]:
        """The messages that such a window leaves out."""
        bound = self.bound(at)
        return [self.messages[place] for place in range(self.lead, at) if place not in bound]

    def kept(self, at: int, places: Iterable[int]) -> tuple[list[Message], list[Message]]:
        """The system messages at the head, and the messages at places and from the cut on."""
        before = [self.messages[place] for place in sorted(places)]
        return list(self.messages[: self.lead]), [*before, *self.messages[at:]]

    def is_important(self, unit: range) -> bool:
        """Whether a unit holds what the user said, or calls; in an open turn with thinking, with its reasoning."""
        first = self.messages[unit.start]
        if not any(_is_request(self.messages[place]) or _has_calls(self.messages[place]) for place in unit):
            return False
        return self.request is None or unit.start <= self.request or not self._thinks or _opens_with_thinking(first)

    def _may_begin(self, unit: range) -> bool:
        first = self.messages[unit.start]
        if _is_request(first):
            return True
        if first["role"] != "assistant":
            return False
        is_open = self.request is not None and unit.start > self.request
        return (self.is_openai or is_open) and not (is_open and self._thinks and not _opens_with_thinking(first))


def _checked(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages. Raises TypeError for what is none."""
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        raise TypeError(f"messages is a {type(messages).__name__}, it has to be a list of messages")
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise TypeError(f"messages[{at}] is no message: it has to be a dict with a role")
    return messages


def _is_openai(messages: Sequence[Message]) -> bool:
    """Whether messages show that they are OpenAI's; those that show nothing are held to the stricter rules."""
    heads = messages[0]["role"] in _SYSTEM if messages else False
    return heads or any(
        message["role"] in ("developer", "tool", "function") or "tool_calls" in message for message in messages
    )


def _units(messages: Sequence[Message], first: int, *, binds_notes: bool) -> Iterator[range]:
    """What belongs together: calls with their results, a paused turn, a system note with what is on both sides."""
    at = first
    while at < len(messages):
        end = at + 1
        while end < len(messages) and _goes_on(messages[end - 1], messages[end], binds_notes=binds_notes):
            end += 1
        yield range(at, end)
        at = end


def _goes_on(before: Message, message: Message, *, binds_notes: bool) -> bool:
    if binds_notes and "system" in (before["role"], message["role"]):
        return True
    is_paused = before["role"] == message["role"] == "assistant"
    return _has_results(message) or is_paused


def _blocks(message: Message) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _has_results(message: Message) -> bool:
    return message["role"] in ("tool", "function") or any(
        block.get("type") == "tool_result" for block in _blocks(message)
    )


def _has_calls(message: Message) -> bool:
    return any(message.get(name) for name in ("tool_calls", "function_call")) or any(
        block.get("type") in ("tool_use", "server_tool_use") for block in _blocks(message)
    )


def _is_request(message: Message) -> bool:
    return message["role"] == "user" and not _has_results(message)


def _opens_with_thinking(message: Message) -> bool:
    return message["role"] == "assistant" and any(block.get("type") in _THINKING for block in _blocks(message)[:1])
