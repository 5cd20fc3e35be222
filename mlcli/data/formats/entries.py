"""A sparse matrix as readers find it: its entries in the order of the file, repeated ones among them."""

from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.data.formats.edges import Edges
from mlcli.data.options.wording import counted, place
from mlcli.errors import DataError


@frozen
class Entries:
    """The numbers of a sparse matrix, with the place of each; all other cells are zero."""

    shape: tuple[int, int]
    left: AnyArray  # rows
    right: AnyArray  # columns
    values: Array
    ids: tuple[str, ...] | None = None  # of the points that rows and columns are, where the file has any

    def edges(self, path: str) -> Edges:
        """The entries as edges between the points that rows and columns are; raises DataError."""
        rows, columns = self.shape
        if rows != columns:
            raise DataError("NOT-SQUARE", f"the matrix has {counted(rows, 'row')} and {counted(columns, 'column')}",
                            where=place(path), hint="a graph has one row and one column for every point")
        return Edges(rows, self.left.astype(np.int64), self.right.astype(np.int64), self.values, self.ids)

    def turned(self) -> "Entries":
        """Rows as columns."""
        return Entries((self.shape[1], self.shape[0]), self.right, self.left, self.values)

    def by_rows(self) -> Any:
        """A matrix of SciPy in compressed rows, columns ascending; entries of one cell are added, as SciPy does."""
        from scipy.sparse import csr_array

        matrix = csr_array((self.values, (self.left, self.right)), shape=self.shape)
        matrix.sum_duplicates()
        return matrix


def smallest_type(size: int) -> type[np.signedinteger[Any]]:
    """The type that holds places up to a size in few bytes."""
    return np.int32 if size < 2**31 else np.int64
