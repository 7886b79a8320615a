"""Policies by name, for the common kinds of conversation, and the policy that a plain window's numbers come to.

A preset stands wherever a policy does: `client.compact(body, policy="chat")`, or `compactor compact --preset chat`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEFAULT_MESSAGES, DEFAULT_RESERVE, DEFAULT_THRESHOLD = 100, 4_096, 50


def window_policy(
    *,
    max_messages: int = DEFAULT_MESSAGES,
    max_tokens: int = 0,
    reserve_tokens: int = DEFAULT_RESERVE,
    strategy: str = "RECENT",
    compaction_threshold: int = DEFAULT_THRESHOLD,
    compaction_prompt: str = "",
    characters_per_token: float | None = None,
) -> dict[str, Any]:
    """The policy of a window of so many messages and tokens, by the contract's names.

    `max_tokens` is the window, output included; 0 leaves it to the model's profile. `reserve_tokens` are kept free for
    output. `compaction_threshold` is the number of messages beyond which `SUMMARIZE` puts a summary in the place of the
    oldest, by `compaction_prompt` where there is one; the other strategies do not read it. `characters_per_token` has
    the service count by that simple rule and nothing else. The policy is checked by the service.

    >>> window_policy(max_messages=10)["max_message_count"]
    10
    """
    policy: dict[str, Any] = {"strategy": strategy, "max_message_count": max_messages}
    policy["reserve_output_tokens"] = reserve_tokens
    if max_tokens:
        policy |= {"max_input_tokens": max_tokens, "trigger_fraction": 1.0}
    if characters_per_token is not None:
        policy["characters_per_token"] = characters_per_token
    if strategy == "SUMMARIZE":
        policy["trigger_message_count"] = compaction_threshold
        if compaction_prompt:
            policy["prompt"] = compaction_prompt
    return policy


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "chat": window_policy(max_messages=30, max_tokens=4_000, reserve_tokens=2_000),
    "research": window_policy(max_messages=200, max_tokens=32_000, reserve_tokens=8_000, strategy="IMPORTANT"),
    "quick": window_policy(max_messages=10),
}
"""A chat that is easy on memory, deep research, short questions and answers."""


def preset(name: str) -> dict[str, Any]:
    """The policy of a name. Raises ValueError where there is none of that name."""
    if name not in PRESETS:
        raise ValueError(f"there is no preset {name!r}: known are {', '.join(sorted(PRESETS))}")
    return dict(PRESETS[name])
