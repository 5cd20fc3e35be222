"""Sparse Cholesky factorization of a symmetric positive definite matrix, as blocks of work."""

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.native.library import kernels, private_copy


class Cholesky:
    """A factorization A = LLᵀ in compressed rows for one order of elimination. Tasks may run in several threads.

    The elimination is that of shortest paths with other arithmetic: supernodes in the order of nested
    dissection, their updates as tiled products (Ng and Peyton, 1993).
    """

    def __init__(self, starts: Indices, indices: Indices, values: Array, order: Indices) -> None:
        """Analyze A, an (n, n) matrix of which both triangles are stored, or one.

        `order` lists rows, first eliminated first. Raises ValueError if an index is wrong or an entry is
        not finite.
        """
        self._native = kernels().Cholesky(private_copy(starts, np.int64), private_copy(indices, np.int64),
                                          private_copy(values, np.float64), private_copy(order, np.int64))
        self.stages: list[int] = self._native.tasks()

    @property
    def fill(self) -> int:
        """The number of entries of L below its diagonal."""
        return int(self._native.fill)

    def factor(self, stage: int, task: int) -> bool:
        """Run one task of a stage, after all stages before it; return False if A is not positive definite."""
        return bool(self._native.factor(stage, task))

    def solve(self, sides: Array) -> Array:
        """Return x with A x = b for an (n, b) array of right sides, after all tasks."""
        sides = np.ascontiguousarray(sides, dtype=np.float64)
        result = np.empty_like(sides)
        self._native.solve(sides, result)
        return result
