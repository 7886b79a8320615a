"""Python client of hango.compaction.v1, the contract of a service that keeps a long agent session inside its model's
context window.

    from hango.compaction import Client

    with Client.connect("127.0.0.1:50051") as client:
        result = client.compact(body, session_id="tour")

`Client` and `AsyncClient` make the contract's calls, over gRPC or in this process. What fails is a `CompactionError`.
`Session` and `AsyncSession` wrap the model calls of an agent, and keep them inside the window.
The messages of the contract are in `hango.compaction.v1`; those that a caller makes or keeps are here as well.
"""

from __future__ import annotations

from hango.compaction.calls import CompactResult
from hango.compaction.client import DEFAULT_TIMEOUT_SECONDS, AsyncClient, Client
from hango.compaction.edits import apply_edits
from hango.compaction.errors import (
    CompactionError,
    DeadlineExceeded,
    EmptyConversation,
    FieldNotSupported,
    InvalidRequest,
    InvalidSessionId,
    MalformedPayload,
    NotServed,
    Overloaded,
    PolicyOutOfRange,
    ProviderFailed,
    RequestTooLarge,
    Unauthenticated,
    UnknownFormat,
    UnpairedTools,
    WindowTooSmall,
)
from hango.compaction.ladder import ContextOverflow, compaction_of
from hango.compaction.overflow import overflow_in, overflow_of
from hango.compaction.presets import PRESETS, preset, window_policy
from hango.compaction.sources import format_of, policy_of
from hango.compaction.tokens import ModelTokenCounter, SimpleTokenCounter, TokenBudget, TokenCounter
from hango.compaction.tool import COMPACT_CONVERSATION, compact_conversation
from hango.compaction.transport import AsyncChannel, AsyncInProcess, AsyncTransport, Channel, InProcess, Transport
from hango.compaction.turn import AsyncSession, AsyncTurn, CallResult, Session, Turn
from hango.compaction.usage import Usage, usage_of
from hango.compaction.v1.compaction_pb2 import Compaction
from hango.compaction.v1.compaction_service_pb2 import (
    CompactResponse,
    CountTokensResponse,
    ObservedOverflow,
    ObservedUsage,
    SummarizeResponse,
)
from hango.compaction.v1.conversation_pb2 import Conversation
from hango.compaction.v1.policy_pb2 import Policy
from hango.compaction.windows import ContextWindow, Windowed

__all__ = [
    "COMPACT_CONVERSATION",
    "DEFAULT_TIMEOUT_SECONDS",
    "PRESETS",
    "AsyncChannel",
    "AsyncClient",
    "AsyncInProcess",
    "AsyncSession",
    "AsyncTransport",
    "AsyncTurn",
    "CallResult",
    "Channel",
    "Client",
    "CompactResponse",
    "CompactResult",
    "Compaction",
    "CompactionError",
    "ContextOverflow",
    "ContextWindow",
    "Conversation",
    "CountTokensResponse",
    "DeadlineExceeded",
    "EmptyConversation",
    "FieldNotSupported",
    "InProcess",
    "InvalidRequest",
    "InvalidSessionId",
    "MalformedPayload",
    "ModelTokenCounter",
    "NotServed",
    "ObservedOverflow",
    "ObservedUsage",
    "Overloaded",
    "Policy",
    "PolicyOutOfRange",
    "ProviderFailed",
    "RequestTooLarge",
    "Session",
    "SimpleTokenCounter",
    "SummarizeResponse",
    "TokenBudget",
    "TokenCounter",
    "Transport",
    "Turn",
    "Unauthenticated",
    "UnknownFormat",
    "UnpairedTools",
    "Usage",
    "WindowTooSmall",
    "Windowed",
    "apply_edits",
    "compact_conversation",
    "compaction_of",
    "format_of",
    "overflow_in",
    "overflow_of",
    "policy_of",
    "preset",
    "usage_of",
    "window_policy",
]
