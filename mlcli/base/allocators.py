"""Memory that was freed, given back to the system. Imports nothing heavy.

Allocators keep what is freed for what comes next. Between two stages that is most of what the first has used, which no
limit tells from memory in use, and which the next one, with arrays of other sizes, takes anew.
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
