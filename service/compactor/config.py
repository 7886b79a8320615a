"""Configuration from the environment: every variable, its range and default, refused with a clear message when wrong.

The table below is the one list of variables: the documentation and the tests are checked against it.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from compactor.policy import Summarizer
from compactor.profiles import BUILT_IN, Profile, merged, with_defaults
from compactor.summaries import Limits

MEBIBYTE = 1 << 20


class ConfigError(Exception):
    """The environment cannot be used; the message names the variable and what it has to be."""


class LogFormat(StrEnum):
    """How log lines are written."""

    TEXT = "text"
    JSON = "json"


class Variable(NamedTuple):
    """One variable: how its text is read, its default as text, and what it does."""

    read: Callable[[str], Any]
    default: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Config:
    """The server's configuration. Times in seconds, sizes in bytes."""

    listen: str
    history_root: Path
    profiles: Mapping[str, Profile]
    max_message_bytes: int
    max_concurrent: int
    facts_max_bytes: int
    drain_seconds: float
    count_timeout_seconds: float
    summarizer: Summarizer
    summaries: Limits
    has_provider_key: bool
    log_format: LogFormat


def _listen(text: str) -> str:
    if re.fullmatch(r"unix:.+", text) or re.fullmatch(r"(?:\[[0-9a-fA-F:.%]+\]|[^\s:\[\]]+):\d{1,5}", text):
        port = text.rpartition(":")[2]
        if text.startswith("unix:") or int(port) <= 65_535:
            return text
    raise ValueError("host:port or unix:path")


def _number(least: float, most: float, *, whole: bool) -> Callable[[str], float]:
    def read(text: str) -> float:
        bounds = f"a{' whole' if whole else ''} number from {least:g} to {most:g}"
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            raise ValueError(bounds) from None
        if not (math.isfinite(value) and least <= value <= most):
            raise ValueError(bounds)
        return value

    return read


def _fraction(text: str) -> float | None:
    if not text:
        return None
    value = _number(0, 1, whole=False)(text)
    if value == 0:
        raise ValueError("a number above 0, at most 1")
    return value


def _optional_count(text: str) -> int | None:
    return int(_number(0, 1 << 40, whole=True)(text)) if text else None


def _summarizer(text: str) -> Summarizer:
    try:
        return Summarizer(text.upper())
    except ValueError:
        raise ValueError("auto, model or extractive") from None


def _log_format(text: str) -> LogFormat:
    try:
        return LogFormat(text.lower())
    except ValueError:
        raise ValueError("text or json") from None


def _workers(text: str) -> int:
    if text == "1":
        return 1
    raise ValueError("1; several processes are not supported by this version")


def _profiles(text: str) -> Mapping[str, Mapping[str, object]]:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        raise ValueError("a JSON object: model to profile") from None
    if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
        raise ValueError("a JSON object: model to profile")
    return value


def _unsupported(text: str) -> str:
    if text:
        raise ValueError("unset; it is not supported by this version")
    return ""


