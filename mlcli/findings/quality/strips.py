"""Strips: squared distances from some anchors to all points in several spaces, the input of every measure."""

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, Protocol, TypeVar

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.core.similarities.spaces import Space
from mlcli.findings.quality.sampling import Sums

T = TypeVar("T")


@frozen
class Strip:
    """Squared distances, (b, n) arrays, from b anchors to all n points."""

    rows: Indices  # (b,) array of anchors
    source: Array  # in the input's space
    kept: Array  # in the space whose distances the method aims to keep
    embedded: Array  # in the embedding
    baseline: Array | None = None  # in the baseline's coordinates
    shared: dict[str, Any] = field(default_factory=dict)  # values that follow from `source` and `kept` alone, by name

    def of_baseline(self) -> "Strip":
        """Return the strip with the baseline in place of the embedding."""
        assert self.baseline is not None
        return replace(self, embedded=self.baseline)

    def share(self, name: str, make: Callable[[], T]) -> T:
        """Return a value that measures of the embedding and of the baseline share, from the first that needs it."""
        if name not in self.shared:
            self.shared[name] = make()
        value: T = self.shared[name]
        return value


Strips = Callable[[slice], Strip]


@frozen
class Spaces:
    """The spaces of a comparison; the first two are often the same."""

    source: Space
    kept: Space
    embedded: Space
    baseline: Space | None = None

    @property
    def work(self) -> float:
        """Cost of the distances of a pair, in multiplications."""
        return (self.source.work + self.embedded.work + (0.0 if self.kept is self.source else self.kept.work)
                + (0.0 if self.baseline is None else self.baseline.work))

    @property
    def travel(self) -> bool:
        """Whether all of them travel to other machines as less than their distances."""
        return self.source.portable and self.kept.portable and self.embedded.portable

    def strips(self, group: Indices) -> Strips:
        """Return the strips of a group of anchors, a (g,) array, small enough for its rows to be in memory."""
        source, embedded = self.source.rows_of(group), self.embedded.rows_of(group)
        kept = None if self.kept is self.source else self.kept.rows_of(group)
        baseline = None if self.baseline is None else self.baseline.rows_of(group)

        def strip(part: slice) -> Strip:
            near = source(part)
            return Strip(group[part], near, near if kept is None else kept(part), embedded=embedded(part),
                         baseline=None if baseline is None else baseline(part))

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


@frozen
class OfBaseline(Measure):
    """A measure of the coordinates of the baseline in place of the embedding's."""

    measure: Measure

    def sums(self, strip: Strip) -> Sums:
        """Return the measure's sums over distances of the baseline."""
        return self.measure.sums(strip.of_baseline())

    def pooled(self, sums: Sums) -> Sums:
        """Return the measure's sums adjusted after all anchors."""
        return self.measure.pooled(sums)

    def values(self, sums: Sums) -> dict[str, Array]:
        """Return the measure's values."""
        return self.measure.values(sums)
