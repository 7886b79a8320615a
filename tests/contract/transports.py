"""Two ways to the service: over the wire to a server process, and in process through what its servicer calls."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import grpc
from google.rpc import status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from compactor import status
from compactor.app import Compactor
from compactor.config import from_environment
from compactor.errors import CompactionError
from compactor.server import SERVICE, compactor_of
from compactor.wire import answers, calls
from hango.compaction.v1 import compaction_service_pb2 as pb
from hango.compaction.v1 import compaction_service_pb2_grpc as pb_grpc

START_SECONDS = 20.0
CALL_SECONDS = 30.0


class Refused(Exception):
    """A call failed, with the rich status that says why."""

    def __init__(self, status: status_pb2.Status) -> None:
        super().__init__(status.message)
        self.status = status


class Transport(Protocol):
    """Makes calls of the contract. `history_root` is where the service behind it keeps histories."""

    history_root: Path

    def compact(self, request: pb.CompactRequest) -> pb.CompactResponse: ...
    def summarize(self, request: pb.SummarizeRequest) -> pb.SummarizeResponse: ...
    def count_tokens(self, request: pb.CountTokensRequest) -> pb.CountTokensResponse: ...


class Wire:
    """The service over a channel."""

    def __init__(self, channel: grpc.Channel, history_root: Path) -> None:
        self._stub = pb_grpc.CompactionServiceStub(channel)
        self.history_root = history_root

    def compact(self, request: pb.CompactRequest) -> pb.CompactResponse:
        return self._call(self._stub.Compact, request)

    def summarize(self, request: pb.SummarizeRequest) -> pb.SummarizeResponse:
        return self._call(self._stub.Summarize, request)

    def count_tokens(self, request: pb.CountTokensRequest) -> pb.CountTokensResponse:
        return self._call(self._stub.CountTokens, request)

    def _call(self, method: Any, request: Any) -> Any:
        try:
            return method(request, timeout=CALL_SECONDS)
        except grpc.RpcError as error:
            found = rpc_status.from_call(error)  # type: ignore[arg-type]
            if found is None:
                raise AssertionError(f"the error has no rich status: {error.code()}: {error.details()}") from error  # type: ignore[attr-defined]
            raise Refused(found) from error


class InProcess:
    """The service without a socket, each call as its servicer serves it."""

    def __init__(self, history_root: Path) -> None:
        self.history_root = history_root
        self._compactor: Compactor = compactor_of(from_environment({"HANGO_HISTORY_ROOT": str(history_root)}))

    def compact(self, request: pb.CompactRequest) -> pb.CompactResponse:
        async def answered() -> pb.CompactResponse:
            call = calls.compact_call(request, self._compactor)
            return answers.compact_response(request, call, await self._compactor.compact(call))

        return self._run(answered)

    def summarize(self, request: pb.SummarizeRequest) -> pb.SummarizeResponse:
        async def answered() -> pb.SummarizeResponse:
            policy = calls.policy_of(request.policy)
            source = calls.source_of(request, policy, self._compactor)
            return answers.summarize_response(
                await self._compactor.summarize(source.request, source.dialect, policy, request.previous_summary)
            )

        return self._run(answered)

    def count_tokens(self, request: pb.CountTokensRequest) -> pb.CountTokensResponse:
        async def answered() -> pb.CountTokensResponse:
            usage, policy = calls.usage_of(request), calls.policy_of(request.policy)
            source = calls.source_of(request, policy, self._compactor)
            return answers.count_response(await self._compactor.count_tokens(source.request, policy, usage))

        return self._run(answered)

    def _run(self, answered: Any) -> Any:
        try:
            return asyncio.run(answered())
        except CompactionError as error:
            raise Refused(status.status_of(error)) from error
        except Exception as error:
            raise AssertionError(f"an internal failure: {error!r}") from error


@contextmanager
def server(history_root: Path, log: Path) -> Iterator[Wire]:
    """A server process on a free port, serving."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        target = f"127.0.0.1:{probe.getsockname()[1]}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HANGO_", "ANTHROPIC_", "OTEL_"))}
    environment = {**kept, "HANGO_LISTEN": target, "HANGO_HISTORY_ROOT": str(history_root)}
    with log.open("wb") as output:
        command = [sys.executable, "-m", "compactor", "serve"]
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
            with grpc.insecure_channel(target, options) as channel:
                _wait(channel, process, log)
                yield Wire(channel, history_root)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(START_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(channel: grpc.Channel, process: subprocess.Popen[bytes], log: Path) -> None:
    health = health_pb2_grpc.HealthStub(channel)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            answer = health.Check(health_pb2.HealthCheckRequest(service=SERVICE), timeout=1, wait_for_ready=True)
        except grpc.RpcError:
            continue
        if answer.status == health_pb2.HealthCheckResponse.SERVING:
            return
    raise RuntimeError(f"the server did not start:\n{log.read_text()}")
