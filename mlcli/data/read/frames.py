"""Arrays in memory with names: data frames, sparse arrays, and AnnData.

A data frame is whatever gives its columns by Arrow's capsule (`__arrow_c_stream__`): pandas, Polars, Arrow, DuckDB and
others, none of which is imported here. AnnData is recognized by its attributes. Options choose from it as they do from
a file (.h5ad).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.missing import is_missing
from mlcli.data.files.arrow import pyarrow
from mlcli.data.formats.columns import as_doubles, element_name, element_type, is_numeric, is_text, list_numbers
from mlcli.data.formats.h5ad import MAIN, MEASURED
from mlcli.data.options.input import Input
from mlcli.data.options.wording import nearest, shown, words_of
from mlcli.data.table.selection import choose
from mlcli.data.table.sheet import numbered_names
from mlcli.errors import ConfigError, DataError

HERE = "array"  # the name in place of a file's
NAMED = ("columns", "column_names", "schema")  # attributes of tables, which a single column does not have
ONE_LENGTH = "give all lists one length, or leave the column out"


@frozen
class FrameData:
    """Numbers with the names of their columns and rows, and the columns of texts."""

    values: Array  # n x d
    columns: tuple[str, ...]  # d
    ids: tuple[str, ...] | None  # n; None where the rows are only numbered
    labels: Mapping[str, tuple[str, ...]]  # n texts each


def is_frame(given: Any) -> bool:
    """Whether an object is a data frame: columns with names, by Arrow's capsule."""
    return hasattr(given, "__arrow_c_stream__") and any(hasattr(given, name) for name in NAMED)


def is_sparse_array(given: Any) -> bool:
    """Whether an object is a sparse array or matrix of SciPy."""
    return hasattr(given, "tocsr") and hasattr(given, "nnz")


def read_frame(frame: Any) -> FrameData:
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
    return FrameData(np.ascontiguousarray(values), tuple(numbers), _ids(frame), labels)


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


def is_text_column(column: AnyArray) -> bool:
    """Whether a column holds texts, or nothing but missing values among them."""
    return column.dtype.kind in "OUST" and all(isinstance(cell, str) or _is_none(cell) for cell in column.tolist())


def text_column(name: str, column: AnyArray) -> tuple[str, ...]:
    """Return a column as texts, missing ones empty; numbers as they are written."""
    if is_text_column(column):
        return _texts(name, column)
    return tuple("" if _is_none(cell) else str(cell) for cell in column.tolist())


def _texts(name: str, column: AnyArray) -> tuple[str, ...]:
    """Return a column of texts, missing ones empty; raises DataError for dates, lists and other objects."""
    cells = ["" if _is_none(cell) else cell for cell in column.tolist()]
    if column.dtype.kind not in "OUST" or not all(isinstance(cell, str) for cell in cells):
        raise _neither(name)
    return tuple("" if is_missing(cell) else cell for cell in cells)


def _is_none(cell: Any) -> bool:
    """Whether a cell is a missing value: None, NaN, or pandas' own, which equals nothing."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float) and cell != cell


def _ids(frame: Any) -> tuple[str, ...] | None:
    """Return the texts of an index; None if it only counts the rows."""
    index: Sequence[Any] | None = getattr(frame, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return tuple(" ".join(map(str, cell)) if isinstance(cell, tuple) else str(cell) for cell in index)


PAIRS = {"obsp": "obs_names", "varp": "var_names"}


def is_annotated(given: Any) -> bool:
    """Whether an object is AnnData."""
    return all(hasattr(given, name) for name in ("X", "obs", "obs_names", "var_names", "layers", "obsm"))


def read_annotated(given: Any, input: Input) -> FrameData:
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
    labels = {name: text_column(name, _column(frame, name).to_numpy())
              for name in dict.fromkeys((*input.label_columns, *words)) if name != input.ids_from}
    ids = (given.var_names if of_rows else given.obs_names) if input.ids_from is None else text_column(
        input.ids_from, _column(frame, input.ids_from, "input.id_column").to_numpy())
    values = matrix if hasattr(matrix, "tocsr") else np.asarray(matrix)
    return FrameData(values, choice.columns, tuple(map(str, ids)), labels)


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
