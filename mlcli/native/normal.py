"""Nested dissection, and the Cholesky factorization of M = RᵀR + shift for a sparse R, as blocks of work."""

from functools import partial

import numpy as np

from mlcli.base.rows.blocks import each
from mlcli.base.types import Array, Indices
from mlcli.native.library import kernels


def dissection(starts: Indices, indices: Indices) -> Indices:
    """Return an order of elimination (n) of an undirected graph by nested dissection, on all threads.

    The graph is an n x n adjacency matrix in compressed rows. Raises ValueError if an index is wrong or an edge is in
    one row only.
    """
    found = kernels().Dissection(np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(indices, np.int64))
    each(found.order_part, range(found.parts))
    order: Indices = found.order
    return order


class NormalCholesky:
    """A factorization M = LLᵀ in an order by nested dissection. Tasks may run in several threads.

    `prepare` computes the pattern of M, the order and the numbers of M, `factor` the numbers of L. The order depends on
    the pattern alone. Vertices are gathered in clusters once; separators are found in the graph of clusters and
    improved in the graph itself, which takes a fourth of the time of METIS for 3 to 15 % more entries of L.
    """

    def __init__(self, starts: Indices, indices: Indices, values: Array, *, columns: int, shift: float) -> None:
        """Begin with R, an array (m x `columns`) in compressed rows; no column twice in a row.

        Raises ValueError if an index is wrong or a number is not finite.
        """
        rows = (np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(indices, np.int64),
                np.ascontiguousarray(values, np.float64))
        self._native = kernels().NormalCholesky(*rows, columns, float(shift))
        self.steps: list[int] = self._native.steps()

    @property
    def fill(self) -> int:
        """The number of entries of L below its diagonal, after all steps."""
        return int(self._native.fill)

    @property
    def stages(self) -> list[int]:
        """The number of tasks of each stage of the factorization, after all steps."""
        tasks: list[int] = self._native.tasks()
        return tasks

    def prepare(self, step: int, task: int) -> None:
        """Run one task of a step, after all steps before it."""
        self._native.prepare(step, task)

    def factor(self, stage: int, task: int) -> bool:
        """Run one task of a stage, after all stages before it; return False if M is not positive definite."""
        return bool(self._native.factor(stage, task))

    def solve(self, sides: Array) -> Array:
        """Return x with M x = b for an (n, b) array of right sides, after all tasks, by all threads."""
        sides = np.ascontiguousarray(sides, dtype=np.float64)
        result = np.empty_like(sides)
        solution = kernels().NormalSolution
        for first in range(0, sides.shape[1], solution.columns):
            some = solution(self._native, sides, result, first)
            for step, tasks in enumerate(some.steps):
                each(partial(some.run, step), range(tasks))
        return result
