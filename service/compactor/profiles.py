"""What is known of models: context windows, output limits, and how their providers behave.

Windows and outputs are the figures of LiteLLM's model map as of 2026-11, cross-checked with the providers' own pages.
Where sources disagree on the least prefix that is cached, the larger figure stands: a mark on too short a prefix is
wasted, a missing one only costs money. `shares_window` says whether output counts against the window: OpenAI publishes
the input limit alone for most of its newer models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

FALLBACK_WINDOW = 200_000
FALLBACK_TRIGGER = 170_000
FALLBACK_KEEP = 6


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of one model, in tokens; `trigger_tokens` and `keep_messages` are for the fallback.

    `summarizer_model` is asked for summaries, the model itself where that is empty or cannot be reached.
    `binds_reasoning` says that reasoning is valid only behind the very messages that it was written after,
    `always_thinks` that the model's output holds reasoning that cannot be turned off.
    """

    max_input_tokens: int = FALLBACK_WINDOW
    max_output_tokens: int | None = None
    shares_window: bool = True
    prompt_caching: bool = False
    min_cacheable_tokens: int = 4_096
    binds_reasoning: bool = False
    always_thinks: bool = False
    trigger_fraction: float = 0.85
    keep_fraction: float = 0.10
    trigger_tokens: int | None = None
    keep_messages: int | None = None
    max_argument_tokens: int = 1_000
    summarizer_model: str = ""
    summarizer_timeout_seconds: float = 60.0
    summary_max_tokens: int = 4_096
    is_known: bool = True


FALLBACK = Profile(trigger_tokens=FALLBACK_TRIGGER, keep_messages=FALLBACK_KEEP, is_known=False)


_CHEAP, _CHEAP_LARGE = "claude-haiku-4-5", "claude-haiku-5-5"
"""Who summarises for a model of Anthropic's: the cheapest whose own window takes what that model's window holds."""


def _claude(
    window: int, output: int, cacheable: int, *, binds_reasoning: bool = False, always_thinks: bool = False
) -> Profile:
    return Profile(
        max_input_tokens=window,
        max_output_tokens=output,
        prompt_caching=True,
        min_cacheable_tokens=cacheable,
        summarizer_model=_CHEAP_LARGE if window > FALLBACK_WINDOW else _CHEAP,
        binds_reasoning=binds_reasoning,
        always_thinks=always_thinks,
    )


def _input_only(window: int, output: int = 128_000) -> Profile:
    return Profile(window, output, shares_window=False, min_cacheable_tokens=1_024)


def _shared(window: int, output: int, cacheable: int = 1_024) -> Profile:
    return Profile(window, output, min_cacheable_tokens=cacheable)


_BOUND_FALLBACK = replace(FALLBACK, prompt_caching=True, binds_reasoning=True, always_thinks=True)

