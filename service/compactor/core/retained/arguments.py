"""What can be read from the arguments of a tool call: JSON text as a rule, free text for some tools.

Arguments that are no JSON, cut off in the middle or nested beyond reason are free text; nothing here raises.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

MOST_LEAVES = 400


def read(text: str) -> dict[str, object]:
    """The arguments by name; empty for free text."""
    if not text.startswith("{") and not text.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def leaves(value: object) -> Iterator[tuple[str, str]]:
    """Strings and numbers at any depth, each with the name it stands under, in order; the first few hundred."""
    pending: list[tuple[str, object]] = [("", value)]
    for _ in range(MOST_LEAVES):
        if not pending:
            return
        name, item = pending.pop()
        match item:
            case str():
                yield name, item
            case bool() | None:
                pass
            case int() | float():
                yield name, repr(item)
            case dict():
                pending += [(str(key), inner) for key, inner in islice(item.items(), MOST_LEAVES)][::-1]
            case list():
                pending += [(name, inner) for inner in reversed(item[:MOST_LEAVES])]


def first_text(arguments: dict[str, object], names: tuple[str, ...]) -> str:
    """The first of the named arguments that is a text and not blank."""
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and value and not value.isspace():
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value[:64]):
            return " ".join(str(word) for word in value[:64])
    return ""
