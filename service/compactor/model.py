"""The values that every stage speaks of: a request as a view over the caller's bytes, and what becomes of it.

A request is never parsed into objects that are written out again. It is an index over the caller's bytes: for each
message its slice and its `Message`, the facts that decisions need. Text is decoded only where a stage reads it, as the
`Part`s of a `Content`. What a stage changes is a `Literal`; everything else stays a `Raw` slice of the caller's bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol


class Format(StrEnum):
    """The shape of a request body."""

    ANTHROPIC_MESSAGES = "ANTHROPIC_MESSAGES"
    OPENAI_CHAT = "OPENAI_CHAT"


class Role(StrEnum):
    """Who speaks. `TOOL` exists in OpenAI bodies only; Anthropic results stand in messages of the user."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Kind(StrEnum):
    """What a part of a message is."""

    TEXT = "text"
    THINKING = "thinking"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    SERVER_TOOL_USE = "server_tool_use"
    SERVER_TOOL_RESULT = "server_tool_result"
    MEDIA = "media"
    OPAQUE = "opaque"


class Media(NamedTuple):
    """An image, document or audio inside a message.

    `data` is the base64 text as it stands in the request, empty where the provider fetches the bytes itself;
    `reference` is the URL or file id then.
    """

    type: str  # "image", "document" or "audio"
    media_type: str = ""
    data: str = ""
    reference: str = ""
    detail: str = ""  # OpenAI's "low", "high" or "auto"


class Part(NamedTuple):
    """One decoded content block.

    `text` is what a reader sees: text, reasoning, a result's text, or the JSON text of a call's arguments. `weight` is
    the size in bytes of what only the provider can read (signatures, encrypted content). `parts` are the blocks inside
    a tool result, media included; their texts are joined in `text`.
    """

    kind: Kind
    text: str = ""
    id: str = ""
    name: str = ""
    is_error: bool = False
    weight: int = 0
    media: Media | None = None
    parts: tuple[Part, ...] = ()


class Content(NamedTuple):
    """A decoded message, or a decoded system block or tool definition.

    `breaches` are the provider's rules that the message breaks by itself, by their names in `core.validate`. `marks`
    are the TTLs of the caller's own breakpoints in it, in order.
    """

    role: Role
    parts: tuple[Part, ...]
    breaches: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


class Call(NamedTuple):
    """A tool call: its id and the tool's name."""

    id: str
    name: str


class Message(NamedTuple):
    """The facts of one message that decisions need. Depends on nothing but the message's bytes and the way of counting.

    `call_ids` are the ids of `calls`, `has_mark` says that a `cache_control` member is in the bytes. `largest_value` is
    the length in UTF-8 bytes of the longest tool argument or result in it. `is_request` says that a person wrote it: a
    user message without any result.
    """

    role: Role
    tokens: int
    media_tokens: int
    kinds: tuple[Kind, ...]
    calls: tuple[Call, ...] = ()
    call_ids: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    server_calls: tuple[str, ...] = ()
    server_results: tuple[str, ...] = ()
    largest_value: int = 0
    is_request: bool = False
    has_thinking: bool = False
    opens_with_thinking: bool = False
    breaches: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    has_mark: bool = False


