"""Histories as files: one append-only Markdown file a session, safe against crashes and against other writers.

Theory. Whoever appends holds an exclusive lock on the file, so that what it reads there is what it adds to, whether the
other writer is a thread, a process or a worker that shares the folder. Under the lock it asks `core.segments` what is
new, appends that with one write and waits until it is on the disk. A write that fails is taken back; one whose process
was killed leaves a segment without its end, which the next writer takes back. Waiting for the lock occupies no thread,
and a caller that stops waiting leaves nothing half done: the same segment appended again adds nothing.

Whoever has a summary written holds another lock meanwhile, on a byte far behind the end of the file that its key names:
a second replica with the same question waits and then finds the summary. The system lets go of it when the holder dies.
Where the system has no such locks, two replicas at the same moment may both ask.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import stat
import struct
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from compactor.core.segments import FOLDER, Addition, HistoryError, Segment, addition, file_name, note, noted, path_of

PATIENCE_SECONDS = 10.0
_FIRST_PAUSE_SECONDS = 0.001
_LONGEST_PAUSE_SECONDS = 0.05
_FIRST_PLACE = 1 << 48
"""The first of the bytes that stand for summaries in locks; no history reaches that far."""

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FilesystemHistory:
    """Appends to `root/conversation_history/{session_id}.md`; the folders are made when they are first needed."""

    def __init__(self, root: Path) -> None:
        self._folder = root / FOLDER

    async def append(self, session_id: str, segment: Segment) -> str:
        """Appends what is not archived yet, durably, and returns the history's path as the model is told it.

        Appending a segment again, at once or later, here or in another process, adds nothing. Raises HistoryError when
        the history cannot be read or written, or another writer keeps it locked for `PATIENCE_SECONDS`; nothing is
        appended then.
        """
        await _added(self._folder, file_name(session_id), lambda size, read: addition(segment, size, read))
        return path_of(session_id)

    @asynccontextmanager
    async def leaf(self, session_id: str, key: str, patience_seconds: float) -> AsyncIterator[_Leaf]:
        """Opens the place of a summary in the session's history, once no other process has it open."""
        name, place = file_name(session_id), _FIRST_PLACE + int(key[:8], 16)
        with contextlib.ExitStack() as stack:
            file = await asyncio.to_thread(_opened, self._folder, name, stack)
            await _patiently(lambda: _held(file, place), patience_seconds)
            yield _Leaf(self._folder, name, key, await asyncio.to_thread(_noted, file, key))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """The place of a summary in a history."""

    folder: Path
    name: str
    key: str
    data: bytes | None

    async def keep(self, data: bytes) -> None:
        """Appends a note with the data, durably."""
        await _added(self.folder, self.name, lambda size, read: note(self.key, data, size, read))


_Adding = Callable[[int, Callable[[int, int], bytes]], Addition]
"""Says what to add to a history, given its size and how to read it."""


async def _added(folder: Path, name: str, adding: _Adding) -> None:
    """Adds to a history, once no other writer has it. Raises HistoryError."""
    await _patiently(lambda: _append(folder, name, adding), PATIENCE_SECONDS)


async def _patiently(attempt: Callable[[], bool], seconds: float) -> None:
    """Tries in a thread until it works. Raises HistoryError after so many seconds."""
    deadline = time.monotonic() + seconds
    pause = _FIRST_PAUSE_SECONDS
    while not await asyncio.to_thread(attempt):
        if time.monotonic() > deadline:
            raise HistoryError("another writer keeps the history locked")
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _append(folder: Path, name: str, adding: _Adding) -> bool:
    """Appends to a file of the folder; False where another writer has it now."""
    try:
        with contextlib.ExitStack() as stack:
            directory = _opened_folder(folder)
            stack.callback(os.close, directory)
            file = _opened_file(name, directory, stack)
            if not _locked(file, name, directory):
                return False
            _append_locked(file, directory, adding)
            return True
    except OSError as error:
        raise HistoryError(f"the history cannot be written: {os.strerror(error.errno or 0)}") from error


def _opened(folder: Path, name: str, stack: contextlib.ExitStack) -> int:
    """The file of a history, open until the stack is left."""
    try:
        directory = _opened_folder(folder)
        try:
            return _opened_file(name, directory, stack)
        finally:
            os.close(directory)
    except OSError as error:
        raise HistoryError(f"the history cannot be opened: {os.strerror(error.errno or 0)}") from error


def _opened_file(name: str, directory: int, stack: contextlib.ExitStack) -> int:
    file = os.open(name, _FLAGS, 0o600, dir_fd=directory)
    stack.callback(os.close, file)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise HistoryError("the history is not a regular file")
    return file


def _held(file: int, place: int) -> bool:
    """Locks one byte of the file for as long as it is open; False where another process has it."""
    command = getattr(fcntl, "F_OFD_SETLK", None)
    if command is None:
        return True
    try:
        fcntl.fcntl(file, command, struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise HistoryError(f"the history cannot be locked: {os.strerror(error.errno or 0)}") from error
    return True


def _noted(file: int, key: str) -> bytes | None:
    return noted(key, os.fstat(file).st_size, lambda at, count: os.pread(file, count, at))


def _opened_folder(folder: Path) -> int:
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _locked(file: int, name: str, directory: int) -> bool:
    """Locks the file, unless another writer has it or it was replaced by another file meanwhile."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file), os.stat(name, dir_fd=directory, follow_symlinks=False))
    except (BlockingIOError, FileNotFoundError):
        return False


def _append_locked(file: int, directory: int, adding: _Adding) -> None:
    size = os.fstat(file).st_size
    keep, data = adding(size, lambda at, count: os.pread(file, count, at))
    try:
        if data and keep < size:
            os.ftruncate(file, keep)
        _write(file, data)
        # Also when nothing is new: the writer before may have been killed before it got here.
        os.fsync(file)
        os.fsync(directory)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(file, keep)
        raise


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
