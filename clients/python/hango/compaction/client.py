"""The client: the contract's three calls as methods, over whatever transport.

    from hango.compaction import Client

    with Client.connect("127.0.0.1:50051") as client:
        result = client.compact(body, session_id="tour", record=record)
        send_to_provider(result.body)
        record = result.record  # goes into the next call

`body` is the request that is about to go to the provider, whole and raw: never one that an earlier call returned. It is
the provider's own JSON as bytes or as a dict, or a `Conversation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from hango.compaction import transport
from hango.compaction.calls import (
    Body,
    CompactResult,
    PolicyLike,
    Reason,
    ResultMode,
    compact_request,
    compact_result,
    count_request,
    summarize_request,
)
from hango.compaction.sources import Format
from hango.compaction.v1.compaction_pb2 import Compaction
from hango.compaction.v1.compaction_service_pb2 import (
    CountTokensResponse,
    ObservedOverflow,
    ObservedUsage,
    SummarizeResponse,
)

DEFAULT_TIMEOUT_SECONDS = 120.0
"""How long a call may take, retries included. A summary by a model may alone take a minute."""


class Client:
    """Makes calls and waits for them. Safe to share between threads; a context manager that closes its transport.

    `timeout` is in seconds, for each call that does not say its own. With `result_mode` "EDITS" only what changed comes
    back over the wire, and the client makes the same body of it.
    """

    def __init__(
        self,
        transport: transport.Transport,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        result_mode: ResultMode = "FULL",
    ) -> None:
        self._transport = transport
        self._timeout = timeout
        self._result_mode: ResultMode = result_mode

    @classmethod
    def connect(
        cls, target: str, *, timeout: float = DEFAULT_TIMEOUT_SECONDS, result_mode: ResultMode = "FULL"
    ) -> Client:
        """A client of the server at `host:port` or `unix:path`. The connection is made with the first call.

        For credentials or interceptors, make the channel yourself: `Client(Channel(grpc.secure_channel(...)))`.
        """
        return cls(transport.Channel.to(target), timeout=timeout, result_mode=result_mode)

    @classmethod
    def in_process(
        cls,
        *,
        history_root: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        result_mode: ResultMode = "FULL",
    ) -> Client:
        """A client that runs the service in this process, configured as a server: by the environment.

        `history_root` is the folder of the histories, and wins over the environment's. Needs the package `compactor`.
        """
        runs = transport.InProcess(history_root=history_root, environment=environment)
        return cls(runs, timeout=timeout, result_mode=result_mode)

    def compact(
        self,
        body: Body,
        *,
        format: Format | None = None,
        policy: PolicyLike | None = None,
        record: Compaction | None = None,
        session_id: str = "",
        turn_id: str = "",
        reason: Reason | None = None,
        stable_system_count: int | None = None,
        last_usage: ObservedUsage | None = None,
        overflow: ObservedOverflow | None = None,
        explain: bool = False,
        result_mode: ResultMode | None = None,
        timeout: float | None = None,
    ) -> CompactResult:
        """A request that fits the model's context window, and the record that reproduces it.

        The options are the fields of CompactRequest. `format` is found from the body where it is not said, `policy` may
        be a dict by the contract's names, or the name of a preset (`presets`). Raises CompactionError, ValueError for a
        policy that cannot be written.

            result = client.compact(
                {"model": "claude-haiku-4-5", "max_tokens": 1024, "messages": messages},
                session_id="tour",
                policy={"trigger_fraction": 0.7, "unclipped_tools": ["write_file"]},
            )
            anthropic.messages.create(**result.request)
        """
        request = compact_request(
            body,
            format=format,
            policy=policy,
            record=record,
            session_id=session_id,
            turn_id=turn_id,
            reason=reason,
            stable_system_count=stable_system_count,
            last_usage=last_usage,
            overflow=overflow,
            explain=explain,
            result_mode=result_mode or self._result_mode,
        )
        return compact_result(request, self._call("Compact", request, timeout))

    def summarize(
        self,
        body: Body,
        *,
        format: Format | None = None,
        policy: PolicyLike | None = None,
        previous_summary: str = "",
        timeout: float | None = None,
    ) -> SummarizeResponse:
        """A summary of the given messages, with what it cost and what it preserved. Raises as `compact` does.

        print(client.summarize(body, previous_summary=earlier.summary).summary)
        """
        request = summarize_request(body, format=format, policy=policy, previous_summary=previous_summary)
        response: SummarizeResponse = self._call("Summarize", request, timeout)
        return response

    def count_tokens(
        self,
        body: Body,
        *,
        format: Format | None = None,
        policy: PolicyLike | None = None,
        last_usage: ObservedUsage | None = None,
        timeout: float | None = None,
    ) -> CountTokensResponse:
        """The input tokens of the whole request, where they are spent, and the room left. Raises as `compact` does.

        if client.count_tokens(body).available_input_tokens < 10_000:
            ...
        """
        request = count_request(body, format=format, policy=policy, last_usage=last_usage)
        response: CountTokensResponse = self._call("CountTokens", request, timeout)
        return response

    def close(self) -> None:
        """Closes the transport; further calls fail."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, method: transport.Method, request: Any, timeout: float | None) -> Any:
        return self._transport.call(method, request, self._timeout if timeout is None else timeout)