VARIABLES: Mapping[str, Variable] = {
    "HANGO_LISTEN": Variable(_listen, "127.0.0.1:50051", "Where the server listens: host:port or unix:path."),
    "HANGO_HISTORY_ROOT": Variable(Path, "var/history", "Folder of the histories; made when first needed."),
    "HANGO_MODEL_PROFILES": Variable(_profiles, "", "JSON, model to profile; laid over the built-in table."),
    "HANGO_CONTEXT_TRIGGER_FRAC": Variable(_fraction, "", "trigger_fraction of every model, above 0, at most 1."),
    "HANGO_CONTEXT_KEEP_FRAC": Variable(_fraction, "", "keep_fraction of every model, above 0, at most 1."),
    "HANGO_TOOL_ARG_MAX_TOKENS": Variable(
        _optional_count, "", "max_argument_tokens of every model; 0 turns clipping off."
    ),
    "HANGO_SUMMARIZER": Variable(_summarizer, "auto", "Who writes summaries: auto, model or extractive."),
    "HANGO_SUMMARIZER_MODEL": Variable(
        str, "", "The model that writes summaries; unset: for Claude models a Haiku, else the request's own."
    ),
    "HANGO_SUMMARIZER_TIMEOUT_SECONDS": Variable(
        _number(0.1, 3_600, whole=False), "60", "How long a summary may take, all its calls together."
    ),
    "HANGO_SUMMARIZER_MAX_CALLS": Variable(
        _number(1, 1_000, whole=True), "32", "Calls of a model for one summary; a longer one is written by code."
    ),
    "HANGO_SUMMARIZER_MAX_PARALLEL": Variable(
        _number(1, 1_000, whole=True), "4", "Calls of summarizers at once; more wait."
    ),
    "HANGO_COUNT_TIMEOUT_SECONDS": Variable(
        _number(0.05, 60, whole=False), "1", "How long the provider's counting endpoint may take."
    ),
    "HANGO_MAX_MESSAGE_BYTES": Variable(
        _number(1_024, 1 << 30, whole=True), str(64 * MEBIBYTE), "The largest request, in bytes."
    ),
    "HANGO_MAX_CONCURRENT": Variable(_number(1, 10_000, whole=True), "64", "Calls served at once; more are refused."),
    "HANGO_FACTS_MAX_BYTES": Variable(
        _number(1 << 16, 1 << 40, whole=True), str(128 * MEBIBYTE), "Memory for facts of messages seen before."
    ),
    "HANGO_DRAIN_SECONDS": Variable(
        _number(0, 3_600, whole=False), "20", "How long calls in flight may go on after SIGTERM."
    ),
    "HANGO_LOG_FORMAT": Variable(_log_format, "text", "How log lines are written: text, or json, an object a line."),
    "HANGO_WORKERS": Variable(_workers, "1", "Processes; this version runs one."),
    "HANGO_AUTH_TOKENS_FILE": Variable(_unsupported, "", "Not supported by this version."),
    "HANGO_TLS_CERT": Variable(_unsupported, "", "Not supported by this version."),
    "HANGO_TLS_KEY": Variable(_unsupported, "", "Not supported by this version."),
    "HANGO_TLS_CLIENT_CA": Variable(_unsupported, "", "Not supported by this version."),
}


def from_environment(environment: Mapping[str, str] = os.environ) -> Config:
    """The configuration. Raises ConfigError for an unknown HANGO_ variable or a malformed value."""
    for name in environment:
        if name.startswith("HANGO_") and name not in VARIABLES:
            raise ConfigError(f"{name} is not a variable of this service; known are {', '.join(sorted(VARIABLES))}")
    values = {name: _value(name, environment) for name in VARIABLES}
    table = with_defaults(
        BUILT_IN,
        trigger_fraction=values["HANGO_CONTEXT_TRIGGER_FRAC"],
        keep_fraction=values["HANGO_CONTEXT_KEEP_FRAC"],
        max_argument_tokens=values["HANGO_TOOL_ARG_MAX_TOKENS"],
        summarizer_model=values["HANGO_SUMMARIZER_MODEL"] or None,
        summarizer_timeout_seconds=values["HANGO_SUMMARIZER_TIMEOUT_SECONDS"],
    )
    try:
        profiles = merged(table, values["HANGO_MODEL_PROFILES"])
    except ValueError as error:
        raise ConfigError(f"HANGO_MODEL_PROFILES: {error}") from None
    return Config(
        listen=values["HANGO_LISTEN"],
        history_root=values["HANGO_HISTORY_ROOT"],
        profiles=profiles,
        max_message_bytes=values["HANGO_MAX_MESSAGE_BYTES"],
        max_concurrent=values["HANGO_MAX_CONCURRENT"],
        facts_max_bytes=values["HANGO_FACTS_MAX_BYTES"],
        drain_seconds=values["HANGO_DRAIN_SECONDS"],
        count_timeout_seconds=values["HANGO_COUNT_TIMEOUT_SECONDS"],
        summarizer=values["HANGO_SUMMARIZER"],
        summaries=Limits(
            max_calls=values["HANGO_SUMMARIZER_MAX_CALLS"],
            max_parallel=values["HANGO_SUMMARIZER_MAX_PARALLEL"],
        ),
        has_provider_key=bool(environment.get("ANTHROPIC_API_KEY")),
        log_format=values["HANGO_LOG_FORMAT"],
    )


def _value(name: str, environment: Mapping[str, str]) -> Any:
    variable = VARIABLES[name]
    text = environment.get(name, variable.default).strip() or variable.default
    try:
        return variable.read(text)
    except ValueError as error:
        raise ConfigError(f"{name} is {environment.get(name, '')!r}; it has to be {error}") from None
