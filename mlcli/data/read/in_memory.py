"""Tables from arrays in memory, data frames and AnnData, under the same conditions as those from files.

A data frame is whatever gives its columns by Arrow's capsule (`__arrow_c_stream__`): pandas, Polars, Arrow, DuckDB and
others, none of which is imported here. What Dask has not computed yet is computed first, or in blocks (`dask_rows.py`).
AnnData is recognized by its attributes. Options choose from it as they do from a file (.h5ad).

First what is asked for: the table of a run, and new rows for one. Then arrays by the kind of table that they become,
data frames, and AnnData.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mlcli.base.rows.source import Rows, as_array, rows_of
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.stages.stage import stage
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TextColumns
from mlcli.base.values.missing import is_missing
from mlcli.base.values.naming import shown
from mlcli.data.files.arrow import pyarrow
from mlcli.data.formats.arrays import KINDS, LABEL
from mlcli.data.formats.block_file import SMALL
from mlcli.data.formats.columns import as_doubles, element_name, element_type, is_numeric, is_text, list_numbers
from mlcli.data.formats.h5ad import MAIN, MEASURED
from mlcli.data.options.input import (
    NO_IDS,
    Input,
    View,
    WithMatrices,
    WithTables,
    check_items,
    has_coding,
    refuse_coding,
)
from mlcli.data.options.wording import counted, nearest, words_of
from mlcli.data.pairs.similarities import to_dissimilarities
from mlcli.data.pairs.square import check_square
from mlcli.data.prepare.categories import Categories, categories_of, encode, require_known
from mlcli.data.prepare.views import chain_views, errors_for_view
from mlcli.data.read.blocks import after_first_pass
from mlcli.data.read.dask_rows import computed_whole, is_delayed, sheet_in_blocks
from mlcli.data.read.detect_pairs import refuse_resemblance
from mlcli.data.read.new_rows import match_columns
from mlcli.data.read.table import features_table, square_table
from mlcli.data.read.text_columns import coded_frame, with_codes, with_first_as_ids
from mlcli.data.table.cells import refuse_negative, refuse_nonfinite
from mlcli.data.table.coding import Coding
from mlcli.data.table.row_numbers import ROW, RowNumbers
from mlcli.data.table.selection import choose
from mlcli.data.table.sheet import FEWER, Sheet, numbered_names, require_content, require_unique_ids
from mlcli.data.table.similarities import SimilarityRule
from mlcli.data.table.table import HERE, Source, Table
from mlcli.errors import ConfigError, DataError, option, options_in

Names = Sequence[Any] | None
NAMED = ("columns", "column_names", "schema")  # attributes of tables, which a single column does not have
ONE_DIMENSION = "give one column as x[:, [0]] or x.reshape(-1, 1), and one row as x.reshape(1, -1)"
ONE_LENGTH = "give all lists one length, or leave the column out"
CHOICES = ("rows", "where", "columns")
OF_FILES = ("format", "header", "separator", "decimal", "encoding", "missing_markers", "rows", "where", "labels",
            "view", "decompress_ratio", "decompress_limit")  # options of reading that arrays have no use for
OF_ANNOTATED = ("key", "label_columns", "columns")
PAIRS = {"obsp": "obs_names", "varp": "var_names"}  # matrices of pairs of AnnData, and their points


@stage("read")
def table_of(array: Any, input: Input, compute: Compute, *, ids: Names = None, columns: Names = None,
             labels: Any = None, view: Any = None, categories: TextColumns = "", streams: bool = False) -> Table:
    """Return the table of an (n, d) array, a data frame or AnnData, or of an (n, n) matrix of pairs by its kind.

    Names as arguments take precedence over those of a frame. With `categories: all`, a frame's columns of texts are
    categories, but those that `labels` names, and a first one of different texts, which is the ids. `view` is a second
    table of the same rows, or a list of such tables. A large sparse array keeps its sparse form if the next step
    `streams`, else it gets its zeros. Raises DataError as reading a file does, and if names do not fit.
    """
    require_effect(input, annotated=is_annotated(array))
    check_items(input)
    views = [computed_whole(other, compute) if is_delayed(other) else other for other in views_of(view)]
    if is_delayed(array):
        found = sheet_in_blocks(array, input, compute, streams=streams and not views, coded=categories == "all")
        if found is not None:
            return _of_blocks(*found, input, compute, ids=ids, columns=columns, labels=labels)
        array = computed_whole(array, compute)
    if is_annotated(array) or is_sparse_array(array) or views:
        refuse_coding(input, "AnnData, a sparse array or a table with a second view")
    frame = (read_annotated(array, input) if is_annotated(array) else
             read_frame(array) if is_frame(array) else None)
    if categories == "all" and is_frame(array) and frame is not None and not has_coding(input):
        frame = _with_categories(frame, tuple(labels_of(labels)), named=ids is not None)
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
        table = table if frame is None or not frame.categories else replace(table, categories=frame.categories)
    if not views:
        return table
    own = input.of_view(View(path=HERE)) if isinstance(input, WithMatrices) else Input(path=HERE)
    tables = []
    for number, other in enumerate(views):
        name = f"view {number + 2}"
        with errors_for_view(number, name):
            named = None if is_annotated(other) or is_frame(other) else ids
            part = table_of(other, own, compute, ids=named,
                            categories=categories if isinstance(input, WithTables) else "")
        tables.append(replace(part, source=part.source and replace(part.source, path=name)))
    return replace(table, view=chain_views(tables))


def views_of(given: Any) -> list[Any]:
    """Return the tables of further views: none, one, or those of a list of tables.

    A list of lists of numbers is one table, by its rows. A list of arrays is several, as `[x[:, 0]]` means a column,
    which is refused as a table of one dimension.
    """
    if given is None:
        return []
    several = isinstance(given, list | tuple) and any(  # and not the rows of one table, as lists
        is_frame(part) or is_annotated(part) or is_sparse_array(part) or hasattr(part, "__array__")
        or (isinstance(part, list | tuple) and part and isinstance(part[0], list | tuple)) for part in given)
    return [*given] if several else [given]


def _with_categories(frame: Sheet, labels: Sequence[str], *, named: bool) -> Sheet:
    """Return a frame with columns of texts as categories, but labels, and a first one that names the rows unless they
    are `named`.
    """
    texts = [name for name in frame.labels if name not in labels]
    if frame.ids is None and not named:
        frame = with_first_as_ids(frame, texts)
    return encode(frame, categories_of(frame, [name for name in texts if name in frame.labels]))


def new_rows(array: Any, columns: Sequence[str], points: Sequence[str], kind: str, *,
             coding: Coding | None = None, rule: SimilarityRule | None = None, categories: Categories | None = None,
             closed: bool = False, squared: bool = False, labels: Any = None) -> Table:
    """Return new rows for a run: with its columns, or with a number for each of its points; raises DataError.

    Columns of a data frame are matched by name. Answers become numbers by the run's `coding`; those of an array are
    numbers already. Similarities become dissimilarities by the run's `rule`. Texts become numbers by the run's
    `categories`; where these are `closed`, other texts are refused. Dissimilarities may be given `squared`.
    """
    wanted = tuple(columns) if kind == "features" else tuple(points)
    array = computed_whole(array, Compute()) if is_delayed(array) else array
    if is_frame(array):
        with hints_for_python():
            sheet = replace(read_frame(array), ids=None)
            known = {name: texts for name, texts in (categories or {}).items() if name in sheet.labels}
            if closed:
                require_known(sheet, known, HERE)
            sheet = encode(sheet, known)
            values = match_columns(sheet if coding is None else with_codes(sheet, coding, HERE), wanted, HERE, "column")
    else:
        values = doubles(array.toarray() if is_sparse_array(array) else array)
    if values.shape[1] != len(wanted):
        what = "columns" if kind == "features" else "points"
        raise DataError("COLUMNS-DIFFER", f"{counted(values.shape[1], 'column')}, and the run has {len(wanted):,} "
                        f"{what}", where=HERE, hint=f"give a column for each of the run's {what}, in their order")
    ids = RowNumbers.up_to(len(values))
    values = values if coding is None else coding.turned(values, wanted, ids, HERE)
    if kind != "features":
        refuse_nonfinite(values, ids, wanted, HERE, "every new point needs a number to every point of the run")
    if rule is not None:
        rule.refuse_outside(values, ids, wanted, HERE)
        values = rule.apply(values)
    if kind == "dissimilarities":
        refuse_negative(values, ids, wanted, HERE)
        values = np.sqrt(values) if squared else values
    told = {str(name): texts(given, len(values), f"the label {name}") for name, given in labels_of(labels).items()}
    return Table(values, wanted, ids, ROW, kind=kind, labels=told)


def require_effect(input: Input, *, annotated: bool) -> None:
    """Raise ConfigError for options of reading that have no effect on an array, with some more on AnnData alone."""
    for name in (*OF_FILES, *(() if annotated else OF_ANNOTATED)):
        if input.chosen(name) and getattr(input, name) != type(input).model_fields[name].default:
            raise ConfigError("INPUT-OPTION", f"{name} cannot be used with an array", where=f"input.{name}",
                              hint="leave it out, and choose rows and columns of the array" if name in CHOICES else
                              "leave it out")


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
        table = to_dissimilarities(table, input)
        values = check_square(table.values, tuple(table.ids), input)
        return replace(table, values=values, labels=told)
    refuse_resemblance(table, input)
    return table


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


def _of_blocks(sheet: Sheet, others: Any, input: Input, compute: Compute, *, ids: Names, columns: Names,
               labels: Any) -> Table:
    """Return the table of rows that Dask computes in blocks, with the ids and texts of a frame's `others`.

    Names as arguments take precedence. Raises DataError.
    """
    if others is not None:
        beside = read_frame(others)
        if beside.columns:
            raise DataError("FRAME-COLUMN", f"the column of {shown(beside.columns[0])} holds lists, which are not read "
                            "in blocks", where=HERE, hint="make a column of each element, or leave it out")
        sheet = replace(sheet, ids=beside.ids, labels=beside.labels)
    rows = rows_of(sheet.values)
    assert rows is not None
    refuse_coding(input, "an array or a frame of Dask that is read in blocks")
    names = sheet.columns if columns is None else texts(columns, len(sheet.columns), "columns")
    own = sheet.ids if ids is None else texts(ids, len(rows), "ids")
    told = {**sheet.labels, **{str(name): texts(given, len(rows), f"the label {name}")
                               for name, given in labels_of(labels).items()}}
    if own is not None:
        require_unique_ids(own, HERE)
    source = Source(HERE, rows.source.key, 8 * rows.size, HERE)
    with hints_for_python():
        table = Table(sheet.values, names, RowNumbers.up_to(len(rows)) if own is None else own,
                      ROW if own is None else "id", told, source=source)
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


def doubles(array: Any) -> Array:
    """Return an array of numbers with two dimensions in double precision; raises DataError for any other."""
    try:
        given: AnyArray = np.asarray(array)
    except ValueError:  # from NumPy, of lists of different lengths
        raise DataError("ARRAY", "expected a 2-D array of numbers, got rows of different lengths", where=HERE,
                        hint="give numbers in rows and columns") from None
    if given.ndim != 2 or given.dtype.kind not in KINDS:
        raise DataError("ARRAY", f"expected a 2-D array of numbers, got a {given.ndim}-D array of type {given.dtype}",
                        where=HERE, hint=ONE_DIMENSION if given.ndim == 1 else "give numbers in rows and columns")
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


def is_frame(given: Any) -> bool:
    """Whether an object is a data frame: columns with names, by Arrow's capsule."""
    return hasattr(given, "__arrow_c_stream__") and any(hasattr(given, name) for name in NAMED)


