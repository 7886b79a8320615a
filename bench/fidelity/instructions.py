"""Part 3, whether the service knows a standing instruction when it sees one, on this project's own labelled set.

The set is `tests/fidelity/instructions/held-apart.json`, from which nothing was learned: a list of cases, `text` is
what a person says, `instructions` are the sentences in it that bind what comes after, as they stand there. Found is
what the service keeps of such a message. The two are the same when one holds the other, case, white space and a full
stop aside; each labelled sentence is matched once. *Recall* is the share of the labelled ones that are found,
*precision* the share of what is found that is labelled.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from compactor.core.retained import harvest
from compactor.formats import anthropic

LABELLED = Path(__file__).resolve().parents[2] / "tests" / "fidelity" / "instructions"


@dataclass(frozen=True, slots=True)
class Judged:
    """Counts over the set: labelled instructions, sentences that the service found, and those that are both.

    `missed` and `wrong` are the texts.
    """

    labelled: int
    found: int
    right: int
    missed: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def recall(self) -> float:
        """The share of the labelled instructions that were found."""
        return self.right / self.labelled if self.labelled else 1.0

    @property
    def precision(self) -> float:
        """The share of what was found that is labelled."""
        return self.right / self.found if self.found else 1.0


def measured(folder: Path = LABELLED) -> Judged | None:
    """The counts, None where there is no labelled set."""
    paths = sorted(folder.glob("*.json"))
    if not paths:
        return None
    labelled = found = right = 0
    missed: list[str] = []
    wrong: list[str] = []
    for case in (case for path in paths for case in json.loads(path.read_text())):
        wanted, kept = list(case["instructions"]), list(_kept(case["text"]))
        labelled += len(wanted)
        found += len(kept)
        for sentence in kept:
            match = next((text for text in wanted if _is_same(text, sentence)), None)
            if match is None:
                wrong.append(sentence)
            else:
                wanted.remove(match)
                right += 1
        missed += wanted
    return Judged(labelled, found, right, tuple(missed), tuple(wrong))


def _kept(text: str) -> Sequence[str]:
    message = json.dumps({"role": "user", "content": text}, ensure_ascii=False).encode()
    return harvest(anthropic.DIALECT.read(message)).instructions


def _is_same(one: str, other: str) -> bool:
    first, second = _folded((one, other))
    return first in second or second in first


def _folded(texts: Iterable[str]) -> Iterable[str]:
    return (" ".join(text.casefold().split()).rstrip(".!。！") for text in texts)
