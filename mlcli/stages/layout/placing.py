"""Coordinates of new points among fixed ones, each by minimizing its own stress (Gower, 1968, for metric scaling)."""

import numpy as np

from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import Array
from mlcli.stages.algebra.distances import squared_distances
from mlcli.stages.layout.majorize import RELAXATION

BLOCK = 2**20  # numbers of a block of new points and fixed ones
NEAREST = 3  # fixed points from which a new one starts, besides their mean
STEPS = 1000
STILL = 1e-12  # step relative to the extent of the fixed points that ends the search


def place_by_stress(lengths: Array, points: Array, weights: Array) -> Array:
    """Return coordinates (m x p) whose distances from points (n x p) are nearest to `lengths` (m x n).

    Minimizes Σ w (δ - d)² over each row with weights (m x n), from several starts, by relaxed steps of majorization:
    the weighted mean of the fixed points, each moved by δ towards the new one.
    """
    blocks = row_blocks(len(lengths), BLOCK, len(points) * points.shape[1])
    placed = list(in_order(lambda rows: _best(lengths[rows], points, weights[rows]), blocks))
    return np.vstack(placed) if placed else np.zeros((0, points.shape[1]))


def _best(lengths: Array, points: Array, weights: Array) -> Array:
    """Return the best of the places to which several starts lead, for a block of rows."""
    nearest = np.argsort(lengths, axis=1, kind="stable")[:, :NEAREST]
    starts = [*(points[column] for column in nearest.T), points[nearest].mean(axis=1)]
    ends = [_descend(start, lengths, points, weights=weights) for start in starts]
    stresses = np.array([np.sum(weights * (lengths - np.sqrt(squared_distances(end, points))) ** 2, axis=1)
                         for end in ends])
    return np.asarray(np.array(ends)[stresses.argmin(axis=0), np.arange(len(lengths))])


def _descend(places: Array, lengths: Array, points: Array, *, weights: Array) -> Array:
    """Return the places (m x p) to which relaxed steps lead; the last step is a plain one."""
    extent = float(np.abs(points - points.mean(axis=0)).max(initial=0.0))
    shares = weights / weights.sum(axis=1, keepdims=True)
    means, moving = shares @ points, np.arange(len(places))
    for number in range(STEPS):
        here = places[moving]
        distances = np.sqrt(squared_distances(here, points))
        pulls = shares[moving] * np.divide(lengths[moving], distances, out=np.zeros_like(distances),
                                           where=distances > 0)
        targets = means[moving] + pulls.sum(axis=1)[:, None] * here - pulls @ points
        steps = targets - here
        places[moving] = targets if number == STEPS - 1 else here + RELAXATION * steps
        far = np.abs(steps).max(axis=1) > STILL * extent
        places[moving[~far]] = targets[~far]
        moving = moving[far]
        if not len(moving):
            break
    return places
