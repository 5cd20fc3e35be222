"""Ranks of dissimilarities: the monotone function nearest to distances, and stress-1 (Kruskal, 1964)."""

from array import array
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.core.layouts.pairs import Pairs
from mlcli.native.layouts import (
    SCRATCH,
    disparities_of_pairs,
    distances_of_pairs,
    forces_of_pairs,
    join_pairs,
    split_pairs,
)

Ties = Literal["primary", "secondary"]


@stored("monotone", lengths="s", values="s")
@frozen
class Monotone:
    """A function that does not fall: values at dissimilarities, linear between them and constant beyond."""

    lengths: Array  # s, ascending
    values: Array  # s

    def __call__(self, lengths: Array) -> Array:
        """Return the function's values at dissimilarities, an array of any shape."""
        place = np.clip(np.searchsorted(self.lengths, lengths, side="right") - 1, 0, max(len(self.lengths) - 2, 0))
        after = np.minimum(place + 1, len(self.lengths) - 1)
        low, high, wide = self.values[place], self.values[after], self.lengths[after] - self.lengths[place]
        shares = np.clip((lengths - self.lengths[place]) / np.where(wide > 0, wide, 1.0), 0.0, 1.0)
        return np.asarray(np.where(shares == 1, high, low + shares * (high - low)))


@frozen
class PairOrder:
    """The m pairs of u distinct points by ascending dissimilarity, with ties."""

    left: Indices  # m
    right: Indices  # m
    lengths: Array  # m, ascending
    groups: Indices  # g, the first of each group of equal dissimilarities
    ties: Ties

    @classmethod
    def of(cls, pairs: Pairs, ties: Ties) -> "PairOrder":
        """Sort the pairs; equal dissimilarities stay in the order of their points."""
        left, right = pairs.ascending  # the same for all starts
        lengths = pairs.lengths[left, right]
        groups = np.flatnonzero(np.diff(lengths, prepend=-np.inf) > 0)
        return cls(left, right, lengths, groups, ties)

    @property
    def tied(self) -> bool:
        """Whether any dissimilarities are equal."""
        return len(self.groups) < len(self.lengths)

    def function(self, disparities: Array) -> Monotone:
        """Return disparities (m) as a function of dissimilarities: of equal ones, the mean."""
        counts = np.diff(self.groups, append=len(disparities))
        means = np.add.reduceat(disparities, self.groups) / counts
        lengths = self.lengths[self.groups]
        ends = np.flatnonzero((np.diff(means, prepend=-np.inf) > 0) | (np.diff(means, append=np.inf) > 0))
        return Monotone(lengths[ends], means[ends])


USUAL = 100  # iterations of most fits
PASSES = 16  # numbers of a pair that an evaluation touches, in functions of one distance
LEAST = 1e-12  # stress below which there is only rounding
BLOCK = 2**18  # pairs of a block


@frozen
class Disparities:
    """Distances and disparities of pairs by ascending dissimilarity, with Σ w (d - d̂)² and Σ w d²."""

    distances: Array  # m
    disparities: Array  # m
    errors: float
    spread: float

    @property
    def stress(self) -> float:
        """The squared stress."""
        return self.errors / self.spread


