"""Sparse Cholesky factorization of a symmetric positive definite matrix, as blocks of work."""

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.native.library import kernels, owned


class Cholesky:
    """A matrix A = LLᵀ in compressed rows, for one order of elimination. Tasks may run in several threads.

    The elimination is that of shortest paths with other arithmetic: supernodes in the order of nested
    dissection, their updates as tiled products (Ng and Peyton, 1993).
    """

    def __init__(self, starts: Indices, indices: Indices, values: Array, order: Indices) -> None:
        """Analyzes; `order` lists the rows, first eliminated first; both triangles of A are given, or one.

        Raises ValueError where an index is wrong or an entry not finite.
        """
        self._native = kernels().Cholesky(owned(starts, np.int64), owned(indices, np.int64),
                                          owned(values, np.float64), owned(order, np.int64))
        self.stages: list[int] = self._native.tasks()

    @property
    def fill(self) -> int:
        """The entries of L below its diagonal."""
        return int(self._native.fill)

    def factor(self, stage: int, task: int) -> bool:
        """One task of a stage, after all stages before it; False where A turns out not to be positive definite."""
        return bool(self._native.factor(stage, task))

    def solve(self, sides: Array) -> Array:
        """x with A x = b for a block of right sides (n x b), once all tasks are done."""
        sides = np.ascontiguousarray(sides, dtype=np.float64)
        result = np.empty_like(sides)
        self._native.solve(sides, result)
        return result
