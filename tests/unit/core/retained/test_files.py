"""Rule R18: the ledger of files read and changed, from the shapes of calls that common agents make."""

from __future__ import annotations

import json

import pytest

from compactor.core.retained import harvest, retain
from compactor.core.retained.files import merge, touched
from compactor.model import Content, FileRecord, Kind, Part, Role

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: src/b.py\n+z\n*** End Patch"


@pytest.mark.parametrize(
    ("tool", "arguments", "path", "changed"),
    [
        ("Read", {"file_path": "/a.py"}, "/a.py", False),
        ("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y"}, "/a.py", True),
        ("Write", {"file_path": "/a.py", "content": "x"}, "/a.py", True),
        ("NotebookEdit", {"notebook_path": "/a.ipynb", "new_source": "x"}, "/a.ipynb", True),
        ("create", {"filename": "a.py"}, "a.py", True),
        ("str_replace_based_edit_tool", {"command": "view", "path": "/a.py"}, "/a.py", False),
        ("str_replace_based_edit_tool", {"command": "create", "path": "/a.py", "file_text": ""}, "/a.py", True),
        ("str_replace_editor", {"command": "str_replace", "path": "/a.py", "old_str": "x"}, "/a.py", True),
        ("bash", {"command": "cd /x && sed -i 's/a/b/' src/a.py"}, "src/a.py", True),
        ("bash", {"command": "echo hi > out/log.txt"}, "out/log.txt", True),
        ("exec_command", {"cmd": "sed -n '1,220p' README.md"}, "README.md", False),
        ("exec_command", {"cmd": "cat src/a.py | head -5"}, "src/a.py", False),
    ],
)
def test_shape_of_a_call_tells_the_file(tool: str, arguments: dict[str, object], path: str, changed: bool) -> None:
    assert touched(tool, arguments, json.dumps(arguments)) == (FileRecord(path, changed),)


@pytest.mark.parametrize("as_json", [True, False])
def test_patch_names_every_file_it_changes(as_json: bool) -> None:
    arguments: dict[str, object] = {"input": PATCH} if as_json else {}
    text = json.dumps(arguments) if as_json else PATCH
    assert touched("apply_patch", arguments, text) == (FileRecord("src/a.py", True), FileRecord("src/b.py", True))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Grep", {"pattern": "x", "path": "src"}),
        ("ls", {"path": "/repo"}),
        ("web_fetch", {"url": "https://example.org/a.html"}),
        ("bash", {"command": "git status 2> /dev/null; ls src"}),
        ("bash", {"command": "grep -rn x src/a.py"}),
    ],
)
def test_searching_touches_no_file(tool: str, arguments: dict[str, object]) -> None:
    assert touched(tool, arguments, json.dumps(arguments)) == ()


def test_changed_files_come_first_then_the_newest() -> None:
    seen = [FileRecord("a", False), FileRecord("b", True), FileRecord("c", False), FileRecord("b", False)]
    assert merge(seen) == (FileRecord("b", True), FileRecord("c", False), FileRecord("a", False))


def test_file_of_a_failed_call_is_not_in_the_ledger() -> None:
    messages = [
        Content(Role.ASSISTANT, (Part(Kind.TOOL_USE, '{"file_path": "/gone.py"}', "c1", "Read"),)),
        Content(Role.USER, (Part(Kind.TOOL_RESULT, "File does not exist.", "c1", is_error=True),)),
    ]
    assert retain([harvest(message) for message in messages]).files == ()
