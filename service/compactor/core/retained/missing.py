"""What a model's summary lost of the retained state, so that it can be put back without saying anything twice."""

from __future__ import annotations

from dataclasses import replace

from compactor.model import Retained


def missing(retained: Retained, summary: str) -> Retained:
    """The retained state without what the summary says as well, word for word, case and white space aside.

    Identifiers and paths have to stand in it letter by letter: one letter off, they name something else.
    """
    said = _folded(summary)
    steps = [line for line in retained.plan.splitlines() if line.strip()]
    return replace(
        retained,
        instructions=tuple(text for text in retained.instructions if _folded(text) not in said),
        requests=tuple(text for text in retained.requests if _folded(text) not in said),
        identifiers=tuple(text for text in retained.identifiers if text not in summary),
        files=tuple(file for file in retained.files if file.path not in summary),
        tool_outcomes=tuple(done for done in retained.tool_outcomes if _folded(done.outcome) not in said),
        plan=retained.plan if any(_folded(_step(line)) not in said for line in steps) else "",
        open_questions=tuple(text for text in retained.open_questions if _folded(text) not in said),
    )


def _step(line: str) -> str:
    """The words of a step, without its mark."""
    return line.partition("]")[2] or line


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
