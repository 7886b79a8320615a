"""What a caller may set, and what comes of it together with a model's profile: the numbers that every stage uses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TypeVar

from compactor.errors import PolicyOutOfRange
from compactor.model import Strategy
from compactor.profiles import Profile

T = TypeVar("T")

MAX_DEFAULT_RESERVE = 32_000
MAX_DEFAULT_RETAINED = 8_000
RETAINED_SHARE = 0.04
LARGEST = 1 << 40


class KeepUnit(StrEnum):
    """What the keep fraction is a share of."""

    MESSAGES = "MESSAGES"
    TOKENS = "TOKENS"


class Summarizer(StrEnum):
    """Who writes summaries."""

    AUTO = "AUTO"
    MODEL = "MODEL"
    EXTRACTIVE = "EXTRACTIVE"


class TokenCounter(StrEnum):
    """How tokens are counted."""

    AUTO = "AUTO"
    PROVIDER = "PROVIDER"
    TOKENIZER = "TOKENIZER"
    HEURISTIC = "HEURISTIC"


class Reasoning(StrEnum):
    """What happens to reasoning blocks after an edited message."""

    KEEP = "KEEP"
    STRIP = "STRIP"


class Repair(StrEnum):
    """What happens to broken pairing in the part that would be sent."""

    REJECT = "REJECT"
    SYNTHESIZE = "SYNTHESIZE"


class HistoryMode(StrEnum):
    """What happens to the evicted originals."""

    STORE = "STORE"
    RETURN = "RETURN"
    OFF = "OFF"


@dataclass(frozen=True, slots=True)
class Policy:
    """Overrides of a model's profile, named as on the wire; None is "not set"."""

    max_input_tokens: int | None = None
    reserve_output_tokens: int | None = None
    trigger_fraction: float | None = None
    trigger_input_tokens: int | None = None
    trigger_message_count: int | None = None
    keep_fraction: float | None = None
    keep_unit: KeepUnit | None = None
    keep_message_count: int | None = None
    strategy: Strategy | None = None
    max_message_count: int | None = None
    max_argument_tokens: int | None = None
    keep_recent_count: int | None = None
    unclipped_tools: tuple[str, ...] = ()
    min_gain_fraction: float | None = None
    summarizer: Summarizer | None = None
    summarizer_model: str | None = None
    summary_max_tokens: int | None = None
    instructions: str | None = None
    prompt: str | None = None
    retained_max_tokens: int | None = None
    token_counter: TokenCounter | None = None
    characters_per_token: float | None = None
    prompt_caching: bool | None = None
    cache_ttl: str | None = None
    reasoning: Reasoning | None = None
    repair: Repair | None = None
    history_mode: HistoryMode | None = None
    redact: bool | None = None


# The least value of each number, whether that least is itself allowed, and the greatest.
_RANGES: Mapping[str, tuple[float, bool, float]] = {
    "max_input_tokens": (1, True, LARGEST),
    "reserve_output_tokens": (0, True, LARGEST),
    "trigger_fraction": (0, False, 1),
    "trigger_input_tokens": (1, True, LARGEST),
    "trigger_message_count": (1, True, LARGEST),
    "keep_fraction": (0, True, 1),
    "keep_message_count": (0, True, LARGEST),
    "max_message_count": (1, True, LARGEST),
    "max_argument_tokens": (0, True, LARGEST),
    "keep_recent_count": (0, True, LARGEST),
    "min_gain_fraction": (0, True, 1),
    "summary_max_tokens": (1, True, LARGEST),
    "retained_max_tokens": (0, True, LARGEST),
    "characters_per_token": (0.01, True, 1_000_000),
}
_LONGEST: Mapping[str, int] = {"summarizer_model": 256, "instructions": 16_384, "prompt": 16_384}
"""Characters that a text may have at most."""

_TTLS = ("5m", "1h")