BUILT_IN: Mapping[str, Profile] = {
    "claude-opus-5-5": _claude(1_000_000, 128_000, 512, binds_reasoning=True, always_thinks=True),
    "claude-opus-5": _claude(1_000_000, 128_000, 512),
    "claude-opus-4-8": _claude(1_000_000, 128_000, 4_096),
    "claude-opus-4-7": _claude(1_000_000, 128_000, 4_096),
    "claude-opus-4-6": _claude(1_000_000, 128_000, 4_096),
    "claude-opus-4-5": _claude(200_000, 64_000, 4_096),
    "claude-sonnet-5-5": _claude(1_000_000, 128_000, 512, binds_reasoning=True, always_thinks=True),
    "claude-sonnet-5": _claude(1_000_000, 128_000, 1_024),
    "claude-sonnet-4-6": _claude(1_000_000, 128_000, 2_048),
    "claude-sonnet-4-5": _claude(200_000, 64_000, 1_024),
    "claude-haiku-5-5": _claude(1_000_000, 128_000, 512, binds_reasoning=True),
    "claude-haiku-4-5": _claude(200_000, 64_000, 4_096),
    "claude-fable-5-1": _claude(1_000_000, 128_000, 512, binds_reasoning=True, always_thinks=True),
    "claude-fable-5": _claude(1_000_000, 128_000, 2_048, always_thinks=True),
    "claude-mythos-5-1": _claude(1_000_000, 128_000, 512, binds_reasoning=True, always_thinks=True),
    "claude-mythos-5": _claude(1_000_000, 128_000, 512, always_thinks=True),
    # Named in the provider's SDK, no limits published; that reasoning is bound holds for the whole 5.x line.
    "claude-fable-5-2": _BOUND_FALLBACK,
    "claude-mythos-5-2": _BOUND_FALLBACK,
    "gpt-6-astra": _input_only(922_000),
    "gpt-6-sol": _input_only(922_000),
    "gpt-6-luna": _input_only(922_000),
    "gpt-6.1-sol": _input_only(922_000),
    "gpt-6.1-terra": _input_only(922_000),
    "gpt-5.6": _input_only(922_000),
    "gpt-5.6-sol": _input_only(922_000),
    "gpt-5.6-terra": _input_only(922_000),
    "gpt-5.6-luna": _input_only(922_000),
    "gpt-5.5": _shared(1_050_000, 128_000),
    "gpt-5.4": _shared(1_050_000, 128_000),
    "gpt-5.4-mini": _input_only(272_000),
    "gpt-5.4-nano": _input_only(272_000),
    "gpt-5.3-codex": _input_only(272_000),
    "gpt-5.2": _input_only(272_000),
    "gpt-5.1": _input_only(272_000),
    "gpt-5": _input_only(272_000),
    "gpt-5-mini": _input_only(272_000),
    "gpt-4.1": _shared(1_047_576, 32_768),
    "gpt-4.1-mini": _shared(1_047_576, 32_768),
    "gpt-4o": _shared(128_000, 16_384),
    "gpt-4o-mini": _shared(128_000, 16_384),
    "o3": _shared(200_000, 100_000),
    "o4-mini": _shared(200_000, 100_000),
    "gemini/gemini-4-argon": _shared(1_048_576, 1_048_576, 6_144),
    "gemini/gemini-4-hydrogen": _shared(1_048_576, 1_048_576, 4_096),
    "gemini-3.8-flash": _shared(1_048_576, 65_536, 4_096),
    "gemini-3.7-flash": _shared(1_048_576, 65_536, 4_096),
    "gemini-3.6-flash": _shared(1_048_576, 65_536, 4_096),
    "gemini-3.5-flash": _shared(1_048_576, 65_535, 4_096),
    "gemini-3.1-pro-preview": _shared(1_048_576, 65_536, 4_096),
    "gemini-2.5-pro": _shared(1_048_576, 65_535, 2_048),
    "gemini-2.5-flash": _shared(1_048_576, 65_535, 4_096),
    "xai/grok-4.7": _shared(500_000, 500_000),
    "xai/grok-4.6": _shared(500_000, 500_000),
    "xai/grok-4.5": _shared(500_000, 500_000),
    "xai/grok-4.3": _shared(1_000_000, 1_000_000),
    "xai/grok-4.20": _shared(1_000_000, 1_000_000),
    "deepseek/deepseek-v4-pro": _shared(1_000_000, 393_216),
    "deepseek/deepseek-v4-flash": _shared(1_000_000, 393_216),
    "moonshot/kimi-k3": _shared(1_048_576, 1_048_576),
    "moonshot/kimi-k3.1-pro": _shared(1_048_576, 1_048_576),
    "zai/glm-5.3": _shared(1_000_000, 128_000),
    "zai/glm-5.2": _shared(1_000_000, 128_000),
    "zai/glm-5.1": _shared(200_000, 128_000),
    "mistral/mistral-medium-3.5": _shared(262_144, 262_144),
    "mistral/mistral-small-latest": _shared(262_144, 262_144),
    "amazon.nova-2-lite-v1:0": _shared(1_000_000, 64_000),
    "amazon.nova-premier-v1:0": _shared(1_000_000, 10_000),
    "amazon.nova-pro-v1:0": _shared(300_000, 10_000),
    "amazon.nova-lite-v1:0": _shared(300_000, 10_000),
    "amazon.nova-micro-v1:0": _shared(128_000, 10_000),
    "dashscope/qwen3.8-max": _shared(991_808, 131_072),
}

