"""Sparse matrices in SciPy's arrays; every size and index is checked, as a file may contain anything."""

from typing import Protocol

import numpy as np

from mlcli.base.types import AnyArray
from mlcli.base.values.compute import Compute
from mlcli.data.formats.arrays import KINDS, as_doubles
from mlcli.data.formats.entries import Entries, smallest_type
from mlcli.data.options.wording import counted, shown
from mlcli.errors import DataError

LARGEST = 2**31  # of a side


class Stored(Protocol):
    """A place in a file with the arrays of one sparse matrix."""

    @property
    def path(self) -> str:
        """The path of the file."""

    @property
    def compute(self) -> Compute:
        """The resources of the run."""

    def array(self, name: str, kinds: str, sides: int) -> AnyArray:
        """Return an array of the expected kind, after a check of its size; raises DataError."""

    def refused(self, what: str) -> DataError:
        """Return the error for a place without such a matrix."""


def entries_of(stored: Stored, form: str, shape: AnyArray) -> Entries:
    """Return the entries of a matrix by rows (csr), columns (csc) or coordinates (coo); explicit zeros are entries.

    Raises DataError.
    """
    rows, columns = _sides(stored, shape)
    values = as_doubles(stored.array("data", KINDS, 1), stored.path)
    if form == "coo":
        left, right = _places(stored, "row", rows), _places(stored, "col", columns)
    elif form == "csr":
        starts, right = _compressed(stored, rows, columns, len(values))
        if len(right) == len(values):
            return Entries((rows, columns), starts, right, values, compressed=True)
        left = values[:0]
    elif form == "csc":
        starts, left = _compressed(stored, columns, rows, len(values))
        right = np.repeat(np.arange(columns, dtype=smallest_type(columns)), np.diff(starts))
    else:
        raise stored.refused(f"its form is {shown(form, 20)}")
    if not len(left) == len(right) == len(values):
        raise stored.refused("its arrays are of different lengths")
    return Entries((rows, columns), left, right, values)


def _sides(stored: Stored, shape: AnyArray) -> tuple[int, int]:
    """Return the numbers of rows and columns."""
    if shape.dtype.kind not in "iu" or shape.shape != (2,) or (shape < 0).any() or (shape > LARGEST).any():
        raise stored.refused("its shape is not two sizes")
    return int(shape[0]), int(shape[1])


def _compressed(stored: Stored, size: int, other: int, entries: int) -> tuple[AnyArray, AnyArray]:
    """Return the first entry of each index along the compressed axis and the end, and indices along the other one."""
    starts = stored.array("indptr", "iu", 1).astype(np.int64)
    stored.compute.require(16.0 * size, f"a matrix of {counted(size, 'row')}")
    if len(starts) != size + 1 or starts[0] != 0 or starts[-1] != entries or (np.diff(starts) < 0).any():
        raise stored.refused("indptr does not cut the entries into rows")
    return starts.astype(smallest_type(entries + 1)), _places(stored, "indices", other)


def _places(stored: Stored, name: str, size: int) -> AnyArray:
    """Return the indices of rows or columns; raises DataError if one is out of range."""
    numbers = stored.array(name, "iu", 1)
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < size):
        raise stored.refused(f"{name} names rows or columns that are not there")
    return numbers.astype(smallest_type(size), copy=False)
