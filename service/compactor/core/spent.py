"""What the input tokens of a request are spent on, part by part, so that the parts add up to the whole.

Estimates are of parts, a provider's number is of the whole. Each message is taken up by the ratio that the scale has
for parts, rounded down, and what is left over, hidden prompts and roundings, stands with the system text. Only where
the provider counted less than the ratio allows is the whole shared out in proportion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from compactor.core.question import Question
from compactor.core.view import View


class Spent(NamedTuple):
    """Real tokens by what they are spent on; those of a prompt at the head of the log are system text."""

    system: int
    tools: int
    summary: int
    kept: int
    clipped: int


def spent(question: Question, view: View, clipped_before: int) -> Spent:
    """What a view is spent on; values of messages with a smaller raw index than `clipped_before` are clipped in it."""
    share = real_tokens(question, view)
    tools = share(question.tools_tokens)
    summary = kept = clipped = 0
    for position in range(question.request.leading, len(view.messages)):
        tokens = share(view.messages[position].tokens)
        if position == view.summary_at:
            summary += tokens
        elif is_clipped(view, position, clipped_before):
            clipped += tokens
        else:
            kept += tokens
    return Spent(question.total(view) - tools - summary - kept - clipped, tools, summary, kept, clipped)


def real_tokens(question: Question, view: View) -> Callable[[int], int]:
    """Takes the estimate of a part of a request to its share of what the whole request with this view counts."""
    scale, estimate, total = question.scale, question.fixed_tokens + view.tokens, question.total(view)
    real, estimated = (scale.real, scale.estimated) if scale.hidden >= 0 else (total, max(1, estimate))
    return lambda tokens: tokens * real // estimated


def is_clipped(view: View, position: int, clipped_before: int) -> bool:
    """Whether a position holds a message with clipped values."""
    return position in view.literals and 0 <= view.origins[position] < clipped_before
