"""Spaces: distances from some points to all or to some, on demand, without an n x n matrix."""

from collections.abc import Callable
from typing import ClassVar, Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.rows.memo import memoize
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Given, Similarities, WeightedGraph
from mlcli.base.values.metric import RowMetric
from mlcli.base.values.sample_size import FEW_COLUMNS
from mlcli.base.values.scaling import Unit, read_only
from mlcli.core.euclidean_distances import (
    HELD,
    CenteredPoints,
    by_differences,
    short_center,
    squared_distances,
    to_centered,
)
from mlcli.core.graph.graph import Graph
from mlcli.core.kernels import options
from mlcli.core.kernels.options import Pairwise
from mlcli.core.kernels.streamed import STORED
from mlcli.core.metrics.distances import between as between_points
from mlcli.core.metrics.distances import distances_to
from mlcli.core.paths.geodesics import MANY, dijkstra_rows, is_renumbered
from mlcli.core.paths.paths import Paths

SAFE = 30  # binary exponents of numbers whose squares are safe, in single precision as well
TALL = 128  # rows of a block, at least: what is multiplied with them is packed for each
BLOCK = 2**18  # numbers of a block of points: 2 MiB, which fit in the cache of a core
COLUMN = 3.0  # cost of a metric per column, in multiplications
FUNCTION, STEP = 20.0, 28.0  # cost of a kernel function, and of a step of Dijkstra's, in multiplications
NO_ANCHORS = np.arange(0)  # for spaces that are only used by `between`

Rows = Callable[[slice], Array]  # squared distances (b x n) of some of the anchors to all points


class Space(Protocol):
    """The space of n points: distances are the roots of the rows, measured in a unit."""

    @property
    def name(self) -> str:
        """Name of its distances in quality.json."""

    @property
    def unit(self) -> Unit:
        """The unit of its distances."""

    @property
    def work(self) -> float:
        """Cost of one distance, in multiplications."""

    @property
    def portable(self) -> bool:
        """Whether it can be pickled in less space than all of its distances."""

    def rows_of(self, anchors: Indices) -> Rows:
        """Return a function that computes rows of the anchors, an (a,) array of point numbers, a few at a time."""

    def between(self, sources: Indices, targets: Indices) -> Array:
        """Return distances from (s,) sources to (t,) targets, an (s, t) array, in the unit."""


@frozen
class EuclideanSpace:
    """Points as rows of coordinates."""

    points: Array  # n x d
    unit: Unit = Unit()
    name: str = "euclidean"
    portable: ClassVar[bool] = True

    @classmethod
    def of(cls, points: Array, anchors: Indices) -> "EuclideanSpace":
        """Return the space of (n, d) points, scaled where squares of the (a,) anchors might overflow doubles."""
        return cls(*in_range(points, points[anchors]))

    @property
    def work(self) -> float:
        """One multiplication per column."""
        return self.points.shape[1]

    def rows_of(self, anchors: Indices) -> Rows:
        """Return rows of the (a,) anchors: of few columns on demand, of many in one pass, reused for constant points.
        """
        points = self.points
        if points.shape[1] <= FEW_COLUMNS:
            others = np.asfortranarray(points)  # once for all rows
            return lambda part: by_differences(points[anchors[part]], others)
        if points.flags.writeable:
            rows = self._all_at_once(anchors)
        else:
            rows = memoize("rows of points", (points, anchors), lambda: read_only(self._all_at_once(anchors)),
                           once=True)
        return lambda part: rows[part]

    def _all_at_once(self, anchors: Indices) -> Array:
        """Compute squared distances from the anchors to all points (b x n)."""
        points = self.points
        center = short_center(points[anchors])
        others, rows = CenteredPoints.from_center(points[anchors], center), np.empty((len(anchors), len(points)))

        def fill(block: slice) -> None:
            rows[:, block] = to_centered(points[block], center, others).T

        width = max(points.shape[1], len(anchors))
        each(fill, row_blocks(len(points), max(BLOCK, TALL * width), width), progress=True)
        return rows

    def between(self, sources: Indices, targets: Indices) -> Array:
        """Return distances (s x t) from summed squared differences; reads only these points."""
        right = self.points[targets]
        unit = Unit.of(right)
        return unit.plain(np.sqrt(squared_distances(unit.measured(self.points[sources]), unit.measured(right))))


