"""Credentials on their way out: with `redact`, everything that is made of messages is made of masked ones.

The messages themselves are masked before a history is rendered, a state is harvested or a passage is shown to a
summarizer, and so is what comes from elsewhere: the summary in force, the caller's wishes, the model's reply, and the
open request in the summary message, which is a text of ours. What stays in the kept part, a pinned request included, is
the caller's own and is never touched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from compactor.core.decision import Plan
from compactor.core.masks import Masks
from compactor.core.retained import Harvest, harvest
from compactor.errors import Overloaded
from compactor.model import Content, Dialect, Request
from compactor.policy import Settings
from compactor.ports import Redactor

SLACK_SECONDS = 0.3
"""What is left of a call's time for saying that it cannot be answered."""


@dataclass(frozen=True, slots=True)
class Masked:
    """Messages without their credentials: their contents and what is worth keeping of them, from the raw index `first`
    on, and what masks any other text as they are.
    """

    first: int
    contents: Sequence[Content]
    harvests: Sequence[Harvest]
    text: Callable[[str], str]

    def content(self, index: int) -> Content:
        """The message with a raw index."""
        return self.contents[index - self.first]

    def harvest(self, index: int) -> Harvest:
        """What is worth keeping of it."""
        return self.harvests[index - self.first]


async def masked(
    redactor: Redactor,
    request: Request,
    dialect: Dialect,
    *,
    previous_summary: str = "",
    seconds_left: float | None = None,
) -> Masked:
    """The messages, those at the head that are the prompt aside; made in a thread. Raises Overloaded where the caller's
    deadline comes before the redactor is ready: nothing is told unmasked instead.

    Those that are kept are among them: what they say can take back what was said before. `previous_summary` is one
    whose masks are those of other messages.
    """
    try:
        async with asyncio.timeout(None if seconds_left is None else max(0.0, seconds_left - SLACK_SECONDS)):
            await redactor.ready()
    except TimeoutError:
        raise Overloaded("credentials cannot be masked yet, the catalogue of them is still being read") from None
    return await asyncio.to_thread(_masked, redactor, request, dialect, previous_summary)


def _masked(redactor: Redactor, request: Request, dialect: Dialect, previous_summary: str) -> Masked:
    masks = Masks(redactor.find)
    read = [dialect.read(request.raw(index)) for index in range(request.leading, len(request.messages))]
    masks.learn(read, previous_summary)
    contents = list(map(masks.content, read))
    return Masked(request.leading, contents, list(map(harvest, contents)), masks.text)


def masked_plan(plan: Plan, by: Masked) -> Plan:
    """A plan of which nothing leaves unmasked. What the open request grows by is taken from the summary's room."""
    question = plan.question
    means = replace(question.means, content=by.content, harvest=by.harvest, masked=by.text)
    text = by.text(plan.request_text)
    grown = 0 if text == plan.request_text else max(0, means.count(text) - means.count(plan.request_text))
    return replace(
        plan,
        question=replace(question, means=means, settings=masked_settings(question.settings, by.text)),
        request_text=text,
        summary_tokens=max(0, plan.summary_tokens - grown),
        most_summary_tokens=max(0, plan.most_summary_tokens - grown),
    )


def masked_settings(settings: Settings, shown: Callable[[str], str]) -> Settings:
    """The settings with what the caller wishes of a summary masked, too."""
    return replace(settings, instructions=shown(settings.instructions), prompt=shown(settings.prompt))
