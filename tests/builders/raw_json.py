"""Where things stand in JSON text, for tests that compare spellings: spans of members and elements, in characters."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

SPACE = " \t\n\r"


class Member(NamedTuple):
    """A member of an object: its key, decoded, and where its value stands."""

    key: str
    start: int
    stop: int


class Number(str):
    """A number as it is spelled."""

    __slots__ = ()


class Pairs(tuple[tuple[str, Any], ...]):
    """The members of an object in order, those of equal keys included."""

    __slots__ = ()


_SPELLED = json.JSONDecoder(parse_int=Number, parse_float=Number, object_pairs_hook=Pairs)


def spelled(text: str) -> Any:
    """The value of a JSON text, with numbers as they are spelled and members in order."""
    return _SPELLED.decode(text)


def strings(value: Any) -> list[str]:
    """Every string inside a decoded value, keys left out."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    return [text for item in value for text in strings(item)] if isinstance(value, list) else []


def skip(text: str, at: int) -> int:
    """The first position from `at` on that is no white space."""
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at


def members(text: str, at: int = 0) -> list[Member]:
    """The members of the object that begins at `at`, in order."""
    found = []
    at = skip(text, skip(text, at) + 1)
    while text[at] != "}":
        key, at = _SPELLED.raw_decode(text, at)
        at = skip(text, skip(text, at) + 1)
        _, stop = _SPELLED.raw_decode(text, at)
        found.append(Member(key, at, stop))
        at = _next(text, stop)
    return found


def elements(text: str, at: int = 0) -> list[tuple[int, int]]:
    """Where the elements of the array that begins at `at` stand."""
    found = []
    at = skip(text, skip(text, at) + 1)
    while text[at] != "]":
        _, stop = _SPELLED.raw_decode(text, at)
        found.append((at, stop))
        at = _next(text, stop)
    return found


def _next(text: str, at: int) -> int:
    at = skip(text, at)
    return skip(text, at + 1) if text[at] == "," else at
