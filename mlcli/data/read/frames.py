"""Arrays in memory with names: data frames of pandas and Polars, tables of Arrow, sparse frames, and AnnData.

They are recognized by their attributes, so that none of these libraries is needed.

It is recognized by its attributes, so that anndata is not needed. Options choose as they do from a file (.h5ad).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.missing import is_missing
from mlcli.data.formats.columns import element_name
from mlcli.data.formats.h5ad import MAIN, MEASURED
from mlcli.data.options.input import Input
from mlcli.data.options.wording import nearest, shown
from mlcli.data.table.selection import choose
from mlcli.data.table.sheet import numbered_names
from mlcli.errors import ConfigError, DataError

HERE = "array"  # the name in place of a file's
KINDS = "fiub"  # floating, signed, unsigned, boolean


@frozen
class FrameData:
    """Numbers with the names of their columns and rows, and the columns of texts."""

    values: Array  # n x d
    columns: tuple[str, ...]  # d
    ids: tuple[str, ...] | None  # n; None where the rows are only numbered
    labels: Mapping[str, tuple[str, ...]]  # n texts each


def is_frame(given: Any) -> bool:
    """Whether an object is a data frame or a table of Arrow."""
    named = hasattr(given, "columns") or hasattr(given, "column_names")
    return named and hasattr(given, "shape") and not isinstance(given, np.ndarray)


def is_sparse_array(given: Any) -> bool:
    """Whether an object is a sparse array or matrix of SciPy."""
    return hasattr(given, "tocsr") and hasattr(given, "nnz")


def read_frame(frame: Any) -> FrameData:
    """Return the numbers and names of a data frame: columns of texts are labels, an index with names is the ids.

    Raises DataError for a column that is neither numbers nor texts.
    """
    numbers, labels = dict[str, Array](), dict[str, tuple[str, ...]]()
    for name, column in _columns(frame):
        if name in numbers or name in labels:
            raise DataError("DUPLICATE-COLUMNS", f"two columns are called {shown(name)}", where=HERE,
                            hint="give every column a name of its own")
        if (values := _numbers(column)) is not None:
            numbers[name] = values
        elif (lists := _lists(name, column)) is not None:
            numbers |= {element_name(name, element): lists[:, element] for element in range(lists.shape[1])}
        else:
            labels[name] = _texts(name, column)
    values = np.column_stack([*numbers.values()]) if numbers else np.empty((int(frame.shape[0]), 0))
    return FrameData(np.ascontiguousarray(values), tuple(numbers), _ids(frame), labels)


def _columns(frame: Any) -> Iterator[tuple[str, AnyArray]]:
    """Yield the columns as arrays, each with its name."""
    if hasattr(frame, "column_names"):  # Arrow
        pairs: Iterator[tuple[Any, Any]] = zip(frame.column_names, frame.columns, strict=True)
    elif hasattr(frame, "iter_columns"):  # Polars
        pairs = ((column.name, column) for column in frame.iter_columns())
    else:
        pairs = iter(frame.items())
    return ((str(name), np.asarray(column.to_numpy())) for name, column in pairs)


def _numbers(column: AnyArray) -> Array | None:
    """Return a column as doubles, missing values as NaN; None if it is not of numbers."""
    if column.dtype.kind in KINDS:
        return np.asarray(column, dtype=np.float64)
    if column.dtype.kind != "O":
        return None
    cells = [np.nan if _is_none(cell) else cell for cell in column.tolist()]
    if all(isinstance(cell, int | float | np.number) for cell in cells) and not all(cell != cell for cell in cells):
        return np.array(cells, dtype=np.float64)
    return None


def _lists(name: str, column: AnyArray) -> Array | None:
    """Return a column of lists of numbers as an (n, length) array, a missing list as NaN; None for other columns.

    Raises DataError for lists of different lengths.
    """
    if column.ndim == 2 and column.dtype.kind in KINDS:
        return np.asarray(column, dtype=np.float64)
    there = {row: cell for row, cell in enumerate(column.tolist()) if not _is_none(cell)}
    if column.dtype.kind != "O" or not there or not all(
            isinstance(cell, list | tuple | np.ndarray) for cell in there.values()):
        return None
    length = len(next(iter(there.values())))
    found = np.full((len(column), length), np.nan)
    for row, cell in there.items():
        if len(cell) != length:
            raise DataError("LISTS", f"row {row + 1}: the list of column {shown(name)} has {len(cell):,} elements, and "
                            f"the first one {length:,}", where=HERE, hint="give all lists one length, or leave the "
                            "column out")
        values = np.asarray(cell)
        if values.ndim != 1 or (numbers := _numbers(values)) is None:
            return None
        found[row] = numbers
    return found


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
        raise DataError("FRAME-COLUMN", f"the column {shown(name)} holds neither numbers nor texts", where=HERE,
                        hint="leave it out, or make it numbers")
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
