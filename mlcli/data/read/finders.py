"""Which files can be read in blocks of rows, by their formats."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mlcli.base.rows.sparse import SparseRows
from mlcli.base.types import Indices
from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import arrow_reading
from mlcli.data.files.file_id import FileId
from mlcli.data.files.formats import separator_of
from mlcli.data.files.source import Opened
from mlcli.data.formats.columns import Columnar, choose_columns, is_text, require_numeric, sizes_of_file
from mlcli.data.formats.condensed_rows import CondensedRows
from mlcli.data.formats.npy import flat, image_of, read_header, require_kind, require_size
from mlcli.data.formats.parquet import require_modest_texts
from mlcli.data.formats.row_files import BUFFERED as LARGE
from mlcli.data.formats.row_files import ArrowRows, NpyRows, ParquetRows, encoded, parquet_file
from mlcli.data.formats.sparse_files import ENTRIES as SPARSE
from mlcli.data.formats.sparse_files import sparse_in
from mlcli.data.options.input import Input
from mlcli.data.pairs.square import points_of
from mlcli.data.read.block_file import Found
from mlcli.data.read.text_blocks import found_text
from mlcli.data.table.selection import Choice, choose
from mlcli.data.table.sheet import numbered, require_content, require_unique_ids


def found_in(opened: Opened, input: Input, format: str, compute: Compute,
             known: tuple[str, ...] = ()) -> Found | None:
    """The file as it can be read in blocks; None where its format, or the way it is read, does not allow that.

    `known` are columns that it must have. None also of a text that memory holds whatever it says of its columns.
    """
    if format in SPARSE and input.kind == "features" and input.view.path is None:
        return _sparse(opened, input, format, compute)
    kinds = {"features": (*FINDERS, "csv", "tsv"), "dissimilarities": ("npy",)}.get(input.kind, ())
    if format not in kinds or input.transpose or input.view.path is not None or opened.path == "-":
        return None
    with arrow_reading(opened.path, format, compute):
        if format in FINDERS:
            return FINDERS[format](opened, input)
        return found_text(opened, input, separator_of(input, format), compute, known)


def _sparse(opened: Opened, input: Input, format: str, compute: Compute) -> Found | None:
    """A sparse table, which is held by its entries; None where it is not sparse, or zeros are to be held."""
    sparse = None if input.stream == "never" else sparse_in(opened, input, format, compute)
    if sparse is None:
        return None
    if input.transpose:
        require_unique_ids(sparse.names.row_names(), input.path)
        sparse = sparse.turned()
    names = sparse.names
    choice = Choice(names.columns, None, (), tuple(range(len(names.columns))))
    return Found(SparseRows(sparse.matrix), choice, named=names.named, names=names)


def _parquet(opened: Opened, input: Input) -> Found:
    with opened.stream() as stream:
        file, id = parquet_file(stream), FileId(opened.path, opened.state)
        schema, data = file.schema_arrow, file.metadata
        sizes = [data.row_group(number).num_rows for number in range(data.num_row_groups)]
        large = any(data.row_group(number).total_byte_size > LARGE for number in range(data.num_row_groups))
        firsts = np.cumsum([0, *sizes]).tolist()
        groups = tuple((id, number, firsts[number]) for number, size in enumerate(sizes) if size)
        texts = sum(map(is_text, schema.types))
        columnar = Columnar(schema.names, schema.types, data.num_rows, lambda names: iter(()),
                            partial(require_modest_texts, file, opened.size, input, texts))
        choice = chosen_columns(columnar, input)
        rows = ParquetRows(groups, firsts[-1], choice.columns, large, encoded(data)[1])
        return Found(rows, choice, types_of(schema, choice))


def _arrow(opened: Opened, input: Input) -> Found | None:
    from pyarrow import ipc

    sizes = sizes_of_file(opened)
    if sizes is None:
        return None
    with opened.stream() as stream:
        schema = ipc.open_file(stream).schema
    bounds = np.cumsum([0, *sizes]).tolist()
    choice = chosen_columns(Columnar(schema.names, schema.types, bounds[-1], lambda names: iter(())), input)
    id = FileId(opened.path, opened.state)
    return Found(ArrowRows(id, tuple(bounds), choice.columns), choice, types_of(schema, choice))


def chosen_columns(file: Columnar, input: Input) -> Choice:
    """The columns of a columnar file, checked as where it is read whole."""
    choice = choose_columns(file, input)
    require_numeric(file.types, choice, input.path)
    require_content(file.rows, choice.width, input.path)
    file.require([choice.names[column] for column in (choice.id, *choice.texts) if column is not None])
    return choice


def types_of(schema: Any, choice: Choice) -> list[Any]:
    """The types of the columns of numbers."""
    return [schema.types[column] for column in choice.values]


def _npy(opened: Opened, input: Input) -> Found | None:
    with opened.stream() as stream:
        header = read_header(stream, opened.path)
    require_kind(header, input, opened.path)
    require_size(header, opened.size, opened.path)
    if header.dtype.itemsize > 8:
        return None
    id = FileId(opened.path, opened.state)
    if input.square and (len(header.shape) == 1 or min(header.shape) == 1 < max(header.shape)):
        file = CondensedRows(id, header)
        points_of(math.prod(header.shape), opened.path)
        return Found(file, choose(numbered("x", file.columns), input), named=False)
    if header.fortran:
        return None
    image = image_of(header.shape)
    header = replace(header, shape=flat(header.shape))
    require_content(header.shape[0], header.shape[1], opened.path)
    choice = choose(numbered("x", header.shape[1]), input)
    columns: Indices = np.asarray(choice.values, dtype=np.int64)
    chosen = None if len(columns) == header.shape[1] else columns
    return Found(NpyRows(id, header, chosen), choice, named=False, image=image if chosen is None else None)


FINDERS: dict[str, Callable[[Opened, Input], Found | None]] = {"parquet": _parquet, "arrow": _arrow, "npy": _npy}
