"""Memory that was freed, given back to the system. Imports nothing heavy.

Allocators keep what is freed for what comes next. Between two stages that is most of the memory of the first. Limits
count it as used, and the next stage, with arrays of other sizes, allocates again.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache

WORTH = 2**24  # bytes that are worth it: each page that is given back costs a fault when it is used again


class _Held:
    """The memory of the process."""

    least = 0.0  # bytes at the least since memory was given back


def give_back() -> None:
    """Return the free memory of the allocators of C and Arrow to the system, where that can be much.

    What the process has gained since the last time bounds it. It takes a millisecond or two.
    """
    now = resident_memory()
    _Held.least = min(_Held.least, now)
    if 0 < now < _Held.least + WORTH:
        return
    _trim()(0)
    pool = getattr(sys.modules.get("pyarrow"), "default_memory_pool", None)  # none while it is being imported
    if pool is not None:
        pool().release_unused()
    _Held.least = resident_memory()


def resident_memory() -> float:
    """Return the memory that the process holds, in bytes; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as sizes:  # noqa: PTH123 (no import)
            return float(sizes.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0.0


@cache
def _trim() -> Callable[[int], object]:
    """The GNU C library's malloc_trim; elsewhere nothing."""
    try:
        return getattr(ctypes.CDLL(None), "malloc_trim", lambda kept: None)
    except OSError:
        return lambda kept: None
