from hango.compaction.v1 import conversation_pb2 as _conversation_pb2
from hango.compaction.v1 import policy_pb2 as _policy_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CompactionReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPACTION_REASON_UNSPECIFIED: _ClassVar[CompactionReason]
    COMPACTION_REASON_THRESHOLD: _ClassVar[CompactionReason]
    COMPACTION_REASON_OVERFLOW: _ClassVar[CompactionReason]
    COMPACTION_REASON_TOOL: _ClassVar[CompactionReason]
    COMPACTION_REASON_TRUNCATE: _ClassVar[CompactionReason]

class ArrayName(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ARRAY_NAME_UNSPECIFIED: _ClassVar[ArrayName]
    ARRAY_NAME_SYSTEM: _ClassVar[ArrayName]
    ARRAY_NAME_TOOLS: _ClassVar[ArrayName]
    ARRAY_NAME_MESSAGES: _ClassVar[ArrayName]

class HistoryStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HISTORY_STATUS_UNSPECIFIED: _ClassVar[HistoryStatus]
    HISTORY_STATUS_STORED: _ClassVar[HistoryStatus]
    HISTORY_STATUS_RETURNED: _ClassVar[HistoryStatus]
    HISTORY_STATUS_SKIPPED: _ClassVar[HistoryStatus]
    HISTORY_STATUS_FAILED: _ClassVar[HistoryStatus]

class FileAccess(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FILE_ACCESS_UNSPECIFIED: _ClassVar[FileAccess]
    FILE_ACCESS_READ: _ClassVar[FileAccess]
    FILE_ACCESS_CHANGED: _ClassVar[FileAccess]

class Fate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FATE_UNSPECIFIED: _ClassVar[Fate]
    FATE_KEPT: _ClassVar[Fate]
    FATE_CLIPPED: _ClassVar[Fate]
    FATE_EVICTED: _ClassVar[Fate]

class BreakpointTarget(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BREAKPOINT_TARGET_UNSPECIFIED: _ClassVar[BreakpointTarget]
    BREAKPOINT_TARGET_SYSTEM: _ClassVar[BreakpointTarget]
    BREAKPOINT_TARGET_MESSAGE: _ClassVar[BreakpointTarget]
    BREAKPOINT_TARGET_TOOL: _ClassVar[BreakpointTarget]

class NoticeCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOTICE_CODE_UNSPECIFIED: _ClassVar[NoticeCode]
    NOTICE_CODE_UNKNOWN_MODEL: _ClassVar[NoticeCode]
    NOTICE_CODE_COUNT_FELL_BACK: _ClassVar[NoticeCode]
    NOTICE_CODE_SUMMARIZER_FAILED: _ClassVar[NoticeCode]
    NOTICE_CODE_SUMMARY_REJECTED: _ClassVar[NoticeCode]
    NOTICE_CODE_SUMMARY_EXTRACTIVE: _ClassVar[NoticeCode]
    NOTICE_CODE_IDENTIFIERS_REATTACHED: _ClassVar[NoticeCode]
    NOTICE_CODE_OUTPUT_INVALID: _ClassVar[NoticeCode]
    NOTICE_CODE_HISTORY_FAILED: _ClassVar[NoticeCode]
    NOTICE_CODE_RECORD_STALE: _ClassVar[NoticeCode]
    NOTICE_CODE_FIXED_COST_EXCEEDS_BUDGET: _ClassVar[NoticeCode]
    NOTICE_CODE_GAIN_TOO_SMALL: _ClassVar[NoticeCode]
    NOTICE_CODE_REASONING_STRIPPED: _ClassVar[NoticeCode]
    NOTICE_CODE_KEPT_PART_CLIPPED: _ClassVar[NoticeCode]
    NOTICE_CODE_BREAKPOINTS_EXHAUSTED: _ClassVar[NoticeCode]
    NOTICE_CODE_REQUEST_REPAIRED: _ClassVar[NoticeCode]
    NOTICE_CODE_INPUT_VIOLATION: _ClassVar[NoticeCode]
    NOTICE_CODE_RETAINED_OVER_BUDGET: _ClassVar[NoticeCode]
COMPACTION_REASON_UNSPECIFIED: CompactionReason
COMPACTION_REASON_THRESHOLD: CompactionReason
COMPACTION_REASON_OVERFLOW: CompactionReason
COMPACTION_REASON_TOOL: CompactionReason
COMPACTION_REASON_TRUNCATE: CompactionReason
ARRAY_NAME_UNSPECIFIED: ArrayName
ARRAY_NAME_SYSTEM: ArrayName
ARRAY_NAME_TOOLS: ArrayName
ARRAY_NAME_MESSAGES: ArrayName
HISTORY_STATUS_UNSPECIFIED: HistoryStatus
HISTORY_STATUS_STORED: HistoryStatus
HISTORY_STATUS_RETURNED: HistoryStatus
HISTORY_STATUS_SKIPPED: HistoryStatus
HISTORY_STATUS_FAILED: HistoryStatus
FILE_ACCESS_UNSPECIFIED: FileAccess
FILE_ACCESS_READ: FileAccess
FILE_ACCESS_CHANGED: FileAccess
FATE_UNSPECIFIED: Fate
FATE_KEPT: Fate
FATE_CLIPPED: Fate
FATE_EVICTED: Fate
BREAKPOINT_TARGET_UNSPECIFIED: BreakpointTarget
BREAKPOINT_TARGET_SYSTEM: BreakpointTarget
BREAKPOINT_TARGET_MESSAGE: BreakpointTarget
BREAKPOINT_TARGET_TOOL: BreakpointTarget
NOTICE_CODE_UNSPECIFIED: NoticeCode
NOTICE_CODE_UNKNOWN_MODEL: NoticeCode
NOTICE_CODE_COUNT_FELL_BACK: NoticeCode
NOTICE_CODE_SUMMARIZER_FAILED: NoticeCode
NOTICE_CODE_SUMMARY_REJECTED: NoticeCode
NOTICE_CODE_SUMMARY_EXTRACTIVE: NoticeCode
NOTICE_CODE_IDENTIFIERS_REATTACHED: NoticeCode
NOTICE_CODE_OUTPUT_INVALID: NoticeCode
NOTICE_CODE_HISTORY_FAILED: NoticeCode
NOTICE_CODE_RECORD_STALE: NoticeCode
NOTICE_CODE_FIXED_COST_EXCEEDS_BUDGET: NoticeCode
NOTICE_CODE_GAIN_TOO_SMALL: NoticeCode
NOTICE_CODE_REASONING_STRIPPED: NoticeCode
NOTICE_CODE_KEPT_PART_CLIPPED: NoticeCode
NOTICE_CODE_BREAKPOINTS_EXHAUSTED: NoticeCode
NOTICE_CODE_REQUEST_REPAIRED: NoticeCode
NOTICE_CODE_INPUT_VIOLATION: NoticeCode
NOTICE_CODE_RETAINED_OVER_BUDGET: NoticeCode

class Compaction(_message.Message):
    __slots__ = ("sequence", "turn_id", "reason", "strategy", "summary", "first_kept_index", "kept_ranges", "clipped_before_index", "clip_max_tokens", "unclipped_tools", "stripped_before_index", "repair", "history_path", "prefix_digest", "original_input_tokens", "compacted_input_tokens", "estimate_ratio")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    FIRST_KEPT_INDEX_FIELD_NUMBER: _ClassVar[int]
    KEPT_RANGES_FIELD_NUMBER: _ClassVar[int]
    CLIPPED_BEFORE_INDEX_FIELD_NUMBER: _ClassVar[int]
    CLIP_MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    UNCLIPPED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    STRIPPED_BEFORE_INDEX_FIELD_NUMBER: _ClassVar[int]
    REPAIR_FIELD_NUMBER: _ClassVar[int]
    HISTORY_PATH_FIELD_NUMBER: _ClassVar[int]
    PREFIX_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATE_RATIO_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    turn_id: str
    reason: CompactionReason
    strategy: _policy_pb2.Strategy
    summary: str
    first_kept_index: int
    kept_ranges: _containers.RepeatedCompositeFieldContainer[IndexRange]
    clipped_before_index: int
    clip_max_tokens: int
    unclipped_tools: _containers.RepeatedScalarFieldContainer[str]
    stripped_before_index: int
    repair: _policy_pb2.Repair
    history_path: str
    prefix_digest: bytes
    original_input_tokens: int
    compacted_input_tokens: int
    estimate_ratio: float
    def __init__(self, sequence: _Optional[int] = ..., turn_id: _Optional[str] = ..., reason: _Optional[_Union[CompactionReason, str]] = ..., strategy: _Optional[_Union[_policy_pb2.Strategy, str]] = ..., summary: _Optional[str] = ..., first_kept_index: _Optional[int] = ..., kept_ranges: _Optional[_Iterable[_Union[IndexRange, _Mapping]]] = ..., clipped_before_index: _Optional[int] = ..., clip_max_tokens: _Optional[int] = ..., unclipped_tools: _Optional[_Iterable[str]] = ..., stripped_before_index: _Optional[int] = ..., repair: _Optional[_Union[_policy_pb2.Repair, str]] = ..., history_path: _Optional[str] = ..., prefix_digest: _Optional[bytes] = ..., original_input_tokens: _Optional[int] = ..., compacted_input_tokens: _Optional[int] = ..., estimate_ratio: _Optional[float] = ...) -> None: ...

class IndexRange(_message.Message):
    __slots__ = ("start", "stop")
    START_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    start: int
    stop: int
    def __init__(self, start: _Optional[int] = ..., stop: _Optional[int] = ...) -> None: ...

class Edit(_message.Message):
    __slots__ = ("array", "pieces")
    ARRAY_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    array: ArrayName
    pieces: _containers.RepeatedCompositeFieldContainer[Piece]
    def __init__(self, array: _Optional[_Union[ArrayName, str]] = ..., pieces: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ...) -> None: ...

class Piece(_message.Message):
    __slots__ = ("range", "native_element", "message", "system_block")
    RANGE_FIELD_NUMBER: _ClassVar[int]
    NATIVE_ELEMENT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_BLOCK_FIELD_NUMBER: _ClassVar[int]
    range: IndexRange
    native_element: bytes
    message: _conversation_pb2.Message
    system_block: _conversation_pb2.ContentBlock
    def __init__(self, range: _Optional[_Union[IndexRange, _Mapping]] = ..., native_element: _Optional[bytes] = ..., message: _Optional[_Union[_conversation_pb2.Message, _Mapping]] = ..., system_block: _Optional[_Union[_conversation_pb2.ContentBlock, _Mapping]] = ...) -> None: ...

class History(_message.Message):
    __slots__ = ("path", "status", "markdown")
    PATH_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    MARKDOWN_FIELD_NUMBER: _ClassVar[int]
    path: str
    status: HistoryStatus
    markdown: str
    def __init__(self, path: _Optional[str] = ..., status: _Optional[_Union[HistoryStatus, str]] = ..., markdown: _Optional[str] = ...) -> None: ...

class SummarizerUsage(_message.Message):
    __slots__ = ("model", "call_count", "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CALL_COUNT_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_READ_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_CREATION_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    model: str
    call_count: int
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_creation_input_tokens: int
    def __init__(self, model: _Optional[str] = ..., call_count: _Optional[int] = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cache_read_input_tokens: _Optional[int] = ..., cache_creation_input_tokens: _Optional[int] = ...) -> None: ...

class Retained(_message.Message):
    __slots__ = ("instructions", "requests", "identifiers", "files", "tool_outcomes", "plan", "open_questions", "facts")
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    IDENTIFIERS_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    TOOL_OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    OPEN_QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    instructions: _containers.RepeatedScalarFieldContainer[str]
    requests: _containers.RepeatedScalarFieldContainer[str]
    identifiers: _containers.RepeatedScalarFieldContainer[str]
    files: _containers.RepeatedCompositeFieldContainer[FileRecord]
    tool_outcomes: _containers.RepeatedCompositeFieldContainer[ToolOutcome]
    plan: str
    open_questions: _containers.RepeatedScalarFieldContainer[str]
    facts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, instructions: _Optional[_Iterable[str]] = ..., requests: _Optional[_Iterable[str]] = ..., identifiers: _Optional[_Iterable[str]] = ..., files: _Optional[_Iterable[_Union[FileRecord, _Mapping]]] = ..., tool_outcomes: _Optional[_Iterable[_Union[ToolOutcome, _Mapping]]] = ..., plan: _Optional[str] = ..., open_questions: _Optional[_Iterable[str]] = ..., facts: _Optional[_Iterable[str]] = ...) -> None: ...

class FileRecord(_message.Message):
    __slots__ = ("path", "access")
    PATH_FIELD_NUMBER: _ClassVar[int]
    ACCESS_FIELD_NUMBER: _ClassVar[int]
    path: str
    access: FileAccess
    def __init__(self, path: _Optional[str] = ..., access: _Optional[_Union[FileAccess, str]] = ...) -> None: ...

class ToolOutcome(_message.Message):
    __slots__ = ("tool", "request", "outcome", "is_error")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    tool: str
    request: str
    outcome: str
    is_error: bool
    def __init__(self, tool: _Optional[str] = ..., request: _Optional[str] = ..., outcome: _Optional[str] = ..., is_error: bool = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("wanted_first_kept_index", "first_kept_index", "boundary_note", "messages", "original", "compacted", "sent")
    WANTED_FIRST_KEPT_INDEX_FIELD_NUMBER: _ClassVar[int]
    FIRST_KEPT_INDEX_FIELD_NUMBER: _ClassVar[int]
    BOUNDARY_NOTE_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    wanted_first_kept_index: int
    first_kept_index: int
    boundary_note: str
    messages: _containers.RepeatedCompositeFieldContainer[MessageFate]
    original: TokenUse
    compacted: TokenUse
    sent: _containers.RepeatedCompositeFieldContainer[SentMessage]
    def __init__(self, wanted_first_kept_index: _Optional[int] = ..., first_kept_index: _Optional[int] = ..., boundary_note: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[MessageFate, _Mapping]]] = ..., original: _Optional[_Union[TokenUse, _Mapping]] = ..., compacted: _Optional[_Union[TokenUse, _Mapping]] = ..., sent: _Optional[_Iterable[_Union[SentMessage, _Mapping]]] = ...) -> None: ...

class TokenUse(_message.Message):
    __slots__ = ("system", "tools", "summary", "kept", "clipped")
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    CLIPPED_FIELD_NUMBER: _ClassVar[int]
    system: int
    tools: int
    summary: int
    kept: int
    clipped: int
    def __init__(self, system: _Optional[int] = ..., tools: _Optional[int] = ..., summary: _Optional[int] = ..., kept: _Optional[int] = ..., clipped: _Optional[int] = ...) -> None: ...

class SentMessage(_message.Message):
    __slots__ = ("raw_index", "input_tokens")
    RAW_INDEX_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    raw_index: int
    input_tokens: int
    def __init__(self, raw_index: _Optional[int] = ..., input_tokens: _Optional[int] = ...) -> None: ...

class MessageFate(_message.Message):
    __slots__ = ("index", "input_tokens", "fate")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    FATE_FIELD_NUMBER: _ClassVar[int]
    index: int
    input_tokens: int
    fate: Fate
    def __init__(self, index: _Optional[int] = ..., input_tokens: _Optional[int] = ..., fate: _Optional[_Union[Fate, str]] = ...) -> None: ...

class Breakpoint(_message.Message):
    __slots__ = ("target", "index")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    target: BreakpointTarget
    index: int
    def __init__(self, target: _Optional[_Union[BreakpointTarget, str]] = ..., index: _Optional[int] = ...) -> None: ...

class Notice(_message.Message):
    __slots__ = ("code", "detail")
    CODE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    code: NoticeCode
    detail: str
    def __init__(self, code: _Optional[_Union[NoticeCode, str]] = ..., detail: _Optional[str] = ...) -> None: ...
