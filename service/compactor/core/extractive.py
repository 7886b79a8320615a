"""The summary that needs no model (rule R19): the retained state as a briefing for an agent that has seen nothing.

Each section is a list of items, best first. The budget is shared by value per token: of all sections the one whose next
item is worth most for its size goes on, until nothing fits; what a section's items are worth falls along the list, so
that no section starves the others. Standing instructions come before all that and yield to nothing but the budget
itself; after them comes the newest request. The first item that does not fit is shortened where that is of use, and
closes its section.

Sizes come from one count of each section, shared out by length; only the result is counted again. Text copied from
messages stands on one line or behind a quote mark, so that none of it can pass for a heading of the briefing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from compactor.core.retained import requests, wording
from compactor.core.retained.outcomes import weight
from compactor.model import Retained, ToolOutcome

INSTRUCTIONS = "Standing instructions"
FACTS = "Facts from the user"
REQUESTS = "What the user asked for"
PLAN = "Plan"
FILES = "Files"
OUTCOMES = "Tool outcomes"
IDENTIFIERS = "Identifiers"
QUESTIONS = "Open questions"
STANDING = "Where things stand"
EARLIER = "Earlier summary"

_INTRODUCTIONS = {
    INSTRUCTIONS: "The user's own words, oldest first; where two disagree, the later one holds.",
    FACTS: "In the user's own words, oldest first.",
    REQUESTS: "Newest first; all but the newest may be done.",
    OUTCOMES: "Newest first.",
    STANDING: "What the assistant said last:",
    EARLIER: "Written before the rest; where they differ, the rest is newer.",
}
_LEAST_FOR_INTRODUCTIONS = 400

OUTCOME_DECAY, OUTCOME_HALF_LIFE, OUTCOME_FLOOR = 0.9, 20.0, 0.3
_ATTEMPTS = 6
_CUTS = 24
_LEAST_TOKENS = 12  # an item is not shortened to less
_CHARACTERS_PER_TOKEN = 8  # of text that is worth a look under a budget, generously
_MARGIN = 0.97
_LONGEST_QUOTE = 8_000
_DEEPEST = 16


class _Item(NamedTuple):
    """A piece of text and where it stands among the items of its section."""

    text: str
    place: int


class _Section(NamedTuple):
    """A heading and its items, best first, worth `value × decay ** position`, the first of them `first`.

    Items with a label share one line behind it; others stand on lines of their own. Two sections may share a heading.
    """

    name: str
    items: tuple[_Item, ...]
    value: float
    decay: float
    first: float
    label: str = ""


def extract(
    retained: Retained,
    *,
    max_tokens: int,
    count: Callable[[str], int],
    last_words: str = "",
    previous: str = "",
) -> tuple[str, tuple[str, ...]]:
    """The briefing, at most `max_tokens` by `count`, and the names of the sections in which something was dropped.

    `last_words` is what the assistant said last; `previous` is what to carry on of the summary in force before.
    """
    sections = _sections(retained, last_words=last_words, previous=previous)
    if not sections or max_tokens <= 0:
        return "", _names(sections)
    everything = [section.items for section in sections]
    if sum(map(_length, everything)) <= max_tokens * _CHARACTERS_PER_TOKEN:
        text = _render(sections, everything, max_tokens)
        if count(text) <= max_tokens:
            return text, ()
    rates = [_rate(section, max_tokens, count) for section in sections]
    bounded = [_bounded(section, rate, max_tokens) for section, rate in zip(sections, rates, strict=True)]
    budget = float(max_tokens)
    for _ in range(_ATTEMPTS):
        chosen = _choose(bounded, rates, budget)
        text = _render(sections, chosen, max_tokens)
        tokens = count(text)
        if text and tokens <= max_tokens:
            break
        budget *= _MARGIN * max_tokens / max(tokens, max_tokens)
    else:
        chosen = [()] * len(sections)
        text = _cut(f"{sections[0].name}: {sections[0].items[0].text}", max_tokens, count)
    short = [section for section, taken in zip(sections, chosen, strict=True) if taken != section.items]
    return text, _names(short)


def carried(previous: str) -> str:
    """What to carry on of a summary that this module wrote: what it carried itself; the rest is found anew."""
    kept: list[str] = []
    ours = {f"## {name}": name for name in (*_INTRODUCTIONS, PLAN, FILES, IDENTIFIERS, QUESTIONS)}
    heading = ""
    for line in previous.splitlines():
        if line.rstrip() in ours:
            heading = ours[line.rstrip()]
        elif not heading:
            kept.append(line)
        elif heading == EARLIER and line.startswith("> "):
            kept.append(line[2:])
    return "\n".join(kept)


def _sections(retained: Retained, *, last_words: str, previous: str) -> list[_Section]:
    known = _known(record.path for record in retained.files)
    changed = [_code(record.path) for record in retained.files if record.changed]
    read = [_code(record.path) for record in retained.files if not record.changed]
    others = [_code(text) for text in retained.identifiers if text.strip("./") not in known]
    sections = [
        _Section(INSTRUCTIONS, _newest_last([_point(text) for text in retained.instructions]), 1e9, 1.0, 1e9),
        _Section(REQUESTS, _newest_and_oldest(map(_point, _asked(retained))), 200, 0.8, 1e6),
        _Section(FACTS, _newest_last([_point(text) for text in retained.facts]), 150, 0.97, 400),
        _Section(PLAN, _open_first(retained.plan), 40, 0.97, 80),
        _Section(QUESTIONS, _in_order(map(_point, retained.open_questions)), 80, 0.9, 80),
        _Section(STANDING, _in_order(_quote(last_words)), 100, 0.8, 160),
        _Section(FILES, _in_order(changed), 40, 0.97, 40, label="Changed"),
        _Section(FILES, _in_order(read), 20, 0.95, 20, label="Read"),
        _Section(OUTCOMES, _most_telling(retained.tool_outcomes), 30, OUTCOME_DECAY, 40),
        _Section(IDENTIFIERS, _in_order(others), 8, 0.9996, 12, label="Seen"),
        _Section(EARLIER, _in_order(_quote(previous)), 200, 0.9, 1_000),
    ]
    return [section for section in sections if section.items]


def _bounded(section: _Section, rate: float, max_tokens: int) -> _Section:
    """The section with its first item shortened to half of the budget: what comes first shall not be all there is."""
    if section.label:
        return section
    first = section.items[0]
    text = wording.shorten(first.text, max(40, int(max_tokens / 2 / rate)), note=" […] ")
    return section._replace(items=(_Item(text, first.place), *section.items[1:]))


def _choose(sections: list[_Section], rates: list[float], budget: float) -> list[tuple[_Item, ...]]:
    """The items of each section that fit the budget, given the tokens of a character in each section."""
    taken: list[list[_Item]] = [[] for _ in sections]
    headed: set[str] = set()
    left = budget
    ratios = {at: _ratio(section, 0, rates[at]) for at, section in enumerate(sections)}
    while ratios:
        at = max(ratios, key=ratios.__getitem__)
        section, place = sections[at], len(taken[at])
        item, cost = section.items[place], _cost(section, place, rates[at])
        heading = 0.0 if section.name in headed else _heading_cost(section, budget, rates[at])
        room = left - heading
        if cost > room:
            size = int(room / rates[at]) - 4
            if room >= _LEAST_TOKENS and not section.label and size > 0:
                taken[at].append(_Item(wording.shorten(item.text, size, note=" […] "), item.place))
                left = 0.0
            del ratios[at]
            continue
        taken[at].append(item)
        headed.add(section.name)
        left -= heading + cost
        if place + 1 == len(section.items):
            del ratios[at]
        else:
            ratios[at] = _ratio(section, place + 1, rates[at])
    return [tuple(items) for items in taken]


def _ratio(section: _Section, position: int, rate: float) -> float:
    """What the next item of a section is worth for its size."""
    return _worth(section, position) / _cost(section, position, rate)


def _worth(section: _Section, position: int) -> float:
    return section.value * section.decay**position if position else section.first


def _cost(section: _Section, position: int, rate: float) -> float:
    return max(1.0, (len(section.items[position].text) + 2) * rate)


def _heading_cost(section: _Section, budget: float, rate: float) -> float:
    introduction = _INTRODUCTIONS.get(section.name, "") if budget >= _LEAST_FOR_INTRODUCTIONS else ""
    return (len(section.name) + len(section.label) + len(introduction) + 10) * max(rate, 0.25)


def _rate(section: _Section, max_tokens: int, count: Callable[[str], int]) -> float:
    """Tokens of a character in a section, by one count of as much of it as could ever fit."""
    size = max_tokens * _CHARACTERS_PER_TOKEN
    sample = _render([section], [section.items[: 1 + size // 8]], max_tokens)[: max(size, 256)]
    return max(count(sample) / len(sample), 0.01)


def _render(sections: list[_Section], chosen: Iterable[tuple[_Item, ...]], max_tokens: int) -> str:
    blocks: list[str] = []
    heading = ""
    for section, items in zip(sections, chosen, strict=True):
        if not items:
            continue
        texts = [item.text for item in sorted(items, key=lambda item: item.place)]
        body = f"- {section.label}: {', '.join(texts)}" if section.label else "\n".join(texts)
        if section.name == heading:
            blocks[-1] += "\n" + body
            continue
        heading = section.name
        introduction = _INTRODUCTIONS.get(heading, "") if max_tokens >= _LEAST_FOR_INTRODUCTIONS else ""
        blocks.append("\n".join(filter(None, (f"## {heading}", introduction, body))))
    return "\n\n".join(blocks)


def _cut(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """The beginning of a text that fits; empty where not even one character does."""
    text = text[: max_tokens * _CHARACTERS_PER_TOKEN]
    for _ in range(_CUTS):
        tokens = count(text)
        if tokens <= max_tokens or not text:
            return text
        text = text[: min(len(text) - 1, int(_MARGIN * len(text) * max_tokens / tokens))]
    return ""


def _names(sections: Iterable[_Section]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(section.name for section in sections))


def _length(items: tuple[_Item, ...]) -> int:
    return sum(len(item.text) for item in items)


def _in_order(texts: Iterable[str]) -> tuple[_Item, ...]:
    return tuple(_Item(text, place) for place, text in enumerate(texts))


def _newest_last(texts: list[str]) -> tuple[_Item, ...]:
    return _in_order(texts)[::-1]


def _newest_and_oldest(texts: Iterable[str]) -> tuple[_Item, ...]:
    """The newest request is what to do, the oldest what it began with; then the others, newest first."""
    items = _in_order(texts)
    return items[:1] + items[1:][-1:] + items[1:-1]


def _asked(retained: Retained) -> Iterable[str]:
    """The requests without the sentences that stand among instructions and facts; the newest stays whole."""
    listed = {*retained.instructions, *retained.facts}
    yield from retained.requests[:1]
    for request in retained.requests[1:]:
        rest = requests.without(request, [text for text in _sentences(request) if text in listed])
        if rest:
            yield rest


@lru_cache(maxsize=1 << 10)
def _sentences(request: str) -> tuple[str, ...]:
    return tuple(sentence.strip() for sentence, _ in wording.sentences(request))


def _known(paths: Iterable[str]) -> frozenset[str]:
    """The paths, and every part of them that a relative path or a folder could be."""
    known: set[str] = set()
    for path in paths:
        names = path.strip("./").split("/")[-_DEEPEST:]
        known.add(path.strip("./"))
        known.update("/".join(names[start:stop]) for stop in range(1, len(names) + 1) for start in range(stop))
    return frozenset(known)


def _open_first(plan: str) -> tuple[_Item, ...]:
    """The lines of the plan; those that are not done are worth more, and all keep their places."""
    lines = [line.strip() if _is_step(line) else f"> {line.strip()}" for line in plan.splitlines() if line.strip()]
    return tuple(sorted(_in_order(lines), key=lambda item: item.text.startswith("- [x]")))


def _is_step(line: str) -> bool:
    return line.lstrip().startswith(("- [", "* [", "+ ["))


def _most_telling(outcomes: tuple[ToolOutcome, ...]) -> tuple[_Item, ...]:
    """A line for each, those that say most for their age first; all keep their places."""
    lines = list(_outcomes(outcomes))
    worth = [weight * (0.5 ** (age / OUTCOME_HALF_LIFE) + OUTCOME_FLOOR) for age, (_, weight) in enumerate(lines)]
    items = _in_order(line for line, _ in lines)
    return tuple(sorted(items, key=lambda item: -worth[item.place]))


def _outcomes(outcomes: Iterable[ToolOutcome]) -> Iterable[tuple[str, float]]:
    """A line for each with its weight."""
    for done in outcomes:
        asked = " ".join(f"{done.tool} {done.request}".split())
        yield f"- {asked} → {'FAILED: ' if done.is_error else ''}{' '.join(done.outcome.split())}", weight(done)


def _point(text: str) -> str:
    """A point of a list; further lines of the text are quoted below it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "- " + "\n  > ".join(lines or [""])


def _quote(text: str) -> list[str]:
    return [f"> {line.rstrip()}" for line in wording.shorten(text, _LONGEST_QUOTE).splitlines() if line.strip()]


def _code(text: str) -> str:
    """A name as it stands in a list: marks around each would cost as much as every third name."""
    return " ".join(text.replace("`", " ").split())
