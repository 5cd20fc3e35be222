"""Who counts as a neighbor: options of a neighbor graph, and the same rule for training and new points."""

from collections.abc import Callable
from decimal import ROUND_UP, Context, Decimal
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from mlcli.base.context import context
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import pass_cost
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Given, Spatial, WeightedGraph
from mlcli.base.values.options import Options, option
from mlcli.core.graph.approximate import approximate_lists, approximate_step
from mlcli.core.graph.candidates import SEARCH_BLOCK
from mlcli.core.graph.search import (
    Lists,
    nearest,
    nearest_in_matrix,
    nearest_of_new,
    neighbors_step,
    search_passes,
    within,
    within_matrix,
)
from mlcli.core.metrics import EUCLIDEAN, RowMetric
from mlcli.core.metrics.distances import metric_of, pairs_cost
from mlcli.core.metrics.domain import FIRST
from mlcli.errors import ConfigError, GeometryError

PASSES = 20  # cost of a search in a matrix of dissimilarities, in passes over it
OTHERWISE = "give {method.neighbors.pieces=largest} or connect"  # advice for a graph in pieces
MANY = 50  # neighbors beyond which those that connect a graph are hardly neighbors, and are not looked for
USUAL = 10  # neighbors of a point to predict with, where their number is unknown before the search
Search = Literal["exact", "approximate"]


@stored("nearest")
@frozen
class Nearest:
    """The nearest few points, ties by index."""

    mutual: ClassVar[bool] = False  # whether neighbors are always neighbors of each other
    farthest: ClassVar[float] = np.inf  # the distance beyond which no point is a neighbor
    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError("a point has one nearest neighbor at least")

    @property
    def least(self) -> int:
        """Least number of neighbors of a training point."""
        return self.count

    @property
    def usual(self) -> int:
        """Number of neighbors of most points, for predictions."""
        return self.count

    def lists(self, data: Spatial) -> Lists:
        """Return the neighbors of every point among the others; raises GeometryError where all points are equal."""
        require_apart(data)
        return nearest_lists(data, self.count)

    def search(self, values: Array, metric: RowMetric | None) -> Lists:
        """Return the neighbors among (n, d) points under a metric, or in (n, n) dissimilarities (None)."""
        if metric is None:
            return nearest_in_matrix(values, self.count, without_self=True)
        return nearest(values, self.count, metric)

    def from_nearest(self, data: Spatial, lists: Lists) -> Lists:
        """Return the neighbors of every point, given the `usual` nearest ones."""
        return lists

    def of_new(self, new: Array, points: Array | None, metric: RowMetric = EUCLIDEAN) -> Lists:
        """Return the neighbors of new points (m x d) among the training points (n x d).

        Without points, new ones are given by their dissimilarities to the training points (m x n).
        """
        if points is None:
            return nearest_in_matrix(new, self.count, without_self=False)
        return nearest_of_new(new, points, self.count, metric)

    def step(self, data: Spatial, compute: Compute) -> Step:
        """Return the cost of the search among training points."""
        if isinstance(data, Dissimilarities):
            return _matrix_step(len(data.values))
        return neighbors_step(metric_of(data), data.values, self.count, compute.thread_count())

    def remedy(self, data: Spatial, pieces: Indices, fewest: Callable[[int], int | None]) -> str:
        """Return advice for a graph in pieces, an (n,) array, with the other ways first: most graphs in pieces are of
        clusters, which a larger number does not connect.

        `fewest` returns the smallest count that connects it, or None where that is over a bound.
        """
        most = max(MANY, 2 * self.count)
        count = fewest(most)
        if count is None:
            return f"{OTHERWISE}; it takes more than {most} neighbors to connect it"
        return f"{OTHERWISE}, or use {count} neighbors, the fewest that connect it"


@stored("approximate-nearest")
@frozen
class ApproximateNearest(Nearest):
    """The nearest few points by an approximate search, whose recall is measured; those of new points are exact."""

    def lists(self, data: Spatial) -> Lists:
        """Return the neighbors of every point among the others.

        Raises GeometryError where all points are equal, and ConfigError for a metric that does not embed as Euclidean.
        """
        require_apart(data)
        require_euclidean(data, "method.neighbors.search")
        return search_neighbors(data.values, metric_of(data), self)

    def search(self, values: Array, metric: RowMetric | None) -> Lists:
        """Return about the nearest neighbors among (n, d) points under a metric."""
        assert metric is not None
        return approximate_lists(values, self.count, metric)

    def step(self, data: Spatial, compute: Compute) -> Step:
        """Return the cost of the search among training points."""
        if isinstance(data, Dissimilarities):
            return _matrix_step(len(data.values))
        return approximate_step(metric_of(data), data.values.shape, self.count, compute.thread_count())


