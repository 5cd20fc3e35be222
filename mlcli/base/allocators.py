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
# The GNU C library raises these two by itself, up to here, as large arrays are freed (mallopt(3)). Before that, each
# array of a small run goes to the system and back: 2,000 page faults in a run of 300 rows.
TRIM_THRESHOLD, MMAP_THRESHOLD = (-1, 2**26), (-3, 2**25)  # number of the parameter, and bytes
ARENAS = (-8, 1)  # threads share one: with an arena of their own, each kept what its blocks took, a tenth of a run


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
    _of_c("malloc_trim")(0)
    pool = getattr(sys.modules.get("pyarrow"), "default_memory_pool", None)  # none while it is being imported
    if pool is not None:
        pool().release_unused()
    _Held.least = resident_memory()


def resident_memory() -> float:
    """Return the memory that the process holds, in bytes; 0 where the system does not say."""
    try:
        sizes = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)  # a third of the time of a file of text
    except OSError:
        return 0.0
    try:
        return float(os.read(sizes, 256).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0.0
    finally:
        os.close(sizes)


@cache
def keep_freed_memory() -> None:
    """Let the GNU C library keep freed arrays for the next ones from the start; for a process of this program alone.

    `give_back` returns them where they are much.
    """
    choose = _of_c("mallopt")
    for number, size in (TRIM_THRESHOLD, MMAP_THRESHOLD, ARENAS):
        choose(number, size)


def share_arena() -> None:
    """Let threads share one arena of the GNU C library: each beyond the first reserves 64 MiB of addresses."""
    _of_c("mallopt")(*ARENAS)


@cache
def _of_c(name: str) -> Callable[..., object]:
    """A function of the GNU C library; elsewhere one that does nothing."""
    try:
        return getattr(ctypes.CDLL(None), name, lambda *numbers: None)
    except OSError:
        return lambda *numbers: None
