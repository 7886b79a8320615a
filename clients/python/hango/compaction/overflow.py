"""Which answers of a provider say that a request was larger than the model's context window.

    try:
        reply = anthropic.messages.create(**request)
    except Exception as error:
        if (named := overflow_of(error)) is not None:
            print("too large", named.actual_input_tokens, "of", named.max_input_tokens)

No SDK is imported: an exception is judged by what it carries. Providers agree on neither status nor code nor wording
(an overflow has been seen as 400, 401, 413, 429, 500 and 503), and what they say of rates, quotas and the length of the
output is full of the same words. So each exception of the chain of causes is judged in this order, and the first that
has a verdict decides:

1. a word of rates, quotas, load or pictures: no overflow, whatever else it says;
2. a code or the name of a class that means nothing else, or the status 413: an overflow;
3. the wording of its message: an overflow where it is one of a provider's.

Where the body of an answer is structured, only its own messages are read: the rest may repeat the caller's request.
Every pattern is bounded and at most 16,384 characters of a text are looked at, so that no text takes long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from hango.compaction.usage import member, usage_of, whole_number
from hango.compaction.v1.compaction_service_pb2 import ObservedOverflow

LONGEST_TEXT = 16_384
"""Characters of a text that are looked at: half from its beginning, half from its end."""

MOST_CAUSES = 8
MOST_VALUES = 256
MOST_TOKENS = 10**12

_NOT_OVERFLOW = re.compile(
    r"rate[ _-]?limit|too many requests|throttl|quota|overloaded|at capacity|please wait before|try again later"
    r"|tokens? per (?:min|hour|day|sec|month)|\b(?:tpm|rpm|tpd)\b|tokens processed"
    r"|(?:daily|weekly|monthly) (?:token|usage|limit)|credit balance|insufficient (?:credits|balance|funds)|billing"
    r"|image exceeds|image dimensions|image (?:is )?too large|images? size|pages? of pdf|pdf pages"
)
_CODE = re.compile(
    r"context_?(?:window|length|size|limit)?_?(?:has_)?(?:exceeded|overflow|limit_?reached)|request_too_large"
    r"|exceed_context_size|max_prompt_tokens_exceeded|prompt_too_long|body_too_large|^(?:3051|1261)$"
)
_WORDING = re.compile(
    "|".join(
        (
            r"prompt (?:is )?too long",
            r"prompt exceeds max(?:imum)? length",
            r"input (?:is |context is |length is |token length )?too long",
            r"input prompt \(\d+ tokens\) is too long",
            r"exceed(?:s|ed|ing)? (?:(?:the|this|your|its|model|model's|available|maximum|max|configured) ){0,4}"
            r"context[ _](?:length|window|size|limit)",
            r"context[ _](?:length|window|size|limit)[ _](?:has been |was |is )?(?:exceed|overflow)",
            r"context(?:window|length)?(?:exceeded|overflow)",
            r"maximum context (?:length|window|size)(?: is| of|:)? ?\(?\d",
            r"too large for model with \d",
            r"maximum prompt length is \d",
            r"(?:longer|greater|larger) than the (?:model's |maximum )?(?:context|model) (?:length|window)",
            r"context length of only \d|reached context length of \d",
            r"configured context size is \d",
            r"supports only \d+k context",
            r"reduce the length of the (?:messages|prompt|input)",
            r"input token count.{0,40}exceeds the max|input token count is \d+ but",
            r"prompt token count of \d+ exceeds",
            r"exceed(?:s|ed)? (?:the )?(?:model|configured) (?:token )?limit(?:: \d+ \(requested| of \d+ tokens)",
            r"input tokens exceed",
            r"exceeds? (?:the )?maximum (?:allowed )?(?:input|prompt) (?:length|size|tokens)",
            r"exceeds the maximum number of (?:input )?tokens",
            r"number of (?:input )?tokens.{0,24}exceeds? (?:the )?max",
            r"too many input tokens",
            r"total number of tokens.{0,40}cannot exceed",
            r"tokens in request more than max tokens allowed",
            r"range of input length should be",
            r"`?inputs`?(?: tokens \+ `?max_new_tokens`? must be| must have less than \d+ tokens)",
            r"n_keep\W{0,4}\d+.{0,12}n_ctx",
            r"'(?:messages|input)\[\d+\]\.content(?:\[\d+\]\.text)?': string too long",
            r"request exceeds the maximum (?:allowed )?(?:size|number of bytes)",
            r"request payload size exceeds",
            r"(?:request entity|payload|request body) too large",
            "输入长度超过|上下文长度超|超出上下文|超过最大上下文",
        )
    )
)
_WEAK_WORDING = re.compile(r"too many tokens")

_ACTUAL = re.compile(
    "|".join(
        (
            r"prompt is too long: (\d+)",
            r"exceed context limit: (\d+)",
            r"resulted in (\d+)",
            r"(?:has|at least|contains|received) (\d+)(?: input)? tokens",
            r"requested: (\d+)\)",
            r"input token count\W{0,4}(?:is |of )?(\d+)",
            r"prompt token count of (\d+)",
            r"input length \(?(\d+)",
            r"\((?:length )?(\d+)(?: tokens)?\) (?:is longer|exceeds|is too long)",
            r"current length is (\d+)",
            r"keep the first (\d+)",
            r"n_keep\W{0,4}(\d+)",
            r"received (\d+)",
            r"given: (\d+)",
            r"with a string with length (\d+)",
        )
    )
)
_PART = re.compile(
    r"(\d+) (?:in (?:the|your) (?:messages|functions|prompt)|of (?:text|tool|image) input|tokens from the input)"
)
_MOST = re.compile(
    "|".join(
        (
            r"> (\d+)",
            r"maximum context (?:length|window|size|limit)(?: is| of|:)? ?\(?(\d+)",
            r"with (\d+) maximum context",
            r"maximum number of tokens allowed \(?(\d+)",
            r"maximum prompt length is (\d+)",
            r"(?:supports up to|max input tokens:) (\d+)",
            r"maximum model length of (\d+)",
            r"context (?:length|window|size) (?:of (?:only )?|is |\()(\d+)",
            r"exceeds (?:the )?limit of (\d+)",
            r"maximum allowed input length of (\d+)",
            r"configured limit of (\d+)",
            r"model token limit: (\d+)",
            r"limit is (\d+)",
            r"must have less than (\d+)",
            r"must be <= (\d+)",
            r"cannot exceed (\d+)",
            r"n_ctx\W{0,4}(\d+)",
            r"input length should be \[\d+, ?(\d+)",
        )
    )
)
_THOUSANDS = re.compile(r"(?<=\d)[,_'](?=\d{3}(?!\d))")

_SAYS = ("message", "msg", "detail", "error_description", "raw", "reason")
_NAMES = ("code", "type", "status", "error_code", "reason", "name")


def overflow_of(error: BaseException) -> ObservedOverflow | None:
    """What an exception of a model call says of an overflow; None where it says something else.

    The numbers are those that the provider named, in tokens, 0 where it named none: the input that it counted, and the
    window that it has. Takes exceptions of any library, wrapped ones by their `__cause__`.

        >>> overflow_of(ValueError("prompt is too long: 210000 tokens > 200000 maximum")).max_input_tokens
        200000
        >>> overflow_of(ValueError("max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens"))
    """
    for cause in islice(_causes(error), MOST_CAUSES):
        evidence = _evidence(cause)
        if _NOT_OVERFLOW.search(evidence.text) or any(map(_NOT_OVERFLOW.search, evidence.codes)):
            return None
        if _is_overflow(evidence):
            return _named(evidence)
    return None


def overflow_in(reply: object) -> ObservedOverflow | None:
    """What a reply's stop reason says of an overflow; None where it ended for another reason, or cannot be read.

    An overflow are `model_context_window_exceeded`, and in Chat Completions `length` without a single output token: the
    input left no room. Takes objects of SDKs and dicts. The input tokens are the reply's own where the reason is plain.

        >>> overflow_in({"stop_reason": "model_context_window_exceeded", "usage": {"input_tokens": 199_990}})
        actual_input_tokens: 199990
        <BLANKLINE>
    """
    reason = _stop_reason(reply)
    usage = usage_of(reply)
    if reason == "model_context_window_exceeded":
        return ObservedOverflow(actual_input_tokens=usage.input_tokens if usage else 0)
    # What the input tokens of such a reply mean is not known: some servers cut the input down to the window first.
    is_full = reason == "length" and usage is not None and usage.output_tokens == 0
    return ObservedOverflow() if is_full else None


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What one exception carries: codes, names of its classes and text in lower case, numbers without separators."""

    statuses: frozenset[int]
    codes: frozenset[str]
    kinds: frozenset[str]
    text: str
    prompt_tokens: int
    context_tokens: int


