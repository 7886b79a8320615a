"""Sessions to measure on, the places in them where something is left out, and what their messages say.

A session is a request body as an agent sent it: `NAME.anthropic.json`, `NAME.openai.json` or `NAME.openai-text.json`,
the last for agents that call tools in their text. They come from the folder that the environment variable
TRANSCRIPTS_DIR names, else from this repository's examples. A folder `sidecar` beside them may hold
`NAME.compaction.json`: what a real client put in the place of the messages, and how the run went on.

A moment is a place where a request would be compacted: the request up to there, and what the run did next. Each real
compaction is one, and each session gives two more, at half and at three quarters of its messages.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hango.compaction.sources import Format, format_of

Json = dict[str, Any]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "sessions"
SHARES = (0.50, 0.75)
"""Where a session is cut that no client compacted."""

LEAST_MESSAGES = 20
"""A session with fewer says little of compaction."""

NEXT_MESSAGES = 80
"""How far into the continuation the run is followed: what is named later has mostly been met again by then."""

_SUFFIX = re.compile(r"\.(?:anthropic|openai|openai-text)\.json$")
_CONTINUED = "Please continue."
_CALL_IN_TEXT = re.compile(r"```[^\n]*\n(.*?)```|<command>(.*?)</command>|<parameter=\w+>(.*?)</parameter>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: the tool's name, and its arguments as pairs of name and value, from whatever depth."""

    tool: str
    arguments: tuple[tuple[str, str | int | float], ...]


@dataclass(frozen=True, slots=True)
class Session:
    """A request body. `calls_in_text` says that the agent wrote its calls as text."""

    name: str
    format: Format
    body: Json
    calls_in_text: bool = False

    @property
    def messages(self) -> list[Json]:
        """The messages, as the body has them."""
        found: list[Json] = self.body["messages"]
        return found

    @property
    def model(self) -> str:
        """The model that the request is for."""
        return str(self.body.get("model", ""))

    def up_to(self, at: int) -> Json:
        """The body with the messages before a position only."""
        return {**self.body, "messages": self.messages[:at]}

    def saying(self, messages: list[Json]) -> Session:
        """The session with other messages."""
        return replace(self, body={**self.body, "messages": messages})


@dataclass(frozen=True, slots=True)
class Moment:
    """A request right before it is compacted, and what the run did next.

    `reference` is the summary that a real client wrote there, empty where the cut is ours.
    """

    session: Session
    at: int
    later: Sequence[Json]
    reference: str = ""

    @property
    def name(self) -> str:
        """The session and the position."""
        return f"{self.session.name}@{self.at}"

    @property
    def before(self) -> Json:
        """The request that is compacted."""
        return self.session.up_to(self.at)


@dataclass(frozen=True, slots=True)
class Collection:
    """All sessions, in the order of their names, and the moments of real compactions among them."""

    source: str
    sessions: tuple[Session, ...]
    real: tuple[Moment, ...]

    @property
    def cuts(self) -> Iterator[Moment]:
        """The moments of our own: every session at its shares."""
        for session in self.sessions:
            for share in SHARES:
                at = safe(session.messages, int(share * len(session.messages)))
                if at is not None:
                    yield Moment(session, at, session.messages[at : at + NEXT_MESSAGES])


def collection() -> Collection:
    """The sessions that the environment names, else the examples."""
    named = os.environ.get("TRANSCRIPTS_DIR", "")
    folder = Path(named) if named else EXAMPLES
    source = "the sessions of TRANSCRIPTS_DIR" if named else "examples/sessions"
    found: dict[str, Session] = {}
    for path in sorted(folder.rglob("*.json")):
        if path.parent.name == "sidecar" or (named and not _SUFFIX.search(path.name)):
            continue
        session = _session(path)
        if len(session.messages) >= LEAST_MESSAGES:
            found[session.name] = session
    real: list[Moment] = []
    for path in sorted(folder.rglob("sidecar/*.compaction.json")):
        told = json.loads(path.read_text())
        name = _name(Path(told["transcript"]))
        if name in found:
            found[name], moments = _compactions(found[name], told)
            real += moments
    return Collection(source, tuple(found[name] for name in sorted(found)), tuple(real))


