"""How likely a sentence is to bind what comes after it, by the manner in which it is said.

A linear model over what a sentence is made of: its words, the pairs of words that follow each other or stand one word
apart, how it begins and ends, the endings of its words, its length, the plain words of command in it; of scripts
without blanks the letters by twos and threes. Rules, prohibitions and habits are said in another manner than tasks,
reports and questions, and that shows in the small words: "goes past legal first" and "went past legal first" differ in
one letter. The weights are learned from labelled sentences of several languages (`python -m bench.fidelity.learn`) and
stand in `manner.tsv`; no weight knows a whole sentence. It costs some dozens of looks into a dictionary.
"""

from __future__ import annotations

import math
import re
from importlib.resources import files
from itertools import pairwise

from compactor.core.retained import wording

_WORD = re.compile(r"[\w']+|[?!:,;…]")
_EASTERN = re.compile("[぀-ヿ一-鿿가-힣]")
_CODE = re.compile(
    r"`[^`]*`|[\w.~-]*[/_\\][\w./~\\-]*|\b\w+\(\)?|\b\w+\.(?:py|ts|js|go|md|json|txt|png)\b|\*\*|[=<>{}$]+|->"
)
_NUMBER = re.compile(r"\d+")
_APOSTROPHE = str.maketrans("’‘", "''")
_ENDINGS = ("ed", "ing", "ly", "s", "en", "te", "é", "ait", "ado", "ó", "л", "ла", "ли")
_LONGEST_STEM = 4
_CODED = "codecode"
_BEGIN, _END = "^", "$"


_PLAIN = wording.any_of(r"""
    ^(?:and |but |also |so |please |just )*(?:never|always|do not|don't|avoid|only|going forward|make sure|ensure)\b
    \b(?:from now on|whenever you|under no circumstances|no matter what|whatever happens|no more than|without asking)\b
    \b(?:you|we) (?:must|may|mustn't|can't|cannot|should|shall)\b
    \b(?:must|may) (?:not |never |only )?be\b
    \bat (?:most|least)\b
    \bi(?:'d| would) (?:rather|prefer)\b
    \bi (?:prefer|like|hate)\b
""")
"""What commands and wishes look like at their plainest; the model weighs them, they do not decide."""


def features(sentence: str) -> set[str]:
    """What a sentence is made of.

    >>> sorted(name for name in features("No jokes.") if name[0] == "w")
    ['w jokes', 'w no']
    """
    low = sentence.lower().translate(_APOSTROPHE)
    if _EASTERN.search(low):
        return _of_letters("".join(low.split()))
    words = [_NUMBER.sub("0", word) for word in _WORD.findall(_CODE.sub(f" {_CODED} ", low))]
    padded = [_BEGIN, *words, _END]
    found = {f"w {word}" for word in words}
    found.update([f"b {first} {second}" for first, second in pairwise(padded)])
    found.update([f"s {first} {third}" for first, third in zip(padded, padded[2:], strict=False)])
    for word in words:
        if len(word) > _LONGEST_STEM and word.endswith(_ENDINGS):
            found.update([f"e {ending}" for ending in _ENDINGS if word.endswith(ending)])
    for plain in _PLAIN.findall(low):
        found.update(("k", f"k {plain}"))
    found.add(f"l {min(8, len(words) // 3)}")
    return found


def likelihood(sentence: str) -> float:
    """Between 0 and 1, how likely a sentence is to bind; half is where as much speaks for it as against it."""
    return 1 / (1 + math.exp(-min(50.0, max(-50.0, score(sentence)))))


def score(sentence: str) -> float:
    """What speaks for it less what speaks against it."""
    return math.fsum([_BIAS, *map(_WEIGHTS.__getitem__, _WEIGHTS.keys() & features(sentence))])


def _of_letters(letters: str) -> set[str]:
    letters = _NUMBER.sub("0", f"{_BEGIN}{letters}{_END}")
    found = {f"c {letters[at : at + size]}" for size in (2, 3) for at in range(len(letters) - size + 1)}
    found.add(f"m {min(8, len(letters) // 6)}")
    return found


def _read() -> dict[str, float]:
    lines = files(__package__).joinpath("manner.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.rsplit("\t", 1) for line in lines if not line.startswith("#"))
    return {name: float(weight) for name, weight in pairs}


_WEIGHTS = _read()
_BIAS = _WEIGHTS.pop("bias", 0.0)
