"""New points of t-SNE, UMAP and PHATE among the training points."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.core.arithmetic import row_products
from mlcli.core.graph.neighbors import Nearest
from mlcli.core.metrics import EUCLIDEAN, RowMetric
from mlcli.core.metrics.distances import distances_in_order
from mlcli.core.similarities.base import AmongFixed, Parts, Similarity
from mlcli.methods.neighbor_embedding.fuzzy_graph import memberships_of, smooth_lengths
from mlcli.methods.neighbor_embedding.negative_sampling import HALF, MembershipCurve, Sampling, move_points
from mlcli.methods.neighbor_embedding.perplexity import conditional, gaps_of, reach
from mlcli.methods.neighbor_embedding.repulsion import student_forces
from mlcli.methods.neighbor_embedding.walk import Decay, memberships
from mlcli.native.layouts import EdgeArrays, repel_rows, turn_sources

BLOCK = 2**19  # numbers of a block of new points and fixed ones
STEPS = 50
SHARE = 0.5  # of the way to where a step leads


def enter(shares: Array, indices: Indices, points: Array, dof: float) -> Array:
    """Return coordinates (m x p) of new points with affinities `shares` (m x k) to some of the fixed points (n x p).

    Minimizes Σ p log (p / q) of each row, with q the share of a pair in Σ k over all fixed points, from the mean of the
    neighbors weighted by their affinities. A step goes towards (Σ p w y + Σ q w (x - y)) / Σ p w, with w = k^(1/α) at
    x: the attraction is bounded by a parabola and the repulsion by its slope.
    """
    blocks = row_blocks(len(shares), BLOCK, max(len(points), shares.shape[1]))
    repulsion = repulsion_by(points, dof)
    placed = list(in_order(lambda rows: _descend(shares[rows], points[indices[rows]], repulsion, dof), blocks))
    return np.vstack(placed) if placed else np.zeros((0, points.shape[1]))


def repulsion_by(points: Array, dof: float) -> Callable[[Array], tuple[Array, Array]]:
    """Return a function of places x (m x p): forces Σ k w (x - y) (m x p) by fixed points, and sums Σ k (m).

    Those of a place do not depend on the others, to the last bit.
    """
    if native.available():
        sources = turn_sources(points)
        return lambda places: repel_rows(places, sources, dof, slice(0, len(places)), alone=True)
    return partial(student_forces, points=points, dof=dof, alone=True)


def _descend(shares: Array, near: Array, repulsion: Callable[[Array], tuple[Array, Array]], dof: float) -> Array:
    """Return the places (m x p) of new points with neighbors at `near` (m x k x p)."""
    places = np.sum(shares[:, :, None] * near, axis=1)
    for _ in range(STEPS):
        gaps = places[:, None, :] - near
        pulls = shares / (1 + np.sum(gaps**2, axis=2) / dof)
        pushes, totals = repulsion(places)
        slope = np.sum(pulls[:, :, None] * gaps, axis=1) - pushes / totals[:, None]
        places = places - SHARE * slope / pulls.sum(axis=1)[:, None]
    return places


@stored("calibrated", precisions="ns")
@frozen
class Calibrated(Similarity):
    """The precisions of a graph's points, which have no features: new points cannot be compared with them."""

    precisions: Array  # n x s, of squared lengths over the middle one of each row; n x 0 of given affinities
    dof: float
    axes: int

    def width(self, given: int) -> int:
        """Return the number of axes."""
        return self.axes


@stored("entering", coordinates="np", points="nd", precisions="ns")
@frozen
class Entering(AmongFixed):
    """Coordinates whose divergence from a new point's affinities is least, with those of training points fixed."""

    on_equals: ClassVar[bool] = True
    coordinates: Array  # n x p
    points: Array | None  # n x d; None where dissimilarities are given
    precisions: Array  # n x s
    perplexities: tuple[float, ...]
    dof: float
    metric: RowMetric = EUCLIDEAN

    def __post_init__(self) -> None:
        """Raise ValueError for perplexities that no neighbors have, as of a damaged model."""
        if not self.perplexities or reach(self.perplexities) < 1:
            raise ValueError("affinities have a perplexity, of a neighbor at least")

    def rows(self, new: Array) -> Array:
        """Return coordinates (m x p); a point at distance zero from a training point is placed on it."""
        lists = self.neighborhood.of_new(new, self.points, self.metric)
        shares, _ = conditional(gaps_of(lists, slice(0, len(new))), self.perplexities)
        indices = lists.indices.reshape(shares.shape)
        placed = enter(shares, indices, self.coordinates, self.dof)
        on = np.flatnonzero(lists.lengths.reshape(shares.shape)[:, 0] == 0)
        placed[on] = self.coordinates[indices[on, 0]]
        return placed

    @property
    def neighborhood(self) -> Nearest:
        """The neighbors that affinities are computed from."""
        return Nearest(reach(self.perplexities))


