"""The kernel of a function of two points: one matrix where it is small, else by square tiles that are never stored.

Each tile adds to its rows and, transposed, to its columns.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.stage import note, running, stage
from mlcli.base.stages.steps import Passes
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.core.centering import uncentered
from mlcli.core.kernels.forms import Dense
from mlcli.core.kernels.options import Pairwise, values_against
from mlcli.core.kernels.streamed import BlockSums, Streamed, fits_in_memory
from mlcli.errors import rows_from
from mlcli.native.linalg import gaussian_tile

TILE = 512  # points on a side: 2 MiB in double precision, which fits in a core's cache
GROUP = 4  # tiles on a side of a block of work, unless there were more than GROUPS such sides
GROUPS = 64  # sides of blocks: 2,080 blocks at most, as each costs a cluster a fixed time besides its work
LANDMARKS = 500  # single rows that cost little compared with a pass
WIDTH = 16  # vectors that a pass can multiply at little more than its own cost
PARTS = 256  # columns of factors up to which their products need no blocks: BLAS multiplies wider ones in less time
KEPT = 2**21  # numbers of points whose factors are computed once, and not for every block

Side = tuple[slice, AnyArray]  # the points of a side of a tile, and their factors


@frozen
class Tiles:
    """The tiles on and above the diagonal, a square of them to a block; the others follow by symmetry.

    In single precision products are computed within a tile and summed in double precision.
    """

    function: Pairwise
    points: Array
    kind: type[np.floating[Any]]
    landmarks = LANDMARKS
    width = WIDTH
    order = None
    quick_rows = sample = None
    lasting = True

    @property
    def key(self) -> tuple[Pairwise, Array, str]:
        """The function, the points and the precision."""
        return self.function, self.points, np.dtype(self.kind).name

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.points)

    @property
    def blocks(self) -> int:
        """Number of blocks of work in a pass."""
        return self._groups * (self._groups + 1) // 2

    def rows(self, chosen: Indices) -> Array:
        """Return the rows `chosen` of the kernel in double precision, an (m, n) array."""
        return self._values(self.points[chosen])

    def stop(self) -> None:
        """Do nothing: a block takes little time."""

    def fold(self, number: int, vectors: Array, moments: bool) -> list[BlockSums]:
        """Return the sums that a block of tiles adds to K Q, for its rows and its columns, with (n, b) `vectors` Q."""
        above, below = self._sides(number)
        own = above == below
        given = np.column_stack([vectors, np.ones(len(vectors))]) if moments else vectors
        narrow = np.ascontiguousarray(given, dtype=self.kind)
        products = {tile.start: np.zeros((tile.stop - tile.start, narrow.shape[1])) for tile in (*above, *below)}
        lefts, rights = [self._factors(tile)[0] for tile in above], [self._factors(tile)[1] for tile in below]
        squares, trace = 0.0, 0.0
        for i, rows in enumerate(above):
            for j, columns in enumerate(below):
                if own and j < i:
                    continue
                size = self._multiply((rows, lefts[i]), (columns, rights[j]), narrow, products, moments=moments)
                squares += size if rows == columns else 2 * size
            trace += float(self.function.diagonal(self.points[rows]).sum()) if own and moments else 0.0
        width = vectors.shape[1]
        return [BlockSums(slice(start, start + len(part)), part[:, :width], part[:, width] if moments else 0.0)
                for start, part in products.items()] + [BlockSums(slice(0, 0), vectors[:0], 0.0, squares, trace)]

    def _multiply(self, above: Side, below: Side, vectors: AnyArray, products: dict[int, Array], *,
                  moments: bool) -> float:
        """Add a tile's products with the vectors of its columns and, off the diagonal, of its rows.

        Return the sum of squares of its entries where `moments`.
        """
        (rows, left), (columns, right) = above, below
        to_rows, to_columns = products[rows.start], products[columns.start]
        if stays_in_cache(self.function, left.shape[1]):
            return gaussian_tile(left, right, of_columns=vectors[columns], to_rows=to_rows, to_columns=to_columns,
                                 of_rows=None if rows == columns else vectors[rows])
        tile = self.function.tile(left, right)
        to_rows += tile @ vectors[columns]
        if rows != columns:
            to_columns += tile.T @ vectors[rows]
        return float(np.vdot(tile, tile)) if moments else 0.0

    @property
    def _groups(self) -> int:
        return groups_of(self.size)

    @cached_property
    def _values(self) -> Callable[[Array], Array]:
        return values_against(self.function, self.points)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tiles, (self.function, self.points, self.kind)

    def _factors(self, tile: slice) -> tuple[AnyArray, AnyArray]:
        if self._kept_factors is not None:
            left, right = self._kept_factors
            return left[tile], right[tile]
        return self._make_factors(tile)

    @cached_property
    def _kept_factors(self) -> tuple[AnyArray, AnyArray] | None:
        return self._make_factors(slice(0, self.size)) if self.points.size <= KEPT else None

    def _make_factors(self, rows: slice) -> tuple[AnyArray, AnyArray]:
        with rows_from(rows.start):
            left, right = self.function.factors(self.points[rows])
        return left.astype(self.kind, copy=False), right.astype(self.kind, copy=False)

    def _sides(self, number: int) -> tuple[list[slice], list[slice]]:
        """Return the tiles of the two groups of points that meet in a block."""
        first = 0
        while number >= self._groups - first:
            number, first = number - (self._groups - first), first + 1
        return self._tiles(first), self._tiles(first + number)

    def _tiles(self, group: int) -> list[slice]:
        side = side_of(self.size)
        first = group * side
        return [slice(first + rows.start, first + rows.stop) for rows in row_blocks(min(side, self.size - first), TILE)]


def stays_in_cache(function: Pairwise, width: int) -> bool:
    """Whether the native kernels compute products with a function of factors (n x `width`), whose values they keep."""
    return function.exponential and width <= PARTS and native.available()


def side_of(size: int) -> int:
    """Return the number of points on a side of a block, which are whole tiles."""
    return TILE * max(GROUP, -(-size // (TILE * GROUPS)))


def groups_of(size: int) -> int:
    """Return the number of groups of tiles on a side of the matrix."""
    return -(-size // side_of(size))


def tiled_passes(points: Array, count: int, seconds: float) -> Passes:
    """Return the cost of `count` passes over an (n, d) array, of so many seconds of a core each, on a cluster.

    A block gives the sums of the rows of two groups, which workers add.
    """
    groups, vectors = groups_of(len(points)), 8.0 * WIDTH * len(points)
    return Passes(count, seconds, groups * (groups + 1) // 2, vectors, vectors, once=points.nbytes,
                  working=8.0 * 3 * TILE * TILE, summed=2 * vectors / groups)


@stage("kernel", version=1, composed=True)
def kernel_of(function: Pairwise, points: Array, compute: Compute, centered: bool = True) -> Dense | Streamed:
    """Return the kernel of a function over an (n, d) array of points: one matrix where it is small, streamed if not."""
    size = len(points)
    if fits_in_memory(size, compute):
        with running("kernel"):
            values = function(points, points)
        return Dense.of(values) if centered else Dense(values, uncentered(size))
    rough = Tiles(function, points, np.float32) if function.narrow(points) else None
    note("F-STREAMED", f"the kernel of {size} points is computed in tiles of {TILE} x {TILE} and never stored"
         + (", in single precision before the last pass" if rough else ""))
    return Streamed(Tiles(function, points, np.float64), rough=rough, centered=centered)
