"""The shortest path between two points."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.core.graph.graph import Graph
from mlcli.errors import GeometryError


@frozen
class Route:
    """The points on the path, both ends included, and their distances from the first."""

    points: Indices
    lengths: Array


def shortest_route(graph: Graph, start: int, end: int) -> Route:
    """Return the shortest path between two points; raises GeometryError where there is none."""
    from scipy.sparse.csgraph import dijkstra

    lengths, before = dijkstra(graph.matrix(), indices=start, return_predecessors=True)
    if not np.isfinite(lengths[end]):
        raise GeometryError("NO-ROUTE", "no path joins the two points", where="the graph of the run",
                            hint="they lie in different pieces of it")
    way = [end]
    while way[-1] != start:
        way.append(int(before[way[-1]]))
    points = np.array(way[::-1], dtype=np.int64)
    return Route(points, np.asarray(lengths[points]))
