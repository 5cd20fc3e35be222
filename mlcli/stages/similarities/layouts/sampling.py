"""New points of a layout by negative sampling: each from the mean of its neighbors, by some epochs of its own."""

from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.native.sampling import Edges
from mlcli.stages.algebra.metrics import EUCLIDEAN, Fitted
from mlcli.stages.graph.neighborhoods import Nearest
from mlcli.stages.layout.curve import MembershipCurve
from mlcli.stages.layout.memberships import memberships_of, smooth_lengths
from mlcli.stages.layout.sampling import HALF, Sampling, move_points
from mlcli.stages.similarities.layouts.fixed import AmongFixed

PHASES = 4  # parts of an epoch of a new point


@stored("sampled-forces", coordinates="np", points="nd")
@frozen
class SampledForces(AmongFixed):
    """Coordinates of new points among those of the training points, which stay where they are."""

    keeps_distances: ClassVar[bool] = False
    on_equals: ClassVar[bool] = True
    coordinates: Array  # n x p
    points: Array | None  # n x d; None where dissimilarities are given
    neighbors: Nearest
    connectivity: float
    curve: MembershipCurve
    sampling: Sampling
    metric: Fitted = EUCLIDEAN

    def rows(self, new: Array) -> Array:
        """Return coordinates (m x p); a point at distance zero from a training point is placed on it.

        Samples are drawn by the rank of a neighbor, so that a point is placed alike whatever others come with it.
        """
        lists = self.neighbors.of_new(new, self.points, self.metric)
        values = memberships_of(lists, smooth_lengths(lists, self.connectivity, alone=True))
        count = len(lists.indices) // max(len(new), 1)
        table, columns = values.reshape(len(new), count), lists.indices.reshape(len(new), count)
        placed = np.einsum("mk,mkp->mp", table / table.sum(axis=1, keepdims=True), self.coordinates[columns])
        phases = [self._edges(table[:, some], columns[:, some], some) for some in (
            np.arange(phase, count, PHASES) for phase in range(min(PHASES, count)))]
        form = self.sampling.form(self.curve)
        for epoch in range(self.sampling.epochs):
            placed = move_points(phases, placed, self.coordinates, curve=form, draw=self.sampling.draw(epoch),
                                 rate=self.sampling.rate_at(epoch)).points
        equal = np.flatnonzero((lists.lengths.reshape(len(new), count) == 0).any(axis=1))
        placed[equal] = self.coordinates[columns[equal, 0]]
        return placed

    @staticmethod
    def _edges(values: Array, columns: Indices, ranks: Indices) -> Edges:
        """Return the edges of new points (m x k memberships and neighbors) of some ranks (k)."""
        size, count = values.shape
        rates = np.minimum(np.rint(values.ravel() * HALF), HALF - 1).astype(np.uint32)
        return Edges(np.arange(size + 1) * count, columns.ravel().astype(np.int32), rates,
                     np.tile(ranks, size).astype(np.int32))
