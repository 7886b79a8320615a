"""Histories as files, on a real file system: other writers, crashes, hostile folders."""

import asyncio
import contextlib
import fcntl
import hashlib
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compactor.core.segments import HistoryError, Segment
from compactor.stores.filesystem import FilesystemHistory
from compactor.stores.memory import MemoryHistory

WRITER = """
import asyncio, hashlib, resource, signal, sys
from pathlib import Path
from compactor.core.segments import Segment
from compactor.stores.filesystem import FilesystemHistory

root, start, stop, size, limit = sys.argv[1], *map(int, sys.argv[2:])
def digest(index):
    return hashlib.sha256(b"%d" % index).digest()
new = Segment(
    sequence=1, reason="TOOL", start=start, stop=stop, prefix_before=digest(-start) if start else b"",
    prefix=digest(-stop), digest=digest,
    render=lambda indexes: "".join(f"## Message {i}: user\\n\\n```text\\n{i}{'x' * size}\\n```\\n\\n" for i in indexes),
)
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
print("ready", flush=True)
asyncio.run(FilesystemHistory(Path(root)).append("s", new))
print("done", flush=True)
"""


def digest(index: int) -> bytes:
    return hashlib.sha256(b"%d" % index).digest()


def segment(start: int, stop: int, size: int = 100) -> Segment:
    return Segment(
        sequence=1,
        reason="TOOL",
        start=start,
        stop=stop,
        prefix_before=digest(-start) if start else b"",
        prefix=digest(-stop),
        digest=digest,
        render=lambda indexes: "".join(
            f"## Message {index}: user\n\n```text\n{index}{'x' * size}\n```\n\n" for index in indexes
        ),
    )


def writer(root: Path, start: int, stop: int, size: int = 100, limit: int = 0) -> subprocess.Popen[str]:
    numbers = [str(number) for number in (start, stop, size, limit)]
    return subprocess.Popen([sys.executable, "-c", WRITER, str(root), *numbers], stdout=subprocess.PIPE, text=True)


def append(root: Path, new: Segment, session_id: str = "s") -> str:
    return asyncio.run(FilesystemHistory(root).append(session_id, new))


def file_of(root: Path, session_id: str = "s") -> Path:
    return root / "conversation_history" / f"{session_id}.md"


def headings(root: Path) -> list[int]:
    return [int(index) for index in re.findall(rb"(?m)^## Message (\d+): user$", file_of(root).read_bytes())]


@contextlib.contextmanager
def unprivileged() -> Iterator[Path]:
    """A folder of one's own, seen by a user to whom permissions apply."""
    with tempfile.TemporaryDirectory() as name:
        nobody = 65534
        as_root = os.geteuid() == 0
        if as_root:
            os.chown(name, nobody, nobody)
            os.seteuid(nobody)
        try:
            yield Path(name)
        finally:
            if as_root:
                os.seteuid(0)
            for path in Path(name).rglob("*"):
                path.chmod(0o700)


def test_append_returns_the_models_path_and_writes_under_the_root(tmp_path: Path) -> None:
    assert append(tmp_path / "new" / "root", segment(0, 3), "a.b:c") == "/conversation_history/a.b:c.md"
    file = file_of(tmp_path / "new" / "root", "a.b:c")
    assert file.is_file()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_file_and_memory_hold_the_same_bytes(tmp_path: Path) -> None:
    memory = MemoryHistory()
    for new in (segment(0, 3), segment(0, 3), segment(3, 5), segment(2, 4), segment(0, 9)):
        path = append(tmp_path, new)
        assert asyncio.run(memory.append("s", new)) == path
        assert memory.files[path] == file_of(tmp_path).read_bytes()
    assert headings(tmp_path) == list(range(9))


def test_append_never_changes_what_is_there(tmp_path: Path) -> None:
    append(tmp_path, segment(0, 3))
    before = file_of(tmp_path).read_bytes()
    append(tmp_path, segment(3, 6))
    assert file_of(tmp_path).read_bytes().startswith(before)


