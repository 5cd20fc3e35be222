"""Modified locally linear embedding.

Each point has several weights (Zhang and Wang, 2007).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.base.values.options import option, option_of
from mlcli.core.chain.local_costs import LocalKernel, LocalRoot, TangentKernel, dimension_option
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.graph.neighbors import Neighborhood, Neighbors
from mlcli.core.graph.pieces import Policy
from mlcli.core.graph.search import Lists
from mlcli.core.graph.weights import entries_of, equal_blocks
from mlcli.core.linalg import leading_roots, left_singular, require_finite, singular_in_spite_of_ridge
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.metrics.distances import is_euclidean, local_distances, metric_of
from mlcli.core.sparse_factors import CompressedRows
from mlcli.methods.local.tangents import Part, TangentMethod, stack_functionals
from mlcli.methods.trials import variant

SAME = 1e-10  # relative difference up to which the share of an axis is the median
VANISHED = 1e-280  # least over largest term of a regularized Gram matrix whose inverse is in the range of doubles
AxesOf = Callable[[Indices, Indices, Array], tuple[Array, Array]]


@frozen
class Differences:
    """The differences of points to their neighbors, by principal axes."""

    points: Indices  # m
    names: Indices  # m x k: the neighbors
    vectors: Array  # m x k x k: orthonormal, the longest axis first
    values: Array  # m x k: eigenvalues of the Gram matrices of the differences; zero where they are rounding

    def ratios(self, dimension: int) -> Array:
        """Return what the axes after `dimension` hold, over what those up to it do (m); zero where none holds anything.
        """
        within = self.values[:, :dimension].sum(axis=1)
        return self.values[:, dimension:].sum(axis=1) / np.where(within > 0, within, 1.0)

    def counts(self, most: float) -> Indices:
        """Return for how many of the last axes what they hold is at most `most` of what the others do (m).

        At least one; all, where the neighbors all equal the point.
        """
        after = np.cumsum(self.values[:, :0:-1], axis=1)  # of the last axis, the last two, ...
        before = self.values.sum(axis=1, keepdims=True) - after
        few = (after <= most * (1 - SAME) * before).sum(axis=1)
        return np.where(self.values[:, 0] > 0, np.maximum(few, 1), self.values.shape[1])


def several_weights_root(data: Spatial, lists: Lists, dimension: int, ridge: float) -> CompressedRows:
    """Return the root R (m x n): for each point and each of its weight vectors w, its value less the weighted mean.

    A point has as many vectors as axes of the differences to its neighbors that hold little: no more, of what the other
    axes do, than the median over the points of what the axes after `dimension` hold of what those before do. With V
    these axes and w' the weights of LLE, regularized by `ridge`, its vectors are the columns of V H + (1 - α) w' 1ᵀ,
    with H the reflection that turns Vᵀ1 to α 1. Source: Zhang and Wang, 2006.
    """
    axes_of, width = _axes_of(data)

    def spread(rows: Indices) -> Differences:
        entries = entries_of(lists, rows)
        return Differences(rows, lists.indices[entries], *axes_of(rows, lists.indices[entries], lists.lengths[entries]))

    found = list(in_order(spread, equal_blocks(lists, width), progress=True))
    most = float(np.median(np.concatenate([some.ratios(dimension) for some in found])))
    parts = [part for some in in_order(lambda some: weight_rows(some, most, ridge), found) for part in some]
    return stack_functionals(parts, len(data.values))


def weight_rows(found: Differences, most: float, ridge: float) -> list[Part]:
    """Return rows of a point's value less its weighted means of neighbors' values, by the number of weights."""
    counts, parts = found.counts(most), []
    regular = regular_weights(found, ridge)
    for count in np.unique(counts).tolist():
        some = counts == count
        last = found.vectors[some][:, :, -count:]
        sums = last.sum(axis=1)
        length = np.linalg.norm(sums, axis=1) / np.sqrt(count)  # α
        normal = length[:, None] - sums
        sizes = np.linalg.norm(normal, axis=1, keepdims=True)
        normal = np.divide(normal, sizes, out=np.zeros_like(normal), where=sizes > EPS * count)
        weights = last - 2 * (last @ normal[:, :, None]) * normal[:, None, :]
        weights += ((1 - length)[:, None] * regular[some])[:, :, None]
        ones = np.ones((len(weights), count, 1))
        parts.append((np.concatenate([ones, -weights.transpose(0, 2, 1)], axis=2),
                      np.column_stack([found.points[some], found.names[some]])))
    return parts


def regular_weights(found: Differences, ridge: float) -> Array:
    """Return the weights of LLE (m x k), which sum to one: (G + r)⁻¹ 1 with r = ridge x trace G.

    Raises NumericalError where the ridge overflows, or where it vanishes beside a singular G.
    """
    traces = found.values.sum(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        damped = found.values + ridge * np.where(traces > 0, traces, 1.0)
    require_finite(damped, "a local Gram matrix")
    if np.any(damped.min(axis=1) <= VANISHED * damped.max(axis=1)):
        raise singular_in_spite_of_ridge()
    sums = found.vectors.sum(axis=1) / damped
    weights = (found.vectors @ sums[:, :, None])[:, :, 0]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _axes_of(data: Spatial) -> tuple[AxesOf, int]:
    """Return a function from points (m), neighbors (m x k) and their distances to axes, and its number of columns."""
    if is_euclidean(data):
        return lambda rows, names, _: _by_points(data.values[rows], data.values[names]), data.values.shape[1]
    local = local_distances(data.values, None if isinstance(data, Dissimilarities) else metric_of(data))
    return lambda rows, names, lengths: _by_squares(lengths**2, local(names)), 1


def _by_points(points: Array, neighbors: Array) -> tuple[Array, Array]:
    noise = EPS * max(neighbors.shape[1:]) * np.abs(neighbors).max(axis=(1, 2), initial=0.0)
    vectors, lengths = left_singular(neighbors - points[:, None, :], "a neighborhood", whole=True)
    return vectors, np.where(lengths > noise[:, None], lengths, 0.0) ** 2


def _by_squares(own: Array, among: Array) -> tuple[Array, Array]:
    """Return axes from squared distances to the neighbors (m x k) and among these (m x k x k)."""
    gram = (own[:, :, None] + own[:, None, :] - among) / 2
    vectors, lengths = leading_roots(gram, "a local Gram matrix")
    largest = np.maximum(among.max(axis=(1, 2), initial=0.0), own.max(axis=1, initial=0.0))
    return vectors, np.where(lengths**2 > EPS * own.shape[1] * largest[:, None], lengths, 0.0) ** 2


class ModifiedReconstruction(TangentKernel):
    """The inverse of the cost by which several weighted means of neighbors miss each point."""

    stage: ClassVar[str] = "weights"
    name: Literal["modified_reconstruction"] = "modified_reconstruction"
    dimension: int | None = dimension_option()
    ridge: float = option(1e-3, "Regularization of the weights, as a share of the local Gram matrix's trace.", gt=0)

    @classmethod
    def least(cls, dimension: int) -> int:
        """Return p + 1: with p neighbors, no axis is left for weights."""
        return dimension + 1

    def lists(self, data: Spatial, neighbors: Neighborhood, policy: Policy) -> "tuple[Lists, Indices | None]":
        """Return neighbor lists in one closed group, as a point's weights take the point itself."""
        return LocalKernel.lists(self, data, neighbors, policy)

    def height(self, count: int, axes: int) -> int:
        """Return k - p, about the number of weight vectors."""
        return max(count - axes, 1)

    def step(self, shape: tuple[int, int], count: int, axes: int, threads: int) -> Step:
        """Return the cost of the weights, for data of a shape; lists in one closed group need no library."""
        return replace(TangentKernel.step(self, shape, count, axes, threads), needs="")

    def root(self, data: Spatial, lists: Lists, axes: int) -> LocalRoot:
        """Return values of points less their weighted means."""
        return LocalRoot(several_weights_root(data, lists, axes, self.ridge))


