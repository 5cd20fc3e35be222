"""The input of a chain's computation."""

from collections.abc import Callable, Sequence
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Given, Input, Joined, Spatial, WeightedGraph
from mlcli.core.chain.stages import NeighborGraph, Stages
from mlcli.core.paths.paths import Paths


@frozen
class ChainInput:
    """The stages of a chain, its data, and the machine."""

    stages: Stages
    data: Input  # of a kind that the kernel takes
    compute: Compute
    require: Callable[[Sequence[Step], Given], None]  # refuses steps that memory does not allow for such data
    share: float | None = None  # of the most expensive work, which is measured for a plan

    @property
    def kernel(self) -> Any:
        """The kernel, of a class that the computation knows."""
        return self.stages.kernel

    @property
    def size(self) -> int:
        """The number of points."""
        return len(self.data.values)

    @property
    def double(self) -> bool:
        """Whether rows and columns of the kernel are centered."""
        return self.stages.centering == "double"

    @property
    def features(self) -> Features:
        """The data; for chains of functions of two points."""
        assert isinstance(self.data, Features)
        return self.data

    @property
    def spatial(self) -> Spatial:
        """The data; for chains of distances."""
        assert isinstance(self.data, Features | Dissimilarities)
        return self.data

    @property
    def joined(self) -> Joined:
        """The data; for chains of a neighbor graph."""
        return self.data if isinstance(self.data, WeightedGraph) else self.spatial

    @property
    def joining(self) -> NeighborGraph:
        """The neighbor graph; for chains that have one."""
        assert self.stages.graph is not None
        return self.stages.graph

    @property
    def geodesic(self) -> Paths:
        """The shortest paths; for chains that have them."""
        assert self.stages.paths is not None
        return self.stages.paths
