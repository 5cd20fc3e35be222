"""The nearest neighbors of points, exactly: ties by (distance, index), self excluded by index."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mlcli.base.threads import allowed
from mlcli.base.types import Array, Indices
from mlcli.stages.distances import pair_distances, row_blocks, squared_distances

TREE_COLUMNS = 15  # up to here a k-d tree beats blocked matrix products
SPARE = 8  # candidates beyond k, so that rounding of the quick distances cannot hide a neighbor


@dataclass(frozen=True)
class Lists:
    """Each point's neighbors in order of (distance, index), as rows of varying length."""

    starts: Indices  # m + 1
    indices: Indices
    lengths: Array  # distances, not squared

    @property
    def counts(self) -> Indices:
        """How many neighbors each point has (m)."""
        return np.diff(self.starts)

    @property
    def rows(self) -> Indices:
        """The point that each entry belongs to."""
        return np.repeat(np.arange(len(self.starts) - 1), self.counts)


def nearest(points: Array, count: int) -> Lists:
    """The `count` nearest other points of every point."""
    return _select(points, points, count, own=np.arange(len(points)))


def nearest_of_new(new: Array, points: Array, count: int) -> Lists:
    """The `count` nearest points of every new point."""
    return _select(new, points, min(count, len(points)), own=None)


def within(new: Array, points: Array, radius: float, own: bool) -> Lists:
    """All points at most `radius` away; `own` leaves out the point itself."""
    lists = []
    for block in row_blocks(len(new), max(len(points), new.shape[1])):
        squared = squared_distances(new[block], points)
        if own:
            squared[np.arange(len(squared)), np.arange(block.start, block.stop)] = np.inf
        rows, columns = np.nonzero(squared <= radius**2 * (1 + 1e-9))
        exact = pair_distances(new[block], points, rows, columns)
        keep = exact <= radius**2
        lists.append((rows[keep] + block.start, columns[keep], exact[keep]))
    return _lists(len(new), *(np.concatenate(parts) for parts in zip(*lists, strict=True)))


def nearest_in_matrix(distances: Array, count: int, own: bool) -> Lists:
    """The `count` nearest columns of every row of a matrix of dissimilarities."""
    blocks = []
    for block in row_blocks(len(distances), distances.shape[1]):
        part = distances[block].copy()
        if own:
            part[np.arange(len(part)), np.arange(block.start, block.stop)] = np.inf
        order = np.argsort(part, axis=1, kind="stable")[:, :count]
        blocks.append((order, np.take_along_axis(part, order, axis=1)))
    indices, lengths = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return Lists(np.arange(len(distances) + 1) * indices.shape[1], indices.ravel(), lengths.ravel())


def within_matrix(distances: Array, radius: float, own: bool) -> Lists:
    """All columns of a matrix of dissimilarities at most `radius` away."""
    near = distances <= radius
    if own:
        np.fill_diagonal(near, False)
    rows, columns = np.nonzero(near)
    return _lists(len(distances), rows, columns, distances[rows, columns] ** 2)


def _lists(size: int, rows: Indices, columns: Indices, squared: Array) -> Lists:
    order = np.lexsort((columns, squared, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))])
    return Lists(starts, columns[order], np.sqrt(squared[order]))


def _select(new: Array, points: Array, count: int, own: Indices | None) -> Lists:
    """Quick candidates, exact distances among them, and a whole row again where candidates may not suffice."""
    indices = np.empty((len(new), count), dtype=np.int64)
    squared = np.empty((len(new), count))
    for block, candidates, beyond in _candidates(new, points, count + SPARE + 1):
        exact = _exact(new[block], points, candidates)
        if own is not None:
            exact[candidates == own[block, None]] = np.inf
        indices[block], squared[block] = _first(exact, candidates, count)
        for row in np.flatnonzero(squared[block][:, -1] >= beyond) + block.start:
            everyone = np.arange(len(points))
            whole = _exact(new[row : row + 1], points, everyone[None, :])
            if own is not None:
                whole[0, row] = np.inf
            indices[row], squared[row] = (part[0] for part in _first(whole, everyone[None, :], count))
    return Lists(np.arange(len(new) + 1) * count, indices.ravel(), np.sqrt(squared).ravel())


def _exact(new: Array, points: Array, candidates: Indices) -> Array:
    """Squared distances from each new point to its own candidates (m x c)."""
    rows = np.repeat(np.arange(len(new)), candidates.shape[1])
    return pair_distances(new, points, rows, candidates.ravel()).reshape(candidates.shape)


def _first(squared: Array, candidates: Indices, count: int) -> tuple[Indices, Array]:
    """The first `count` candidates of each row by (distance, index)."""
    order = np.lexsort((candidates, squared))[:, :count]
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(squared, order, axis=1)


def _candidates(new: Array, points: Array, count: int) -> Iterator[tuple[slice, Indices, Array]]:
    """For blocks of rows: candidates, and a squared distance that every other point is sure to reach."""
    if count >= len(points):
        everyone = np.arange(len(points))
        for block in row_blocks(len(new), len(points) * points.shape[1]):
            size = block.stop - block.start
            yield block, np.tile(everyone, (size, 1)), np.full(size, np.inf)
    elif points.shape[1] <= TREE_COLUMNS:
        yield from _tree_candidates(new, points, count)
    else:
        yield from _product_candidates(new, points, count)


def _tree_candidates(new: Array, points: Array, count: int) -> Iterator[tuple[slice, Indices, Array]]:
    from scipy.spatial import KDTree

    tree = KDTree(points)
    for block in row_blocks(len(new), count * points.shape[1]):
        distances, candidates = tree.query(new[block], k=count, workers=allowed())
        yield block, candidates.astype(np.int64), distances[:, -1] ** 2 * (1 - 1e-12)


def _product_candidates(new: Array, points: Array, count: int) -> Iterator[tuple[slice, Indices, Array]]:
    center = points.mean(axis=0)
    moved, right = new - center, points - center
    norms = np.einsum("ij,ij->i", right, right)
    rounding = 8 * (points.shape[1] + 4) * np.finfo(np.float64).eps
    for block in row_blocks(len(new), len(points)):
        left = moved[block]
        own_norms = np.einsum("ij,ij->i", left, left)
        quick = norms - 2 * (left @ right.T)  # ‖x - y‖² less ‖x‖², the same for the whole row
        candidates = np.argpartition(quick, count - 1, axis=1)[:, :count]
        last = np.take_along_axis(quick, candidates, axis=1).max(axis=1)
        yield block, candidates, last + own_norms - rounding * (own_norms + norms.max())
