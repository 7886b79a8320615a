from hango.compaction.v1 import compaction_pb2 as _compaction_pb2
from hango.compaction.v1 import conversation_pb2 as _conversation_pb2
from hango.compaction.v1 import policy_pb2 as _policy_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ResultMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESULT_MODE_UNSPECIFIED: _ClassVar[ResultMode]
    RESULT_MODE_FULL: _ClassVar[ResultMode]
    RESULT_MODE_EDITS: _ClassVar[ResultMode]

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_UNCHANGED: _ClassVar[Outcome]
    OUTCOME_REUSED: _ClassVar[Outcome]
    OUTCOME_CLIPPED: _ClassVar[Outcome]
    OUTCOME_WINDOWED: _ClassVar[Outcome]
    OUTCOME_SUMMARIZED: _ClassVar[Outcome]
    OUTCOME_TRUNCATED: _ClassVar[Outcome]

class TokenCountSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOKEN_COUNT_SOURCE_UNSPECIFIED: _ClassVar[TokenCountSource]
    TOKEN_COUNT_SOURCE_HEURISTIC: _ClassVar[TokenCountSource]
    TOKEN_COUNT_SOURCE_TOKENIZER: _ClassVar[TokenCountSource]
    TOKEN_COUNT_SOURCE_PROVIDER: _ClassVar[TokenCountSource]
    TOKEN_COUNT_SOURCE_ANCHORED: _ClassVar[TokenCountSource]

class SummarySource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUMMARY_SOURCE_UNSPECIFIED: _ClassVar[SummarySource]
    SUMMARY_SOURCE_MODEL: _ClassVar[SummarySource]
    SUMMARY_SOURCE_EXTRACTIVE: _ClassVar[SummarySource]
RESULT_MODE_UNSPECIFIED: ResultMode
RESULT_MODE_FULL: ResultMode
RESULT_MODE_EDITS: ResultMode
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_UNCHANGED: Outcome
OUTCOME_REUSED: Outcome
OUTCOME_CLIPPED: Outcome
OUTCOME_WINDOWED: Outcome
OUTCOME_SUMMARIZED: Outcome
OUTCOME_TRUNCATED: Outcome
TOKEN_COUNT_SOURCE_UNSPECIFIED: TokenCountSource
TOKEN_COUNT_SOURCE_HEURISTIC: TokenCountSource
TOKEN_COUNT_SOURCE_TOKENIZER: TokenCountSource
TOKEN_COUNT_SOURCE_PROVIDER: TokenCountSource
TOKEN_COUNT_SOURCE_ANCHORED: TokenCountSource
SUMMARY_SOURCE_UNSPECIFIED: SummarySource
SUMMARY_SOURCE_MODEL: SummarySource
SUMMARY_SOURCE_EXTRACTIVE: SummarySource

class CompactRequest(_message.Message):
    __slots__ = ("conversation", "native", "policy", "previous_compaction", "reason", "session_id", "turn_id", "stable_system_count", "last_usage", "overflow", "explain", "result_mode")
    CONVERSATION_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_COMPACTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    STABLE_SYSTEM_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_USAGE_FIELD_NUMBER: _ClassVar[int]
    OVERFLOW_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    RESULT_MODE_FIELD_NUMBER: _ClassVar[int]
    conversation: _conversation_pb2.Conversation
    native: _conversation_pb2.NativePayload
    policy: _policy_pb2.Policy
    previous_compaction: _compaction_pb2.Compaction
    reason: _compaction_pb2.CompactionReason
    session_id: str
    turn_id: str
    stable_system_count: int
    last_usage: ObservedUsage
    overflow: ObservedOverflow
    explain: bool
    result_mode: ResultMode
    def __init__(self, conversation: _Optional[_Union[_conversation_pb2.Conversation, _Mapping]] = ..., native: _Optional[_Union[_conversation_pb2.NativePayload, _Mapping]] = ..., policy: _Optional[_Union[_policy_pb2.Policy, _Mapping]] = ..., previous_compaction: _Optional[_Union[_compaction_pb2.Compaction, _Mapping]] = ..., reason: _Optional[_Union[_compaction_pb2.CompactionReason, str]] = ..., session_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., stable_system_count: _Optional[int] = ..., last_usage: _Optional[_Union[ObservedUsage, _Mapping]] = ..., overflow: _Optional[_Union[ObservedOverflow, _Mapping]] = ..., explain: bool = ..., result_mode: _Optional[_Union[ResultMode, str]] = ...) -> None: ...