class Span(NamedTuple):
    """A half-open range: of bytes in a body, or of indexes in an array."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Element:
    """A system block or a tool definition: its bytes, tokens, and whether a breakpoint may be and is on it.

    `offset` is where it begins, counted from the start of its array's value.
    """

    raw: bytes
    tokens: int
    markable: bool
    offset: int = 0
    mark: str = ""  # TTL of the caller's own breakpoint, empty for none


@dataclass(frozen=True, slots=True, repr=False)
class Request:
    """An indexed request.

    `messages[i]` stands in `body` from `starts[i]` to `stops[i]`; `keys[i]` names its content in this process. `array`
    is the span of the whole messages array with its brackets; `system_span` and `tools_span` are those of the fields'
    values, None where there is no such field.
    `system_is_text` says that the system field is a plain string, which `system` then shows as one block.
    `model` is the name as far as it is looked at; the body has it whole.
    `leading` counts the system messages at the head of an OpenAI body: they are the prompt, never evicted.
    """

    format: Format
    body: bytes
    model: str
    messages: Sequence[Message]
    keys: Sequence[bytes]
    starts: Sequence[int]
    stops: Sequence[int]
    array: Span
    system: tuple[Element, ...] = ()
    system_span: Span | None = None
    system_is_text: bool = False
    tools: tuple[Element, ...] = ()
    tools_span: Span | None = None
    leading: int = 0
    max_output_tokens: int | None = None
    thinking_enabled: bool = False

    def raw(self, index: int) -> bytes:
        """The bytes of one message, as the caller wrote them."""
        return self.body[self.starts[index] : self.stops[index]]


class Dialect(Protocol):
    """What a format's module can do with the bytes of its own messages; the core decides, the dialect writes.

    Every method returns new bytes in which nothing is respelled that was not to be changed.
    """

    @property
    def format(self) -> Format: ...

    def read(self, raw: bytes) -> Content:
        """Decodes one message. Raises MalformedPayload for what is no message of the format."""
        ...

    def clip(self, raw: bytes, shorten: Shorten, exempt: frozenset[str]) -> tuple[bytes, int]:
        """The message with tool arguments and results shortened, and how many were; not those of calls in `exempt`."""
        ...

    def strip(self, raw: bytes) -> bytes:
        """The message without its reasoning blocks; never empty by it."""
        ...

    def mark(self, raw: bytes, ttl: str) -> bytes | None:
        """The message with a breakpoint on its last block; None where none may be set."""
        ...

    def mark_block(self, raw: bytes, ttl: str) -> bytes:
        """A system block or tool definition with a breakpoint."""
        ...

    def user_message(self, text: str) -> bytes:
        """A new message of the user."""
        ...

    def repair(self, messages: Sequence[bytes]) -> list[tuple[int, bytes | None]]:
        """The messages with their pairing mended: for each, in order, which one it is and its bytes where they are new.

        An index of -1 is a message that the log did not have.
        """
        ...


Shorten = Callable[[str, bool], str | None]
"""Makes a preview of a value, given whether it is an error; None leaves the value as it is."""


class Outcome(StrEnum):
    """The strongest thing that a call did, weakest first."""

    UNCHANGED = "UNCHANGED"
    REUSED = "REUSED"
    CLIPPED = "CLIPPED"
    WINDOWED = "WINDOWED"
    SUMMARIZED = "SUMMARIZED"
    TRUNCATED = "TRUNCATED"


class Reason(StrEnum):
    """Why a compaction is asked for or made."""

    UNSPECIFIED = "UNSPECIFIED"
    THRESHOLD = "THRESHOLD"
    OVERFLOW = "OVERFLOW"
    TOOL = "TOOL"
    TRUNCATE = "TRUNCATE"


class CountSource(StrEnum):
    """How tokens were counted."""

    HEURISTIC = "HEURISTIC"
    TOKENIZER = "TOKENIZER"
    PROVIDER = "PROVIDER"
    ANCHORED = "ANCHORED"


class Strategy(StrEnum):
    """How a request is brought down: by a summary, or by leaving out all but the newest or the important messages."""

    SUMMARIZE = "SUMMARIZE"
    RECENT = "RECENT"
    IMPORTANT = "IMPORTANT"


class NoticeCode(StrEnum):
    """What went other than planned; the closed list of the contract."""

    UNKNOWN_MODEL = "UNKNOWN_MODEL"
    COUNT_FELL_BACK = "COUNT_FELL_BACK"
    SUMMARIZER_FAILED = "SUMMARIZER_FAILED"
    SUMMARY_REJECTED = "SUMMARY_REJECTED"
    SUMMARY_EXTRACTIVE = "SUMMARY_EXTRACTIVE"
    IDENTIFIERS_REATTACHED = "IDENTIFIERS_REATTACHED"
    OUTPUT_INVALID = "OUTPUT_INVALID"
    HISTORY_FAILED = "HISTORY_FAILED"
    RECORD_STALE = "RECORD_STALE"
    FIXED_COST_EXCEEDS_BUDGET = "FIXED_COST_EXCEEDS_BUDGET"
    GAIN_TOO_SMALL = "GAIN_TOO_SMALL"
    REASONING_STRIPPED = "REASONING_STRIPPED"
    KEPT_PART_CLIPPED = "KEPT_PART_CLIPPED"
    BREAKPOINTS_EXHAUSTED = "BREAKPOINTS_EXHAUSTED"
    REQUEST_REPAIRED = "REQUEST_REPAIRED"
    INPUT_VIOLATION = "INPUT_VIOLATION"
    RETAINED_OVER_BUDGET = "RETAINED_OVER_BUDGET"


class Notice(NamedTuple):
    """Something that went other than planned, in a sentence without content of the conversation."""

    code: NoticeCode
    detail: str


class HistoryStatus(StrEnum):
    """What became of the evicted originals."""

    STORED = "STORED"
    RETURNED = "RETURNED"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Compaction:
    """The record that one act of compaction leaves behind; with the raw request it rebuilds the same bytes.

    `kept_ranges` are half-open ranges of raw indexes that a window keeps before `first_kept_index`.
    """

    sequence: int
    turn_id: str = ""
    reason: Reason = Reason.THRESHOLD
    summary: str = ""
    first_kept_index: int = 0
    pinned_index: int | None = None
    strategy: Strategy = Strategy.SUMMARIZE
    kept_ranges: tuple[tuple[int, int], ...] = ()
    clipped_before_index: int = 0
    clip_max_tokens: int = 0
    unclipped_tools: tuple[str, ...] = ()
    stripped_before_index: int = 0
    repairs: bool = False
    history_path: str = ""
    prefix_digest: bytes = b""
    original_input_tokens: int = 0
    compacted_input_tokens: int = 0
    estimate_ratio: float = 0.0


class ObservedUsage(NamedTuple):
    """What a provider reported for an earlier request: input tokens, cache reads and writes included, of one that
    covered so many messages of the raw log under the record of that sequence, 0 for none.
    """

    message_count: int
    input_tokens: int
    sequence: int = 0


class ObservedOverflow(NamedTuple):
    """What the refusal of a request that was too large named; 0 where it named nothing."""

    actual_input_tokens: int = 0
    max_input_tokens: int = 0


class SummarizerUsage(NamedTuple):
    """What summaries cost, in calls and tokens; `model` is the one that wrote, or that was asked last."""

    model: str = ""
    call_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0

    def plus(self, other: SummarizerUsage) -> SummarizerUsage:
        """Both together, under the later's model."""
        numbers = [mine + more for mine, more in zip(self[1:], other[1:], strict=True)]
        return SummarizerUsage(other.model or self.model, *numbers)