@frozen
class Ranks:
    """The squared stress of coordinates, Σ w (d - d̂)² / Σ w d² with d̂ the disparities of the distances d.

    With primary ties, a kernel sorts the pairs of a group by their distances. It begins with the order that it left,
    which does not change the result.
    """

    order: PairOrder
    counts: Array  # u, multiplicities of the points

    def __call__(self, numbers: Array) -> tuple[float, Array]:
        """Return the squared stress and its gradient (u p) at coordinates, a (u p,) array.

        Disparities are at their best for the distances, so that their own change adds nothing to the gradient. Points
        in one place exert no force on each other.
        """
        points = numbers.reshape(len(self.counts), -1)
        fit = self.fit(points)
        if not fit.spread > 0:
            return fit.spread, np.zeros_like(numbers)  # zero, or no number as the distances
        return fit.stress, (2 / fit.spread * self._forces(points, fit)).ravel()

    def fit(self, points: Array) -> Disparities:
        """Return distances and disparities of points (u x p), in arrays that the next call overwrites."""
        if not native.available():
            return self._plain_fit(points)
        distances, disparities, scratch = self._room
        points = np.ascontiguousarray(points)
        each(lambda pairs: distances_of_pairs(points, self._pairs, pairs, distances), self._blocks)
        if np.isnan(distances.sum()):
            return Disparities(distances, distances, np.nan, np.nan)
        secondary = self.order.ties == "secondary"
        sums = disparities_of_pairs(distances, self._pairs, self._starts, secondary=secondary,
                                          counts=self._counts, disparities=disparities, scratch=scratch)
        return Disparities(distances, disparities, *sums)

    @property
    def sides(self) -> tuple[Indices, Indices]:
        """The two points of each pair (m each), in the order of the last fit."""
        return split_pairs(self._pairs)

    def _plain_fit(self, points: Array) -> Disparities:
        """Return the same as `fit`, bit by bit, by NumPy."""
        left, right = self.sides
        distances = np.sqrt(sum((axis[left] - axis[right]) ** 2 for axis in points.T))
        if np.isnan(distances.sum()):
            return Disparities(distances, distances, np.nan, np.nan)
        groups = np.repeat(np.arange(len(self.order.groups)), np.diff(self._starts))
        if self.order.tied and self.order.ties == "primary":
            order = np.lexsort((self._pairs, distances, groups))
            self._pairs[:], distances = self._pairs[order], distances[order]
        weights = self._weights
        weighted = weights * distances
        if self.order.ties == "secondary":
            sums, loads = (np.bincount(groups, some).astype(np.float64) for some in (weighted, weights))
            starts = self._starts[_pool(sums, loads)]
        else:
            starts = _pool(weighted, weights)
        blocks = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        disparities = (np.bincount(blocks, weighted) / np.bincount(blocks, weights))[blocks]
        errors = distances - disparities
        parts = (np.bincount(blocks, weights * terms * terms) for terms in (errors, distances))
        return Disparities(distances, disparities, *(float(np.cumsum(np.append(0.0, some))[-1]) for some in parts))

    def _forces(self, points: Array, fit: Disparities) -> Array:
        """Return Σ w (d - d̂ - S d) / d (x - y) for each point (u x p), S the squared stress."""
        work = self._kernel_forces if native.available() else self._plain_forces
        return np.asarray(sum(in_order(lambda pairs: work(points, fit, pairs), self._blocks), np.zeros_like(points)))

    def _kernel_forces(self, points: Array, fit: Disparities, pairs: slice) -> Array:
        return forces_of_pairs(np.ascontiguousarray(points), self._pairs, pairs, counts=self._counts,
                               fit=(fit.distances, fit.disparities), share=fit.stress)

    def _plain_forces(self, points: Array, fit: Disparities, pairs: slice) -> Array:
        """Return the forces of some pairs, added in the kernel's order: to both points of a pair before the next."""
        left, right = split_pairs(self._pairs[pairs])
        distances = fit.distances[pairs]
        errors = distances - fit.disparities[pairs] - fit.stress * distances
        force = np.divide(self._weights[pairs] * errors, distances, out=np.zeros_like(errors), where=distances > 0)
        pulls = (force * (axis[left] - axis[right]) for axis in points.T)
        ends = np.column_stack([left, right]).ravel()
        return np.column_stack([np.bincount(ends, np.column_stack([pull, -pull]).ravel(), len(points))
                                for pull in pulls])

    @cached_property
    def _pairs(self) -> AnyArray:
        return join_pairs(self.order.left, self.order.right)

    @cached_property
    def _starts(self) -> Indices:
        return np.append(self.order.groups, len(self.order.lengths)).astype(np.int64)

    @cached_property
    def _counts(self) -> Array:
        """The multiplicities; empty where all are one."""
        return np.zeros(0) if (self.counts == 1).all() else self.counts

    @property
    def _weights(self) -> Array:
        """The products of multiplicities of each pair (m), in the order of the last fit."""
        left, right = self.sides
        return self.counts[left] * self.counts[right]

    @cached_property
    def _room(self) -> tuple[Array, Array, Array]:
        """Arrays for distances, disparities and what the kernel needs: fresh memory would cost as much as its use."""
        count = len(self.order.lengths)
        return np.empty(count), np.empty(count), np.empty(SCRATCH * count)

    @cached_property
    def _blocks(self) -> list[slice]:
        return row_blocks(len(self.order.lengths), BLOCK)


def _pool(sums: Array, weights: Array) -> Indices:
    """Return where blocks of rising means begin (b), and the number of all (s), by pooling of adjacent violators.

    Sums and weights (s each) are compared as the kernel does, one after the other. SciPy's `isotonic_regression`
    compares means in another order, so that rounding separates or joins others of those blocks whose means are equal.
    """
    blocks, loads, starts = array("d"), array("d"), array("q")  # of all blocks but the last, whose three follow
    total, load, start = 0.0, 0.0, 0
    for place, (more, heavier) in enumerate(zip(sums.data, weights.data, strict=True)):
        if total * heavier < more * load:
            blocks.append(total)
            loads.append(load)
            starts.append(start)
            total, load, start = more, heavier, place
        else:  # it joins the blocks before it until their means rise
            total += more
            load += heavier
            while blocks and blocks[-1] * load >= total * loads[-1]:
                total += blocks.pop()
                load += loads.pop()
                start = starts.pop()
    starts.extend((start, len(sums)))
    return np.array(starts, dtype=np.int64)


def function_at_rest(pairs: Pairs, ties: Ties, points: Array, stress: float) -> Monotone:
    """Return the disparities of points (u x p) by dissimilarity, so scaled that a point among the others is at rest."""
    if len(pairs) == 1:  # no pair has an order: new points are placed on the only point
        return Monotone(np.zeros(1), np.zeros(1))
    order = PairOrder.of(pairs, ties)
    function = order.function(Ranks(order, pairs.counts).fit(points).disparities)
    return replace(function, values=function.values / max(1 - stress * stress, np.finfo(np.float64).tiny))
