"""The Shepard diagram's correlation: do larger distances stay larger?"""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.findings.quality.sampling import Sums
from mlcli.findings.quality.strips import Measure, Strip

PAIRS = 2**21  # pairs that are ranked where all points are anchors: all of them up to 2,048 points
SAMPLED = 2**19  # pairs that are ranked for a sample of anchors
FEW = 2**16  # pairs that are ranked by a sort
BINS = 2**18  # bins that more pairs are counted in
BLOCK = 2**16  # ranks that are held at once


@frozen
class Shepard(Measure):
    """Spearman's rank correlation of kept and embedded distances (Espadoto et al., 2021: Shepard goodness)."""

    size: int  # n
    offsets: Indices  # each anchor i is paired with the points i + offset, counted round

    @classmethod
    def of(cls, size: int, anchors: int) -> "Shepard":
        """Each pair once where all points are anchors and there are not too many, else evenly spread partners."""
        if anchors == size and size * (size - 1) // 2 <= PAIRS:
            return cls(size, np.arange(1, size // 2 + 1))
        count = max(1, min(size - 1, (PAIRS if anchors == size else SAMPLED) // anchors))
        return cls(size, 1 + np.arange(count) * ((size - 1) // count))

    def sums(self, strip: Strip) -> Sums:
        """Squared distances of the pairs, in single precision so that rounding makes no order; NaN where met twice."""
        partners = (strip.rows[:, None] + self.offsets) % self.size
        pairs: dict[str, AnyArray] = {name: np.take_along_axis(squared, partners, axis=1).astype(np.float32)
                 for name, squared in (("kept", strip.kept), ("embedded", strip.embedded))}
        if self.offsets[-1] * 2 == self.size:
            for part in pairs.values():
                part[strip.rows * 2 >= self.size, -1] = np.nan
        return pairs

    def pooled(self, sums: Sums) -> Sums:
        """Moments of the ranks among all pairs; ranks stay when anchors are left out for the standard error."""
        kept, embedded = in_order(Ranks.of, [sums["kept"], sums["embedded"]])
        found: dict[str, list[Array]] = {"kept²": [], "embedded²": [], "product": []}
        for part in row_blocks(len(kept.bins), BLOCK, kept.bins.shape[1]):
            near, shown = kept.rows(part), embedded.rows(part)
            for name, left, right in (("kept²", near, near), ("embedded²", shown, shown), ("product", near, shown)):
                found[name].append(np.einsum("ij,ij->i", left, right))
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def values(self, sums: Sums) -> dict[str, Array]:
        """The correlation; NaN where one kind of distances is the same for all pairs."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"shepard_correlation": sums["product"] / np.sqrt(sums["kept²"] * sums["embedded²"])}


@frozen
class Ranks:
    """Ranks of nonnegative numbers in single precision less their mean, 0 for NaN; equal numbers share theirs.

    They are held by bins, for the ranks themselves take several times the memory of the numbers.
    """

    bins: AnyArray  # b x m
    middles: Array  # the rank of each bin; the last is for NaN, which is above all others

    @classmethod
    def of(cls, values: AnyArray) -> "Ranks":
        """The ranks of some numbers (b x m)."""
        bins = _distinct(values) if values.size <= FEW else _bins(values)
        counts = np.zeros(BINS, dtype=np.int64)
        for part in row_blocks(len(bins), BLOCK, bins.shape[1]):
            counts += np.bincount(bins[part][~np.isnan(values[part])], minlength=BINS)
        counts = np.trim_zeros(counts, "b")
        ends = np.cumsum(counts)
        return cls(bins, np.append(ends - (counts + ends[-1]) / 2, 0.0))

    def rows(self, part: slice) -> Array:
        """Those of some rows."""
        return self.middles[np.minimum(self.bins[part], len(self.middles) - 1)]


def _distinct(values: AnyArray) -> AnyArray:
    """The places of the numbers among the distinct ones: what `np.unique` says, from one sort without comparisons.

    The bits of nonnegative numbers are in their order; behind them stands the place, so that the sort moves both.
    """
    keys = (values.ravel() + np.float32(0)).view(np.uint32).astype(np.uint64) << np.uint64(16)
    keys |= np.arange(keys.size, dtype=np.uint64)
    keys.sort()
    bits, places = keys >> np.uint64(16), np.empty(keys.size, dtype=np.int64)
    places[(keys & np.uint64(FEW - 1)).astype(np.int64)] = np.append(0, np.cumsum(bits[1:] != bits[:-1]))
    return places.reshape(values.shape)


def _bins(values: AnyArray) -> AnyArray:
    """Numbers of bins instead of the numbers: as the bits of nonnegative numbers are in their order, so are these.

    What shares a bin counts as equal. That needs no sort, and for so many pairs the error of the
    correlation, about the square of a bin's share of them, is below 1e-7.
    """
    bits = values.view(np.uint32)
    low, high = np.array([np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)]).view(np.uint32)
    bins = bits - low
    bins //= (high - low) // np.uint32(BINS) + np.uint32(1)
    return bins