def test_append_again_does_not_touch_the_file(tmp_path: Path) -> None:
    append(tmp_path, segment(0, 3))
    before = file_of(tmp_path).stat()
    append(tmp_path, segment(0, 3))
    after = file_of(tmp_path).stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_sessions_do_not_meet(tmp_path: Path) -> None:
    append(tmp_path, segment(0, 3), "a")
    append(tmp_path, segment(0, 2), "A")
    assert len({file_of(tmp_path, name).read_bytes() for name in "aA"}) == 2


@pytest.mark.parametrize("bad", ["../s", "..", "", "a/b", ".s", "a\0b"])
def test_session_id_that_climbs_writes_nothing(tmp_path: Path, bad: str) -> None:
    with pytest.raises(HistoryError):
        append(tmp_path / "root", segment(0, 3), bad)
    assert not list(tmp_path.rglob("*"))


def test_same_segment_at_once_from_many_tasks_is_there_once(tmp_path: Path) -> None:
    async def all_at_once() -> None:
        history = FilesystemHistory(tmp_path)
        await asyncio.gather(*(history.append("s", segment(0, stop)) for stop in (3, 3, 5, 3, 5, 8, 8, 3)))

    asyncio.run(all_at_once())
    assert headings(tmp_path) == list(range(8))


def test_same_segment_at_once_from_many_threads_is_there_once(tmp_path: Path) -> None:
    history = FilesystemHistory(tmp_path)
    threads = [
        threading.Thread(target=lambda: asyncio.run(history.append("s", segment(0, 5, 100_000)))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert headings(tmp_path) == list(range(5))


def test_same_segment_at_once_from_many_processes_is_there_once(tmp_path: Path) -> None:
    writers = [writer(tmp_path, 0, stop, 100_000) for stop in (4, 4, 6, 6, 9)]
    assert [process.communicate(timeout=60)[0] for process in writers] == ["ready\ndone\n"] * 5
    assert headings(tmp_path) == list(range(9))


def test_cancelled_append_leaves_a_whole_segment_or_none(tmp_path: Path) -> None:
    async def cancelled() -> None:
        history = FilesystemHistory(tmp_path)
        task = asyncio.create_task(history.append("s", segment(0, 3, 1_000_000)))
        await asyncio.sleep(0.002)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await history.append("s", segment(0, 4, 1_000_000))

    asyncio.run(cancelled())
    assert headings(tmp_path) == [0, 1, 2, 3]


@pytest.mark.parametrize("after_ms", [0, 1, 2, 4, 8])
def test_killed_writer_costs_nothing_and_repeats_nothing(tmp_path: Path, after_ms: int) -> None:
    append(tmp_path, segment(0, 2))
    before = file_of(tmp_path).stat().st_size
    process = writer(tmp_path, 2, 5, 8_000_000)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    while file_of(tmp_path).stat().st_size == before and process.poll() is None:
        time.sleep(0.0002)
    time.sleep(after_ms / 1000)
    process.kill()
    process.communicate(timeout=60)
    append(tmp_path, segment(2, 5, 8_000_000))
    append(tmp_path, segment(5, 6))
    assert headings(tmp_path) == list(range(6))


@pytest.mark.parametrize("limit", [1, 60, 100, 4_000, 20_000, 29_900])
def test_writer_killed_inside_its_write_leaves_a_tail_that_is_cut_off(tmp_path: Path, limit: int) -> None:
    append(tmp_path, segment(0, 2))
    before = file_of(tmp_path).read_bytes()
    process = writer(tmp_path, 2, 5, 10_000, len(before) + limit)
    assert process.communicate(timeout=60)[0] == "ready\n"
    assert process.returncode == -signal.SIGXFSZ
    assert file_of(tmp_path).stat().st_size == len(before) + limit
    append(tmp_path, segment(2, 5, 10_000))
    assert file_of(tmp_path).read_bytes().startswith(before)
    assert headings(tmp_path) == list(range(5))


def test_write_that_fails_half_way_is_taken_back(tmp_path: Path) -> None:
    append(tmp_path, segment(0, 2))
    before = file_of(tmp_path).read_bytes()
    failing = (
        WRITER.replace("signal.SIG_DFL", "signal.SIG_IGN")
        .replace("asyncio.run(Files", "try: asyncio.run(Files")
        .replace('print("done", flush=True)', "except Exception as error: print(type(error).__name__, error)")
    )
    arguments = [sys.executable, "-c", failing, str(tmp_path), "2", "5", "10000", str(len(before) + 4_000)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "ready\nHistoryError the history cannot be written: File too large\n"
    assert file_of(tmp_path).read_bytes() == before


def test_locked_file_is_waited_for(tmp_path: Path) -> None:
    append(tmp_path, segment(0, 2))

    async def released_later() -> None:
        with file_of(tmp_path).open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            task = asyncio.create_task(FilesystemHistory(tmp_path).append("s", segment(2, 4)))
            await asyncio.sleep(0.1)
            assert not task.done()
        await task

    asyncio.run(released_later())
    assert headings(tmp_path) == list(range(4))


def test_file_that_vanished_while_it_was_locked_is_made_anew(tmp_path: Path) -> None:
    append(tmp_path, segment(0, 2))

    async def removed_meanwhile() -> None:
        with file_of(tmp_path).open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            task = asyncio.create_task(FilesystemHistory(tmp_path).append("s", segment(2, 4)))
            await asyncio.sleep(0.1)
            file_of(tmp_path).unlink()
        await task

    asyncio.run(removed_meanwhile())
    assert headings(tmp_path) == list(range(4))


def test_symlink_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    file_of(tmp_path).parent.mkdir()
    file_of(tmp_path).symlink_to(target)
    with pytest.raises(HistoryError):
        append(tmp_path, segment(0, 3))
    assert target.read_text() == "precious"


def test_folder_or_pipe_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    file_of(tmp_path, "folder").mkdir(parents=True)
    os.mkfifo(file_of(tmp_path, "pipe"))
    for session_id in ("folder", "pipe"):
        with pytest.raises(HistoryError):
            append(tmp_path, segment(0, 3), session_id)


def test_root_that_is_a_file_is_an_error_that_names_no_path(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.write_text("no folder")
    with pytest.raises(HistoryError) as caught:
        append(root, segment(0, 3))
    assert str(tmp_path) not in str(caught.value)
    assert root.read_text() == "no folder"


def test_read_only_folder_is_an_error() -> None:
    with unprivileged() as root:
        append(root, segment(0, 2))
        file_of(root).parent.chmod(0o500)
        with pytest.raises(HistoryError, match="Permission denied"):
            append(root, segment(0, 2), "other")
        append(root, segment(2, 4))
        assert headings(root) == list(range(4))


def test_unreadable_file_is_an_error_and_stays() -> None:
    with unprivileged() as root:
        append(root, segment(0, 2))
        size = file_of(root).stat().st_size
        file_of(root).chmod(0o200)
        with pytest.raises(HistoryError):
            append(root, segment(2, 4))
        assert file_of(root).stat().st_size == size


def test_foreign_file_keeps_every_byte(tmp_path: Path) -> None:
    file_of(tmp_path).parent.mkdir()
    foreign = bytes(range(256)) * 20_000
    file_of(tmp_path).write_bytes(foreign)
    append(tmp_path, segment(0, 2))
    append(tmp_path, segment(2, 4))
    append(tmp_path, segment(0, 4))
    assert file_of(tmp_path).read_bytes().startswith(foreign)
    assert headings(tmp_path) == list(range(4))


def test_long_history_is_not_read_again(tmp_path: Path) -> None:
    append(tmp_path, segment(0, 100, 500_000))
    read_before = int(re.findall(r"rchar: (\d+)", Path("/proc/self/io").read_text())[0])
    append(tmp_path, segment(100, 102))
    read_after = int(re.findall(r"rchar: (\d+)", Path("/proc/self/io").read_text())[0])
    assert read_after - read_before < 100_000
