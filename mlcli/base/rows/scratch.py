"""Coordinates too large for memory: arrays mapped to a file without a name, few of whose pages are in memory.

They are NumPy arrays. Code that derives an array from another, or reads all of one, takes a few rows at a time
(`map_blocks`, `parts`), so that the system can free pages meanwhile. For an array in memory both take all rows at once.
"""

import fcntl
import math
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from weakref import WeakSet

import numpy as np

from mlcli.base.context import context, set_context
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.units import memory
from mlcli.errors import StorageError

HELD = 1 << 24  # bytes of an array that is held in memory
TOGETHER = 1 << 18  # numbers that are looked at together
SCATTERED = 128  # single rows that are read together
PREALLOCATE, ALLOCATE_ALL, FROM_PHYSICAL_END = 42, 4, 3  # of macOS, in sys/fcntl.h


@frozen
class Scratch:
    """The folder of arrays in files, and place and hint of the error for a full disk."""

    folder: Path
    where: str  # as the user knows it
    hint: str


_maps: WeakSet[mmap.mmap] = WeakSet()


def scratch_in(folder: Path, where: Path, hint: str) -> AbstractContextManager[None]:
    """Make large arrays in files without a name in a folder, for the length of a `with` block."""
    return set_context(scratch=Scratch(folder, str(where), hint))


def allocate(*shape: int) -> Array:
    """Return an array of this shape to be filled, in a file if it is large and the context names a folder.

    Raises StorageError for a full disk.
    """
    scratch, size = context().scratch, 8 * math.prod(shape)
    if scratch is None or size <= HELD:
        return np.empty(shape)
    try:
        pages = map_file(size, scratch.folder)
    except OSError as error:
        raise StorageError("SCRATCH", f"no room for {memory(size)} of coordinates: {error.strerror or error}",
                           where=scratch.where, hint=scratch.hint) from error
    _maps.add(pages)
    return np.frombuffer(pages, dtype=np.float64).reshape(shape)


def allocate_blocks(descriptor: int, size: int) -> None:
    """Give an open file `size` bytes of blocks on the disk; raises OSError where it has not as many.

    macOS has no `posix_fallocate`. There fcntl(2) allocates blocks from the physical end of the file, all or none.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    fcntl.fcntl(descriptor, PREALLOCATE, struct.pack("@Iiqqq", ALLOCATE_ALL, FROM_PHYSICAL_END, 0, size, 0))
    os.ftruncate(descriptor, size)


def map_file(size: int, folder: Path) -> mmap.mmap:
    """Map `size` bytes of a file that vanishes with the process; raises OSError.

    The file is given all its blocks at once, so that a full disk is an error here and not a crash later.
    """
    with TemporaryFile(prefix="mlcli-", dir=folder) as file:
        allocate_blocks(file.fileno(), size)
        return mmap.mmap(file.fileno(), size)


def bytes_in_memory(copies: int, numbers: int) -> float:
    """Return the bytes of memory that `copies` arrays of `numbers` numbers take."""
    return 8.0 * copies * (numbers if 8 * numbers <= HELD else TOGETHER)


def bytes_on_disk(copies: int, numbers: int) -> float:
    """Return the bytes on disk that `copies` arrays of `numbers` numbers take."""
    return 8.0 * copies * numbers if 8 * numbers > HELD else 0.0


def in_file(values: Any) -> bool:
    """Whether an array, or the array that it is a view of, lies in such a file."""
    while isinstance(values, np.ndarray):
        values = values.base
    return isinstance(values, memoryview) and values.obj in _maps


def release_pages() -> None:
    """Takes the pages of all such arrays out of memory; their numbers stay in the files."""
    for pages in list(_maps):
        pages.madvise(mmap.MADV_DONTNEED)


def parts(values: Array) -> Iterator[Array]:
    """Yield blocks of rows of an (n, k) array: all of an array in memory, else a few at a time."""
    if not in_file(values):
        yield values
        return
    for rows in row_blocks(len(values), TOGETHER, math.prod(values.shape[1:])):
        yield values[rows]
        release_pages()


def zip_blocks(first: Array, second: Array) -> Iterator[tuple[Array, Array]]:
    """Yield equal blocks of rows of an (n, k) and an (n, m) array: all at once, or a few if one is in a file."""
    blocks = [slice(None)]
    if in_file(first) or in_file(second):
        blocks = row_blocks(len(first), TOGETHER, first.shape[1] + second.shape[1])
    for rows in blocks:
        yield first[rows], second[rows]
        release_pages()


def take_rows(values: Array, rows: Indices) -> Array:
    """Return the chosen rows of an (n, k) array in memory, read few at a time: each read brings many pages."""
    if not in_file(values):
        return values[rows]
    found = np.empty((len(rows), *values.shape[1:]))
    for chosen in row_blocks(len(rows), SCATTERED):
        found[chosen] = values[rows[chosen]]
        release_pages()
    return found


def map_blocks(work: Callable[[Array], Array], values: Array) -> Array:
    """Return `work(values)`, an array with n rows, for an (n, k) array and a `work` that treats every row alone."""
    if not in_file(values):
        return work(values)
    found, place = np.empty(0), 0
    for some in map(work, parts(values)):
        found = found if place else allocate(len(values), *some.shape[1:])
        found[place : place + len(some)] = some
        place += len(some)
    return found


def nonzero_columns(values: Array) -> AnyArray:
    """Return a mask (k,) of the columns of an (n, k) array that hold a nonzero number."""
    return np.asarray(np.any([np.any(some != 0, axis=0) for some in parts(values)], axis=0))
