"""What a run may keep of a graph: the graph itself, its path lengths, and the kernel that they make."""

from functools import cache, partial

from mlcli.base.types import RowsOf
from mlcli.base.values.compute import Compute
from mlcli.base.values.products import Products
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.graph.graph import Graph
from mlcli.stages.kernels.products import distance_products
from mlcli.stages.paths.elimination import eliminated, swept_rows
from mlcli.stages.paths.geodesics import dijkstra_rows
from mlcli.stages.paths.plan import plan_paths


def path_products(graph: Graph, whole: bool, centering: Centering) -> Products:
    """The graph; and of a fit of all points the path lengths and the kernel."""
    of_all = distance_products(graph.size, quickest_rows(graph), centering) if whole else {}
    return {"graph": graph.product(), **of_all}


def quickest_rows(graph: Graph) -> RowsOf:
    """Finds path lengths in double precision, by what is quickest for all of them together."""

    @cache
    def rows() -> RowsOf:
        analysis = plan_paths(graph, "auto", "streamed", "float64", Compute()).elimination
        return partial(dijkstra_rows, graph) if analysis is None else partial(
            swept_rows, eliminated(analysis, "float64"))

    return lambda chosen: rows()(chosen)
