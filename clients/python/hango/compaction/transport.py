"""How a call reaches the service: over a gRPC channel or in this process, awaited or not.

Whatever the way, a failure is a `CompactionError`, and an overloaded service is asked again when it says so.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, cast

import grpc
import grpc.aio

from hango.compaction.errors import CompactionError, DeadlineExceeded, Trailing, error_of, pushback_seconds
from hango.compaction.telemetry import in_process, propagated
from hango.compaction.v1.compaction_service_pb2_grpc import CompactionServiceStub

if TYPE_CHECKING:
    from compactor.servicer import Servicer

Method = Literal["Compact", "Summarize", "CountTokens"]

MOST_TRIES = 5
"""How often a call is made at most, while the service is unreachable or overloaded."""

_RETRIES = {
    "methodConfig": [
        {
            "name": [{"service": "hango.compaction.v1.CompactionService"}],
            "retryPolicy": {
                "maxAttempts": MOST_TRIES,
                "initialBackoff": "0.1s",
                "maxBackoff": "2s",
                "backoffMultiplier": 2,
                # RESOURCE_EXHAUSTED also says that a request is too large, which no retry mends: see `_Tries`.
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}
OPTIONS: Sequence[tuple[str, Any]] = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.service_config", json.dumps(_RETRIES)),
    # gRPC silently does not retry a request that is larger than this, 256 KiB by default. The largest that a service
    # can be told to take is as large.
    ("grpc.per_rpc_retry_buffer_size", 1 << 30),
)


class Transport(Protocol):
    """Makes calls and waits for their answers."""

    def call(self, method: Method, request: Any, timeout: float) -> Any:
        """The response to a request of the contract. Raises CompactionError."""
        ...

    def close(self) -> None:
        """Gives up what the transport holds; further calls fail."""
        ...


class AsyncTransport(Protocol):
    """Makes calls whose answers are awaited."""

    async def call(self, method: Method, request: Any, timeout: float) -> Any:
        """The response to a request of the contract. Raises CompactionError."""
        ...

    async def close(self) -> None:
        """Gives up what the transport holds; further calls fail."""
        ...


class Channel:
    """Over a channel of gRPC, which may be one of the caller's own, with interceptors or credentials."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self._stub = CompactionServiceStub(channel)  # type: ignore[no-untyped-call]

    @classmethod
    def to(cls, target: str) -> Channel:
        """A channel without encryption to `host:port` or `unix:path`, set up as this service wants it."""
        return cls(grpc.insecure_channel(target, OPTIONS, grpc.Compression.NoCompression))

    def call(self, method: Method, request: Any, timeout: float) -> Any:
        tries = _Tries(timeout)
        while True:
            try:
                stub = getattr(self._stub, method)
                return stub(request, timeout=tries.seconds_left, metadata=propagated())
            except grpc.RpcError as error:
                failed = cast("Any", error)  # a grpc.Call as well, which its type does not say
                wait = tries.wait(failed.code(), failed.details(), failed.trailing_metadata())
            time.sleep(wait)

    def close(self) -> None:
        self._channel.close()


