"""How gRPC says each error: the one table from the tree of `errors` to status codes and reasons."""

from __future__ import annotations

from typing import NamedTuple

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2

from compactor import errors

DOMAIN = "hango.compaction.v1"


class Entry(NamedTuple):
    """A status code with the contract's reason for it; `retry_seconds` where the same call may succeed later."""

    code: grpc.StatusCode
    reason: str
    retry_seconds: float = 0.0


TABLE: dict[type[errors.CompactionError], Entry] = {
    errors.MalformedPayload: Entry(grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_PAYLOAD"),
    errors.EmptyConversation: Entry(grpc.StatusCode.INVALID_ARGUMENT, "EMPTY_CONVERSATION"),
    errors.UnmatchedToolUse: Entry(grpc.StatusCode.INVALID_ARGUMENT, "UNMATCHED_TOOL_USE"),
    errors.UnmatchedToolResult: Entry(grpc.StatusCode.INVALID_ARGUMENT, "UNMATCHED_TOOL_RESULT"),
    errors.DuplicateToolResult: Entry(grpc.StatusCode.INVALID_ARGUMENT, "DUPLICATE_TOOL_RESULT"),
    errors.PolicyOutOfRange: Entry(grpc.StatusCode.INVALID_ARGUMENT, "POLICY_OUT_OF_RANGE"),
    errors.InvalidSessionId: Entry(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_SESSION_ID"),
    errors.WindowTooSmall: Entry(grpc.StatusCode.FAILED_PRECONDITION, "WINDOW_TOO_SMALL"),
    errors.FieldNotSupported: Entry(grpc.StatusCode.UNIMPLEMENTED, "FIELD_NOT_SUPPORTED"),
    errors.RequestTooLarge: Entry(grpc.StatusCode.RESOURCE_EXHAUSTED, "REQUEST_TOO_LARGE"),
    errors.ProviderUnavailable: Entry(grpc.StatusCode.UNAVAILABLE, "PROVIDER_UNAVAILABLE"),
    errors.ProviderTimeout: Entry(grpc.StatusCode.DEADLINE_EXCEEDED, "PROVIDER_TIMEOUT"),
    errors.ProviderRateLimited: Entry(grpc.StatusCode.RESOURCE_EXHAUSTED, "PROVIDER_RATE_LIMITED", 5.0),
    errors.SummaryRejected: Entry(grpc.StatusCode.FAILED_PRECONDITION, "SUMMARY_REJECTED"),
    errors.Overloaded: Entry(grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", 0.5),
    errors.Unauthenticated: Entry(grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"),
}


def code_of(error: errors.CompactionError) -> grpc.StatusCode:
    """The status code of an error."""
    return TABLE[type(error)].code


def status_of(error: errors.CompactionError) -> status_pb2.Status:
    """The rich status of an error: its message, ErrorInfo, and BadRequest or RetryInfo where they belong."""
    entry = TABLE[type(error)]
    details = [_packed(error_details_pb2.ErrorInfo(reason=entry.reason, domain=DOMAIN, metadata=dict(error.metadata)))]
    if isinstance(error, errors.InvalidRequest):
        field = error.metadata.get("field") or error.field
        violation = error_details_pb2.BadRequest.FieldViolation(field=field, description=error.message)
        details.append(_packed(error_details_pb2.BadRequest(field_violations=[violation])))
    if entry.retry_seconds:
        wanted = error.retry_seconds if isinstance(error, errors.ProviderFailed) else None
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(int(1_000 * (entry.retry_seconds if wanted is None else wanted)))
        details.append(_packed(error_details_pb2.RetryInfo(retry_delay=delay)))
    return status_pb2.Status(code=code_pb2.Code.Value(entry.code.name), message=error.message, details=details)


def _packed(detail: object) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(detail)  # type: ignore[arg-type]
    return packed
