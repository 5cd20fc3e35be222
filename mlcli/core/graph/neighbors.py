"""The options of a neighbor graph: which points are neighbors, and what happens if the graph is in pieces."""

from typing import ClassVar, Literal, Self, TypeVar

from pydantic import model_validator

from mlcli.base.stages.stage import note
from mlcli.base.values.inputs import Given, WeightedGraph
from mlcli.base.values.options import Options, option
from mlcli.core.graph.neighborhoods import USUAL, Nearest, Neighborhood, Within
from mlcli.errors import ConfigError, GeometryError

FARTHEST = 2.0**500  # the largest radius on normalized data: beyond all points, and with a finite square
BOTH_WAYS = 1.4  # entries of a graph for each neighbor, as about half of these are neighbors of each other
SAME_BOTH_WAYS = "within a radius all neighbors are mutual"  # why a rule for joining them has no effect


class Neighbors(Options):
    """Who counts as a neighbor: the nearest few, or everyone within a radius."""

    count: int | None = option(USUAL, "Neighbors of each point (not counting itself).", adapts=True, ge=1)
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

    def resolved(self, size: int) -> "Neighbors":
        """Return the options with a default count clipped to n - 1; raises ConfigError for an explicit one over it.

        Raises GeometryError for a single point.
        """
        return clip_neighbors(self, self.count, size)

    def neighborhood(self, data: Given) -> Neighborhood:
        """Return the neighborhood in this data, with a radius in its units."""
        if self.count is not None:
            return Nearest(self.count)
        return Within(min((data.unit**-1).number(self.radius or 0.0), FARTHEST))


class NeighborCount(Options):
    """Who counts as a neighbor: the nearest few, in a graph that may be in pieces."""

    radius: ClassVar[None] = None
    count: int = option(14, "Neighbors of each point (not counting itself: one less than n_neighbors of umap-learn).",
                        adapts=True, ge=1)

    def resolved(self, size: int) -> "NeighborCount":
        """Return the options with a default count clipped to n - 1; raises ConfigError for an explicit one over it.

        Raises GeometryError for a single point.
        """
        return clip_neighbors(self, self.count, size)

    def neighborhood(self, data: Given) -> Nearest:
        """Return the neighborhood in this data."""
        return Nearest(self.count)


def graph_bytes(neighbors: Neighbors | int, data: Given) -> float:
    """Return the bytes of the graph of some neighbors, or so many: an index and a length for each, both ways."""
    if isinstance(data, WeightedGraph):
        return 16.0 * len(data.indices)
    count = neighbors if isinstance(neighbors, int) else neighbors.neighborhood(data).usual
    return 16.0 * BOTH_WAYS * len(data.values) * min(count, len(data.values) - 1)


Counted = TypeVar("Counted", bound=Options)


def clip_neighbors(options: Counted, count: int | None, size: int) -> Counted:
    """Return options with a default count of neighbors clipped to those that each of `size` points has.

    Raises ConfigError for a chosen count above it, and GeometryError for a single point.
    """
    if size < 2:
        raise GeometryError("ONE-POINT", "one point has no neighbors", hint="this method needs two points or more")
    if count is None or count < size:
        return options
    if options.chosen("count"):
        raise ConfigError("NEIGHBORS", f"{count} neighbors were requested, but each of {size} points has only "
                          f"{size - 1} others", where="method.neighbors.count", hint=f"use at most {size - 1}")
    note("N-NEIGHBORS", f"number of neighbors reduced from {count} to {size - 1}: there are {size} points")
    return options.model_copy(update={"count": size - 1})
