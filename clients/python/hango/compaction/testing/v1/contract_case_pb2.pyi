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
    __slots__ = ("compact", "summarize", "count_tokens", "body", "with_record", "expect")
    COMPACT_FIELD_NUMBER: _ClassVar[int]
    SUMMARIZE_FIELD_NUMBER: _ClassVar[int]
    COUNT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    WITH_RECORD_FIELD_NUMBER: _ClassVar[int]
    EXPECT_FIELD_NUMBER: _ClassVar[int]
    compact: _compaction_service_pb2.CompactRequest
    summarize: _compaction_service_pb2.SummarizeRequest
    count_tokens: _compaction_service_pb2.CountTokensRequest
    body: Body
    with_record: bool
    expect: Expectation
    def __init__(self, compact: _Optional[_Union[_compaction_service_pb2.CompactRequest, _Mapping]] = ..., summarize: _Optional[_Union[_compaction_service_pb2.SummarizeRequest, _Mapping]] = ..., count_tokens: _Optional[_Union[_compaction_service_pb2.CountTokensRequest, _Mapping]] = ..., body: _Optional[_Union[Body, _Mapping]] = ..., with_record: bool = ..., expect: _Optional[_Union[Expectation, _Mapping]] = ...) -> None: ...

class Body(_message.Message):
    __slots__ = ("format", "text", "json", "expand")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    EXPAND_FIELD_NUMBER: _ClassVar[int]
    format: _conversation_pb2.PayloadFormat
    text: str
    json: _struct_pb2.Value
    expand: bool
    def __init__(self, format: _Optional[_Union[_conversation_pb2.PayloadFormat, str]] = ..., text: _Optional[str] = ..., json: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., expand: bool = ...) -> None: ...

class Expectation(_message.Message):
    __slots__ = ("error_reason", "error_metadata", "outcome", "reason", "notices", "absent_notices", "unchanged", "first_kept_index", "kept", "gone", "contains", "lacks", "breakpoints", "no_breakpoints", "min_input_tokens", "max_input_tokens", "message_count", "same_as_step", "history_status", "history_contains", "summary_contains", "trigger_input_tokens", "token_count_source", "clipped", "tolerated_violations")
    class ErrorMetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ERROR_REASON_FIELD_NUMBER: _ClassVar[int]
    ERROR_METADATA_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    ABSENT_NOTICES_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    FIRST_KEPT_INDEX_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    LACKS_FIELD_NUMBER: _ClassVar[int]
    BREAKPOINTS_FIELD_NUMBER: _ClassVar[int]
    NO_BREAKPOINTS_FIELD_NUMBER: _ClassVar[int]
    MIN_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    SAME_AS_STEP_FIELD_NUMBER: _ClassVar[int]
    HISTORY_STATUS_FIELD_NUMBER: _ClassVar[int]
    HISTORY_CONTAINS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_CONTAINS_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_SOURCE_FIELD_NUMBER: _ClassVar[int]
    CLIPPED_FIELD_NUMBER: _ClassVar[int]
    TOLERATED_VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    error_reason: str
    error_metadata: _containers.ScalarMap[str, str]
    outcome: _compaction_service_pb2.Outcome
    reason: _compaction_pb2.CompactionReason
    notices: _containers.RepeatedScalarFieldContainer[_compaction_pb2.NoticeCode]
    absent_notices: _containers.RepeatedScalarFieldContainer[_compaction_pb2.NoticeCode]
    unchanged: bool
    first_kept_index: int
    kept: _containers.RepeatedScalarFieldContainer[int]
    gone: _containers.RepeatedScalarFieldContainer[int]
    contains: _containers.RepeatedScalarFieldContainer[str]
    lacks: _containers.RepeatedScalarFieldContainer[str]
    breakpoints: _containers.RepeatedCompositeFieldContainer[_compaction_pb2.Breakpoint]
    no_breakpoints: bool
    min_input_tokens: int
    max_input_tokens: int
    message_count: int
    same_as_step: int
    history_status: _compaction_pb2.HistoryStatus
    history_contains: _containers.RepeatedScalarFieldContainer[str]
    summary_contains: _containers.RepeatedScalarFieldContainer[str]
    trigger_input_tokens: int
    token_count_source: _compaction_service_pb2.TokenCountSource
    clipped: _containers.RepeatedScalarFieldContainer[int]
    tolerated_violations: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, error_reason: _Optional[str] = ..., error_metadata: _Optional[_Mapping[str, str]] = ..., outcome: _Optional[_Union[_compaction_service_pb2.Outcome, str]] = ..., reason: _Optional[_Union[_compaction_pb2.CompactionReason, str]] = ..., notices: _Optional[_Iterable[_Union[_compaction_pb2.NoticeCode, str]]] = ..., absent_notices: _Optional[_Iterable[_Union[_compaction_pb2.NoticeCode, str]]] = ..., unchanged: bool = ..., first_kept_index: _Optional[int] = ..., kept: _Optional[_Iterable[int]] = ..., gone: _Optional[_Iterable[int]] = ..., contains: _Optional[_Iterable[str]] = ..., lacks: _Optional[_Iterable[str]] = ..., breakpoints: _Optional[_Iterable[_Union[_compaction_pb2.Breakpoint, _Mapping]]] = ..., no_breakpoints: bool = ..., min_input_tokens: _Optional[int] = ..., max_input_tokens: _Optional[int] = ..., message_count: _Optional[int] = ..., same_as_step: _Optional[int] = ..., history_status: _Optional[_Union[_compaction_pb2.HistoryStatus, str]] = ..., history_contains: _Optional[_Iterable[str]] = ..., summary_contains: _Optional[_Iterable[str]] = ..., trigger_input_tokens: _Optional[int] = ..., token_count_source: _Optional[_Union[_compaction_service_pb2.TokenCountSource, str]] = ..., clipped: _Optional[_Iterable[int]] = ..., tolerated_violations: _Optional[_Iterable[str]] = ...) -> None: ...
