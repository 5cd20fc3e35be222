"""Limits of `ulimit` on address space and data, and the share that threads take. Imports nothing heavy.

A run maps far more memory than it uses: libraries, stacks, and OpenBLAS's buffers for each thread, which it allocates
when NumPy loads; if it cannot, it ends the process. So too low a limit is an error before NumPy is imported.
"""

import resource
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path

from mlcli.base.machine.footprint import BESIDE, MIB, PLOT, after_fit, resident
from mlcli.base.machine.resources import affinity
from mlcli.base.machine.scheduler import Memory
from mlcli.errors import RefusedByPlan

MAPPED = {"ulimit -v": 430 * MIB, "ulimit -d": 230 * MIB}  # of a small run with one thread
DRAWING = {"ulimit -v": 210 * MIB, "ulimit -d": 110 * MIB}  # more, of one whose figures Matplotlib draws
LIMITS = {"ulimit -v": resource.RLIMIT_AS, "ulimit -d": resource.RLIMIT_DATA}
STACK = 8 * MIB  # of a thread, where the limit of stacks says nothing
BUFFER = 36 * MIB  # of a thread that calls OpenBLAS: 32 MiB, and what else it allocates
LIBRARIES = 2  # of OpenBLAS, NumPy's and SciPy's, each with threads of its own
ARROW = "ARROW_DEFAULT_MEMORY_POOL"  # its own pools reserve a gigabyte of addresses
SLACK = 1 << 30  # bytes that an allocator may reserve beyond what it is asked for


def limit(name: str) -> int:
    """The bytes of a limit that is in force; 0 where there is none."""
    soft, _ = resource.getrlimit(LIMITS[name])
    return 0 if soft == resource.RLIM_INFINITY else soft


def source_text(source: str) -> str:
    """Return the source of a memory limit for messages; for a `ulimit`, with the value that was set (KiB)."""
    return f"what {source} {limit(source) // 1024} leaves" if source in LIMITS else source


def mapped(name: str, threads: int) -> int:
    """The bytes that a run without data takes of a limit, with so many threads."""
    soft, _ = resource.getrlimit(resource.RLIMIT_STACK)
    thread = (STACK if soft == resource.RLIM_INFINITY else soft) + BUFFER
    return MAPPED[name] + (threads - 1) * thread + (min(threads, affinity()) - 1) * LIBRARIES * thread


def require_room(threads: int) -> None:
    """Refuses to start where a limit leaves no room for so many threads; raises RefusedByPlan."""
    for name in LIMITS:
        allowed, needed = limit(name), mapped(name, threads)
        if 0 < allowed < needed:
            fitting = max((count for count in range(1, threads) if mapped(name, count) <= allowed), default=0)
            fewer = f", or use --threads {fitting}" if fitting else ""
            raise RefusedByPlan("ADDRESS-SPACE", f"mlcli with {threads} thread{'s' * (threads > 1)} needs a limit of "
                                f"{needed // MIB} MiB, but it is {allowed // MIB} MiB", where=name,
                                hint=f"raise it to {name} {needed // 1024}{fewer}")


def memory(threads: int) -> list[Memory]:
    """The memory that the limits leave a run with so many threads, what it uses without data included."""
    needs = after_fit().needs
    left = [(name, limit(name) - mapped(name, threads) - DRAWING[name] * (PLOT in needs) + resident(threads, needs))
            for name in LIMITS if limit(name)]
    most, _ = resource.getrlimit(resource.RLIMIT_RSS)  # Linux does not enforce it, but LSF states a job's memory so
    left += [("ulimit -m", most)] if most != resource.RLIM_INFINITY else []
    return [Memory(max(size, 1), name) for name, size in left]


@contextmanager
def limit_allocations(size: int) -> Iterator[None]:
    """In the block, allocations fail beyond the present data size plus `size` bytes and `SLACK`.

    Where the system does not say how many there are (not Linux), nothing is limited.
    """
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    ends = [end for end in (before, most, _data() + size + SLACK) if end != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(ends) if _data() else before, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


@contextmanager
def enforce_limit(size: int, threads: int) -> Iterator[None]:
    """In the block, allocations fail that would take this process beyond `size` bytes of memory.

    The system's limit counts what is reserved, so that what threads and libraries reserve is added to it.
    """
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    ends = [one for one in (before, most, size + reserved(threads)) if one != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(ends), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


def reserved(threads: int) -> int:
    """The bytes that libraries and so many threads reserve without using them."""
    return max(mapped("ulimit -d", threads) - resident(threads), 0)  # none beside JAX, which uses what it maps


def least(needed: float, threads: int) -> float:
    """The least limit with which a run that needs so much memory is not ended where the limit is enforced."""
    needs = after_fit().needs
    return max(needed, float(resident(threads, needs))) + (DRAWING["ulimit -d"] - BESIDE[PLOT]) * (PLOT in needs)


def _data() -> int:
    """The bytes that this process has mapped for data; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:")), 0)


def spare_addresses(environment: MutableMapping[str, str]) -> None:
    """Set Arrow to the allocator of the C library, whose freed memory can be returned: its own pools keep it.

    Where a limit is in force, allocators that reserve far more addresses than they use are kept from that as well.
    """
    environment.setdefault(ARROW, "system")
    if any(limit(name) for name in LIMITS):
        from mlcli.base.allocators import share_arena

        share_arena()
