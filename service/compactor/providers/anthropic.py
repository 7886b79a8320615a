"""Anthropic's Messages API through the official SDK: its counting endpoint, and models that write summaries.

Key and address come from the environment, as the SDK reads them (`ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`).
"""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic

from compactor.core.assignment import Prompt
from compactor.model import Format, Request, SummarizerUsage
from compactor.policy import LARGEST
from compactor.ports import CountFailed, Failure, Reply, SummarizerFailed

_COUNTED = ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config")
"""The members of a request that the endpoint takes; the rest do not change the count."""

_TRIES = 2
_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 2.0
"""A provider that is overloaded, throttling or unreachable is asked once more, if it does not want a longer pause: the
SDK would wait for a minute, and an agent with it.
"""

_SERVER_ERRORS = 500
_FAILURES = {401: Failure.UNAUTHORIZED, 408: Failure.TIMEOUT, 409: Failure.UNAVAILABLE, 429: Failure.RATE_LIMITED}
_LONGEST_RETRY_SECONDS = 3_600.0
_SURPRISES = (anthropic.AnthropicError, AttributeError, RecursionError, TypeError, ValueError)
"""What the SDK raises when an answer is not what it should be."""


def _sdk() -> anthropic.AsyncAnthropic:
    """The SDK's client, without spans of its own: they would tell each call twice, and with the content of the
    conversation where a variable of the SDK asks for it. Versions that have none take no such option.
    """
    options: dict[str, Any] = {"max_retries": 0}
    if "open_telemetry" in inspect.signature(anthropic.AsyncAnthropic).parameters:
        options["open_telemetry"] = {"traces": {"enabled": False}, "propagation": False}
    return anthropic.AsyncAnthropic(**options)


class AnthropicCounter:
    """Asks the provider, once, within a time: a count that comes late is worth nothing, so nothing is retried."""

    def __init__(self, client: anthropic.AsyncAnthropic | None = None) -> None:
        self._client = client or _sdk()

    async def count(self, request: Request, body: bytes, timeout_seconds: float) -> int:
        """The provider's input tokens of a body. Raises CountFailed."""
        if request.format is not Format.ANTHROPIC_MESSAGES:
            raise CountFailed("the endpoint does not take this format")
        value = json.loads(body)
        fields = {name: value[name] for name in _COUNTED if value.get(name) is not None}
        try:
            async with asyncio.timeout(timeout_seconds):
                answer = await self._client.messages.count_tokens(**fields, timeout=timeout_seconds)
        except (TimeoutError, anthropic.APITimeoutError):
            raise CountFailed(f"no answer in {timeout_seconds:g} s") from None
        except anthropic.APIStatusError as error:
            raise CountFailed(f"it answered with status {error.status_code}") from None
        except _SURPRISES as error:
            raise CountFailed(f"the call failed ({type(error).__name__})") from None
        tokens = getattr(answer, "input_tokens", None)
        if type(tokens) is not int or tokens < 1:
            raise CountFailed("the answer is no number above 0")
        return tokens


class AnthropicSummarizer:
    """Has a model write, with nothing in the request that any model of the family refuses: no tools, no sampling
    parameters, no reasoning, no prefill, no breakpoints.
    """

    def __init__(self, client: anthropic.AsyncAnthropic | None = None) -> None:
        self._client = client or _sdk()

    async def write(self, model: str, prompt: Prompt, max_output_tokens: int, timeout_seconds: float) -> Reply:
        """The model's answer to a prompt. Raises SummarizerFailed."""
        deadline = time.monotonic() + timeout_seconds
        calls = 0
        while True:
            left = deadline - time.monotonic()
            calls += 1
            try:
                return await self._written(model, prompt, max_output_tokens, left, calls)
            except SummarizerFailed as error:
                error.calls = calls
                pause = _PAUSE_SECONDS if error.retry_seconds is None else error.retry_seconds
                is_momentary = error.failure in (Failure.UNAVAILABLE, Failure.RATE_LIMITED)
                if calls == _TRIES or not is_momentary or pause > min(_LONGEST_PAUSE_SECONDS, left):
                    raise
            await asyncio.sleep(pause)

    async def _written(self, model: str, prompt: Prompt, most: int, seconds: float, calls: int) -> Reply:
        with _failures(seconds):
            async with asyncio.timeout(seconds):
                message = await self._client.messages.create(
                    model=model,
                    max_tokens=most,
                    system=prompt.system,
                    messages=[{"role": "user", "content": prompt.text}],
                    timeout=seconds,
                )
            return _reply(message, model, calls=calls)


@contextmanager
def _failures(seconds: float) -> Iterator[None]:
    """What the SDK raises as SummarizerFailed; the provider's words, which may quote the conversation, are left out."""
    try:
        yield
    except (TimeoutError, anthropic.APITimeoutError):
        raise SummarizerFailed(f"no answer in {seconds:.3g} s", Failure.TIMEOUT) from None
    except anthropic.APIStatusError as error:
        status = error.status_code
        failure = _FAILURES.get(status, Failure.UNAVAILABLE if status >= _SERVER_ERRORS else Failure.REFUSED)
        why = f"the provider answered with status {status}"
        raise SummarizerFailed(why, failure, retry_seconds=_retry_seconds(error)) from None
    except anthropic.APIConnectionError:
        raise SummarizerFailed("the provider cannot be reached", Failure.UNAVAILABLE) from None
    except _SURPRISES as error:
        raise SummarizerFailed(f"the answer is no message ({type(error).__name__})", Failure.UNAVAILABLE) from None


def _reply(message: Any, model: str, *, calls: int) -> Reply:
    """An answer as a value. Raises TypeError for what is no message."""
    blocks = message.content
    if not isinstance(blocks, list):
        raise TypeError("the content is no list")
    kinds = [getattr(block, "type", "") for block in blocks]
    texts = [block.text for block, kind in zip(blocks, kinds, strict=True) if kind == "text"]
    stop_reason = message.stop_reason
    return Reply(
        text="\n".join(text for text in texts if isinstance(text, str)),
        stop_reason=stop_reason if isinstance(stop_reason, str) else "",
        calls_tool="tool_use" in kinds or "server_tool_use" in kinds,
        usage=_usage(getattr(message, "usage", None), model, calls),
    )


def _usage(usage: Any, model: str, calls: int) -> SummarizerUsage:
    def tokens(name: str) -> int:
        value = getattr(usage, name, 0)
        return min(max(0, value), LARGEST) if type(value) is int else 0

    return SummarizerUsage(
        model,
        calls,
        tokens("input_tokens"),
        tokens("output_tokens"),
        tokens("cache_read_input_tokens"),
        tokens("cache_creation_input_tokens"),
    )


def _retry_seconds(error: anthropic.APIStatusError) -> float | None:
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return min(seconds, _LONGEST_RETRY_SECONDS) if seconds >= 0 else None
