"""The options of a call as its message of the contract, and what comes back in a form to go on with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from hango.compaction.edits import apply_edits
from hango.compaction.presets import preset
from hango.compaction.sources import Format, native, policy_of
from hango.compaction.v1.compaction_pb2 import Compaction
from hango.compaction.v1.compaction_service_pb2 import (
    RESULT_MODE_EDITS,
    CompactRequest,
    CompactResponse,
    CountTokensRequest,
    ObservedOverflow,
    ObservedUsage,
    Outcome,
    SummarizeRequest,
)
from hango.compaction.v1.conversation_pb2 import Conversation
from hango.compaction.v1.policy_pb2 import Policy

Body = bytes | dict[str, Any] | Conversation
Reason = Literal["THRESHOLD", "OVERFLOW", "TOOL", "TRUNCATE"]
ResultMode = Literal["FULL", "EDITS"]

PolicyLike = Mapping[str, object] | Policy | str
"""A policy: by the contract's names, as its message, or the name of a preset."""


@dataclass(frozen=True)
class CompactResult:
    """What a Compact call returned, in a form to go on with.

    `body` is the whole request to send, in either result mode; empty where the source was a Conversation, which
    `conversation` then is. `response` is the response as it came.
    """

    body: bytes
    conversation: Conversation | None
    response: CompactResponse

    @cached_property
    def request(self) -> dict[str, Any]:
        """The body decoded, for an SDK that takes a dict. Decoded when it is first asked for."""
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded

    @property
    def record(self) -> Compaction | None:
        """The record to send with the next call; None where the raw request is sent as it is."""
        return self.response.compaction if self.response.HasField("compaction") else None

    @property
    def outcome(self) -> str:
        """The strongest thing that the call did, such as "UNCHANGED" or "SUMMARIZED"."""
        return Outcome.Name(self.response.outcome).removeprefix("OUTCOME_")


def compact_request(
    body: Body,
    *,
    format: Format | None,
    policy: PolicyLike | None,
    record: Compaction | None,
    session_id: str,
    turn_id: str,
    reason: Reason | None,
    stable_system_count: int | None,
    last_usage: ObservedUsage | None,
    overflow: ObservedOverflow | None,
    explain: bool,
    result_mode: ResultMode,
) -> CompactRequest:
    """The options of a Compact call as its message."""
    return CompactRequest(
        **_source(body, format),
        policy=policy_message(policy),
        previous_compaction=record,
        reason=f"COMPACTION_REASON_{reason or 'UNSPECIFIED'}",
        session_id=session_id,
        turn_id=turn_id,
        stable_system_count=stable_system_count,
        last_usage=last_usage,
        overflow=overflow,
        explain=explain,
        result_mode=RESULT_MODE_EDITS if result_mode == "EDITS" else None,
    )


def summarize_request(
    body: Body, *, format: Format | None, policy: PolicyLike | None, previous_summary: str
) -> SummarizeRequest:
    """The options of a Summarize call as its message."""
    return SummarizeRequest(**_source(body, format), policy=policy_message(policy), previous_summary=previous_summary)


def count_request(
    body: Body,
    *,
    format: Format | None,
    policy: PolicyLike | None,
    last_usage: ObservedUsage | None,
) -> CountTokensRequest:
    """The options of a CountTokens call as its message."""
    return CountTokensRequest(**_source(body, format), policy=policy_message(policy), last_usage=last_usage)


def compact_result(request: CompactRequest, response: CompactResponse) -> CompactResult:
    """The result of a call, whole in either mode."""
    if request.HasField("conversation"):
        is_whole = response.HasField("conversation")
        whole = response.conversation if is_whole else apply_edits(request.conversation, response)
        return CompactResult(b"", whole, response)
    if response.HasField("native"):
        return CompactResult(response.native.body, None, response)
    return CompactResult(apply_edits(request.native.body, response), None, response)


def _source(body: Body, format: Format | None) -> dict[str, Any]:
    if isinstance(body, Conversation):
        return {"conversation": body}
    return {"native": native(body, format)}


def policy_message(policy: PolicyLike | None) -> Policy | None:
    """A policy as its message. Raises ValueError for one that cannot be written, or a preset that is not known."""
    if isinstance(policy, str):
        policy = preset(policy)
    return policy if policy is None or isinstance(policy, Policy) else policy_of(policy)
