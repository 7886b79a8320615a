"""Summaries beside the history: found by whoever comes next, held by one at a time, let go of by the dead."""

from __future__ import annotations

import asyncio
import fcntl
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from compactor.core.segments import HistoryError
from compactor.stores.filesystem import FilesystemHistory
from compactor.stores.memory import MemoryHistory
from tests.unit.stores.test_filesystem import segment

KEY, OTHER = "ab" * 32, "cd" * 32

HOLDER = """
import asyncio, sys
from pathlib import Path
from compactor.stores.filesystem import FilesystemHistory

async def hold():
    async with FilesystemHistory(Path(sys.argv[1])).leaf("s", sys.argv[2], 5) as leaf:
        print("held", flush=True)
        await asyncio.sleep(float(sys.argv[3]))
        await leaf.keep(b"written by the holder")
    print("done", flush=True)

asyncio.run(hold())
"""

pytestmark = pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLK"), reason="the system has no such locks")


def holder(root: Path, seconds: float) -> subprocess.Popen[str]:
    """Another process that has the place open."""
    command = [sys.executable, "-c", HOLDER, str(root), KEY, str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


async def looked_up(store: FilesystemHistory | MemoryHistory, key: str = KEY, patience: float = 5) -> bytes | None:
    async with store.leaf("s", key, patience) as leaf:
        return leaf.data


async def kept(store: FilesystemHistory | MemoryHistory, data: bytes, key: str = KEY) -> None:
    async with store.leaf("s", key, 5) as leaf:
        await leaf.keep(data)


@pytest.fixture(params=["filesystem", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FilesystemHistory | MemoryHistory:
    return FilesystemHistory(tmp_path) if request.param == "filesystem" else MemoryHistory()


def test_what_was_kept_last_is_found(store: FilesystemHistory | MemoryHistory) -> None:
    async def played() -> list[bytes | None]:
        found = [await looked_up(store)]
        await kept(store, b"first")
        await kept(store, b"of another question", OTHER)
        await kept(store, b"second")
        return [*found, await looked_up(store), await looked_up(store, OTHER), await looked_up(store, "ef" * 32)]

    assert asyncio.run(played()) == [None, b"second", b"of another question", None]


def test_notes_and_segments_leave_each_other_alone(store: FilesystemHistory | MemoryHistory) -> None:
    async def played() -> bytes | None:
        await store.append("s", segment(0, 4))
        await kept(store, b"of the first")
        await store.append("s", segment(4, 6))
        await kept(store, b"of the second", OTHER)
        await store.append("s", segment(0, 6))  # all of it is there
        return await looked_up(store)

    assert asyncio.run(played()) == b"of the first"
    text = (
        next(iter(store.files.values())) if isinstance(store, MemoryHistory) else (store._folder / "s.md").read_bytes()
    ).decode()
    assert [text.count(f"## Message {index}: user") for index in range(7)] == [1] * 6 + [0]
    assert "of the first" not in text  # whoever searches the history finds the messages alone


def test_a_second_process_waits_and_finds_what_the_first_wrote(tmp_path: Path) -> None:
    with holder(tmp_path, 0.5) as other:
        began = time.monotonic()
        found = asyncio.run(looked_up(FilesystemHistory(tmp_path)))
        assert found == b"written by the holder"
        assert time.monotonic() - began > 0.2
        assert other.wait(10) == 0


def test_another_question_does_not_wait(tmp_path: Path) -> None:
    with holder(tmp_path, 30) as other:
        assert asyncio.run(looked_up(FilesystemHistory(tmp_path), OTHER, patience=1)) is None
        other.kill()


def test_appending_does_not_wait_for_a_summary(tmp_path: Path) -> None:
    with holder(tmp_path, 30) as other:
        asyncio.run(FilesystemHistory(tmp_path).append("s", segment(0, 2)))
        other.kill()
    assert b"## Message 1" in (tmp_path / "conversation_history" / "s.md").read_bytes()


def test_waiting_has_an_end(tmp_path: Path) -> None:
    with holder(tmp_path, 30) as other:
        with pytest.raises(HistoryError):
            asyncio.run(looked_up(FilesystemHistory(tmp_path), patience=0.2))
        other.kill()


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    with holder(tmp_path, 30) as other:
        other.send_signal(signal.SIGKILL)
        assert asyncio.run(looked_up(FilesystemHistory(tmp_path))) is None


def test_two_tasks_of_a_process_hold_it_one_after_the_other(store: FilesystemHistory | MemoryHistory) -> None:
    async def played() -> list[str]:
        seen: list[str] = []

        async def holding(name: str) -> None:
            async with store.leaf("s", KEY, 5):
                seen.append(f"{name} in")
                await asyncio.sleep(0.02)
                seen.append(f"{name} out")

        await asyncio.gather(holding("a"), holding("b"))
        return seen

    seen = asyncio.run(played())
    assert [event.split()[1] for event in seen] == ["in", "out", "in", "out"]


def test_a_damaged_note_is_nothing(tmp_path: Path) -> None:
    store = FilesystemHistory(tmp_path)
    asyncio.run(kept(store, b"some words"))
    path = tmp_path / "conversation_history" / "s.md"
    data = path.read_bytes()
    at = data.index(b"hango:summary ") + 20
    path.write_bytes(data[:at] + b"!" + data[at + 1 :])
    assert asyncio.run(looked_up(store)) is None


def test_a_note_whose_writer_was_killed_is_taken_back(tmp_path: Path) -> None:
    store = FilesystemHistory(tmp_path)
    asyncio.run(store.append("s", segment(0, 2)))
    path = tmp_path / "conversation_history" / "s.md"
    whole = path.read_bytes()
    asyncio.run(kept(store, b"some words"))
    noted = path.read_bytes()
    for cut in range(len(whole) + 1, len(noted), 37):
        path.write_bytes(noted[:cut])
        assert asyncio.run(looked_up(store)) is None
        asyncio.run(store.append("s", segment(2, 3)))
        assert path.read_bytes().startswith(whole)
        assert path.read_bytes().count(b"## Message 2: user") == 1
        assert b"hango:summary" not in path.read_bytes()
