"""The matrices of a graph that a run may keep: the graph, its path lengths, and their kernel."""

from functools import cache, partial

from mlcli.base.types import RowsOf
from mlcli.base.values.compute import Compute
from mlcli.base.values.products import Products
from mlcli.core.centering import Centering
from mlcli.core.graph.graph import Graph
from mlcli.core.kernels.square import distance_products
from mlcli.core.paths.elimination import eliminate, sweep_rows
from mlcli.core.paths.geodesics import dijkstra_rows
from mlcli.core.paths.paths import plan_paths


def path_products(graph: Graph, whole: bool, centering: Centering) -> Products:
    """Return the graph and, for a fit of all points, the path lengths and the kernel."""
    of_all = distance_products(graph.size, quickest_rows(graph), centering) if whole else {}
    return {"graph": graph.product(), **of_all}


def quickest_rows(graph: Graph) -> RowsOf:
    """Return a function that computes path lengths in double precision, by the fastest algorithm for all of them."""

    @cache
    def rows() -> RowsOf:
        analysis = plan_paths(graph, "auto", "streamed", "float64", Compute()).elimination
        return partial(dijkstra_rows, graph) if analysis is None else partial(
            sweep_rows, eliminate(analysis, "float64"))

    return lambda chosen: rows()(chosen)
