"""Parquet files, by row group and a few columns at a time; texts are checked against limits before decoding.

Metadata of column chunks is not read: if it is damaged, Arrow ends the process.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import cached_property, partial
from itertools import chain, groupby, pairwise
from typing import Any, BinaryIO

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Part
from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import arrow_reading, block_faults, corrupt, pyarrow
from mlcli.data.files.source import FileId, Opened
from mlcli.data.files.streams import require_within_limits
from mlcli.data.formats.block_file import BlockFile
from mlcli.data.formats.columns import (
    Columnar,
    Columns,
    GroupedRows,
    Lengths,
    Require,
    as_texts,
    chosen_columns,
    columns_of,
    element_type,
    is_text,
    no_limits,
    numbered_batches,
    read_columns,
)
from mlcli.data.formats.parts import parts_differ
from mlcli.data.formats.reader import Reader
from mlcli.data.options.input import AllTexts, Input
from mlcli.data.table.sheet import Sheet

BATCH = 1 << 18  # rows read in one step, fewer of lists: of most files a row group, as each step costs
ELEMENTS = 1 << 18  # elements of lists decoded in one step
FIRST = 64  # rows read in one step to look up the length of lists
COLUMNS = 12  # columns decoded together: few enough for the memory, enough for the threads
ROOM = 1 << 28  # bytes of texts decoded in one step if each may repeat the one before it
NUMBER = 8  # bytes of a number at most
DECODED = 1 << 20  # numbers decoded in one step in blocks: each column of a batch costs a call
BUFFERED = 1 << 26  # bytes of a row group above which columns are read through small buffers
BUFFER = 1 << 16  # bytes of such a buffer
BATCHES = 3  # batches of a column in memory, at most: those of its row group, and a copy
PAGE, DICTIONARY = 20_000, 1 << 20  # rows of a page of a column, and bytes of its dictionary, as most writers have them
AHEAD = 2  # row groups that the disk reads meanwhile
ALLOCATED = 1.35  # bytes taken by an allocator for each requested byte, for varying sizes


@contextmanager
def arrow_file(opened: Opened) -> Iterator[Any]:
    """Open an input for Arrow."""
    with opened.stream() as stream:
        yield native_file(stream)


def native_file(stream: BinaryIO) -> Any:
    """Return a file that Arrow's threads read without the interpreter, where a descriptor has a name; else the stream.
    """
    try:
        return pyarrow().OSFile(f"/dev/fd/{stream.fileno()}")
    except OSError:  # which a stream without a descriptor raises too
        return stream


@frozen
class ParquetFile:
    """A Parquet file, open in two ways."""

    kept: Any  # texts stay in dictionaries: a few bytes may refer to a long one a million times
    decoded: Any
    numbers: int  # how many columns are no texts, each element of lists counted
    lengths: Lengths  # of lists

    def batch(self, names: Sequence[str]) -> int:
        """Return the rows of these columns that are read in one step: of lists few, as they are decoded together."""
        elements = sum(self.lengths.get(name, 0) for name in names)
        return max(1, ELEMENTS // elements) if elements else BATCH


def read_parquet(opened: Opened, input: Input, compute: Compute) -> Sheet:
    """Read the numbers and names of a Parquet file."""
    from pyarrow import parquet

    pyarrow()
    with arrow_reading(opened.path, "Parquet", compute), arrow_file(opened) as stream, arrow_file(opened) as again:
        decoded = parquet.ParquetFile(stream, page_checksum_verification=True)
        names, types = decoded.schema_arrow.names, decoded.schema_arrow.types
        texts = [name for name, kind in zip(names, types, strict=True) if is_text(kind)]
        options: dict[str, Any] = {"page_checksum_verification": True}
        if any(element_type(kind) is not None for kind in types):  # whose columns are as large as the file
            options |= {"pre_buffer": False, "buffer_size": BUFFER}
            decoded = parquet.ParquetFile(stream, **options)
        kept = parquet.ParquetFile(again, read_dictionary=texts, **options) if texts else decoded
        columns = _columns_of(decoded, input)
        numbers = decoded.metadata.num_columns - len(texts) + columns.elements
        file = ParquetFile(kept, decoded, numbers, columns.lengths)
        columnar = Columnar(columns, decoded.metadata.num_rows, partial(_batches, file),
                            partial(require_modest_texts, decoded, opened.size, input, numbers))
        return read_columns(columnar, opened, input, compute)


def _columns_of(file: Any, input: Input) -> Columns:
    """Return the columns of a file, with the elements of lists."""
    schema = file.schema_arrow
    return columns_of(schema.names, schema.types, lambda name: file.iter_batches(FIRST, columns=[name]),
                      texts=isinstance(input, AllTexts))


def _batches(file: ParquetFile, names: list[str]) -> Iterator[tuple[int, Any]]:
    """Yield the batches of the row groups in order, some of their columns at a time."""
    start = 0
    for group in range(file.decoded.metadata.num_row_groups):
        for first in range(0, len(names), COLUMNS):
            for row, batch in numbered_batches(start, _of_group(file, group, names[first:first + COLUMNS])):
                batch.validate(full=True)  # Arrow does not check indices into a damaged dictionary
                yield row, batch
        start += file.decoded.metadata.row_group(group).num_rows


def _of_group(file: ParquetFile, group: int, names: list[str]) -> Iterator[Any]:
    """Return batches of some columns of a row group.

    Texts stored as differences come without dictionaries, and few at a time: each may be as long as all.
    """
    try:
        batches = file.kept.iter_batches(file.batch(names), [group], names)
        first = next(batches, None)
    except OSError as error:  # Arrow cannot read this encoding into dictionaries
        if error.errno:
            raise
        rows = max(1, min(BATCH, ROOM // max(1, _text_bytes(file.decoded, group, file.numbers))))
        batches = file.decoded.iter_batches(rows, [group], names)
        first = next(batches, None)
    return chain([] if first is None else [first], batches)


def _text_bytes(file: Any, group: int, numbers: int) -> int:
    """Return the bytes of a row group before compression that are not numbers, of which a row has so many."""
    chunks = file.metadata.row_group(group)
    return max(0, int(chunks.total_byte_size) - NUMBER * chunks.num_rows * numbers)


def require_modest_texts(file: Any, stored: int, input: Input, numbers: int, names: list[str]) -> int:
    """Return the bytes of the texts in `names`, beside so many numbers in a row; raises DataError beyond the limits of
    `input`.
    """
    total = sum(_text_bytes(file, group, numbers) for group in range(file.metadata.num_row_groups)) if names else 0
    require_within_limits(total, stored, "the text in the file", input)
    return total


def parquet_file(stream: BinaryIO) -> Any:
    """Return an open Parquet file."""
    from pyarrow import parquet

    return parquet.ParquetFile(native_file(stream), page_checksum_verification=True, pre_buffer=False)


def buffered_parquet(stream: BinaryIO) -> Any:
    """Return an open Parquet file with small buffers for its columns."""
    from pyarrow import parquet

    return parquet.ParquetFile(native_file(stream), page_checksum_verification=True, pre_buffer=False,
                               buffer_size=BUFFER)


def largest_group(metadata: Any, columns: int) -> tuple[int, float]:
    """Return the rows of the largest row group, and the bytes of one of its columns before compression.

    `columns` are those of the table, of which lists have several.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    stored = max((group.total_byte_size / max(group.num_columns, columns, 1) for group in groups), default=0.0)
    return max((group.num_rows for group in groups), default=0), stored


