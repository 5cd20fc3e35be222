"""The neighbor graph of a chain: who is a neighbor, the graph in one piece, and the fill of a cost along it."""

from mlcli.base.rows.source import rows_of
from mlcli.base.types import Indices
from mlcli.base.values.inputs import Joined
from mlcli.stages.chain.setting import Setting
from mlcli.stages.graph.graph import Graph
from mlcli.stages.graph.neighborhoods import Nearest, Neighborhood
from mlcli.stages.graph.pieces import connected_graph
from mlcli.stages.kernels.fill import fill_of


def neighborhood(chain: Setting) -> Neighborhood:
    """Who is a neighbor."""
    return chain.joining.neighbors.neighborhood(chain.data)


def joined(chain: Setting, consequence: str = "") -> tuple[Graph, Joined, Indices | None]:
    """The graph in one piece, its points, and which of all they are where some are left out."""
    joining = chain.joining
    graph, kept = connected_graph(chain.data, neighborhood(chain), joining.neighbors.pieces, joining.rule, consequence)
    return graph, chain.data if kept is None else chain.data.take(kept), kept


def fill_among(chain: Setting, *, squared: bool) -> float | None:
    """The entries of the cost's factor, as samples of points tell them."""
    points, neighbors = chain.data.points, neighborhood(chain)
    known = points is not None and rows_of(points) is None and isinstance(neighbors, Nearest)
    return fill_of(points, neighbors.usual, squared=squared) if known else None
