"""The measures of quality: of neighborhoods, of distances, of the reconstruction, and of labels."""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.missing import is_missing
from mlcli.base.values.scaling import Unit
from mlcli.errors import ConfigError
from mlcli.findings.quality.anchors import Measure, Strip, Sums

DISTANCE_BLOCK = 2**14  # points in a block of distances from a few anchors


@frozen
class Distances(Measure):
    """Measures of pairs: delta is the distance to keep, d the one in the embedding."""

    size: int  # n
    scale: float  # factor from the units of embedded distances to those of the kept ones

    def sums(self, strip: Strip) -> Sums:
        """Return sums over each anchor's pairs; those over delta leave out pairs at distance zero."""
        sums: Sums = {"pairs": np.full(len(strip.rows), self.size - 1.0)}
        if native.available():
            return sums | native.pair_sums(strip.kept, strip.embedded, self.scale)
        for columns in row_blocks(self.size, DISTANCE_BLOCK):
            for name, part in self._block_sums(strip.kept[:, columns], strip.embedded[:, columns]).items():
                sums[name] = sums[name] + part if name in sums else part
        return sums

    def _block_sums(self, kept: Array, embedded: Array) -> Sums:
        """Return the sums over a block of pairs, small enough for their distances to stay in the cache."""
        delta, d = np.sqrt(kept), np.sqrt(embedded)
        d *= self.scale
        off = delta - d
        inverse = np.divide(1.0, delta, out=np.zeros_like(delta), where=delta > 0)
        return {"delta": delta.sum(axis=1), "d": d.sum(axis=1), "delta²": _dots(delta, delta), "d²": _dots(d, d),
                "delta d": _dots(delta, d), "off²": _dots(off, off), "d²/delta": _dots(d, d * inverse),
                "off²/delta": _dots(off, off * inverse)}

    def values(self, sums: Sums) -> dict[str, Array]:
        """Return stress-1 (Kruskal, 1964), Sammon stress (1969), both also at their best scale, and 1 - r².

        The second form of 1 - r² includes a pair of each point with itself (Tenenbaum, de Silva and Langford, 2000).
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            cosine = sums["delta d"] / np.sqrt(sums["delta²"]) / np.sqrt(sums["d²"])
            share = (sums["d"] / sums["delta"]) * (sums["d"] / sums["d²/delta"])
            diagonal = sums["pairs"] / (self.size - 1)
            return {"stress_1": np.sqrt(sums["off²"] / sums["d²"]),
                    "stress_1_scaled": np.sqrt(np.maximum(1 - cosine**2, 0)),
                    "sammon_stress": sums["off²/delta"] / sums["delta"],
                    "sammon_stress_scaled": np.maximum(1 - share, 0),
                    "residual_variance": _unexplained(sums, sums["pairs"]),
                    "residual_variance_tenenbaum": _unexplained(sums, sums["pairs"] + diagonal)}


def _unexplained(sums: Sums, count: Array) -> Array:
    """Return 1 - r² of the two kinds of distances; NaN where one of them is the same for all pairs."""
    covariance = sums["delta d"] - sums["delta"] * sums["d"] / count
    first, second = sums["delta²"] - sums["delta"] ** 2 / count, sums["d²"] - sums["d"] ** 2 / count
    shares: Array = np.maximum(1 - (covariance / np.sqrt(first) / np.sqrt(second)) ** 2, 0)
    return shares


def _dots(left: Array, right: Array) -> Array:
    return np.einsum("ij,ij->i", left, right)


LAST = np.iinfo(np.int64).max
KEY_BLOCK = 2**15  # points in a block of keys
MANY = 2**13  # points above which a kernel reads the keys in less time than NumPy's partition, made for AVX-512


@frozen
class Neighborhoods(Measure):
    """Measures of ranks: the r-th nearest other point has rank r; equal distances are in the order of the points."""

    size: int  # n
    neighbors: int  # k, below n / 2
    widest: int  # the largest neighborhood of the curve, at least k

    def sums(self, strip: Strip) -> Sums:
        """Return penalties of intruders and of lost neighbors, and the number of shared neighbors at each size."""
        source = strip.share("order", lambda: DistanceOrder.of(strip.source, strip.rows, self.widest))
        embedded = DistanceOrder.of(strip.embedded, strip.rows, self.widest)
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
class DistanceOrder:
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
    def of(cls, squared: Array, rows: Indices, widest: int) -> "DistanceOrder":
        """Return the order by squared distances, a (b, n) array, from the anchors `rows`, up to at least `widest`."""
        size = squared.shape[1]
        bits = size.bit_length()
        if native.available() and size > MANY:
            return cls(*native.order_points(squared, rows, widest, bits), bits)
        keys = np.empty(squared.shape, dtype=np.int64)
        for columns in row_blocks(size, KEY_BLOCK):
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
    for columns in row_blocks(len(keys), KEY_BLOCK):
        smaller = int(np.count_nonzero(keys[columns] < low))
        count += smaller
        if np.count_nonzero(keys[columns] < high) > smaller:
            near = keys[columns][(keys[columns] >= low) & (keys[columns] < high)]
            count += int(np.count_nonzero(near & ~(-1 << bits) < wanted & ~(-1 << bits)))
    return count


MOST = 1000


@frozen
class AnchorPairs:
    """Pairs of points, the first of each an anchor, in the order of the first points."""

    first: Indices  # (m,) array, ascending
    second: Indices  # (m,) array

    @classmethod
    def draw(cls, anchors: Indices, size: int, generator: np.random.Generator) -> "AnchorPairs":
        """Return all pairs where there are few and all points are anchors, else random ones of two different points.

        `anchors` is an ascending (a,) array of points.
        """
        if len(anchors) == size and size * (size - 1) // 2 <= MOST:
            return cls(*(part.astype(np.int64) for part in np.triu_indices(size, 1)))
        first = np.sort(generator.choice(anchors, MOST))
        return cls(first, (first + generator.integers(1, size, MOST)) % size)

    def sums(self, strip: Strip) -> Sums:
        """Return the squared distances of the pairs whose first point is in a strip."""
        here = slice(*np.searchsorted(self.first, [strip.rows[0], strip.rows[-1] + 1]))
        places = np.searchsorted(strip.rows, self.first[here]), self.second[here]
        return {"distance": strip.kept[places], "embedded": strip.embedded[places]}


def in_units(sums: Sums, kept: Unit, embedded: Unit) -> Array:
    """Return the two distances of each pair in their units, an (m, 2) array, without pairs out of range."""
    pairs = np.column_stack([kept.plain(np.sqrt(sums["distance"])), embedded.plain(np.sqrt(sums["embedded"]))])
    finite: Array = pairs[np.isfinite(pairs).all(axis=1)]
    return finite


PAIRS = 2**21  # most pairs where all points are anchors: all of them up to 2,048 points
SAMPLED = 2**19  # most pairs for a sample of anchors
FEW = 2**16  # number of pairs up to which ranks come from a sort
BINS = 2**18  # bins for more pairs than that
RANK_BLOCK = 2**16  # ranks in memory at a time


@frozen
class Shepard(Measure):
    """Spearman's rank correlation of kept and embedded distances (Espadoto et al., 2021: Shepard goodness)."""

    size: int  # n
    offsets: Indices  # anchor i is paired with the points i + offset, modulo n

    @classmethod
    def of(cls, size: int, anchors: int) -> "Shepard":
        """Return each pair once where all points are anchors and pairs are not too many, else evenly spread partners.
        """
        if anchors == size and size * (size - 1) // 2 <= PAIRS:
            return cls(size, np.arange(1, size // 2 + 1))
        count = max(1, min(size - 1, (PAIRS if anchors == size else SAMPLED) // anchors))
        return cls(size, 1 + np.arange(count) * ((size - 1) // count))

    def sums(self, strip: Strip) -> Sums:
        """Return squared distances of the pairs, in single precision so that rounding makes no order; NaN for repeats.
        """
        partners = (strip.rows[:, None] + self.offsets) % self.size
        pairs: dict[str, AnyArray] = {name: np.take_along_axis(squared, partners, axis=1).astype(np.float32)
                 for name, squared in (("kept", strip.kept), ("embedded", strip.embedded))}
        if self.offsets[-1] * 2 == self.size:
            for part in pairs.values():
                part[strip.rows * 2 >= self.size, -1] = np.nan
        return pairs

    def pooled(self, sums: Sums) -> Sums:
        """Return moments of the ranks among all pairs; leaving out anchors for the standard error keeps the ranks."""
        kept, embedded = in_order(CenteredRanks.of, [sums["kept"], sums["embedded"]])
        found: dict[str, list[Array]] = {"kept²": [], "embedded²": [], "product": []}
        for part in row_blocks(len(kept.bins), RANK_BLOCK, kept.bins.shape[1]):
            near, shown = kept.rows(part), embedded.rows(part)
            for name, left, right in (("kept²", near, near), ("embedded²", shown, shown), ("product", near, shown)):
                found[name].append(np.einsum("ij,ij->i", left, right))
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def values(self, sums: Sums) -> dict[str, Array]:
        """Return the correlation; NaN where one kind of distances is the same for all pairs."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"shepard_correlation": sums["product"] / np.sqrt(sums["kept²"] * sums["embedded²"])}


@frozen
class CenteredRanks:
    """Ranks of nonnegative numbers in single precision minus their mean, 0 for NaN; ties share a rank.

    They are stored as bins, as the ranks themselves take several times the memory of the numbers.
    """

    bins: AnyArray  # (b, m) array
    middles: Array  # the rank of each bin; the last one is for NaN

    @classmethod
    def of(cls, values: AnyArray) -> "CenteredRanks":
        """Return the ranks of numbers, a (b, m) array."""
        bins, most = (_distinct(values), values.size) if values.size <= FEW else (_bins(values), BINS)
        counts, whole = np.zeros(most, dtype=np.int64), not np.isnan(values).any()
        for part in row_blocks(len(bins), RANK_BLOCK, bins.shape[1]):
            counts += np.bincount(bins[part].ravel() if whole else bins[part][~np.isnan(values[part])], minlength=most)
        counts = np.trim_zeros(counts, "b")
        ends = np.cumsum(counts)
        return cls(bins, np.append(ends - (counts + ends[-1]) / 2, 0.0))

    def rows(self, part: slice) -> Array:
        """Return the ranks of some rows."""
        return self.middles[np.minimum(self.bins[part], len(self.middles) - 1)]


def _distinct(values: AnyArray) -> AnyArray:
    """Return the positions of the numbers among the distinct ones, as `np.unique` does, by one sort of integers.

    The bits of nonnegative numbers are in their order; the position fills the lower bits, so that the sort moves both.
    """
    keys = (values.ravel() + np.float32(0)).view(np.uint32).astype(np.uint64) << np.uint64(16)
    keys |= np.arange(keys.size, dtype=np.uint64)
    keys.sort()
    bits, places = keys >> np.uint64(16), np.empty(keys.size, dtype=np.int64)
    places[(keys & np.uint64(FEW - 1)).astype(np.int64)] = np.append(0, np.cumsum(bits[1:] != bits[:-1]))
    return places.reshape(values.shape)


def _bins(values: AnyArray) -> AnyArray:
    """Return the numbers of bins of nonnegative numbers, by their bits, which are in the order of the numbers.

    Numbers in one bin count as equal. That needs no sort, and for so many pairs the error of the correlation, about the
    square of a bin's share of them, is below 1e-7.
    """
    bits = values.view(np.uint32)
    low, high = np.array([np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)]).view(np.uint32)
    bins = bits - low
    bins //= (high - low) // np.uint32(BINS) + np.uint32(1)
    return bins


@frozen
class Reconstruction(Measure):
    """The mean squared reconstruction error, of methods with a decoder."""

    points: Array  # n x d
    embedding: Array  # n x p
    decode: Callable[[Array], Array]  # from coordinates to features

    def sums(self, strip: Strip) -> Sums:
        """Return each anchor's squared distance to its reconstruction."""
        with np.errstate(over="ignore"):
            off = self.points[strip.rows] - self.decode(self.embedding[strip.rows])
            return {"anchors": np.ones(len(off)), "squares": np.einsum("ij,ij->i", off, off)}

    def values(self, sums: Sums) -> dict[str, Array]:
        """Return the mean square over points, summed over features: for PCA with divisor n the eigenvalues left out."""
        return {"reconstruction_error": sums["squares"] / sums["anchors"]}


EQUAL = 2.0**-40  # relative difference below which squared distances count as equal
REMEDY = "choose others with {input.label_columns}"  # of a run to be made


@frozen
class Labels(Measure):
    """Measures of classes in the embedding; points without a label are left out."""

    column: str
    codes: Indices  # n: the class of each point, -1 without one
    ordered: Indices  # the labeled points, class after class
    starts: Indices  # the start of each class among them
    counts: Indices  # number of points of each class

    @classmethod
    def first_of(cls, labels: Mapping[str, Sequence[str]], chosen: str | None = None, remedy: str = REMEDY,
                 ) -> Self | None:
        """Return the first label column with two classes or more and two points or more to a class on average.

        Raises ConfigError where a chosen column is no such column; `remedy` says how others are chosen.
        """
        if chosen is not None:
            return cls._chosen(labels, chosen, remedy)
        return next((one for column, texts in labels.items() if (one := cls.of(column, texts)) is not None), None)

    @classmethod
    def _chosen(cls, labels: Mapping[str, Sequence[str]], column: str, remedy: str) -> Self:
        """Return the classes of the column that the user chose."""
        classes = cls.of(column, labels[column]) if column in labels else None
        if classes is None:
            what = "has one class only, or hardly a name twice" if column in labels else "is no label column"
            raise ConfigError("QUALITY-LABEL", f"{column[:80]!r} {what}", where="report.quality.label",
                              hint=f"label columns are: {', '.join(name[:80] for name in labels) or 'none'}; {remedy}")
        return classes

    @classmethod
    def of(cls, column: str, texts: Sequence[str]) -> Self | None:
        """Return the classes of a label column; None where it has one class only, or hardly a name twice."""
        present = dict.fromkeys(text for text in texts if not is_missing(text))
        names = {text: code for code, text in enumerate(present)}
        codes = np.array([names.get(text, -1) for text in texts], dtype=np.int64)
        ordered = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0):]
        if len(names) < 2 or 2 * len(names) > len(ordered):
            return None
        counts, without = np.bincount(codes[ordered]), len(codes) - len(ordered)
        if without:
            note("N-NO-LABEL", f"{without:,} of {len(codes):,} rows have no label in {column[:80]!r} (empty, NA or "
                 "NaN) and are left out of label measures", rows=without)
        return cls(column, codes, ordered, np.cumsum(counts) - counts, counts)

    def sums(self, strip: Strip) -> Sums:
        """Return 1 for anchors whose nearest labeled point has another label, and silhouettes (Rousseeuw, 1987)."""
        own, classes = np.arange(len(strip.rows)), self.codes[strip.rows]
        labeled = classes >= 0
        others = np.where(self.codes >= 0, strip.embedded, np.inf)
        others[own, strip.rows] = np.inf
        nearest = (others <= others.min(axis=1, keepdims=True) * (1 + EQUAL)).argmax(axis=1)
        wrong = self.codes[nearest] != classes
        return {"labeled": labeled.astype(np.float64), "wrong": (wrong & labeled).astype(np.float64),
                "silhouettes": np.where(labeled, self._silhouettes(np.sqrt(strip.embedded), classes), 0.0)}

    def values(self, sums: Sums) -> dict[str, Array]:
        """Return the means over the labeled anchors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"label_1nn_error": sums["wrong"] / sums["labeled"],
                    "silhouette": sums["silhouettes"] / sums["labeled"]}

    def _silhouettes(self, distances: Array, classes: Indices) -> Array:
        """Return (b - a) / max(a, b): a the mean distance in the own class, b to the nearest other; 0 where alone."""
        own, totals = np.arange(len(classes)), np.add.reduceat(distances[:, self.ordered], self.starts, axis=1)
        inside = totals[own, classes] / np.maximum(self.counts[classes] - 1, 1)
        means = totals / self.counts
        means[own, classes] = np.inf
        nearest = means.min(axis=1)
        larger = np.maximum(inside, nearest)
        return np.divide(nearest - inside, larger, out=np.zeros(len(own)),
                         where=(larger > 0) & (self.counts[classes] > 1))
