"""Arrow IPC (Feather): files by record batch, and streams from their beginning."""

import io
from collections.abc import Iterator
from dataclasses import field
from typing import Any, BinaryIO

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.source import Part
from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import arrow_reading, block_faults, corrupt, pyarrow
from mlcli.data.files.source import FileId, Opened
from mlcli.data.formats.block_file import BlockFile
from mlcli.data.formats.columns import (
    Columnar,
    Columns,
    GroupedRows,
    Lengths,
    as_texts,
    chosen_columns,
    columns_of,
    numbered_batches,
    read_columns,
)
from mlcli.data.formats.reader import Reader
from mlcli.data.options.input import AllTexts, Input
from mlcli.data.table.sheet import Sheet

STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"
BATCHES = 2  # record batches in memory besides the table while it is read


def read_arrow(opened: Opened, input: Input, compute: Compute) -> Sheet:
    """Read the numbers and names of an Arrow IPC file or stream."""
    pyarrow()
    with arrow_reading(opened.path, "Arrow", compute):
        schema, _ = next(_record_batches(opened))
        sizes = sizes_of_file(opened)
        rows = (sum(batch.num_rows for _, batch in _record_batches(opened) if batch is not None) if sizes is None
                else sum(sizes))
        columns = _columns_of(schema, opened, input)
        columnar = Columnar(columns, rows, lambda names: numbered_batches(0, _some(opened, names)))
        return read_columns(columnar, opened, input, compute)


def _columns_of(schema: Any, opened: Opened, input: Input) -> Columns:
    """Return the columns of a file or stream, with the elements of lists."""
    return columns_of(schema.names, schema.types, lambda name: _some(opened, [name]),
                      texts=isinstance(input, AllTexts))


def _some(opened: Opened, names: list[str]) -> Iterator[Any]:
    """Yield the record batches with some of their columns."""
    return (batch.select(names) for _, batch in _record_batches(opened) if batch is not None)


def sizes_of_file(opened: Opened) -> list[int] | None:
    """Return the number of rows of each record batch of a file; None for a stream, whose batches have no index.

    Reads one column alone, if possible of numbers: a batch knows its rows without its columns, but Arrow
    decompresses all columns that are not excluded.
    """
    from pyarrow import ipc

    with opened.stream() as stream:
        if stream.read(6) != b"ARROW1":
            return None
        types = list(ipc.open_file(stream).schema.types)
        one = next((place for place, kind in enumerate(types) if pyarrow().types.is_primitive(kind)), 0)
        reader = ipc.open_file(stream, options=ipc.IpcReadOptions(included_fields=[one] if types else []))
        return [reader.get_batch(number).num_rows for number in range(reader.num_record_batches)]


def _record_batches(opened: Opened) -> Iterator[tuple[Any, Any]]:
    """Yield the schema without a batch, then every batch, each fully validated before use."""
    from pyarrow import ipc

    with opened.stream() as stream:
        if stream.read(6) == b"ARROW1":
            reader = ipc.open_file(stream)
            batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        else:
            _require_ended(stream)
            reader = ipc.open_stream(stream)
            batches = iter(reader)
        yield reader.schema, None
        for batch in batches:
            batch.validate(full=True)
            yield reader.schema, batch


def _require_ended(stream: BinaryIO) -> None:
    """Raise ValueError for an Arrow stream cut off between two batches, which Arrow itself accepts."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - len(STREAM_END)))
    if stream.read() != STREAM_END:
        raise ValueError("the mark at its end is missing")
    stream.seek(0)


@frozen
class ArrowReader:
    """An opener of an Arrow IPC file for some of its columns: others are neither read nor decompressed."""

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
    lengths: Lengths = field(default_factory=dict)

    @property
    def buffer_bytes(self) -> int:
        """The bytes in use while a thread decodes: one record batch."""
        return 8 * self.columns * int(np.diff(self.bounds).max(initial=0))

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the rows of a record batch."""
        first, batch = self.bounds[number], self._batch(number, tuple(self.sources))
        for start in range(0, batch.num_rows, self.part):
            yield first + start, self.numbers(batch.slice(start, self.part), first + start, self.id.path)

    def text_parts(self, number: int, names: tuple[str, ...], most: int) -> Iterator[list[list[str]]]:
        """Yield columns of texts of a record batch, at most `most` rows at a time."""
        batch = self._batch(number, names)
        for rows in row_blocks(batch.num_rows, most):
            some = batch.slice(rows.start, most)
            yield [as_texts(some.column(name), name, self.id.path) for name in names]

    def _batch(self, number: int, names: tuple[str, ...]) -> Any:
        with block_faults(self.id.path, "Arrow"):
            batch = self.id.open_once(ArrowReader(names)).get_batch(number).select(list(names))
            batch.validate(full=True)
        if batch.num_rows != self.bounds[number + 1] - self.bounds[number]:
            raise corrupt(self.id.path, "Arrow", ValueError("rows are missing that it announces"))
        return batch

    def key(self) -> str:
        """Return the file and the columns, for cache keys."""
        return repr((self.id.key, self.names))


def blocks_of(opened: Opened, input: Input, compute: Compute, known: tuple[str, ...]) -> BlockFile | None:
    """Return the record batches of a file; None for a stream."""
    from pyarrow import ipc

    sizes = sizes_of_file(opened)
    if sizes is None:
        return None
    with opened.stream() as stream:
        schema = ipc.open_file(stream).schema
    bounds = np.cumsum([0, *sizes]).tolist()
    columns = _columns_of(schema, opened, input)
    choice = chosen_columns(columns, bounds[-1], input)
    id = FileId(opened.path, opened.state)
    return BlockFile(ArrowRows(id, tuple(bounds), choice.columns, columns.lengths), choice, columns.types_of(choice))


def bytes_beside(opened: Opened, input: Input, shape: tuple[int, ...]) -> float:
    """Return the bytes that reading needs besides the table: record batches of a file, or all of a stream."""
    sizes, table = sizes_of_file(opened), 8.0 * shape[0] * shape[-1]
    return table if sizes is None else min(table, BATCHES * 8.0 * max(sizes, default=0) * shape[-1])


READER = Reader(sheet=read_arrow, blocks=blocks_of, beside=bytes_beside)
