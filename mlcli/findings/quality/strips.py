"""What every measure sees: some anchors with their squared distances to all points in three spaces."""

from collections.abc import Callable
from typing import Protocol

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.findings.quality.sampling import Sums
from mlcli.stages.similarities.spaces import Space


@frozen
class Strip:
    """Squared distances (b x n) from b anchors to all n points."""

    rows: Indices  # b
    source: Array  # in the input's space
    kept: Array  # in the space whose distances the method aims to keep
    embedded: Array  # in the embedding


Strips = Callable[[slice], Strip]


@frozen
class Spaces:
    """The three spaces that are compared; the first two are often the same."""

    source: Space
    kept: Space
    embedded: Space

    @property
    def work(self) -> float:
        """Multiplications that the distances of a pair take as long as."""
        return self.source.work + self.embedded.work + (0.0 if self.kept is self.source else self.kept.work)

    @property
    def travel(self) -> bool:
        """Whether all three travel to other machines as less than their distances."""
        return self.source.portable and self.kept.portable and self.embedded.portable

    def strips(self, group: Indices) -> Strips:
        """The strips of a group of anchors, whose rows may be held at once."""
        source, embedded = self.source.rows_of(group), self.embedded.rows_of(group)
        kept = None if self.kept is self.source else self.kept.rows_of(group)

        def strip(part: slice) -> Strip:
            near = source(part)
            return Strip(group[part], near, near if kept is None else kept(part), embedded(part))

        return strip


class Observer(Protocol):
    """What sees every strip, and takes something from each."""

    def sums(self, strip: Strip) -> Sums:
        """What each anchor of a strip adds (b, or b x m)."""
        raise NotImplementedError


class Measure(Observer, Protocol):
    """Some measures: what each anchor adds to their sums, and what they are of the sums."""

    def pooled(self, sums: Sums) -> Sums:
        """The same once all anchors are there, where what one adds depends on the others."""
        return sums

    def values(self, sums: Sums) -> dict[str, Array]:
        """The measures of sums over anchors, for any axes before the sums' own."""
        raise NotImplementedError
