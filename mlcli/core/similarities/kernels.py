"""Similarities that are kernel values, of a kernel function or of distances."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.base.values.scaling import Unit
from mlcli.core.euclidean_distances import gower
from mlcli.core.kernels.corrections import Correction
from mlcli.core.kernels.functions import Function, Radial, fix_defaults
from mlcli.core.kernels.sums import KernelSum
from mlcli.core.metrics import EUCLIDEAN, RowMetric
from mlcli.core.metrics.distances import squared
from mlcli.core.similarities.base import Parts, Similarity
from mlcli.core.similarities.spaces import FeatureSpace, Space, in_range


@stored("kernel-values", points="cd", origin="d")
@frozen
class KernelValues(Similarity):
    """Values of a kernel function between new and training points."""

    points: Array  # n x d, less the origin
    function: Function | Radial | KernelSum
    origin: Array  # d: the points' mean if a shift changes nothing, so that no digits are lost far from zero

    @classmethod
    def of(cls, kernel: Function, metric: RowMetric, data: Features) -> "KernelValues":
        """Return the similarity of a kernel function, its defaults fixed from the training points under their metric.
        """
        movable = kernel.movable and metric.plain
        origin = data.values.mean(axis=0) if movable else np.zeros(data.values.shape[1])
        points = data.values - origin
        return cls(points, fix_defaults(kernel, metric, points, data.unit), origin)

    def rows(self, new: Array) -> Array:
        """Return k(x, xⱼ), an (m, n) array, for an (m, d) array of new points."""
        return self.function(new - self.origin, self.points)

    @property
    def comparison(self) -> RowMetric:
        """The metric that compares new points: of a sum, the distance that its tables make together."""
        return self.function if isinstance(self.function, KernelSum) else self.metric

    def diagonal(self, new: Array) -> Array | None:
        """Return k(x, x), an (m,) array, of an (m, d) array of new points; None for functions of indefinite kernels."""
        function = self.function
        return function.diagonal(new - self.origin) if function.definite else None

    @property
    def roundings(self) -> int:
        """The degree of the kernel's power, or one."""
        return int(getattr(self.function, "degree", 1))

    @property
    def parts(self) -> Parts:
        """The points, the function and its metric."""
        return Parts(points=self.points, origin=self.origin, function=self.function, metric=self.metric)

    def width(self, given: int) -> int:
        """Return the number of training points."""
        return len(self.points)

    @property
    def metric(self) -> RowMetric:
        """The metric of the function's distances."""
        return getattr(self.function, "metric", EUCLIDEAN)

    def space(self, rows: RowsOf | None, units: tuple[Unit, Unit], compute: Compute) -> Space:
        """Return the feature space of the function, scaled where its squares might overflow single precision."""
        own = self.function.diagonal(self.points)
        reach = in_range(own, own, power=2)[1]
        return FeatureSpace(self.function, self.points, units[1] * reach, reach)


@stored("distances", points="cd")
@frozen
class Distances(Similarity):
    """Minus half the squared distances: MDS of points (Gower's interpolation)."""

    points: Array  # n x d
    correction: Correction
    metric: RowMetric = EUCLIDEAN

    def rows(self, new: Array) -> Array:
        """Return -δ²/2, an (m, n) array, with the correction of the training distances."""
        return gower(self.correction.squared(squared(self.metric, new, self.points)))

    def diagonal(self, new: Array) -> Array | None:
        """Return zeros, an (m,) array, of an (m, d) array of new points; None for distances that may not be Euclidean.
        """
        return np.zeros(len(new)) if self.metric.plain and self.correction.rule == "none" else None

    @property
    def parts(self) -> Parts:
        """The points, their metric and the correction."""
        return Parts(points=self.points, correction=self.correction, metric=self.metric)

    def width(self, given: int) -> int:
        """Return the number of training points."""
        return len(self.points)

    def method_distances(self, distances: Array) -> Array:
        """Return an array of distances, of any shape, with the correction."""
        return self.correction.of_distances(distances)


@stored("given-distances", landmarks="c", within={"landmarks": "d"})
@frozen
class GivenDistances(Similarity):
    """Minus half the squares of given dissimilarities: MDS of dissimilarities."""

    correction: Correction
    landmarks: Indices | None = None  # the training points that count; None: all

    def rows(self, new: Array) -> Array:
        """Return -δ²/2 (m x landmarks) with the correction of the training dissimilarities."""
        return gower(self.correction.squared((new if self.landmarks is None else new[:, self.landmarks]) ** 2))

    @property
    def parts(self) -> Parts:
        """The correction, and the landmarks."""
        return Parts(correction=self.correction, landmarks=self.landmarks)

    def width(self, given: int) -> int:
        """Return the number of training points in use."""
        return given if self.landmarks is None else len(self.landmarks)

    def method_distances(self, distances: Array) -> Array:
        """Return an array of distances, of any shape, with the correction."""
        return self.correction.of_distances(distances)
