"""Isomap."""

from typing import Any, ClassVar, Literal

from mlcli.base.values.inputs import Dissimilarities, Features, Input, LengthGraph
from mlcli.base.values.options import option_of
from mlcli.core.chain.options import AnyDecoder, Coordinates, NeighborGraph
from mlcli.core.chain.pairs import GowerKernel
from mlcli.core.chain.stages import Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.paths.paths import Paths
from mlcli.methods.method import Method
from mlcli.methods.trials import LANDMARKS, MANY, InputSummary, Trials, by_neighbors, variant


class Isomap(Method):
    """A curved surface unrolled: MDS of shortest-path distances on the neighbor graph.

    Points are joined to their nearest neighbors, distances are measured along the graph, and MDS embeds them: MDS
    itself, with all points as neighbors. Some eigenvalues are negative, as geodesic distances are seldom Euclidean.
    A new point is joined to its nearest training points, also where the graph is mutual. It fails if a short circuit
    joins two sheets of the surface (use fewer neighbors) or if the graph falls into pieces (use more neighbors).
    With `decoder` coordinates lead back to features, by neighbors in the embedding or by regression.
    Source: Tenenbaum, de Silva and Langford, 2000.
    """

    accepts: ClassVar = (Features, Dissimilarities, LengthGraph)
    decodes: ClassVar = "method.decoder"
    rules: ClassVar = ("residual_variance", "two_nn", "broken_stick", "elbow")
    isometric: ClassVar = True
    variants: ClassVar = (
        variant("", neighbors={"count": 9}), variant("landmarks", "permutation", neighbors={"count": 9}, landmarks=30,
                                                   decoder={"name": "barycentric"}),
        variant("radius", neighbors={"radius": 2.9, "pieces": "connect"}), variant("cosine", "shift", metric="cosine"),
        variant("mutual", neighbors={"count": 20, "pieces": "connect"}, graph="mutual"),
        variant("streamed", "whole", "quick", neighbors={"count": 9}, paths={"store": "streamed",
                "precision": "float64"}, eigensolve={"tolerance": 1e-12}),
        variant("cityblock", "rotation", metric="cityblock"))
    later: ClassVar = ("decoder",)
    axis: ClassVar = "Isomap"
    name: Literal["isomap"] = "isomap"
    metric: AnyMetric = EUCLIDEAN
    neighbors: Neighbors = Neighbors()
    graph: Literal["union", "mutual"] = option_of(NeighborGraph, "rule")
    paths: Paths = Paths()
    landmarks: int | None = option_of(Stages, "landmarks")
    eigensolve: Eigensolve = Eigensolve()
    decoder: AnyDecoder = option_of(Stages, "decoder")

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return settings by neighborhood size; with landmarks for very many rows."""
        return by_neighbors(seen, **({"landmarks": LANDMARKS} if seen.rows > MANY and not seen.graph else {}))

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of K = -H D² H / 2, D shortest paths along the neighbor graph; coordinates V √λ.

        `PathChain` (`core/chain/paths.py`) computes it.
        """
        graph = NeighborGraph(neighbors=self.neighbors, rule=self.graph)
        return Stages(metric=self.metric, graph=graph, paths=self.paths, kernel=GowerKernel(), centering="double",
                      eigensolve=self.eigensolve, coordinates=Coordinates(scale="roots"), landmarks=self.landmarks,
                      decoder=self.decoder)

    def reproduces(self) -> bool:
        """Whether the graph is a union: a mutual one joins a training row to fewer points than a new one."""
        return self.graph == "union"

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return neighbors, at most n - 1; raises ConfigError for options of paths that landmarks leave unused."""
        self.chain(data.kind).refuse_void()
        return super().resolved_stages(data)