def is_sparse_array(given: Any) -> bool:
    """Whether an object is a sparse array or matrix of SciPy."""
    return hasattr(given, "tocsr") and hasattr(given, "nnz")


def read_frame(frame: Any) -> Sheet:
    """Return the numbers and names of a data frame: columns of texts are labels, an index with names is the ids.

    Raises DataError for a column that is neither numbers nor texts.
    """
    numbers, labels, rows = dict[str, Array](), dict[str, tuple[str, ...]](), 0
    types = pyarrow().types
    for name, column in _columns(frame):
        rows = len(column)
        if name in numbers or name in labels:
            raise DataError("DUPLICATE-COLUMNS", f"two columns are called {shown(name)}", where=HERE,
                            hint="give every column a name of its own")
        if types.is_null(column.type) or is_text(column.type):
            labels[name] = tuple("" if cell is None or is_missing(cell) else cell for cell in column.to_pylist())
        elif is_numeric(column.type):
            numbers[name] = as_doubles(column)
        elif element_type(column.type) is not None and column.null_count < rows:
            numbers |= _elements(name, column)
        else:
            raise _neither(name)
    values = np.column_stack([*numbers.values()]) if numbers else np.empty((rows or len(frame), 0))
    return Sheet(np.ascontiguousarray(values), tuple(numbers), True, _ids(frame), labels=labels)


