"""The commands `compact`, `count`, `replay` and `summarize`: a file in, calls through the client, an answer out.

All of them run over the client, so that a server and this process give the same answers and the same errors.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from compactor.cli import files, looking, tables
from compactor.cli.arguments import Arguments
from compactor.cli.exits import DONE, NOT_SERVED, NotWritten, WrongUsage
from compactor.cli.serving import log_to_stderr
from compactor.config import ConfigError
from hango.compaction import (
    Client,
    Compaction,
    CompactionError,
    Policy,
    UnknownFormat,
    format_of,
    policy_of,
    preset,
)

_NOT_OF_A_SESSION = re.compile(r"[^A-Za-z0-9._:-]+")


def compact(arguments: Arguments) -> int:
    """Compacts a request. Returns the exit status."""
    if arguments.json and arguments.out == "-":
        raise WrongUsage("--json and -o - both want standard output")
    if arguments.html is not None:
        looking.check()
    for name in filter(None, (arguments.out, arguments.record, arguments.html)):
        files.check_folder(str(name))
    record = _record(arguments.record)

    def run(client: Client, source: dict[str, Any]) -> None:
        policy: Policy = source["policy"]
        result = client.compact(
            **source,
            record=record,
            session_id=_session(arguments, policy),
            turn_id=arguments.turn,
            reason=_reason(arguments),
            stable_system_count=arguments.stable_system_count,
            explain=arguments.explain or not arguments.json or arguments.html is not None,
        )
        if arguments.out == "-":
            sys.stdout.buffer.write(result.body)
        elif arguments.out is not None:
            files.write(arguments.out, result.body)
        if arguments.record is not None:
            _keep(arguments.record, result.record)
        if arguments.html is not None or not arguments.json:
            budget = client.count_tokens(**{**source, "policy": _cheaply_counted(policy)})
        if arguments.html is not None:
            files.write(arguments.html, looking.report_page(_name(arguments), source, result, budget))
        if arguments.json:
            result.response.ClearField("native")
            if not arguments.explain:
                result.response.ClearField("explanation")
            _print_json(result.response)
            return
        table = tables.compaction(
            result.response,
            title=_title(arguments, source),
            budget=budget,
            sent=len(result.request["messages"]),
            is_explained=arguments.explain,
        )
        tables.show(table, sys.stderr if arguments.out == "-" else sys.stdout)

    return _served(arguments, run)


def count(arguments: Arguments) -> int:
    """Counts the input tokens of a request. Returns the exit status."""

    def run(client: Client, source: dict[str, Any]) -> None:
        response = client.count_tokens(**source)
        if arguments.json:
            _print_json(response)
        else:
            tables.show(tables.token_count(response, title=_title(arguments, source)), sys.stdout)

    return _served(arguments, run)


def replay(arguments: Arguments) -> int:
    """Plays a session. Returns the exit status."""
    if arguments.html is not None:
        looking.check()
        files.check_folder(arguments.html)

    def run(client: Client, source: dict[str, Any]) -> None:
        policy: Policy = source["policy"]
        if not policy.HasField("history_mode"):
            policy.MergeFrom(policy_of({"history_mode": "OFF"}))
        budget = client.count_tokens(**{**source, "policy": _cheaply_counted(policy)})
        played = looking.played(client, source, budget, arguments, _session(arguments, policy))
        if arguments.html is not None:
            files.write(arguments.html, looking.replay_page(_name(arguments), played))
        if arguments.json:
            sys.stdout.write(looking.replay_json(played))
        else:
            tables.show(looking.replay_table(played, title=_title(arguments, source)), sys.stdout)

    return _served(arguments, run)


def summarize(arguments: Arguments) -> int:
    """Summarises the messages of a request. Returns the exit status."""
    if arguments.json and arguments.out == "-":
        raise WrongUsage("--json and -o - both want standard output")
    if arguments.out is not None:
        files.check_folder(arguments.out)
    previous = files.read_text(arguments.previous_summary) if arguments.previous_summary is not None else ""

    def run(client: Client, source: dict[str, Any]) -> None:
        response = client.summarize(**source, previous_summary=previous)
        if arguments.out == "-":
            sys.stdout.buffer.write(response.summary.encode())
        elif arguments.out is not None:
            files.write(arguments.out, response.summary.encode())
        if arguments.json:
            _print_json(response)
            return
        if arguments.out is None:
            tables.show_markdown(response.summary, sys.stdout)
        table = tables.summary(response, title=_title(arguments, source))
        tables.show(table, sys.stderr if arguments.out == "-" else sys.stdout)

    return _served(arguments, run)


def _served(arguments: Arguments, run: Callable[[Client, dict[str, Any]], None]) -> int:
    """Runs a call over the chosen way to the service; its errors become lines on standard error."""
    policy = _policy(arguments.settings, arguments.preset)
    body = files.read(arguments.file)
    if arguments.model is not None:
        body = looking.with_model(body, arguments.model)
    try:
        source = {"body": body, "format": arguments.format or format_of(body), "policy": policy}
        with _client(arguments) as client:
            run(client, source)
    except UnknownFormat:
        raise WrongUsage(f"{_name(arguments)} does not tell its format; say --format anthropic or openai") from None
    except ConfigError as error:
        raise WrongUsage(str(error)) from None
    except CompactionError as error:
        _print_error(error)
        return NOT_SERVED
    except NotWritten as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - what a command says
        return NOT_SERVED
    return DONE


def _client(arguments: Arguments) -> Client:
    if arguments.target is not None:
        return Client.connect(arguments.target, timeout=arguments.timeout)
    log_to_stderr(logging.ERROR)
    logging.getLogger("compactor.progress").setLevel(logging.INFO)  # a summary of many calls takes its time
    return Client.in_process(timeout=arguments.timeout)


def _policy(settings: list[str], name: str | None = None) -> Policy:
    try:
        values: dict[str, object] = preset(name) if name else {}
    except ValueError as error:
        raise WrongUsage(f"--preset: {error}") from None
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise WrongUsage(f"--set {setting}: it has to be FIELD=VALUE")
        values[name.strip()] = value
    try:
        return policy_of(values)
    except ValueError as error:
        raise WrongUsage(f"--set: {error}") from None


def _cheaply_counted(policy: Policy) -> Policy:
    """The policy for a count of which only window and trigger are wanted: no provider is asked."""
    cheap = Policy()
    cheap.CopyFrom(policy)
    cheap.MergeFrom(policy_of({"token_counter": "HEURISTIC"}))
    return cheap


def _session(arguments: Arguments, policy: Policy) -> str:
    """The session that was named, else one by the name of the file, else none where no history is kept."""
    if arguments.session is not None:
        return arguments.session
    if policy.history_mode == policy_of({"history_mode": "OFF"}).history_mode:
        return ""
    stem = "stdin" if arguments.file == "-" else Path(arguments.file).stem
    return _NOT_OF_A_SESSION.sub("-", stem).lstrip(".")[:128] or "session"


def _reason(arguments: Arguments) -> Any:
    return arguments.reason.upper() if arguments.reason else None


def _record(path: Path | None) -> Compaction | None:
    if path is None or not path.exists():
        return None
    text = files.read_text(path)
    if not text.strip():
        return None
    try:
        value = json.loads(text)
        if not isinstance(value, dict):
            raise WrongUsage(f"{path} holds no compaction record: it is no JSON object")
        return json_format.ParseDict(value, Compaction())
    except (ValueError, RecursionError, json_format.ParseError) as error:
        raise WrongUsage(f"{path} holds no compaction record: {str(error).splitlines()[0]}") from None


def _keep(path: Path, record: Compaction | None) -> None:
    """Writes the record in force. Without one the file stays: a wrong body sent once must not cost the session's."""
    if record is not None:
        files.write(str(path), _json(record).encode())


def _title(arguments: Arguments, source: dict[str, Any]) -> str:
    return f"{_name(arguments)} · {source['format']}"


def _name(arguments: Arguments) -> str:
    return "standard input" if arguments.file == "-" else Path(arguments.file).name


def _json(message: Message) -> str:
    return str(json_format.MessageToJson(message, indent=2)) + "\n"


def _print_json(message: Message) -> None:
    sys.stdout.write(_json(message))


def _print_error(error: CompactionError) -> None:
    code = error.code.name
    lines = [f"error: {error.reason or code}{f' ({code})' if error.reason else ''}: {error.message}"]
    lines += [f"  {name}: {value}" for name, value in sorted(error.metadata.items())]
    sys.stderr.write(tables.plain("\n".join(lines)) + "\n")
