from __future__ import annotations

import asyncio
import logging
import sys


def main() -> int:
    from compactor.allocator import keep_buffers

    keep_buffers()
    from compactor.config import from_environment
    from compactor.server import serve

    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    asyncio.run(serve(from_environment()))
    return 0
