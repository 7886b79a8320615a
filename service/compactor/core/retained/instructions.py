"""The user's standing instructions and facts, word for word: sentences that hold for the rest of the session.

Only what a person wrote counts: a tool's result cannot give instructions, nor can code, quotes and logs in a message.
Sentence by sentence, the manner in which it is said decides (`manner`): what is likely enough to bind is an
instruction, what may bind or states a fact (`facts`) is kept beside it and yields first where there is no room. In a
long message, which is pasted more often than said, an instruction has to be plainer. Under a heading such as "Rules:"
every point of the list is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compactor.core.retained import facts, manner, matters, wording
from compactor.core.retained.matters import Standing, Statement

LONGEST_SENTENCE = 600
LONGEST_SAID = 2_000
"""Characters beyond which a message is taken for pasted text: its instructions have to be plainer, and no facts are
looked for in it.
"""

BINDS, BINDS_IN_PASTED, MAY_BIND = 0.55, 0.8, 0.3
"""How likely a sentence has to be to bind; `make bench-fidelity` tells how many are found so, and how many wrongly."""

MOST_OTHERS = 8
"""Facts and remarks of one message."""

# What a client writes in the user's name when it begins anew: nobody's words, and the messages it is about are kept.
_CONTINUED = "This session is being continued from a previous conversation"
_HEADS = (
    r"rules?|constraints?|requirements?|guidelines?|conventions?|preferences?|instructions|format|important|remember"
    r"|keep in mind|bear in mind|do's and don'ts|dos and don'ts|principles|style|规则|要求|约束|注意|規則|约定|ルール"
    r"|制約|約束|規約|규칙|조건|제약|reglas|restricciones|normas|regeln|vorgaben|règles|contraintes|consignes|правила"
    r"|требования"
)
_LIST_HEAD = re.compile(
    rf"(?:{_HEADS})\b\W{{0,6}}[:：]$|^(?:\w+ ){{0,4}}(?:{_HEADS})\b[^.:：]{{0,60}}[:：]$|(?:规则|要求|约束|注意"
    rf"|规约)\W{{0,3}}[:：]$"
)


def find(text: str) -> tuple[str, ...]:
    """The standing instructions in what the user says, in order, each once.

    >>> find("Fix the bug. Never push to main!")
    ('Never push to main!',)
    """
    return tuple(told.text for told in statements(text) if told.standing is Standing.INSTRUCTION)


def statements(text: str) -> tuple[Statement, ...]:
    """The standing instructions in what the user says, the facts and the remarks, in order, each once."""
    found: dict[str, Standing] = {}
    others = 0
    for sentence, is_point in _sentences(text):
        standing = Standing.INSTRUCTION if is_point else _standing(sentence, is_pasted=len(text) > LONGEST_SAID)
        if standing is Standing.INSTRUCTION:
            found[sentence] = standing
        elif standing and others < MOST_OTHERS:
            others += 1
            found.setdefault(sentence, standing)
    return tuple(matters.statement(sentence, standing) for sentence, standing in found.items())


def _standing(sentence: str, *, is_pasted: bool) -> Standing | None:
    """What a sentence is kept as, None where it is not."""
    if facts.is_of_the_moment(sentence):
        return None
    likely = manner.likelihood(wording.unquoted(sentence))
    if likely >= (BINDS_IN_PASTED if is_pasted else BINDS):
        return Standing.INSTRUCTION
    if is_pasted:
        return None
    return Standing.FACT if likely >= MAY_BIND else facts.standing(sentence)


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences of what the user says, each with whether it is a point of a list of rules."""
    if text.startswith(_CONTINUED):
        return
    in_list = False
    for sentence, listed in wording.sentences(text):
        low = sentence[:LONGEST_SENTENCE].lower().strip("*_ ")
        if low.endswith((":", "：")):
            in_list = bool(_LIST_HEAD.search(low))
            continue
        in_list = in_list and listed
        yield wording.shorten(sentence.strip(), LONGEST_SENTENCE), in_list
