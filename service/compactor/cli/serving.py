"""The command `serve`: the process around the server, what it logs and how it ends."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
import traceback
from types import TracebackType

from compactor.allocator import keep_buffers
from compactor.cli.exits import DONE, NOT_SERVED, WrongUsage


class OneLine(logging.Formatter):
    """A record as one line: time in UTC, level, logger, message. Of an exception the type and the places, never its
    message, which may hold content of a conversation.
    """

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        lines = (line.strip() for line in super().format(record).splitlines())
        return " | ".join(line for line in lines if line.strip("^~ "))

    def formatException(  # noqa: N802 - the name of the standard library
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        kind, _, trace = ei
        return "".join((kind.__name__ if kind else "", "\n", *traceback.format_tb(trace)))


def log_to_stderr(level: int) -> None:
    """Sends what is logged from a level on to standard error, each record in one line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    logging.basicConfig(level=level, handlers=[handler])


def serve() -> int:
    """Serves until SIGTERM or SIGINT. Returns the exit status."""
    keep_buffers()  # before gRPC is imported
    from compactor.config import ConfigError, from_environment
    from compactor.server import serve as run

    log_to_stderr(logging.INFO)
    for chatty in ("httpx", "httpx2", "anthropic"):  # they would tell every address that is asked
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        asyncio.run(run(from_environment()))
    except ConfigError as error:
        raise WrongUsage(str(error)) from None
    except (OSError, RuntimeError) as error:
        logging.getLogger("compactor").error("the server could not go on: %s", error)
        return NOT_SERVED
    return DONE
