"""The command `serve`: the process around the server, what it logs and how it ends."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
import traceback
from types import TracebackType

from opentelemetry import trace

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


class OneObject(OneLine):
    """A record as one JSON object a line: time, level, logger, message, what `extra` names as `fields`, the type and
    the places of an exception, and the ids of the span in which it was logged.

    Other fields of `extra` are left out: libraries put there what they like, content of a conversation included.
    """

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            told |= {"trace_id": trace.format_trace_id(span.trace_id), "span_id": trace.format_span_id(span.span_id)}
        return json.dumps(told)


def log_to_stderr(level: int, formatter: logging.Formatter | None = None) -> None:
    """Sends what is logged from a level on to standard error, each record in one line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter or OneLine())
    logging.basicConfig(level=level, handlers=[handler])


def serve() -> int:
    """Serves until SIGTERM or SIGINT. Returns the exit status."""
    keep_buffers()  # before gRPC is imported
    from compactor.config import ConfigError, LogFormat, from_environment
    from compactor.exporting import exports_of
    from compactor.server import serve as run

    try:
        config, exports = from_environment(), exports_of(os.environ)
        log_to_stderr(logging.INFO, OneObject() if config.log_format is LogFormat.JSON else OneLine())
        for chatty in ("httpx", "httpx2", "anthropic"):  # they would tell every address that is asked
            logging.getLogger(chatty).setLevel(logging.WARNING)
        asyncio.run(run(config, exports))
    except ConfigError as error:
        raise WrongUsage(str(error)) from None
    except (OSError, RuntimeError) as error:
        logging.getLogger("compactor").error("the server could not go on: %s", error)
        return NOT_SERVED
    return DONE
