"""Which files a tool call reads or changes, as far as its name and arguments tell.

The shapes are those of common agents: a path under one of a few names, the text of a patch, the commands of an editor
tool, and shell commands, of which only the plain ones are understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from compactor.model import FileRecord

MOST_FILES = 400
LONGEST_PATH = 300
LONGEST_COMMAND = 8_000

_PATH_NAMES = (
    "file_path", "path", "filename", "notebook_path", "filepath", "file", "target_file", "absolute_path", "file_name",
    "paths", "files", "filepaths", "file_paths",
)  # fmt: skip
_CONTENT_NAMES = frozenset(
    ("content", "contents", "new_string", "new_str", "file_text", "old_str", "old_string", "edits", "replacement",
     "new_source", "insert_text", "code_edit", "replacement_text", "replace")
)  # fmt: skip
_CHANGES = re.compile(
    r"write|edit|create|replace|insert|append|patch|save|delete|remove|move|rename|update|touch", re.IGNORECASE
)
_SEARCHES = re.compile(r"glob|grep|search|find|^ls$|list|tree|present|task|fetch|dir", re.IGNORECASE)
_READING_COMMANDS = frozenset(("view", "open", "read", "cat"))
_PATCHED = re.compile(
    r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$|^\+\+\+ (?:b/)?(.+)$", re.MULTILINE
)
_SHELL_NAMES = ("command", "cmd", "script")
_SHELL_BREAK = re.compile(r"&&|\|\||[;|\n]")
_WORD = re.compile(r"'([^'\n]{0,400})'|\"([^\"\n]{0,400})\"|((?:>>?|[^\s'\">]+))")
_SHELL_FILES = re.compile(r">|\b(?:cat|head|tail|less|more|nl|bat|wc|rm|mv|cp|touch|tee|truncate|sed|perl)\b")
_READERS = frozenset(("cat", "head", "tail", "less", "more", "nl", "bat", "wc"))
_CHANGERS = frozenset(("rm", "mv", "cp", "touch", "tee", "truncate"))
_NAME = re.compile(r"[~\w./@+-][\w./@+ -]*")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")


def touched(tool: str, arguments: dict[str, object], text: str) -> tuple[FileRecord, ...]:
    """The files that a call reads or changes, in order, each once; `text` are its arguments as they came."""
    found: dict[FileRecord, None] = {}
    if "*** " in text or "+++ " in text:
        found.update(dict.fromkeys(_patched(arguments, text)))
    command = next((value for name in _SHELL_NAMES if isinstance(value := arguments.get(name), str)), "")
    changes, searches = _habit(tool)
    changes = changes or not _CONTENT_NAMES.isdisjoint(arguments)
    paths = [] if searches and not changes else _paths(arguments)
    changes = changes and command not in _READING_COMMANDS
    found.update(dict.fromkeys(FileRecord(path, changes) for path in paths))
    if command and not found:
        found.update(dict.fromkeys(_in_shell(command[:LONGEST_COMMAND])))
    return tuple(found)


def merge(found: Iterable[FileRecord]) -> tuple[FileRecord, ...]:
    """The ledger: files changed, then files read, newest first; a file that was changed is not also listed as read."""
    latest: dict[str, bool] = {}
    for path, changed in found:
        latest[path] = latest.pop(path, False) or changed
    newest = [FileRecord(path, changed) for path, changed in reversed(latest.items())]
    return tuple(sorted(newest, key=lambda record: not record.changed))[:MOST_FILES]


@lru_cache(maxsize=512)
def _habit(tool: str) -> tuple[bool, bool]:
    """Whether a tool changes files and whether it looks for them, by its name."""
    return bool(_CHANGES.search(tool)), bool(_SEARCHES.search(tool))


def _paths(arguments: dict[str, object]) -> list[str]:
    """The paths under the first name that holds any."""
    for name in _PATH_NAMES:
        value = arguments.get(name)
        given = value[:50] if isinstance(value, list) else (value,)
        paths = [path for path in given if isinstance(path, str) and _is_path(path)]
        if paths:
            return paths
    return []


def _is_path(text: str) -> bool:
    return 0 < len(text) <= LONGEST_PATH and "\n" not in text and "://" not in text


def _patched(arguments: dict[str, object], text: str) -> Iterator[FileRecord]:
    texts = [value for value in arguments.values() if isinstance(value, str)] or [text]
    for patch in texts:
        if "*** " in patch or "+++ " in patch:
            for match in _PATCHED.finditer(patch):
                path = (match[1] or match[2] or match[3]).strip()
                if len(path) <= LONGEST_PATH and path != "/dev/null":
                    yield FileRecord(path, changed=True)


def _in_shell(command: str) -> Iterator[FileRecord]:
    for line in _SHELL_BREAK.split(command)[:64]:
        if not _SHELL_FILES.search(line):
            continue
        words = [a or b or c for a, b, c in _WORD.findall(line)]
        if not words:
            continue
        name, rest = words[0].rsplit("/", 1)[-1], words[1:]
        in_place = name in ("sed", "perl") and any(word.startswith("-i") for word in rest)
        for before, word in zip(words, rest, strict=False):
            if word.startswith("-") or not _is_file(word):
                continue
            if before in (">", ">>") or name in _CHANGERS or in_place:
                yield FileRecord(word, changed=True)
            elif name in _READERS or name == "sed":
                yield FileRecord(word, changed=False)


def _is_file(word: str) -> bool:
    if len(word) > LONGEST_PATH or word.startswith(("/dev/", "s/")) or not _NAME.fullmatch(word):
        return False
    return bool(_EXTENSION.search(word)) or ("/" in word and not word.endswith("/"))
