"""Who counts as a neighbor, and what happens when the neighbor graph falls into pieces."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from mlcli import native
from mlcli.base.compute import Compute
from mlcli.base.inputs import Dissimilarities, Features, Given, WeightedGraph
from mlcli.base.options import Options, option
from mlcli.base.stage import note, stage
from mlcli.base.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.errors import ConfigError, GeometryError
from mlcli.stages.algebra.costs import neighbors_cost
from mlcli.stages.graph.nearest import (
    BLOCK,
    TREE_COLUMNS,
    Lists,
    nearest,
    nearest_in_matrix,
    nearest_of_new,
    within,
    within_matrix,
)

Spatial = Features | Dissimilarities

_largest: ContextVar[int] = ContextVar("largest", default=1)  # neighbors that a search is for, at least


@stored("neighbors")
class Neighbors(Options):
    """Who counts as a neighbor: the nearest few, or everyone within a radius."""

    count: int | None = option(10, "Neighbors of each point (not counting itself).", ge=1)
    radius: float | None = option(None, "Distance within which points are neighbors, instead of a count.", gt=0)
    pieces: Literal["error", "largest", "connect"] = option(
        "error", "If the graph falls into pieces: stop, keep the largest, or connect them by their shortest links.")

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
        return self

    def settled(self, size: int) -> "Neighbors":
        """With a default count clipped to n - 1; raises ConfigError for an explicit one, or where none is left."""
        if size < 2:
            raise GeometryError("ONE-POINT", "one point has no neighbors", hint="this method needs two points or more")
        if self.count is None or self.count < size:
            return self
        if self.chosen("count"):
            raise ConfigError("NEIGHBORS", f"{self.count} neighbors were asked for and each of {size} points has "
                              f"{size - 1} others", where="method.neighbors.count", hint=f"use at most {size - 1}")
        note("N-NEIGHBORS", f"neighbors reduced from {self.count} to {size - 1}: there are {size} points")
        return self.model_copy(update={"count": size - 1})

    def lists(self, data: Spatial) -> Lists:
        """The neighbors of every point among the others; raises GeometryError where all points are equal."""
        if not np.ptp(data.values, axis=0).any():
            raise GeometryError("ALL-EQUAL", f"all {len(data.values)} points are equal, so none is nearer than another",
                                hint="check that the right columns were read")
        radius = self.scaled_radius(data)
        if radius is None:
            return nearest_lists(data, self.count or 1)
        return searched(data.values, isinstance(data, Dissimilarities), radius=radius)

    def step(self, data: Spatial | WeightedGraph, compute: Compute) -> Step:
        """What the search for neighbors would cost."""
        if isinstance(data, WeightedGraph):
            return Step("neighbors", f"given: {len(data.indices) // 2:,} edges", 0.0, float(data.bytes))
        (rows, columns), tree = data.values.shape, data.values.shape[1] <= TREE_COLUMNS
        if isinstance(data, Dissimilarities):
            return Step("neighbors", "from the dissimilarities", rows**2 * 2e-8, 8.0 * BLOCK * 3)
        seconds = neighbors_cost(rows, columns, self.count or 10, tree, compute.thread_count(), native.available())
        return Step("neighbors", "k-d tree" if tree else "products of all pairs, refined", seconds,
                    8.0 * (rows * (columns + 4 * (self.count or 10)) + (0 if tree or native.available() else BLOCK)))

    def lists_of_new(self, new: Array, points: Array | None, radius: float | None) -> Lists:
        """The neighbors of new points (m x d) among the training points; a radius that finds none takes the nearest.

        Without points, new ones are given by their dissimilarities to the training points.
        """
        if points is None:
            return self.lists_of_rows(new, radius)
        if radius is None:
            return nearest_of_new(new, points, self.count or 1)
        return _or_nearest(within(new, points, radius, own=False), nearest_of_new(new, points, 1))

    def lists_of_rows(self, rows: Array, radius: float | None) -> Lists:
        """The neighbors of new points given by their dissimilarities to the training points (m x n)."""
        if radius is None:
            return nearest_in_matrix(rows, self.count or 1, own=False)
        return _or_nearest(within_matrix(rows, radius, own=False), nearest_in_matrix(rows, 1, own=False))

    def scaled_radius(self, data: Given) -> float | None:
        """The radius in the units of normalized data; None where a count is the rule."""
        return None if self.radius is None else float(np.ldexp(self.radius, -data.exponent))


@contextmanager
def searching_for(count: int) -> Iterator[None]:
    """Makes every search in the block find at least `count` neighbors; a smaller count takes the first of them.

    For work that will ask for several counts, where a cache keeps the one search.
    """
    token = _largest.set(count)
    try:
        yield
    finally:
        _largest.reset(token)


def nearest_lists(data: Spatial, count: int) -> Lists:
    """The `count` nearest other points of every point, by features or by dissimilarities."""
    most = max(count, min(_largest.get(), len(data.values) - 1))
    lists = searched(data.values, isinstance(data, Dissimilarities), count=most)
    return lists if most == count else fewer(lists, count)


@stage("neighbors", version=1)
def searched(values: Array, square: bool, count: int = 1, radius: float | None = None) -> Lists:
    """The nearest few of every point among the others, or all within a radius; `square` for dissimilarities."""
    if radius is None:
        return nearest_in_matrix(values, count, own=True) if square else nearest(values, count)
    return within_matrix(values, radius, own=True) if square else within(values, values, radius, own=True)


@stage("fewer neighbors", version=1)
def fewer(lists: Lists, count: int) -> Lists:
    """The first neighbors of each point, `count` at most: the same as a search for so many, as ties go by index."""
    kept = np.arange(len(lists.indices)) - lists.starts[lists.rows] < count
    starts = np.concatenate([[0], np.cumsum(np.minimum(lists.counts, count))])
    return Lists(starts, lists.indices[kept], lists.lengths[kept])


def _or_nearest(found: Lists, nearest_one: Lists) -> Lists:
    """Lists in which a point without neighbors gets the nearest one."""
    alone = np.flatnonzero(found.counts == 0)
    rows = np.concatenate([found.rows, alone])
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.maximum(found.counts, 1))])
    return Lists(starts, np.concatenate([found.indices, nearest_one.indices[alone]])[order],
                 np.concatenate([found.lengths, nearest_one.lengths[alone]])[order])
