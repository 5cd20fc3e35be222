"""Arrays that name nothing, whatever file holds them: as tables with columns x1, x2, ..., and as labels of rows."""

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
from mlcli.data.table.sheet import Sheet, numbered, require_content
from mlcli.errors import DataError

LEAST = 2  # points; so few have no matrix that tells them from any other array
KINDS = "fiub"  # floating, signed, unsigned, boolean
LABEL = "label"  # the name of an only column that the file does not name

Texts = Mapping[str, tuple[str, ...]]


@frozen
class StoredArray:
    """An array in a file, of which no number was read yet."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    read: Callable[[], AnyArray]
    require_whole: Callable[[], None] = lambda: None  # refuses a file whose size is not that of the array
    fortran: bool = False  # whether its first side changes fastest
    hint: str = ""  # what to do where memory does not hold it

    @property
    def table(self) -> tuple[int, int]:
        """Rows and columns; a vector is one column."""
        return flat(self.shape) if len(self.shape) > 1 else (self.shape[0], 1)


def array_sheet(stored: StoredArray, input: Input, compute: Compute) -> Sheet:
    """An array (n x d, or one of images) as a sheet with columns x1, x2, ...; a condensed vector stays one.

    Raises DataError for an array of another kind, and RefusedByPlan where memory does not hold it.
    """
    require_kind(stored.dtype, stored.shape, input)
    stored.require_whole()
    rows, columns = stored.table
    require_content(rows, columns, input.path)
    copies = 8 if stored.dtype == np.dtype("<f8") and not stored.fortran else 8 + stored.dtype.itemsize
    compute.require(float(copies * rows * columns), f"an array of {rows:,} x {columns:,} numbers", stored.hint)
    values = as_doubles(stored.read(), input.path)
    if values.ndim == 1:
        return Sheet(values, ())
    sheet = matrix_sheet(values.reshape(rows, columns), input)
    return replace(sheet, image=image_of(stored.shape) if len(sheet.columns) == columns else None)


def array_labels(stored: StoredArray, path: str) -> Texts:
    """An array with a number or a text for each row, as labels; raises DataError for any other array."""
    dtype, shape = stored.dtype, stored.shape
    if not may_be_labels(dtype, shape):
        raise DataError("LABEL-ARRAY", f"the array holds no labels: its shape is {shape} and its type is {dtype}",
                        where=place(path), hint="a number or a text for each row is needed")
    if not shape or not shape[0]:
        raise DataError("CORRUPT", "the array holds no rows", where=place(path), hint="write or copy the file again")
    stored.require_whole()
    return as_labels(stored.read())


def may_be_labels(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    """Whether an array holds a number or a text for each row."""
    return dtype.kind in f"{KINDS}U" and dtype.subdtype is None and math.prod(shape[1:]) == 1


def as_labels(values: AnyArray) -> Texts:
    """Numbers or texts (n) as the one column of labels; numbers as they are written shortest."""
    return {LABEL: tuple(f"{value:.17g}" if isinstance(value, float) else str(value)
                         for value in values.ravel().tolist())}


def matrix_sheet(values: Array, input: Input) -> Sheet:
    """A matrix that names nothing, as a sheet; raises ConfigError and DataError."""
    columns = values.shape[1]
    choice, names = unnamed(values.shape, input, lambda column: values[:, column])
    used = values if len(choice.values) == columns else np.ascontiguousarray(values[:, choice.values])
    return replace(names, values=used)


def unnamed(shape: tuple[int, ...], input: Input, column: Callable[[int], Array]) -> tuple[Choice, Sheet]:
    """Columns x1, x2, ... by what they are for, and a sheet without numbers: ids and labels are columns of numbers.

    Raises ConfigError for columns that are not there, and DataError where none is left for the numbers.
    """
    choice = choose(numbered("x", shape[1]), input)
    require_content(shape[0], len(choice.values), input.path)
    labels = {choice.names[place]: texts(column(place)) for place in choice.labels}
    ids = None if choice.id is None else texts(column(choice.id))
    return choice, Sheet(np.empty((shape[0], 0)), choice.columns, False, ids, "", labels)


def flat(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of an array whose first side counts the rows."""
    return shape[0], math.prod(shape[1:])


def image_of(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of the images that an array holds: gray, or with red, green and blue; None where it holds none."""
    colors = shape[3:]
    return shape[1:] if len(shape) == 3 or colors == (3,) else shape[1:3] if colors == (1,) else None


def texts(values: Array) -> tuple[str, ...]:
    """A numeric column as ids or labels."""
    return tuple(f"{value:.17g}" for value in values.tolist())


def require_kind(dtype: np.dtype[Any], shape: tuple[int, ...], input: Input) -> None:
    """Refuses arrays that are not matrices of real numbers."""
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
    """The numbers in double precision, in C order; warns of integers that do not fit."""
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


def points_of_pairs(count: int) -> int:
    """How many points have so many pairs; 0 where none have."""
    size = (1 + math.isqrt(1 + 8 * count)) // 2
    return size if size * (size - 1) // 2 == count else 0


def points_of(count: int, path: str) -> int:
    """How many points have so many pairs; raises DataError where none have."""
    if points := points_of_pairs(count):
        return points
    size = (1 + math.isqrt(1 + 8 * count)) // 2
    raise DataError("CONDENSED", f"{counted(count, 'number')} are not n(n-1)/2 for any n: "
                    f"{size} points have {size * (size - 1) // 2:,}", where=place(path),
                    hint="a condensed vector holds every pair of points once")


def wrong_array(what: str, path: str, *, pairs: bool = False) -> DataError:
    """The error for an array of another kind."""
    return DataError("ARRAY", f"the array is not a matrix of real numbers: {what}", where=place(path),
                     hint="two dimensions of floating, integer or boolean numbers are needed"
                     " (one for condensed dissimilarities, three or four for images)"
                     + (f"; {NO_PAIRS}" if pairs else ""))
