"""The reading of files: each format's module defines the functions of its `READER`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from mlcli.base.frozen import frozen
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.values.compute import Compute
from mlcli.base.values.plugins import object_at
from mlcli.data.files.arrow import arrow_reading
from mlcli.data.files.source import FileId, Opened
from mlcli.data.formats.arrays import LABEL, StoredArray, Texts, array_labels, array_sheet
from mlcli.data.formats.block_file import BlockFile, sheet_of_blocks
from mlcli.data.options.formats import FORMATS, OWN, Format
from mlcli.data.options.input import Input
from mlcli.data.table.selection import Choice
from mlcli.data.table.sheet import Sheet, require_unique_ids, with_row_names
from mlcli.data.table.table import Source
from mlcli.data.text.delimited import LayoutOf
from mlcli.data.text.layout import features_layout

if TYPE_CHECKING:
    from mlcli.data.formats.sparse import Entries, SparseSheet


@frozen
class Reader:
    """The functions of a format; one of the first five returns the table.

    They raise ConfigError, DataError, UnsafeFile, DependencyMissing and RefusedByPlan.
    """

    text: Callable[[Opened, Input, Compute, LayoutOf], Sheet] | None = None  # the table of a text
    sheet: Callable[[Opened, Input, Compute], Sheet] | None = None  # any other table
    array: Callable[[Opened, Input, Compute], AbstractContextManager[StoredArray]] | None = None  # one without names
    sparse: Callable[[Opened, Input, Compute],
                     SparseSheet | None] | None = None  # a sparse table, if the file holds one
    folder: Callable[[Input, Compute], tuple[Sheet, Source] | None] | None = None  # a folder, if it holds such a table
    entries: Callable[[Opened, Input, Compute], Entries] | None = None  # a sparse matrix, as the edges of a graph
    blocks: Callable[[Opened, Input, Compute, tuple[str, ...]], BlockFile | None] | None = None  # rows, read as needed
    parts: Callable[[Sequence[FileId], Input], BlockFile] | None = None  # the rows of several files that are one table
    texts: Callable[[Opened, Input, Compute], Texts] | None = None  # labels, if they are not the table's
    beside: Callable[[Opened, Input, tuple[int, ...]], float] = lambda *_: 0.0  # bytes that reading needs, by the shape

    def table(self, opened: Opened, input: Input, compute: Compute, layout: LayoutOf = features_layout) -> Sheet:
        """Return all numbers and names of a file; sparse tables with their zeros."""
        if self.text is not None:
            return self.text(opened, input, compute, layout)
        if self.sheet is not None:
            return self.sheet(opened, input, compute)
        if self.sparse is not None and (found := self.sparse(opened, input, compute)) is not None:
            return found.dense(input, compute)
        if self.array is not None:
            with self.array(opened, input, compute) as stored:
                return array_sheet(stored, input, compute)
        blocks = None if self.blocks is None else self.blocks(opened, input, compute, ())
        if blocks is None:
            raise TypeError("the reader of this format gives no table")
        return sheet_of_blocks(blocks, input, compute)

    def labels(self, opened: Opened, input: Input, compute: Compute) -> Texts:
        """Return all columns of a file of labels, as texts."""
        if self.texts is not None:
            return self.texts(opened, input, compute)
        if self.array is not None:
            with self.array(opened, input, compute) as stored:
                return array_labels(stored, input.path)
        sheet = self.table(opened, input, compute)
        return sheet.labels if sheet.named or len(sheet.labels) > 1 else {LABEL: next(iter(sheet.labels.values()))}


def reader_of(format: Format) -> Reader:
    """Return the reader of a format; imports its module. Raises DependencyMissing for one of a package that is none."""
    added = FORMATS.plugin(format.name)
    reader = object_at(format.reader or f"mlcli.data.formats.{format.name}:READER")
    if added is not None and not isinstance(reader, Reader):
        raise added.broken(f"{format.reader} is no {Reader.__module__}.{Reader.__name__}")
    assert isinstance(reader, Reader)
    return reader


def read_sheet(opened: Opened, input: Input, format: Format, compute: Compute, layout: LayoutOf) -> Sheet:
    """Return the table of a file, whose first column of words names the rows."""
    sheet = reader_of(format).table(opened, input, compute, layout)
    return with_row_names(sheet, turned=input.transpose, ids=not input.without_ids)


def block_file_of(opened: Opened, input: Input, format: Format, compute: Compute,
                  known: tuple[str, ...] = ()) -> BlockFile | None:
    """Return the file for reading in blocks; None if its format or the options do not allow it.

    `known` are columns that it must have. None also for a text that fits in memory whatever its columns.
    """
    if input.view.path is not None:
        return None
    reader = reader_of(format)
    if reader.sparse is not None and input.kind == "features":
        return None if input.stream == "never" else _sparse(reader.sparse(opened, input, compute), input)
    if reader.blocks is None or input.kind not in format.blocks or input.transpose or opened.path == "-":
        return None
    with arrow_reading(opened.path, format.name, compute):
        return reader.blocks(opened, input, compute, known)


def _sparse(sparse: SparseSheet | None, input: Input) -> BlockFile | None:
    """Return a sparse table, stored by its entries."""
    if sparse is None:
        return None
    if input.transpose:
        require_unique_ids(sparse.names.row_names(), input.path)
        sparse = sparse.transposed()
    names = sparse.names
    choice = Choice(names.columns, None, (), tuple(range(len(names.columns))))
    return BlockFile(SparseRows(sparse.matrix), choice, named=names.named, names=names)


def read_folder(input: Input, compute: Compute) -> tuple[Sheet, Source] | None:
    """Return the table of a folder that one format reads as a whole, such as images; None for any other path."""
    if input.path == "-" or not Path(input.path).is_dir():
        return None
    for format in OWN.values():
        folder = reader_of(format).folder if format.folder else None
        if folder is not None and (table := folder(input, compute)) is not None:
            return table
    return None
