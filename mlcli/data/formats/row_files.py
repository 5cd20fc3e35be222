"""Files that are read a block of rows at a time: Parquet by row group, Arrow by record batch, NPY by position.

Each is a value that can be pickled; a thread opens the file for itself.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, BinaryIO, Self, cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Part
from mlcli.base.types import Array, Indices
from mlcli.data.files.arrow import arrow_faults, corrupt
from mlcli.data.files.file_id import FileId, plain_stream, require_read
from mlcli.data.files.shared_handle import Positioned
from mlcli.data.formats.columns import as_doubles, as_texts
from mlcli.data.formats.npy import Header
from mlcli.data.formats.npy import texts as as_texts_of_numbers
from mlcli.data.table.sheet import numbered

PART = 1 << 19  # numbers read together: 4 MiB
FEWEST = 256  # rows read together of a columnar file, where each column costs a call
DECODED = 1 << 20  # numbers of a Parquet file decoded at once, for each column of a batch costs a call
BLOCK = 1 << 23  # numbers of a block of an NPY file: 64 MiB
ROWS = 1 << 18  # the most rows of it, of which there are results
BUFFERED = 1 << 26  # bytes of a row group above which columns are read through small buffers
BUFFER = 1 << 16  # bytes of such a buffer
BATCHES = 3  # of a column that a Parquet reader holds at once
PAGE, DICTIONARY = 20_000, 1 << 20  # rows of a page of a column, and bytes of its dictionary, as most writers have them
ALLOCATED = 1.35  # bytes that an allocator takes for one that is asked for, where sizes vary


def part_rows(columns: int, fewest: int = 1) -> int:
    """Rows that are read together."""
    return max(PART // max(columns, 1), fewest)


def numbers_of(batch: Any) -> Array:
    """A record batch of numbers, its columns one after the other in memory (m x d)."""
    types = {str(kind) for kind in batch.schema.types}
    if types <= {"double"} or types <= {"float"}:
        return np.asarray(batch.to_tensor(null_to_nan=True, row_major=False).to_numpy(), dtype=np.float64)
    return np.stack([as_doubles(column) for column in batch.columns]).T


def parquet_file(stream: BinaryIO) -> Any:
    """An open Parquet file."""
    from pyarrow import parquet

    return parquet.ParquetFile(stream, page_checksum_verification=True, pre_buffer=False)


def buffered_parquet(stream: BinaryIO) -> Any:
    """The same, whose columns are read through small buffers."""
    from pyarrow import parquet

    return parquet.ParquetFile(stream, page_checksum_verification=True, pre_buffer=False, buffer_size=BUFFER)


def encoded(metadata: Any) -> tuple[int, float]:
    """Rows of the largest row group of a Parquet file, and bytes of one of its columns before compression."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    stored = max((group.total_byte_size / max(group.num_columns, 1) for group in groups), default=0.0)
    return max((group.num_rows for group in groups), default=0), stored


def column_bytes(batch: int, rows: int, stored: float) -> float:
    """What decoding a column of a row group takes: batches, a page, and a dictionary as it is stored and as it is used.

    Numbers in a dictionary are stored in more bytes than they have where they all differ, in fewer where they repeat.
    """
    plain = 8.0 * rows
    dictionary = 2.0 * min(plain, DICTIONARY) if stored > plain else 0.0
    return 8.0 * (BATCHES * min(batch, rows) + min(rows, PAGE)) + dictionary


class GroupedRows:
    """What files of named columns share: they are read by groups of rows, never by single ones."""

    names: tuple[str, ...]  # of columns of numbers
    direct = False

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return len(self.names)

    @property
    def part(self) -> int:
        """Rows that are read together."""
        return part_rows(self.columns, FEWEST)

    def take(self, chosen: Indices) -> Array:
        """Groups of rows are read as a whole."""
        raise NotImplementedError

    def in_order(self, names: tuple[str, ...]) -> Self:
        """The same columns in another order."""
        return replace(cast(Any, self), names=names)


