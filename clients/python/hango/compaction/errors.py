"""What a call can fail with: one small tree, by the reasons of the contract.

    CompactionError
    ├── InvalidRequest          the request itself is at fault; the same one fails again
    │   ├── MalformedPayload    MALFORMED_PAYLOAD
    │   │   └── UnknownFormat   found by the client: the body does not tell its format
    │   ├── EmptyConversation   EMPTY_CONVERSATION
    │   ├── UnpairedTools       UNMATCHED_TOOL_USE, UNMATCHED_TOOL_RESULT, DUPLICATE_TOOL_RESULT
    │   ├── PolicyOutOfRange    POLICY_OUT_OF_RANGE
    │   ├── InvalidSessionId    INVALID_SESSION_ID
    │   └── FieldNotSupported   FIELD_NOT_SUPPORTED
    ├── WindowTooSmall          WINDOW_TOO_SMALL
    ├── RequestTooLarge         REQUEST_TOO_LARGE
    ├── Unauthenticated         UNAUTHENTICATED
    ├── ProviderFailed          PROVIDER_UNAVAILABLE, PROVIDER_TIMEOUT, PROVIDER_RATE_LIMITED, SUMMARY_REJECTED
    └── NotServed               no answer came: the service cannot be reached, or broke off
        ├── DeadlineExceeded    not within the call's timeout
        └── Overloaded          OVERLOADED

The three leaves under NotServed aside, every error carries the `reason` that the service gave. An error without a
reason, such as an internal failure, is a plain CompactionError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

Trailing = Iterable[tuple[str, str | bytes]]

_DETAILS = "grpc-status-details-bin"
_PUSHBACK = "grpc-retry-pushback-ms"


class CompactionError(Exception):
    """Root of the tree.

    `message` is for people. `reason` and `metadata` are the contract's and for programs: every value that the message
    names is in the metadata. `retry_seconds` is when the service asks to be called again, None where it does not.

        try:
            client.compact(body, session_id="tour")
        except CompactionError as error:
            if error.reason == "WINDOW_TOO_SMALL":
                print(error.metadata)
    """

    def __init__(
        self,
        message: str,
        /,
        *,
        code: grpc.StatusCode,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        retry_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata: Mapping[str, str] = dict(metadata or {})
        self.retry_seconds = retry_seconds

    @property
    def is_retryable(self) -> bool:
        """Whether the very same call may succeed later."""
        if self.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return self.retry_seconds is not None
        return self.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


class InvalidRequest(CompactionError):
    """The request itself is at fault; the same request will fail again."""


class MalformedPayload(InvalidRequest):
    """The body is not JSON, or not of the stated format."""


class UnknownFormat(MalformedPayload):
    """The body reads the same in more than one format; the caller has to say which it is."""


class EmptyConversation(InvalidRequest):
    """There is no message besides system text."""


class UnpairedTools(InvalidRequest):
    """Tool calls and results do not pair in the part that would be sent; `repair` may mend it."""


class PolicyOutOfRange(InvalidRequest):
    """A policy value is out of its range; metadata `field`, `value`, `range`."""


class InvalidSessionId(InvalidRequest):
    """The session id is missing or not of the stated form."""


class FieldNotSupported(InvalidRequest):
    """A field whose behaviour this version of the service does not have; metadata `field`."""


class WindowTooSmall(CompactionError):
    """Nothing that may be dropped makes the request fit; metadata says what system, tools and the open turn cost."""


class RequestTooLarge(CompactionError):
    """The request is over the service's size limit; metadata `size_bytes`, `max_bytes`."""


class Unauthenticated(CompactionError):
    """No token, or a wrong one, where one is required."""


class ProviderFailed(CompactionError):
    """Summarize only: the model provider is down, slow, throttling, or gave no usable summary."""


class NotServed(CompactionError):
    """No answer came: the service cannot be reached, or broke off."""


class DeadlineExceeded(NotServed):
    """No answer came within the call's timeout."""


class Overloaded(NotServed):
    """Too many calls at once, and still so after the client's own retries."""


BY_REASON: Mapping[str, type[CompactionError]] = {
    "MALFORMED_PAYLOAD": MalformedPayload,
    "EMPTY_CONVERSATION": EmptyConversation,
    "UNMATCHED_TOOL_USE": UnpairedTools,
    "UNMATCHED_TOOL_RESULT": UnpairedTools,
    "DUPLICATE_TOOL_RESULT": UnpairedTools,
    "POLICY_OUT_OF_RANGE": PolicyOutOfRange,
    "INVALID_SESSION_ID": InvalidSessionId,
    "FIELD_NOT_SUPPORTED": FieldNotSupported,
    "WINDOW_TOO_SMALL": WindowTooSmall,
    "REQUEST_TOO_LARGE": RequestTooLarge,
    "UNAUTHENTICATED": Unauthenticated,
    "PROVIDER_UNAVAILABLE": ProviderFailed,
    "PROVIDER_TIMEOUT": ProviderFailed,
    "PROVIDER_RATE_LIMITED": ProviderFailed,
    "SUMMARY_REJECTED": ProviderFailed,
    "OVERLOADED": Overloaded,
}
_BY_CODE: Mapping[grpc.StatusCode, type[CompactionError]] = {
    grpc.StatusCode.UNAVAILABLE: NotServed,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
}


def error_of(code: grpc.StatusCode, message: str, trailing: Trailing) -> CompactionError:
    """The error that a status stands for, its details read from the trailing metadata."""
    info, retry_seconds = _details(trailing)
    kind = BY_REASON.get(info.reason, _BY_CODE.get(code, CompactionError))
    return kind(message, code=code, reason=info.reason, metadata=info.metadata, retry_seconds=retry_seconds)


def pushback_seconds(trailing: Trailing) -> float | None:
    """How long the server asks to wait before another try; None where it wants none."""
    for name, value in trailing:
        if name == _PUSHBACK and isinstance(value, str) and value.isdecimal():
            return int(value) / 1_000
    return None


def _details(trailing: Trailing) -> tuple[error_details_pb2.ErrorInfo, float | None]:
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    status = status_pb2.Status()
    try:
        for name, value in trailing:
            if name == _DETAILS and isinstance(value, bytes):
                status.ParseFromString(value)
        for detail in status.details:
            detail.Unpack(info) or detail.Unpack(retry)
    except DecodeError:
        pass
    delay = retry.retry_delay
    return info, delay.seconds + delay.nanos / 1e9 if retry.HasField("retry_delay") else None
