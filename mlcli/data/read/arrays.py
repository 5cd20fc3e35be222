"""Tables from arrays in memory, under the same conditions as those from files."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mlcli.base.rows.source import Rows, as_array
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.stages.stage import stage
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.compute import Compute
from mlcli.data.formats.arrays import KINDS, LABEL
from mlcli.data.formats.block_file import SMALL
from mlcli.data.options.input import NO_IDS, Input
from mlcli.data.options.items import check_items, has_coding, refuse_coding
from mlcli.data.options.wording import counted
from mlcli.data.pairs.square import check_square
from mlcli.data.read.blocks import after_first_pass
from mlcli.data.read.detect_pairs import refuse_resemblance
from mlcli.data.read.frames import (
    HERE,
    FrameData,
    is_annotated,
    is_frame,
    is_sparse_array,
    read_annotated,
    read_frame,
)
from mlcli.data.read.match import match_columns
from mlcli.data.read.table import features_table, square_table
from mlcli.data.read.text_columns import coded_frame, with_codes
from mlcli.data.table.cells import refuse_negative, refuse_nonfinite
from mlcli.data.table.coding import Coding
from mlcli.data.table.row_numbers import ROW, RowNumbers
from mlcli.data.table.sheet import FEWER, Sheet, numbered_names, require_content, require_unique_ids
from mlcli.data.table.table import Source, Table
from mlcli.data.table.views import errors_for_view
from mlcli.errors import ConfigError, DataError, option, options_in

Names = Sequence[Any] | None
CHOICES = ("rows", "where", "columns")
OF_FILES = ("format", "header", "separator", "decimal", "encoding", "missing_markers", "rows", "where", "labels",
            "view", "decompress_ratio", "decompress_limit")  # options of reading that arrays have no use for
OF_ANNOTATED = ("key", "label_columns", "columns")


@stage("read")
def table_of(array: Any, input: Input, compute: Compute, *, ids: Names = None, columns: Names = None,
             labels: Any = None, view: Any = None, streams: bool = False) -> Table:
    """Return the table of an (n, d) array, a data frame or AnnData, or of an (n, n) matrix of pairs by its kind.

    Names as arguments take precedence over those of a frame. `view` is a second table of the same rows. A large sparse
    array keeps its sparse form if the next step `streams`, else it gets its zeros. Raises DataError as reading a file
    does, and if names do not fit.
    """
    require_effect(input, annotated=is_annotated(array))
    check_items(input)
    if is_annotated(array) or is_sparse_array(array) or view is not None:
        refuse_coding(input, "AnnData, a sparse array or a table with a second view")
    frame = (read_annotated(array, input) if is_annotated(array) else
             read_frame(array) if is_frame(array) else None)
    array = array if frame is None else frame.values
    words = () if frame is None else tuple(frame.labels)
    labels, columns = labels_of(labels), columns if frame is None or columns is not None else frame.columns
    ids = ids if frame is None or ids is not None else frame.ids
    labels = labels if frame is None else {**frame.labels, **labels}
    if input.kind == "graph":
        table = _of_graph(array, input, compute, ids=ids, labels=labels)
    elif is_sparse_array(array):
        table = _of_sparse(array, input, compute, ids=ids, columns=columns, labels=labels, streams=streams)
    else:
        values = frame.values if frame is not None and has_coding(input) else doubles(array)  # or all are words
        table = _of_dense(values, input, ids=ids, columns=columns, labels=labels, words=words)
    if view is None:
        return table
    other = None if is_annotated(view) or is_frame(view) else ids
    with errors_for_view(0):
        return replace(table, view=table_of(view, Input(path=HERE), compute, ids=other))


def _of_dense(values: Array, input: Input, *, ids: Names, columns: Names, labels: Mapping[str, Sequence[Any]],
              words: Sequence[str] = ()) -> Table:
    """Return the table of an (n, d) array of doubles; `words` are labels that may hold answers. Raises DataError."""
    names = numbered_names("x", values.shape[1]) if columns is None else texts(columns, values.shape[1], "columns")
    told = {str(name): texts(given, len(values), f"the label {name}") for name, given in labels.items()}
    rows = None if ids is None else texts(ids, len(values), "ids")
    sheet = Sheet(values.copy() if input.square else values, names, columns is not None and not input.square, rows,
                  "id", told)
    if has_coding(input):
        sheet = coded_frame(sheet, input, {name: told[name] for name in words})
        require_content(len(sheet.values), len(sheet.columns), HERE)
    source = Source(HERE, partial(digest, values), values.nbytes, HERE)
    with hints_for_python():
        table = (square_table if input.square else features_table)(sheet, input, source)
    if input.square:
        values = check_square(table.values, tuple(table.ids), input)
        return replace(table, values=values, labels=told)
    refuse_resemblance(table, input)
    return table


def require_effect(input: Input, *, annotated: bool) -> None:
    """Raise ConfigError for options of reading that have no effect on an array, with some more on AnnData alone."""
    for name in (*OF_FILES, *(() if annotated else OF_ANNOTATED)):
        if input.chosen(name) and getattr(input, name) != type(input).model_fields[name].default:
            raise ConfigError("INPUT-OPTION", f"{name} cannot be used with an array", where=f"input.{name}",
                              hint="leave it out, and choose rows and columns of the array" if name in CHOICES else
                              "leave it out")


def _of_sparse(array: Any, input: Input, compute: Compute, *, ids: Names, columns: Names,
               labels: Mapping[str, Sequence[Any]], streams: bool) -> Table:
    """Return the table of a sparse array, by its entries or with its zeros; raises DataError."""
    if input.square:
        raise DataError("ARRAY", "a sparse array cannot hold a matrix of pairs", where=HERE,
                        hint="give a dense array: x.toarray()")
    matrix = array.tocsr().astype(np.float64)
    matrix.sum_duplicates()
    require_content(int(matrix.shape[0]), int(matrix.shape[1]), HERE)
    size = 8.0 * matrix.shape[0] * matrix.shape[1]
    if not streams or size <= SMALL or not np.isfinite(matrix.data).all():
        compute.require_data(2 * size, "a sparse array with all its zeros", FEWER)
        return _of_dense(matrix.toarray(), input, ids=ids, columns=columns, labels=labels)
    names = numbered_names("x", matrix.shape[1]) if columns is None else texts(columns, matrix.shape[1], "columns")
    rows = RowNumbers.up_to(matrix.shape[0]) if ids is None else texts(ids, matrix.shape[0], "ids")
    require_unique_ids(rows, HERE)
    told = {str(name): texts(given, len(rows), f"the label {name}") for name, given in labels.items()}
    source = Source(HERE, partial(digest, matrix.data), matrix.data.nbytes, HERE)
    with hints_for_python():
        table = Table(as_array(Rows(SparseRows(matrix))), names, rows, ROW if ids is None else "id", told,
                      source=source)
        return after_first_pass(table, input, compute)


def _of_graph(array: Any, input: Input, compute: Compute, *, ids: Names, labels: Mapping[str, Sequence[Any]]) -> Table:
    """Return the table of the points of a graph: a sparse array (n, n) of its edges, or a dense one without zeros.

    A stored zero of a sparse array is an edge. Raises DataError.
    """
    from scipy.sparse import coo_array

    from mlcli.data.formats.sparse import Entries
    from mlcli.data.pairs.graphs import points_of_graph

    matrix = array.tocoo() if is_sparse_array(array) else coo_array(doubles(array))
    values = matrix.data.astype(np.float64)
    rows, columns = matrix.coords
    entries = Entries(matrix.shape, rows, columns, values)
    source = Source(HERE, partial(digest, values), values.nbytes, HERE)
    names = None if ids is None else texts(ids, matrix.shape[0], "ids")
    told = {str(name): texts(given, matrix.shape[0], f"the label {name}") for name, given in labels.items()}
    table = points_of_graph(replace(entries, ids=names).edges(HERE), input, source, compute, matrix=True)
    return replace(table, labels=told)


def labels_of(given: Any) -> dict[str, Sequence[Any]]:
    """Return labels by name; a single column has its own name, or the name label. Raises DataError."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    if is_frame(given):
        frame = read_frame(given)
        return {**{name: frame.values[:, place].tolist() for place, name in enumerate(frame.columns)}, **frame.labels}
    if isinstance(given, str) or np.ndim(given) != 1:
        raise DataError("NAMES", "labels must be one text for each row, or a dictionary of such columns", where=HERE,
                        hint="give labels=column, or labels={'name': column}")
    return {str(getattr(given, "name", None) or LABEL): list(given)}


