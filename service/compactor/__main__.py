"""`python -m compactor`."""

from __future__ import annotations

import sys

from compactor.cli import main

if __name__ == "__main__":
    sys.exit(main())
