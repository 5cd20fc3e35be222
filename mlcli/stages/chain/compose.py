"""The choice of the computation from data to coordinates: a kernel's own, or by distances, paths, columns or pairs."""

from mlcli.stages.chain.chain_input import ChainInput, Composition
from mlcli.stages.chain.distances import PairwiseChain, PathChain
from mlcli.stages.chain.points import ColumnChain, FunctionChain


def choose_composition(chain: ChainInput) -> Composition:
    """Return the computation of a chain's coordinates, chosen by its kernel, paths and centering."""
    kernel, direct = chain.kernel, chain.data.kind == "features" and chain.kernel.direct and chain.landmarks is None
    if kernel.way is not None:
        own: Composition = kernel.way(chain)
        return own
    if kernel.of_distances and chain.paths is not None:
        return PathChain(chain)
    if kernel.of_distances and not direct:
        return PairwiseChain(chain)
    return ColumnChain(chain) if kernel.by_columns and chain.centering != "double" else FunctionChain(chain)