@contextmanager
def hints_for_python() -> Iterator[None]:
    """Name the index of a frame in hints, where files have a column of ids."""
    try:
        yield
    except DataError as error:
        hint = error.hint
        for path, name in options_in(hint):
            if path == "input.id_column" and name != NO_IDS:
                hint = hint.replace(f"give {option(path, name)}",
                                    f"make it the index of the frame, or leave out the column {name}")
        raise error.changed(hint=hint) from error


def new_rows(array: Any, columns: Sequence[str], points: Sequence[str], kind: str,
             coding: Coding | None = None) -> Table:
    """Return new rows for a run: with its columns, or with a number for each of its points; raises DataError.

    Columns of a data frame are matched by name. Answers become numbers by the run's `coding`; those of an array are
    numbers already.
    """
    wanted = tuple(columns) if kind == "features" else tuple(points)
    values = _matched(read_frame(array), wanted, coding) if is_frame(array) else doubles(
        array.toarray() if is_sparse_array(array) else array)
    if values.shape[1] != len(wanted):
        what = "columns" if kind == "features" else "points"
        raise DataError("COLUMNS-DIFFER", f"{counted(values.shape[1], 'column')}, and the run has {len(wanted):,} "
                        f"{what}", where=HERE, hint=f"give a column for each of the run's {what}, in their order")
    ids = RowNumbers.up_to(len(values))
    values = values if coding is None else coding.turned(values, wanted, ids, HERE)
    if kind != "features":
        refuse_nonfinite(values, ids, wanted, HERE, "every new point needs a number to every point of the run")
    if kind == "dissimilarities":
        refuse_negative(values, ids, wanted, HERE)
    return Table(values, wanted, ids, ROW, kind=kind)


