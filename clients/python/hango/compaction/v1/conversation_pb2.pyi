from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PayloadFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PAYLOAD_FORMAT_UNSPECIFIED: _ClassVar[PayloadFormat]
    PAYLOAD_FORMAT_ANTHROPIC_MESSAGES: _ClassVar[PayloadFormat]
    PAYLOAD_FORMAT_OPENAI_CHAT: _ClassVar[PayloadFormat]

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_USER: _ClassVar[Role]
    ROLE_ASSISTANT: _ClassVar[Role]
    ROLE_SYSTEM: _ClassVar[Role]
PAYLOAD_FORMAT_UNSPECIFIED: PayloadFormat
PAYLOAD_FORMAT_ANTHROPIC_MESSAGES: PayloadFormat
PAYLOAD_FORMAT_OPENAI_CHAT: PayloadFormat
ROLE_UNSPECIFIED: Role
ROLE_USER: Role
ROLE_ASSISTANT: Role
ROLE_SYSTEM: Role

class NativePayload(_message.Message):
    __slots__ = ("format", "body")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    format: PayloadFormat
    body: bytes
    def __init__(self, format: _Optional[_Union[PayloadFormat, str]] = ..., body: _Optional[bytes] = ...) -> None: ...

class Conversation(_message.Message):
    __slots__ = ("model", "system", "tools", "messages", "max_output_tokens")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    model: str
    system: _containers.RepeatedCompositeFieldContainer[ContentBlock]
    tools: _containers.RepeatedCompositeFieldContainer[Tool]
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    max_output_tokens: int
    def __init__(self, model: _Optional[str] = ..., system: _Optional[_Iterable[_Union[ContentBlock, _Mapping]]] = ..., tools: _Optional[_Iterable[_Union[Tool, _Mapping]]] = ..., messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., max_output_tokens: _Optional[int] = ...) -> None: ...

class Tool(_message.Message):
    __slots__ = ("name", "description", "input_schema_json", "cache_control")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    CACHE_CONTROL_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    input_schema_json: str
    cache_control: CacheControl
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., input_schema_json: _Optional[str] = ..., cache_control: _Optional[_Union[CacheControl, _Mapping]] = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("role", "content")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    role: Role
    content: _containers.RepeatedCompositeFieldContainer[ContentBlock]
    def __init__(self, role: _Optional[_Union[Role, str]] = ..., content: _Optional[_Iterable[_Union[ContentBlock, _Mapping]]] = ...) -> None: ...

class ContentBlock(_message.Message):
    __slots__ = ("text", "thinking", "tool_use", "tool_result", "media", "opaque", "cache_control")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    THINKING_FIELD_NUMBER: _ClassVar[int]
    TOOL_USE_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULT_FIELD_NUMBER: _ClassVar[int]
    MEDIA_FIELD_NUMBER: _ClassVar[int]
    OPAQUE_FIELD_NUMBER: _ClassVar[int]
    CACHE_CONTROL_FIELD_NUMBER: _ClassVar[int]
    text: Text
    thinking: Thinking
    tool_use: ToolUse
    tool_result: ToolResult
    media: Media
    opaque: Opaque
    cache_control: CacheControl
    def __init__(self, text: _Optional[_Union[Text, _Mapping]] = ..., thinking: _Optional[_Union[Thinking, _Mapping]] = ..., tool_use: _Optional[_Union[ToolUse, _Mapping]] = ..., tool_result: _Optional[_Union[ToolResult, _Mapping]] = ..., media: _Optional[_Union[Media, _Mapping]] = ..., opaque: _Optional[_Union[Opaque, _Mapping]] = ..., cache_control: _Optional[_Union[CacheControl, _Mapping]] = ...) -> None: ...

class CacheControl(_message.Message):
    __slots__ = ("ttl",)
    TTL_FIELD_NUMBER: _ClassVar[int]
    ttl: str
    def __init__(self, ttl: _Optional[str] = ...) -> None: ...

class Text(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class Thinking(_message.Message):
    __slots__ = ("thinking", "signature", "redacted_data")
    THINKING_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    REDACTED_DATA_FIELD_NUMBER: _ClassVar[int]
    thinking: str
    signature: str
    redacted_data: str
    def __init__(self, thinking: _Optional[str] = ..., signature: _Optional[str] = ..., redacted_data: _Optional[str] = ...) -> None: ...

class ToolUse(_message.Message):
    __slots__ = ("id", "name", "input_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    input_json: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., input_json: _Optional[str] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("tool_use_id", "content", "is_error")
    TOOL_USE_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    tool_use_id: str
    content: _containers.RepeatedCompositeFieldContainer[ContentBlock]
    is_error: bool
    def __init__(self, tool_use_id: _Optional[str] = ..., content: _Optional[_Iterable[_Union[ContentBlock, _Mapping]]] = ..., is_error: bool = ...) -> None: ...

class Media(_message.Message):
    __slots__ = ("media_type", "data", "url", "file_id")
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    FILE_ID_FIELD_NUMBER: _ClassVar[int]
    media_type: str
    data: bytes
    url: str
    file_id: str
    def __init__(self, media_type: _Optional[str] = ..., data: _Optional[bytes] = ..., url: _Optional[str] = ..., file_id: _Optional[str] = ...) -> None: ...

class Opaque(_message.Message):
    __slots__ = ("type", "json")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    type: str
    json: str
    def __init__(self, type: _Optional[str] = ..., json: _Optional[str] = ...) -> None: ...
