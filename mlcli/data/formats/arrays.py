"""Arrays without names, from any file: as tables with columns x1, x2, ..., and as labels of rows."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.options.numbers import EXACT
from mlcli.data.options.wording import NO_PAIRS, counted, place
from mlcli.data.table.selection import Choice, choose
from mlcli.data.table.sheet import Sheet, numbered_names, require_content
from mlcli.errors import DataError

LEAST = 2  # points: a condensed vector of so few looks like any other array
KINDS = "fiub"  # floating, signed, unsigned, boolean
LABEL = "label"  # the name of a single column without a name
MOST_LABELS = 20  # columns of an array of labels: more are a table

Texts = Mapping[str, tuple[str, ...]]


@frozen
class StoredArray:
    """An array in a file, not yet read."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    read: Callable[[], AnyArray]
    require_whole: Callable[[], None] = lambda: None  # raises DataError if the file's size is not the array's
    fortran: bool = False  # whether its first side changes fastest
    hint: str = ""  # the remedy if it does not fit in memory

    @property
    def table(self) -> tuple[int, int]:
        """The numbers of rows and columns; a vector is one column."""
        return flat(self.shape) if len(self.shape) > 1 else (self.shape[0], 1)


def array_sheet(stored: StoredArray, input: Input, compute: Compute) -> Sheet:
    """Read an array (n x d, or of images) as a sheet with columns x1, x2, ...; a condensed vector stays a vector.

    Raises DataError for an array of another kind, and RefusedByPlan if it does not fit in memory.
    """
    require_kind(stored.dtype, stored.shape, input)
    stored.require_whole()
    rows, columns = stored.table
    require_content(rows, columns, input.path)
    copies = 8 if stored.dtype == np.dtype("<f8") and not stored.fortran else 8 + stored.dtype.itemsize
    compute.require_data(float(copies * rows * columns), f"an array of {rows:,} x {columns:,} numbers", stored.hint)
    values = as_doubles(stored.read(), input.path)
    if values.ndim == 1:
        return Sheet(values, ())
    sheet = matrix_sheet(values.reshape(rows, columns), input)
    return replace(sheet, image=image_of(stored.shape) if len(sheet.columns) == columns else None)


def array_labels(stored: StoredArray, path: str) -> Texts:
    """Return an array with some numbers or texts for each row as labels; raises DataError for any other array.

    The longer of two sides counts the rows, as MATLAB's users keep samples in columns as often as in rows.
    """
    dtype, shape = stored.dtype, stored.shape
    if not may_be_labels(dtype, shape):
        raise DataError("LABEL-ARRAY", f"the array holds no labels: its shape is {shape} and its type is {dtype}",
                        where=place(path), hint=f"a number or a text for each row is needed, or up to {MOST_LABELS}")
    if not shape or not shape[0]:
        raise DataError("CORRUPT", "the array holds no rows", where=place(path), hint="write or copy the file again")
    stored.require_whole()
    values = stored.read().reshape(flat(shape))
    return as_labels(values.T if len(shape) == 2 and shape[0] < shape[1] else values, path)


