"""The only place that uses pyarrow: its version is checked, and its errors become ours."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from mlcli.base import units
from mlcli.base.machine.limits import at_most
from mlcli.base.machine.threads import allowed
from mlcli.base.values.compute import Compute
from mlcli.data.options.wording import place, shown
from mlcli.errors import DataError, DependencyMissing, RefusedByPlan

OLDEST = (23, 0, 1)  # older ones read memory after freeing it: CVE-2026-25087


@cache
def pyarrow() -> Any:
    """The package, recent enough to be safe with files from elsewhere, with as many threads as the run may use."""
    try:
        import pyarrow
    except ImportError:
        raise DependencyMissing("PYARROW", "pyarrow is not installed", hint="pip install 'pyarrow>=23.0.1'") from None
    version = tuple(int(part) for part in pyarrow.__version__.split(".")[:3] if part.isdigit())
    if version < OLDEST:
        raise DependencyMissing("PYARROW", f"pyarrow {pyarrow.__version__} is too old to read files safely",
                                hint="pip install 'pyarrow>=23.0.1'")
    pyarrow.set_cpu_count(allowed())
    return pyarrow


@contextmanager
def arrow_reading(path: str, format: str, compute: Compute) -> Iterator[None]:
    """Reading by Arrow, which decompresses what a file asks for: its memory ends at the run's limit, and with reading.
    """
    try:
        with memory_limited(format, compute), arrow_faults(path, format):
            yield
    finally:
        if "pyarrow" in sys.modules:
            sys.modules["pyarrow"].default_memory_pool().release_unused()


@contextmanager
def memory_limited(format: str, compute: Compute) -> Iterator[None]:
    """Reading by a library whose memory ends at the run's limit; raises RefusedByPlan there."""
    limit = compute.allowed_memory()
    try:
        with at_most(limit.bytes):
            yield
    except MemoryError:
        raise RefusedByPlan("MEMORY", f"reading this {format} file takes more than {units.memory(limit.bytes)}",
                            where=limit.source, hint=f"if the file should be small, it is damaged: write it again; "
                            f"else {limit.remedy}") from None


@contextmanager
def arrow_faults(path: str, format: str) -> Iterator[None]:
    """Whatever Arrow raises on a bad file becomes one DataError; true input errors pass, and so does MemoryError."""
    try:
        yield
    except MemoryError:
        raise
    except OSError as error:
        if error.errno:
            raise
        raise corrupt(path, format, error) from None
    except (pyarrow().ArrowException, ValueError, KeyError, IndexError, RuntimeError, OverflowError) as error:
        raise corrupt(path, format, error) from None


def corrupt(path: str, format: str, error: Exception) -> DataError:
    """The error for a file that its own format's reader refuses."""
    reason = shown(str(error).strip().partition("\n")[0] or type(error).__name__, 160)
    return DataError("CORRUPT", f"this is not a whole {format} file: {reason}", where=place(path),
                     hint="write or copy the file again")
