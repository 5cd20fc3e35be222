"""Coordinates too large to be held: arrays in a file without a name, few of whose pages are in memory at a time.

NumPy takes them for arrays. What makes another array of such a one, or looks at all of it, does so a few rows at a time
(`by_rows`, `parts`), so that pages can leave memory meanwhile. Of an array in memory both take all rows at once.
"""

import math
import mmap
import os
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
SCATTERED = 128  # single rows that are



@frozen
class Scratch:
    """Where large arrays are made in files, and what is said where there is no room."""

    folder: Path
    where: str  # as the user knows it
    hint: str


_maps: WeakSet[mmap.mmap] = WeakSet()


def scratch_in(folder: Path, where: Path, hint: str) -> AbstractContextManager[None]:
    """Make large arrays in files without a name in a folder, for the length of a `with` block."""
    return set_context(scratch=Scratch(folder, str(where), hint))


def room(*shape: int) -> Array:
    """An array to be filled: a large one in a file, where a folder is known. Raises StorageError for a full disk."""
    scratch, size = context().scratch, 8 * math.prod(shape)
    if scratch is None or size <= HELD:
        return np.empty(shape)
    try:
        pages = mapped(size, scratch.folder)
    except OSError as error:
        raise StorageError("SCRATCH", f"no room for {memory(size)} of coordinates: {error.strerror or error}",
                           where=scratch.where, hint=scratch.hint) from error
    _maps.add(pages)
    return np.frombuffer(pages, dtype=np.float64).reshape(shape)


def mapped(size: int, folder: Path) -> mmap.mmap:
    """So many bytes of a file that vanishes with the process; raises OSError.

    The file is given all its blocks at once, so that a full disk is an error here and not a crash later.
    """
    with TemporaryFile(prefix="mlcli-", dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, size)
        return mmap.mmap(file.fileno(), size)


def held(copies: int, numbers: int) -> float:
    """The bytes that so many arrays of this size take of memory."""
    return 8.0 * copies * (numbers if 8 * numbers <= HELD else TOGETHER)


def filed(copies: int, numbers: int) -> float:
    """The bytes that so many arrays of this size take of the disk."""
    return 8.0 * copies * numbers if 8 * numbers > HELD else 0.0


def in_file(values: Any) -> bool:
    """Whether an array, or what it is a part of, lies in such a file."""
    while isinstance(values, np.ndarray):
        values = values.base
    return isinstance(values, memoryview) and isinstance(values.obj, mmap.mmap)


def let_go() -> None:
    """Takes the pages of all such arrays out of memory; their numbers stay in the files."""
    for pages in list(_maps):
        pages.madvise(mmap.MADV_DONTNEED)


def parts(values: Array) -> Iterator[Array]:
    """The rows of an array, all at once or a few at a time."""
    if not in_file(values):
        yield values
        return
    for rows in row_blocks(len(values), TOGETHER, math.prod(values.shape[1:])):
        yield values[rows]
        let_go()


def together(first: Array, second: Array) -> Iterator[tuple[Array, Array]]:
    """The same rows of two arrays, all at once or a few at a time."""
    blocks = [slice(None)]
    if in_file(first) or in_file(second):
        blocks = row_blocks(len(first), TOGETHER, first.shape[1] + second.shape[1])
    for rows in blocks:
        yield first[rows], second[rows]
        let_go()


def some_of(values: Array, rows: Indices) -> Array:
    """Some rows, in memory; few at a time, for the system reads many pages around each."""
    if not in_file(values):
        return values[rows]
    found = np.empty((len(rows), *values.shape[1:]))
    for chosen in row_blocks(len(rows), SCATTERED):
        found[chosen] = values[rows[chosen]]
        let_go()
    return found


def by_rows(work: Callable[[Array], Array], values: Array) -> Array:
    """What is made of an array's rows, each by itself."""
    if not in_file(values):
        return work(values)
    found, place = np.empty(0), 0
    for some in map(work, parts(values)):
        found = found if place else room(len(values), *some.shape[1:])
        found[place : place + len(some)] = some
        place += len(some)
    return found


def extents(values: Array) -> AnyArray:
    """Which columns hold a number that is not zero."""
    return np.asarray(np.any([np.any(some != 0, axis=0) for some in parts(values)], axis=0))