class AsyncClient:
    """Makes calls that are awaited; the rest is as in `Client`.

    async with AsyncClient.connect("unix:/run/compactor.sock") as client:
        result = await client.compact(body, session_id="tour")
    """

    def __init__(
        self,
        transport: transport.AsyncTransport,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        result_mode: ResultMode = "FULL",
    ) -> None:
        self._transport = transport
        self._timeout = timeout
        self._result_mode: ResultMode = result_mode

    @classmethod
    def connect(
        cls, target: str, *, timeout: float = DEFAULT_TIMEOUT_SECONDS, result_mode: ResultMode = "FULL"
    ) -> AsyncClient:
        """A client of the server at `host:port` or `unix:path`, for the running event loop."""
        return cls(transport.AsyncChannel.to(target), timeout=timeout, result_mode=result_mode)

    @classmethod
    def in_process(
        cls,
        *,
        history_root: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        result_mode: ResultMode = "FULL",
    ) -> AsyncClient:
        """A client that runs the service in a thread of this process; see `Client.in_process`."""
        runs = transport.AsyncInProcess(history_root=history_root, environment=environment)
        return cls(runs, timeout=timeout, result_mode=result_mode)

    async def compact(
        self,
        body: Body,
        *,
        format: Format | None = None,
        policy: PolicyLike | None = None,
        record: Compaction | None = None,
        session_id: str = "",
        turn_id: str = "",
        reason: Reason | None = None,
        stable_system_count: int | None = None,
        last_usage: ObservedUsage | None = None,
        overflow: ObservedOverflow | None = None,
        explain: bool = False,
        result_mode: ResultMode | None = None,
        timeout: float | None = None,
    ) -> CompactResult:
        """A request that fits the model's context window, and its record; see `Client.compact`."""
        request = compact_request(
            body,
            format=format,
            policy=policy,
            record=record,
            session_id=session_id,
            turn_id=turn_id,
            reason=reason,
            stable_system_count=stable_system_count,
            last_usage=last_usage,
            overflow=overflow,
            explain=explain,
            result_mode=result_mode or self._result_mode,
        )
        return compact_result(request, await self._call("Compact", request, timeout))

    async def summarize(
        self,
        body: Body,
        *,
        format: Format | None = None,
        policy: PolicyLike | None = None,
        previous_summary: str = "",
        timeout: float | None = None,
    ) -> SummarizeResponse:
        """A summary of the given messages; see `Client.summarize`."""
        request = summarize_request(body, format=format, policy=policy, previous_summary=previous_summary)
        response: SummarizeResponse = await self._call("Summarize", request, timeout)
        return response

    async def count_tokens(
        self,
        body: Body,
        *,
        format: Format | None = None,
        policy: PolicyLike | None = None,
        last_usage: ObservedUsage | None = None,
        timeout: float | None = None,
    ) -> CountTokensResponse:
        """The input tokens of the whole request and the room left; see `Client.count_tokens`."""
        request = count_request(body, format=format, policy=policy, last_usage=last_usage)
        response: CountTokensResponse = await self._call("CountTokens", request, timeout)
        return response

    async def close(self) -> None:
        """Closes the transport; further calls fail."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _call(self, method: transport.Method, request: Any, timeout: float | None) -> Any:
        return await self._transport.call(method, request, self._timeout if timeout is None else timeout)
