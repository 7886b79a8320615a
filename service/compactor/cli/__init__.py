"""The command line: `compactor serve | compact FILE | count FILE | replay FILE | summarize FILE`.

gRPC and all that needs it are imported when a command runs, never before: a server has to set up its allocator first,
and `--help` should not wait.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from compactor.cli.arguments import Arguments, parser
from compactor.cli.exits import DONE, INTERRUPTED, WRONG_USAGE, WrongUsage


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status; argparse itself leaves with SystemExit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter is no reason to fail
    arguments = parser().parse_args(argv, namespace=Arguments())
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except WrongUsage as error:
        print(f"compactor {arguments.command}: error: {error}", file=sys.stderr)  # noqa: T201 - what a command says
        return WRONG_USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return status


def _run(arguments: Arguments) -> int:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC's own lines would stand between ours
    if arguments.command == "serve":
        from compactor.cli.serving import serve

        return serve()
    from compactor.cli import commands

    match arguments.command:
        case "compact":
            return commands.compact(arguments)
        case "count":
            return commands.count(arguments)
        case "replay":
            return commands.replay(arguments)
        case _:
            return commands.summarize(arguments)
