"""Records the example sessions: `python -m examples.record`, from the root of the repository.

Nothing is invented but the words of the user and of the agent: every tool result is what the tool answered when this
ran. Each file is one request body in its provider's own JSON, as an agent is about to send it.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from examples import scenarios
from examples.agent import Agent, Asked, Step
from examples.agent_tools import ROOT, TOOLS, Desk, leaks

SESSIONS = ROOT / "examples" / "sessions"
Json = dict[str, Any]

INSTRUCTIONS = """\
You are a careful engineering assistant. You read and check a repository with the tools you are given.

Work through the list of things to do that you keep with update_plan. Look before you claim: name the file and the \
line for everything you report, and say so when you did not look. Call tools in one batch where their answers do not \
depend on one another. A tool that fails tells you something; read its answer before you try again.

The repository is read-only. Notes go below notes/. When the user states a rule, it holds for the rest of the session, \
until the user replaces it. When a question is left open, keep it open and list it in the report."""
ENVIRONMENT = """\
Environment: the working directory is the root of the repository, branch main, Python 3.11, Linux. Today is Tuesday, \
1 December 2026."""


def anthropic(agent: Agent) -> Json:
    """A body of Anthropic Messages; the results of a batch and an interjection share one user message."""
    messages: list[Json] = []
    for at, entry in enumerate(agent.log):
        if isinstance(entry, Step):
            calls = [(_id("toolu_01", at, place), *call) for place, call in enumerate(entry.calls)]
            text = [{"type": "text", "text": entry.text}] if entry.text else []
            uses = [{"type": "tool_use", "id": key, "name": name, "input": given} for key, name, given in calls]
            messages.append({"role": "assistant", "content": [*text, *uses]})
            results = [
                {"type": "tool_result", "tool_use_id": key, "content": answer.text}
                | ({"is_error": True} if answer.is_error else {})
                for (key, *_), answer in zip(calls, entry.answers, strict=True)
            ]
            messages += [{"role": "user", "content": results}] if results else []
        elif messages and messages[-1]["role"] == "user":
            messages[-1]["content"].append({"type": "text", "text": entry.text})
        else:
            messages.append({"role": "user", "content": entry.text})
    system = [{"type": "text", "text": text} for text in (INSTRUCTIONS, ENVIRONMENT)]
    tools = [
        {"name": name, "description": tool.description, "input_schema": tool.schema} for name, tool in TOOLS.items()
    ]
    return {
        "model": "claude-haiku-4-5",
        "max_tokens": 4096,
        "system": system,
        "tools": tools,
        "messages": messages,
    }


def openai(agent: Agent) -> Json:
    """A body of OpenAI Chat Completions; every result is a message of its own."""
    messages: list[Json] = [{"role": "system", "content": f"{INSTRUCTIONS}\n\n{ENVIRONMENT}"}]
    for at, entry in enumerate(agent.log):
        if isinstance(entry, Asked):
            messages.append({"role": "user", "content": entry.text})
            continue
        calls = [(_id("call_", at, place), *call) for place, call in enumerate(entry.calls)]
        uses = [
            {"id": key, "type": "function", "function": {"name": name, "arguments": _compact(given)}}
            for key, name, given in calls
        ]
        said: Json = {"role": "assistant", "content": entry.text or None}
        messages.append(said | ({"tool_calls": uses} if uses else {}))
        messages += [
            {"role": "tool", "tool_call_id": key, "content": answer.text}
            for (key, *_), answer in zip(calls, entry.answers, strict=True)
        ]
    functions = [
        {"name": name, "description": tool.description, "parameters": tool.schema, "strict": False}
        for name, tool in TOOLS.items()
    ]
    tools = [{"type": "function", "function": function} for function in functions]
    return {"model": "gpt-5.1", "max_completion_tokens": 4096, "tools": tools, "messages": messages}


def _id(prefix: str, step: int, place: int) -> str:
    """An id that looks like the provider's and is the same in every recording."""
    return prefix + hashlib.sha256(f"{prefix} {step} {place}".encode()).hexdigest()[:22]


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def record(script: Callable[[Agent], None]) -> Agent:
    """An agent that has followed a script, with a scratch folder of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        agent = Agent(Desk(ROOT, Path(scratch).resolve()))
        script(agent)
    return agent


def write(name: str, body: Json) -> None:
    """Writes a session, unless it holds something that must not be published."""
    text = _compact(body)
    found = leaks(text)
    if found:
        raise SystemExit(f"{name}: not written, it would publish {found[0]!r} and {len(found) - 1} more")
    SESSIONS.mkdir(exist_ok=True)
    (SESSIONS / name).write_text(text)
    print(f"{name}: {len(body['messages'])} messages, {len(text.encode()):,} bytes")


def main() -> None:
    """Records every session."""
    explored = record(scenarios.explore)
    write("explore-anthropic.json", anthropic(explored))
    write("explore-openai.json", openai(explored))
    write("short-anthropic.json", anthropic(record(scenarios.short)))
    write("parallel-openai.json", openai(record(scenarios.parallel)))


if __name__ == "__main__":
    main()
