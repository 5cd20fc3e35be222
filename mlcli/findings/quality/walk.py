"""The walk over all anchors: what each block of them adds to every measure, here or on other machines."""

from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import advance
from mlcli.base.values.sample_size import GROUP
from mlcli.engine.executor import results, sent
from mlcli.findings.quality.sampling import Anchors, Sums
from mlcli.findings.quality.strips import Observer, Spaces, Strips
from mlcli.stages.algebra.costs import product_rate

BLOCK = 2**16  # distances of a block of work: few enough to stay in a cache


@frozen
class Walk:
    """What groups of anchors add to each observer: a source of blocks. The rows of a group may be held at once."""

    observers: Sequence[Observer]
    anchors: Anchors
    spaces: Spaces

    @property
    def groups(self) -> list[slice]:
        """The anchors of each group."""
        return row_blocks(len(self.anchors.rows), GROUP, self.anchors.size)

    @property
    def blocks(self) -> int:
        """How many groups there are."""
        return len(self.groups)

    @property
    def seconds(self) -> float:
        """What it costs one core."""
        pairs = len(self.anchors.rows) * self.anchors.size
        return pairs * (rates().measured + 2 * self.spaces.work / product_rate(1))

    def work(self, number: int) -> list[list[Sums]]:
        """What a group adds, part by part."""
        return list(self.parts(self.groups[number]))

    def stop(self) -> None:
        """A group takes seconds at most."""

    def parts(self, group: slice) -> Iterator[list[Sums]]:
        """The same, on all threads."""
        strip_of = self.spaces.strips(self.anchors.rows[group])

        def work(part: slice, strip_of: Strips = strip_of) -> list[Sums]:
            strip = strip_of(part)
            return [observer.sums(strip) for observer in self.observers]

        return in_order(work, row_blocks(group.stop - group.start, BLOCK, self.anchors.size))


def walked(observers: Sequence[Observer], anchors: Anchors, spaces: Spaces) -> list[Sums]:
    """What all anchors together add to each observer, from one walk."""
    source = Walk(observers, anchors, spaces)
    parts = list(_elsewhere(source) if spaces.travel and sent(source.seconds) else _here(source))
    return [{name: np.concatenate([part[place].pop(name) for part in parts]) for name in list(parts[0][place])}
            for place in range(len(observers))]


def _elsewhere(source: Walk) -> Iterator[list[Sums]]:
    with closing(results(source)) as every:
        for parts in every:
            yield from parts


def _here(source: Walk) -> Iterator[list[Sums]]:
    done, total = 0, len(source.anchors.rows)
    for group in source.groups:
        for sums in source.parts(group):
            yield sums
            done += len(next(iter(sums[0].values())))
            advance(done, total)