@frozen
class UnderMetric:
    """Points under a metric."""

    metric: RowMetric
    points: Array  # n x d, in units in which distances stay in range
    unit: Unit
    portable: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.metric.name

    @property
    def work(self) -> float:
        """A few multiplications per column."""
        return COLUMN * self.points.shape[1]

    def rows_of(self, anchors: Indices) -> Rows:
        """Return squared distances of the (a,) anchors to all points, from Euclidean ones where the metric embeds."""
        metric, points = self.metric, self.points
        if metric.embeds:
            apart = EuclideanSpace(metric.represent(points)).rows_of(anchors)
            return lambda part: np.square(metric.lengths(apart(part).copy()))
        rows = distances_to(metric, points)
        return lambda part: np.square(rows(points[anchors[part]]))

    def between(self, sources: Indices, targets: Indices) -> Array:
        """Return distances from (s,) sources to (t,) targets (s x t)."""
        return between_points(self.metric, self.points[sources], self.points[targets])


@frozen
class GivenDissimilarities:
    """A matrix of dissimilarities."""

    values: Array  # n x n
    unit: Unit
    name: str = "given"
    work: float = 1.0
    portable: ClassVar[bool] = False

    def rows_of(self, anchors: Indices) -> Rows:
        """Return the squares of the rows of the (a,) anchors."""
        return lambda part: np.square(self.values[anchors[part]])

    def between(self, sources: Indices, targets: Indices) -> Array:
        """Return the entries from (s,) sources to (t,) targets (s x t)."""
        return self.values[np.ix_(sources, targets)]


@frozen
class GivenKernel:
    """A kernel matrix, with the roots of K_ii + K_jj - 2 K_ij as distances."""

    values: Array  # n x n
    unit: Unit
    name: str = "kernel"
    work: float = 1.0
    portable: ClassVar[bool] = False

    def rows_of(self, anchors: Indices) -> Rows:
        """Return K_ii + K_jj - 2 K_ij of the (a,) anchors, and zero where it is negative."""
        return lambda part: kernel_distances(self.values[anchors[part]], np.diag(self.values), anchors[part])

    def between(self, sources: Indices, targets: Indices) -> Array:
        """Return √(K_ii + K_jj - 2 K_ij) from (s,) sources to (t,) targets (s x t)."""
        own = np.diag(self.values)
        return from_products(self.values[np.ix_(sources, targets)], own[sources], own[targets], sources, targets)


@frozen
class FeatureSpace:
    """The feature space of a kernel function."""

    function: Pairwise
    points: Array  # n x d
    unit: Unit
    reach: Unit = Unit()  # unit of the roots of its values, a part of `unit`
    name: str = "kernel"
    portable: ClassVar[bool] = True

    @property
    def work(self) -> float:
        """One multiplication per column, and a function."""
        return self.points.shape[1] + FUNCTION

    def rows_of(self, anchors: Indices) -> Rows:
        """Return k(x, x) + k(y, y) - 2 k(x, y) of the (a,) anchors."""
        values, squares = options.values_against(self.function, self.points), self.reach**2
        own = squares.measured(self.function.diagonal(self.points))
        return lambda part: kernel_distances(squares.measured(values(self.points[anchors[part]])), own, anchors[part])

    def between(self, sources: Indices, targets: Indices) -> Array:
        """Return √(k(x, x) + k(y, y) - 2 k(x, y)) from (s,) sources to (t,) targets (s x t)."""
        left, right, measured = self.points[sources], self.points[targets], (self.reach**2).measured
        return from_products(measured(self.function(left, right)), measured(self.function.diagonal(left)),
                             measured(self.function.diagonal(right)), sources, targets)