class CompactResponse(_message.Message):
    __slots__ = ("conversation", "native", "edits", "compaction", "outcome", "reason", "original_input_tokens", "compacted_input_tokens", "token_count_source", "evicted_message_count", "clipped_value_count", "history", "summarizer_usage", "retained", "explanation", "breakpoints", "notices", "available_input_tokens")
    CONVERSATION_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    EDITS_FIELD_NUMBER: _ClassVar[int]
    COMPACTION_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_SOURCE_FIELD_NUMBER: _ClassVar[int]
    EVICTED_MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    CLIPPED_VALUE_COUNT_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    SUMMARIZER_USAGE_FIELD_NUMBER: _ClassVar[int]
    RETAINED_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    BREAKPOINTS_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    conversation: _conversation_pb2.Conversation
    native: _conversation_pb2.NativePayload
    edits: _containers.RepeatedCompositeFieldContainer[_compaction_pb2.Edit]
    compaction: _compaction_pb2.Compaction
    outcome: Outcome
    reason: _compaction_pb2.CompactionReason
    original_input_tokens: int
    compacted_input_tokens: int
    token_count_source: TokenCountSource
    evicted_message_count: int
    clipped_value_count: int
    history: _compaction_pb2.History
    summarizer_usage: _compaction_pb2.SummarizerUsage
    retained: _compaction_pb2.Retained
    explanation: _compaction_pb2.Explanation
    breakpoints: _containers.RepeatedCompositeFieldContainer[_compaction_pb2.Breakpoint]
    notices: _containers.RepeatedCompositeFieldContainer[_compaction_pb2.Notice]
    available_input_tokens: int
    def __init__(self, conversation: _Optional[_Union[_conversation_pb2.Conversation, _Mapping]] = ..., native: _Optional[_Union[_conversation_pb2.NativePayload, _Mapping]] = ..., edits: _Optional[_Iterable[_Union[_compaction_pb2.Edit, _Mapping]]] = ..., compaction: _Optional[_Union[_compaction_pb2.Compaction, _Mapping]] = ..., outcome: _Optional[_Union[Outcome, str]] = ..., reason: _Optional[_Union[_compaction_pb2.CompactionReason, str]] = ..., original_input_tokens: _Optional[int] = ..., compacted_input_tokens: _Optional[int] = ..., token_count_source: _Optional[_Union[TokenCountSource, str]] = ..., evicted_message_count: _Optional[int] = ..., clipped_value_count: _Optional[int] = ..., history: _Optional[_Union[_compaction_pb2.History, _Mapping]] = ..., summarizer_usage: _Optional[_Union[_compaction_pb2.SummarizerUsage, _Mapping]] = ..., retained: _Optional[_Union[_compaction_pb2.Retained, _Mapping]] = ..., explanation: _Optional[_Union[_compaction_pb2.Explanation, _Mapping]] = ..., breakpoints: _Optional[_Iterable[_Union[_compaction_pb2.Breakpoint, _Mapping]]] = ..., notices: _Optional[_Iterable[_Union[_compaction_pb2.Notice, _Mapping]]] = ..., available_input_tokens: _Optional[int] = ...) -> None: ...

class SummarizeRequest(_message.Message):
    __slots__ = ("conversation", "native", "previous_summary", "policy")
    CONVERSATION_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    conversation: _conversation_pb2.Conversation
    native: _conversation_pb2.NativePayload
    previous_summary: str
    policy: _policy_pb2.Policy
    def __init__(self, conversation: _Optional[_Union[_conversation_pb2.Conversation, _Mapping]] = ..., native: _Optional[_Union[_conversation_pb2.NativePayload, _Mapping]] = ..., previous_summary: _Optional[str] = ..., policy: _Optional[_Union[_policy_pb2.Policy, _Mapping]] = ...) -> None: ...

