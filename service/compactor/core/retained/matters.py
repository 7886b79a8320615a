"""Which of the user's sentences still stand after what was said later.

A sentence has *values* (`values`), *topics* (`topics`) and a *direction*: it asks for something, forbids or allows it.
A later one takes an earlier one's place in one of these ways:

* both name different values of one family and share enough of their topics: "the deadline is Friday", "the deadline has
  moved to Monday". Where what differs is the place in which it holds, both stand: "tabs in Go", "spaces in Python".
* it has a value and no topic, "make that 120": it is about the last sentence that has a value of the kind.
* it turns the direction and covers the topics: "never touch the config folder", "you may change the config folder now".
* it revokes: "forget what I said about the tests".
* it says the same again.

Prohibitions add up, so that one never takes the place of another: "never push to main", "never push to release". Points
of one message never take each other's place. Where it is unsure, both stand: the later one is read last.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from compactor.core.retained import values, wording
from compactor.core.retained.topics import stem, topics

LEAST_SHARED, LEAST_SHARED_OF_UPDATE = 0.5, 0.3
"""The share of the fewer topics that two sentences have in common if they are about the same; less where it says so."""

MOST_COMPARED = 64  # of each topic, the latest
LONGEST_ELLIPSIS = 80

_MEASURES = frozenset((values.ANY_NUMBER, "size", "time", "money", "percent", "date", "version"))

_MANY = frozenset(("path", "host", "hash", "id", "version"))

_REVOKES = wording.any_of(r"""
    \b(?:forget|never mind|nevermind|ignore|disregard|scrap|scratch|drop|cancel|take back
        |withdraw)\b.{0,40}\b(?:what i|rules?|instructions?|that|earlier|previous|request|thing about|about
        |requirement|the limit|constraint)\b
    \benough (?:with|of)\b
    \bis (?:history|gone)\b
    \b(?:drop|scrap|forget) the\b
    \bno longer applies\b
    \bdoes(?:n't| not) (?:apply|matter|hold) any ?more\b
    \bis (?:lifted|void|moot|off the table)\b
    \bolvida\b|\boublie[zr]?\b|\bvergiss\b|забудь|忘掉|忘了|忘记|作废|取消|忘れて|撤回|잊어|취소
""")
_UPDATES = wording.any_of(r"""
    \b(?:now|instead|from now on|as of|actually|after all|second thought|moved|changed?|switch(?:ed)?|make (?:that
        |it)|let's say|no longer|any ?more|rather|correction|went (?:up|down)|raised|lowered|extended|pushed|again
        |settled|decided|updated?|replaced|turns out|i meant|my mind|newest|rebuilt|upgraded|may grow|up to
        |had to move|back to|higher|lower|larger|smaller|final word|extension|from here on|any longer|today on)\b
    verschoben|ab jetzt|jetzt|stattdessen|lieber|nunmehr|ahora|mejor|a partir de|en realidad|désormais
    finalement|plutôt|dorénavant|maintenant|теперь|лучше|отныне|改|现在|從現在|以后|提高|これから|変更
    もう|延|やはり|이제|바꿔|변경
""")
_ALLOWS = wording.any_of(r"""
    \b(?:may|allowed|permitted|fine|ok|okay|free to|welcome|no longer|no need|needn't|feel free|optional|permission
        |(?:don't|do not) (?:need|have) to|any ?more|any longer|you can|got access|can (?:now|also|come|be|use
        |change|edit|touch|install|go|skip|add|push|drop|write|delete|leave))\b
    可以|允许|不用|不必|해도|てもい|ても構|puedes|ya no|permitido|du kannst|darfst|erlaubt|nicht mehr
    nötig|kannst du|darfst du|tu peux|vous pouvez|plus besoin|permis|можно|можешь|разрешено
""")
_FORBIDS = wording.any_of(r"""
    \b(?:never|don't|dont|do not|not|no(?! more than| later| longer)|cannot|can't|mustn't|avoid|without|stop
        |forbidden|prohibited|off[- ]limits|hands off|untouched|refrain)\b(?! (?:more|longer|less|fewer|later) than)
    不要|不能|不得|不准|不许|禁止|别|勿|ないで|いけ|지 ?마|지 ?말|금지|\bnunca\b|\bjamás\b|\bnie\b
    niemals|nicht|\bkeine?n?\b|jamais|\bpas\b|никогда|нельзя|\bне\b|запрещ
""")
_REJECTED = re.compile(
    r"(?:instead of|rather than|no more(?! than)|, not|and not|\bnot|\bover|\bno(?! more)|\bnever (?:as|in)"
    r"|(?<!more )(?<!less )(?<!fewer )(?<!longer )(?<!later )\bthan) ([\w-]+(?: [\w-]+)?)"
)


_PART = re.compile(r"\b(?:in|for|of|under|when|if|within|only|except|unless)\b")
_ADDS_UP = wording.any_of(r"""
    \b(?:second|another|also|too|additional|as well|besides|in addition|other|both)\b
    也|还|\btambién\b|\bauch\b|\baussi\b|также
""")


class Direction(Enum):
    """What a sentence does about its matter."""

    ASKS = 0
    FORBIDS = 1
    ALLOWS = 2


class Standing(Enum):
    """What a sentence is kept as: a remark only where it takes back something else, and then as that."""

    REMARK = 0
    FACT = 1
    INSTRUCTION = 2


class Statement(NamedTuple):
    """A sentence of the user's that says what holds, or takes back what held.

    `values` are pairs of family and value, `rejected` the words that it says shall not be, and their stems.
    """

    text: str
    standing: Standing
    topics: frozenset[str]
    values: frozenset[tuple[str, str]]
    direction: Direction
    rejected: frozenset[str]
    updates: bool
    revokes: bool


class Settled(NamedTuple):
    """What became of a statement: what it is kept as, and the place of the later one that took it back, if any.

    A sentence that only revokes is taken back by itself once it has done so.
    """

    standing: Standing
    by: int | None = None


def statement(text: str, standing: Standing) -> Statement:
    """What a sentence says, taken apart."""
    own = wording.unquoted(text)
    found = values.find(own)
    low = own.lower().replace("’", "'")
    rejected = {word for match in _REJECTED.finditer(low) for word in match[1].split()}
    return Statement(
        text,
        standing,
        topics(found.rest) | found.by_family.get("environment", frozenset()),
        frozenset((family, value) for family, those in found.by_family.items() for value in those),
        _direction(low),
        frozenset(rejected.union(map(stem, rejected))),
        bool(_UPDATES.search(low)),
        bool(_REVOKES.search(low)),
    )


def is_update(sentence: str) -> bool:
    """Whether a sentence, in lower case, sounds as if it took something back."""
    return bool(_UPDATES.search(sentence) or _REVOKES.search(sentence))


def settle(told: Sequence[tuple[int, Statement]]) -> list[Settled]:
    """What becomes of statements, oldest first, each with the number of the message that it stands in."""
    settled = [Settled(statement.standing) for _, statement in told]
    about: defaultdict[str, list[int]] = defaultdict(list)  # by topic and by family: where they are spoken of
    for place, (_, new) in enumerate(told):
        earlier = _taken_back(told, settled, about, place)
        for at in earlier:
            standing = max(settled[place].standing, settled[at].standing, key=lambda kept: kept.value)
            settled[place] = Settled(standing)
            settled[at] = Settled(settled[at].standing, place)
        if earlier and new.revokes and new.values <= told[earlier[-1]][1].values:
            settled[place] = Settled(settled[place].standing, place)
        else:
            for key in new.topics | _families(new):
                about[key].append(place)
    return settled


def _taken_back(
    told: Sequence[tuple[int, Statement]], settled: Sequence[Settled], about: dict[str, list[int]], place: int
) -> Sequence[int]:
    """The places of those in force that a new statement takes back, none of its own message."""
    message, new = told[place]
    near: set[int] = set()
    for key in new.topics | _families(new):
        near.update(about.get(key, ())[-MOST_COMPARED:])
    standing = [at for at in sorted(near) if settled[at].by is None and told[at][0] != message]
    if new.standing is Standing.REMARK and not new.updates:
        standing = [at for at in standing if settled[at].standing is not Standing.REMARK]
    if new.topics:
        found = [at for at in standing if replaces(new, told[at][1])]
        return found if not new.revokes else sorted(found, key=lambda at: len(new.topics & told[at][1].topics))[-1:]
    if not (new.updates or new.revokes or _binds(new)) or len(new.text) > LONGEST_ELLIPSIS:
        return []
    return [at for at in standing if _contradicts(new, told[at][1])][-1:]


def replaces(new: Statement, old: Statement) -> bool:
    """Whether a later statement that has topics takes the place of an earlier one."""
    shared = len(new.topics & old.topics)
    overlap = shared / min(len(new.topics), len(old.topics)) if shared else 0.0
    if new.revokes:
        return overlap >= LEAST_SHARED or bool(new.values & old.values)
    if _ADDS_UP.search(new.text.lower()):
        return False
    if _says_again(new, old) or _turns(new, old):
        return True
    common = _families(new) & _families(old)
    if old.direction is new.direction is Direction.FORBIDS and _MEASURES.isdisjoint(common):
        return False
    is_meant = _binds(new) or new.updates
    if _binds(old) and not (is_meant or shared > 1 or shared == len(old.topics)):
        return False
    if not _differ(new, old):
        return is_meant and overlap >= LEAST_SHARED and not new.rejected.isdisjoint(old.topics)
    if any(_rejects(new, {value}) for _, value in old.values) and (shared or not old.topics):
        return True
    if not old.topics:
        return new.updates and not values.CHOICES.isdisjoint(common)
    if common == {"name"}:
        return overlap >= LEAST_SHARED if new.updates else overlap == 1.0 and shared > 1
    return overlap >= LEAST_SHARED_OF_UPDATE if new.updates else overlap == 1.0


def _says_again(new: Statement, old: Statement) -> bool:
    return (new.topics, new.values, new.direction) == (old.topics, old.values, old.direction)


def _turns(new: Statement, old: Statement) -> bool:
    """Whether a statement lifts, turns into a wish or forbids what another said, for all of its matter and no less.

    What holds for a part only, "mocks are fine for the client", is an exception, and both stand; so do they where a
    sentence merely speaks of the same things.
    """
    if new.direction is old.direction or old.direction is Direction.ALLOWS or not old.topics:
        return False
    if not (new.updates or new.direction is Direction.ALLOWS) or not old.values <= new.values or _adds(new, old):
        return False
    more = new.topics - old.topics
    if more and (not new.updates or len(more) > 1 or _PART.search(new.text.lower())):
        return False
    covered = len(old.topics & new.topics) / len(old.topics)
    return covered >= (LEAST_SHARED if new.updates and new.direction is Direction.ALLOWS else 1.0)


def _adds(new: Statement, old: Statement) -> bool:
    """Whether a statement names more values of a family than another, so that it widens and does not turn it."""
    return any(family in {known for known, _ in old.values} for family, _ in new.values - old.values)


def _contradicts(new: Statement, old: Statement) -> bool:
    """Whether a statement that names no topic is about the matter of another, all of its values being of its kinds.

    Paths, ids and the like do not tell: there may be many of a kind in a session. Names do where the sentences begin
    the same: "call me Sam", "call me Alex".
    """
    common = _families(new) & _families(old) - _MANY
    if common <= {"name"} and not (common and new.text.split()[:2] == old.text.split()[:2]):
        return False
    is_bare = not old.topics or not common.isdisjoint(values.CHOICES)
    if not new.updates and not (is_bare and _families(new) - {values.ANY_NUMBER} <= _families(old)):
        return False
    return _differ(new, old) or (new.revokes and bool(new.values & old.values))


def _differ(new: Statement, old: Statement) -> bool:
    """Whether two statements name different values of a family, and of no family that says where they hold."""
    ours, theirs = _by_family(new), _by_family(old)
    theirs = {family: those for family, those in theirs.items() if not _rejects(old, those)}
    if not new.topics and values.ANY_NUMBER in ours:  # without a unit it can be any number
        ours, theirs = _without_units(ours), _without_units(theirs)
    differing = {
        family
        for family in ours.keys() & theirs.keys()
        if ours[family] - theirs[family] and (theirs[family] - ours[family] or _rejects(new, theirs[family]))
    }
    places = differing & values.SCOPES
    return bool(differing - {"environment"}) and not (places and differing - places)


def _rejects(new: Statement, those: set[str]) -> bool:
    return any(word in new.rejected for value in those for word in value.split())


def _by_family(told: Statement) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for family, value in told.values:
        found.setdefault(family, set()).add(value)
    return found


def _without_units(by_family: dict[str, set[str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for family, those in by_family.items():
        found.setdefault(values.ANY_NUMBER if _is_measure(family) else family, set()).update(those)
    return found


def _families(told: Statement) -> set[str]:
    """The families of its values, and of a number with a unit that of any number too."""
    found = {family for family, _ in told.values}
    return found | {values.ANY_NUMBER} if any(map(_is_measure, found)) else found


def _is_measure(family: str) -> bool:
    return family.startswith(values.ANY_NUMBER) or family in ("money", "percent", "size", "time")


def _binds(told: Statement) -> bool:
    return told.standing is Standing.INSTRUCTION


def _direction(low: str) -> Direction:
    if _ALLOWS.search(low):
        return Direction.ALLOWS
    return Direction.FORBIDS if _FORBIDS.search(low) else Direction.ASKS
