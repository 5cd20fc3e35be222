"""Neighborhoods: trustworthiness, continuity, and the overlap of neighbors at every size."""

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import Array, Indices
from mlcli.findings.quality.sampling import Sums
from mlcli.findings.quality.strips import Measure, Strip

LAST = np.iinfo(np.int64).max
BLOCK = 2**15  # points in a block of keys
MANY = 2**13  # points above which a kernel reads the keys in less time than NumPy's partition, made for AVX-512


@frozen
class Neighborhoods(Measure):
    """Measures of ranks: the r-th nearest other point has rank r; equal distances are in the order of the points."""

    size: int  # n
    neighbors: int  # k, below n / 2
    widest: int  # the largest neighborhood of the curve, at least k

    def sums(self, strip: Strip) -> Sums:
        """Return penalties of intruders and of lost neighbors, and the number of shared neighbors at each size."""
        source = strip.share("order", lambda: Order.of(strip.source, strip.rows, self.widest))
        embedded = Order.of(strip.embedded, strip.rows, self.widest)
        ranks = source.ranks(embedded.nearest(self.widest), exact=self.neighbors)
        lost = embedded.ranks(source.nearest(self.neighbors), exact=self.neighbors)
        enters = np.minimum(np.maximum(ranks, np.arange(1, self.widest + 1)), self.widest + 1) - 1
        places = np.arange(len(ranks))[:, None] * (self.widest + 1) + enters
        counts = np.bincount(places.ravel(), minlength=len(ranks) * (self.widest + 1)).reshape(len(ranks), -1)
        return {"anchors": np.ones(len(ranks)), "intruders": self._beyond(ranks[:, : self.neighbors]),
                "lost": self._beyond(lost), "shared": np.cumsum(counts[:, :-1], axis=1).astype(np.float64)}

    def values(self, sums: Sums) -> dict[str, Array]:
        """Return trustworthiness, continuity, LCMC and Q_NX.

        Sources: Venna and Kaski, 2001; Chen and Buja, 2009; Lee and Verleysen, 2009. For k below n/2 the largest
        penalty of k neighbors is k (2n - 3k - 1) / 2.
        """
        k, n = self.neighbors, self.size
        scale = 2 / (k * (2 * n - 3 * k - 1)) / sums["anchors"]
        curve = sums["shared"] / (np.arange(1, self.widest + 1) * sums["anchors"][..., None])
        return {"trustworthiness": 1 - scale * sums["intruders"], "continuity": 1 - scale * sums["lost"],
                "lcmc": curve[..., k - 1] - k / (n - 1), "q_nx": curve}

    def _beyond(self, ranks: Indices) -> Array:
        """Return by how much ranks exceed k, summed for each anchor."""
        return np.maximum(ranks - self.neighbors, 0).sum(axis=1).astype(np.float64)


@frozen
class Order:
    """The points in the order of their distance from each anchor, the anchor itself last.

    A key is a distance with its last bits replaced by the point's number: nonnegative doubles are in the order of their
    bits, so whole numbers order by (distance, point). The rest of a double, its step, distinguishes distances to 12
    digits for 2,000 points, to 9 for a million. Distances in one step or in successive ones count as equal: rounding
    puts equal ones on both sides of a bound. Only the nearest are sorted, and the others counted where they matter.
    """

    keys: Indices  # (b, n) array, in the order of the points
    ordered: Indices  # the smallest of them, sorted
    bounds: Indices  # (b,) array: all smaller keys are among `ordered`
    bits: int  # number of bits of the point's number

    @classmethod
    def of(cls, squared: Array, rows: Indices, widest: int) -> "Order":
        """Return the order by squared distances, a (b, n) array, from the anchors `rows`, up to at least `widest`."""
        size = squared.shape[1]
        bits = size.bit_length()
        if native.available() and size > MANY:
            return cls(*native.order_points(squared, rows, widest, bits), bits)
        keys = np.empty(squared.shape, dtype=np.int64)
        for columns in row_blocks(size, BLOCK):
            np.bitwise_and(squared[:, columns].view(np.int64), -1 << bits, out=keys[:, columns])
            keys[:, columns] |= np.arange(columns.start, columns.stop)
        keys[np.arange(len(rows)), rows] = LAST
        first, bounds = smallest(keys, widest, bits)
        ordered = np.sort(first, axis=1)
        for row in np.flatnonzero((np.diff(ordered >> bits) == 1).any(axis=1)):
            join_steps(keys[row], ordered[row], bits)
        return cls(keys, ordered, bounds, bits)

    def nearest(self, count: int) -> Indices:
        """Return the nearest points of each anchor in order, a (b, count) array."""
        return self.ordered[:, :count] & ~(-1 << self.bits)

    def ranks(self, named: Indices, exact: int) -> Indices:
        """Return the ranks of the points `named` of each anchor, a (b, m) array, from 1.

        Beyond the sorted points they are lower bounds, but for the first `exact` points of each row.
        """
        if native.available():
            return native.ranks_of_points(self.keys, self.ordered, self.bounds, points=named, exact=exact,
                                          bits=self.bits)
        wanted = np.take_along_axis(self.keys, named, axis=1)
        ranks = np.stack([np.searchsorted(*pair) for pair in zip(self.ordered, wanted, strict=True)])
        far = wanted[:, :exact] >= self.bounds[:, None]
        if far.any():
            ranks[:, :exact][far] = count_before(self.keys, wanted[:, :exact], self.bits)[far]
        return ranks + 1


def smallest(keys: Indices, count: int, bits: int) -> tuple[Indices, Indices]:
    """Return the `count` smallest keys of each anchor with all of equal distances, a (b, m) array, and bounds (b,).

    `keys` is a (b, n) array.
    """
    first = np.partition(keys, count - 1, axis=1)[:, :count]
    bounds = ((first[:, -1] >> bits) + 2) << bits
    most = max(np.count_nonzero(row < bound) for row, bound in zip(keys, bounds, strict=True))
    return (first if most == count else np.partition(keys, most - 1, axis=1)[:, :most]), bounds


def join_steps(keys: Indices, ordered: Indices, bits: int) -> None:
    """Move keys in successive steps to the first of these steps, in place.

    `keys` is the (n,) array of an anchor's keys, `ordered` an (m,) array of the smallest of them.
    """
    steps, points = ordered >> bits, ordered & ~(-1 << bits)
    starts = np.concatenate([[True], np.diff(steps) > 1])
    joined = steps[starts][np.cumsum(starts) - 1]
    moved = joined != steps
    ordered[moved] = joined[moved] << bits | points[moved]
    keys[points[moved]] = ordered[moved]
    ordered.sort()


def count_before(keys: Indices, wanted: Indices, bits: int) -> Indices:
    """Return how many keys (b x n) of each anchor are smaller than each of its `wanted` ones (b x m).

    Equal distances are in the order of the points.
    """
    if native.available():
        return native.keys_before(keys, wanted, bits)
    return np.array([[_count_before(own, key, bits) for key in some]
                     for own, some in zip(keys, wanted.tolist(), strict=True)])


def _count_before(keys: Indices, wanted: int, bits: int) -> int:
    low, high = ((wanted >> bits) - 1) << bits, ((wanted >> bits) + 2) << bits
    count = 0
    for columns in row_blocks(len(keys), BLOCK):
        smaller = int(np.count_nonzero(keys[columns] < low))
        count += smaller
        if np.count_nonzero(keys[columns] < high) > smaller:
            near = keys[columns][(keys[columns] >= low) & (keys[columns] < high)]
            count += int(np.count_nonzero(near & ~(-1 << bits) < wanted & ~(-1 << bits)))
    return count