class AsyncChannel:
    """Over a channel of gRPC's asyncio API, which may be one of the caller's own."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._stub = CompactionServiceStub(channel)  # type: ignore[no-untyped-call]

    @classmethod
    def to(cls, target: str) -> AsyncChannel:
        """A channel without encryption to `host:port` or `unix:path`, set up as this service wants it."""
        return cls(grpc.aio.insecure_channel(target, OPTIONS, grpc.Compression.NoCompression))

    async def call(self, method: Method, request: Any, timeout: float) -> Any:
        tries = _Tries(timeout)
        while True:
            try:
                stub = getattr(self._stub, method)
                return await stub(request, timeout=tries.seconds_left, metadata=propagated())
            except grpc.aio.AioRpcError as error:
                wait = tries.wait(error.code(), error.details(), cast("Trailing", error.trailing_metadata()))
            await asyncio.sleep(wait)

    async def close(self) -> None:
        await self._channel.close(None)


class InProcess:
    """In this process: the service's own code, its size limit and its errors, without a socket.

    The service runs in an event loop of its own in a thread of its own, so that it may be called from any thread and
    does not hold up a caller's loop. `environment` is what it is configured from, the process's own where it is None.
    Raises `compactor.config.ConfigError` for an environment that a server would refuse.
    """

    def __init__(self, *, history_root: str | Path | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._servicer = _servicer(history_root, environment)
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(_run(started)), name="compactor", daemon=True)
        self._thread.start()
        self._loop, self._stop = started.result()

    def call(self, method: Method, request: Any, timeout: float) -> Any:
        """The response to a request of the contract. Raises CompactionError."""
        answer = self._asked(method, request, timeout)
        try:
            return answer.result(timeout)
        except TimeoutError:
            answer.cancel()
            raise _too_late(timeout) from None
        except CancelledError:
            raise CompactionError("the client was closed", code=grpc.StatusCode.CANCELLED) from None

    async def call_async(self, method: Method, request: Any, timeout: float) -> Any:
        """The same, awaited."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(self._asked(method, request, timeout)), timeout)
        except TimeoutError:
            raise _too_late(timeout) from None

    def close(self) -> None:
        """Stops the service; calls in flight are cancelled."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def _asked(self, method: Method, request: Any, timeout: float) -> Future[Any]:
        if not self._thread.is_alive():
            raise ValueError("the client is closed")
        return asyncio.run_coroutine_threadsafe(self._answer(method, request, timeout), self._loop)

    async def _answer(self, method: Method, request: Any, timeout: float) -> Any:
        tries = _Tries(timeout)
        while True:
            try:
                with in_process(method):
                    return await getattr(self._servicer, method)(request, _Context(tries))
            except _Aborted as aborted:
                wait = tries.wait(*aborted.status)
            await asyncio.sleep(wait)


class AsyncInProcess:
    """`InProcess` for callers that await."""

    def __init__(self, *, history_root: str | Path | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._service = InProcess(history_root=history_root, environment=environment)

    async def call(self, method: Method, request: Any, timeout: float) -> Any:
        return await self._service.call_async(method, request, timeout)

    async def close(self) -> None:
        await asyncio.to_thread(self._service.close)


class _Tries:
    """The time and the tries that one call has left."""

    def __init__(self, timeout: float) -> None:
        self._end = time.monotonic() + timeout
        self._left = MOST_TRIES

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def wait(self, code: grpc.StatusCode, message: str | None, trailing: Trailing | None) -> float:
        """Seconds until the next try. Raises the error of the status where there is to be none."""
        trailing = tuple(trailing or ())
        self._left -= 1
        seconds = pushback_seconds(trailing)
        is_asked_again = code is grpc.StatusCode.RESOURCE_EXHAUSTED and self._left > 0
        if is_asked_again and seconds is not None and seconds < self.seconds_left:
            return seconds
        raise error_of(code, message or "", trailing) from None


class _Aborted(Exception):
    """A call that the service ended with a status."""

    def __init__(self, code: grpc.StatusCode, message: str, trailing: Trailing) -> None:
        super().__init__(message)
        self.status = (code, message, trailing)


class _Context:
    """What the service uses of a call's context."""

    def __init__(self, tries: _Tries) -> None:
        self._tries = tries

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing_metadata: Trailing = ()) -> NoReturn:
        raise _Aborted(code, details, trailing_metadata)

    def invocation_metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        return ()

    def time_remaining(self) -> float:
        return self._tries.seconds_left


async def _run(started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    stop = asyncio.Event()
    started.set_result((asyncio.get_running_loop(), stop))
    await stop.wait()


def _servicer(history_root: str | Path | None, environment: Mapping[str, str] | None) -> Servicer:
    """The service as a server makes it. The one place of this package that imports it."""
    from compactor.config import from_environment
    from compactor.server import compactor_of
    from compactor.servicer import Servicer

    config = from_environment() if environment is None else from_environment(environment)
    if history_root is not None:
        config = replace(config, history_root=Path(history_root))
    return Servicer(
        compactor_of(config), max_message_bytes=config.max_message_bytes, max_concurrent=config.max_concurrent
    )


def _too_late(timeout: float) -> CompactionError:
    return DeadlineExceeded(f"no answer within {timeout:g} s", code=grpc.StatusCode.DEADLINE_EXCEEDED)
