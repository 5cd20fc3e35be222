"""Anchors: the points from which quality is measured, distances from them, and sums of every measure."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate, rates
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import advance
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.sample_size import anchors_in_group, automatic, sample_of
from mlcli.core.similarities.spaces import Space
from mlcli.engine.executor import results, sent

Sums = dict[str, AnyArray]  # terms of each anchor in a sum, along the first axis
Values = Callable[[Sums], dict[str, Array]]  # measures from sums, over any leading axes


@frozen
class Anchors:
    """The points from which neighborhoods and distances are measured."""

    rows: Indices  # row numbers in ascending order
    size: int  # number of all points

    @property
    def exact(self) -> bool:
        """Whether they are all points."""
        return len(self.rows) == self.size

    @classmethod
    def choose(cls, size: int, work: float, sample: int | str, generator: np.random.Generator) -> "Anchors":
        """Return all points, or a simple random sample; `work` is the cost of one pair's distances in multiplications.
        """
        count = int(sample) if sample != "auto" else automatic(size, work)
        return cls(sample_of(size, count, generator), size)

    def estimates(self, values: Values, sums: Sums) -> dict[str, Array]:
        """Return the measures of all anchors together and, where they are a sample, their standard errors as NAME_se.

        The errors are the jackknife's (Efron and Tibshirani, 1993, section 11.5), with the correction for a sample
        without replacement.
        """
        total = {name: part.sum(axis=0) for name, part in sums.items()}
        estimates, count = values(total), len(self.rows)
        if self.exact:
            return estimates
        without = values({name: total[name] - part for name, part in sums.items()})
        factor = (1 - count / self.size) * (count - 1) / count
        errors = {name: np.sqrt(factor * np.square(part - part.mean(axis=0)).sum(axis=0))
                  for name, part in without.items()}
        return estimates | {f"{name}_se": error for name, error in errors.items()}


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
        assert strip.baseline is not None
        return self.measure.sums(replace(strip, embedded=strip.baseline))

    def pooled(self, sums: Sums) -> Sums:
        """Return the measure's sums adjusted after all anchors."""
        return self.measure.pooled(sums)

    def values(self, sums: Sums) -> dict[str, Array]:
        """Return the measure's values."""
        return self.measure.values(sums)


BLOCK = 2**16  # distances in a block of work: few enough to stay in a cache


@frozen
class AnchorPass:
    """A pass over groups of anchors for several observers, as a source of blocks; a group's rows may be in memory."""

    observers: Sequence[Observer]
    anchors: Anchors
    spaces: Spaces

    @property
    def groups(self) -> list[slice]:
        """The anchors of each group."""
        return row_blocks(len(self.anchors.rows), anchors_in_group(self.anchors.size))

    @property
    def blocks(self) -> int:
        """The number of groups."""
        return len(self.groups)

    @property
    def seconds(self) -> float:
        """The predicted time of one core."""
        pairs = len(self.anchors.rows) * self.anchors.size
        return pairs * (rates().measured + 2 * self.spaces.work / product_rate(1))

    def work(self, number: int) -> list[list[Sums]]:
        """Return the sums of a group, part by part."""
        return list(self.parts(self.groups[number]))

    def stop(self) -> None:
        """Do nothing: a group takes seconds at most."""

    def parts(self, group: slice) -> Iterator[list[Sums]]:
        """Yield the sums of a group's parts, computed on all threads."""
        strip_of = self.spaces.strips(self.anchors.rows[group])

        def work(part: slice, strip_of: Strips = strip_of) -> list[Sums]:
            strip = strip_of(part)
            return [observer.sums(strip) for observer in self.observers]

        return in_order(work, row_blocks(group.stop - group.start, BLOCK, self.anchors.size))


def sums_over_anchors(observers: Sequence[Observer], anchors: Anchors, spaces: Spaces) -> list[Sums]:
    """Return the sums of each observer over all anchors, from one pass."""
    source = AnchorPass(observers, anchors, spaces)
    parts = list(_remote_sums(source) if spaces.travel and sent(source.seconds) else _local_sums(source))
    return [{name: np.concatenate([part[place].pop(name) for part in parts]) for name in list(parts[0][place])}
            for place in range(len(observers))]


def _remote_sums(source: AnchorPass) -> Iterator[list[Sums]]:
    with closing(results(source)) as every:
        for parts in every:
            yield from parts


def _local_sums(source: AnchorPass) -> Iterator[list[Sums]]:
    done, total = 0, len(source.anchors.rows)
    for group in source.groups:
        for sums in source.parts(group):
            yield sums
            done += len(next(iter(sums[0].values())))
            advance(done, total)
