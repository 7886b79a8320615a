"""The history as a run of segments: which evicted messages it holds already, and the bytes to add.

Theory. A history is a run of segments, one for each compaction. A segment is a begin line, the messages, and an end
line; both lines are HTML comments.

    <!-- hango:begin id=… bytes=… index=… sequence=2 reason=THRESHOLD -->
    # Compaction 2 (THRESHOLD): 12 messages
    ## Message 14: user
    …
    <!-- hango:end id=… bytes=… sequence=2 start=14 stop=26 leading=0 top=26 prefix=… messages=14-25:… -->

The begin line says how many bytes follow it and how many of them are the end line, so a reader hops from segment to
segment and never reads the content. This is why text that imitates these lines is just text: nobody looks for them
where content stands. Should the file end before the segment does, its writer was killed, and what is there of it may be
cut off.

The end line is the index. It promises that with this segment every message before `stop` is in the history, for the log
whose prefix has that digest, and it lists the messages of its own segment with their digests. A next segment that
begins where the last one stopped, in the same log, is therefore new as a whole. Any other log (a retry, a fork, a lost
record) is compared message by message. Positions are counted without the system messages at the head, because those may
change from call to call.

What a model wrote is kept beside it, as a note: a segment without messages, whose end line repeats the one before it.
The summary itself is packed, so that whoever searches the history finds the messages and not what was made of them.
"""

from __future__ import annotations

import binascii
import hashlib
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compactor.model import Span

FOLDER = "conversation_history"
DIGEST_BYTES = 6

Read = Callable[[int, int], bytes]
"""Reads from a history: the offset and the number of bytes wanted; gives fewer at the end."""


class HistoryError(Exception):
    """A history cannot be read or written. The message holds no path and no content."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What a compaction evicts: the raw messages `[leading, stop)`, of which those from `start` on should be new.

    `prefix_before` and `prefix` are the SHA-256 of the raw `messages[:start]` and `messages[:stop]`; the former may be
    empty where `start` is not known to be right. `digest` gives the content digest of one raw message: the first
    `DIGEST_BYTES` of it count, it is equal on every replica, and best not changed by a breakpoint that the caller
    moved. `render` gives the `markdown` of the raw messages with these indexes. Both are called only for messages that
    have to be looked at, which in the normal case are the new ones.
    """

    sequence: int
    reason: str
    start: int
    stop: int
    prefix_before: bytes
    prefix: bytes
    digest: Callable[[int], bytes]
    render: Callable[[Sequence[int]], str]
    leading: int = 0


class Addition(NamedTuple):
    """What a segment adds to a history: the bytes that stay, then `data`; nothing is to be done where `data` is empty.

    `keep` is less than the size of the history only where it ends in a segment whose writer was killed.
    """

    keep: int
    data: bytes


def path_of(session_id: str) -> str:
    """The history's path as the model is told it.

    >>> path_of("sess-9")
    '/conversation_history/sess-9.md'
    """
    return f"/{FOLDER}/{file_name(session_id)}"


def file_name(session_id: str) -> str:
    """The name of the file in its folder. Raises HistoryError for an id that is not one harmless path component."""
    if not is_session_id(session_id):
        raise HistoryError("the session id names no file of the history folder")
    return f"{session_id}.md"


def is_session_id(text: str) -> bool:
    """Whether a text can name a session, and so a file."""
    return _SESSION_ID.fullmatch(text) is not None


_SESSION_ID = re.compile(r"[A-Za-z0-9_:-][A-Za-z0-9._:-]{0,127}")


def whole(segment: Segment) -> str:
    """The segment with its begin and end lines, for a caller that keeps the history itself: all from `start` on."""
    fresh = range(max(segment.start, segment.leading), segment.stop)
    return _written(segment, fresh, top=0).decode()


def addition(segment: Segment, size: int, read: Read) -> Addition:
    """What is to be appended to a history of `size` bytes so that it holds every message of the segment once."""
    places, keep = _survey(size, read)
    fresh, top = _fresh(segment, (_index(_line(place, read)) for place in reversed(places)))
    if not fresh:
        return Addition(size, b"")
    line_break = b"\n" if keep and read(keep - 1, 1) != b"\n" else b""
    return Addition(keep, line_break + _written(segment, fresh, top=top))


