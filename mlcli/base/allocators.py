"""Memory that was freed, given back to the system. Imports nothing heavy.

Allocators keep what is freed for what comes next. Between two stages that is most of the memory of the first. Limits
count it as used, and the next stage, with arrays of other sizes, allocates again.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Return the free memory of the allocators of C and Arrow to the system; takes a millisecond or two."""
    _trim()(0)
    pool = getattr(sys.modules.get("pyarrow"), "default_memory_pool", None)  # none while it is being imported
    if pool is not None:
        pool().release_unused()


@cache
def _trim() -> Callable[[int], object]:
    """The GNU C library's malloc_trim; elsewhere nothing."""
    try:
        return getattr(ctypes.CDLL(None), "malloc_trim", lambda kept: None)
    except OSError:
        return lambda kept: None
