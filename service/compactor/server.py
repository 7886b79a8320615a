"""The composition root: the one place that names concrete adapters, and the process around them."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from dataclasses import dataclass
from functools import partial

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection

from compactor.app import Compactor
from compactor.config import Config, ConfigError
from compactor.counts import Counts
from compactor.exporting import Exports, Interceptors, exporting
from compactor.ports import Summarizer, TokenCounter
from compactor.profiles import profile_of
from compactor.providers.kingfisher import KingfisherRedactor
from compactor.providers.tokenizer import tokenizer_counting
from compactor.reader import Facts
from compactor.servicer import SERVICE, Servicer, add_to
from compactor.stores.filesystem import FilesystemHistory
from compactor.summaries import Summaries

log = logging.getLogger("compactor")

_TRANSPORT_SLACK = 64 << 20
LOOK_SECONDS, QUIET_LOOKS = 0.05, 5


def compactor_of(config: Config) -> Compactor:
    """The use cases over the real adapters."""
    history = FilesystemHistory(config.history_root)
    profiles = partial(profile_of, table=config.profiles)
    counter, summarizer = _provider(config)
    return Compactor(
        history=history,
        facts=Facts(config.facts_max_bytes),
        counts=Counts(tokenizer_counting, counter, config.count_timeout_seconds),
        summaries=Summaries(summarizer, history, profiles, config.summaries),
        redactor=KingfisherRedactor(),
        profile_of=profiles,
        summarizer=config.summarizer,
    )


def _provider(config: Config) -> tuple[TokenCounter | None, Summarizer | None]:
    """What asks the provider, where there is a key for it. Its SDK is loaded only then."""
    if not config.has_provider_key:
        return None, None
    from compactor.providers.anthropic import AnthropicCounter, AnthropicSummarizer

    return AnthropicCounter(), AnthropicSummarizer()


@dataclass(frozen=True, slots=True)
class Running:
    """A server with what it serves, its health, and its port (0 for a UNIX socket)."""

    server: grpc.aio.Server
    servicer: Servicer
    health: HealthServicer
    port: int


async def start(config: Config, compactor: Compactor, interceptors: Interceptors = ()) -> Running:
    """A server that is listening."""
    options = [
        # Above the limit of the contract, so that a request that is too large is told so by an error of the contract.
        ("grpc.max_receive_message_length", config.max_message_bytes + _TRANSPORT_SLACK),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),
    ]
    server = grpc.aio.server(options=options, interceptors=tuple(interceptors))
    servicer = Servicer(compactor, max_message_bytes=config.max_message_bytes, max_concurrent=config.max_concurrent)
    add_to(server, servicer)
    health = HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    names = (SERVICE, health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)
    try:
        port = server.add_insecure_port(config.listen)
    except RuntimeError:
        raise ConfigError(f"HANGO_LISTEN is {config.listen!r}; that address cannot be listened on") from None
    await server.start()
    for name in (SERVICE, ""):
        await health.set(name, health_pb2.HealthCheckResponse.SERVING)
    return Running(server, servicer, health, 0 if config.listen.startswith("unix:") else port)


async def serve(config: Config, exports: Exports) -> None:
    """Serves until SIGTERM or SIGINT, then lets the calls in flight finish, and sends what was to be exported."""
    with exporting(exports) as interceptors:
        await _serve(config, interceptors)


async def _serve(config: Config, interceptors: Interceptors) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    running = await start(config, compactor_of(config), interceptors)
    gc.collect()
    gc.freeze()
    log.info(
        "serving on %s", config.listen if not running.port else f"{config.listen.rpartition(':')[0]}:{running.port}"
    )
    await stop.wait()
    log.info("draining, at most %g s", config.drain_seconds)
    await running.health.enter_graceful_shutdown()
    await _quiet(running.servicer, config.drain_seconds)
    await running.server.stop(config.drain_seconds)


async def _quiet(servicer: Servicer, most_seconds: float) -> None:
    """Waits until no call has been in flight for a moment: gRPC cancels calls that came in but have not begun."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + most_seconds
    idle = 0
    while idle < QUIET_LOOKS and loop.time() < deadline:
        await asyncio.sleep(LOOK_SECONDS)
        idle = 0 if servicer.in_flight else idle + 1
