"""Cholesky's factors of a positive definite matrix with sums in a fixed order: the same bits on every processor."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each
from mlcli.base.types import Array
from mlcli.core.arithmetic import product

SIDE = 64  # rows of a block: NumPy inverts its triangle row by row, and kernels do the rest
LINE = 8  # numbers of a cache line


@frozen
class BlockRow:
    """Some rows of U in A = UᵀU, with the inverse of the triangle on the diagonal of A."""

    start: int
    inverse: Array  # s x s, of the triangle
    turned: Array  # s x s, the same transposed
    right: Array  # s x r, what is to the right of the triangle

    @property
    def stop(self) -> int:
        """The first row after them."""
        return self.start + len(self.inverse)


def positive_solver(matrix: Array) -> Callable[[Array], Array] | None:
    """Return the map B -> A⁻¹ B of blocks (n x b) for a symmetric A (n x n); None where A is not positive definite.

    A = UᵀU by blocks of rows, each multiplied with the inverse of a small triangle. Residuals are those of LAPACK; with
    the inverses of blocks of A itself, they would grow with its condition.
    """
    size = len(matrix)
    lines = -(-size // LINE)
    width = LINE * (lines + 1 - lines % 2)  # an odd number of cache lines, as rows then do not compete for one place
    strips = deque(_strip(matrix, start, width) for start in range(0, width, SIDE))
    factor: list[BlockRow] = []
    while strips:
        strip = strips.popleft()
        inverse = _inverse_triangle(strip[:, : len(strip)])
        if inverse is None:
            return None
        rest = np.ascontiguousarray(strip[:, len(strip) :])
        right = np.zeros_like(rest)
        _add_lowered(rest, inverse, right)
        each(partial(_subtract_products, right, strips), range(len(strips)))
        factor.append(BlockRow(width - strip.shape[1], inverse, np.ascontiguousarray(inverse.T), right))
    return partial(_solve, factor, width)


def _strip(matrix: Array, start: int, width: int) -> Array:
    """Return rows of a symmetric matrix (n x n) from their diagonal on, with ones on a diagonal up to a width."""
    strip, inside = np.eye(min(SIDE, width - start), width - start), matrix[start : start + SIDE, start:]
    strip[: len(inside), : inside.shape[1]] = inside
    return strip


def _subtract_products(right: Array, strips: Sequence[Array], number: int) -> None:
    """Subtract the products of the columns of some rows of U from the rows of a later strip."""
    start = SIDE * number
    own = right[:, start : start + len(strips[number])]
    _add_lowered(np.ascontiguousarray(right[:, start:]), -own, strips[number])


def _inverse_triangle(matrix: Array) -> Array | None:
    """Return U⁻¹ (s x s) of A = UᵀU (s x s); None where A is not positive definite."""
    size = len(matrix)
    work = np.hstack([matrix, np.eye(size)])  # becomes U, and its inverse transposed
    for place in range(size):
        pivot = work[place, place]
        if not 0 < pivot < np.inf:
            return None
        work[place] *= 1 / np.sqrt(pivot)
        work[place + 1 :] -= work[place, place + 1 : size, None] * work[place]
    return np.ascontiguousarray(work[:, size:].T)


def _solve(factor: list[BlockRow], width: int, block: Array) -> Array:
    """Return A⁻¹ B (n x b) of a block B (n x b), by two passes over the rows of U."""
    found = np.zeros((width, block.shape[1]))
    found[: len(block)] = block
    for row in factor:
        own, later = found[row.start : row.stop], found[row.stop :]
        own[:] = _lifted(row.turned, own)
        below = np.zeros((block.shape[1], len(later)))
        _add_lowered(row.right, own, below)
        later -= below.T
    for row in reversed(factor):
        own, later = found[row.start : row.stop], found[row.stop :]
        own[:] = _lifted(row.inverse, own - _lifted(row.right, later))
    return found[: len(block)]


def _lifted(rows: Array, block: Array) -> Array:
    """Return RB (m x b) of rows R (m x n), in C order, and a block B (n x b), on one thread."""
    if not native.available():
        return product(rows, block)
    out, count = np.empty((len(rows), block.shape[1])), block.shape[1]
    native.lift_rows(rows, np.zeros(len(block)), directions=block, less=np.zeros(count), out=out)
    return out


def _add_lowered(rows: Array, block: Array, out: Array) -> None:
    """Add BᵀR to `out` (b x n), of rows R (m x n), in C order, and a block B (m x b), on one thread."""
    if native.available():
        native.lower_rows(rows, np.zeros(rows.shape[1]), vectors=block, out=out)
        return
    for row, factors in zip(rows, block, strict=True):
        out += factors[:, None] * row
