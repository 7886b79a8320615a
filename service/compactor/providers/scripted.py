"""The shipped double of the providers: answers what it was told to, in order, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Iterable

from compactor.model import Request
from compactor.ports import CountFailed


class ScriptedCounter:
    """A counting endpoint with a script: a number is the answer, None a failure; after the last it goes on failing."""

    def __init__(self, answers: Iterable[int | None]) -> None:
        self._answers = iter(answers)
        self.asked: list[bytes] = []

    async def count(self, request: Request, body: bytes, timeout_seconds: float) -> int:
        del request, timeout_seconds
        self.asked.append(body)
        answer = next(self._answers, None)
        if answer is None:
            raise CountFailed("the script says so")
        return answer
