"""Distances: stress, Sammon stress and residual variance over all pairs of points."""

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import Array
from mlcli.findings.quality.sampling import Sums
from mlcli.findings.quality.strips import Measure, Strip

BLOCK = 2**14  # points in a block of distances from a few anchors


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
        for columns in row_blocks(self.size, BLOCK):
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