def _is_overflow(evidence: _Evidence) -> bool:
    if 413 in evidence.statuses or any(map(_CODE.search, evidence.codes | evidence.kinds)):
        return True
    if _WORDING.search(evidence.text):
        return True
    return 429 not in evidence.statuses and _WEAK_WORDING.search(evidence.text) is not None


def _named(evidence: _Evidence) -> ObservedOverflow:
    text = evidence.text
    parts = sum(_tokens(match) for match in _PART.finditer(text))
    return ObservedOverflow(
        actual_input_tokens=evidence.prompt_tokens or parts or _tokens(_ACTUAL.search(text)),
        max_input_tokens=evidence.context_tokens or _tokens(_MOST.search(text)),
    )


def _tokens(match: re.Match[str] | None) -> int:
    """The number that was found; 0 for none, and for one that is no number of tokens."""
    digits = next(filter(None, match.groups()), "0") if match else "0"
    return int(digits) if len(digits) <= 13 and int(digits) <= MOST_TOKENS else 0


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__


def _evidence(error: BaseException) -> _Evidence:
    """Everything of an exception that may tell what happened; nothing that it carries makes this fail."""
    response = member(error, "response")
    structured = [body for body in _bodies(error, response) if isinstance(body, Mapping | list)]
    pairs = [pair for body in structured for pair in islice(_members(body), MOST_VALUES)]
    said = [value for name, value in pairs if name in _SAYS and isinstance(value, str)]
    values = [member(error, name) for name in _NAMES] + [value for name, value in pairs if name in _NAMES]
    numbers = {name: value for name, value in pairs if name.startswith("n_")}
    return _Evidence(
        statuses=frozenset(_statuses(error, response, values)),
        codes=frozenset(_codes(values)),
        kinds=frozenset(kind.__name__.lower() for kind in type(error).__mro__ if kind.__module__ != "builtins"),
        text=_plain(said or _texts(error, response)),
        prompt_tokens=whole_number(numbers.get("n_prompt_tokens")),
        context_tokens=whole_number(numbers.get("n_ctx")),
    )


