from google.protobuf import struct_pb2 as _struct_pb2
from hango.compaction.v1 import compaction_pb2 as _compaction_pb2
from hango.compaction.v1 import compaction_service_pb2 as _compaction_service_pb2
from hango.compaction.v1 import conversation_pb2 as _conversation_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ContractCase(_message.Message):
    __slots__ = ("purpose", "covers", "steps")
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    COVERS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    purpose: str
    covers: _containers.RepeatedScalarFieldContainer[str]
    steps: _containers.RepeatedCompositeFieldContainer[Step]
    def __init__(self, purpose: _Optional[str] = ..., covers: _Optional[_Iterable[str]] = ..., steps: _Optional[_Iterable[_Union[Step, _Mapping]]] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("compact", "summarize", "count_tokens", "body", "record_of_step", "expect")
    COMPACT_FIELD_NUMBER: _ClassVar[int]
    SUMMARIZE_FIELD_NUMBER: _ClassVar[int]
    COUNT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    RECORD_OF_STEP_FIELD_NUMBER: _ClassVar[int]
    EXPECT_FIELD_NUMBER: _ClassVar[int]
    compact: _compaction_service_pb2.CompactRequest
    summarize: _compaction_service_pb2.SummarizeRequest
    count_tokens: _compaction_service_pb2.CountTokensRequest
    body: Body
    record_of_step: int
    expect: Expectation
    def __init__(self, compact: _Optional[_Union[_compaction_service_pb2.CompactRequest, _Mapping]] = ..., summarize: _Optional[_Union[_compaction_service_pb2.SummarizeRequest, _Mapping]] = ..., count_tokens: _Optional[_Union[_compaction_service_pb2.CountTokensRequest, _Mapping]] = ..., body: _Optional[_Union[Body, _Mapping]] = ..., record_of_step: _Optional[int] = ..., expect: _Optional[_Union[Expectation, _Mapping]] = ...) -> None: ...

class Body(_message.Message):
    __slots__ = ("format", "text", "json", "result_of_step", "continued")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    RESULT_OF_STEP_FIELD_NUMBER: _ClassVar[int]
    CONTINUED_FIELD_NUMBER: _ClassVar[int]
    format: _conversation_pb2.PayloadFormat
    text: str
    json: _struct_pb2.Value
    result_of_step: int
    continued: Continued
    def __init__(self, format: _Optional[_Union[_conversation_pb2.PayloadFormat, str]] = ..., text: _Optional[str] = ..., json: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., result_of_step: _Optional[int] = ..., continued: _Optional[_Union[Continued, _Mapping]] = ...) -> None: ...

class Continued(_message.Message):
    __slots__ = ("step", "messages")
    STEP_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    step: int
    messages: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    def __init__(self, step: _Optional[int] = ..., messages: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ...) -> None: ...

class Expectation(_message.Message):
    __slots__ = ("error_reason", "error_metadata", "error_metadata_names", "error_lacks", "outcome", "reason", "notices", "absent_notices", "no_other_notices", "unchanged", "same_as_step", "kept", "gone", "clipped", "message_count", "contains", "lacks", "spelled", "tolerated_violations", "has_record", "sequence", "first_kept_index", "evicted_message_count", "clipped_value_count", "wanted_first_kept_index", "retained_instructions", "breakpoints", "no_breakpoints", "breakpoint_ttl", "history_status", "history_contains", "history_lacks", "summary_contains", "summary_lacks", "input_tokens", "compacted_tokens", "media_tokens", "available_tokens", "more_tokens_than_step", "same_tokens_as_step", "compacted_below_step", "token_count_source", "trigger_input_tokens", "max_input_tokens")
    class ErrorMetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ERROR_REASON_FIELD_NUMBER: _ClassVar[int]
    ERROR_METADATA_FIELD_NUMBER: _ClassVar[int]
    ERROR_METADATA_NAMES_FIELD_NUMBER: _ClassVar[int]
    ERROR_LACKS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    ABSENT_NOTICES_FIELD_NUMBER: _ClassVar[int]
    NO_OTHER_NOTICES_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    SAME_AS_STEP_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    CLIPPED_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    LACKS_FIELD_NUMBER: _ClassVar[int]
    SPELLED_FIELD_NUMBER: _ClassVar[int]
    TOLERATED_VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    HAS_RECORD_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    FIRST_KEPT_INDEX_FIELD_NUMBER: _ClassVar[int]
    EVICTED_MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    CLIPPED_VALUE_COUNT_FIELD_NUMBER: _ClassVar[int]
    WANTED_FIRST_KEPT_INDEX_FIELD_NUMBER: _ClassVar[int]
    RETAINED_INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    BREAKPOINTS_FIELD_NUMBER: _ClassVar[int]
    NO_BREAKPOINTS_FIELD_NUMBER: _ClassVar[int]
    BREAKPOINT_TTL_FIELD_NUMBER: _ClassVar[int]
    HISTORY_STATUS_FIELD_NUMBER: _ClassVar[int]
    HISTORY_CONTAINS_FIELD_NUMBER: _ClassVar[int]
    HISTORY_LACKS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_CONTAINS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_LACKS_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TOKENS_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MORE_TOKENS_THAN_STEP_FIELD_NUMBER: _ClassVar[int]
    SAME_TOKENS_AS_STEP_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_BELOW_STEP_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_SOURCE_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    error_reason: str
    error_metadata: _containers.ScalarMap[str, str]
    error_metadata_names: _containers.RepeatedScalarFieldContainer[str]
    error_lacks: _containers.RepeatedScalarFieldContainer[str]
    outcome: _compaction_service_pb2.Outcome
    reason: _compaction_pb2.CompactionReason
    notices: _containers.RepeatedScalarFieldContainer[_compaction_pb2.NoticeCode]
    absent_notices: _containers.RepeatedScalarFieldContainer[_compaction_pb2.NoticeCode]
    no_other_notices: bool
    unchanged: bool
    same_as_step: int
    kept: _containers.RepeatedScalarFieldContainer[int]
    gone: _containers.RepeatedScalarFieldContainer[int]
    clipped: _containers.RepeatedScalarFieldContainer[int]
    message_count: int
    contains: _containers.RepeatedScalarFieldContainer[str]
    lacks: _containers.RepeatedScalarFieldContainer[str]
    spelled: _containers.RepeatedScalarFieldContainer[str]
    tolerated_violations: _containers.RepeatedScalarFieldContainer[str]
    has_record: bool
    sequence: int
    first_kept_index: int
    evicted_message_count: int
    clipped_value_count: int
    wanted_first_kept_index: int
    retained_instructions: _containers.RepeatedScalarFieldContainer[str]
    breakpoints: _containers.RepeatedCompositeFieldContainer[_compaction_pb2.Breakpoint]
    no_breakpoints: bool
    breakpoint_ttl: str
    history_status: _compaction_pb2.HistoryStatus
    history_contains: _containers.RepeatedScalarFieldContainer[str]
    history_lacks: _containers.RepeatedScalarFieldContainer[str]
    summary_contains: _containers.RepeatedScalarFieldContainer[str]
    summary_lacks: _containers.RepeatedScalarFieldContainer[str]
    input_tokens: Bounds
    compacted_tokens: Bounds
    media_tokens: Bounds
    available_tokens: Bounds
    more_tokens_than_step: int
    same_tokens_as_step: int
    compacted_below_step: int
    token_count_source: _compaction_service_pb2.TokenCountSource
    trigger_input_tokens: int
    max_input_tokens: int
    def __init__(self, error_reason: _Optional[str] = ..., error_metadata: _Optional[_Mapping[str, str]] = ..., error_metadata_names: _Optional[_Iterable[str]] = ..., error_lacks: _Optional[_Iterable[str]] = ..., outcome: _Optional[_Union[_compaction_service_pb2.Outcome, str]] = ..., reason: _Optional[_Union[_compaction_pb2.CompactionReason, str]] = ..., notices: _Optional[_Iterable[_Union[_compaction_pb2.NoticeCode, str]]] = ..., absent_notices: _Optional[_Iterable[_Union[_compaction_pb2.NoticeCode, str]]] = ..., no_other_notices: bool = ..., unchanged: bool = ..., same_as_step: _Optional[int] = ..., kept: _Optional[_Iterable[int]] = ..., gone: _Optional[_Iterable[int]] = ..., clipped: _Optional[_Iterable[int]] = ..., message_count: _Optional[int] = ..., contains: _Optional[_Iterable[str]] = ..., lacks: _Optional[_Iterable[str]] = ..., spelled: _Optional[_Iterable[str]] = ..., tolerated_violations: _Optional[_Iterable[str]] = ..., has_record: bool = ..., sequence: _Optional[int] = ..., first_kept_index: _Optional[int] = ..., evicted_message_count: _Optional[int] = ..., clipped_value_count: _Optional[int] = ..., wanted_first_kept_index: _Optional[int] = ..., retained_instructions: _Optional[_Iterable[str]] = ..., breakpoints: _Optional[_Iterable[_Union[_compaction_pb2.Breakpoint, _Mapping]]] = ..., no_breakpoints: bool = ..., breakpoint_ttl: _Optional[str] = ..., history_status: _Optional[_Union[_compaction_pb2.HistoryStatus, str]] = ..., history_contains: _Optional[_Iterable[str]] = ..., history_lacks: _Optional[_Iterable[str]] = ..., summary_contains: _Optional[_Iterable[str]] = ..., summary_lacks: _Optional[_Iterable[str]] = ..., input_tokens: _Optional[_Union[Bounds, _Mapping]] = ..., compacted_tokens: _Optional[_Union[Bounds, _Mapping]] = ..., media_tokens: _Optional[_Union[Bounds, _Mapping]] = ..., available_tokens: _Optional[_Union[Bounds, _Mapping]] = ..., more_tokens_than_step: _Optional[int] = ..., same_tokens_as_step: _Optional[int] = ..., compacted_below_step: _Optional[int] = ..., token_count_source: _Optional[_Union[_compaction_service_pb2.TokenCountSource, str]] = ..., trigger_input_tokens: _Optional[int] = ..., max_input_tokens: _Optional[int] = ...) -> None: ...

class Bounds(_message.Message):
    __slots__ = ("least", "most")
    LEAST_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    least: int
    most: int
    def __init__(self, least: _Optional[int] = ..., most: _Optional[int] = ...) -> None: ...