def _matched(frame: FrameData, wanted: tuple[str, ...], coding: Coding | None) -> Array:
    """Return the numbers of a frame in the order of a run's columns; raises DataError if the columns differ."""
    sheet = Sheet(frame.values, frame.columns, True, labels=frame.labels)
    with hints_for_python():
        return match_columns(sheet if coding is None else with_codes(sheet, coding, HERE), wanted, HERE, "column")


def doubles(array: Any) -> Array:
    """Return an array of numbers with two dimensions in double precision; raises DataError for any other."""
    given: AnyArray = np.asarray(array)
    if given.ndim != 2 or given.dtype.kind not in KINDS:
        raise DataError("ARRAY", f"expected a 2-D array of numbers, got a {given.ndim}-D array of type {given.dtype}",
        where=HERE, hint="give numbers in rows and columns")
    require_content(given.shape[0], given.shape[1], HERE)
    return np.ascontiguousarray(given, dtype=np.float64)


def texts(given: Sequence[Any], count: int, what: str) -> tuple[str, ...]:
    """Return `count` names as texts; raises DataError for another number of them."""
    if isinstance(given, str) or len(given) != count:
        raise DataError("NAMES", f"{what}: {len(given):,} were given for {count:,}", where=HERE,
                        hint="give one for each")
    return tuple(map(str, given))


def digest(values: Array) -> str:
    """Return the sha256 of the numbers of an (n, d) array."""
    return hashlib.sha256(values.data).hexdigest()
