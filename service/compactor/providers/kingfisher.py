"""Credentials in a text: those of known issuers by Kingfisher's catalogue, the others by where they stand.

The catalogue is a part of the package and compiled once a process, in a thread of its own, so that whoever waits for it
keeps no other work waiting. The package keeps what was compiled in the user's cache folder (or in `KF_RULE_CACHE_DIR`),
where the next process finds it. Nothing is downloaded, and nothing that is found is tried: only the package's
validators would do that, and they are not used.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock, Thread

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
_compiled: list[Future[Scanner]] = []


class KingfisherRedactor:
    """Finds credentials. The catalogue takes 5 s of a core to compile, 0.7 s where the result was kept; 40 MB."""

    async def ready(self) -> None:
        """Returns once the catalogue is compiled."""
        if not (catalogue := compiled()).done():
            await asyncio.shield(asyncio.wrap_future(catalogue))
        catalogue.result()

    def find(self, text: str) -> Sequence[Found]:
        """The credentials that stand in a text, in order, none over another."""
        return joined([*credentials.find(text), *_issued(text)])


def compiled() -> Future[Scanner]:
    """The catalogue, which is compiled from the first call on; once more where that failed."""
    with _lock:
        if not _compiled or (_compiled[0].done() and _compiled[0].exception()):
            made: Future[Scanner] = Future()
            Thread(target=_compile, args=(made,), name="catalogue of credentials", daemon=True).start()
            _compiled[:] = [made]
        return _compiled[0]


def _compile(made: Future[Scanner]) -> None:
    try:
        made.set_result(Scanner(Rules()))
    except Exception as error:  # noqa: BLE001 - whoever waits for it gets it
        made.set_exception(error)


def _issued(text: str) -> list[Found]:
    # What could be taken for the mark or the zeros of another encoding would make it look at other bytes than these.
    plain = text.replace("\0", " ").replace("\ufeff", " ")
    data = plain.encode(errors="replace")
    spans = [
        (finding.location["start_offset"], finding.location["end_offset"], _kind(finding.rule_id))
        for finding in compiled().result().scan(data)
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
