"""What the user asked for: their own words, newest first; pasted code and logs are shortened, not the sentences.

Agents that call tools in text get the results back as messages of the user; those are known by their shape and are no
requests, except for the first message of all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from compactor.core.retained import wording

LONGEST_REQUEST = 1_200
MOST_REQUESTS = 200
LONGEST_BLOCK = 400
_LONGEST_TASK_FREE = 2_000  # before any file is open, a longer text states the task

_OUTPUT = re.compile(
    r"EXECUTION RESULT of|OBSERVATION:|Observation:|\[The command completed|<function_results>|<tool_response>|<output>"
)
_SAYS_SOMETHING = re.compile(r"[^\W_]{2}")
_PROMPT_AT_END = re.compile(r"\n\(Open file: [^\n]*\n\(Current directory: [^\n]*\nbash-\$\s*\Z")


def find(said: str) -> str:
    """The request in what the user says: verbatim where it is short, else its head and tail without pasted blocks."""
    if len(said) <= LONGEST_REQUEST:
        return said
    if "```" in said:
        pieces = said.split("```")
        said = "```".join(
            f"\n[…{len(piece):,} characters of code left out…]\n" if at % 2 and len(piece) > LONGEST_BLOCK else piece
            for at, piece in enumerate(pieces[:200])
        )
    return wording.shorten(said, LONGEST_REQUEST)


def without(request: str, sentences: Sequence[str]) -> str:
    """The request without some of its sentences; empty where nothing else was said.

    >>> without("Thanks. The host is a1. Go on.", ["The host is a1."])
    'Thanks. Go on.'
    """
    rest = request
    for sentence in sentences:
        rest = rest.replace(sentence, "")
    if rest == request:
        return request
    lines = (" ".join(line.split()) for line in rest.splitlines())
    return "\n".join(line for line in lines if _SAYS_SOMETHING.search(line))


def is_output(said: str) -> bool:
    """Whether a message of the user has the shape of a tool's output."""
    if said.endswith("bash-$") and _PROMPT_AT_END.search(said[-1_000:]):
        return len(said) < _LONGEST_TASK_FREE or "(Open file: n/a)" not in said[-1_000:]
    return bool(_OUTPUT.match(said))


def merge(found: list[str]) -> tuple[str, ...]:
    """All requests, newest first; of equal ones the newest stays."""
    return tuple(dict.fromkeys(filter(None, reversed(found))))[:MOST_REQUESTS]
