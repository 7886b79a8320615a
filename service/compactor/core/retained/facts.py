"""What the user states once and the work may need later: who, where, which, how much, told and not asked for.

A fact is a plain statement, no question and no task, that says of something what it is or has, and has a value in it:
an id, a host, a path, a version, an amount, a date, a name. Reports of what went wrong have values as well, so what
looks back or is about this moment only is left out.
"""

from __future__ import annotations

import re

from compactor.core.retained import matters, values, wording
from compactor.core.retained.matters import Standing

LONGEST = 300

_SAYS = wording.any_of(r"""
    \b(?:is|are|it's|that's|'s|has|have|owns?|runs?|listens?|answers?|lives?|belongs?|means?|equals?|called|named
        |will be|goes|sits|want|wants|need|needs|plan|aim|hope|ist|sind|heißt|liegt|läuft|est|sont|s'appelle|es|son
        |está|se llama|это)\b
    [:=—]|是|叫|位于|です|である|입니다|이에요|예요|이야
""")
_REPORTS = wording.any_of(r"""
    \b(?:was|were|did|didn't|got|tried|fails?|failed|failing|error|crash\w*|broken|wrong|seems?|looks?|think|guess
        |maybe|i've|should be|returns?|shows?|says?)\b
""")
_MOMENT = wording.any_of(r"""
    \b(?:this (?:time|one|once)|for now|just now|right now|for today|yet|temporarily|for the moment
        |this week|today only|tonight|this release|this once|next week only)\b
""")
_ASKS = wording.any_of(r"""
    (?:(?:and|but|so|ok|yes|no|hm+),? )*(?:(?:can|could|would|will|should|shall|do|does|did|is|are) (?:you|we|i|it
        |that|this)|how|why|what|where|who|when|which|whats)\b
""")
_POINTS = re.compile(r"\b(?:this|that|these|those|one|first|second|third|last|next|another)\b")
_PROSE = re.compile(r"[\"'(*_]{0,3}[^\W\d_]\S* \S+|[぀-ヿ一-鿿가-힣]{2}")
_TASK_WORDS = """
    read run look find fix add write implement create build refactor check explain show list summarize summarise compare
    delete remove rename move print count give tell generate draft plan propose suggest translate search open start
    restart undo try make go do review investigate analyse analyze port convert update draw plot sort load extract get
    fetch send install upgrade clean optimise optimize profile debug rewrite split merge push have can could would will
    i've i'll sum describe design outline sketch replace improve simplify conduct continue invoke inspect examine then
    next first afterwards finally
"""
_TASKS = frozenset(_TASK_WORDS.split())
_TELLING = frozenset(
    ("host", "hash", "id", "path", "name", "number", "money", "date", "version", "percent", "size", "time")
)


def is_of_the_moment(sentence: str) -> bool:
    """Whether a sentence is about this moment only."""
    return bool(_MOMENT.search(sentence.lower()))


def standing(sentence: str) -> Standing | None:
    """What a sentence that is no instruction is: a fact, a remark, or None for a question, a task or talk.

    >>> standing("The ticket is COMP-4711."), standing("Make that 120."), standing("Open it.")
    (<Standing.FACT: 1>, <Standing.REMARK: 0>, None)
    """
    low = sentence.lower()
    if len(sentence) > LONGEST or low.endswith(("?", "？")) or not _PROSE.match(low) or _MOMENT.search(low):
        return None
    if _ASKS.match(low):
        return None
    families = values.find(sentence).by_family
    if len(sentence) <= matters.LONGEST_ELLIPSIS and matters.is_update(low):
        return Standing.REMARK
    if low.partition(" ")[0].rstrip(",:") in _TASKS:
        return Standing.REMARK if families and not _POINTS.search(low) else None
    if _SAYS.search(low) and not _REPORTS.search(low) and any(map(_tells, families)):
        return Standing.FACT
    return Standing.REMARK if families or matters.is_update(low) else None


def _tells(family: str) -> bool:
    return family in _TELLING or family.startswith(values.ANY_NUMBER)
