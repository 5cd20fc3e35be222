"""The stress of single points of a layout, as a function of a point's own place: Σ w (δ - d)² over Σ w."""

from collections.abc import Callable, Sequence

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.core.graph.search import shifted
from mlcli.core.layouts.majorize import sums_of_rows
from mlcli.core.layouts.new_points import NEAREST, LeastStress, relative_weights
from mlcli.core.layouts.own_losses import CACHED, LayoutLosses, Local, OwnLosses, Radial, bends_in, block_sums
from mlcli.core.metrics.distances import distances_in_order
from mlcli.native.layouts import stress_rows, turn_sources

ROWS = 2**22  # numbers of a block of points and all others


def stress_of(lengths: Array, weights: Array | None) -> Radial:
    """Return the function w (δ - √u)² of squared distances u (n x m) of pairs with these δ and w, and its derivatives.

    Of pairs at one place with δ = 0 that is w u, smooth there. Those with δ > 0 have no derivative, and none counts.
    """
    def radial(squares: Array, order: int) -> tuple[Array, ...]:
        distances = np.sqrt(squares)
        there = distances > 0
        inverse = np.divide(1.0, distances, out=np.zeros_like(distances), where=there)
        ratios = lengths * inverse
        found = [(lengths - distances) ** 2, (there | (lengths == 0)) * (1 - ratios)]
        if order == 2:
            found.append(0.5 * ratios * inverse * inverse)
        return tuple(found if weights is None else [weights * numbers for numbers in found])

    return radial


@frozen
class StressLosses(OwnLosses):
    """The stress of m inputs, each in the stead of a point, by the lengths that their distances should have."""

    points: Array  # n x p
    lengths: Array  # m x n, zero at the own point
    weights: Array | None  # m x n, zero there too; None: all are one
    own: Indices  # m; -1: none of the points, where there are weights

    def at(self, which: Indices, places: Array) -> Local:
        """Return values and gradients of some of the losses at a place each (k x p)."""
        lengths = self.lengths[which]
        weights = None if self.weights is None else self.weights[which]
        places = np.ascontiguousarray(places)
        if native.available():
            pulled, spread, sums = stress_rows(places, turn_sources(self.points), lengths=lengths, weights=weights,
                                               rows=slice(0, len(places)))
        else:
            pulled, spread, sums = (np.vstack(some) for some in zip(*(
                sums_of_rows(places[rows], self.points, lengths=lengths[rows],
                             weights=None if weights is None else weights[rows])
                for rows in row_blocks(len(which), CACHED, len(self.points))), strict=True))
        values, others = sums[:, 0], np.full(len(which), len(self.points) - 1.0)
        if weights is None:
            gaps = places - self.points[self.own[which]]
            values = values - np.sum(gaps * gaps, axis=1)
            spread = len(self.points) * (places - self.points.mean(axis=0)) - gaps
        else:
            others = weights.sum(axis=1)
        return Local(values, 2 * (spread - pulled)).times(1 / np.where(others > 0, others, 1.0))

    def curved(self, which: Indices, places: Array) -> Local:
        """Return values, gradients and Hessians of some of the losses.

        A place on that of a point from which it should be apart is no minimum: w (δ - d)² falls by 2 w δ d with every
        step from there (de Leeuw, "Differentiability of Kruskal's stress at a local minimum", 1984). The Hessian
        is -1 there.
        """
        parts = []
        for rows in row_blocks(len(which), CACHED, len(self.points)):
            some = which[rows]
            weights = None if self.weights is None else self.weights[some]
            others = np.full(len(some), len(self.points) - 1.0) if weights is None else weights.sum(axis=1)
            turned = stress_of(self.lengths[some].T, None if weights is None else weights.T)
            found = block_sums(places[rows], self.points, turned, self.own[some])
            parts.append(found.times(1 / np.where(others > 0, others, 1.0)))
            peaks = (places[rows, None] == self.points).all(axis=2) & (self.lengths[some] > 0)
            if weights is not None:
                peaks &= weights > 0
            bends_in(parts[-1])[peaks.any(axis=1)] = -np.eye(places.shape[1])
        return Local.joined(parts)

    def starts(self) -> Sequence[Array]:
        """Return the point that should be nearest, and the mean of a few."""
        lengths, rows, there = self.lengths.copy(), np.arange(len(self.lengths)), self.own >= 0
        lengths[rows[there], self.own[there]] = np.inf
        nearest = []
        for _ in range(min(NEAREST, len(self.points) - 1)):  # a partition's order of ties depends on the processor
            last = lengths.argmin(axis=1)
            nearest.append(self.points[last])
            lengths[rows, last] = np.inf
        return nearest[0], sum(nearest[1:], nearest[0]) / len(nearest)


def among(points: Array, lengths: Array, targets: Array, power: float, own: Indices) -> StressLosses:
    """Return the stress of inputs with dissimilarities `lengths` (m x n), in the stead of points (m).

    Their distances should have the lengths `targets` (m x n), those from equal ones zero, as a layout has these at one
    place. Weights are powers of dissimilarities; equal points have none where the power is below zero.
    """
    lengths, targets, rows = np.array(lengths), np.where(lengths > 0, targets, 0.0), np.arange(len(lengths))
    targets[rows, own] = 0.0
    if power == 0:
        return StressLosses(points, targets, None, own)
    lengths[rows, own] = np.inf if power < 0 else 0.0
    apart = lengths > 0
    weights = relative_weights(np.where(apart, lengths, lengths.max(axis=1, keepdims=True)), power) * apart
    weights[rows, own] = 0.0
    return StressLosses(points, targets, weights, own)


def stress_bends(points: Array, losses_of: Callable[[slice], StressLosses]) -> Array:
    """Return the Hessians (n x p x p) of each point's own stress, given the losses of some of the points."""
    def work(rows: slice) -> Array:
        losses = losses_of(rows)
        return bends_in(losses.curved(np.arange(rows.stop - rows.start), points[rows]))

    return np.concatenate(list(in_order(work, row_blocks(len(points), CACHED * 8, len(points)), progress=True)))


def stress_losses(placing: LeastStress, square: Array | None) -> LayoutLosses:
    """Return the losses of all points of a layout of least stress, and those of other inputs.

    `square` are the dissimilarities (n x n) where there are no features.
    """
    points, features = placing.coordinates, placing.points
    if features is None:
        assert square is not None
        between = square
    else:
        between = distances_in_order(placing.metric, features, features)

    def losses(lengths: Array, own: Indices) -> StressLosses:
        targets = lengths if placing.disparities is None else placing.disparities(lengths)
        return among(points, lengths, targets, placing.power, own)

    bends = stress_bends(points, lambda rows: losses(between[rows], np.arange(rows.start, rows.stop)))
    if features is None:
        return LayoutLosses(points, bends)
    reach = float(np.median(np.partition(between, min(NEIGHBOR, len(points) - 1), axis=1)[:, min(
        NEIGHBOR, len(points) - 1)]))

    def moved(rows: slice, shifts: Array) -> OwnLosses:
        new, own = shifted(features, rows, shifts)
        return losses(distances_in_order(placing.metric, new, features), own)

    return LayoutLosses(points, bends, features, reach, len(points), moved=moved, keeps_lengths=True)


NEIGHBOR = 15  # whose distance tells how far an input is moved