def column_bytes(batch: int, rows: int, stored: float) -> float:
    """Return the bytes that decode a column: batches, a page, and a dictionary in stored and decoded form.

    Numbers in a dictionary are stored in more bytes than they have if they all differ, in fewer if they
    repeat.
    """
    plain = 8.0 * rows
    dictionary = 2.0 * min(plain, DICTIONARY) if stored > plain else 0.0
    batches = min(BATCHES, -(-rows // max(batch, 1)) + 1)
    page = (4.0 if dictionary > 0 and plain <= DICTIONARY else 8.0) * min(rows, PAGE)  # places in it, or numbers
    return 8.0 * batches * min(batch, rows) + page + dictionary


@frozen
class RowGroup:
    """A row group of one of several files."""

    file: FileId
    number: int  # in the file
    first: int  # its first row, of those of all files
    stored: int  # bytes before compression


@frozen
class ParquetRows(GroupedRows):
    """Chosen columns of one or several Parquet files, row group by row group."""

    groups: tuple[RowGroup, ...]
    rows: int
    names: tuple[str, ...]  # of columns of numbers
    large: bool  # whether a row group, or a column of lists, is too large to keep in compressed form
    stored: float = 0.0  # bytes of a column of a row group before compression, at most
    lengths: Lengths = field(default_factory=dict)

    @cached_property
    def buffer_bytes(self) -> int:
        """The bytes in use while a thread decodes: for every column batches, a page, a dictionary, and its buffer."""
        most = int(np.diff(self.bounds).max(initial=0))
        each = column_bytes(self.decoded, most, self.stored)
        return int(ALLOCATED * (self.columns * each + len(self.sources) * BUFFER * self.large))

    @property
    def decoded(self) -> int:
        """The number of rows decoded in one step, a multiple of those that are read together."""
        return max(DECODED // max(self.columns, 1) // self.part, 1) * self.part

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """First rows of row groups, and the number of rows."""
        return (*(group.first for group in self.groups), self.rows)

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the rows of a row group."""
        first, path = self.bounds[number], self.groups[number].file.path
        for batch in self.batches(number, tuple(self.sources), self.decoded):
            for start in range(0, batch.num_rows, self.part):
                yield first + start, self.numbers(batch.slice(start, self.part), first + start, path)
            first += batch.num_rows
        self._require(number, first)

    def text_parts(self, number: int, names: tuple[str, ...], most: int) -> Iterator[list[list[str]]]:
        """Yield columns of texts of a row group, at most `most` rows at a time."""
        path, first = self.groups[number].file.path, self.bounds[number]
        for batch in self.batches(number, names, most):
            yield [as_texts(batch.column(name), name, path) for name in names]
            first += batch.num_rows
        self._require(number, first)

    def batches(self, number: int, names: tuple[str, ...], rows: int) -> Iterator[Any]:
        """Yield some columns of a row group, `rows` rows at a time."""
        group = self.groups[number]
        with block_faults(group.file.path, "Parquet"):
            file = group.file.open_once(buffered_parquet if self.large else parquet_file)
            if 2 * len(names) >= file.metadata.num_columns:  # of few columns the disk reads little
                self._expect(number)
            for batch in file.iter_batches(rows, [group.number], list(names), use_threads=False):
                batch.validate(full=True)
                yield batch

    def _expect(self, number: int) -> None:
        """Have the disk read what comes after a row group: of its columns a little of each is decoded at a time."""
        for coming in range(number + (number > 0), min(number + AHEAD + 1, len(self.groups))):
            self.groups[coming].file.expect(*self._spans[coming])

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """The first byte of each row group in its file, and the first one after it, nearly: by the groups' sizes.

        The metadata of columns, which say it, are not read (see above).
        """
        found = list[tuple[int, int]]()
        for file, groups in groupby(self.groups, lambda group: group.file):
            ends = np.cumsum([0, *(group.stored for group in groups)])
            found += pairwise((ends * (file.state[0] / max(ends[-1], 1))).astype(int).tolist())
        return found

    def _require(self, number: int, end: int) -> None:
        """Raise DataError for a row group with another number of rows than announced."""
        if end != self.bounds[number + 1]:
            raise corrupt(self.groups[number].file.path, "Parquet", ValueError("rows are missing that it announces"))

    def key(self) -> str:
        """Return the files and the columns, for cache keys."""
        return repr(([(group.file.key, group.number) for group in self.groups], self.names))


def blocks_of(opened: Opened, input: Input, compute: Compute, known: tuple[str, ...]) -> BlockFile:
    """Return the row groups of a file; raises DataError if its texts exceed the limits of `input`."""
    return _of_files([FileId(opened.path, opened.state)], input, opened.size)


def of_parts(ids: Sequence[FileId], input: Input) -> BlockFile:
    """Return the row groups of files of one folder; raises DataError if their columns differ."""
    return _of_files(ids, input)


def _of_files(ids: Sequence[FileId], input: Input, size: int = 0) -> BlockFile:
    """Return the row groups of files in order; with `size`, the bytes of a file, texts are checked against limits."""
    groups: list[RowGroup] = []
    rows, large, schema, stored, columns = 0, False, None, 0.0, Columns([], [], {})
    require: Require = no_limits
    for id in ids:
        with block_faults(id.path, "Parquet"):
            file = id.open_once(parquet_file)
            if schema is not None and not file.schema_arrow.equals(schema):
                raise parts_differ(id, ids[0], "the same columns, of the same types")
            columns = _columns_of(file, input) if schema is None else columns
            schema, stored = file.schema_arrow, max(stored, largest_group(file.metadata, len(columns.names))[1])
            for number in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(number)
                groups += [RowGroup(id, number, rows, int(group.total_byte_size))] * (group.num_rows > 0)
                rows = rows + group.num_rows
                large = large or group.total_byte_size > BUFFERED or bool(columns.lengths)
            if size:
                numbers = file.metadata.num_columns - sum(map(is_text, schema.types)) + columns.elements
                require = partial(require_modest_texts, file, size, input, numbers)
    choice = chosen_columns(columns, rows, input, require)
    return BlockFile(ParquetRows(tuple(groups), rows, choice.columns, large, stored, columns.lengths), choice,
                     columns.types_of(choice))


def bytes_beside(opened: Opened, input: Input, shape: tuple[int, ...]) -> float:
    """Return the bytes that reading needs besides the table: those that decode a few of its columns."""
    with opened.stream() as stream:
        rows, stored = largest_group(parquet_file(stream).metadata, shape[-1])
    return ALLOCATED * min(shape[-1], COLUMNS) * column_bytes(min(BATCH, rows), rows, stored)


READER = Reader(sheet=read_parquet, blocks=blocks_of, parts=of_parts, beside=bytes_beside)
