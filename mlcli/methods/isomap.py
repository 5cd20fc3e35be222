"""Isomap: classical scaling of geodesic distances."""

from typing import Any, ClassVar, Literal

from mlcli.base.compute import Compute
from mlcli.base.inputs import Dissimilarities, Features, Input
from mlcli.base.options import option
from mlcli.methods.base import Method, Model, Projector
from mlcli.stages.eigensolve import Eigensolve
from mlcli.stages.kernels import Dense, square_memory
from mlcli.stages.neighbors import Neighbors
from mlcli.stages.paths import Paths
from mlcli.stages.pieces import connected_graph
from mlcli.stages.similarities import Geodesics


class Isomap(Method):
    """A curved surface unrolled: MDS of shortest-path distances on the neighbor graph.

    Points are joined to their nearest neighbors, distances are measured along the graph, and
    MDS embeds them. With all points as neighbors it is MDS. Geodesic distances are seldom
    Euclidean, so some eigenvalues are negative; they stay in the spectrum.

    It fails where a short circuit joins two sheets of the surface (fewer neighbors help) and
    where the graph falls into pieces (more neighbors help). Source: Tenenbaum, de Silva and
    Langford, "A global geometric framework for nonlinear dimensionality reduction", 2000.
    """

    accepts: ClassVar = (Features, Dissimilarities)
    name: Literal["isomap"] = "isomap"
    neighbors: Neighbors = Neighbors()
    graph: Literal["union", "mutual"] = option(
        "union", "Points are joined when either is a neighbor of the other (union), or both are (mutual).")
    paths: Paths = Paths()
    eigensolve: Eigensolve = Eigensolve()

    def solve(self, data: Features | Dissimilarities, compute: Compute) -> Model:
        """K = -H D² H / 2 with D the shortest paths; coordinates are V √λ."""
        square_memory(compute, len(data.values), 5, "isomap", "take fewer rows")
        graph, kept = connected_graph(data, self.neighbors, self.graph)
        data = data if kept is None else data.take(kept)
        distances = self.paths(graph)
        kernel, centering = Dense(-0.5 * distances**2).centered()
        spectrum = self.eigensolve(kernel, len(distances) - 1, compute)
        similarity = Geodesics(self.neighbors, self.neighbors.scaled_radius(data), graph,
                               data.values if isinstance(data, Features) else None)
        return Model(spectrum.coordinates(), spectrum,
                     Projector(similarity, centering, spectrum.inverse_roots()), kept)

    def settled_stages(self, data: Input) -> dict[str, Any]:
        """Neighbors, at most n - 1 of them."""
        return {"neighbors": self.neighbors.settled(len(data.values))}
