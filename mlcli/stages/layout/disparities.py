"""Disparities: the monotone function of dissimilarities that is nearest to distances (Kruskal, 1964)."""

from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.stages.layout.pairs import Pairs

Ties = Literal["primary", "secondary"]


@stored("monotone", lengths="s", values="s")
@frozen
class Monotone:
    """A function that does not fall: values at dissimilarities, linear between them and constant beyond."""

    lengths: Array  # s, ascending
    values: Array  # s

    def __call__(self, lengths: Array) -> Array:
        """Return the function's values at dissimilarities, an array of any shape."""
        return np.asarray(np.interp(lengths, self.lengths, self.values))


@frozen
class Order:
    """The m pairs of u distinct points by ascending dissimilarity, with ties."""

    left: Indices  # m
    right: Indices  # m
    lengths: Array  # m, ascending
    weights: Array | None  # m, products of multiplicities; None: one for each pair
    groups: Indices  # g, the first of each group of equal dissimilarities
    ties: Ties

    @classmethod
    def of(cls, pairs: Pairs, ties: Ties) -> "Order":
        """Sort the pairs; equal dissimilarities stay in the order of their points."""
        left, right = pairs.ascending  # the same for all starts
        lengths = pairs.lengths[left, right]
        groups = np.flatnonzero(np.diff(lengths, prepend=-np.inf) > 0)
        weights = None if pairs.uniform else pairs.counts[left] * pairs.counts[right]
        return cls(left, right, lengths, weights, groups, ties)

    @property
    def tied(self) -> bool:
        """Whether any dissimilarities are equal."""
        return len(self.groups) < len(self.lengths)

    def disparities(self, distances: Array) -> Array:
        """Return the disparities (m) of distances (m): least squares among monotone functions of the order.

        Primary ties leave equal dissimilarities free in their order; secondary ones give them one disparity.
        """
        from scipy.optimize import isotonic_regression

        if not self.tied:
            return np.asarray(isotonic_regression(distances, weights=self.weights).x)
        if self.ties == "secondary":
            sizes = self._sums(np.ones(len(distances)) if self.weights is None else self.weights)
            means = self._sums(distances if self.weights is None else distances * self.weights) / sizes
            fitted = isotonic_regression(means, weights=sizes).x
            return np.repeat(fitted, np.diff(self.groups, append=len(distances)))
        ranks = np.repeat(np.arange(len(self.groups)), np.diff(self.groups, append=len(distances)))
        order = np.lexsort((distances, ranks))
        fitted = np.empty(len(distances))
        fitted[order] = isotonic_regression(distances[order],
                                            weights=None if self.weights is None else self.weights[order]).x
        return fitted

    def function(self, disparities: Array) -> Monotone:
        """Return disparities (m) as a function of dissimilarities: of equal ones, the mean."""
        counts = np.diff(self.groups, append=len(disparities))
        means = self._sums(disparities) / counts
        lengths = self.lengths[self.groups]
        ends = np.flatnonzero((np.diff(means, prepend=-np.inf) > 0) | (np.diff(means, append=np.inf) > 0))
        return Monotone(lengths[ends], means[ends])

    def _sums(self, values: Array) -> Array:
        return np.add.reduceat(values, self.groups)
