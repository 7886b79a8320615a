"""The contract's three calls over gRPC: decode, ask the use case, encode; errors become statuses in one place."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol, TypeAlias, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message
from grpc_status import rpc_status

from compactor import status, telemetry
from compactor.app import Compactor
from compactor.errors import CompactionError, MalformedPayload, Overloaded, ProviderFailed, RequestTooLarge
from compactor.exchange import CompactAnswer, CompactCall
from compactor.wire import answers, calls
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import compaction_service_pb2_grpc as pb_grpc

log = logging.getLogger("compactor")

Response = TypeVar("Response")
T = TypeVar("T")
Answered = TypeVar("Answered", covariant=True)
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
RETRY_MILLISECONDS = 500
_PUSHBACK, _NEVER = "grpc-retry-pushback-ms", "-1"
SERVICE = pb.DESCRIPTOR.services_by_name["CompactionService"].full_name
LARGE_BYTES = 2 << 20
"""Requests from this size on are read in a thread: reading one for the first time may take tens of milliseconds."""


class _Call(Protocol[Answered]):
    """What serves a call, given the request, its context and its size in bytes."""

    async def __call__(self, request: Any, context: Context, size: int, /) -> Answered: ...


class Servicer(pb_grpc.CompactionServiceServicer):
    """Serves a `Compactor`. `max_message_bytes` and `max_concurrent` are refused with an error of the contract."""

    def __init__(self, compactor: Compactor, *, max_message_bytes: int, max_concurrent: int) -> None:
        self._compactor = compactor
        self._max_message_bytes = max_message_bytes
        self._max_concurrent = max_concurrent
        self._in_flight = 0

    @property
    def in_flight(self) -> int:
        """Calls that are being served."""
        return self._in_flight

    async def Compact(  # noqa: N802 - the contract's name
        self, request: pb.CompactRequest, context: Context
    ) -> pb.CompactResponse:
        return await self._served(self._compacted(answers.compact_response), request, context, request.ByteSize())

    async def Summarize(  # noqa: N802 - the contract's name
        self, request: pb.SummarizeRequest, context: Context
    ) -> pb.SummarizeResponse:
        return await self._served(self._summarized, request, context, request.ByteSize())

    async def CountTokens(  # noqa: N802 - the contract's name
        self, request: pb.CountTokensRequest, context: Context
    ) -> pb.CountTokensResponse:
        return await self._served(self._counted, request, context, request.ByteSize())

    def handlers(self) -> dict[str, grpc.RpcMethodHandler[bytes, bytes]]:
        """The three calls as they come and go over the wire, in bytes: what is no message is an error of the contract,
        the size is known before anything is read, and a whole body is copied once instead of three times.
        """
        compacted = self._compacted(answers.compact_bytes)
        return {
            "Compact": self._handler("Compact", pb.CompactRequest.FromString, compacted, bytes),
            "Summarize": self._handler("Summarize", pb.SummarizeRequest.FromString, self._summarized, _encoded),
            "CountTokens": self._handler("CountTokens", pb.CountTokensRequest.FromString, self._counted, _encoded),
        }

    def _handler(
        self, name: str, decoded: Callable[[bytes], Any], call: _Call[Any], encoded: Callable[[Any], bytes]
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        async def handled(data: bytes, context: Context) -> bytes:
            with _measured(f"{SERVICE}/{name}", context):
                try:
                    request = decoded(data)
                except DecodeError:
                    return await _abort(context, MalformedPayload("the call holds no message of the contract"))
                return encoded(await self._served(call, request, context, len(data)))

        return grpc.unary_unary_rpc_method_handler(handled)

    def _compacted(self, told: Callable[[pb.CompactRequest, CompactCall, CompactAnswer], Response]) -> _Call[Response]:
        async def compacted(request: pb.CompactRequest, context: Context, size: int) -> Response:
            call = await _read(size, calls.compact_call, request, self._compactor)
            return told(request, call, await self._compactor.compact(call, context.time_remaining()))

        return compacted

    async def _summarized(self, request: pb.SummarizeRequest, context: Context, size: int) -> pb.SummarizeResponse:
        policy = calls.policy_of(request.policy)
        source = await _read(size, calls.source_of, request, policy, self._compactor)
        answer = await self._compactor.summarize(
            source.request, source.dialect, policy, request.previous_summary, context.time_remaining()
        )
        return answers.summarize_response(answer)

    async def _counted(self, request: pb.CountTokensRequest, context: Context, size: int) -> pb.CountTokensResponse:
        usage, policy = calls.usage_of(request), calls.policy_of(request.policy)
        source = await _read(size, calls.source_of, request, policy, self._compactor)
        return answers.count_response(
            await self._compactor.count_tokens(source.request, policy, usage, context.time_remaining())
        )

    async def _served(self, call: _Call[Response], request: Any, context: Context, size: int) -> Response:
        """The answer, or the status of what went wrong. Nothing from inside leaves but what `errors` says."""
        try:
            self._admit(size)
        except CompactionError as error:
            return await _abort(context, error)
        self._in_flight += 1
        try:
            return await call(request, context, size)
        except CompactionError as error:
            return await _abort(context, error)
        except RecursionError:  # read at the edge of what the parser takes, then looked at again from deeper inside
            return await _abort(context, MalformedPayload("the request is nested too deeply", detail="depth"))
        except Exception as error:
            frames = "".join(traceback.format_tb(error.__traceback__))
            log.error("internal failure: %s\n%s", type(error).__name__, frames)
            telemetry.refused(grpc.StatusCode.INTERNAL.name)
            await context.abort(grpc.StatusCode.INTERNAL, "internal failure; the server's log names the place")
            raise
        finally:
            self._in_flight -= 1

    def _admit(self, size: int) -> None:
        if size > self._max_message_bytes:
            raise RequestTooLarge(
                f"the request has {size} bytes, at most {self._max_message_bytes} are taken",
                size_bytes=size,
                max_bytes=self._max_message_bytes,
            )
        if self._in_flight >= self._max_concurrent:
            raise Overloaded(
                f"{self._in_flight} calls are being served, no more are taken",
                max_concurrent=self._max_concurrent,
                in_flight=self._in_flight,
            )


async def _read(size: int, reading: Callable[..., T], *arguments: Any) -> T:
    """Reads a request; a large one in a thread, so that health checks and other calls get their turns meanwhile."""
    if size < LARGE_BYTES:
        return reading(*arguments)
    return await asyncio.to_thread(reading, *arguments)


def _encoded(message: Message) -> bytes:
    return message.SerializeToString()


@contextmanager
def _measured(method: str, context: Context) -> Iterator[None]:
    """Tells how long a call took and how it ended, whatever it ends in."""
    started, ended = time.perf_counter(), grpc.StatusCode.UNKNOWN.name
    try:
        yield
        ended = grpc.StatusCode.OK.name
    except grpc.aio.AbortError:
        ended = context.code().name
        raise
    except asyncio.CancelledError:  # the caller has gone
        ended = grpc.StatusCode.CANCELLED.name
        raise
    finally:
        telemetry.served(method, time.perf_counter() - started, ended)


async def _abort(context: Context, error: CompactionError) -> NoReturn:
    telemetry.refused(status.TABLE[type(error)].reason)
    made = rpc_status.to_status(status.status_of(error))
    metadata = list(made.trailing_metadata)
    if isinstance(error, Overloaded):
        metadata.append((_PUSHBACK, str(RETRY_MILLISECONDS)))
    elif isinstance(error, ProviderFailed):
        metadata.append((_PUSHBACK, _NEVER))  # the provider was asked as often as is sensible
    await context.abort(made.code, made.details, tuple(metadata))
    raise error


def add_to(server: grpc.aio.Server, servicer: Servicer) -> None:
    """Adds the service to a server."""
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, servicer.handlers()),))
