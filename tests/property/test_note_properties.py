"""Laws of notes in a history: each is found again, and none disturbs the segments, whoever was killed in between."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from compactor.core.segments import note, noted
from compactor.model import Content
from tests.property.test_history_properties import ANY_TEXT, LOGS, UNTIMED, appended, parsed, segment

KEYS = st.integers(0, 3).map(lambda number: hashlib.sha256(bytes([number])).hexdigest())
DATA = st.binary(max_size=200) | ANY_TEXT.map(str.encode) | st.just(b"\x00" * 100_000)
NOTES = st.tuples(KEYS, DATA)


def with_note(file: bytes, key: str, data: bytes) -> bytes:
    keep, added = note(key, data, len(file), lambda at, count: file[at : at + count])
    return file[:keep] + added


def found(file: bytes, key: str) -> bytes | None:
    return noted(key, len(file), lambda at, count: file[at : at + count])


def headings_of(log: list[Content], indexes: range) -> list[str]:
    return [f"## Message {index}: {log[index].role.value}\n" for index in indexes]


@UNTIMED
@given(LOGS, st.data())
def test_notes_among_segments_are_found_and_change_nothing(log: list[Content], data: st.DataObject) -> None:
    file, known = b"", 0
    latest: dict[str, bytes] = {}
    for _ in range(data.draw(st.integers(1, 8))):
        before = file
        if data.draw(st.booleans()):
            key, value = data.draw(NOTES)
            file = with_note(file, key, value)
            latest[key] = value
        else:
            stop = data.draw(st.integers(1, len(log)))
            start = data.draw(st.sampled_from([0, min(known, stop)]))
            file = appended(file, segment(log, start, stop, knows_start=data.draw(st.booleans())))
            known = max(known, stop)
        assert file.startswith(before)
    for key, value in latest.items():
        assert found(file, key) == value
    headings, _ = parsed(file.decode())
    assert headings == headings_of(log, range(known))


@UNTIMED
@given(LOGS, NOTES, st.data())
def test_append_after_a_note_looks_at_no_message_that_is_there(
    log: list[Content], noted_one: tuple[str, bytes], data: st.DataObject
) -> None:
    middle = data.draw(st.integers(1, len(log)))
    first = appended(b"", segment(log, 0, middle, knows_start=False))
    with_one = with_note(first, *noted_one)
    again = segment(log, middle, len(log), knows_start=True)
    plain, beside = appended(first, again), appended(with_one, again)
    assert beside[len(with_one) :] == plain[len(first) :]


@UNTIMED
@given(LOGS, NOTES, NOTES, st.data())
def test_killed_note_is_taken_back(
    log: list[Content], one: tuple[str, bytes], other: tuple[str, bytes], data: st.DataObject
) -> None:
    first = appended(b"", segment(log, 0, data.draw(st.integers(0, len(log))), knows_start=False))
    wanted = with_note(first, *one)
    cut = wanted[: data.draw(st.integers(len(first), len(wanted) - 1))]
    assert found(cut, one[0]) is None
    assert with_note(cut, *one) == wanted
    assert with_note(cut, *other) == with_note(first, *other)
    rest = segment(log, 0, len(log), knows_start=False)
    added = appended(cut, rest)
    headings, _ = parsed(added.decode(errors="ignore"))
    assert headings == headings_of(log, range(len(log)))
    assert found(added, one[0]) is None


@UNTIMED
@given(LOGS, NOTES, st.data())
def test_killed_segment_is_taken_back_by_a_note(
    log: list[Content], noted_one: tuple[str, bytes], data: st.DataObject
) -> None:
    middle = data.draw(st.integers(0, len(log) - 1))
    first = appended(b"", segment(log, 0, middle, knows_start=False))
    following = segment(log, middle, len(log), knows_start=True)
    wanted = appended(first, following)
    cut = wanted[: data.draw(st.integers(len(first), len(wanted) - 1))]
    file = with_note(cut, *noted_one)
    assert file == with_note(first, *noted_one)
    assert found(file, noted_one[0]) == noted_one[1]
    headings, _ = parsed(appended(file, following).decode())
    assert headings == headings_of(log, range(len(log)))


@UNTIMED
@given(LOGS, LOGS, st.integers(0, 5), st.lists(NOTES, min_size=3, max_size=3))
def test_fork_around_notes_adds_what_is_new_and_nothing_else(
    log: list[Content], other: list[Content], common: int, notes: list[tuple[str, bytes]]
) -> None:
    fork = [*log[:common], *other]
    file = with_note(b"", *notes[0])
    file = with_note(appended(file, segment(log, 0, len(log), knows_start=False)), *notes[1])
    forked = appended(file, segment(fork, min(common, len(log)), len(fork), knows_start=True))
    new = [at for at, message in enumerate(fork) if at >= len(log) or message != log[at]]
    headings, _ = parsed(forked[len(file) :].decode())
    assert headings == [f"## Message {index}: {fork[index].role.value}\n" for index in new]
    after = with_note(forked, *notes[2])
    for whole in (log, fork):
        assert appended(after, segment(whole, 0, len(whole), knows_start=False)) == after
    for key, value in notes[2:]:
        assert found(after, key) == value


@UNTIMED
@given(NOTES, ANY_TEXT, LOGS)
def test_note_behind_foreign_text_is_found(noted_one: tuple[str, bytes], foreign: str, log: list[Content]) -> None:
    before = f"mine\n{foreign}\nend of what was here\n".encode()
    file = with_note(before, *noted_one)
    assert file.startswith(before)
    assert found(file, noted_one[0]) == noted_one[1]
    added = appended(file, segment(log, 0, len(log), knows_start=False))
    assert added.startswith(file)
    assert found(added, noted_one[0]) == noted_one[1]


@UNTIMED
@given(LOGS, NOTES)
def test_note_quoted_in_a_message_is_text(log: list[Content], noted_one: tuple[str, bytes]) -> None:
    quoted = with_note(b"", *noted_one).decode()
    quoting = [message._replace(parts=(*message.parts, message.parts[0]._replace(text=quoted))) for message in log]
    file = appended(b"", segment(quoting, 0, len(quoting), knows_start=False))
    assert found(file, noted_one[0]) is None
    headings, _ = parsed(file.decode())
    assert headings == headings_of(quoting, range(len(quoting)))
    assert appended(file, segment(quoting, 0, len(quoting), knows_start=False)) == file


@UNTIMED
@given(st.binary(max_size=300), KEYS)
def test_any_bytes_are_a_history_without_notes(file: bytes, key: str) -> None:
    assert found(file, key) is None
    assert found(with_note(file, key, b"data"), key) == b"data"