def note(key: str, data: bytes, size: int, read: Read) -> Addition:
    """What is to be appended to a history so that `noted` finds the data under a key of 64 hex digits."""
    places, keep = _survey(size, read)
    last = _index(_line(places[-1], read)) if places else _EMPTY
    body = b"<!-- hango:summary " + b64encode(zlib.compress(data)) + b" -->\n"
    facts = f"sequence=0 start={last.start} stop={last.stop} leading={last.leading}"
    segment = _enclosed(body, facts, last.top, last.prefix, "", f"summary={key}")
    return Addition(keep, (b"\n" if keep and read(keep - 1, 1) != b"\n" else b"") + segment)


def noted(key: str, size: int, read: Read) -> bytes | None:
    """The data that was noted last under a key; None where there is none."""
    places, _ = _survey(size, read)
    for place in reversed(places):
        if place.key == key.encode():
            return _unpacked(read(place.body, min(place.start - place.body, _LONGEST_NOTE)))
    return None


def _unpacked(body: bytes) -> bytes | None:
    found = _NOTE.fullmatch(body)
    try:
        return zlib.decompressobj().decompress(b64decode(found[1]), _LONGEST_NOTE) if found else None
    except (binascii.Error, zlib.error):
        return None


_LONGEST_NOTE = 1 << 22
_NOTE = re.compile(rb"<!-- hango:summary ([A-Za-z0-9+/=]*) -->\n")


class _Place(NamedTuple):
    """Where a segment stands: what is in it, its end line, and the key of its summary where it is a note."""

    body: int
    start: int
    stop: int
    key: bytes | None


class _Index(NamedTuple):
    """An end line. `top` is one more than the highest position in the whole history so far."""

    start: int
    stop: int
    leading: int
    top: int
    prefix: bytes
    runs: bytes

    def archived(self) -> Iterator[tuple[int, bytes]]:
        """Position and digest of each message in the segment."""
        for first, digests in _RUN.findall(self.runs):
            blob = b64decode(digests)
            for offset in range(0, len(blob), DIGEST_BYTES):
                position = int(first) - self.leading + offset // DIGEST_BYTES
                yield position, blob[offset : offset + DIGEST_BYTES]


_EMPTY = _Index(0, 0, 0, 0, b"", b"")
_UNREADABLE = _Index(-1, -1, 0, 10**15, b"", b"")
_RUN = re.compile(rb"(\d+)-\d+:((?:[A-Za-z0-9+/]{4})*)")


def _fresh(segment: Segment, newest_first: Iterator[_Index]) -> tuple[Sequence[int], int]:
    """The raw indexes that are not archived yet, and the history's `top`."""
    last = next(newest_first, None)
    if last is None:
        return _all_of(segment), 0
    if (
        segment.prefix_before
        and (last.stop, last.prefix) == (segment.start, segment.prefix_before)
        and last.leading == segment.leading
        and last.top <= segment.start - segment.leading
    ):
        return range(max(segment.start, segment.leading), segment.stop), last.top
    archived: set[tuple[int, bytes]] = set()
    index: _Index | None = last
    while index is not None:
        if segment.prefix and (index.stop, index.prefix) == (segment.stop, segment.prefix):
            return (), last.top
        archived.update(index.archived())
        index = next(newest_first, None)
    wanted = ((at, (at - segment.leading, segment.digest(at)[:DIGEST_BYTES])) for at in _all_of(segment))
    return [at for at, place in wanted if place not in archived], last.top


def _all_of(segment: Segment) -> range:
    return range(segment.leading, segment.stop)


_BEGIN_MARK = b"<!-- hango:begin "
_END_MARK = b"<!-- hango:end "
_BEGIN = re.compile(
    rb"<!-- hango:begin id=([0-9a-f]{16}) bytes=(\d{1,15}) index=(\d{1,15}) (?:summary=([0-9a-f]{64}) )?[ -~]*-->\n"
)
_BEGIN_LIMIT = 512
_END = re.compile(
    rb"<!-- hango:end id=[0-9a-f]{16} bytes=\d+ sequence=\d+ start=(\d+) stop=(\d+) leading=(\d+) top=(\d+)"
    rb" prefix=((?:[0-9a-f]{2})*) messages=(\S*) -->\n"
)


_UNNAMED = re.compile(r"[^A-Za-z_]")


def _written(segment: Segment, fresh: Sequence[int], *, top: int) -> bytes:
    """The segment with these messages in it, from its begin line to its end line."""
    reason = _UNNAMED.sub("", segment.reason) or "UNSPECIFIED"
    title = f"\n# Compaction {segment.sequence} ({reason}): {len(fresh)} message{'s' * (len(fresh) != 1)}\n\n"
    body = (title + segment.render(fresh)).encode(errors="backslashreplace")
    body += b"" if body.endswith(b"\n") else b"\n"
    runs = ",".join(_runs(fresh, segment.digest))
    facts = f"sequence={segment.sequence} start={segment.start} stop={segment.stop} leading={segment.leading}"
    top = max(top, segment.stop - segment.leading)
    return _enclosed(body, facts, top, segment.prefix, runs, f"sequence={segment.sequence} reason={reason}")


