"""Whether a model's reply is a summary that can be used, and why not (rule R17).

A bad summary does more harm than none: it takes the place of messages. So a reply is used only if nothing speaks
against it: it ended by itself, it is text and no call, it is no refusal, error, question or echo, it is shorter than
what it stands for, and no reasoning is left in it. Every check is linear in the reply and its source.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from compactor.core.retained import wording

LEAST_LETTERS = 12
"""Letters and digits below which a reply says nothing; one outside of ASCII counts twice, as a letter of Chinese says
more.
"""

ECHOED_SHARE = 0.9
_LEAST_ECHO = 200
_WINDOW, _SAMPLES = 48, 64
_SHORT_ANSWER = 700
_MOST_REPEATS = 12
_LEAST_PACKED, _MOST_PACKED = 1_000, 20
"""Bytes of a text from which on it is looked at how it packs, and how many times smaller it may become."""

_REASONING = r"(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|antthinking)"
_CALL = r"(?:\w+:)?(?:function_calls?|invoke|tool_calls?|tool_use)"
_REASONED = re.compile(rf"\s*<({_REASONING})>[^<]*+(?:<(?!/?{_REASONING}>)[^<]*+)*+</\1>", re.IGNORECASE)
_REASONING_TAG = re.compile(rf"</?{_REASONING}(?:\s[^<>]{{0,99}})?>", re.IGNORECASE)
_CALL_TAG = re.compile(rf"^[ \t]*</?{_CALL}(?:\s[^<>]{{0,99}})?>|^\[TOOL_CALLS\]", re.IGNORECASE | re.MULTILINE)
_CODE_SPAN = re.compile(r"(?<!`)(`{1,3}+)[^`\n]*+\1(?!`)")
_WRAPPED = re.compile(r"<((?:\w{1,40}_)?summary|briefing|output|response)>", re.IGNORECASE)
_FENCE = re.compile(r"```(?:markdown|md|text)?[ \t]*\n")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

_REFUSED = re.compile(
    r"\A\W*(?:(?:i'?m (?:\w+ )?sorry|i apologi[sz]e|(?:sorry|unfortunately),? (?:but )?(?:i|as an)|as an ai"
    r"|i (?:can(?:'|no)?t|am unable|'?m unable|won'?t|must decline))\b"
    r".{0,160}?\b(?:can(?:'|no)?t|cannot|unable|not able|won'?t|decline|help|assist|comply|summari[sz]e)"
    r"|(?:非常|很|真的)?(?:抱歉|对不起|對不起).{0,80}?(?:无法|無法|不能)"
    r"|(?:申し訳|すみません|ごめんなさい).{0,80}?(?:できません|できかねます|いたしかねます)"
    r"|죄송.{0,80}?(?:없습니다|없어요)"
    r"|(?:lo siento|lo lamento).{0,160}?\bno pued"
    r"|(?:es )?tut mir leid.{0,160}?\bnicht\b"
    r"|(?:je suis )?d[ée]sol[ée]e?\b.{0,160}?\bne (?:peux|puis)"
    r"|(?:извините|к сожалению|простите).{0,160}?\bне могу)",
    re.IGNORECASE | re.DOTALL,
)
_SOURCE = r"(?:conversation|transcript|messages?|text|content)\b"
_ASKED = re.compile(
    r"\A(?!\s*(?:[#*|>-]|\d+[.)])).{0,240}?(?:"
    r"\b(?:please|(?:could|can|would) you)(?: please| kindly)? (?:provide|share|paste|send|supply)"
    rf"(?: me| us)?(?: with)?(?: \w+){{0,3}} {_SOURCE}"
    rf"|\bi (?:don'?t|do not|can'?t|cannot) (?:see|have|find) (?:any|the|a)(?: \w+){{0,2}} {_SOURCE}"
    rf"|\bno {_SOURCE} (?:(?:was|were|has been|have been) (?:provided|given|included|shared|attached)|to summari[sz]e)"
    rf"|{_SOURCE} (?:appears?|seems?) to be (?:empty|missing))",
    re.IGNORECASE | re.DOTALL,
)
_ERROR = re.compile(
    r"\A\s*(?:(?:api |http |internal |server )*error(?: code)?\s*:(?!.*\n\s*\n)"
    r"|(?:(?:api |http )?error |http/\S+ )?[45]\d\d\b\s*(?:\Z|[:{(–-]|(?:bad request|unauthorized|forbidden|not found"
    r"|too many requests|internal server error|bad gateway|service unavailable|gateway timeout)\b)"
    r"|rate[ _]limit (?:exceeded|reached|error)|rate limited\W*\Z"
    r"|(?:internal server error|prompt is too long|overloaded(?:_error)?|service unavailable|bad gateway)\W*(?:\Z|:)"
    r"|traceback \(most)",
    re.IGNORECASE | re.DOTALL,
)
_NO_PROSE = re.compile(
    r"<!doctype|<html|\{\s*\"(?:error\"|type\"\s*:\s*\"error\"|(?:name|tool|function|tool_calls?|arguments)\"\s*:)",
    re.IGNORECASE,
)
"""How a page, an error's JSON or a call in JSON begins, however long it is."""

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
    if sum(1 if letter.isascii() else 2 for letter in text[:1_000] if letter.isalnum()) < LEAST_LETTERS:
        return Rejected("it says nothing")
    prose = _CODE_SPAN.sub("", wording.without_code(text))
    if _REASONING_TAG.search(prose):
        return Rejected("reasoning tags are left in it")
    if _CALL_TAG.search(prose):
        return Rejected("the model called a tool, in words")
    if _NO_PROSE.match(text) or _is_short_failure(text):
        return Rejected("it is a refusal, an error or a question, no summary")
    if _repeats(text):
        return Rejected("it repeats itself")
    if _echoes(text, source):
        return Rejected("it echoes what it was given")
    return text


def _bare(text: str) -> str:
    """The text without blocks of reasoning in front of it, and without tags or a fence around all of it."""
    text = _UNPRINTABLE.sub("", text.replace("\r\n", "\n"))
    at = 0
    while found := _REASONED.match(text, at):
        at = found.end()
    text = text[at:].strip()
    while found := _WRAPPED.match(text):
        end = f"</{found[1]}>"
        if text.find(end) != len(text) - len(end):
            break
        text = text[found.end() : -len(end)].strip()
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
    """Whether a model got stuck: its lines are the same few, or the text packs as no text does that says something."""
    lines = [line for line in map(str.strip, text.splitlines()) if len(line) > 3]
    if len(lines) > 2 * _MOST_REPEATS and len(set(lines)) * 4 < len(lines):
        return True
    data = text.encode()
    return len(data) > _LEAST_PACKED and len(zlib.compress(data, 1)) * _MOST_PACKED < len(data)


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
