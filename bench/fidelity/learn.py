"""Learns the weights of `compactor.core.retained.manner` anew from the labelled sentences in the tests.

    pip install '.[fidelity]'
    python -m bench.fidelity.learn

Read is `tests/fidelity/instructions/learning`: sentences with 1 for those that bind and 0 for others, and messages with
their instructions and others. The held-apart set beside it is never read here, only measured against afterwards. The
model is scikit-learn's logistic regression, both classes weighing the same; weights that say next to nothing are left
out. The result is the same in every run of one version of the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from bench.fidelity.instructions import LABELLED
from compactor.core.retained import manner

LEARNING = LABELLED / "learning"
WEIGHTS = Path(manner.__file__).with_name("manner.tsv")
STRENGTH = 3.0
"""The inverse of how much large weights cost; measured against a part of the learning set that was left out."""

LEAST_WEIGHT = 0.1

_HEAD = "# Learned by `python -m bench.fidelity.learn`; a feature, a tab, its weight.\n"


def labelled() -> Iterator[tuple[str, bool]]:
    """The sentences to learn from, each with whether it binds."""
    for line in (LEARNING / "sentences.tsv").read_text(encoding="utf-8").splitlines():
        label, _, sentence = line.partition("\t")
        yield sentence, label == "1"
    for message in json.loads((LEARNING / "messages.json").read_text(encoding="utf-8")):
        yield from ((sentence, True) for sentence in message["instructions"])
        yield from ((sentence, False) for sentence in message["others"])


def main() -> int:
    """Writes the weights, and says how many."""
    from sklearn.feature_extraction import DictVectorizer  # type: ignore[import-not-found]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found]

    sentences = dict(labelled())
    vectorizer = DictVectorizer()
    rows = vectorizer.fit_transform([dict.fromkeys(manner.features(sentence), 1) for sentence in sentences])
    model = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=3_000)
    model.fit(rows, list(sentences.values()))
    named = zip(vectorizer.feature_names_, model.coef_[0], strict=True)
    weights = {"bias": float(model.intercept_[0])}
    weights |= {name: float(weight) for name, weight in named if abs(weight) >= LEAST_WEIGHT}
    lines = (f"{name}\t{weight:.3f}\n" for name, weight in sorted(weights.items()))
    WEIGHTS.write_text(_HEAD + "".join(lines), encoding="utf-8")
    print(f"{len(weights)} weights from {len(sentences)} sentences")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
