"""What a model's summary lost of the retained state, so that it can be put back without saying anything twice.

A thing is held only where it stands by itself: `a.py` is not held by `data.py`, nor `1.2` by `1.2.3`. A path is held
also by a longer one that ends with it or goes on below it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from compactor.model import Retained

_MARK = re.compile(r"\A\s*(?:[-*+]\s+)?(?:\[.\]\s*)?")
_SPACED = "\u0e00"
"""Below this stand the scripts that put blanks between words; beyond it a letter says nothing of where a word ends."""


def missing(retained: Retained, summary: str) -> Retained:
    """The retained state without what the summary says as well, word for word, case and white space aside.

    Identifiers and paths have to stand in it letter by letter: one letter off, they name something else.
    """
    said = _folded(summary)

    def is_said(text: str) -> bool:
        return _holds(said, _folded(text))

    steps = [_MARK.sub("", line, count=1) for line in retained.plan.splitlines()]
    return replace(
        retained,
        instructions=tuple(text for text in retained.instructions if not is_said(text)),
        facts=tuple(text for text in retained.facts if not is_said(text)),
        requests=tuple(text for text in retained.requests if not is_said(text)),
        identifiers=tuple(text for text in retained.identifiers if not _holds(summary, text)),
        files=tuple(file for file in retained.files if not _holds(summary, file.path)),
        tool_outcomes=tuple(
            done for done in retained.tool_outcomes if not (is_said(done.request) and is_said(done.outcome))
        ),
        plan="" if all(map(is_said, steps)) else retained.plan,
        open_questions=tuple(text for text in retained.open_questions if not is_said(text)),
    )


def _holds(said: str, text: str) -> bool:
    """Whether a text stands in what is said, and not as a part of a longer word, number or name."""
    at = said.find(text)
    while at >= 0:
        stop = at + len(text)
        before, behind = said[max(0, at - 2) : at][::-1], said[stop : stop + 2]
        is_rooted = text.startswith("/") and (_is_word(before[:1]) or before[:1] in ("~", "."))
        if not (is_rooted or _goes_on(text[:1], before) or _goes_on(text[-1:], behind)):
            return True
        at = said.find(text, at + 1)
    return False


def _goes_on(edge: str, beside: str) -> bool:
    """Whether what stands beside the edge of a text belongs to the same name; `beside` begins at the edge."""
    if not _is_word(edge) or _is_word(beside[:1]):
        return _is_word(edge)
    if beside[:1] == ",":
        return edge.isdigit() and beside[1:].isdigit()
    return beside[:1] in ("-", ".") and _is_word(beside[1:])


def _is_word(letter: str) -> bool:
    return letter == "_" or (letter.isalnum() and letter < _SPACED)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
