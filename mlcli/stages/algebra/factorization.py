"""Factorizations of M = RᵀR + shift, for a sparse R with few numbers in a row, in the order of nested dissection."""

from typing import TYPE_CHECKING, Protocol

import numpy as np

from mlcli import native
from mlcli.base.rows.blocks import in_stages
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.errors import NumericalError
from mlcli.stages.algebra import ordering
from mlcli.stages.algebra.compressed_rows import CompressedRows

if TYPE_CHECKING:
    from scipy import sparse

FEW = 4  # vectors that SuperLU solves for at once in a tenth of the time it takes for each of more


class Factorization(Protocol):
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


def factorization(root: CompressedRows, shift: float, *, where: str, hint: str) -> Factorization:
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

    rows = root.matrix()
    matrix = (rows.T.tocsr() @ rows + shift * sparse.eye_array(root.columns, format="csr")).tocsr()
    try:
        return SuperLU(matrix, _order(matrix))
    except RuntimeError as singular:
        raise error from singular


def _order(matrix: "sparse.csr_array") -> Indices | None:
    """The order of elimination by nested dissection; None where METIS is absent."""
    if not ordering.available():
        note("N-NO-METIS", "pymetis is not installed: the sparse factorization uses a slower ordering")
        return None
    pattern = matrix.copy()
    pattern.setdiag(0)
    pattern.eliminate_zeros()
    return ordering.nested_dissection(pattern.indptr, pattern.indices)
