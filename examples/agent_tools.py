"""The tools of the recorded agent: each really does what it says to this repository, and answers in text.

An agent sees what `readable` lists: text files of the repository without generated clutter, and without the few that
name a place on a machine, so that a recording can be published. It writes into a scratch folder only, which it knows
as `notes/`. `scrub` takes out of an answer whatever would differ on the next machine or in the next minute.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

MAX_FILE_BYTES = 200_000
MAX_LISTED = 250
MAX_OUTPUT_CHARACTERS = 6_000
MAX_LINE_CHARACTERS = 220
COMMAND_TIMEOUT_SECONDS = 180

_CLUTTER = frozenset({"node_modules", "__pycache__", "build", "dist", "target", "var", "vendor", "bin", "obj"})
_RECORDINGS = "examples/sessions"
_MACHINE_PATH = re.compile(
    r"(?<![\w.-])/(?:work|workspace|tmp|root|home|Users|mnt|private|opt|usr/lib|usr/local|var/folders)(?![\w-])"
    r"[^\s'\":;,()\[\]]*|[A-Z]:\\Users"
)
_AUTHORSHIP = re.compile(r"(?i)claude code|co-authored-by|generated with|written by (?:an? )?(?:ai|model|agent)\b")


class ToolError(Exception):
    """A tool that could not do what it was asked; its text is the answer."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the agent works: the repository, which it reads, and a scratch folder, which holds its `notes/`."""

    root: Path
    scratch: Path


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool said, and whether it failed."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the model is told of it, and the function behind it."""

    run: Callable[..., str]
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the input."""
        closed = {"additionalProperties": False}
        return {"type": "object", "properties": dict(self.properties), "required": list(self.required)} | closed


def leaks(text: str) -> list[str]:
    """What must not be published: places on a machine, its name and its user's, and who wrote what; with context."""
    text = re.sub(r"\\+[nrt]", " ", text)
    found = [match.span() for pattern in (_MACHINE_PATH, _AUTHORSHIP) for match in pattern.finditer(text)]
    names = {str(Path.home()), os.environ.get("USER", ""), platform.node()} - {"root", "/"}
    for name in names | _neighbours():
        if len(name) > 3:
            found += [match.span() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    return [text[max(0, start - 40) : end + 40] for start, end in found]


@cache
def _neighbours() -> frozenset[str]:
    """What lies next to the repository, as a file inside it would name it."""
    return frozenset(f"../{path.name}" for path in ROOT.parent.iterdir())


@cache
def readable(root: Path) -> tuple[str, ...]:
    """Paths that the agent may see, sorted, relative to the root; settled once, at the first use."""
    return tuple(sorted(path for path in _walk(root) if _is_publishable(root / path)))


def _walk(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        here = Path(folder).relative_to(root).as_posix()
        folders[:] = [
            name
            for name in folders
            if name not in _CLUTTER and not name.startswith(".") and f"{here}/{name}".removeprefix("./") != _RECORDINGS
        ]
        yield from ((Path(here) / name).as_posix() for name in files if not name.startswith("."))


def _is_publishable(path: Path) -> bool:
    try:
        data = path.read_bytes()
        return len(data) <= MAX_FILE_BYTES and b"\0" not in data and not leaks(data.decode())
    except (OSError, UnicodeDecodeError):
        return False


def scrub(text: str, desk: Desk) -> str:
    """The text without machine paths, durations and addresses of objects."""
    places = {str(desk.scratch): "<scratch>", str(desk.root): "", sys.prefix: "<python>", sys.base_prefix: "<python>"}
    for place, name in places.items():
        text = text.replace(f"{place}/", f"{name}/" if name else "").replace(place, name or ".")
    text = _MACHINE_PATH.sub("<path>", text)
    text = re.sub(r"\b0x[0-9a-f]{6,}\b", "0x…", text)
    return re.sub(r" in \d+\.\d+s(?: \(\d+:\d+:\d+\))?", "", text)


def use(desk: Desk, name: str, arguments: Mapping[str, Any]) -> Answer:
    """Runs a tool; a failure is an answer too."""
    try:
        return Answer(scrub(TOOLS[name].run(desk, **arguments), desk) or "(empty)")
    except ToolError as failure:
        return Answer(scrub(str(failure), desk), is_error=True)


def list_files(desk: Desk, *, path: str = "") -> str:
    """Files under a folder with their sizes."""
    prefix = f"{path.rstrip('/')}/" if path.strip("/") else ""
    found = [name for name in readable(desk.root) if name.startswith(prefix)]
    if not found:
        raise ToolError(f"Error: no such folder, or nothing in it: {path}")
    lines = [f"{name} ({_size(desk.root / name)} bytes)" for name in found[:MAX_LISTED]]
    more = [f"… and {len(found) - MAX_LISTED} more; list a folder below"] if len(found) > MAX_LISTED else []
    return "\n".join(lines + more)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def read_file(desk: Desk, *, path: str, offset: int = 1, limit: int = 200) -> str:
    """Numbered lines of a file, from line `offset` on."""
    lines = _text(desk, path).splitlines()
    part = lines[offset - 1 : offset - 1 + limit]
    if not part and lines:
        raise ToolError(f"Error: {path} has {len(lines)} lines, nothing from line {offset} on")
    body = "\n".join(f"{number:5d}\t{line}" for number, line in enumerate(part, start=offset))
    left = len(lines) - (offset - 1 + len(part))
    return f"{body}\n(lines left: {left}; continue with offset {offset + len(part)})" if left > 0 else body


def _text(desk: Desk, path: str) -> str:
    base = desk.scratch if path.startswith("notes/") else desk.root
    if base == desk.root and path not in readable(desk.root):
        raise ToolError(f"Error: file not found: {path}")
    try:
        return (base / path).read_text()
    except OSError:
        raise ToolError(f"Error: file not found: {path}") from None


def search(desk: Desk, *, pattern: str, path: str = "", max_results: int = 40) -> str:
    """Lines that a regular expression matches, as `path:line: text`."""
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise ToolError(f"Error: not a regular expression: {error}") from None
    hits = [
        f"{name}:{number}: {line.strip()[:MAX_LINE_CHARACTERS]}"
        for name in readable(desk.root)
        if name.startswith(path) and (desk.root / name).exists()
        for number, line in enumerate((desk.root / name).read_text().splitlines(), start=1)
        if wanted.search(line)
    ]
    files = len({hit.split(":", 1)[0] for hit in hits})
    if not hits:
        return f"No matches for {pattern!r}" + (f" under {path}" if path else "")
    head = f"{len(hits)} matches in {files} files" + (f", first {max_results}" if len(hits) > max_results else "")
    return "\n".join([head, *hits[:max_results]])


def run_python(desk: Desk, *, code: str) -> str:
    """What a program printed, from the root of the repository."""
    return _run(desk, [sys.executable, "-c", code])


def run_tests(desk: Desk, *, path: str) -> str:
    """What pytest said about a file or folder."""
    options = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    return _run(desk, [sys.executable, "-m", "pytest", *options, f"--basetemp={desk.scratch / 'pytest'}", path])


def _run(desk: Desk, command: list[str]) -> str:
    paths = os.pathsep.join(str(desk.root / part) for part in ("service", "clients/python"))
    quiet = {"PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", "COLUMNS": "100"}
    own = {"PATH": os.defpath, "PYTHONPATH": paths, "HYPOTHESIS_STORAGE_DIRECTORY": str(desk.scratch / "hypothesis")}
    try:
        done = subprocess.run(
            command,
            cwd=desk.root,
            env=quiet | own,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ToolError(f"Error: stopped after {COMMAND_TIMEOUT_SECONDS} seconds") from None
    output = scrub((done.stdout + done.stderr).strip(), desk)
    if len(output) > MAX_OUTPUT_CHARACTERS:
        output = f"(beginning left out)\n{output[-MAX_OUTPUT_CHARACTERS:]}"
    if done.returncode:
        raise ToolError(f"{output}\nexit status {done.returncode}".strip())
    return output


def write_file(desk: Desk, *, path: str, content: str) -> str:
    """Writes a note."""
    if not path.startswith("notes/") or ".." in path:
        raise ToolError(f"Error: permission denied: {path} is read-only, write below notes/")
    target = desk.scratch / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content)
    return f"Wrote {len(content.splitlines())} lines to {path}"


def update_plan(_: Desk, *, todos: list[dict[str, str]]) -> str:
    """Takes note of the plan; it lives in the conversation alone."""
    states = Counter(todo["status"] for todo in todos)
    return "Plan updated: " + ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in states.items())


_STATUS = {"type": "string", "enum": ["pending", "in_progress", "completed"]}
_TODO = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "content": {"type": "string", "minLength": 1}, "status": _STATUS},
    "required": ["id", "content", "status"],
    "additionalProperties": False,
}
_PATH = {"type": "string", "description": "Path relative to the root of the repository."}

