"""Rule R18: the latest plan, in whatever way the agent keeps it."""

from __future__ import annotations

import json

from compactor.core.retained import harvest, retain
from compactor.model import Content, Kind, Part, Role


def call(tool: str, **arguments: object) -> Content:
    return Content(Role.ASSISTANT, (Part(Kind.TOOL_USE, json.dumps(arguments), "c", tool),))


def plan(*messages: Content) -> str:
    return retain([harvest(message) for message in messages]).plan


def test_last_todo_list_is_the_plan() -> None:
    first = call("TodoWrite", todos=[{"content": "old", "status": "pending"}])
    last = call("TodoWrite", todos=[{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}])
    assert plan(first, last) == "- [x] a\n- [>] b"


def test_update_plan_and_write_todos_are_read() -> None:
    assert plan(call("update_plan", plan=[{"step": "a", "status": "pending"}])) == "- [ ] a"
    assert plan(call("write_todos", todos=[{"content": "a", "status": "completed"}])) == "- [x] a"
    assert plan(call("write_todos", todos=["a", "b"])) == "- [ ] a\n- [ ] b"


def test_tasks_kept_one_by_one_are_followed() -> None:
    messages = [
        call("TaskCreate", subject="a"),
        call("TaskCreate", subject="b"),
        call("TaskUpdate", taskId="2", status="completed"),
    ]
    assert plan(*messages) == "- [ ] a\n- [x] b"


def test_checklist_in_the_assistants_text_is_a_plan() -> None:
    text = "The plan:\n- [x] read\n- [ ] write\n\nGoing on."
    assert plan(Content(Role.ASSISTANT, (Part(Kind.TEXT, text),))) == "- [x] read\n- [ ] write"


def test_checklist_of_the_user_or_of_a_file_is_not_the_plan() -> None:
    text = "- [x] read\n- [ ] write"
    user = Content(Role.USER, (Part(Kind.TEXT, text),))
    assert plan(user, call("Write", file_path="a.md", content=text)) == ""


def test_broken_arguments_are_no_plan() -> None:
    broken = Content(Role.ASSISTANT, (Part(Kind.TOOL_USE, '{"todos": [{"conte', "c", "TodoWrite"),))
    assert (
        plan(broken, call("TodoWrite", todos=3), call("TaskUpdate", taskId="x"), call("TaskUpdate", taskId="9")) == ""
    )
