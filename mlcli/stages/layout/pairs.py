"""Pairs of distinct points, with dissimilarities and weights; points that equal each other are one of them."""

from functools import cached_property
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.errors import DataError

Weights = Literal["one", "inverse"]  # of a pair: one, or the inverse of its dissimilarity (Sammon)
SAME = 1e-12  # difference of two points' dissimilarities to others, relative to the largest, that is rounding


@frozen
class Pairs:
    """Dissimilarities of u distinct points, their multiplicities, and the distinct point of each of n points."""

    lengths: Array  # u x u
    counts: Array  # u, points that each one stands for
    places: Indices  # n, from 0 to below u
    kind: Weights = "one"

    @classmethod
    def of(cls, lengths: Array, kind: Weights, ids: list[str]) -> "Pairs":
        """Merge points at dissimilarity zero in (n x n) `lengths`.

        Raises DataError if inverse weights are needed of two points at dissimilarity zero that are not equal, as they
        differ in their dissimilarities to others.
        """
        firsts = (lengths == 0).argmax(axis=1)
        top = float(lengths.max(initial=0.0))
        later = np.flatnonzero(firsts < np.arange(len(lengths)))
        unequal = later[[bool(np.any(np.abs(lengths[row] - lengths[firsts[row]]) > SAME * top)) for row in later]]
        if len(unequal) and kind == "inverse":
            row, first = int(unequal[0]), int(firsts[unequal[0]])
            raise DataError("ZERO-PAIRS", f"points {ids[first]} and {ids[row]} have dissimilarity zero, but differ in "
                            "their dissimilarities to others: the weight 1/δ of this pair is infinite",
                            where=f"row {row + 1}", hint="use smacof, whose weights are all one")
        firsts[unequal] = unequal
        kept, places = np.unique(firsts, return_inverse=True)
        return cls(lengths[np.ix_(kept, kept)] if len(kept) < len(lengths) else lengths,
                   np.bincount(places, minlength=len(kept)).astype(np.float64), places, kind)

    def __len__(self) -> int:
        """Return u, the number of distinct points."""
        return len(self.lengths)

    @property
    def uniform(self) -> bool:
        """Whether all pairs have weight one."""
        return self.kind == "one" and bool(np.all(self.counts == 1))

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
        """Return the weights of some rows of pairs (r x u): products of multiplicities, over δ if inverse."""
        products = self.counts[rows, None] * self.counts
        if self.kind == "inverse":
            lengths = self.lengths[rows]
            np.divide(products, lengths, out=products, where=lengths > 0)
        places = np.arange(len(self))[rows]
        products[np.arange(len(places)), places] = 0.0
        return products

    @cached_property
    def size(self) -> float:
        """Σ w δ² over pairs of different points, by which stress is divided."""
        if self.uniform:
            return float(np.einsum("ij,ij->", self.lengths, self.lengths)) / 2
        return sum(float(np.sum(self.weights(slice(row, row + 1)) * self.lengths[row] ** 2))
                   for row in range(len(self))) / 2
