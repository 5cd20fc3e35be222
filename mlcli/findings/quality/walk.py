"""The walk over all anchors: sums of every measure over blocks of them, here or on other machines."""

from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import advance
from mlcli.base.values.sample_size import GROUP
from mlcli.core.costs import product_rate
from mlcli.engine.executor import results, sent
from mlcli.findings.quality.sampling import Anchors, Sums
from mlcli.findings.quality.strips import Observer, Spaces, Strips

BLOCK = 2**16  # distances in a block of work: few enough to stay in a cache


@frozen
class Walk:
    """A walk over groups of anchors for several observers, as a source of blocks; a group's rows may be in memory."""

    observers: Sequence[Observer]
    anchors: Anchors
    spaces: Spaces

    @property
    def groups(self) -> list[slice]:
        """The anchors of each group."""
        return row_blocks(len(self.anchors.rows), GROUP, self.anchors.size)

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
    """Return the sums of each observer over all anchors, from one walk."""
    source = Walk(observers, anchors, spaces)
    parts = list(_remote_sums(source) if spaces.travel and sent(source.seconds) else _local_sums(source))
    return [{name: np.concatenate([part[place].pop(name) for part in parts]) for name in list(parts[0][place])}
            for place in range(len(observers))]


def _remote_sums(source: Walk) -> Iterator[list[Sums]]:
    with closing(results(source)) as every:
        for parts in every:
            yield from parts


def _local_sums(source: Walk) -> Iterator[list[Sums]]:
    done, total = 0, len(source.anchors.rows)
    for group in source.groups:
        for sums in source.parts(group):
            yield sums
            done += len(next(iter(sums[0].values())))
            advance(done, total)
