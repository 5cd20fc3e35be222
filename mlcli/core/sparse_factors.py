"""Sparse matrices in compressed rows, elimination orders by nested dissection, and factorizations of M = RᵀR + shift.

METIS orders where it is installed. The kernels' own dissection takes half its time and leaves up to a half more work
(relaxations of ten neighbors' graphs: a roll 7 to 10 % more, a torus 10, a sphere 19, wines 35, digits 57), so that it
orders where METIS has no wheels. Elimination in its order is still 30 to 1,000 times quicker than searches from all
points.
"""

import importlib.util
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import each, in_stages, row_blocks
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.errors import NumericalError

if TYPE_CHECKING:
    from scipy import sparse

TERMS = 2**16  # of a product in a block of rows, which fit in a core's cache


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

        width = max(1, len(self.values) * vectors.shape[1] // max(1, len(product)))
        each(work, row_blocks(len(product), TERMS, width))
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

    def normal(self) -> "sparse.csr_array":
        """Return RᵀR for the matrix R, as a matrix of SciPy (n x n) with its entries in order."""
        from scipy import sparse

        rows = self.matrix()
        product = sparse.csr_array(rows.T.tocsr() @ rows)
        product.sort_indices()
        return product

    def _sums(self, terms: Array, rows: slice) -> Array:
        """Return sums over each of some rows (r) of terms, one or several (e or e x b) for each of their entries."""
        starts = self.starts[rows.start : rows.stop + 1] - self.starts[rows.start]
        sums, filled = np.zeros((len(starts) - 1, *terms.shape[1:])), starts[1:] > starts[:-1]
        if filled.any():
            sums[filled] = np.add.reduceat(terms, starts[:-1][filled], axis=0)
        return sums


def available() -> bool:
    """Whether METIS is installed; it has no wheels for every machine."""
    return importlib.util.find_spec("pymetis") is not None


def nested_dissection(starts: AnyArray, indices: AnyArray) -> Indices:
    """Return the order (n) in which to eliminate the vertices of an undirected graph without loops, separators last.

    `starts` (n + 1) and `indices` are the row pointers and the column indices of the n x n adjacency matrix (CSR).
    """
    if len(indices) == 0:
        return np.arange(len(starts) - 1)
    if not available():
        note("N-NO-METIS", "pymetis is not installed: the kernels' own dissection orders the graph, whose "
                           "elimination takes up to half as long again")
        return native.dissection(starts, indices)
    import pymetis

    adjacency = pymetis.CSRAdjacency(starts.astype(np.int32), indices.astype(np.int32))
    order, _ = pymetis.nested_dissection(adjacency)
    return np.asarray(order, dtype=np.int64)


FEW = 4  # vectors that SuperLU solves for at once in a tenth of the time it takes for each of more


class SparseFactorization(Protocol):
    """A factored matrix M."""

    def solve(self, sides: Array) -> Array:
        """Return the x (n x b) with M x = b for a block of right sides (n x b)."""


class SuperLU:
    """SciPy's factorization, on one core; without an order it uses minimum degree."""

    def __init__(self, matrix: "sparse.csr_array", order: Indices | None) -> None:
        """Factor a matrix (n x n) in an order (n) of elimination; raises RuntimeError for a singular matrix."""
        from scipy.sparse.linalg import splu

        self._order = slice(None) if order is None else order
        moved = matrix if order is None else matrix[order][:, order]
        self._factors = splu(moved.tocsc(), permc_spec="MMD_AT_PLUS_A" if order is None else "NATURAL",
                             diag_pivot_thresh=0.0, options={"SymmetricMode": True})

    def solve(self, sides: Array) -> Array:
        """Return the x (n x b) with M x = b for a block of right sides (n x b)."""
        solved = np.empty_like(sides)
        for start in range(0, sides.shape[1], FEW):
            part = slice(start, start + FEW)
            solved[self._order, part] = self._factors.solve(sides[self._order, part])
        return solved


def factorization(root: CompressedRows, shift: float, *, where: str, hint: str) -> SparseFactorization:
    """Factor RᵀR + shift for a root R (m x n): by the native kernels where there are any, else by SuperLU.

    Raises NumericalError, with `where` and `hint`, for a matrix that is not positive definite to rounding.
    """
    error = NumericalError("FACTORIZATION", "the sparse cost matrix could not be factored", where=where, hint=hint)
    if native.available():
        factors = native.NormalCholesky(root.starts, root.indices, root.values, columns=root.columns, shift=shift)
        for _ in in_stages(factors.steps, factors.prepare):
            pass
        if not all(in_stages(factors.stages, factors.factor)):
            raise error
        return factors
    from scipy import sparse

    matrix = (root.normal() + shift * sparse.eye_array(root.columns, format="csr")).tocsr()
    try:
        return SuperLU(matrix, _order(matrix))
    except RuntimeError as singular:
        raise error from singular


def _order(matrix: "sparse.csr_array") -> Indices | None:
    """The order of elimination by nested dissection; None where METIS is absent."""
    if not available():
        note("N-NO-METIS", "pymetis is not installed: the sparse factorization uses a slower ordering")
        return None
    pattern = matrix.copy()
    pattern.setdiag(0)
    pattern.eliminate_zeros()
    return nested_dissection(pattern.indptr, pattern.indices)
