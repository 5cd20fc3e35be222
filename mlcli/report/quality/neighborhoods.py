"""Neighborhoods: trustworthiness, continuity, and the overlap of neighbors at every size."""

from dataclasses import dataclass

import numpy as np

from mlcli import native
from mlcli.base.types import Array, Indices
from mlcli.report.quality.blocks import Block
from mlcli.report.quality.sampling import Sums


@dataclass(frozen=True)
class Neighborhoods:
    """Measures of ranks: the r-th nearest other point has rank r, equal distances in the order of the points."""

    size: int  # n
    neighbors: int  # k, below n / 2
    reach: int  # the largest neighborhood of the curve

    def sums(self, block: Block) -> Sums:
        """Penalties of intruders and of those lost, and how many of the reach nearest are shared at each size."""
        source, embedded = (_Ranked.of(part, block.rows, max(self.reach, self.neighbors))
                            for part in (block.source, block.embedded))
        shared = source.positions(embedded.nearest)
        larger = np.where(shared > 0, np.maximum(shared, np.arange(1, shared.shape[1] + 1)), 0)
        entering = np.zeros((len(larger), larger.shape[1] + 1))
        np.add.at(entering, (np.arange(len(larger))[:, None], larger), 1.0)
        return {"anchors": np.ones(len(block.rows)),
                "intruders": self._penalty(source, embedded), "lost": self._penalty(embedded, source),
                "shared": np.cumsum(entering[:, 1:], axis=1)[:, : self.reach]}

    def values(self, sums: Sums) -> dict[str, Array]:
        """Trustworthiness and continuity (Venna and Kaski, 2001), LCMC (Chen and Buja, 2009), Q_NX (Lee and Verleysen,
        2009).
        """
        k, n = self.neighbors, self.size
        scale = 2 / (k * (2 * n - 3 * k - 1)) / sums["anchors"]
        curve = sums["shared"] / (np.arange(1, self.reach + 1) * sums["anchors"][..., None])
        return {"trustworthiness": 1 - scale * sums["intruders"], "continuity": 1 - scale * sums["lost"],
                "lcmc": curve[..., k - 1] - k / (n - 1), "q_nx": curve}

    def _penalty(self, ranked: "_Ranked", other: "_Ranked") -> Array:
        """How far beyond rank k the k nearest in another space lie, summed for each anchor."""
        named = other.nearest[:, : self.neighbors]
        ranks = ranked.positions(named)
        for row, place in zip(*np.nonzero(ranks == 0), strict=True):
            ranks[row, place] = ranked.rank(row, named[row, place])
        return np.maximum(ranks - self.neighbors, 0).sum(axis=1).astype(np.float64)


@dataclass(frozen=True)
class _Ranked:
    """Anchors with their distances to all others, the nearest of them in order."""

    squared: Array  # b x n, infinite to the anchor itself
    nearest: Indices  # b x m

    @classmethod
    def of(cls, squared: Array, rows: Indices, count: int) -> "_Ranked":
        apart = squared.copy()
        apart[np.arange(len(rows)), rows] = np.inf
        if native.available():
            return cls(apart, native.select_neighbors(apart, count)[0])
        return cls(apart, np.argsort(apart, axis=1, kind="stable")[:, :count])

    def positions(self, named: Indices) -> Indices:
        """The rank of some points (b x m) as seen from each anchor, 0 beyond the nearest known."""
        places = np.zeros(self.squared.shape, dtype=np.int16)
        rows = np.arange(len(places))[:, None]
        places[rows, self.nearest] = np.arange(1, self.nearest.shape[1] + 1)
        return places[rows, named].astype(np.int64)

    def rank(self, row: int, point: int) -> int:
        """One more than the points that are nearer, or as near and earlier: no sort."""
        squared, limit = self.squared[row], self.squared[row, point]
        return 1 + int(np.count_nonzero(squared[:point] <= limit) + np.count_nonzero(squared[point:] < limit))
