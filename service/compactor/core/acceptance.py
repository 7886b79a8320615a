"""Whether a model's reply is a summary that can be used, and why not (rule R17).

A bad summary does more harm than none: it takes the place of messages. So a reply is used only if nothing speaks
against it: it ended by itself, it is text and no call, it is no refusal, error, question or echo, it is shorter than
what it stands for, and no reasoning is left in it. Every check is linear in the reply and its source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

LEAST_LETTERS = 12
"""Letters and digits below which a reply says nothing."""

ECHOED_SHARE = 0.9
_LEAST_ECHO = 200
_WINDOW, _SAMPLES = 48, 64
_SHORT_ANSWER = 700
_MOST_REPEATS = 12

_REASONING = r"(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|antthinking)"
_REASONED = re.compile(rf"\A\s*<({_REASONING})>(?:(?!</?{_REASONING}>).)*</\1>", re.IGNORECASE | re.DOTALL)
_REASONING_TAG = re.compile(rf"(?<!`)</?{_REASONING}>(?!`)", re.IGNORECASE)
_WRAPPINGS = ("summary", "briefing", "output", "response")
_FENCE = re.compile(r"```(?:markdown|md|text)?[ \t]*\n")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

_REFUSED = re.compile(
    r"\A\W*(?:i'?m sorry|sorry|i apologi[sz]e|unfortunately|as an ai"
    r"|i (?:can(?:'|no)?t|am unable|'?m unable|won'?t|must decline))\b"
    r".{0,160}?\b(?:can(?:'|no)?t|cannot|unable|not able|won'?t|decline|help|assist|comply|summari[sz]e)",
    re.IGNORECASE | re.DOTALL,
)
_ASKED = re.compile(
    r"\A.{0,240}?\b(?:please (?:provide|share|paste|send|supply)"
    r"|(?:could|can|would) you (?:please )?(?:provide|share|paste)"
    r"|(?:don'?t|do not) (?:see|have) (?:any|the|a) (?:\w+ )?(?:conversation|transcript|messages?|text)"
    r"|no (?:conversation|transcript|messages?) (?:was|were|has been|to summari[sz]e))",
    re.IGNORECASE | re.DOTALL,
)
_ERROR = re.compile(
    r"\A\s*(?:\{\s*\"(?:type\"\s*:\s*\"error|error)\"|<!doctype|<html|(?:api |http |internal |server )*error\b\s*[:\d(]"
    r"|(?:http/\d\S* )?[45]\d\d\b|prompt is too long|rate limit|overloaded|service unavailable|bad gateway"
    r"|traceback \()",
    re.IGNORECASE,
)
_STOPPED: Mapping[str, str] = {
    "max_tokens": "it was cut off at the output cap",
    "refusal": "the model refused",
    "tool_use": "the model called a tool",
    "pause_turn": "the model paused",
    "model_context_window_exceeded": "the model ran out of its window",
    "compaction": "the model compacted instead",
}
_ENDED = ("end_turn", "stop_sequence", "")


class Rejected(NamedTuple):
    """Why a reply cannot be used. `wants_less` says that asking for less may help."""

    why: str
    wants_less: bool = False


def judged(text: str, stop_reason: str, source: str, *, calls_tool: bool) -> str | Rejected:
    """The summary in a reply, bare of reasoning and wrapping, or why there is none; `source` is what it stands for."""
    if calls_tool:
        return Rejected("the model called a tool")
    if stop_reason not in _ENDED:
        why = _STOPPED.get(stop_reason, "it stopped for an unknown reason")
        return Rejected(why, wants_less=stop_reason in ("max_tokens", "model_context_window_exceeded"))
    text = _bare(text)
    if sum(letter.isalnum() for letter in text[:1_000]) < LEAST_LETTERS:
        return Rejected("it says nothing")
    if _REASONING_TAG.search(text):
        return Rejected("reasoning tags are left in it")
    if _is_short_failure(text):
        return Rejected("it is a refusal, an error or a question, no summary")
    if _repeats(text):
        return Rejected("it repeats itself")
    if _echoes(text, source):
        return Rejected("it echoes what it was given")
    return text


def _bare(text: str) -> str:
    """The text without a block of reasoning in front of it, and without tags or a fence around all of it."""
    text = _UNPRINTABLE.sub("", text.replace("\r\n", "\n")).strip()
    while found := _REASONED.match(text):
        text = text[found.end() :].strip()
    for name in _WRAPPINGS:
        if text.startswith(f"<{name}>") and text.endswith(f"</{name}>"):
            text = text[len(name) + 2 : -len(name) - 3].strip()
    fence = _FENCE.match(text)
    if fence and text.endswith("\n```") and text.count("```") == 2:
        text = text[fence.end() : -3].strip()
    return text


def _is_short_failure(text: str) -> bool:
    if len(text) > _SHORT_ANSWER:
        return False
    head = text.replace("’", "'")
    return any(pattern.match(head) for pattern in (_REFUSED, _ASKED, _ERROR))


def _repeats(text: str) -> bool:
    """Whether a model got stuck: one line, or the end of the text, again and again."""
    lines = [line for line in map(str.strip, text.splitlines()) if len(line) > 3]
    if len(lines) > 2 * _MOST_REPEATS and len(set(lines)) * 4 < len(lines):
        return True
    words = text.split()
    return len(words) > 200 and len(set(words)) * 20 < len(words)


def _echoes(text: str, source: str) -> bool:
    """Whether nearly all of a reply stands in its source as it is: a copy of a passage, not a summary.

    Looked at in windows spread over the reply, white space aside. Words that are kept verbatim are a part of a good
    summary, so only a reply of some length that is copied in long runs counts.
    """
    said, given = " ".join(text.split()), " ".join(source.split())
    if len(said) < _LEAST_ECHO:
        return False
    step = max(_WINDOW, (len(said) - _WINDOW) // _SAMPLES)
    windows = [said[at : at + _WINDOW] for at in range(0, len(said) - _WINDOW + 1, step)]
    return sum(window in given for window in windows) > ECHOED_SHARE * len(windows)