_ROUTE = re.compile(r"^(?:.*/)?(?:(?:us|eu|apac|global)\.)?(?:anthropic\.)?")
_SAME_MODEL = re.compile(r"(?:-(?:\d{4}-\d\d-\d\d|\d{6,}|[a-z][\w.]*))*(?:[@:\[].*)?$")


def profile_of(model: str, table: Mapping[str, Profile] = BUILT_IN) -> Profile:
    """The profile of a model by its name, else the documented fallback.

    A dated, routed or vendor-prefixed name ("us.anthropic.claude-haiku-4-5-20251001-v1:0") finds its model; another
    version number does not.
    """
    if model in table:
        return table[model]
    bare = _ROUTE.sub("", model)
    candidates = [name for name in table if name and _is_named(bare, _ROUTE.sub("", name))]
    return table[max(candidates, key=len)] if candidates else table.get("", FALLBACK)


def _is_named(model: str, known: str) -> bool:
    return model.startswith(known) and _SAME_MODEL.match(model[len(known) :]) is not None


_ALIASES = {"trigger_frac": "trigger_fraction", "keep_frac": "keep_fraction"}
_FIELDS = frozenset(field.name for field in fields(Profile)) - {"is_known"}


def merged(table: Mapping[str, Profile], entries: Mapping[str, Mapping[str, object]]) -> dict[str, Profile]:
    """The table with entries laid over it; every field of an entry is optional, a new model starts from the fallback.

    Raises ValueError, naming the model and the field, for a field that a profile does not have or a value of the wrong
    type.
    """
    result = dict(table)
    for model, entry in entries.items():
        base = profile_of(model, table)
        if not base.is_known and "max_input_tokens" in entry:
            base = replace(base, trigger_tokens=None)
        values = {_ALIASES.get(name, name): value for name, value in entry.items()}
        for name, value in values.items():
            _check_field(model, name, value)
        result[model] = replace(base, **{**values, "is_known": True})  # type: ignore[arg-type]
    return result


def with_defaults(table: Mapping[str, Profile], **values: object) -> dict[str, Profile]:
    """The table, with the fallback under the empty name, and some fields set in every profile; None is "not set"."""
    given = {name: value for name, value in values.items() if value is not None}
    everything = {**table, "": FALLBACK}
    if "trigger_fraction" in given:
        everything[""] = replace(everything[""], trigger_tokens=None)
    if "keep_fraction" in given:
        everything[""] = replace(everything[""], keep_messages=None)
    return {model: replace(profile, **given) for model, profile in everything.items()}  # type: ignore[arg-type]


def _check_field(model: str, name: str, value: object) -> None:
    if name not in _FIELDS:
        raise ValueError(f"{model}: a profile has no field {name!r}, only {', '.join(sorted(_FIELDS))}")
    kind = type(getattr(FALLBACK, name))
    accepted: tuple[type, ...] = (int, float) if kind in (int, float) else (kind,)
    if kind is type(None):
        accepted = (int, kind)
    is_flag = isinstance(value, bool)
    if is_flag != (kind is bool) or not isinstance(value, accepted):
        raise ValueError(f"{model}.{name}: {value!r} is of the wrong type")
    if not is_flag and isinstance(value, int | float) and value <= 0:
        raise ValueError(f"{model}.{name}: {value!r} has to be above 0")
