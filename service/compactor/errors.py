"""The errors that a caller can cause, as one tree that knows what went wrong.

    CompactionError
    ├── InvalidRequest              the request itself is at fault
    │   ├── MalformedPayload
    │   ├── EmptyConversation
    │   ├── UnmatchedToolUse
    │   ├── UnmatchedToolResult
    │   ├── DuplicateToolResult
    │   ├── PolicyOutOfRange
    │   └── InvalidSessionId
    ├── WindowTooSmall              nothing that may be dropped makes it fit
    ├── FieldNotSupported           a field whose behaviour this version does not have
    ├── RequestTooLarge
    ├── ProviderFailed              Summarize only, where a model has to write
    │   ├── ProviderUnavailable
    │   ├── ProviderTimeout
    │   ├── ProviderRateLimited
    │   └── SummaryRejected
    ├── Overloaded
    └── Unauthenticated

How gRPC says each of them is in `status`. Every value that a message names is also in `metadata`; neither ever holds
content of a conversation, a path of this machine, or a key.
"""

from __future__ import annotations

from collections.abc import Mapping


class CompactionError(Exception):
    """Root of the tree. `metadata` holds every value that the message names."""

    def __init__(self, message: str, /, **metadata: object) -> None:
        super().__init__(message)
        self.message = message
        self.metadata: Mapping[str, str] = {name: str(value) for name, value in metadata.items()}


class InvalidRequest(CompactionError):
    """The request itself is at fault; the same request will fail again. `field` names the offending field."""

    field = ""


class MalformedPayload(InvalidRequest):
    """The body is not JSON, or not of the stated format."""

    field = "native.body"


class EmptyConversation(InvalidRequest):
    """There is no message besides system text."""

    field = "source"


class UnmatchedToolUse(InvalidRequest):
    """A call without its result, in the part that would be sent."""

    field = "source"


class UnmatchedToolResult(InvalidRequest):
    """A result without its call, or behind other content, in the part that would be sent."""

    field = "source"


class DuplicateToolResult(InvalidRequest):
    """Two results for one call, in the part that would be sent."""

    field = "source"


class PolicyOutOfRange(InvalidRequest):
    """A policy value is out of its range; metadata `field`, `value`, `range`."""

    field = "policy"


class InvalidSessionId(InvalidRequest):
    """The session id is missing or not of the stated form."""

    field = "session_id"


class WindowTooSmall(CompactionError):
    """Nothing that may be dropped makes the request fit; metadata says what system, tools and the open turn cost."""


class FieldNotSupported(CompactionError):
    """A field whose behaviour this version does not have; metadata `field`."""


class RequestTooLarge(CompactionError):
    """The message is over the size limit; metadata `size_bytes`, `max_bytes`."""


class ProviderFailed(CompactionError):
    """No model wrote a usable summary. `retry_seconds` is when the provider wants to be asked again, None if unsaid."""

    retry_seconds: float | None = None


class ProviderUnavailable(ProviderFailed):
    """The provider is down, unreachable, or not configured."""


class ProviderTimeout(ProviderFailed):
    """The provider did not answer in time."""


class ProviderRateLimited(ProviderFailed):
    """The provider throttles; the same call may succeed later."""


class SummaryRejected(ProviderFailed):
    """The provider refused the call, or what the model wrote is no usable summary; metadata `detail` says why."""


class Overloaded(CompactionError):
    """Too many calls at once, or one that redacts before the service can; the same call may succeed later."""


class Unauthenticated(CompactionError):
    """No token, or a wrong one, where one is required."""