@frozen
class GeodesicSpace:
    """The neighbor graph with its shortest paths."""

    graph: Graph
    unit: Unit
    kernel: RowsOf | None  # computes rows of -D²/2, where the fit provides them
    compute: Compute
    name: str = "geodesic"

    @property
    def portable(self) -> bool:
        """Whether there are too many distances to be stored at once."""
        return 8 * self.graph.size**2 > STORED

    @property
    def work(self) -> float:
        """A step of Dijkstra's algorithm for each edge, and for each level of the heap."""
        return STEP * (2 * self.graph.edges / max(self.graph.size, 1) + np.log2(self.graph.size + 1))

    def rows_of(self, anchors: Indices) -> Rows:
        """Return squared path lengths of the (a,) anchors, computed as in `between`."""
        if self.few(anchors):
            squared = np.square(self.all_distances())
            return lambda part: squared[part]
        if self.kernel is not None:
            rows = self.kernel(anchors)
            rows *= -2
            return lambda part: rows[part]
        if len(anchors) >= MANY and is_renumbered(self.graph):
            found = dijkstra_rows(self.graph, anchors)
            np.square(found, out=found)
            return lambda part: found[part]
        return lambda part: np.square(dijkstra_rows(self.graph, anchors[part]))

    def between(self, sources: Indices, targets: Indices) -> Array:
        """Return path lengths from (s,) sources to (t,) targets (s x t): the fit's, or computed again."""
        if self.kernel is not None:
            return np.asarray(np.sqrt(-2 * self.kernel(sources))[:, targets])
        if self.few(sources):
            return self.all_distances()[np.ix_(sources, targets)]
        apart = np.empty((len(sources), len(targets)))
        for some in row_blocks(len(sources), max(MANY, HELD // self.graph.size)):  # all rows of many points are GB
            apart[some] = dijkstra_rows(self.graph, sources[some])[:, targets]
        return apart

    def few(self, anchors: Indices) -> bool:
        """Whether the (a,) anchors are all points, and so few that all distances are stored."""
        return len(anchors) == self.graph.size and 8 * self.graph.size**2 <= STORED

    def all_distances(self) -> Array:
        """Return the path lengths between all points (n x n)."""
        with no_listeners():
            return Paths(store="memory").distances(self.graph, self.compute)


def input_space(source: Given, anchors: Indices = NO_ANCHORS) -> Space:
    """Return the space of the input's own neighborhoods, scaled where squares of (a,) anchors might overflow."""
    if isinstance(source, Similarities):
        return GivenKernel(*in_range(source.values, source.values[anchors], source.power))
    if isinstance(source, Dissimilarities):
        return GivenDissimilarities(*in_range(source.values, source.values[anchors]))
    if isinstance(source, WeightedGraph):
        lengths, unit = in_range(source.weights, source.weights)
        return GeodesicSpace(Graph(source.starts, source.indices, lengths), unit, None, Compute())
    if isinstance(source, Features) and source.metric is not None:
        scaled = source.normalized()
        return UnderMetric(source.metric, scaled.values, scaled.unit)
    return EuclideanSpace.of(source.values, anchors)


def in_range(values: Array, sample: Array, power: int = 1) -> tuple[Array, Unit]:
    """Return `values`, of any shape, in a power of a unit that makes a sample's size about one, and the unit.

    Values near that size are returned unchanged.
    """
    unit = Unit.of(sample, power=power)
    factor = unit**power
    return (values, Unit()) if factor.within(SAFE) else (factor.measured(values), unit)


def kernel_distances(values: Array, diagonal: Array, rows: Indices) -> Array:
    """Return K_ii + K_jj - 2 K_ij, a (b, n) array, of (b, n) values of a kernel and its (n,) diagonal."""
    squared = np.maximum(diagonal[rows, None] + diagonal - 2 * values, 0.0)
    squared[np.arange(len(rows)), rows] = 0.0
    return squared


def from_products(products: Array, left: Array, right: Array, sources: Indices, targets: Indices) -> Array:
    """Return the roots of K_ii + K_jj - 2 K_ij (s x t), exactly zero from a point to itself."""
    squared = np.maximum(left[:, None] + right - 2 * products, 0.0)
    squared[sources[:, None] == targets] = 0.0
    return np.sqrt(squared)
