"""Strips: squared distances from some anchors to all points in three spaces, the input of every measure."""

from collections.abc import Callable
from typing import Protocol

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.findings.quality.sampling import Sums
from mlcli.stages.similarities.spaces import Space


@frozen
class Strip:
    """Squared distances, (b, n) arrays, from b anchors to all n points."""

    rows: Indices  # (b,) array of anchors
    source: Array  # in the input's space
    kept: Array  # in the space whose distances the method aims to keep
    embedded: Array  # in the embedding


Strips = Callable[[slice], Strip]


@frozen
class Spaces:
    """The three spaces of a comparison; the first two are often the same."""

    source: Space
    kept: Space
    embedded: Space

    @property
    def work(self) -> float:
        """Cost of the three distances of a pair, in multiplications."""
        return self.source.work + self.embedded.work + (0.0 if self.kept is self.source else self.kept.work)

    @property
    def travel(self) -> bool:
        """Whether all three travel to other machines as less than their distances."""
        return self.source.portable and self.kept.portable and self.embedded.portable

    def strips(self, group: Indices) -> Strips:
        """Return the strips of a group of anchors, a (g,) array, small enough for its rows to be in memory."""
        source, embedded = self.source.rows_of(group), self.embedded.rows_of(group)
        kept = None if self.kept is self.source else self.kept.rows_of(group)

        def strip(part: slice) -> Strip:
            near = source(part)
            return Strip(group[part], near, near if kept is None else kept(part), embedded(part))

        return strip


class Observer(Protocol):
    """An observer of strips: takes sums from each of them."""

    def sums(self, strip: Strip) -> Sums:
        """Return the terms of each anchor of a strip, (b,) or (b, m) arrays."""
        raise NotImplementedError


class Measure(Observer, Protocol):
    """Measures as functions of sums over anchors."""

    def pooled(self, sums: Sums) -> Sums:
        """Return the sums adjusted after all anchors, where the terms of one depend on the others."""
        return sums

    def values(self, sums: Sums) -> dict[str, Array]:
        """Return the measures from sums over anchors, over any leading axes."""
        raise NotImplementedError