class FileRecord(NamedTuple):
    """A file that tools worked on."""

    path: str
    changed: bool


class ToolOutcome(NamedTuple):
    """One call of a tool in a line: the tool, what it was asked, what it answered."""

    tool: str
    request: str
    outcome: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Retained:
    """What code keeps of the evicted messages (rule R18), and how much of it found no room in its budget."""

    instructions: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    files: tuple[FileRecord, ...] = ()
    tool_outcomes: tuple[ToolOutcome, ...] = ()
    plan: str = ""
    open_questions: tuple[str, ...] = ()
    dropped: tuple[str, ...] = field(default=())


class Raw(NamedTuple):
    """A run of raw elements, by index, as they are."""

    start: int
    stop: int


class Literal(NamedTuple):
    """One new element: its bytes in the request's own form, and the index of the raw element that it stands for."""

    data: bytes
    origin: int | None = None


Piece = Raw | Literal


class ArrayName(StrEnum):
    """A top-level array of a request."""

    SYSTEM = "SYSTEM"
    TOOLS = "TOOLS"
    MESSAGES = "MESSAGES"


@dataclass(frozen=True, slots=True)
class Edit:
    """What makes one top-level array of the result out of the raw request's."""

    array: ArrayName
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Where `cache_control` was set: the array, and the index in the result's array."""

    target: ArrayName
    index: int
