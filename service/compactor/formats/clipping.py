"""Shortening strings inside JSON text: the changes to splice in, everything around them left as it is."""

from __future__ import annotations

import re

import msgspec

from compactor.formats import json_text
from compactor.model import Shorten, Span

_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
SHORTEST = 100
"""Strings of fewer bytes are not even looked at; the clip stage leaves them alone anyway."""


def clip_text(raw: bytes, at: Span, shorten: Shorten, *, is_error: bool) -> list[tuple[Span, bytes]]:
    """The change that shortens one string value, if it is to be shortened."""
    if raw[at.start] != 0x22 or at.stop - at.start < SHORTEST:
        return []
    new = shorten(msgspec.json.decode(raw[slice(*at)], type=str), is_error)
    return [] if new is None else [(at, msgspec.json.encode(new))]


def clip_strings(raw: bytes, at: Span, shorten: Shorten, *, is_error: bool) -> list[tuple[Span, bytes]]:
    """The changes that shorten the long strings inside a JSON value; keys, numbers and structure stay."""
    changes: list[tuple[Span, bytes]] = []
    for match in _STRINGS.finditer(raw, at.start, at.stop):
        if match.end() - match.start() < SHORTEST:
            continue
        after = json_text.skip_space(raw, match.end())
        if after < at.stop and raw[after] == 0x3A:
            continue
        changes += clip_text(raw, Span(*match.span()), shorten, is_error=is_error)
    return changes
