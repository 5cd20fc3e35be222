"""A sparse matrix as read: its entries in the order of the file, with repeated ones."""

from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.data.formats.edges import Edges
from mlcli.data.options.wording import counted, place
from mlcli.errors import DataError


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