def _columns(frame: Any) -> Iterator[tuple[str, Any]]:
    """Yield the columns as arrays of Arrow, each with its name; raises DataError for one that Arrow does not have.

    Those of pandas are converted one by one: its capsule would have the index among them, and no names but texts.
    """
    arrow = pyarrow()
    faults = (arrow.ArrowException, TypeError, ValueError, OverflowError)
    if hasattr(frame, "items"):
        for name, column in frame.items():
            try:
                array = arrow.array(column.sparse.to_dense() if hasattr(column, "sparse") else column, from_pandas=True)
            except faults:
                raise _neither(str(name)) from None
            yield str(name), _plain(array)
        return
    try:
        table = arrow.table(frame)
    except Exception as error:  # of whatever library makes the frame, some of which compute it only now
        raise DataError("FRAME-COLUMN", f"Arrow cannot take a column of the frame: {words_of(error)}",
                        where=HERE, hint="leave it out, or make it numbers") from None
    for name, column in zip(table.column_names, table.columns, strict=True):
        yield name, _plain(column)


def _plain(column: Any) -> Any:
    """Return a column as one array of Arrow, of the values that a dictionary has in the place of its indices."""
    arrow = pyarrow()
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    if arrow.types.is_dictionary(column.type):
        chunks = [(chunk.dictionary.cast(arrow.string()) if is_text(chunk.dictionary.type) else chunk.dictionary).take(
            chunk.indices) for chunk in chunks]
    return arrow.concat_arrays(chunks) if chunks else arrow.array([], column.type)


