"""A status of the service becomes one error of the client's tree."""

from __future__ import annotations

import grpc
import pytest
from grpc_status import rpc_status

from compactor import errors as service_errors
from compactor import status
from hango.compaction.errors import BY_REASON, CompactionError, DeadlineExceeded, NotServed, error_of, pushback_seconds


@pytest.mark.parametrize("kind", sorted(status.TABLE, key=lambda kind: kind.__name__))
def test_every_error_of_the_service_is_known(kind: type[service_errors.CompactionError]) -> None:
    made = rpc_status.to_status(status.status_of(kind("a sentence", field="policy.x", value=3)))
    error = error_of(made.code, made.details, made.trailing_metadata)
    entry = status.TABLE[kind]
    assert type(error) is BY_REASON[entry.reason]
    assert (error.reason, error.code, error.message) == (entry.reason, entry.code, "a sentence")
    assert error.metadata == {"field": "policy.x", "value": "3"}
    assert error.retry_seconds == (entry.retry_seconds or None)
    is_momentary = entry.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    assert error.is_retryable == (is_momentary or bool(entry.retry_seconds))


@pytest.mark.parametrize(
    ("code", "kind", "is_retryable"),
    [
        (grpc.StatusCode.UNAVAILABLE, NotServed, True),
        (grpc.StatusCode.DEADLINE_EXCEEDED, DeadlineExceeded, True),
        (grpc.StatusCode.INTERNAL, CompactionError, False),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, CompactionError, False),
    ],
)
def test_a_status_without_details_goes_by_its_code(
    code: grpc.StatusCode, kind: type[CompactionError], is_retryable: bool
) -> None:
    error = error_of(code, "gone", ())
    assert type(error) is kind
    assert (error.reason, error.metadata, error.is_retryable) == ("", {}, is_retryable)
    assert str(error) == "gone"


def test_details_that_cannot_be_read_leave_the_code() -> None:
    error = error_of(grpc.StatusCode.INTERNAL, "x", [("grpc-status-details-bin", b"\xff\xff"), ("other", "y")])
    assert (error.reason, error.code) == ("", grpc.StatusCode.INTERNAL)


@pytest.mark.parametrize(("value", "seconds"), [("500", 0.5), ("0", 0.0), ("-1", None), ("soon", None)])
def test_pushback_that_forbids_or_is_unreadable_is_none(value: str, seconds: float | None) -> None:
    assert pushback_seconds([("grpc-retry-pushback-ms", value)]) == seconds
