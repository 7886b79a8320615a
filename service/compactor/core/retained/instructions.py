"""The user's standing instructions: sentences that bind the rest of the session, word for word.

Only what a person wrote counts: a tool's result cannot give instructions, nor can code, quotes and logs in a message.
Sentence by sentence, a cue decides, not a grammar: what says that something holds (a time without end, a prohibition, a
permission, a preference, a form of the answers, how things are done here, a fact such as a deadline) binds; a task, a
description, a plain question or what is about this moment only does not. Where it is unsure it is better to keep a
sentence too many than to lose a prohibition. Under a heading such as "Rules:" every point of the list is one.
"""

from __future__ import annotations

from collections.abc import Iterator

from compactor.core.retained import cues, facts, matters, tongues, wording
from compactor.core.retained.matters import Standing, Statement

LONGEST_SENTENCE = 600

_APOSTROPHES = str.maketrans("’‘", "''")
_AROUND_WORDS = str.maketrans(dict.fromkeys('.,:;!?()[]"*_`“”…', " "))
# What a client writes in the user's name when it begins anew: nobody's words, and the messages it is about are kept.
_CONTINUED = "This session is being continued from a previous conversation"


def find(text: str) -> tuple[str, ...]:
    """The standing instructions in what the user says, in order, each once.

    >>> find("Fix the bug. Never push to main!")
    ('Never push to main!',)
    """
    return tuple(dict.fromkeys(sentence for sentence, is_instruction in _sentences(text) if is_instruction))


def statements(text: str) -> tuple[Statement, ...]:
    """The standing instructions in what the user says, the facts and the remarks, in order, each once."""
    found: dict[str, Standing] = {}
    others = 0
    for sentence, is_instruction in _sentences(text):
        if is_instruction:
            found[sentence] = Standing.INSTRUCTION
        elif len(text) <= facts.LONGEST_TEXT and others < facts.MOST_IN_TEXT:
            standing = facts.standing(sentence)
            if standing:
                others += 1
                found.setdefault(sentence, standing)
    return tuple(matters.statement(sentence, standing) for sentence, standing in found.items())


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences of what the user says, each with whether it binds."""
    if text.startswith(_CONTINUED):
        return
    in_list = False
    for sentence, listed in wording.sentences(text):
        low = sentence[:LONGEST_SENTENCE].lower().translate(_APOSTROPHES).strip("*_ ")
        if low.endswith((":", "：")):
            in_list = bool(cues.LIST_HEAD.search(low))
            continue
        in_list = in_list and listed
        yield wording.shorten(sentence.strip(), LONGEST_SENTENCE), in_list or binds(low)


def binds(sentence: str) -> bool:
    """Whether a sentence, in lower case, binds what comes after it."""
    if '"' in sentence or not sentence.isascii():
        sentence = cues.QUOTED.sub("…", sentence)
    if sentence.endswith(("?", "？")):
        return bool(cues.WISH.search(sentence))
    return _binds_in_english(sentence) or _binds_elsewhere(sentence)


def _binds_in_english(sentence: str) -> bool:
    words = sentence.translate(_AROUND_WORDS).split()
    filler = cues.FILLER.match(sentence)
    bare = (sentence[filler.end() :] if filler else sentence).rstrip(".!; ")
    if _is_filed(cues.STRONG, words, bare):
        return True
    weak = _is_filed(cues.WEAK, words, bare)
    if not weak and (bare.partition(" ")[0].rstrip(",:") in cues.TASKS or not _is_filed(cues.LOOSE, words, bare)):
        return False
    return not cues.MOMENT.search(bare)


def _is_filed(table: cues.Filed, words: list[str], sentence: str) -> bool:
    return any(pattern.search(sentence) for word in table.keys() & words for pattern in table[word])


def _binds_elsewhere(sentence: str) -> bool:
    if sentence.isascii():
        if tongues.TELLING.isdisjoint(sentence.translate(_AROUND_WORDS).split()):
            return False
        return bool(tongues.EUROPEAN.search(sentence)) and not tongues.MOMENT.search(sentence)
    found = tongues.EASTERN if tongues.EASTERN_SCRIPT.search(sentence) else tongues.EUROPEAN
    return bool(found.search(sentence)) and not tongues.MOMENT.search(sentence)
