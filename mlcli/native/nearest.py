"""Nearest neighbors of a block of rows: a tree or quick distances give candidates, which exact distances refine."""

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels


def select_neighbors(quick: AnyArray, count: int, excluded: Indices | None = None) -> tuple[Indices, AnyArray]:
    """The `count` smallest of each row (m x n, float32 or float64) by (value, index): their columns and values.

    `excluded` names a column of each row to leave out. Where a row has too few finite numbers, the
    column is -1 and the value infinite.
    """
    indices, values = np.empty((len(quick), count), dtype=np.int64), np.empty((len(quick), count), dtype=quick.dtype)
    kernels().select_neighbors(np.ascontiguousarray(quick), _each(excluded, len(quick)), indices, values)
    return indices, values


class Smallest:
    """The `count` smallest numbers offered to each of n rows so far, by (value, index): infinite and -1 at first.

    The numbers are ‖y‖² - 2 x·y for pairs of points, squared distances less what is x's own. Rows may
    be offered numbers at the same time in several threads, where they are not the same rows.
    """

    def __init__(self, rows: int, count: int) -> None:
        self.indices = np.full((rows, count), -1, dtype=np.int64)
        self.values = np.full((rows, count), np.inf, dtype=np.float32)

    def offer(self, rows: slice, products: AnyArray, norms: AnyArray, others: slice, turned: bool = False) -> None:
        """Products (float32) of points `rows` with points `others` and the norms of these; `turned`, others x rows.

        Where both are the same points, each is left out of its own numbers.
        """
        place = rows.start if rows == others else -1
        kernels().select_pairs(products, norms, others.start, place, self.indices[rows], self.values[rows], turned)


def refine(rows: Array, points: Array, candidates: Indices, count: int,
           excluded: Indices | None = None) -> tuple[Indices, Array]:
    """The `count` nearest of each row's candidates (m x c, different; -1 for none) by exact (squared distance, index).

    Distances are sums of squared differences in float64, the same to the last bit either way
    round. `excluded` names a point to leave out for each row. Too few candidates: -1 and infinite.
    """
    rows, points = np.ascontiguousarray(rows, dtype=np.float64), np.ascontiguousarray(points, dtype=np.float64)
    indices, squared = np.empty((len(rows), count), dtype=np.int64), np.empty((len(rows), count))
    kernels().refine(rows, points, np.ascontiguousarray(candidates, dtype=np.int64), _each(excluded, len(rows)),
                     indices, squared)
    return indices, squared


class KdTree:
    """A k-d tree of points (n x d, finite). Queries may run at the same time in several threads."""

    def __init__(self, points: Array) -> None:
        self._native = kernels().KdTree(np.ascontiguousarray(points, dtype=np.float64))

    def query(self, rows: Array, count: int) -> tuple[Indices, Array]:
        """For each row (m x d) the `count` nearest points, in no order, and the largest of their squared distances."""
        indices, last = np.empty((len(rows), count), dtype=np.int64), np.empty(len(rows))
        self._native.query(np.ascontiguousarray(rows, dtype=np.float64), indices, last)
        return indices, last


def _each(excluded: Indices | None, size: int) -> Indices:
    return np.full(size, -1, dtype=np.int64) if excluded is None else np.ascontiguousarray(excluded, dtype=np.int64)
