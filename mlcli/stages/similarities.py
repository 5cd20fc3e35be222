"""Similarities: how new points relate to the training points, as rows for the shared projection.

Every method projects in the same way: `rows(new)`, centered as the training rows were, times a
matrix of axes (Bengio et al., 2004: out-of-sample extensions as kernel PCA). Only the rows differ.
"""

from dataclasses import replace

import numpy as np

from mlcli.base.check import EPS
from mlcli.base.frozen import frozen
from mlcli.base.scaling import all_finite
from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.distances import squared_distances
from mlcli.stages.graph.graph import Graph
from mlcli.stages.graph.neighbors import Neighbors
from mlcli.stages.graph.weights import barycentric_weights, placed_on_equals, weight_matrix, weights_by_distances
from mlcli.stages.kernels.corrections import Correction
from mlcli.stages.kernels.functions import Gaussian, Linear, Polynomial
from mlcli.stages.latent.kalman import Sequence, StateSpace, smoothed
from mlcli.stages.latent.model import Grouped, Latent, posterior
from mlcli.stages.linear.slowness import monomials, monomials_rounding
from mlcli.stages.paths.paths import paths_of_new


@frozen
class Columns:
    """The features themselves: PCA, whose axes live in feature space; or kernel values given as they are."""

    def rows(self, new: Array) -> Array:
        """The new points (m x d)."""
        return new


@frozen
class Completed:
    """The features with missing cells at their conditional means: probabilistic PCA.

    The coordinates of a row completed so are the posterior means given the cells that it has.
    """

    latent: Latent

    def rows(self, new: Array) -> Array:
        """The new points (m x d), each NaN replaced by μ + W x with x the posterior mean."""
        if all_finite(new):
            return new
        data = Grouped.of(new)
        means = np.empty((len(new), self.latent.loadings.shape[1]))
        means[data.order] = posterior(self.latent, data).means
        return np.where(np.isnan(new), self.latent.mean + means @ self.latent.loadings.T, new)


@frozen
class KernelValues:
    """Values of a kernel function between new and training points."""

    points: Array  # n x d, less the origin
    function: Linear | Polynomial | Gaussian
    origin: Array  # d: the points' mean where a shift changes nothing, so that a far origin costs no digits

    def rows(self, new: Array) -> Array:
        """k(x, xⱼ) (m x n)."""
        return self.function(new - self.origin, self.points)


@frozen
class Distances:
    """Minus half the squared Euclidean distances: MDS of points (Gower's interpolation)."""

    points: Array  # n x d
    correction: Correction

    def rows(self, new: Array) -> Array:
        """-δ²/2 (m x n), with the correction that the training distances had."""
        return -0.5 * self.correction.squared(squared_distances(new, self.points))


@frozen
class GivenDistances:
    """Minus half the squares of dissimilarities that the user gives: MDS of dissimilarities."""

    correction: Correction
    landmarks: Indices | None = None  # the training points that count; None: all

    def rows(self, new: Array) -> Array:
        """-δ²/2 (m x landmarks), with the correction that the training dissimilarities had."""
        return -0.5 * self.correction.squared((new if self.landmarks is None else new[:, self.landmarks]) ** 2)


@frozen
class Geodesics:
    """Minus half the squared path lengths from new points into the training graph: Isomap."""

    neighbors: Neighbors
    radius: float | None
    graph: Graph
    points: Array | None  # n x d; None where dissimilarities are given
    landmarks: Indices | None = None  # the training points that count; None: all

    def rows(self, new: Array) -> Array:
        """-δ²/2 with δ = min over neighbors j of d(x, xⱼ) + D[j, :] (m x landmarks), by shortest paths from x."""
        lists = (self.neighbors.lists_of_rows(new, self.radius) if self.points is None
                 else self.neighbors.lists_of_new(new, self.points, self.radius))
        paths = paths_of_new(self.graph, lists)
        return -0.5 * (paths if self.landmarks is None else paths[:, self.landmarks]) ** 2


@frozen
class Barycenters:
    """Weights that reproduce a new point from its training neighbors: LLE."""

    neighbors: Neighbors
    radius: float | None
    points: Array  # n x d
    ridge: float

    def rows(self, new: Array) -> Array:
        """Weights that sum to one (m x n); all weight on one point where the new point equals it."""
        lists = self.neighbors.lists_of_new(new, self.points, self.radius)
        weights = barycentric_weights(new, self.points, lists, self.ridge)
        return placed_on_equals(weight_matrix(weights, lists, len(self.points)).toarray(), lists)


@frozen
class GivenBarycenters:
    """The same weights from dissimilarities that the user gives: SDE of dissimilarities."""

    neighbors: Neighbors
    radius: float | None
    distances: Array  # n x n, between the training points
    ridge: float

    def rows(self, new: Array) -> Array:
        """Weights that sum to one (m x n); all weight on one point where the new point is no distance from it."""
        lists = self.neighbors.lists_of_rows(new, self.radius)
        weights = weights_by_distances(lists, self.distances, self.ridge)
        rows = weight_matrix(weights, lists, len(self.distances)).toarray()
        return placed_on_equals(rows, lists)


@frozen
class Monomials:
    """White coordinates, and with degree 2 their products of two as well: slow feature analysis."""

    means: Array  # d
    into: Array  # d x r
    degree: int

    def rows(self, new: Array) -> Array:
        """The monomials of new points (m x r, or m x r (r + 3) / 2)."""
        return monomials((new - self.means) @ self.into, self.degree)

    def rounding(self, new: Array) -> Array:
        """What the monomials may be wrong by, from the rounding of the white coordinates."""
        wrong = EPS * new.shape[1] * (np.abs(new) + np.abs(self.means)) @ np.abs(self.into)
        return monomials_rounding((new - self.means) @ self.into, wrong, self.degree)


@frozen
class Smoother:
    """The states of a sequence given all of it: the linear-Gaussian state-space model."""

    means: Array  # d
    model: StateSpace

    def rows(self, new: Array) -> Array:
        """The smoothed states (m x K) of rows that follow each other, from a start of their own."""
        varying = self.model.noise > 0
        if not varying.any():
            return np.zeros((len(new), len(self.model.transition)))
        model = replace(self.model, loadings=self.model.loadings[varying], noise=self.model.noise[varying])
        return smoothed(Sequence.of((new - self.means)[:, varying]), model).means


Similarity = (Columns | Completed | KernelValues | Distances | GivenDistances | Geodesics | Barycenters
              | GivenBarycenters | Monomials | Smoother)
