"""Sparse matrices as read: entries, SciPy's arrays with every size and index checked, tables, and edges of graphs."""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import shown
from mlcli.data.formats.arrays import KINDS, as_doubles, numbered_columns
from mlcli.data.options.input import Input
from mlcli.data.options.wording import NO_PAIRS, counted, place
from mlcli.data.table.selection import choose
from mlcli.data.table.sheet import FEWER, Sheet, require_content, transpose
from mlcli.errors import ConfigError, DataError


@frozen
class Edges:
    """Numbers between pairs of points."""

    size: int  # points
    left: Indices
    right: Indices
    values: Array
    ids: tuple[str, ...] | None = None  # of the points, where the file has any
    id_name: str = "id"

    def take(self, chosen: AnyArray) -> "Edges":
        """Return some of the edges."""
        return Edges(self.size, self.left[chosen], self.right[chosen], self.values[chosen], self.ids, self.id_name)


@frozen
class Entries:
    """The entries of a sparse matrix, each with its place; all other cells are zero."""

    shape: tuple[int, int]
    rows: AnyArray  # of each entry; or, if they are in the order of the rows, the first entry of each row and the end
    right: AnyArray  # columns
    values: Array
    ids: tuple[str, ...] | None = None  # ids of the points of rows and columns, if the file has any
    compressed: bool = False  # whether `rows` are the first entries

    @property
    def left(self) -> AnyArray:
        """The row of each entry."""
        if not self.compressed:
            return self.rows
        return np.repeat(np.arange(self.shape[0], dtype=smallest_type(self.shape[0])), np.diff(self.rows))

    def edges(self, path: str) -> Edges:
        """Return the entries as edges between the points of rows and columns; raises DataError."""
        rows, columns = self.shape
        if rows != columns:
            raise DataError("NOT-SQUARE", f"the matrix has {counted(rows, 'row')} and {counted(columns, 'column')}",
                            where=place(path), hint="a graph has one row and one column for every point")
        return Edges(rows, self.left.astype(np.int64), self.right.astype(np.int64), self.values, self.ids)

    def transposed(self) -> "Entries":
        """Return the transposed matrix."""
        return Entries((self.shape[1], self.shape[0]), self.right, self.left, self.values)

    def by_rows(self) -> Any:
        """Return a matrix of SciPy in compressed rows, columns ascending; repeated entries are added, as SciPy does."""
        from scipy.sparse import csr_array

        if self.compressed:
            matrix = csr_array((self.values, self.right, self.rows), shape=self.shape)
        else:
            matrix = csr_array((self.values, (self.rows, self.right)), shape=self.shape)
        matrix.sum_duplicates()
        return matrix


def smallest_type(size: int) -> type[np.signedinteger[Any]]:
    """Return the smallest integer type for indices below `size`."""
    return np.int32 if size < 2**31 else np.int64


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
    stored.compute.require_data(16.0 * size, f"a matrix of {counted(size, 'row')}")
    if len(starts) != size + 1 or starts[0] != 0 or starts[-1] != entries or (np.diff(starts) < 0).any():
        raise stored.refused("indptr does not cut the entries into rows")
    return starts.astype(smallest_type(entries + 1)), _places(stored, "indices", other)


def _places(stored: Stored, name: str, size: int) -> AnyArray:
    """Return the indices of rows or columns; raises DataError if one is out of range."""
    numbers = stored.array(name, "iu", 1)
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < size):
        raise stored.refused(f"{name} names rows or columns that are not there")
    return numbers.astype(smallest_type(size), copy=False)


@frozen
class SparseSheet:
    """A sparse matrix of chosen columns, and its names on a sheet without numbers."""

    matrix: Any  # n x d, compressed rows of SciPy
    names: Sheet

    def transposed(self) -> "SparseSheet":
        """Return the transposed table."""
        rows, columns = self.matrix.shape
        names = transpose(replace(self.names, values=np.empty((rows, 0))))
        return SparseSheet(self.matrix.T.tocsr(), replace(names, values=np.empty((columns, 0))))

    def dense(self, input: Input, compute: Compute) -> Sheet:
        """Return a sheet with all zeros; raises RefusedByPlan if it does not fit in memory."""
        if input.kind == "dissimilarities" and input.similarities is None:  # a similarity left out is zero
            raise ConfigError("SPARSE", "a sparse matrix does not hold the distances of all pairs of points",
                              where=place(input.path), hint=f"{NO_PAIRS}; "
                              "if its entries are the edges of a graph, give {input.kind=graph} instead")
        rows, columns = self.matrix.shape
        compute.require_data(8.0 * rows * columns + 12.0 * self.matrix.nnz, f"a sparse table of {rows:,} x {columns:,} "
                             "numbers with all its zeros", FEWER)
        note("N-DENSE", f"the sparse table of {rows:,} x {columns:,} numbers is held as a dense table", entries=int(
            self.matrix.nnz))
        return replace(self.names, values=self.matrix.toarray())


def plain_sparse(entries: Entries, input: Input) -> SparseSheet:
    """Return a matrix without names in its file: columns x1, x2, ...; some may be ids or labels."""
    require_content(*entries.shape, input.path)
    matrix = entries.by_rows()
    choice, names = numbered_columns(entries.shape, input, lambda column: matrix[:, [column]].toarray()[:, 0])
    return SparseSheet(of_columns(matrix, choice.values, input.path), names)


def named_sparse(entries: Entries, rows: tuple[str, ...], columns: tuple[str, ...], input: Input) -> SparseSheet:
    """Return a matrix with names of rows and columns in its file; raises ConfigError for ids and labels as columns."""
    for name, given in (("id_column", input.ids_from), ("label_columns", input.label_columns)):
        if given:
            raise ConfigError("FORMAT", "the matrix holds no columns of ids or labels", where=f"input.{name}",
                              hint="leave it out; labels come from a file ({input.labels.path})")
    require_content(*entries.shape, input.path)
    choice = choose(columns, input)
    names = Sheet(np.empty((len(rows), 0)), choice.columns, True, rows, apart=True)
    return SparseSheet(of_columns(entries.by_rows(), choice.values, input.path), names)


def of_columns(matrix: Any, chosen: tuple[int, ...], path: str) -> Any:
    """Return some of the columns."""
    require_content(matrix.shape[0], len(chosen), path)
    return matrix if len(chosen) == matrix.shape[1] else matrix[:, list(chosen)].sorted_indices()