TOOLS: Mapping[str, Tool] = {
    "list_files": Tool(
        list_files,
        "Lists the files below a folder with their sizes in bytes. Without a path: of the whole repository.",
        {"path": _PATH},
        (),
    ),
    "read_file": Tool(
        read_file,
        "Reads lines of a text file, each with its number. Says how many lines are left and where to continue.",
        {
            "path": _PATH,
            "offset": {"type": "integer", "minimum": 1, "description": "First line, 1 by default."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 400, "description": "Lines, 200 by default."},
        },
        ("path",),
    ),
    "search": Tool(
        search,
        "Finds lines that match a Python regular expression, in every file or below a path.",
        {
            "pattern": {"type": "string", "description": "Python regular expression, matched against single lines."},
            "path": _PATH,
            "max_results": {"type": "integer", "minimum": 1, "maximum": 200, "description": "40 by default."},
        },
        ("pattern",),
    ),
    "run_python": Tool(
        run_python,
        "Runs a Python program from the root of the repository and returns what it printed.",
        {"code": {"type": "string", "description": "The whole program."}},
        ("code",),
    ),
    "run_tests": Tool(
        run_tests,
        "Runs pytest on one file or folder of tests and returns its report.",
        {"path": _PATH},
        ("path",),
    ),
    "write_file": Tool(
        write_file,
        "Writes a text file below notes/, replacing what was there. The rest of the repository is read-only.",
        {"path": _PATH, "content": {"type": "string"}},
        ("path", "content"),
    ),
    "update_plan": Tool(
        update_plan,
        "Replaces the list of things to do. Send the whole list each time; at most one item is in progress.",
        {"todos": {"type": "array", "items": _TODO, "minItems": 1}},
        ("todos",),
    ),
}
