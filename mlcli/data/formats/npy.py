"""NPY: an array of NumPy after a header, read whole or by position."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Part
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.data.files.file_id import FileId, plain_stream, require_read
from mlcli.data.files.shared_handle import SharedFile
from mlcli.data.files.source import Opened
from mlcli.data.formats.arrays import StoredArray, flat, image_of, points_of, require_kind
from mlcli.data.formats.arrays import texts as as_texts
from mlcli.data.formats.block_file import BlockFile
from mlcli.data.formats.condensed_rows import BLOCK, CondensedRows
from mlcli.data.formats.npy_file import Header, read_header, require_size, stored_in
from mlcli.data.formats.reader import Reader
from mlcli.data.formats.row_files import part_rows
from mlcli.data.options.input import Input
from mlcli.data.table.selection import choose
from mlcli.data.table.sheet import FEWER, numbered_names, require_content

ROWS = 1 << 18  # most rows of a block: results are computed by block


@frozen
class NpyRows:
    """Chosen columns of an (n, d) array in an NPY file, in C order."""

    id: FileId
    header: Header
    chosen: Indices | None  # columns; all where None

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """First rows of blocks, and the number of rows."""
        step = max(self.part, min(BLOCK // max(self.header.shape[1], 1), ROWS))
        return (*range(0, self.header.shape[0], step), self.header.shape[0])

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.header.shape[1] if self.chosen is None else len(self.chosen)

    direct, buffer_bytes = True, 0

    @property
    def part(self) -> int:
        """The number of rows read in one step."""
        return part_rows(self.header.shape[1])

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block."""
        for first in range(self.bounds[number], self.bounds[number + 1], self.part):
            yield first, self.span(first, min(first + self.part, self.bounds[number + 1]))

    def texts(self, number: int, names: tuple[str, ...]) -> list[list[str]]:
        """Return columns of numbers of a block as texts."""
        every = numbered_names("x", self.header.shape[1])
        columns = replace(self, chosen=np.array([every.index(name) for name in names]))
        values = np.concatenate([rows for _, rows in columns.parts(number)])
        return [list(as_texts(column)) for column in values.T]

    def take(self, chosen: Indices) -> Array:
        """Return single rows as an (m, d) array."""
        return np.concatenate([self.span(row, row + 1) for row in chosen.tolist()] or [np.empty((0, self.columns))])

    def span(self, start: int, stop: int) -> Array:
        """Return consecutive rows as an (m, d) array."""
        stored = np.empty((stop - start, self.header.shape[1]), self.header.dtype)
        raw = cast(SharedFile, cast(Any, self.id.open_once(plain_stream)).raw)
        width = self.header.shape[1] * self.header.dtype.itemsize
        read = raw.read_at(self.header.offset + start * width, memoryview(stored.reshape(-1).view(np.uint8).data))
        require_read(self.id.path, read, stored.nbytes)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            values = stored.astype(np.float64, copy=False)
        return values if self.chosen is None else values[:, self.chosen]

    def key(self) -> str:
        """Return the file and the columns, for cache keys."""
        return repr((self.id.key, None if self.chosen is None else self.chosen.tolist()))


@contextmanager
def array_in(opened: Opened, input: Input, compute: Compute) -> Iterator[StoredArray]:
    """Open the array of a file."""
    with opened.stream() as stream:
        yield stored_in(stream, opened.size, opened.path, FEWER, opened.mapped)


def blocks_of(opened: Opened, input: Input, compute: Compute, known: tuple[str, ...]) -> BlockFile | None:
    """Return the rows of an array in C order, or of a condensed matrix; None for any other."""
    with opened.stream() as stream:
        header = read_header(stream, opened.path)
    require_kind(header.dtype, header.shape, input)
    require_size(header, opened.size, opened.path)
    if header.dtype.itemsize > 8:
        return None
    id = FileId(opened.path, opened.state)
    if input.square and (len(header.shape) == 1 or min(header.shape) == 1 < max(header.shape)):
        file = CondensedRows(id, header)
        points_of(math.prod(header.shape), opened.path)
        return BlockFile(file, choose(numbered_names("x", file.columns), input), named=False)
    if header.fortran:
        return None
    image = image_of(header.shape)
    header = replace(header, shape=flat(header.shape))
    require_content(header.shape[0], header.shape[1], opened.path)
    choice = choose(numbered_names("x", header.shape[1]), input)
    columns: Indices = np.asarray(choice.values, dtype=np.int64)
    chosen = None if len(columns) == header.shape[1] else columns
    return BlockFile(NpyRows(id, header, chosen), choice, named=False, image=image if chosen is None else None)


READER = Reader(array=array_in, blocks=blocks_of)
