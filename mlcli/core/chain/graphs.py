"""The neighbor graph of a chain: the neighbor rule, the connected graph, and the fill of a cost along it."""

from mlcli.base.machine.footprint import resident
from mlcli.base.rows.source import rows_of
from mlcli.base.types import Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Joined
from mlcli.core.chain.input import ChainInput
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighborhoods import Nearest, Neighborhood
from mlcli.core.graph.pieces import connected_graph
from mlcli.core.kernels.fill import fill_of

FEW = 10_000  # points up to which a usual factor is a good estimate, and samples would take a twentieth of a fit


def neighborhood(chain: ChainInput) -> Neighborhood:
    """Return the neighbor rule of a chain for its data."""
    return chain.joining.neighbors.neighborhood(chain.data)


def joined_graph(chain: ChainInput, consequence: str = "") -> tuple[Graph, Joined, Indices | None]:
    """Return the connected graph, its points, and their indices (m of n) where some are left out, otherwise None."""
    joining = chain.joining
    data, neighbors = chain.joined, neighborhood(chain)
    graph, kept = connected_graph(data, neighbors, joining.neighbors.pieces, joining.rule, consequence)
    return graph, data if kept is None else data.take(kept), kept


def estimate_fill(data: Joined, neighbors: Neighborhood, compute: Compute, *, squared: bool, few: int = FEW,
                  ) -> float | None:
    """Estimate the entries of the cost's factor from samples of points; None for few, or where none are in memory."""
    points = data.points
    if points is None or rows_of(points) is not None or not isinstance(neighbors, Nearest) or len(points) <= few:
        return None
    room = compute.memory_bytes() - resident(compute.thread_count()) - 2.0 * points.nbytes  # as read, and in units
    return fill_of(points, neighbors.usual, squared=squared, room=room)
