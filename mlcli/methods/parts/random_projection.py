"""Random projections: directions that nearly keep distances, their bound, and the coordinates on them."""

from collections.abc import Sequence
from contextlib import closing
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.rows.scratch import allocate, bytes_in_memory, release_pages
from mlcli.base.rows.source import RowPass, rows_of
from mlcli.base.stages.stage import stage
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.types import Array, Indices
from mlcli.core.kernels.row_factor import READ
from mlcli.engine.executor import results

Kind = Literal["gaussian", "sparse", "orthogonal"]
THIN = 1 << 17  # numbers of rows that are projected at once: what fits in the cache of a core
SAMPLED = 64  # rows whose pairs show how far distances are kept
TALL = 30.0  # operations of a decomposition by orthogonal columns, over those of a product


def random_directions(kind: Kind, columns: int, count: int, density: float, random: np.random.Generator) -> Array:
    """Return random directions (d x p), d `columns` and p `count`, by which squared lengths are kept on average.

    gaussian: entries N(0, 1/p) (Indyk and Motwani, 1998). sparse: ±1 / √(s p), each with probability s / 2, else 0,
    where s is the `density` (Achlioptas, 2003: s = 1/3; Li, Hastie and Church, 2006: s = 1/√d). orthogonal: an
    orthonormal frame, uniform by Haar's measure, times √(d/p) (Johnson and Lindenstrauss, 1984).
    """
    if kind == "sparse":
        signs = np.where(random.random((columns, count)) < 0.5, -1.0, 1.0)
        return np.where(random.random((columns, count)) < density, signs / np.sqrt(density * count), 0.0)
    normal = random.standard_normal((columns, count))
    if kind == "gaussian":
        return normal / np.sqrt(count)
    frame, triangle = np.linalg.qr(normal)
    turned: Array = frame * np.where(np.diag(triangle) < 0, -1.0, 1.0) * np.sqrt(columns / count)
    return turned


def distortion_bound(rows: int, count: int) -> float:
    """Return the least ε with p ≥ 4 ln n / (ε²/2 - ε³/3) for n `rows` and p `count`; NaN where none is below one.

    Some projection to p axes then keeps all squared distances within 1 ± ε, and a random one does with a probability
    of at least 1/n in this proof (Dasgupta and Gupta, 2003); a few more axes make failure improbable.
    """
    wanted = 4 * np.log(max(rows, 1)) / count
    if not wanted < 1 / 2 - 1 / 3:
        return float("nan")
    low, high = 0.0, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if middle**2 / 2 - middle**3 / 3 < wanted else (low, middle)
    return high


def some_rows(points: Array) -> Indices:
    """Return the places (m) of some rows of points (n x d), evenly spread; of rows in a file, of those in memory."""
    rows = rows_of(points)
    if rows is not None:
        return rows.some(SAMPLED)
    return np.unique(np.linspace(0, len(points) - 1, min(SAMPLED, len(points))).astype(np.int64))


def distortions(points: Array, coordinates: Array) -> Array:
    """Return the squared distances of coordinates (m x p) over those of points (m x d), for pairs that differ (k)."""
    found: list[Array] = [np.zeros(0)]
    for place in range(len(points) - 1):
        before, after = (np.square(some[place + 1 :] - some[place]).sum(axis=1) for some in (points, coordinates))
        found.append(after[before > 0] / before[before > 0])
    return np.concatenate(found)


@frozen
class Projection(RowPass):
    """A pass for the products of rows, less a mean, with directions."""

    mean: Array  # d
    directions: Array  # d x p

    def work(self, number: int) -> Sequence[tuple[int, Array]]:
        """Return the coordinates of a block's parts, each with the place of its first row."""
        return [(place, (rows - self.mean) @ self.directions) for place, rows in self.rows.parts(number)]


@stage("coordinates")
def project_rows(points: Array, mean: Array, directions: Array) -> Array:
    """Return (X - mean) R for points X (n x d) and directions R (d x p), by blocks of rows."""
    found, rows = allocate(len(points), directions.shape[1]), rows_of(points)
    if rows is None:
        def fill(some: slice) -> None:
            np.matmul(points[some] - mean, directions, out=found[some])

        each(fill, row_blocks(len(points), THIN, points.shape[1]))
        return found
    with closing(results(Projection(rows, mean, directions))) as every:
        for parts in every:
            for place, some in parts:
                found[place : place + len(some)] = some
            release_pages()
    return found


def projection_step(points: Array, kind: Kind, count: int, threads: int) -> Step:
    """Return the step of the products of points (n x d) with `count` directions."""
    (size, columns), rows = points.shape, rows_of(points)
    seconds = 2.0 * size * columns * count / product_rate(1)
    here = TALL * columns * count**2 / product_rate(1) * (kind == "orthogonal")
    held, how = 8.0 * 3 * columns * count, f"{kind} directions"
    if rows is None:
        taken = held + 8.0 * THIN * threads
        return Step("coordinates", how, here + seconds / threads, taken)
    seconds += READ * size * columns
    taken = held + rows.at_once(threads) * rows.nbytes + bytes_in_memory(2, size * count)
    passes = Passes(1, seconds, rows.blocks, sent=8.0 * columns * count, returned=8.0 * size * count, here=here,
                    working=float(rows.nbytes))
    return Step("coordinates", f"{how}, by a pass over {size:,} rows", here + seconds / threads, taken, passes=passes)