@stored("decay-steps", points="nd", clusters="n", within={"clusters": "c"})
@frozen
class DecaySteps(Similarity):
    """The affinities of a new point to the training points, or their sums over clusters, as shares of their sum."""

    keeps_distances: ClassVar[bool] = False
    decay: Decay
    points: Array | None  # n x d; None where dissimilarities are given
    clusters: Indices | None  # n; None: every point by itself
    nodes: int  # training points, or clusters
    metric: RowMetric = EUCLIDEAN

    def rows(self, new: Array) -> Array:
        """Return probabilities that sum to one (m x nodes)."""
        weights = self.decay.affinities(self.lengths(new), 0)
        if self.clusters is not None:
            weights = np.ascontiguousarray(weights @ memberships(self.clusters, self.nodes).T)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def lengths(self, new: Array) -> Array:
        """Return the distances from the training points (m x n); of other metrics than the Euclidean without squares.
        """
        return new if self.points is None else distances_in_order(self.metric, new, self.points)

    def combine(self, rows: Array, axes: Array) -> Array:
        """Return the places (m x p) of rows (m x nodes) by coordinates (nodes x p), in a fixed order."""
        return row_products(rows, np.ascontiguousarray(axes.T))

    @property
    def parts(self) -> Parts:
        """The points and their metric."""
        return Parts(points=self.points, metric=self.metric)

    def width(self, given: int) -> int:
        """Return the number of nodes."""
        return self.nodes


@stored("edge-steps", clusters="n", within={"clusters": "c"})
@frozen
class EdgeSteps(Similarity):
    """The walk on a given graph, whose points have no features: new ones cannot be projected."""

    keeps_distances: ClassVar[bool] = False
    clusters: Indices | None
    nodes: int

    def width(self, given: int) -> int:
        """Return the number of nodes."""
        return self.nodes


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
    metric: RowMetric = EUCLIDEAN
    scale: float = 1.0  # by which coordinates are multiplied where forces act: above one where rows were added

    def rows(self, new: Array) -> Array:
        """Return coordinates (m x p); a point at distance zero from a training point is placed on it.

        Samples are drawn by the rank of a neighbor, so that a point is placed alike whatever others come with it.
        """
        lists = self.neighbors.of_new(new, self.points, self.metric)
        values = memberships_of(lists, smooth_lengths(lists, self.connectivity, alone=True))
        count = len(lists.indices) // max(len(new), 1)
        table, columns = values.reshape(len(new), count), lists.indices.reshape(len(new), count)
        shares = table / table.sum(axis=1, keepdims=True)
        known = self.coordinates * self.scale
        placed = np.sum(shares[:, :, None] * known[columns], axis=1)
        phases = [self._edges(table[:, some], columns[:, some], some) for some in (
            np.arange(phase, count, PHASES) for phase in range(min(PHASES, count)))]
        form = self.sampling.form(self.curve)
        for epoch in range(self.sampling.epochs):
            placed = move_points(phases, placed, known, curve=form, draw=self.sampling.draw(epoch),
                                 rate=self.sampling.rate_at(epoch)).points
        placed = placed / self.scale
        equal = np.flatnonzero((lists.lengths.reshape(len(new), count) == 0).any(axis=1))
        placed[equal] = self.coordinates[columns[equal, 0]]
        return placed

    @staticmethod
    def _edges(values: Array, columns: Indices, ranks: Indices) -> EdgeArrays:
        """Return the edges of new points (m x k memberships and neighbors) of some ranks (k)."""
        size, count = values.shape
        rates = np.minimum(np.rint(values.ravel() * HALF), HALF - 1).astype(np.uint32)
        return EdgeArrays(np.arange(size + 1) * count, columns.ravel().astype(np.int32), rates,
                          np.tile(ranks, size).astype(np.int32))