@stored("within")
@frozen
class Within:
    """All points within a radius; a new point without any takes the nearest point."""

    mutual: ClassVar[bool] = True
    least: ClassVar[int] = 0
    usual: ClassVar[int] = USUAL
    radius: float  # in the units of the computation

    def __post_init__(self) -> None:
        if not self.radius >= 0:
            raise ValueError("a radius is not negative")

    @property
    def farthest(self) -> float:
        """The radius."""
        return self.radius

    def lists(self, data: Spatial) -> Lists:
        """Return the neighbors of every point among the others; raises GeometryError where all points are equal."""
        require_apart(data)
        return search_neighbors(data.values, _search_metric(data), self)

    def search(self, values: Array, metric: RowMetric | None) -> Lists:
        """Return the neighbors among (n, d) points under a metric, or in (n, n) dissimilarities (None)."""
        if metric is None:
            return within_matrix(values, self.radius, without_self=True)
        return within(values, values, self.radius, metric, without_self=True)

    def from_nearest(self, data: Spatial, lists: Lists) -> Lists:
        """Return the neighbors of every point by a search of its own: the nearest ones do not give them."""
        return self.lists(data)

    def of_new(self, new: Array, points: Array | None, metric: RowMetric = EUCLIDEAN) -> Lists:
        """Return the neighbors of new points (m x d) among the training points (n x d), at least one each.

        Without points, new ones are given by their dissimilarities to the training points (m x n).
        """
        lists = (within_matrix(new, self.radius, without_self=False) if points is None
                 else within(new, points, self.radius, metric, without_self=False))
        return _or_nearest(lists, Nearest(1).of_new(new, points, metric))

    def step(self, data: Spatial, compute: Compute) -> Step:
        """Return the cost of the search among training points: every pair is compared."""
        rows, columns = data.values.shape
        if isinstance(data, Dissimilarities):
            return _matrix_step(rows)
        here, alone = (pairs_cost(metric_of(data), rows, columns, threads) for threads in (compute.thread_count(), 1))
        memory = 8.0 * (rows * (columns + 4 * USUAL) + 3 * min(SEARCH_BLOCK, rows**2))
        return Step("neighbors", "distances of all pairs", here, memory,
                    passes=search_passes(data.values.shape, USUAL, memory, alone=alone, there=alone))

    def remedy(self, data: Spatial, pieces: Indices, fewest: Callable[[int], int | None]) -> str:
        """Return advice for a graph in pieces, an (n,) array: the longest of the links between them, rounded up."""
        from mlcli.core.graph.connecting import connecting_link

        radius = Decimal(data.unit.number(connecting_link(data, pieces)))
        return f"{OTHERWISE}, or use a radius of {Context(prec=7, rounding=ROUND_UP).plus(radius):g} or more"


Neighborhood = Nearest | Within


def require_apart(data: Spatial) -> None:
    """Raise GeometryError where all points are equal."""
    represented = metric_of(data).represent
    if all((rows == rows[0]).all() for rows in map(represented, (data.values[:FIRST], data.values))):
        raise GeometryError("ALL-EQUAL", f"all {len(data.values)} points are equal, so none is nearer than another",
                            hint="check that the right columns were read")


def require_euclidean(data: Spatial, where: str) -> None:
    """Raise ConfigError for an option, at `where`, of an approximate search by a metric that does not embed as
    Euclidean.
    """
    metric = _search_metric(data)
    if metric is None or not (metric.plain or metric.embeds):
        said = "dissimilarities are" if metric is None else f"{metric.name} distances are"
        raise ConfigError("APPROXIMATE", f"neighbors cannot be searched approximately: {said} not Euclidean "
                          "distances", where=where, hint="leave it out: the search is exact")


def require_search(search: Search, data: Given) -> None:
    """Raise ConfigError for an approximate `method.search` by a metric, or of dissimilarities, that does not allow it.
    """
    if search == "approximate" and isinstance(data, Features | Dissimilarities):
        require_euclidean(data, "method.search")


def nearest_lists(data: Spatial, count: int) -> Lists:
    """Return the `count` nearest other points of every point, by features or by dissimilarities.

    A context of more `neighbors` has all of them searched for: for runs with several counts that share a cache.
    """
    most = max(count, min(context().neighbors, len(data.values) - 1))
    lists = search_neighbors(data.values, _search_metric(data), Nearest(most))
    return lists if most == count else first_neighbors(lists, count)


@stage("neighbors", version=1)
def search_neighbors(values: Array, metric: RowMetric | None, neighbors: Neighborhood) -> Lists:
    """Return the neighbors of every point among (n, d) points under a metric, or in (n, n) dissimilarities."""
    return neighbors.search(values, metric)


def _search_metric(data: Spatial) -> RowMetric | None:
    """Return the metric for the search of neighbors; None where the data are dissimilarities."""
    return None if isinstance(data, Dissimilarities) else metric_of(data)


