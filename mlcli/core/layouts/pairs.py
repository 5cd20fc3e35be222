"""Pairs of distinct points, with dissimilarities and weights; points that equal each other are one of them."""

from functools import cached_property

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.core.arithmetic import dot, power, total
from mlcli.errors import DataError

BLOCK = 2**17  # numbers of a block of weights
UNWEIGHTED = "use smacof with method.weights: 0, so that all weights are one"
SAME = 1e-12  # difference of two points' dissimilarities to others, relative to the largest, that is rounding


@frozen
class Pairs:
    """Dissimilarities of u distinct points, their multiplicities, and the distinct point of each of n points.

    A pair has the weight δ^q, with δ relative to the largest: 1 for a power q of 0, and for -1 that of Sammon.
    """

    lengths: Array  # u x u
    counts: Array  # u, points that each one stands for
    places: Indices  # n, from 0 to below u
    power: float = 0.0

    @classmethod
    def of(cls, lengths: Array, power: float, ids: list[str]) -> "Pairs":
        """Merge points at dissimilarity zero in (n x n) `lengths`.

        Raises DataError if the power is negative and two points at dissimilarity zero are not equal, as they differ in
        their dissimilarities to others.
        """
        firsts = (lengths == 0).argmax(axis=1)
        later = np.flatnonzero(firsts < np.arange(len(lengths)))
        unequal = later[~alike(lengths, later, firsts[later])]
        if len(unequal) and power < 0:
            row, first = int(unequal[0]), int(firsts[unequal[0]])
            raise DataError("ZERO-PAIRS", f"points {ids[first]} and {ids[row]} have dissimilarity zero, but differ in "
                            f"their dissimilarities to others: the weight {weight_name(power)} of this pair is "
                            "infinite", where=f"row {row + 1}", hint=UNWEIGHTED)
        firsts[unequal] = unequal
        kept, places = np.unique(firsts, return_inverse=True)
        return cls(lengths[np.ix_(kept, kept)] if len(kept) < len(lengths) else lengths,
                   np.bincount(places, minlength=len(kept)).astype(np.float64), places, power)

    def __len__(self) -> int:
        """Return u, the number of distinct points."""
        return len(self.lengths)

    @property
    def uniform(self) -> bool:
        """Whether all pairs have weight one."""
        return self.power == 0 and bool(np.all(self.counts == 1))

    @cached_property
    def firsts(self) -> Indices:
        """A point for each distinct one (u)."""
        return np.unique(self.places, return_index=True)[1]

    @cached_property
    def ascending(self) -> tuple[Indices, Indices]:
        """The two points of each pair (m each) by ascending dissimilarity; equal ones in the order of their points."""
        left, right = np.triu_indices(len(self), 1)
        order = np.argsort(self.lengths[left, right], kind="stable")
        return left[order].astype(np.int32), right[order].astype(np.int32)

    def weights(self, rows: slice) -> Array:
        """Return the weights of some rows of pairs (r x u): products of multiplicities and of δ^q."""
        products = self.counts[rows, None] * self.counts
        if self.power != 0:
            lengths = self.lengths[rows]
            with np.errstate(over="ignore"):  # infinite weights are refused where they are factored
                products *= np.where(lengths > 0, powers(lengths, self.top, self.power), 0.0)
        places = np.arange(len(self))[rows]
        products[np.arange(len(places)), places] = 0.0
        return products

    @cached_property
    def top(self) -> float:
        """The largest dissimilarity; one where all are zero."""
        return float(self.lengths.max(initial=0.0)) or 1.0

    @cached_property
    def table(self) -> Array:
        """The weights of all pairs (u x u)."""
        table = np.empty(self.lengths.shape)

        def fill(rows: slice) -> None:
            table[rows] = self.weights(rows)

        each(fill, row_blocks(len(self), BLOCK, len(self)))
        return table

    @cached_property
    def size(self) -> float:
        """Σ w δ² over pairs of different points, by which stress is divided."""
        blocks = row_blocks(len(self), BLOCK, len(self))
        if self.uniform:
            return total(dot(self.lengths[rows], self.lengths[rows]) for rows in blocks) / 2
        return total(dot(self.weights(rows), self.lengths[rows] ** 2) for rows in blocks) / 2


def powers(lengths: Array, unit: "Array | float", exponent: float) -> Array:
    """Return (δ / u)^q of dissimilarities δ (any shape) and their unit u, for q other than zero; of zeros, one.

    Whole powers are products, which are rounded less.
    """
    some, size = np.where(lengths > 0, lengths, unit), abs(exponent)
    ratios = some / unit if exponent > 0 else unit / some
    if size != int(size):
        return power(ratios, size)
    found = ratios
    for _ in range(int(size) - 1):
        found = found * ratios
    return found


def weight_name(power: float) -> str:
    """Return the weight of a pair as messages show it."""
    return f"1/δ{'' if power == -1 else f'^{-power:g}'}" if power < 0 else f"δ^{power:g}"


def alike(square: Array, left: Indices, right: Indices) -> AnyArray:
    """Return whether pairs of points (e each) have the same dissimilarities (n x n) to all points, an (e,) mask."""
    slack = SAME * float(square.max(initial=0.0))
    return np.array([bool(np.all(np.abs(square[a] - square[b]) <= slack)) for a, b in zip(left, right, strict=True)],
                    dtype=bool)
