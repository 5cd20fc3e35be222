"""The Shepard diagram's correlation: the rank correlation of kept and embedded distances."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.findings.quality.sampling import Sums
from mlcli.findings.quality.strips import Measure, Strip

PAIRS = 2**21  # most pairs where all points are anchors: all of them up to 2,048 points
SAMPLED = 2**19  # most pairs for a sample of anchors
FEW = 2**16  # number of pairs up to which ranks come from a sort
BINS = 2**18  # bins for more pairs than that
BLOCK = 2**16  # ranks in memory at a time


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
        kept, embedded = in_order(Ranks.of, [sums["kept"], sums["embedded"]])
        found: dict[str, list[Array]] = {"kept²": [], "embedded²": [], "product": []}
        for part in row_blocks(len(kept.bins), BLOCK, kept.bins.shape[1]):
            near, shown = kept.rows(part), embedded.rows(part)
            for name, left, right in (("kept²", near, near), ("embedded²", shown, shown), ("product", near, shown)):
                found[name].append(np.einsum("ij,ij->i", left, right))
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def values(self, sums: Sums) -> dict[str, Array]:
        """Return the correlation; NaN where one kind of distances is the same for all pairs."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"shepard_correlation": sums["product"] / np.sqrt(sums["kept²"] * sums["embedded²"])}


@frozen
class Ranks:
    """Ranks of nonnegative numbers in single precision minus their mean, 0 for NaN; ties share a rank.

    They are stored as bins, as the ranks themselves take several times the memory of the numbers.
    """

    bins: AnyArray  # (b, m) array
    middles: Array  # the rank of each bin; the last one is for NaN

    @classmethod
    def of(cls, values: AnyArray) -> "Ranks":
        """Return the ranks of numbers, a (b, m) array."""
        bins, most = (_distinct(values), values.size) if values.size <= FEW else (_bins(values), BINS)
        counts, whole = np.zeros(most, dtype=np.int64), not np.isnan(values).any()
        for part in row_blocks(len(bins), BLOCK, bins.shape[1]):
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