@dataclass(frozen=True, slots=True)
class Settings:
    """Policy and profile resolved for one request. All sizes are input tokens unless named otherwise.

    `most_messages` is the hard ceiling. `keep_messages` None means: the share `keep_fraction` of what `keep_unit` says.
    `clip_max_tokens` counts four bytes of UTF-8 as a token, so that what is clipped does not depend on the way of
    counting.
    """

    window: int
    reserve: int
    trigger: int
    trigger_messages: int | None
    strategy: Strategy
    most_messages: int | None
    keep_messages: int | None
    keep_fraction: float
    keep_unit: KeepUnit
    clip_max_tokens: int
    keep_recent: int | None
    unclipped_tools: tuple[str, ...]
    min_gain: float
    summarizer: Summarizer
    summarizer_model: str
    summarizer_timeout_seconds: float
    summary_max_tokens: int
    instructions: str
    prompt: str
    retained_max_tokens: int
    token_counter: TokenCounter
    characters_per_token: float | None
    prompt_caching: bool
    min_cacheable_tokens: int
    cache_ttl: str | None
    reasoning: Reasoning
    repair: Repair
    history_mode: HistoryMode
    redact: bool
    knows_model: bool

    @property
    def budget(self) -> int:
        """The most input that leaves room for the reserved output."""
        return self.window - self.reserve

    def within(self, max_input_tokens: int) -> Settings:
        """The same for a window that turned out smaller, the trigger lowered in proportion."""
        if not 0 < max_input_tokens < self.window:
            return self
        reserve = min(self.reserve, max_input_tokens // 2)
        trigger = max(1, self.trigger * (max_input_tokens - reserve) // self.budget)
        return replace(self, window=max_input_tokens, reserve=reserve, trigger=trigger)


def check(policy: Policy) -> None:
    """Raises PolicyOutOfRange for the first value that is out of its range."""
    for field in fields(policy):
        value = getattr(policy, field.name)
        if value is None:
            continue
        if field.name in _RANGES:
            least, inclusive, greatest = _RANGES[field.name]
            if not (math.isfinite(value) and (least <= value if inclusive else least < value) and value <= greatest):
                bounds = f"{'at least' if inclusive else 'above'} {least}, at most {greatest}"
                raise _out_of_range(field.name, value, bounds)
        elif field.name in _LONGEST and len(value) > _LONGEST[field.name]:
            bounds = f"at most {_LONGEST[field.name]} characters"
            raise _out_of_range(field.name, f"{len(value)} characters", bounds)
        elif field.name == "cache_ttl" and value not in _TTLS:
            raise _out_of_range(field.name, value[:20], " or ".join(_TTLS))


def resolve(policy: Policy, profile: Profile, max_output_tokens: int | None) -> Settings:
    """The numbers for one request: what the policy sets, else the profile, else the default.

    `max_output_tokens` is what the request itself asks for; where output shares the window it is reserved, up to
    32,000. Raises PolicyOutOfRange, also where the reserve leaves no input budget.
    """
    check(policy)
    window = _first(policy.max_input_tokens, profile.max_input_tokens)
    reserve = _first(policy.reserve_output_tokens, _default_reserve(profile, max_output_tokens))
    if reserve >= window:
        if policy.reserve_output_tokens is not None or policy.max_input_tokens is None:
            raise _out_of_range("reserve_output_tokens", reserve, f"less than the window of {window}")
        reserve = window // 2
    return Settings(
        window=window,
        reserve=reserve,
        trigger=_trigger(policy, profile, window - reserve),
        trigger_messages=policy.trigger_message_count,
        strategy=_first(policy.strategy, Strategy.SUMMARIZE),
        most_messages=policy.max_message_count,
        keep_messages=_keep_messages(policy, profile),
        keep_fraction=_first(policy.keep_fraction, profile.keep_fraction),
        keep_unit=_first(policy.keep_unit, KeepUnit.MESSAGES),
        clip_max_tokens=_first(policy.max_argument_tokens, profile.max_argument_tokens),
        keep_recent=policy.keep_recent_count,
        unclipped_tools=policy.unclipped_tools,
        min_gain=_first(policy.min_gain_fraction, 0.10),
        summarizer=_first(policy.summarizer, Summarizer.AUTO),
        summarizer_model=policy.summarizer_model or profile.summarizer_model,
        summarizer_timeout_seconds=profile.summarizer_timeout_seconds,
        summary_max_tokens=_first(policy.summary_max_tokens, profile.summary_max_tokens),
        instructions=policy.instructions or "",
        prompt=policy.prompt or "",
        retained_max_tokens=_first(
            policy.retained_max_tokens, min(MAX_DEFAULT_RETAINED, math.ceil(window * RETAINED_SHARE))
        ),
        token_counter=_first(policy.token_counter, TokenCounter.AUTO),
        characters_per_token=policy.characters_per_token,
        prompt_caching=_first(policy.prompt_caching, profile.prompt_caching),
        min_cacheable_tokens=profile.min_cacheable_tokens,
        cache_ttl=policy.cache_ttl,
        reasoning=_first(policy.reasoning, Reasoning.STRIP if profile.binds_reasoning else Reasoning.KEEP),
        repair=_first(policy.repair, Repair.REJECT),
        history_mode=_first(policy.history_mode, HistoryMode.STORE),
        redact=bool(policy.redact),
        knows_model=profile.is_known or policy.max_input_tokens is not None,
    )


def _default_reserve(profile: Profile, max_output_tokens: int | None) -> int:
    if not profile.shares_window:
        return 0
    return min(max_output_tokens or 0, MAX_DEFAULT_RESERVE)


def _trigger(policy: Policy, profile: Profile, budget: int) -> int:
    """The least of the triggers that apply; an absolute one never lies above the budget."""
    absolute = policy.trigger_input_tokens
    if absolute is None and policy.max_input_tokens is None and policy.trigger_fraction is None:
        absolute = profile.trigger_tokens
        if absolute is not None:
            return min(absolute, budget)
    by_fraction = math.floor(_first(policy.trigger_fraction, profile.trigger_fraction) * budget)
    return max(1, by_fraction if absolute is None else min(absolute, by_fraction))


def _keep_messages(policy: Policy, profile: Profile) -> int | None:
    if policy.keep_message_count is not None:
        return policy.keep_message_count
    return None if policy.keep_fraction is not None else profile.keep_messages


def _first(value: T | None, default: T) -> T:
    return default if value is None else value


def _out_of_range(field: str, value: object, bounds: str) -> PolicyOutOfRange:
    return PolicyOutOfRange(
        f"policy.{field} is {value}, it has to be {bounds}", field=f"policy.{field}", value=value, range=bounds
    )