def _enclosed(body: bytes, facts: str, top: int, prefix: bytes, runs: str, title: str) -> bytes:
    """A body between its begin line and its end line."""
    named = f"{facts} {title} {len(body)} {prefix.hex()} {runs}"
    identity = hashlib.sha256(named.encode()).hexdigest()[:16]
    end = (
        f"<!-- hango:end id={identity} bytes={len(body)} {facts} top={top} prefix={prefix.hex()} messages={runs} -->\n"
    ).encode()
    begin = (f"<!-- hango:begin id={identity} bytes={len(body) + len(end)} index={len(end)} {title} -->\n").encode()
    return b"".join((begin, body, end))


def _runs(indexes: Sequence[int], digest: Callable[[int], bytes]) -> Iterator[str]:
    """Each run of consecutive indexes with the base64 of its digests: eight letters a message, without padding."""
    first = 0
    for after in range(1, len(indexes) + 1):
        if after == len(indexes) or indexes[after] != indexes[after - 1] + 1:
            blob = b"".join(digest(index)[:DIGEST_BYTES] for index in indexes[first:after])
            yield f"{indexes[first]}-{indexes[after - 1]}:{b64encode(blob).decode()}"
            first = after


def _index(line: bytes) -> _Index:
    found = _END.fullmatch(line)
    if found is None:
        return _UNREADABLE
    start, stop, leading, top, prefix, runs = found.groups()
    return _Index(int(start), int(stop), int(leading), int(top), bytes.fromhex(prefix.decode()), runs)


def _line(place: _Place, read: Read) -> bytes:
    return read(place.start, place.stop - place.start)


def _survey(size: int, read: Read) -> tuple[list[_Place], int]:
    """Where the segments stand, oldest first, and how much of the history stays.

    What is not ours is passed over: a file that was there before, a note at the end. As long as nothing but segments of
    ours stands before it, a segment that somebody edited still counts by its end line, wherever that stands now, and
    one without an end is cut off; anywhere else both may be something that quotes us.
    """
    places: list[_Place] = []
    at = 0
    all_ours = True
    while at < size:
        line = read(at, _BEGIN_LIMIT)
        found = _BEGIN.match(line)
        place = _end_in_place(found, at, size, read) if found else None
        if found and not place and all_ours:
            place = _end_anywhere(found, at, size, read)
        if found and place:
            places.append(_Place(at + found.end(), place.start, place.stop, found[4]))
            at = place.stop
            continue
        if all_ours and (at + found.end() + int(found[2]) > size if found else _is_part_of_begin(line, size - at)):
            return places, at
        all_ours = False
        at = _find(b"\n" + _BEGIN_MARK, at, size, read) + 1 or size
    return places, size


def _is_part_of_begin(line: bytes, rest: int) -> bool:
    is_last = len(line) == rest and b"\n" not in line
    return is_last and (line.startswith(_BEGIN_MARK) or _BEGIN_MARK.startswith(line))


def _end_in_place(begin: re.Match[bytes], at: int, size: int, read: Read) -> Span | None:
    """Where the begin line at `at` says that the end line stands, if it does."""
    stop = at + begin.end() + int(begin[2])
    start = stop - int(begin[3])
    mark = _end_mark(begin)
    return Span(start, stop) if at < start and stop <= size and read(start, len(mark)) == mark else None


def _end_anywhere(begin: re.Match[bytes], at: int, size: int, read: Read) -> Span | None:
    """The first whole end line of the segment at `at`."""
    start = _find(b"\n" + _end_mark(begin), at, size, read) + 1
    stop = _find(b"\n", start, size, read) + 1 if start else 0
    return Span(start, stop) if stop else None


def _end_mark(begin: re.Match[bytes]) -> bytes:
    return _END_MARK + b"id=" + begin[1] + b" "


def _find(wanted: bytes, at: int, size: int, read: Read) -> int:
    """The first place of `wanted` from `at` on, -1 where there is none."""
    while at < size and (chunk := read(at, min(_CHUNK, size - at))):
        found = chunk.find(wanted)
        if found >= 0:
            return at + found
        at += max(len(chunk) - len(wanted) + 1, 1)
    return -1


_CHUNK = 1 << 20