def may_be_labels(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    """Whether an array has a number or a text for each row, or a few."""
    few = math.prod(shape[1:]) == 1 or (len(shape) == 2 and 1 <= min(shape) <= MOST_LABELS)
    return dtype.kind in f"{KINDS}U" and dtype.subdtype is None and few


def as_labels(values: AnyArray, path: str) -> Texts:
    """Return an (n, c) array of numbers or texts as c columns of labels; of indicators of classes, their class.

    Numbers have up to 17 digits, without trailing zeros.
    """
    count = values.shape[1]
    if count > 1 and values.dtype.kind in KINDS and _are_indicators(values):
        note("N-ONE-HOT", f"each row of the labels of {place(path)} has a single 1 among {count} columns: its column, "
             f"from 1 to {count}, is the label")
        return {LABEL: tuple(map(str, (values.argmax(axis=1) + 1).tolist()))}
    names = (LABEL,) if count == 1 else numbered_names(LABEL, count)
    return {name: tuple(f"{value:.17g}" if isinstance(value, float) else str(value) for value in column.tolist())
            for name, column in zip(names, values.T, strict=True)}


def _are_indicators(values: AnyArray) -> bool:
    """Whether each row of numbers has a single 1 and zeros else."""
    ones = values == 1
    return bool(np.all(ones | (values == 0)) and np.all(ones.sum(axis=1) == 1))


def matrix_sheet(values: Array, input: Input) -> Sheet:
    """Return an (n, d) array without names as a sheet; raises ConfigError and DataError."""
    columns = values.shape[1]
    choice, names = numbered_columns(values.shape, input, lambda column: values[:, column])
    used = values if len(choice.values) == columns else np.ascontiguousarray(values[:, choice.values])
    return replace(names, values=used)


def numbered_columns(shape: tuple[int, ...], input: Input, column: Callable[[int], Array]) -> tuple[Choice, Sheet]:
    """Choose among columns x1, x2, ... of an (n, d) array; return the choice, and a sheet without numbers.

    `column` returns a column, of shape (n,): ids and labels are columns of numbers. Raises ConfigError for
    unknown columns, and DataError if none is left for the numbers.
    """
    choice = choose(numbered_names("x", shape[1]), input)
    require_content(shape[0], len(choice.values), input.path)
    labels = {choice.names[place]: texts(column(place)) for place in choice.labels}
    ids = None if choice.id is None else texts(column(choice.id))
    return choice, Sheet(np.empty((shape[0], 0)), choice.columns, False, ids, "", labels)


def flat(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return rows and columns of an array whose first axis counts the rows."""
    return shape[0], math.prod(shape[1:])


def image_of(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape of the images in an array: gray, or with red, green and blue; None if it has none."""
    colors = shape[3:]
    return shape[1:] if len(shape) == 3 or colors == (3,) else shape[1:3] if colors == (1,) else None


def texts(values: Array) -> tuple[str, ...]:
    """Return a numeric column, an array of shape (n,), as ids or labels."""
    return tuple(f"{value:.17g}" for value in values.tolist())


def require_kind(dtype: np.dtype[Any], shape: tuple[int, ...], input: Input) -> None:
    """Raise DataError for arrays that are not matrices of real numbers."""
    if dtype.kind not in KINDS or dtype.subdtype is not None:
        raise wrong_array(f"its type is {dtype} and its shape {shape}", input.path)
    sides = len(shape)
    condensed, images = input.kind == "dissimilarities" and sides == 1, input.kind == "features" and sides in (3, 4)
    if not input.chosen("kind") and sides == 1 and points_of_pairs(shape[0]) > LEAST:
        raise DataError("LOOKS-LIKE-MATRIX", f"the array holds {counted(shape[0], 'number')}, one for every two "
                        f"of {points_of_pairs(shape[0]):,} points, as scipy's pdist writes dissimilarities",
                        where=place(input.path), kind="dissimilarities", hint="give {input.kind=dissimilarities}, or "
                                                                              "an "
                        "array of two dimensions")
    if sides != 2 and not condensed and not images:
        raise wrong_array(f"its shape is {shape} and its type {dtype}", input.path, pairs=input.square)


def as_doubles(values: AnyArray, path: str) -> Array:
    """Return the numbers in double precision, in C order; warns of integers that do not fit.

    Raises DataError for overflow.
    """
    if values.dtype.kind in "iu" and values.dtype.itemsize > 4 and values.size:
        largest = max(-int(values.min()), int(values.max()))
        if largest > EXACT:
            note("W-INT-PRECISION", "integers above 2**53 were rounded", largest=largest)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        doubles = np.ascontiguousarray(values, dtype=np.float64)
    if values.dtype.itemsize > 8 and np.any(np.isinf(doubles) & np.isfinite(values)):
        raise DataError("OVERFLOW", "some numbers are too large for double precision", where=place(path),
                        hint="rescale them")
    return doubles


def _most_points(pairs: int) -> int:
    """Return the largest number of points that have so many pairs or fewer."""
    return (1 + math.isqrt(1 + 8 * pairs)) // 2


def points_of_pairs(count: int) -> int:
    """Return the number of points with `count` pairs; 0 if there is none."""
    size = _most_points(count)
    return size if size * (size - 1) // 2 == count else 0


def points_of(count: int, path: str) -> int:
    """Return the number of points with `count` pairs; raises DataError if there is none."""
    if points := points_of_pairs(count):
        return points
    size = _most_points(count)
    raise DataError("CONDENSED", f"{counted(count, 'number')} are not n(n-1)/2 for any n: "
                    f"{size} points have {size * (size - 1) // 2:,}", where=place(path),
                    hint="a condensed vector holds each pair of points once")


def wrong_array(what: str, path: str, *, pairs: bool = False) -> DataError:
    """Return the error for an array of another kind."""
    return DataError("ARRAY", f"the array is not a matrix of real numbers: {what}", where=place(path),
                     hint="two dimensions of floating, integer or boolean numbers are needed"
                     " (one for condensed dissimilarities, three or four for images)"
                     + (f"; {NO_PAIRS}" if pairs else ""))
