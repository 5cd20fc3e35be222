"""A kernel function over all pairs of points, by square tiles: each serves its rows and, turned, its columns."""

from typing import Any

import numpy as np

from mlcli.base.types import AnyArray, Array
from mlcli.stages.kernels.folding import Folded
from mlcli.stages.kernels.functions import Gaussian, Linear, Polynomial

TILE = 512  # points on a side: 2 MiB in double precision, what a core's cache holds
GROUP = 4  # tiles on a side of a block of work


class Tiles:
    """The tiles on and above the diagonal, a square of them to a block; half of the matrix is all of it.

    In single precision products are taken within a tile and added up in double.
    """

    def __init__(self, function: Linear | Polynomial | Gaussian, points: Array, kind: type[np.floating[Any]]) -> None:
        self._function, self._points, self._kind = function, points, kind
        self._groups = -(-len(points) // (TILE * GROUP))
        self.blocks = self._groups * (self._groups + 1) // 2

    def fold(self, number: int, block: Array, moments: bool) -> list[Folded]:
        """What a block of tiles adds to K Q, for its rows and for its columns."""
        above, below = self._sides(number)
        own = above == below
        narrow = block.astype(self._kind, copy=False)
        if moments:
            narrow = np.column_stack([narrow, np.ones(len(block), self._kind)])
        products = {tile.start: np.zeros((tile.stop - tile.start, narrow.shape[1])) for tile in (*above, *below)}
        lefts, rights = [self._factors(tile)[0] for tile in above], [self._factors(tile)[1] for tile in below]
        squares, trace = 0.0, 0.0
        for i, rows in enumerate(above):
            for j, columns in enumerate(below):
                if own and j < i:
                    continue
                tile = self._function.finish(lefts[i] @ rights[j].T)
                products[rows.start] += tile @ narrow[columns]
                if rows != columns:
                    products[columns.start] += tile.T @ narrow[rows]
                if moments:
                    squares += float(np.vdot(tile, tile)) * (1 if rows == columns else 2)
                    trace += float(np.trace(tile)) if rows == columns else 0.0
        width = block.shape[1]
        return [Folded(slice(start, start + len(part)), part[:, :width], part[:, width] if moments else 0.0)
                for start, part in products.items()] + [Folded(slice(0, 0), block[:0], 0.0, squares, trace)]

    def _factors(self, tile: slice) -> tuple[AnyArray, AnyArray]:
        left, right = self._function.factors(self._points[tile])
        return left.astype(self._kind, copy=False), right.astype(self._kind, copy=False)

    def _sides(self, number: int) -> tuple[list[slice], list[slice]]:
        """The tiles of the two groups of points that meet in a block."""
        first = 0
        while number >= self._groups - first:
            number, first = number - (self._groups - first), first + 1
        return self._tiles(first), self._tiles(first + number)

    def _tiles(self, group: int) -> list[slice]:
        starts = range(group * GROUP * TILE, min((group + 1) * GROUP * TILE, len(self._points)), TILE)
        return [slice(start, min(start + TILE, len(self._points))) for start in starts]
