"""The shipped doubles of the providers: they answer what they were told to, in order, and remember what was asked."""

from __future__ import annotations

from collections.abc import Iterable

from compactor.core.assignment import Prompt
from compactor.model import Request, SummarizerUsage
from compactor.ports import CountFailed, Failure, Reply, SummarizerFailed


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


class ScriptedSummarizer:
    """A model with a script: a text is the answer, a Reply the whole of one, a failure is raised; the last one repeats.

    `asked` are the models and prompts, in order.
    """

    def __init__(self, *answers: str | Reply | SummarizerFailed) -> None:
        self._answers = list(answers) or [SummarizerFailed("the script is empty", Failure.UNAVAILABLE)]
        self.asked: list[tuple[str, Prompt]] = []

    async def write(self, model: str, prompt: Prompt, max_output_tokens: int, timeout_seconds: float) -> Reply:
        del max_output_tokens, timeout_seconds
        answer = self._answers[min(len(self.asked), len(self._answers) - 1)]
        self.asked.append((model, prompt))
        if isinstance(answer, SummarizerFailed):
            raise answer
        if isinstance(answer, Reply):
            return answer
        usage = SummarizerUsage(model, 1, len(prompt.system + prompt.text) // 4, len(answer) // 4)
        return Reply(answer, "end_turn", calls_tool=False, usage=usage)