@frozen
class ParquetRows(GroupedRows):
    """Chosen columns of one or several Parquet files, row group by row group."""

    groups: tuple[tuple[FileId, int, int], ...]  # each with its file, its number there and its first row of all
    rows: int
    names: tuple[str, ...]  # of columns of numbers
    large: bool  # whether a row group is too large to be held compressed
    stored: float = 0.0  # bytes of a column of a row group before compression, at most

    @cached_property
    def held(self) -> int:
        """Bytes that a thread holds while it decodes: for every column batches, a page, a dictionary, and its buffer.
        """
        most = int(np.diff(self.bounds).max(initial=0))
        return int(ALLOCATED * self.columns * (column_bytes(self.decoded, most, self.stored) + BUFFER * self.large))

    @property
    def decoded(self) -> int:
        """Rows that are decoded at once, a multiple of those that are read together."""
        return max(DECODED // max(self.columns, 1) // self.part, 1) * self.part

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """Where row groups begin, and behind them the number of rows."""
        return (*(first for *_, first in self.groups), self.rows)

    def parts(self, number: int) -> Iterator[Part]:
        """The rows of a row group."""
        first = self.bounds[number]
        for batch in self.batches(number, self.names, self.decoded):
            chosen = batch.select(list(self.names))
            for start in range(0, batch.num_rows, self.part):
                yield first + start, numbers_of(chosen.slice(start, self.part))
            first += batch.num_rows
        self._require(number, first)

    def texts(self, number: int, names: tuple[str, ...]) -> list[list[str]]:
        """Columns of texts of a row group."""
        path, first = self.groups[number][0].path, self.bounds[number]
        columns: list[list[str]] = [[] for _ in names]
        for batch in self.batches(number, names, self.part):
            for texts, name in zip(columns, names, strict=True):
                texts.extend(as_texts(batch.column(name), name, path))
        self._require(number, first + len(columns[0]))
        return columns

    def batches(self, number: int, names: tuple[str, ...], rows: int) -> Iterator[Any]:
        """Some columns of a row group, so many rows at a time."""
        id, group, _ = self.groups[number]
        with arrow_faults(id.path, "Parquet"):
            file = id.opened(buffered_parquet if self.large else parquet_file)
            for batch in file.iter_batches(rows, [group], list(names), use_threads=False):
                batch.validate(full=True)
                yield batch

    def _require(self, number: int, end: int) -> None:
        """Refuses a row group that has not as many rows as it announced."""
        if end != self.bounds[number + 1]:
            raise corrupt(self.groups[number][0].path, "Parquet", ValueError("rows are missing that it announces"))

    def key(self) -> str:
        """The files, and the columns."""
        return repr(([(id.key, group) for id, group, _ in self.groups], self.names))


@frozen
class ArrowReader:
    """What opens an Arrow IPC file for some of its columns: all others are neither read nor decompressed."""

    names: tuple[str, ...]

    def __call__(self, stream: BinaryIO) -> Any:
        from pyarrow import ipc

        known = ipc.open_file(stream).schema
        return ipc.open_file(stream, options=ipc.IpcReadOptions(
            included_fields=sorted(known.get_field_index(name) for name in self.names)))


@frozen
class ArrowRows(GroupedRows):
    """Chosen columns of an Arrow IPC file, record batch by record batch."""

    id: FileId
    bounds: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def held(self) -> int:
        """Bytes that a thread holds while it decodes: a record batch."""
        return 8 * self.columns * int(np.diff(self.bounds).max(initial=0))

    def parts(self, number: int) -> Iterator[Part]:
        """The rows of a record batch."""
        first, batch = self.bounds[number], self._batch(number, self.names)
        for start in range(0, batch.num_rows, self.part):
            yield first + start, numbers_of(batch.slice(start, self.part))

    def texts(self, number: int, names: tuple[str, ...]) -> list[list[str]]:
        """Columns of texts of a record batch."""
        batch = self._batch(number, names)
        return [as_texts(batch.column(name), name, self.id.path) for name in names]

    def _batch(self, number: int, names: tuple[str, ...]) -> Any:
        with arrow_faults(self.id.path, "Arrow"):
            batch = self.id.opened(ArrowReader(names)).get_batch(number).select(list(names))
            batch.validate(full=True)
        if batch.num_rows != self.bounds[number + 1] - self.bounds[number]:
            raise corrupt(self.id.path, "Arrow", ValueError("rows are missing that it announces"))
        return batch

    def key(self) -> str:
        """The file, and the columns."""
        return repr((self.id.key, self.names))


@frozen
class NpyRows:
    """Chosen columns of an array (n x d) in an NPY file, in C order."""

    id: FileId
    header: Header
    chosen: Indices | None  # columns; all where None

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """Where blocks begin, and behind them the number of rows."""
        step = max(self.part, min(BLOCK // max(self.header.shape[1], 1), ROWS))
        return (*range(0, self.header.shape[0], step), self.header.shape[0])

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return self.header.shape[1] if self.chosen is None else len(self.chosen)

    direct, held = True, 0

    @property
    def part(self) -> int:
        """Rows that are read together."""
        return part_rows(self.header.shape[1])

    def parts(self, number: int) -> Iterator[Part]:
        """The rows of a block."""
        for first in range(self.bounds[number], self.bounds[number + 1], self.part):
            yield first, self.span(first, min(first + self.part, self.bounds[number + 1]))

    def texts(self, number: int, names: tuple[str, ...]) -> list[list[str]]:
        """Columns of numbers of a block as texts."""
        every = numbered("x", self.header.shape[1])
        columns = replace(self, chosen=np.array([every.index(name) for name in names]))
        values = np.concatenate([rows for _, rows in columns.parts(number)])
        return [list(as_texts_of_numbers(column)) for column in values.T]

    def take(self, chosen: Indices) -> Array:
        """Single rows (m x d)."""
        return np.concatenate([self.span(row, row + 1) for row in chosen.tolist()] or [np.empty((0, self.columns))])

    def span(self, start: int, stop: int) -> Array:
        """Rows that follow each other (m x d)."""
        stored = np.empty((stop - start, self.header.shape[1]), self.header.dtype)
        raw = cast(Positioned, cast(Any, self.id.opened(plain_stream)).raw)
        width = self.header.shape[1] * self.header.dtype.itemsize
        read = raw.read_at(self.header.offset + start * width, memoryview(stored.reshape(-1).view(np.uint8).data))
        require_read(self.id.path, read, stored.nbytes)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            values = stored.astype(np.float64, copy=False)
        return values if self.chosen is None else values[:, self.chosen]

    def key(self) -> str:
        """The file, and the columns."""
        return repr((self.id.key, None if self.chosen is None else self.chosen.tolist()))
