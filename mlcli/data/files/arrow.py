"""The only module that imports pyarrow: it checks the version and translates errors."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from mlcli.base import units
from mlcli.base.machine.limits import limit_allocations
from mlcli.base.machine.threads import allowed
from mlcli.base.values.compute import Compute
from mlcli.data.options.wording import place, words_of
from mlcli.errors import DataError, DependencyMissing, RefusedByPlan

OLDEST = (23, 0, 1)  # earlier versions read memory after freeing it: CVE-2026-25087
DAMAGED = "if the file should be small, it is damaged: write it again"


@cache
def pyarrow() -> Any:
    """Return the package, with as many threads as the run may use; raises DependencyMissing if absent or unsafe."""
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
    """Read with Arrow under the run's memory limit, and release its unused memory afterwards.

    Raises RefusedByPlan beyond the limit and DataError for a damaged file.
    """
    try:
        with memory_limited(format, compute), arrow_faults(path, format):
            yield
    finally:
        if "pyarrow" in sys.modules:
            sys.modules["pyarrow"].default_memory_pool().release_unused()


@contextmanager
def memory_limited(format: str, compute: Compute) -> Iterator[None]:
    """Limit the memory of a library that reads a file to that of the run; raises RefusedByPlan beyond it."""
    limit = compute.allowed_memory()
    try:
        with limit_allocations(limit.bytes):
            yield
    except MemoryError:
        raise RefusedByPlan("MEMORY", f"reading this {format} file takes more than {units.memory(limit.bytes)}",
                            where=limit.source, hint=f"{DAMAGED}; else {limit.remedy}") from None


@contextmanager
def arrow_faults(path: str, format: str) -> Iterator[None]:
    """Raise DataError for any error of Arrow on a bad file; errors of the operating system and MemoryError pass."""
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


@contextmanager
def block_faults(path: str, format: str) -> Iterator[None]:
    """Raise as `arrow_faults` for a block of rows, and RefusedByPlan where the file claims more than memory holds."""
    try:
        with arrow_faults(path, format):
            yield
    except MemoryError:
        raise RefusedByPlan("MEMORY", f"a block of rows of this {format} file takes more than the memory",
                            where=place(path), hint=f"{DAMAGED}; else write it with smaller blocks of rows") from None


@contextmanager
def library_faults(path: str, format: str, kinds: tuple[type[Exception], ...]) -> Iterator[None]:
    """Raise DataError for errors of a library on a bad file, of some `kinds`; those of the operating system pass."""
    try:
        yield
    except OSError as error:
        if error.errno:
            raise
        raise corrupt(path, format, error) from None
    except kinds as error:
        raise corrupt(path, format, error) from None


def corrupt(path: str, format: str, error: Exception) -> DataError:
    """Return the error for a file that its own format's reader rejects."""
    return damage_error(path, format, words_of(error))


def damage_error(path: str, format: str, what: str) -> DataError:
    """Return the error for a file that is not a whole one of its format."""
    return DataError("CORRUPT", f"this {format} file is incomplete or damaged: {what}", where=place(path),
                     hint="write or copy the file again")
