"""A scale of each point: the distance to a near neighbor (Zelnik-Manor and Perona, 2004), for adaptive affinities."""

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.values.options import Options, option
from mlcli.errors import ConfigError
from mlcli.stages.graph.neighbors import Neighbors


class LocalScale(Options):
    """The base of affinities exp(-d² / (σ(x) σ(y))) with a scale σ of each point."""

    nearest: int = option(8, "σ of a point is the distance to its nearest training point of this rank, where the "
                          "point itself has rank 1.", ge=2)

    def require_rank(self, neighbors: Neighbors, where: str) -> int:
        """Return the rank, if it is a default clipped to the neighbors; raises ConfigError for a chosen one over it."""
        most = self.nearest if neighbors.count is None else neighbors.count + 1
        if self.nearest <= most:
            return self.nearest
        if self.chosen("nearest"):
            raise ConfigError("NEAREST", f"the scale of a point is to be the distance to the point of rank "
                              f"{self.nearest}, but each has {neighbors.count} neighbors", where=f"{where}.nearest",
                              hint=f"ask for at most {most}, or for more neighbors")
        note("N-NEAREST", f"scales of points are distances to their farthest neighbors: each has {neighbors.count}, "
             f"fewer than {self.nearest - 1}", rank=most)
        return most


def local_scales(starts: Indices, lengths: Array, place: int) -> Array:
    """Return the distance to the `place`-th nearest of each row's entries (m), or to the last where there are fewer.

    `starts` (m + 1) and `lengths` (e) are compressed rows, none of them empty. Zero is replaced by the row's least
    distance above zero, or by 1 where there is none.
    """
    counts = np.diff(starts)
    rows = np.repeat(np.arange(len(counts)), counts)
    ranked = lengths[np.lexsort((lengths, rows))]
    scales = ranked[starts[:-1] + np.minimum(place, counts) - 1]
    least = np.minimum.reduceat(np.where(lengths > 0, lengths, np.inf), starts[:-1])
    return np.where(scales > 0, scales, np.where(np.isfinite(least), least, 1.0))
