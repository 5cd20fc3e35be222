"""New points of a layout: each where its distances from the training points fit its dissimilarities (Gower, 1968)."""

from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.core.layouts.majorize import RELAXATION
from mlcli.core.layouts.pairs import powers
from mlcli.core.layouts.ranks import Monotone
from mlcli.core.metrics import EUCLIDEAN, RowMetric
from mlcli.core.metrics.distances import distances
from mlcli.core.similarities.base import AmongFixed

BLOCK = 2**20  # numbers of a block of new points and fixed ones
NEAREST = 3  # fixed points from which a new one starts, besides their mean
STEPS = 1000
CLOSE = 0.01  # step relative to that extent below which Newton's steps are tried
CONVEX = 1e-3  # least curvature, relative to that of the quadratic bound, where they are taken
SHORT = 0.25  # their length, relative to the distance of the nearest fixed point, beyond which the curvature changes
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
    stresses = np.array([np.sum(weights * (lengths - differences(end, points)[1]) ** 2, axis=1) for end in ends])
    return np.asarray(np.array(ends)[stresses.argmin(axis=0), np.arange(len(lengths))])


def _descend(places: Array, lengths: Array, points: Array, *, weights: Array) -> Array:
    """Return the places (m x p) to which relaxed steps lead, close to the end Newton's; the last step is plain."""
    extent = float(np.abs(points - points.mean(axis=0)).max(initial=0.0))
    shares = weights / weights.sum(axis=1, keepdims=True)
    means, moving = row_sums(shares, points.T), np.arange(len(places))
    for number in range(STEPS):
        here = places[moving]
        gaps, distances = differences(here, points)
        ratios = np.divide(lengths[moving], distances, out=np.zeros_like(distances), where=distances > 0)
        pulls = shares[moving] * ratios
        targets = means[moving] + row_sums(pulls, gaps)
        steps = targets - here
        moves = RELAXATION * steps
        close = np.abs(steps).max(axis=1) <= CLOSE * extent
        if close.any():
            moves[close] = _newton(steps[close], pulls[close], gaps=gaps[:, close], distances=distances[close])
        places[moving] = targets if number == STEPS - 1 else here + moves
        far = np.abs(steps).max(axis=1) > STILL * extent
        places[moving[~far]] = targets[~far]
        moving = moving[far]
        if not len(moving):
            break
    return places


def _newton(steps: Array, pulls: Array, *, gaps: Array, distances: Array) -> Array:
    """Return Newton's steps (m x p) where the stress is clearly convex and they are short, relaxed ones elsewhere.

    Half the Hessian of a row's stress, over its weight, is (1 - Σ pull) I + Σ pull u uᵀ, u the direction to a point.
    """
    directions = np.divide(gaps, distances, out=np.zeros_like(gaps), where=distances > 0)
    bends = np.stack([row_sums(pulls * direction, directions) for direction in directions], axis=1)
    bends += (1 - pulls.sum(axis=1))[:, None, None] * np.eye(steps.shape[1])
    with np.errstate(all="ignore"):  # where the stress is not convex
        pivots, _ = _eliminate(bends - CONVEX * np.eye(steps.shape[1]), steps)
        _, moves = _eliminate(bends, steps)
    convex = (pivots > 0).all(axis=1)  # as all eigenvalues are larger than what was taken from them
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1)
    short = np.sum(moves * moves, axis=1) <= (SHORT * nearest) ** 2
    return np.where((convex & short)[:, None], moves, RELAXATION * steps)


def _eliminate(matrices: Array, sides: Array) -> tuple[Array, Array]:
    """Return the pivots of symmetric matrices A (m x p x p), and x of A x = b (m x p each) where all are over zero."""
    work, size = np.concatenate([matrices, sides[:, :, None]], axis=2), matrices.shape[1]
    for place in range(size):
        factors = work[:, place + 1 :, place] / work[:, place, place, None]
        work[:, place + 1 :, place:] -= factors[:, :, None] * work[:, place, None, place:]
    found = np.zeros_like(sides)
    for place in reversed(range(size)):
        known = np.sum(work[:, place, place + 1 : size] * found[:, place + 1 :], axis=1)
        found[:, place] = (work[:, place, size] - known) / work[:, place, place]
    return np.diagonal(work[:, :, :size], axis1=1, axis2=2), found


def row_sums(weights: Array, numbers: Array) -> Array:
    """Return Σ w x over the columns of weights w (m x n), for each of p arrays of numbers x (m x n, or n), as m x p."""
    return np.stack([np.sum(weights * some, axis=1) for some in numbers], axis=1)


def differences(places: Array, points: Array) -> tuple[Array, Array]:
    """Return differences (p x m x n) and distances (m x n) of places (m x p) and points (n x p)."""
    gaps = np.stack([own[:, None] - axis for own, axis in zip(places.T, points.T, strict=True)])
    return gaps, np.sqrt(sum(gap * gap for gap in gaps))


@stored("least-stress", coordinates="np", points="nd")
@frozen
class LeastStress(AmongFixed):
    """Coordinates that minimize a new point's own stress, with those of the training points fixed."""

    on_equals: ClassVar[bool] = True
    coordinates: Array  # n x p
    points: Array | None  # n x d; None where dissimilarities are given
    power: float  # of dissimilarities, as weights of pairs
    disparities: Monotone | None = None  # of ranks: the lengths that distances should have
    metric: RowMetric = EUCLIDEAN

    def rows(self, new: Array) -> Array:
        """Return coordinates (m x p); a point at dissimilarity zero from a training point is placed on it."""
        lengths = new if self.points is None else distances(self.metric, new, self.points)
        equal = lengths == 0
        targets = lengths if self.disparities is None else self.disparities(lengths)
        placed = self.coordinates[equal.argmax(axis=1)]
        off = np.flatnonzero(~equal.any(axis=1))
        weights = relative_weights(lengths[off], self.power)
        placed[off] = place_by_stress(targets[off], self.coordinates, weights)
        return placed


def relative_weights(lengths: Array, power: float) -> Array:
    """Return powers of dissimilarities above zero (m x n), relative to the largest weight of each row."""
    if power == 0 or not lengths.size:
        return np.ones_like(lengths)
    heaviest = lengths.min(axis=1, keepdims=True) if power < 0 else lengths.max(axis=1, keepdims=True)
    return powers(lengths, heaviest, power)
