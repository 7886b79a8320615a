from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KeepUnit(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KEEP_UNIT_UNSPECIFIED: _ClassVar[KeepUnit]
    KEEP_UNIT_MESSAGES: _ClassVar[KeepUnit]
    KEEP_UNIT_TOKENS: _ClassVar[KeepUnit]

class Strategy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STRATEGY_UNSPECIFIED: _ClassVar[Strategy]
    STRATEGY_SUMMARIZE: _ClassVar[Strategy]
    STRATEGY_RECENT: _ClassVar[Strategy]
    STRATEGY_IMPORTANT: _ClassVar[Strategy]

class Summarizer(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUMMARIZER_UNSPECIFIED: _ClassVar[Summarizer]
    SUMMARIZER_AUTO: _ClassVar[Summarizer]
    SUMMARIZER_MODEL: _ClassVar[Summarizer]
    SUMMARIZER_EXTRACTIVE: _ClassVar[Summarizer]

class TokenCounter(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOKEN_COUNTER_UNSPECIFIED: _ClassVar[TokenCounter]
    TOKEN_COUNTER_AUTO: _ClassVar[TokenCounter]
    TOKEN_COUNTER_PROVIDER: _ClassVar[TokenCounter]
    TOKEN_COUNTER_TOKENIZER: _ClassVar[TokenCounter]
    TOKEN_COUNTER_HEURISTIC: _ClassVar[TokenCounter]

class Reasoning(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REASONING_UNSPECIFIED: _ClassVar[Reasoning]
    REASONING_KEEP: _ClassVar[Reasoning]
    REASONING_STRIP: _ClassVar[Reasoning]

class Repair(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REPAIR_UNSPECIFIED: _ClassVar[Repair]
    REPAIR_REJECT: _ClassVar[Repair]
    REPAIR_SYNTHESIZE: _ClassVar[Repair]

class HistoryMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HISTORY_MODE_UNSPECIFIED: _ClassVar[HistoryMode]
    HISTORY_MODE_STORE: _ClassVar[HistoryMode]
    HISTORY_MODE_RETURN: _ClassVar[HistoryMode]
    HISTORY_MODE_OFF: _ClassVar[HistoryMode]
KEEP_UNIT_UNSPECIFIED: KeepUnit
KEEP_UNIT_MESSAGES: KeepUnit
KEEP_UNIT_TOKENS: KeepUnit
STRATEGY_UNSPECIFIED: Strategy
STRATEGY_SUMMARIZE: Strategy
STRATEGY_RECENT: Strategy
STRATEGY_IMPORTANT: Strategy
SUMMARIZER_UNSPECIFIED: Summarizer
SUMMARIZER_AUTO: Summarizer
SUMMARIZER_MODEL: Summarizer
SUMMARIZER_EXTRACTIVE: Summarizer
TOKEN_COUNTER_UNSPECIFIED: TokenCounter
TOKEN_COUNTER_AUTO: TokenCounter
TOKEN_COUNTER_PROVIDER: TokenCounter
TOKEN_COUNTER_TOKENIZER: TokenCounter
TOKEN_COUNTER_HEURISTIC: TokenCounter
REASONING_UNSPECIFIED: Reasoning
REASONING_KEEP: Reasoning
REASONING_STRIP: Reasoning
REPAIR_UNSPECIFIED: Repair
REPAIR_REJECT: Repair
REPAIR_SYNTHESIZE: Repair
HISTORY_MODE_UNSPECIFIED: HistoryMode
HISTORY_MODE_STORE: HistoryMode
HISTORY_MODE_RETURN: HistoryMode
HISTORY_MODE_OFF: HistoryMode

class Policy(_message.Message):
    __slots__ = ("max_input_tokens", "reserve_output_tokens", "trigger_fraction", "trigger_input_tokens", "trigger_message_count", "keep_fraction", "keep_unit", "keep_message_count", "strategy", "max_message_count", "max_argument_tokens", "keep_recent_count", "unclipped_tools", "min_gain_fraction", "summarizer", "summarizer_model", "summary_max_tokens", "instructions", "retained_max_tokens", "token_counter", "characters_per_token", "prompt_caching", "cache_ttl", "reasoning", "repair", "history_mode", "prompt", "redact")
    MAX_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    RESERVE_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FRACTION_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    KEEP_FRACTION_FIELD_NUMBER: _ClassVar[int]
    KEEP_UNIT_FIELD_NUMBER: _ClassVar[int]
    KEEP_MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    MAX_ARGUMENT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    KEEP_RECENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNCLIPPED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    MIN_GAIN_FRACTION_FIELD_NUMBER: _ClassVar[int]
    SUMMARIZER_FIELD_NUMBER: _ClassVar[int]
    SUMMARIZER_MODEL_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    RETAINED_MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNTER_FIELD_NUMBER: _ClassVar[int]
    CHARACTERS_PER_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PROMPT_CACHING_FIELD_NUMBER: _ClassVar[int]
    CACHE_TTL_FIELD_NUMBER: _ClassVar[int]
    REASONING_FIELD_NUMBER: _ClassVar[int]
    REPAIR_FIELD_NUMBER: _ClassVar[int]
    HISTORY_MODE_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    REDACT_FIELD_NUMBER: _ClassVar[int]
    max_input_tokens: int
    reserve_output_tokens: int
    trigger_fraction: float
    trigger_input_tokens: int
    trigger_message_count: int
    keep_fraction: float
    keep_unit: KeepUnit
    keep_message_count: int
    strategy: Strategy
    max_message_count: int
    max_argument_tokens: int
    keep_recent_count: int
    unclipped_tools: _containers.RepeatedScalarFieldContainer[str]
    min_gain_fraction: float
    summarizer: Summarizer
    summarizer_model: str
    summary_max_tokens: int
    instructions: str
    retained_max_tokens: int
    token_counter: TokenCounter
    characters_per_token: float
    prompt_caching: bool
    cache_ttl: str
    reasoning: Reasoning
    repair: Repair
    history_mode: HistoryMode
    prompt: str
    redact: bool
    def __init__(self, max_input_tokens: _Optional[int] = ..., reserve_output_tokens: _Optional[int] = ..., trigger_fraction: _Optional[float] = ..., trigger_input_tokens: _Optional[int] = ..., trigger_message_count: _Optional[int] = ..., keep_fraction: _Optional[float] = ..., keep_unit: _Optional[_Union[KeepUnit, str]] = ..., keep_message_count: _Optional[int] = ..., strategy: _Optional[_Union[Strategy, str]] = ..., max_message_count: _Optional[int] = ..., max_argument_tokens: _Optional[int] = ..., keep_recent_count: _Optional[int] = ..., unclipped_tools: _Optional[_Iterable[str]] = ..., min_gain_fraction: _Optional[float] = ..., summarizer: _Optional[_Union[Summarizer, str]] = ..., summarizer_model: _Optional[str] = ..., summary_max_tokens: _Optional[int] = ..., instructions: _Optional[str] = ..., retained_max_tokens: _Optional[int] = ..., token_counter: _Optional[_Union[TokenCounter, str]] = ..., characters_per_token: _Optional[float] = ..., prompt_caching: bool = ..., cache_ttl: _Optional[str] = ..., reasoning: _Optional[_Union[Reasoning, str]] = ..., repair: _Optional[_Union[Repair, str]] = ..., history_mode: _Optional[_Union[HistoryMode, str]] = ..., prompt: _Optional[str] = ..., redact: bool = ...) -> None: ...
