"""The contract's three calls over gRPC: decode, ask the use case, encode; errors become statuses in one place."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

import grpc
from grpc_status import rpc_status

from compactor import status
from compactor.app import Compactor
from compactor.errors import CompactionError, Overloaded, RequestTooLarge
from compactor.exchange import CompactAnswer, CompactCall
from compactor.wire import answers, calls
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import compaction_service_pb2_grpc as pb_grpc

log = logging.getLogger("compactor")

Response = TypeVar("Response")
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
RETRY_MILLISECONDS = 500


class Servicer(pb_grpc.CompactionServiceServicer):
    """Serves a `Compactor`. `max_message_bytes` and `max_concurrent` are refused with an error of the contract."""

    def __init__(self, compactor: Compactor, *, max_message_bytes: int, max_concurrent: int) -> None:
        self._compactor = compactor
        self._max_message_bytes = max_message_bytes
        self._max_concurrent = max_concurrent
        self._in_flight = 0

    async def Compact(  # noqa: N802 - the contract's name
        self, request: pb.CompactRequest, context: Context
    ) -> pb.CompactResponse:
        return await self._compacted(request, context, answers.compact_response)

    async def compact_bytes(self, request: pb.CompactRequest, context: Context) -> bytes:
        """`Compact` with the response as it goes over the wire: its body is copied once instead of three times."""
        return await self._compacted(request, context, answers.compact_bytes)

    async def _compacted(
        self,
        request: pb.CompactRequest,
        context: Context,
        told: Callable[[pb.CompactRequest, CompactCall, CompactAnswer], Response],
    ) -> Response:
        async def answered() -> Response:
            call = calls.compact_call(request, self._compactor)
            return told(request, call, await self._compactor.compact(call, context.time_remaining()))

        return await self._served(request, context, answered)

    async def Summarize(  # noqa: N802 - the contract's name
        self, request: pb.SummarizeRequest, context: Context
    ) -> pb.SummarizeResponse:
        async def answered() -> pb.SummarizeResponse:
            policy = calls.policy_of(request.policy)
            source = calls.source_of(request, policy, self._compactor)
            answer = await self._compactor.summarize(source.request, source.dialect, policy, request.previous_summary)
            return answers.summarize_response(answer)

        return await self._served(request, context, answered)

    async def CountTokens(  # noqa: N802 - the contract's name
        self, request: pb.CountTokensRequest, context: Context
    ) -> pb.CountTokensResponse:
        async def answered() -> pb.CountTokensResponse:
            calls.refuse_set(request, "last_usage")
            policy = calls.policy_of(request.policy)
            source = calls.source_of(request, policy, self._compactor)
            answer = await self._compactor.count_tokens(source.request, policy, context.time_remaining())
            return answers.count_response(answer)

        return await self._served(request, context, answered)

    async def _served(self, request: Any, context: Context, answered: Callable[[], Awaitable[Response]]) -> Response:
        """The answer, or the status of what went wrong. Nothing from inside leaves but what `errors` says."""
        try:
            self._admit(request)
        except CompactionError as error:
            await _abort(context, error)
        self._in_flight += 1
        try:
            return await answered()
        except CompactionError as error:
            await _abort(context, error)
            raise
        except Exception as error:
            frames = "".join(traceback.format_tb(error.__traceback__))
            log.error("internal failure: %s\n%s", type(error).__name__, frames)
            await context.abort(grpc.StatusCode.INTERNAL, "internal failure; the server's log names the place")
            raise
        finally:
            self._in_flight -= 1

    def _admit(self, request: Any) -> None:
        is_native = request.WhichOneof("source") == "native"
        size = len(request.native.body) if is_native else request.ByteSize()
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


async def _abort(context: Context, error: CompactionError) -> None:
    made = rpc_status.to_status(status.status_of(error))
    metadata = list(made.trailing_metadata)
    if isinstance(error, Overloaded):
        metadata.append(("grpc-retry-pushback-ms", str(RETRY_MILLISECONDS)))
    await context.abort(made.code, made.details, tuple(metadata))


def add_to(server: grpc.aio.Server, servicer: Servicer) -> None:
    """Adds the service to a server. The first handler of a method serves it: `Compact` gives bytes, the rest is as
    generated.
    """
    compact = grpc.unary_unary_rpc_method_handler(
        servicer.compact_bytes, request_deserializer=pb.CompactRequest.FromString, response_serializer=None
    )
    name = pb.DESCRIPTOR.services_by_name["CompactionService"].full_name
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, {"Compact": compact}),))
    pb_grpc.add_CompactionServiceServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]
