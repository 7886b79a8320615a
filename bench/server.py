"""The measured process: the real server as `compactor serve` starts it, with an echo on the same gRPC server.

    python -m bench.server

It is configured by the environment, prints its port on a line, and serves until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

ECHO = "/bench.Echo/Echo"
"""The method that answers with the bytes that it was sent."""


def main() -> int:
    """Serves until standard input ends."""
    from compactor.allocator import keep_buffers

    keep_buffers()  # before gRPC is imported, as in the real command
    asyncio.run(_serve())
    return 0


async def _serve() -> None:
    import gc

    import grpc

    from compactor.config import from_environment
    from compactor.exporting import exporting, exports_of
    from compactor.server import compactor_of, start

    class Echo(grpc.GenericRpcHandler):  # type: ignore[type-arg]
        def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
            return handler if handler_call_details.method == ECHO else None

    async def echo(request: bytes, context: object) -> bytes:
        del context
        return request

    handler = grpc.unary_unary_rpc_method_handler(echo)
    config = from_environment()
    with exporting(exports_of(os.environ)) as interceptors:
        running = await start(config, compactor_of(config), interceptors)
        server, port = running.server, running.port
        # gRPC asks for this before the start. Nobody calls before the port is printed, so nobody can tell.
        server.add_generic_rpc_handlers((Echo(),))
        gc.collect()
        gc.freeze()
        print(port, flush=True)
        await asyncio.to_thread(sys.stdin.read)
        await server.stop(None)


if __name__ == "__main__":
    raise SystemExit(main())
