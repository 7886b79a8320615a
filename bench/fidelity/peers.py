"""What others would send in the place of the same messages, at the same size and without a model.

Each strategy gets the messages that the service evicted and a budget, and gives the text that it would keep of them.

* `tail`: the end of everything that was said, to the character.
* `head and tail`: half of the budget for each end; what is in the middle goes.
* `results cleared`: results of tools become a note of a few words; of the rest, the end. What context editing by
  providers and masking of observations do, with a budget on top.
* `user's messages`: what the user wrote, newest first. What some clients keep besides their summary.
* `trim_messages`: `langchain_core.messages.trim_messages` with `strategy="last"`, whole messages that fit, counted
  with the service's counter. It is told to begin anywhere; with `start_on="human"`, as its documentation has it, a run
  of one long turn would leave nothing. Only where the package is installed (the extra `fidelity`).

The first four are written here after descriptions of what peers do, and are kinder than those: none cares whether what
is left is a valid request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from bench.fidelity.service import Count
from bench.fidelity.sessions import Json, results, said, texts, words

Strategy = Callable[[Sequence[Json], int, Count], str]

CLEARED = "[cleared]"
_CHARACTERS_PER_TOKEN = 8
_STEPS = 16


def strategies() -> dict[str, Strategy]:
    """The strategies by name, in the order of the table."""
    found: dict[str, Strategy] = {
        "tail": tail,
        "head and tail": head_and_tail,
        "results cleared": results_cleared,
        "user's messages": users_messages,
    }
    trim = _trim_messages()
    return found if trim is None else {**found, "trim_messages": trim}


def tail(evicted: Sequence[Json], budget: int, count: Count) -> str:
    """The end of everything that was said."""
    return end_of(said(evicted), budget, count)


def head_and_tail(evicted: Sequence[Json], budget: int, count: Count) -> str:
    """Both ends of everything that was said, half of the budget each."""
    everything = said(evicted)
    end = end_of(everything, budget // 2, count)
    backwards = everything[: len(everything) - len(end)][::-1]
    return f"{end_of(backwards, budget - budget // 2, count)[::-1]}\n{end}"


def results_cleared(evicted: Sequence[Json], budget: int, count: Count) -> str:
    """The end of everything but the results of tools."""
    return end_of("\n".join(_cleared(message) for message in evicted), budget, count)


def users_messages(evicted: Sequence[Json], budget: int, count: Count) -> str:
    """What the user wrote, the newest of it."""
    return end_of("\n".join(words(message) for message in evicted if message["role"] == "user"), budget, count)


def end_of(text: str, budget: int, count: Count) -> str:
    """The longest end of a text that fits a budget, found by bisection."""
    text = text[-budget * _CHARACTERS_PER_TOKEN :] if budget > 0 else ""
    if count(text) <= budget:
        return text
    fits, exceeds = 0, len(text)
    for _ in range(_STEPS):
        middle = (fits + exceeds) // 2
        if count(text[-middle:]) <= budget:
            fits = middle
        else:
            exceeds = middle
    return text[-fits:] if fits else ""


def _cleared(message: Json) -> str:
    gone = set(results(message))
    return "\n".join(CLEARED if text in gone else text for text in texts(message))


def _trim_messages() -> Strategy | None:
    """LangChain's own function, None where it is not installed."""
    try:
        library: Any = import_module("langchain_core.messages")
    except ImportError:
        return None
    kinds: Mapping[str, Any] = {"assistant": library.AIMessage, "system": library.SystemMessage}

    def trim(evicted: Sequence[Json], budget: int, count: Count) -> str:
        told = [
            kinds.get(message["role"], library.HumanMessage)(content="\n".join(texts(message))) for message in evicted
        ]
        kept = library.trim_messages(
            told,
            max_tokens=budget,
            token_counter=lambda messages: sum(count(str(message.content)) for message in messages),
            strategy="last",
        )
        return "\n".join(str(message.content) for message in kept)

    return trim
