"""Arrays in memory with names: data frames of pandas and Polars, tables of Arrow, and sparse arrays of SciPy.

They are recognized by their attributes, so that none of these libraries is needed.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.missing import is_missing
from mlcli.data.formats.lists import element_name
from mlcli.data.options.wording import shown
from mlcli.errors import DataError

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
