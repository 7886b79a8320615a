"""The user's standing instructions: sentences that bind the rest of the session, word for word.

Only what a person wrote counts: a tool's result cannot give instructions. A cue decides, not a grammar: it is better to
keep a sentence too many than to lose a prohibition, but a description ("I don't have the id") or a plain question is no
instruction. Under a heading such as "Rules:" every point of the list is one.
"""

from __future__ import annotations

import re

from compactor.core.retained import cues, wording

LONGEST_SENTENCE = 600


def find(text: str) -> tuple[str, ...]:
    """The standing instructions in what the user says, in order, each once.

    >>> find("Fix the bug. Never push to main!")
    ('Never push to main!',)
    """
    eastern = not text.isascii() and bool(cues.EASTERN_SCRIPT.search(text))
    if not eastern and not _has_cue(text):
        return ()
    found: dict[str, None] = {}
    in_list = False
    for sentence, listed in wording.sentences(text):
        low = sentence[:LONGEST_SENTENCE].lower()
        if low.endswith((":", "：")):
            in_list = bool(cues.LIST_HEAD.search(low))
            continue
        in_list = in_list and listed
        if in_list or ((eastern or _has_cue(low)) and binds(low)):
            found[wording.shorten(sentence.strip(), LONGEST_SENTENCE)] = None
    return tuple(found)


def binds(sentence: str) -> bool:
    """Whether a sentence, in lower case, binds what comes after it."""
    if sentence.endswith(("?", "？")):
        return bool(cues.QUESTION.search(sentence))
    return (
        bool(cues.ENGLISH.search(sentence) or cues.EUROPEAN.search(sentence))
        or _is_told(sentence, cues.ABSOLUTE, cues.DESCRIBING)
        or _is_told(sentence, cues.NEGATION, cues.SOMEBODY)
        or (not sentence.isascii() and bool(cues.EASTERN.search(sentence)))
    )


def merge(found: list[str]) -> tuple[str, ...]:
    """All instructions, oldest first; of those that say the same the latest stays, in its place."""
    latest: dict[str, str] = {}
    for instruction in found:
        key = " ".join(instruction.casefold().split()).rstrip(".!。！ ")
        latest.pop(key, None)
        latest[key] = instruction
    return tuple(latest.values())


def _has_cue(text: str) -> bool:
    return not cues.WORDS.isdisjoint(wording.words(text)) or " now on" in text


def _is_told(sentence: str, cue: re.Pattern[str], subjects: frozenset[str]) -> bool:
    """Whether a cue stands in the sentence otherwise than right after one of the words that make it a description."""
    for match in cue.finditer(sentence):
        before = sentence[max(0, match.start() - 24) : match.start()].split()
        if not before or before[-1] not in subjects:
            return True
    return False
