"""Which way leads from the data to coordinates, for each kind of kernel."""

from collections.abc import Callable

from mlcli.stages.chain.distances import OfPairs, OfPaths
from mlcli.stages.chain.graphs import OfLaplacian, OfUnfolding, OfWeights
from mlcli.stages.chain.points import OfColumns, OfFunction
from mlcli.stages.chain.setting import Composition, Setting

WAYS: dict[str, Callable[[Setting], Composition]] = {
    "points": OfFunction, "given": OfFunction, "weights": OfWeights, "laplacian": OfLaplacian, "unfolding": OfUnfolding}


def composition_of(chain: Setting) -> Composition:
    """The way that the stages ask for."""
    kernel = chain.kernel
    if kernel.kind == "distances":
        direct = chain.data.kind == "features" and kernel.direct and chain.landmarks is None
        return OfPaths(chain) if chain.paths is not None else OfFunction(chain) if direct else OfPairs(chain)
    return OfColumns(chain) if kernel.by_columns and chain.centering != "double" else WAYS[kernel.kind](chain)
