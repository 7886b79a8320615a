"""Histories as files: one append-only Markdown file a session, safe against crashes and against other writers.

Theory. Whoever appends holds an exclusive lock on the file, so that what it reads there is what it adds to, whether the
other writer is a thread, a process or a worker that shares the folder. Under the lock it asks `core.segments` what is
new, appends that with one write and waits until it is on the disk. A write that fails is taken back; one whose process
was killed leaves a segment without its end, which the next writer takes back. Waiting for the lock occupies no thread,
and a caller that stops waiting leaves nothing half done: the same segment appended again adds nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import stat
import time
from pathlib import Path

from compactor.core.segments import FOLDER, HistoryError, Segment, addition, file_name, path_of

PATIENCE_SECONDS = 10.0
_FIRST_PAUSE_SECONDS = 0.001
_LONGEST_PAUSE_SECONDS = 0.05
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
        name = file_name(session_id)
        deadline = time.monotonic() + PATIENCE_SECONDS
        pause = _FIRST_PAUSE_SECONDS
        while not await asyncio.to_thread(_append, self._folder, name, segment):
            if time.monotonic() > deadline:
                raise HistoryError("another writer keeps the history locked")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        return path_of(session_id)


def _append(folder: Path, name: str, segment: Segment) -> bool:
    """Appends to a file of the folder; False where another writer has it now."""
    try:
        with contextlib.ExitStack() as stack:
            directory = _opened_folder(folder)
            stack.callback(os.close, directory)
            file = os.open(name, _FLAGS, 0o600, dir_fd=directory)
            stack.callback(os.close, file)
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise HistoryError("the history is not a regular file")
            if not _locked(file, name, directory):
                return False
            _append_locked(file, directory, segment)
            return True
    except OSError as error:
        raise HistoryError(f"the history cannot be written: {os.strerror(error.errno or 0)}") from error


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


def _append_locked(file: int, directory: int, segment: Segment) -> None:
    size = os.fstat(file).st_size
    keep, data = addition(segment, size, lambda at, count: os.pread(file, count, at))
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
