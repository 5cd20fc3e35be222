"""Linear versions of graph methods: among functions that are linear in the columns, those of least cost on a graph.

A graph method minimizes a cost ‖R y‖² of functions y on the points, under a norm of them; its linear version minimizes
it over y = X a. With white columns U (Uᵀ D U = Σd I) the costs are squares of singular values of R U: no matrix is
squared, and none is n x n. Slow features are those of the graph that joins each row to the next.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import LINEAR
from mlcli.base.machine.rates import pass_cost, rates
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.products import Products
from mlcli.core.centering import Centering, uncentered
from mlcli.core.eigen.options import SpectrumRequest, first_columns
from mlcli.core.eigen.solved import Closeness, Solved
from mlcli.core.kernels.inverse import closeness_of_costs, rounding_of_costs
from mlcli.core.linalg import singular, singular_cost, triangle_of
from mlcli.core.sparse_factors import CompressedRows
from mlcli.core.whitening import Whitening

ROOM = 2**21  # numbers of R U in memory at a time
TALL = 4  # rows that are made a triangle together, for each column, at least
SOLVING = 2.0  # arrays of the size of the points in memory besides the white ones


@frozen
class GraphCost:
    """A cost of functions on points: y costs ‖R y‖² as a share of Σ d y²."""

    root: CompressedRows  # R, m x n; constant functions cost nothing
    products: Products
    roots: Array | None = None  # n: √d; None where all are one
    kept: Indices | None = None  # rows of the data that the graph joins, where some are left out
    figures: Mapping[str, Any] = field(default_factory=dict)  # of the fit


@frozen
class RootShape:
    """The predicted size of a root."""

    rows: int
    each: int  # numbers in a row that are not zero

    @property
    def bytes(self) -> float:
        """Memory of the numbers and of their places."""
        return 16.0 * self.rows * self.each


@frozen
class LinearInverse:
    """K = M⁺ on functions that are linear in the columns, for a cost M = RᵀR: eigenvalues are one over costs."""

    root: CompressedRows  # R, m x n
    white: Whitening
    roots: Array | None = None  # n: √d

    definite, inverse, by_factor, rank, remedy, name = True, True, False, None, "", "M⁺"
    tolerance, trace, frobenius = 0.0, float("nan"), float("nan")

    @property
    def centering(self) -> Centering:
        """No centering: white columns have no constant part."""
        return uncentered(len(self.white.points))

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """Return the whole spectrum; the vectors are √d y / √Σd of functions y of variance one."""
        points, size = self.white.points, len(self.white.points)
        sizes, directions = lowest_directions(cost_triangle(self.root, points))
        masses = np.ones(size) if self.roots is None else self.roots
        scale = float(np.linalg.norm(masses))
        costs = np.maximum((sizes / scale) ** 2, rounding_of_costs(self.root) * size / scale**2)

        def take(count: int) -> tuple[Array, Array]:
            chosen = first_columns(directions, count)
            return points @ chosen * (masses / scale)[:, None], chosen

        values = 1 / costs if len(costs) else np.zeros(1)  # the columns may extend in no direction
        return Solved(values, take, size, True, 0.0, own_digits=True)

    def closeness(self, solved: Solved) -> Closeness:
        """Return the tolerances for equal eigenvalues."""
        return closeness_of_costs(solved)

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> None:
        """Return None: small costs are accurate. Takes (k,) `values` and (n, k) `vectors`."""


def cost_triangle(root: CompressedRows, functions: Array) -> Array:
    """Return the triangle T (at most r x r) of R Y = Q T, for R (m x n) and functions Y (n x r), a few rows at a time.
    """
    width = functions.shape[1]
    matrix, triangle = root.matrix(), np.zeros((0, width))
    for rows in row_blocks(root.shape[0], max(ROOM, TALL * width**2), width):
        triangle = triangle_of(np.vstack([triangle, matrix[rows] @ functions]))
    return triangle


def lowest_directions(matrix: Array) -> tuple[Array, Array]:
    """Return all r singular values of a matrix (m x r), ascending, and the directions (r x r) that they belong to."""
    rows, width = matrix.shape
    _, sizes, right = singular(np.vstack([matrix, np.zeros((max(width - rows, 0), width))]))
    return sizes[::-1], right[::-1].T


def linear_step(shape: tuple[int, int], root: RootShape, threads: int) -> Step:
    """Return the step of the costs of white columns of points of a shape (n x d)."""
    rows, columns = shape
    rank = min(rows, columns)
    seconds = (2.0 * root.rows * rank**2 * rates().decomposed / threads + singular_cost((rank, rank), threads)
               + pass_cost(root.rows * root.each * rank))
    together = min(max(ROOM, TALL * rank**2), root.rows * rank)
    return Step("eigensolve", f"singular values of the costs of {rank} white columns", seconds,
                root.bytes + 8.0 * (SOLVING * rows * rank + 6.0 * rank**2 + 3.0 * together),
                needs=LINEAR)  # of the certificate
