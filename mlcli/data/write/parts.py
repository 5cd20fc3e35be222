"""Writing of a table part by part, with the bytes of the table written whole, without all its rows in memory."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile, gettempdir
from typing import BinaryIO

import numpy as np

from mlcli.data.read.new_rows import MappedTable
from mlcli.data.table.row_numbers import join_ids
from mlcli.data.table.table import Table
from mlcli.data.write.table import (
    GROUP,
    csv_header,
    parquet_writer,
    warn_of_formulas,
    write_group,
    write_lines,
    write_npy_header,
    writing_to,
)
from mlcli.publication.publish import writing

LARGER = "set TMPDIR to a larger disk, or write to a file (-o)"


def write_mapped(placed: MappedTable, path: Path, format: str) -> None:
    """Write the parts of a table to a file: ids, labels, then the columns (NPY: the values alone)."""
    with writing_to(path) as stream:
        _write(placed, stream, format)


def write_when_complete(placed: MappedTable, stream: BinaryIO) -> None:
    """Write the parts as CSV to an open stream after all are computed, so that an error leaves no output."""
    folder = Path(gettempdir())
    with writing(folder, LARGER):
        held = TemporaryFile(dir=folder)  # noqa: SIM115 (standard output has errors of its own)
    with held:
        with writing(folder, LARGER):
            _write(placed, held, "csv")
            held.seek(0)
        copyfileobj(held, stream)


def _write(placed: MappedTable, stream: BinaryIO, format: str) -> None:
    parts = placed.parts()
    first = next(parts)
    every = chain([first], parts)
    if format == "csv":
        warn_of_formulas(placed.table)
        stream.write(csv_header(first))
        for part in every:
            write_lines(part, stream)
    elif format == "parquet":
        with parquet_writer(first, stream) as writer:
            for group in regroup(every, GROUP):
                write_group(writer, group, slice(None))
    else:
        _write_npy(every, len(first.columns), stream)


def regroup(parts: Iterator[Table], rows: int) -> Iterator[Table]:
    """Yield the rows in tables of `rows` rows; the last one has the remainder."""
    held: list[Table] = []
    for part in parts:
        held.append(part)
        while sum(len(some.ids) for some in held) >= rows:
            whole = _joined(held)
            yield _cut(whole, slice(0, rows))
            held = [_cut(whole, slice(rows, None))]
    if held and len((whole := _joined(held)).ids):
        yield whole


def _write_npy(parts: Iterator[Table], columns: int, stream: BinaryIO) -> None:
    """Write the values; their number is written into the header at the end, which has space for any."""
    write_npy_header(stream, (0, columns))
    rows = 0
    for part in parts:
        stream.write(np.ascontiguousarray(part.values).tobytes())
        rows += len(part.values)
    stream.seek(0)
    write_npy_header(stream, (rows, columns))


def _joined(parts: list[Table]) -> Table:
    """Return parts as one table."""
    if len(parts) == 1:
        return parts[0]
    return replace(parts[0], values=np.concatenate([part.values for part in parts]), places=None,
                   ids=join_ids([part.ids for part in parts]),
                   labels={name: tuple(chain(*(part.labels[name] for part in parts))) for name in parts[0].labels})


def _cut(table: Table, rows: slice) -> Table:
    """Return consecutive rows of a table."""
    return replace(table, values=table.values[rows], ids=table.ids[rows], places=None,
                   labels={name: texts[rows] for name, texts in table.labels.items()})
