"""Credentials in a text: those of known issuers by Kingfisher's catalogue, the others by where they stand.

The catalogue is a part of the package and compiled when it is first needed; the package keeps what was compiled in the
user's cache folder (or in `KF_RULE_CACHE_DIR`), where the next process finds it. Nothing is downloaded, and nothing
that is found is tried: only the package's validators would do that, and they are not used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from threading import Lock

from kingfisher_sdk import Rules, Scanner

from compactor.core import credentials
from compactor.core.credentials import Found
from compactor.core.masks import joined

_HIDDEN_SECRET = re.compile(r"-(?:secret|secret-access-key|security-token|passphrase|consumer-key|api-key)(?:\.\d+)?\Z")
_REST = re.compile(r"[A-Za-z0-9_-]{0,512}", re.ASCII)
_AROUND = re.compile(r"\A\w+\.(?:\w+/)?|\.\d+\Z")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]+")
_LONGEST_KIND = 32
_KINDS = {"generic-credential-uri": credentials.PASSWORD, "jwt": "JWT", "aws-access-token": "AWS key"}

_lock = Lock()
_scanners: list[Scanner] = []


class KingfisherRedactor:
    """Finds credentials. The first call of a process compiles the catalogue: 5 s, 0.5 s where that was kept; 40 MB."""

    def find(self, text: str) -> Sequence[Found]:
        """The credentials that stand in a text, in order, none over another."""
        return joined([*credentials.find(text), *_issued(text)])


def _scanner() -> Scanner:
    with _lock:
        if not _scanners:
            _scanners.append(Scanner(Rules()))
        return _scanners[0]


def _issued(text: str) -> list[Found]:
    # What could be taken for the mark or the zeros of another encoding would make it look at other bytes than these.
    plain = text.replace("\0", " ").replace("\ufeff", " ")
    data = plain.encode(errors="replace")
    spans = [
        (finding.location["start_offset"], finding.location["end_offset"], _kind(finding.rule_id))
        for finding in _scanner().scan(data)
        # Others are an account's number or a host: what another finding is used with.
        if finding.visible or _HIDDEN_SECRET.search(finding.rule_id)
    ]
    is_plain = len(data) == len(plain)
    found: list[Found] = []
    read = before = 0
    for first, last, kind in sorted(spans):
        if is_plain:
            start, stop = first, last
        else:
            before += len(data[read:first].decode(errors="replace"))
            start, read = before, first
            stop = before + len(data[first:last].decode(errors="replace"))
        if start < stop:
            found.append(Found(start, _to_end(plain, stop), kind))
    return found


def _to_end(text: str, stop: int) -> int:
    """Where the word ends that a finding is the beginning of: formats grow longer, and no part is to be left."""
    rest = _REST.match(text, stop)
    return rest.end() if rest else stop


def _kind(rule_id: str) -> str:
    """What a rule is about in a few words: `betterleaks.github-pat` is a "github pat"."""
    name = _AROUND.sub("", rule_id)
    return _KINDS.get(name) or _NOT_PLAIN.sub(" ", name)[:_LONGEST_KIND].strip() or credentials.SECRET
