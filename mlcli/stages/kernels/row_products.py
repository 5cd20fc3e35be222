"""Products of centered rows F that are read in blocks: F W, FᵀF W, Fᵀ V, and the triangle of F = Q R."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Rows
from mlcli.base.rows.sparse import Moved, entries_of
from mlcli.base.types import Array, Indices
from mlcli.native.sparse import lower_sparse, multiplies, multiply_sparse
from mlcli.stages.algebra.linalg import triangle_of

Means = tuple[Array, Array]  # d each, subtracted from rows, one after the other
NONE = np.zeros((0, 0))  # in place of images that are not asked for


@frozen
class Products:
    """F W and FᵀF W for vectors W, or the triangle R of F = Q R: a source of blocks."""

    rows: Rows
    means: Means
    vectors: Array | None  # d x b
    order: Indices | None = None  # of the columns, for the triangle
    images: bool = True  # whether FᵀF W is summed

    @property
    def blocks(self) -> int:
        """Number of blocks of work."""
        return self.rows.blocks

    def work(self, number: int) -> tuple[Sequence[tuple[int, Array]], Array]:
        """Return scores with the position of the first of them, and the block's share of FᵀF W; or its triangle."""
        if self.vectors is not None and (some := entries_of(self.rows, number)) is not None:
            return self._of_entries(number, some, self.vectors)
        scores, size = [], self.rows.shape[1]
        total = np.zeros((0, size)) if self.vectors is None else np.zeros(self.vectors.shape) if self.images else NONE
        for first, read in self.rows.parts(number):
            rows = read - self.means[0] if self.means[0].any() else read
            if self.vectors is None:
                total = triangle_of(np.vstack([total, (rows - self.means[1])[:, self.order]]))
                continue
            product = rows @ self.vectors - self.means[1] @ self.vectors
            if self.images:
                total += _lowered(rows, self.means[1], product)
            scores.append((first, product))
        return scores, total

    def _of_entries(self, number: int, rows: Moved, vectors: Array) -> tuple[Sequence[tuple[int, Array]], Array]:
        """Compute the result of `work` from the entries of a sparse block: (X - 1 c') W = X W - 1 (c'W)."""
        center, first = rows.center + self.means[0] + self.means[1], self.rows.source.bounds[number]
        if multiplies(rows.entries):
            product, total = multiply_sparse(rows.entries, vectors, center @ vectors, images=self.images)
            return [(first, product)], total - np.outer(center, product.sum(axis=0)) if self.images else NONE
        product = rows.entries @ vectors - center @ vectors
        return [(first, product)], _lowered(rows.entries, center, product) if self.images else NONE

    def stop(self) -> None:
        """Do nothing: blocks are short."""


@frozen
class TransposedProducts:
    """Fᵀ V for vectors V of the rows: a source of blocks, each with its share."""

    rows: Rows
    means: Means
    vectors: Array  # n x b

    @property
    def blocks(self) -> int:
        """Number of blocks of work."""
        return self.rows.blocks

    def work(self, number: int) -> Array:
        """Return the block's share of Fᵀ V, a (d, b) array."""
        if (some := entries_of(self.rows, number)) is not None:
            first, last = self.rows.source.bounds[number : number + 2]
            return _lowered(some.entries, some.center + self.means[0] + self.means[1], self.vectors[first:last])
        total = np.zeros((self.rows.shape[1], self.vectors.shape[1]))
        for first, read in self.rows.parts(number):
            total += _lowered(read - self.means[0], self.means[1], self.vectors[first : first + len(read)])
        return total

    def stop(self) -> None:
        """Do nothing: blocks are short."""


def _lowered(rows: Array, center: Array, vectors: Array) -> Array:
    """Return (X - 1 c')' V = X' V - c (1'V), a (d, b) array, for rows X (m x d), dense or sparse."""
    by_kernel = not isinstance(rows, np.ndarray) and multiplies(rows)
    lowered: Array = lower_sparse(rows, vectors) if by_kernel else rows.T @ vectors
    return lowered - np.outer(center, vectors.sum(axis=0))