def safe(messages: Sequence[Json], at: int) -> int | None:
    """The first position from `at` on where a request may end: what comes next is the assistant's."""
    return next((place for place in range(max(1, at), len(messages)) if messages[place]["role"] == "assistant"), None)


def texts(message: Json) -> Iterator[str]:
    """Everything that a message says: words, calls with their arguments, results. No reasoning, no media."""
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        yield from _block_texts(block)
    for call in calls(message):
        yield call.tool
        yield from (str(value) for _, value in call.arguments)


def said(messages: Sequence[Json]) -> str:
    """Everything that messages say, one text a line."""
    return "\n".join(text for message in messages for text in texts(message))


def calls(message: Json) -> Iterator[Call]:
    """The tool calls of a message, in either format."""
    if message.get("role") != "assistant":
        return
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if block.get("type") in ("tool_use", "server_tool_use"):
            yield Call(str(block.get("name", "")), tuple(_leaves("", block.get("input"))))
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        text = str(function.get("arguments", ""))
        try:
            given = json.loads(text)
        except ValueError:
            given = text
        yield Call(str(function.get("name", "")), tuple(_leaves("", given)))


def calls_in_text(message: Json) -> Iterator[Call]:
    """The tool calls of a message of an agent that writes them as text: code blocks and tagged commands."""
    if message.get("role") == "assistant":
        for found in _CALL_IN_TEXT.finditer("\n".join(texts(message))):
            yield Call("", (("command", next(filter(None, found.groups()), "")),))


def results(message: Json) -> Iterator[str]:
    """The tool results in a message."""
    content = message.get("content")
    if message.get("role") == "tool":
        yield "\n".join(texts(message))
        return
    for block in content if isinstance(content, list) else ():
        if block.get("type", "").endswith("tool_result"):
            yield from _block_texts(block)


def words(message: Json) -> str:
    """What a message says besides calls and results."""
    content = message.get("content")
    if message.get("role") == "tool":
        return ""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


def _session(path: Path) -> Session:
    body = json.loads(path.read_text())
    named = _SUFFIX.search(path.name)
    format: Format = format_of(body) if named is None else "anthropic" if "anthropic" in named[0] else "openai"
    return Session(_name(path), format, body, path.name.endswith(".openai-text.json"))


def _name(path: Path) -> str:
    return _SUFFIX.sub("", path.name).removesuffix(".json")


def _compactions(session: Session, told: Json) -> tuple[Session, list[Moment]]:
    """The session without the summaries that its client put in, and the moments of these."""
    if told["kind"] != "raw-log":
        later = told["continuation_messages"][1 : NEXT_MESSAGES + 1]
        return session, [Moment(session, len(session.messages), later, told["reference_summary"])]
    marks = told["boundaries"]
    places = [mark["at_message"] for mark in marks]
    messages = [
        {"role": "user", "content": _CONTINUED} if at in places else message
        for at, message in enumerate(session.messages)
    ]
    session = session.saying(messages)
    ends = [*places[1:], len(messages)]
    return session, [
        Moment(session, place, messages[place + 1 : min(end, place + 1 + NEXT_MESSAGES)], mark["summary"])
        for place, end, mark in zip(places, ends, marks, strict=True)
    ]


def _block_texts(block: Json) -> Iterator[str]:
    kind = block.get("type", "")
    if kind == "text":
        yield str(block.get("text", ""))
    elif kind.endswith("tool_result"):
        inner = block.get("content")
        if isinstance(inner, str):
            yield inner
        for part in inner if isinstance(inner, list) else ():
            if part.get("type") == "text":
                yield str(part.get("text", ""))


def _leaves(name: str, value: object) -> Iterator[tuple[str, str | int | float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(str(key), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(name, inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield name, value
