"""A sparse matrix in compressed rows, with the few products that costs on neighborhoods need: SciPy is slow to load."""

from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array, Indices

if TYPE_CHECKING:
    from scipy import sparse

ENTRIES = 2**14  # of a block of rows, whose terms of a product fit in a core's cache


@frozen
class CompressedRows:
    """A sparse matrix (m x n)."""

    starts: Indices  # m + 1
    indices: Indices  # column of each entry; no column twice in a row
    values: Array
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return len(self.starts) - 1, self.columns

    @property
    def squares(self) -> float:
        """The sum of the squares of all entries."""
        with single_threaded_blas():  # several threads round it otherwise, and wait for more, awake
            return float(self.values @ self.values)

    @property
    def bound(self) -> float:
        """A bound of the largest eigenvalue of RᵀR, for the matrix R: the product of the 1-norm and the ∞-norm."""
        sizes = np.abs(self.values)
        across = self._sums(sizes, slice(0, len(self.starts) - 1))
        down = np.bincount(self.indices, sizes, minlength=self.columns)
        return float(across.max(initial=0.0)) * float(down.max(initial=0.0))

    def times(self, vectors: Array) -> Array:
        """Return the product (m x b) with an (n, b) array of vectors."""
        product = np.empty((len(self.starts) - 1, vectors.shape[1]))

        def work(rows: slice) -> None:
            some = slice(self.starts[rows.start], self.starts[rows.stop])
            product[rows] = self._sums(self.values[some, None] * vectors[self.indices[some]], rows)

        width = max(1, len(self.values) // max(1, len(product)))
        each(work, row_blocks(len(product), ENTRIES, width))
        return product

    def dense(self) -> Array:
        """Return all numbers (m x n)."""
        numbers = np.zeros(self.shape)
        numbers[np.repeat(np.arange(len(numbers)), np.diff(self.starts)), self.indices] = self.values
        return numbers

    def matrix(self) -> "sparse.csr_array":
        """Return a matrix of SciPy."""
        from scipy import sparse

        kind = np.int32 if len(self.indices) < np.iinfo(np.int32).max else np.int64  # its products are quicker so
        return sparse.csr_array((self.values, self.indices.astype(kind), self.starts.astype(kind)), shape=self.shape)

    def _sums(self, terms: Array, rows: slice) -> Array:
        """Return sums over each of some rows (r) of terms, one or several (e or e x b) for each of their entries."""
        starts = self.starts[rows.start : rows.stop + 1] - self.starts[rows.start]
        sums, filled = np.zeros((len(starts) - 1, *terms.shape[1:])), starts[1:] > starts[:-1]
        if filled.any():
            sums[filled] = np.add.reduceat(terms, starts[:-1][filled], axis=0)
        return sums
