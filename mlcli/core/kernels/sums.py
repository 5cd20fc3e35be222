"""A weighted sum of kernel functions, each of some of the columns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.metric import RowMetric
from mlcli.base.values.scaling import Unit
from mlcli.core.kernels.functions import Function, HalvedSquares, Radial

OfTable = Function | Radial | HalvedSquares  # a kernel function of the columns of one table


@stored("kernel-sum", owners="d", means="d", scales="d", weights="g", positive=("scales",))
@frozen
class KernelSum(RowMetric):
    """Σ w k(x, y), with a kernel function k of each table's columns, less means and over scales, and its weight w."""

    functions: tuple[OfTable, ...]  # g
    owners: Indices  # d: the number of each column's table; -1 for a column of none
    means: Array  # d: subtracted from columns; zero where a function depends on the origin
    scales: Array  # d: what columns are divided by
    weights: Array  # g: of the functions in the sum; zero for a supplementary table
    name: ClassVar[str] = "sum"
    scalable: ClassVar[bool] = False  # each table has a unit of its own
    movable: ClassVar[bool] = False
    exponential: ClassVar[bool] = False

    @property
    def definite(self) -> bool:
        """Whether no matrix of its values has a negative eigenvalue, as no matrix of a function in the sum has."""
        return all(function.definite for function, weight in zip(self.functions, self.weights, strict=True) if weight)

    def in_plain_units(self, unit: Unit) -> "KernelSum":
        """Return the sum for points in plain numbers; this one takes them in the unit."""
        return replace(self, means=unit.plain(self.means), scales=unit.plain(self.scales))

    def table(self, number: int, points: Array) -> Array:
        """Return the columns of a table (n x c), less their means and over their scales, of points (n x d)."""
        own = self.owners == number
        return np.asarray((points[:, own] - self.means[own]) / self.scales[own])

    def __call__(self, left: Array, right: Array) -> Array:
        """Return the (m, n) array of values for all pairs."""
        values = np.zeros((len(left), len(right)))
        for number in np.flatnonzero(self.weights).tolist():
            values += self.weights[number] * self.functions[number](self.table(number, left),
                                                                    self.table(number, right))
        return values

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array, for an (n, d) array of points."""
        values = np.zeros(len(points))
        for number in np.flatnonzero(self.weights).tolist():
            values += self.weights[number] * self.functions[number].diagonal(self.table(number, points))
        return values

    def represent(self, points: Array) -> Array:
        """Return the points themselves (n x d), of which each table takes its columns."""
        return points

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances √(k(x, x) + k(y, y) - 2 k(x, y)) (m x n) of rows (m x d, n x d)."""
        squares = self.diagonal(left)[:, None] + self.diagonal(right) - 2 * self(left, right)
        return np.sqrt(np.maximum(squares, 0.0))

    def factors(self, points: Array) -> tuple[Array, Array]:
        """Return the points themselves, for both sides: the functions have no factors in common."""
        return points, points

    def tile(self, left: AnyArray, right: AnyArray) -> Array:
        """Return values from two blocks of points."""
        return self(left, right)

    block = tile

    def narrow(self, points: Array) -> bool:
        """Whether single precision is enough for (n, d) points: no, the functions differ in their sizes."""
        return False

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse finite points (n x d) outside of the domain of a table's metric; raises DataError."""
        for number, function in enumerate(self.functions):
            if isinstance(function, Radial | HalvedSquares):
                own = np.flatnonzero(self.owners == number)
                function.metric.check(points[:, own], ids, [columns[place] for place in own.tolist()])