@stage("fewer neighbors", version=1)
def first_neighbors(lists: Lists, count: int) -> Lists:
    """Return the first `count` neighbors of each point: equal to a search for so many, because ties go by index."""
    first = np.arange(len(lists.indices)) - lists.starts[lists.rows] < count
    starts = np.concatenate([[0], np.cumsum(np.minimum(lists.counts, count))])
    return Lists(starts, lists.indices[first], lists.lengths[first])


def _matrix_step(rows: int) -> Step:
    """Return the cost of a search in a matrix of dissimilarities."""
    return Step("neighbors", "from the dissimilarities", PASSES * pass_cost(rows**2),
                8.0 * min(SEARCH_BLOCK, rows**2) * 3)


def _or_nearest(lists: Lists, nearest_one: Lists) -> Lists:
    """Return lists in which a point without neighbors gets the nearest one."""
    alone = np.flatnonzero(lists.counts == 0)
    rows = np.concatenate([lists.rows, alone])
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.maximum(lists.counts, 1))])
    return Lists(starts, np.concatenate([lists.indices, nearest_one.indices[alone]])[order],
                 np.concatenate([lists.lengths, nearest_one.lengths[alone]])[order])


FARTHEST = 2.0**500  # the largest radius on normalized data: beyond all points, and with a finite square
BOTH_WAYS = 1.4  # entries of a graph for each neighbor, as about half of these are neighbors of each other
SAME_BOTH_WAYS = "within a radius all neighbors are mutual"  # why a rule for joining them has no effect


SEARCH = ("How neighbors are searched for: `approximate` finds most of them, in less time for many points, and "
          "measures how many.")


def nearest_by(search: Search, count: int) -> Nearest:
    """Return the rule of the nearest `count` by one way to search for them."""
    return Nearest(count) if search == "exact" else ApproximateNearest(count)


class NeighborOptions(Options):
    """The base of options with a number of neighbors."""

    if TYPE_CHECKING:  # those of each have a default of their own
        count: int | None
        search: Search

    def nearest_few(self, count: int) -> Nearest:
        """Return the rule of the nearest `count`, as they are to be searched for."""
        return nearest_by(self.search, count)

    def resolved(self, size: int) -> Self:
        """Return the options with a default count clipped to n - 1; raises ConfigError for an explicit one over it.

        Raises GeometryError for a single point.
        """
        if size < 2:
            raise GeometryError("ONE-POINT", "one point has no neighbors", hint="this method needs two points or more")
        if self.count is None or self.count < size:
            return self
        if self.chosen("count"):
            raise ConfigError("NEIGHBORS", f"{self.count} neighbors were requested, but each of {size} points has only "
                              f"{size - 1} others", where="method.neighbors.count", hint=f"use at most {size - 1}")
        note("N-NEIGHBORS", f"number of neighbors reduced from {self.count} to {size - 1}: there are {size} points")
        return self.model_copy(update={"count": size - 1})


class Neighbors(NeighborOptions):
    """Who counts as a neighbor: the nearest few, or everyone within a radius."""

    count: int | None = option(USUAL, "Neighbors of each point (not counting itself).", adapts=True, ge=1)
    radius: float | None = option(None, "Distance within which points are neighbors, instead of a count.", gt=0)
    pieces: Literal["error", "largest", "connect"] = option(
        "error", "If the graph falls into pieces: stop, keep the largest, or connect them by their shortest links.")
    search: Search = option("exact", SEARCH)

    @model_validator(mode="before")
    @classmethod
    def _radius_replaces_the_default_count(cls, given: object) -> object:
        if isinstance(given, dict) and given.get("radius") is not None and "count" not in given:
            return {**given, "count": None}
        return given

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if (self.count is None) == (self.radius is None):
            raise ValueError("give either a count of neighbors or a radius, not both")
        if self.radius is not None and self.search == "approximate":
            raise ValueError("an approximate search needs a count of neighbors, not a radius")
        return self

    def neighborhood(self, data: Given) -> Neighborhood:
        """Return the neighborhood in this data, with a radius in its units."""
        if self.count is not None:
            return self.nearest_few(self.count)
        return Within(min((data.unit**-1).number(self.radius or 0.0), FARTHEST))


class NeighborCount(NeighborOptions):
    """Who counts as a neighbor: the nearest few, in a graph that may be in pieces."""

    radius: ClassVar[None] = None
    count: int = option(14, "Neighbors of each point (not counting itself: one less than n_neighbors of umap-learn).",
                        adapts=True, ge=1)
    search: Search = option("exact", SEARCH)

    def neighborhood(self, data: Given) -> Nearest:
        """Return the neighborhood in this data."""
        return self.nearest_few(self.count)


def graph_bytes(neighbors: Neighbors | int, data: Given) -> float:
    """Return the bytes of the graph of some neighbors, or so many: an index and a length for each, both ways."""
    if isinstance(data, WeightedGraph):
        return 16.0 * len(data.indices)
    count = neighbors if isinstance(neighbors, int) else neighbors.neighborhood(data).usual
    return 16.0 * BOTH_WAYS * len(data.values) * min(count, len(data.values) - 1)
