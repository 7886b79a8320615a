"""Part 3, whether the service knows a standing instruction when it sees one, on this project's own labelled set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LABELLED = Path(__file__).resolve().parents[2] / "tests" / "fidelity" / "instructions"


@dataclass(frozen=True, slots=True)
class Judged:
    """Counts over the set: labelled instructions, sentences that the service found, and those that are both."""

    labelled: int
    found: int
    right: int

    @property
    def recall(self) -> float:
        """The share of the labelled instructions that were found."""
        return self.right / self.labelled if self.labelled else 1.0

    @property
    def precision(self) -> float:
        """The share of what was found that is labelled."""
        return self.right / self.found if self.found else 1.0


def measured() -> Judged | None:
    """The counts, None where there is no labelled set."""
    if not any(LABELLED.glob("*.json")):
        return None
    raise NotImplementedError
