"""What the commands read and write: bodies, records and summaries, with an error for people where that fails."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from compactor.cli.exits import NotWritten, WrongUsage


def read(name: str) -> bytes:
    """The content of a file, or of standard input for `-`. Raises WrongUsage."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise WrongUsage(f"cannot read {name}: {_why(error)}") from None


def read_text(path: Path) -> str:
    """The content of a text file. Raises WrongUsage."""
    try:
        return read(str(path)).decode()
    except UnicodeDecodeError:
        raise WrongUsage(f"{path} is not text in UTF-8") from None


def write(name: str, data: bytes) -> None:
    """Writes a file whole or not at all; what is no ordinary file is written into. Raises NotWritten."""
    path = Path(name)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _replace(path.resolve(), data)
    except OSError as error:
        raise NotWritten(f"cannot write {name}: {_why(error)}") from None


def check_folder(name: str) -> None:
    """Raises WrongUsage where the folder of a file to be written does not exist, before anything is done."""
    folder = Path(name).resolve().parent
    if not folder.is_dir():
        raise WrongUsage(f"cannot write {name}: {folder} is no folder")


def _replace(path: Path, data: bytes) -> None:
    mode = path.stat().st_mode if path.exists() else 0o666 & ~_umask()
    handle, made = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode & 0o777)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise


def _umask() -> int:
    """The process's mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
