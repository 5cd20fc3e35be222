"""Nearest neighbors of a block of rows: candidates from a tree or approximate distances, refined by exact ones."""

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels


def select_neighbors(quick: AnyArray, count: int, excluded: Indices | None = None) -> tuple[Indices, AnyArray]:
    """Return the columns and values of the `count` smallest of each row of an (m, n) array, by (value, index).

    `quick` is of float32 or float64. `excluded` names a column of each row to leave out. In a row with too
    few finite numbers the column is -1 and the value infinite.
    """
    indices, values = np.empty((len(quick), count), dtype=np.int64), np.empty((len(quick), count), dtype=quick.dtype)
    kernels().select_neighbors(np.ascontiguousarray(quick), _each(excluded, len(quick)), indices, values)
    return indices, values


class Smallest:
    """The `count` smallest numbers of each of n rows, by (value, index): -1 and infinite at first.

    The numbers are ‖y‖² - 2 x·y for pairs of points, squared distances less ‖x‖². Several threads may offer
    numbers at the same time if their rows differ.
    """

    def __init__(self, rows: int, count: int) -> None:
        self.indices = np.full((rows, count), -1, dtype=np.int64)
        self.values = np.full((rows, count), np.inf, dtype=np.float32)

    def offer(self, rows: slice, products: AnyArray, norms: AnyArray, others: slice, turned: bool = False) -> None:
        """Offer the numbers of points `rows` with points `others`, from an (m, n) array of products (float32).

        `norms` are the squared norms of the others; with `turned` the products are others x rows. If both
        are the same points, each is left out of its own numbers.
        """
        place = rows.start if rows == others else -1
        kernels().select_pairs(products, norms, others.start, place, self.indices[rows], self.values[rows], turned)


def refine(rows: Array, points: Array, candidates: Indices, count: int,
           excluded: Indices | None = None) -> tuple[Indices, Array]:
    """Return the `count` nearest of each row's candidates, an (m, c) array, by exact (squared distance, index).

    Candidates of a row differ; -1 is none. Distances are sums of squared differences in float64, with the
    same bits if the two points are swapped. `excluded` names a point to leave out for each row. Too few
    candidates: -1 and infinite.
    """
    rows, points = np.ascontiguousarray(rows, dtype=np.float64), np.ascontiguousarray(points, dtype=np.float64)
    indices, squared = np.empty((len(rows), count), dtype=np.int64), np.empty((len(rows), count))
    kernels().refine(rows, points, np.ascontiguousarray(candidates, dtype=np.int64), _each(excluded, len(rows)),
                     indices, squared)
    return indices, squared


class KdTree:
    """A k-d tree of an (n, d) array of finite points. Queries may run at the same time in several threads."""

    def __init__(self, points: Array) -> None:
        self._native = kernels().KdTree(np.ascontiguousarray(points, dtype=np.float64))

    def query(self, rows: Array, count: int) -> tuple[Indices, Array]:
        """Return the `count` nearest points of each row of an (m, d) array, in no order.

        The second array holds the largest of their squared distances for each row.
        """
        indices, last = np.empty((len(rows), count), dtype=np.int64), np.empty(len(rows))
        self._native.query(np.ascontiguousarray(rows, dtype=np.float64), indices, last)
        return indices, last


def _each(excluded: Indices | None, size: int) -> Indices:
    return np.full(size, -1, dtype=np.int64) if excluded is None else np.ascontiguousarray(excluded, dtype=np.int64)
