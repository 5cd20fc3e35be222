"""Sums of squares of a design for many permutations of its rows, in one pass over the dissimilarities.

The sum of squares of a term with an orthonormal basis Q is the trace of Qᵀ K Q, K = -D²/2: Q is orthogonal to the
mean, so that K needs no centering. As Q = Z A with the columns Z of the design, it is also the sum of
(Zᵀ K Z) ∘ (A Aᵀ). A factor gives each row one column of Z, which makes most products sums. Each tile of K is computed
once for all permutations, and nothing n x n is kept.
"""

from collections.abc import Callable, Sequence

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.linalg import permuted_products

Tile = Callable[[slice, slice], Array]  # squared dissimilarities (m x n) of two ranges of rows, on one thread
ROWS, COLUMNS = 512, 2048  # of a tile
TOGETHER = 2**22  # numbers of products that a thread holds
STEEP = 100.0  # largest stretch from columns of length one to the bases, beyond which products lose digits
CLOSE = 1e-11  # difference of a basis from what the columns give


@frozen
class DesignTerm:
    """One term of a design: each row has at most one column of it that is not zero, and a number there."""

    codes: Indices  # n: the column of each row, -1 for none
    numbers: Array  # n

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.codes.max(initial=-1)) + 1


@frozen
class Design:
    """Columns Z whose products with a kernel give sums of squares: ones, then those of the terms."""

    codes: AnyArray  # t x n: the column of each row in Z by term, from 1, or -1
    numbers: Array  # t x n
    shares: Array  # w² x s: of the products of columns in each sum of squares, A Aᵀ

    @classmethod
    def of(cls, terms: Sequence[DesignTerm], bases: Sequence[Array]) -> "Design":
        """Return the design of terms that span orthonormal bases (n x q each), with a sum of squares of each basis.

        The first basis, of the model, spans the others. Its vectors are the columns where rounding of the products of
        the terms' columns would be too large.
        """
        starts = np.cumsum([1, *(term.width for term in terms)])
        codes = np.array([np.where(term.codes < 0, -1, term.codes + start)
                          for term, start in zip(terms, starts[:-1], strict=True)], dtype=np.int32)
        numbers, stacked = np.array([term.numbers for term in terms]), np.column_stack(bases)
        columns = _columns(codes, numbers, int(starts[-1]))
        lengths = np.linalg.norm(columns, axis=0)
        lengths[lengths == 0] = 1.0
        factors = np.linalg.lstsq(columns / lengths, stacked, rcond=None)[0]
        exact = np.linalg.norm(factors, 2) <= STEEP and np.abs((columns / lengths) @ factors - stacked).max() <= CLOSE
        if not exact:
            count = bases[0].shape[1]
            codes = np.repeat(np.arange(1, 1 + count, dtype=np.int32)[:, None], len(stacked), axis=1)
            numbers, lengths = np.ascontiguousarray(bases[0].T), np.ones(1 + count)
            factors = np.vstack([np.zeros(stacked.shape[1]), bases[0].T @ stacked])
        factors /= lengths[:, None]
        ends = np.cumsum([basis.shape[1] for basis in bases])[:-1]
        shares = [(part @ part.T).ravel() for part in np.split(factors, ends, axis=1)]
        return cls(codes, numbers, np.array(shares).T)

    @property
    def width(self) -> int:
        """The number of columns of Z."""
        return round(np.sqrt(len(self.shares)))

    def squares(self, tile: Tile, orders: AnyArray) -> tuple[Array, float]:
        """Return the sums of squares (p x s) of permutations of the rows, and the trace of the centered kernel.

        `orders` (p x n, int32) has for each the row of the design that stands at each place.
        """
        size = orders.shape[1]
        pieces = [(rows, slice(rows.start + part.start, rows.start + part.stop))
                  for rows in row_blocks(size, ROWS) for part in row_blocks(size - rows.start, COLUMNS)]
        found, whole, own = np.zeros((len(orders), self.shares.shape[1])), 0.0, 0.0

        def work(piece: tuple[slice, slice]) -> tuple[Array, float, float]:
            rows, columns = piece
            kernel, diagonal = tile(rows, columns), 0.0
            kernel *= -1.0  # K = -D²/2, twice: for the tile below the diagonal as well
            if rows.start == columns.start:
                kernel[:, : len(kernel)] /= 2
                diagonal = float(np.trace(kernel))
            return self._sums(kernel, (rows.start, columns.start), orders), float(kernel.sum()), diagonal

        for some, total, diagonal in in_order(work, pieces, progress=True):
            found, whole, own = found + some, whole + total, own + diagonal
        return found, own - whole / size

    def _sums(self, kernel: Array, place: tuple[int, int], orders: AnyArray) -> Array:
        """Return what a tile of the kernel adds to the sums of squares of each permutation (p x s)."""
        parts = []
        for some in row_blocks(len(orders), TOGETHER, len(self.shares)):
            products = (permuted_products(kernel, place, orders[some], self.codes, self.numbers, self.width)
                        if native.available() else self._products(kernel, place, orders[some]))
            parts.append(np.reshape(products, (len(products), -1)) @ self.shares)
        return np.concatenate(parts)

    def _products(self, kernel: Array, place: tuple[int, int], orders: AnyArray) -> Array:
        """Return Zᵀ K Z of a tile for each permutation (p x w x w), without native kernels."""
        columns, (first, low), (down, across) = _columns(self.codes, self.numbers, self.width), place, kernel.shape
        return np.array([columns[order[first : first + down]].T @ (kernel @ columns[order[low : low + across]])
                         for order in orders])


def _columns(codes: AnyArray, numbers: Array, width: int) -> Array:
    """Return the columns of a design (n x w): ones, and the numbers of each term (t x n) where its codes (t x n) are.
    """
    columns = np.zeros((codes.shape[1], width))
    columns[:, 0] = 1.0
    for own, values in zip(codes, numbers, strict=True):
        rows = np.flatnonzero(own > 0)
        columns[rows, own[rows]] = values[rows]
    return columns
