"""Points of a layout that are tied to the places that they had before: the penalty λ Σ c |y - y₀|² (n of y₀ known)."""

from functools import cached_property

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.core.arithmetic import dot


@frozen
class Anchors:
    """The former places of points (n x p), NaN of points that had none, and the weight λ of their penalty."""

    places: Array
    weight: float

    @cached_property
    def known(self) -> AnyArray:
        """Whether each point had a place, an (n,) mask."""
        return np.asarray(np.isfinite(self.places).all(axis=1))

    @cached_property
    def radius(self) -> float:
        """The root of the mean squared distance of former places from their mean; one where all are the same."""
        known = self.places[self.known]
        apart = known - known.mean(axis=0)
        return float(np.sqrt(dot(apart, apart) / len(known))) or 1.0

    def of_groups(self, groups: Indices) -> tuple[Array, Array]:
        """Return the mean former place of each group (u x p), and how many of its points have one (u).

        Groups (n, from 0) are of points that move as one. A group without a former place has zeros.
        """
        shares: Array = np.bincount(groups, self.known.astype(np.float64)).astype(np.float64)
        there = np.where(self.known[:, None], self.places, 0.0)
        sums = np.stack([np.bincount(groups, axis) for axis in there.T], axis=1)
        return sums / np.maximum(shares, 1.0)[:, None], shares

    def springs(self, rate: float, groups: Indices | None = None) -> "Springs":
        """Return forces of a rate λ `rate` to former places; points of one group, in one place, share theirs."""
        some = np.arange(len(self.places)) if groups is None else groups
        targets, shares = self.of_groups(some)
        rates = self.weight * rate * shares / np.bincount(some)
        return Springs(targets[some], rates[some])


@frozen
class Springs:
    """Forces κ (y₀ - y) that pull points to places y₀ (n x p), with a rate κ each (n), zero for free points."""

    targets: Array
    rates: Array

    def __call__(self, points: Array, steps: Array | float) -> Array:
        """Return points (n x p) after an implicit step of these forces, which goes beyond no target.

        Steps are one number, or one for each number of the points (n x p).
        """
        shares = self.rates[:, None] * steps
        return (points + shares * self.targets) / (1.0 + shares)

    def slope(self, points: Array) -> Array:
        """Return κ (y - y₀) at points (n x p)."""
        return self.rates[:, None] * (points - self.targets)

    def energy(self, points: Array) -> float:
        """Return Σ κ |y - y₀|² at points (n x p)."""
        return dot(self.slope(points), points - self.targets)
