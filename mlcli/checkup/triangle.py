"""The triangle inequality over all triples, counted exactly in blocks without an array of n³ numbers."""

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import stage
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.core.paths.floyd import shorten

SLACK = 1e-12  # of the largest dissimilarity: a side this much longer than the other two is rounding
CACHED = 2**16  # numbers in a block: they fit in the processor's cache
ROWS = 8  # rows in a block of pairs: a row is fetched once for all of them
LISTED = 5


@frozen
class Sides:
    """Sides that are too long, worst first, and the number of triples with one."""

    violations: int
    triples: int
    excess: Array  # of each side listed over the shortest way around
    left: Indices
    right: Indices
    between: Indices  # the point on that way


@stage("triangle inequality")
def violations(distances: Array) -> Sides:
    """Count the triples that break the triangle inequality.

    `distances` is an (n, n) array: symmetric, with a zero diagonal, NaN where unknown. A triple with a side
    below zero always breaks it. Of the others, only pairs longer than some path through other points can:
    these are the pairs that Floyd and Warshall's algorithm shortens, and for each of them every third point
    is tried.
    """
    known = np.isfinite(distances)
    slack = SLACK * float(np.abs(distances, where=known, out=np.zeros_like(distances)).max(initial=0.0))
    usable = known & (distances >= -slack)
    lengths = np.where(usable, np.maximum(distances, 0.0), np.inf)
    triples = _triangles(known)
    long_sides = _too_long(lengths, _undercut(lengths), usable, slack)
    count = sum(part[0] for part in long_sides) + triples - _triangles(usable)
    excess, left, right = (np.concatenate([part[place] for part in long_sides]) for place in (1, 2, 3))
    top = np.lexsort((right, left, -excess))[:LISTED]
    between = (lengths[left[top]] + lengths[right[top]] + _ends(left[top], right[top], len(lengths))).argmin(axis=1)
    return Sides(count, triples, excess[top], left[top], right[top], between)


def _ends(left: Indices, right: Indices, size: int) -> Array:
    """Return a row for every pair: infinite at its two ends, zero elsewhere."""
    ends, rows = np.zeros((len(left), size)), np.arange(len(left))
    ends[rows, left] = ends[rows, right] = np.inf
    return ends


def _triangles(joined: AnyArray) -> int:
    """Count the triples of points joined pairwise in an (n, n) array of flags (the diagonal does not count)."""
    size = len(joined)
    if joined.all():
        return size * (size - 1) * (size - 2) // 6
    ones = joined.astype(np.float64)
    np.fill_diagonal(ones, 0.0)
    blocks = range(0, size, 512)
    return round(sum(float(np.sum((ones[at:at + 512] @ ones) * ones[at:at + 512])) for at in blocks) / 6)


def _undercut(lengths: Array) -> Array:
    """Return lengths of shortest paths; zeros, which exclude no pair, without native kernels."""
    if not native.available() or len(lengths) < 3:
        return np.zeros_like(lengths)
    paths = lengths.copy()
    np.fill_diagonal(paths, 0.0)
    for _ in shorten(paths):
        pass
    return paths


def _too_long(lengths: Array, paths: Array, usable: AnyArray,
              slack: float) -> list[tuple[int, Array, Indices, Indices]]:
    """Count, in blocks of rows, the triples with a pair as their longest side, and list the worst of these pairs."""
    size = len(lengths)
    count_of = native.undercuts if native.available() else undercuts

    def block(rows: slice) -> tuple[int, Array, Indices, Indices]:
        own = np.arange(rows.start, rows.stop)
        wanted = usable[rows] & (paths[rows] < lengths[rows] - slack) & (np.arange(size) > own[:, None])
        counts, least = count_of(lengths, rows.start, wanted, slack)
        gaps = np.subtract(lengths[rows], least, out=np.zeros_like(least), where=wanted)
        left, right = np.nonzero(gaps > slack)
        excess = gaps[left, right]
        worst = np.lexsort((right, left, -excess))[:LISTED]
        return int(counts.sum()), excess[worst], own[left[worst]], right[worst]

    return list(in_order(block, row_blocks(size, ROWS), progress=True))


def undercuts(lengths: Array, first: int, wanted: AnyArray, slack: float) -> tuple[Indices, Array]:
    """Count detours shorter than each pair, as the native kernel of this name does, with NumPy.

    `lengths` is an (n, n) array, `wanted` an (m, n) array of flags for rows from `first` on. Returns, for
    each row, the number of ways over a third point that are shorter by more than `slack` than a wanted
    pair, an (m,) array; and the length of the shortest way of each wanted pair (infinite elsewhere), an (m,
    n) array.
    """
    counts, least = np.zeros(len(wanted), dtype=np.int64), np.full(wanted.shape, np.inf)
    step = max(1, CACHED // len(lengths))
    for row in range(len(wanted)):
        left, rights = lengths[first + row], np.flatnonzero(wanted[row])
        for at in range(0, len(rights), step):
            chosen = rights[at:at + step]
            around = lengths[chosen] + left
            counts[row] += np.count_nonzero(around < (left[chosen] - slack)[:, None])
            least[row, chosen] = around.min(axis=1)
    return counts, least
