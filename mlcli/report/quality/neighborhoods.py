"""Neighborhoods: trustworthiness, continuity, and the overlap of neighbors at every size."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.report.quality.blocks import Block, Measure
from mlcli.report.quality.sampling import Sums

LAST = np.iinfo(np.int64).max
PIECE = 2**15  # points whose keys are looked at together
SORTED = 2**14  # points up to which all are sorted: faster than counting a few


@frozen
class Neighborhoods(Measure):
    """Measures of ranks: the r-th nearest other point has rank r, equal distances in the order of the points."""

    size: int  # n
    neighbors: int  # k, below n / 2
    reach: int  # the largest neighborhood of the curve, at least k

    def sums(self, block: Block) -> Sums:
        """Penalties of intruders and of those lost, and how many of the nearest are shared at each size."""
        source, embedded = (Order.of(squared, block.rows, self.reach) for squared in (block.source, block.embedded))
        ranks = source.ranks(embedded.nearest(self.reach), exact=self.neighbors)
        lost = embedded.ranks(source.nearest(self.neighbors), exact=self.neighbors)
        enters = np.minimum(np.maximum(ranks, np.arange(1, self.reach + 1)), self.reach + 1) - 1
        places = np.arange(len(ranks))[:, None] * (self.reach + 1) + enters
        counts = np.bincount(places.ravel(), minlength=len(ranks) * (self.reach + 1)).reshape(len(ranks), -1)
        return {"anchors": np.ones(len(ranks)), "intruders": self._beyond(ranks[:, : self.neighbors]),
                "lost": self._beyond(lost), "shared": np.cumsum(counts[:, :-1], axis=1).astype(np.float64)}

    def values(self, sums: Sums) -> dict[str, Array]:
        """Trustworthiness and continuity (Venna and Kaski, 2001), LCMC (Chen and Buja, 2009), Q_NX (Lee and
        Verleysen, 2009).

        For k below n/2 the worst that k neighbors can add is k (2n - 3k - 1) / 2.
        """
        k, n = self.neighbors, self.size
        scale = 2 / (k * (2 * n - 3 * k - 1)) / sums["anchors"]
        curve = sums["shared"] / (np.arange(1, self.reach + 1) * sums["anchors"][..., None])
        return {"trustworthiness": 1 - scale * sums["intruders"], "continuity": 1 - scale * sums["lost"],
                "lcmc": curve[..., k - 1] - k / (n - 1), "q_nx": curve}

    def _beyond(self, ranks: Indices) -> Array:
        """How far beyond rank k some points lie, summed for each anchor."""
        return np.maximum(ranks - self.neighbors, 0).sum(axis=1).astype(np.float64)


@frozen
class Order:
    """The points in the order of their distance from each anchor, the anchor itself last.

    A key is a distance whose last bits give way to the point's number: nonnegative doubles are in
    the order of their bits, so whole numbers order by (distance, point). What is left of a double
    tells distances apart to 12 digits for 2,000 points, to 9 for a million. Of many points only
    the nearest are sorted, and the others counted where it matters.
    """

    keys: Indices  # b x n, in the order of the points
    ordered: Indices  # the smallest of them, or all, sorted
    mask: int  # of the bits that are the point's number

    @classmethod
    def of(cls, squared: Array, rows: Indices, reach: int) -> "Order":
        """The order by squared distances (b x n) from some anchors, at least of the `reach` nearest."""
        size = squared.shape[1]
        mask = (1 << size.bit_length()) - 1
        keys = np.empty(squared.shape, dtype=np.int64)
        for columns in pieces_of(size):
            np.bitwise_and(squared[:, columns].view(np.int64), ~mask, out=keys[:, columns])
            keys[:, columns] |= np.arange(columns.start, columns.stop)
        keys[np.arange(len(rows)), rows] = LAST
        first = keys if size <= SORTED else np.partition(keys, reach, axis=1)[:, :reach]
        return cls(keys, np.sort(first, axis=1), mask)

    def nearest(self, count: int) -> Indices:
        """The nearest points of each anchor, in order (b x count)."""
        return self.ordered[:, :count] & self.mask

    def ranks(self, named: Indices, exact: int) -> Indices:
        """The ranks of some other points of each anchor (b x m), from 1.

        Beyond the points sorted they are lower bounds, but for the first `exact` points of each row.
        """
        wanted = np.take_along_axis(self.keys, named, axis=1)
        found = np.stack([np.searchsorted(*pair) for pair in zip(self.ordered, wanted, strict=True)])
        far = np.argwhere(found[:, :exact] == self.ordered.shape[1]).tolist()
        if far:
            found[tuple(zip(*far, strict=True))] = 0
            for columns in pieces_of(self.keys.shape[1]):
                for row, place in far:
                    found[row, place] += np.count_nonzero(self.keys[row, columns] < wanted[row, place])
        return found + 1


def pieces_of(size: int) -> list[slice]:
    """The points in pieces whose keys stay in a cache."""
    return [slice(start, min(start + PIECE, size)) for start in range(0, size, PIECE)]
