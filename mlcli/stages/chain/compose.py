"""The way from the data to coordinates: a kernel's own, or the one that its values are computed by."""

from mlcli.stages.chain.distances import OfPairs, OfPaths
from mlcli.stages.chain.points import OfColumns, OfFunction
from mlcli.stages.chain.setting import Composition, Setting


def composition_of(chain: Setting) -> Composition:
    """The way that the stages ask for."""
    kernel, direct = chain.kernel, chain.data.kind == "features" and chain.kernel.direct and chain.landmarks is None
    if kernel.way is not None:
        own: Composition = kernel.way(chain)
        return own
    if kernel.of_distances and chain.paths is not None:
        return OfPaths(chain)
    if kernel.of_distances and not direct:
        return OfPairs(chain)
    return OfColumns(chain) if kernel.by_columns and chain.centering != "double" else OfFunction(chain)