def _bodies(error: BaseException, response: object) -> tuple[object, ...]:
    """The decoded answers that an exception may carry: `body` of most SDKs, `details` of Google's, botocore's dict."""
    return member(error, "body"), member(error, "details"), response


def _members(value: object, depth: int = 6) -> Iterator[tuple[str, object]]:
    """Names and values of what is nested in a decoded answer; what repeats the caller's request is left out."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            lower = str(name).lower()
            if lower not in ("input", "ctx", "messages", "body", "headers"):
                yield ("message" if lower == "error" and isinstance(inner, str) else lower), inner
                if depth:
                    yield from _members(inner, depth - 1)
    elif isinstance(value, list):
        for inner in islice(value, 16):
            yield from _members(inner, depth - 1)


def _statuses(error: BaseException, response: object, values: list[object]) -> Iterator[int]:
    metadata = member(response, "ResponseMetadata")
    found = [member(error, "status_code"), member(error, "http_status"), member(response, "status_code")]
    for value in (*found, member(metadata, "HTTPStatusCode"), *values):
        status = whole_number(int(value) if isinstance(value, str) and re.fullmatch(r"[1-5]\d\d", value) else value)
        if 100 <= status < 600:
            yield status


def _codes(values: list[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str | int) and len(text := str(value)) <= 128:
            yield text.lower()


def _texts(error: BaseException, response: object) -> list[str]:
    """What an exception without a structured answer says, the answer's own text included."""
    texts = [member(error, "message"), member(error, "body"), member(response, "text")]
    with suppress(Exception):  # an exception whose text cannot be made
        texts.append(str(error))
    return [text for text in texts if isinstance(text, str)]


def _plain(texts: list[str]) -> str:
    """Texts in the one form that the patterns are written for."""
    joined = " ".join(" ".join(_ends(text).split()) for text in islice(texts, 8))
    return _THOUSANDS.sub("", joined.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


def _ends(text: str) -> str:
    half = LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]} {text[-half:]}"


def _stop_reason(reply: object) -> Any:
    """Why a reply ended, as its provider says it; None where that cannot be read."""
    for name in ("stop_reason", "stopReason"):
        if isinstance(reason := member(reply, name), str):
            return reason
    choices = member(reply, "choices")
    return member(choices[0], "finish_reason") if isinstance(choices, list) and choices else None
