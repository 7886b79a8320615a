"""A case file as a `ContractCase`: the shorthands written out, unknown fields refused, sources as bytes."""

from __future__ import annotations

import json
import re
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from google.protobuf import json_format, struct_pb2

from hango.compaction.testing.v1 import contract_case_pb2 as pb

CASES = Path(__file__).parent / "cases"
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*/[a-z0-9]+(?:-[a-z0-9]+)*")
COVERED = re.compile(r"R\d{1,2}|[A-Z][A-Z_]+")
FILLER = "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima "

_SHORTHAND = re.compile(r"\{filler:(\d+)\}|\{times:(\d+):([^{}]+)\}")


class CaseError(Exception):
    """A case file is not what the schema says."""


def names() -> list[str]:
    """The names of all cases, sorted."""
    return sorted(path.relative_to(CASES).with_suffix("").as_posix() for path in CASES.rglob("*.json"))


def load(name: str) -> pb.ContractCase:
    """The case of that name. Raises CaseError."""
    if not NAME.fullmatch(name):
        raise CaseError(f"{name} is not of the form area/kebab-case-name")
    return parsed((CASES / f"{name}.json").read_text())


def parsed(text: str) -> pb.ContractCase:
    """A case of its JSON. Raises CaseError."""
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates)
        case = json_format.ParseDict(written_out(value), pb.ContractCase())
    except (ValueError, json_format.ParseError) as error:
        raise CaseError(str(error)) from error
    if not (case.purpose and case.covers and case.steps):
        raise CaseError("purpose, covers and steps have to be set")
    if unknown := [rule for rule in case.covers if not COVERED.fullmatch(rule)]:
        raise CaseError(f"covers names no rules: {unknown}")
    for step in case.steps:
        if not (step.WhichOneof("call") and step.HasField("expect")):
            raise CaseError("a step has to have a call and what it has to answer")
    return case


def written_out(value: Any, round_number: int | None = None) -> Any:
    """The JSON of a case with its shorthands written out."""
    if isinstance(value, str):
        if round_number is not None:
            value = value.replace("{n}", str(round_number))
        return _SHORTHAND.sub(_filled, value)
    if isinstance(value, dict):
        return {key: written_out(item, round_number) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    elements = []
    for item in value:
        if isinstance(item, dict) and item.keys() == {"repeat", "of"}:
            for number in range(1, item["repeat"] + 1):
                elements += written_out(item["of"], number)
        else:
            elements.append(written_out(item, round_number))
    return elements


def body_bytes(case: pb.ContractCase, at: int) -> bytes:
    """The native source of a step whose body is text, JSON or continued."""
    body = case.steps[at].body
    match body.WhichOneof("content"):
        case "text":
            return body.text.encode()
        case "continued" if not body.continued.messages:
            return body_bytes(case, body.continued.step)
        case "json" | "continued":
            return _spelled(_json_of(case, at))
        case _:
            raise CaseError(f"step {at} has no native body")


def format_of(case: pb.ContractCase, at: int) -> int:
    """The format of a step's native source; where it is not stated, that of the step it refers to."""
    body = case.steps[at].body
    if body.format:
        return body.format
    match body.WhichOneof("content"):
        case "continued":
            return format_of(case, body.continued.step)
        case "result_of_step":
            return format_of(case, body.result_of_step)
        case _:
            return 0


def _json_of(case: pb.ContractCase, at: int) -> Any:
    body = case.steps[at].body
    if body.WhichOneof("content") == "json":
        return _plain(body.json)
    if body.WhichOneof("content") == "continued":
        value = _json_of(case, body.continued.step)
        value["messages"] += [_plain(message) for message in body.continued.messages]
        return value
    raise CaseError(f"step {at} is continued, so its body has to be given as JSON")


def _plain(value: struct_pb2.Value) -> Any:
    return _whole(json_format.MessageToDict(value))


def _whole(value: Any) -> Any:
    """The value with integral numbers as integers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


def _spelled(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def _filled(match: re.Match[str]) -> str:
    filler, times, text = match.groups()
    return "".join(islice(cycle(FILLER), int(filler))) if filler else text * int(times)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise CaseError(f"a key stands twice among {[key for key, _ in pairs]}")
    return value
