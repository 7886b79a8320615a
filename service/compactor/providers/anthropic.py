"""Anthropic's counting endpoint, through the official SDK. Key and address come from the environment, as the SDK reads
them (`ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`).
"""

from __future__ import annotations

import asyncio
import json

import anthropic

from compactor.model import Format, Request
from compactor.ports import CountFailed

_COUNTED = ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config")
"""The members of a request that the endpoint takes; the rest do not change the count."""


class AnthropicCounter:
    """Asks the provider, once, within a time: a count that comes late is worth nothing, so nothing is retried."""

    def __init__(self, client: anthropic.AsyncAnthropic | None = None) -> None:
        self._client = client or anthropic.AsyncAnthropic(max_retries=0)

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
        except (anthropic.AnthropicError, AttributeError, RecursionError, TypeError, ValueError) as error:
            raise CountFailed(f"the call failed ({type(error).__name__})") from None
        tokens = getattr(answer, "input_tokens", None)
        if type(tokens) is not int or tokens < 1:
            raise CountFailed("the answer is no number above 0")
        return tokens