class SummarizeResponse(_message.Message):
    __slots__ = ("summary", "usage", "summary_source", "retained", "missing_identifiers", "notices")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_SOURCE_FIELD_NUMBER: _ClassVar[int]
    RETAINED_FIELD_NUMBER: _ClassVar[int]
    MISSING_IDENTIFIERS_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    summary: str
    usage: _compaction_pb2.SummarizerUsage
    summary_source: SummarySource
    retained: _compaction_pb2.Retained
    missing_identifiers: _containers.RepeatedScalarFieldContainer[str]
    notices: _containers.RepeatedCompositeFieldContainer[_compaction_pb2.Notice]
    def __init__(self, summary: _Optional[str] = ..., usage: _Optional[_Union[_compaction_pb2.SummarizerUsage, _Mapping]] = ..., summary_source: _Optional[_Union[SummarySource, str]] = ..., retained: _Optional[_Union[_compaction_pb2.Retained, _Mapping]] = ..., missing_identifiers: _Optional[_Iterable[str]] = ..., notices: _Optional[_Iterable[_Union[_compaction_pb2.Notice, _Mapping]]] = ...) -> None: ...

class CountTokensRequest(_message.Message):
    __slots__ = ("conversation", "native", "policy", "last_usage")
    CONVERSATION_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    LAST_USAGE_FIELD_NUMBER: _ClassVar[int]
    conversation: _conversation_pb2.Conversation
    native: _conversation_pb2.NativePayload
    policy: _policy_pb2.Policy
    last_usage: ObservedUsage
    def __init__(self, conversation: _Optional[_Union[_conversation_pb2.Conversation, _Mapping]] = ..., native: _Optional[_Union[_conversation_pb2.NativePayload, _Mapping]] = ..., policy: _Optional[_Union[_policy_pb2.Policy, _Mapping]] = ..., last_usage: _Optional[_Union[ObservedUsage, _Mapping]] = ...) -> None: ...

class CountTokensResponse(_message.Message):
    __slots__ = ("input_tokens", "token_count_source", "breakdown", "max_input_tokens", "trigger_input_tokens", "available_input_tokens", "margin", "notices")
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_SOURCE_FIELD_NUMBER: _ClassVar[int]
    BREAKDOWN_FIELD_NUMBER: _ClassVar[int]
    MAX_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MARGIN_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    input_tokens: int
    token_count_source: TokenCountSource
    breakdown: TokenBreakdown
    max_input_tokens: int
    trigger_input_tokens: int
    available_input_tokens: int
    margin: float
    notices: _containers.RepeatedCompositeFieldContainer[_compaction_pb2.Notice]
    def __init__(self, input_tokens: _Optional[int] = ..., token_count_source: _Optional[_Union[TokenCountSource, str]] = ..., breakdown: _Optional[_Union[TokenBreakdown, _Mapping]] = ..., max_input_tokens: _Optional[int] = ..., trigger_input_tokens: _Optional[int] = ..., available_input_tokens: _Optional[int] = ..., margin: _Optional[float] = ..., notices: _Optional[_Iterable[_Union[_compaction_pb2.Notice, _Mapping]]] = ...) -> None: ...

class TokenBreakdown(_message.Message):
    __slots__ = ("system", "tools", "messages", "media")
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    MEDIA_FIELD_NUMBER: _ClassVar[int]
    system: int
    tools: int
    messages: int
    media: int
    def __init__(self, system: _Optional[int] = ..., tools: _Optional[int] = ..., messages: _Optional[int] = ..., media: _Optional[int] = ...) -> None: ...

class ObservedUsage(_message.Message):
    __slots__ = ("message_count", "input_tokens", "sequence")
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    message_count: int
    input_tokens: int
    sequence: int
    def __init__(self, message_count: _Optional[int] = ..., input_tokens: _Optional[int] = ..., sequence: _Optional[int] = ...) -> None: ...

class ObservedOverflow(_message.Message):
    __slots__ = ("actual_input_tokens", "max_input_tokens")
    ACTUAL_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    actual_input_tokens: int
    max_input_tokens: int
    def __init__(self, actual_input_tokens: _Optional[int] = ..., max_input_tokens: _Optional[int] = ...) -> None: ...