def _elements(name: str, column: Any) -> dict[str, Array]:
    """Return a column of lists of numbers as columns, a missing list as NaN; raises DataError for unequal lengths."""
    plain = getattr(column, "storage", column)
    length = (plain.type.list_size if pyarrow().types.is_fixed_size_list(plain.type) else
              plain.value_lengths().drop_null()[0].as_py())
    lists = list_numbers(column, name, length, 0, HERE, ONE_LENGTH)
    return {element_name(name, element): lists[:, element] for element in range(length)}


def _neither(name: str) -> DataError:
    """Return the error for a column of dates, lists of texts or other objects."""
    return DataError("FRAME-COLUMN", f"the column {shown(name)} holds neither numbers nor texts", where=HERE,
                     hint="leave it out, or make it numbers")


def _ids(frame: Any) -> tuple[str, ...] | None:
    """Return the texts of an index; None if it only counts the rows."""
    index: Sequence[Any] | None = getattr(frame, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return tuple(" ".join(map(str, cell)) if isinstance(cell, tuple) else str(cell) for cell in index)


def is_annotated(given: Any) -> bool:
    """Whether an object is AnnData."""
    return all(hasattr(given, name) for name in ("X", "obs", "obs_names", "var_names", "layers", "obsm"))


def read_annotated(given: Any, input: Input) -> Sheet:
    """Return the matrix that `input.key` names, by default X, with its names and the columns of texts of obs.

    The matrix stays sparse. Raises ConfigError for a key or a column that does not exist.
    """
    matrix, names = _matrix(given, input.key or MAIN)
    of_rows = (input.key or MAIN).startswith("varm")
    frame = given.var if of_rows else given.obs
    choice = choose(names, input.replace(id_column=None, label_columns=()))
    if len(choice.columns) < len(names):
        matrix = matrix[:, list(choice.values)]
    words = [name for name in map(str, frame.columns) if is_text_column(frame[name].to_numpy())]
    labels = {name: text_column(_column(frame, name).to_numpy())
              for name in dict.fromkeys((*input.label_columns, *words)) if name != input.ids_from}
    ids = (given.var_names if of_rows else given.obs_names) if input.ids_from is None else text_column(
        _column(frame, input.ids_from, "input.id_column").to_numpy())
    values = matrix if hasattr(matrix, "tocsr") else np.asarray(matrix)
    return Sheet(values, choice.columns, True, tuple(map(str, ids)), labels=labels)


def _matrix(given: Any, key: str) -> tuple[Any, Sequence[str]]:
    """Return the matrix at a key, as obsm/X_pca, and the names of its columns; raises ConfigError."""
    first, _, rest = key.partition("/")
    if key == MAIN:
        return given.X, tuple(map(str, given.var_names))
    if key == "raw/X" and given.raw is not None:
        return given.raw.X, tuple(map(str, given.raw.var_names))
    there = {name: getattr(given, name, {}) for name in ("layers", "obsm", "varm", *PAIRS)}
    if rest not in there.get(first, {}):
        known = [MAIN, *(f"{name}/{inner}" for name, members in there.items() for inner in members)]
        raise ConfigError("UNKNOWN-KEY", f"there is nothing at {shown(key)}", where="input.key",
                          hint=nearest(key, known))
    matrix = there[first][rest]
    matrix = matrix.to_numpy() if hasattr(matrix, "to_numpy") else matrix
    owner = "var_names" if first in MEASURED else PAIRS.get(first)
    names = numbered_names(rest, matrix.shape[1]) if owner is None else map(str, getattr(given, owner))
    return matrix, tuple(names)


def _column(frame: Any, name: str, where: str = "input.label_columns") -> Any:
    """Return a column of obs; raises ConfigError with the existing ones."""
    names = list(map(str, frame.columns))
    if name not in names:
        raise ConfigError("UNKNOWN-COLUMN", f"obs has no column {shown(name)}", where=where, hint=nearest(name, names))
    return frame[name]


def is_text_column(column: AnyArray) -> bool:
    """Whether a column holds texts, or nothing but missing values among them."""
    return column.dtype.kind in "OUST" and all(isinstance(cell, str) or _is_none(cell) for cell in column.tolist())


def text_column(column: AnyArray) -> tuple[str, ...]:
    """Return a column as texts, missing ones empty; numbers as they are written."""
    texts = is_text_column(column)
    return tuple("" if _is_none(cell) or (texts and is_missing(cell)) else str(cell) for cell in column.tolist())


def _is_none(cell: Any) -> bool:
    """Whether a cell is a missing value: None, NaN, or pandas' own, which equals nothing."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float) and cell != cell