class MLLE(TangentMethod):
    """Coordinates that preserve several weights of each point over its neighbors, where LLE has one.

    It keeps each point's place among its neighbors by several sets of weights, and so the shape of the surface better
    than LLE. It fails if the data have more dimensions than `dimension`. Set the number of neighbors first (`-k`), at
    least one more than there are axes.

    How it works: Where a point has more neighbors than the manifold has dimensions, many weights reproduce it about
    equally well, and which of them `lle` takes depends on its regularization (`ridge`). This method takes several
    weight vectors w for a point: one for each of the last principal axes of the differences to its neighbors, as far as
    these axes together hold little variance. The ratio of their variance to that of the axes before may be at most a
    median over the points: that of the ratio of the variance of the axes after the first p to that of the first p. Here
    p is the number of axes, or `dimension`.

    The cost of a function is the sum of (yᵢ - Σ w y)² over the weight vectors of all points, vᵀMv with M = RᵀR. The
    kernel is the pseudoinverse M⁺, without the constant vector, which costs nothing. Coordinates have unit variance,
    because weights do not determine the scale. Each point needs p + 1 neighbors or more. Weights need distances only.

    New points: A new point is placed at the weighted mean of its neighbors' coordinates, with the weights of `lle`; a
    training point is placed exactly on itself.

    Files: `spectrum.csv` holds the eigenvalues of the kernel, one divided by each cost. For up to 600 points, or with
    `eigensolve.solver: dense`, all of them are computed, and so the share of each in their sum (`proportion`);
    otherwise only the largest, without shares. To choose the axes by such a share, set `dimension`.

    Source: Zhang and Wang, "MLLE: modified locally linear embedding using multiple weights", 2006.
    """

    variants: ClassVar = (
        variant("", "twins", "share", neighbors={"count": 9}),
        variant("krylov", "twins", "whole", "share", neighbors={"count": 9}, eigensolve={"solver": "krylov"}),
        variant("dimension", "twins", neighbors={"count": 9}, dimension=3),
        variant("cityblock", "twins", "rotation", "share", neighbors={"count": 9}, metric="cityblock"))
    axis: ClassVar = "MLLE"
    name: Literal["mlle"] = "mlle"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    dimension: int | None = option_of(ModifiedReconstruction, "dimension")
    ridge: float = option_of(ModifiedReconstruction, "ridge")
    eigensolve: Eigensolve = Eigensolve()

    @property
    def kernel(self) -> ModifiedReconstruction:
        """The inverse of the cost of all weights."""
        return ModifiedReconstruction(dimension=self.dimension, ridge=self.ridge)
