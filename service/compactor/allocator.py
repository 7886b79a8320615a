"""Settings of the C library's allocator that keep large buffers from going back to the kernel after every call.

A request of some megabytes is received into fresh buffers. By default glibc returns them to the kernel at once, and the
next call pays for thousands of page faults: measured on a 4 MB echo, four times the CPU of the whole call. The settings
only help together. Where the C library is another one, nothing happens.
"""

from __future__ import annotations

import ctypes

_MMAP_THRESHOLD, _TRIM_THRESHOLD, _TOP_PAD, _ARENA_MAX = -3, -1, -2, -8
_SETTINGS = (
    (_MMAP_THRESHOLD, 32 << 20),
    (_TRIM_THRESHOLD, 512 << 20),
    (_TOP_PAD, 64 << 20),
    (_ARENA_MAX, 2),
)


def keep_buffers() -> bool:
    """Applies the settings to this process; False where they are not to be had. Call it before the buffers come."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return all(mallopt(name, value) == 1 for name, value in _SETTINGS)
