"""Exact geodesics by sparse elimination over (min, +), with the order that sparse direct solvers use.

All shortest paths are found in one sweep for each block of sources, without n Dijkstras and
without an n x n matrix (Carré, 1971; Delling et al., "PHAST", 2011; Sao et al., 2020).
"""

from functools import partial
from typing import Self

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.stage import stage
from mlcli.base.threads import allowed, each, in_stages
from mlcli.base.types import AnyArray, Array, Indices, RowsOf
from mlcli.native import Precision
from mlcli.stages.algebra.ordering import nested_dissection
from mlcli.stages.graph.graph import Graph
from mlcli.stages.kernels.folding import Folded

GROUP = 8  # blocks whose sums are taken together, which makes adding them up cheap
SHARES = 32  # groups at least, where there are as many blocks; never by the threads, which results must not depend on


@frozen
class Analysis:
    """A graph in one piece, analyzed: who is joined to whom once earlier vertices are gone."""

    graph: Graph
    native: native.Elimination

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """Orders the graph by nested dissection and analyzes it."""
        order = nested_dissection(graph.starts, graph.indices)
        return cls(graph, native.Elimination(graph.starts, graph.indices, graph.lengths, order))

    def bytes(self, precision: Precision, stored: bool) -> int:
        """Memory of the eliminated graph, and of one block in each thread."""
        return self.native.bytes(precision) + allowed() * self.native.block_bytes(precision, stored)


@stage("elimination", version=1)
def eliminated(analysis: Analysis, precision: Precision) -> native.Weights:
    """The graph with its vertices eliminated one after the other: the weights that all paths are swept from."""
    weights = analysis.native.weights(precision)
    for _ in in_stages(weights.stages, weights.factor):
        pass
    return weights


class EliminationRows:
    """An eliminated graph, ready to sweep: an engine of geodesics; it may keep what it folds for the next pass."""

    def __init__(self, analysis: Analysis, precision: Precision, keep: bool = False) -> None:
        self._keep = keep
        self._kept: dict[int, AnyArray] = {}  # of blocks that have been folded
        self._stopped = False
        self._weights = eliminated(analysis, precision)
        self.blocks = self._weights.blocks
        self._group = max(1, min(GROUP, self.blocks // SHARES))

    @property
    def groups(self) -> int:
        """How many pieces of work a fold has."""
        return -(-self.blocks // self._group)

    @property
    def order(self) -> Indices:
        """The vertices in the order of elimination (n)."""
        return self._weights.order

    @property
    def rows(self) -> RowsOf:
        """Finds distances from some vertices to all (m x n); it holds on to the weights, not to what was kept."""
        return partial(swept_rows, self._weights)

    def write(self, number: int, distances: AnyArray) -> None:
        """Writes a block's rows of distances into their place in a matrix (n x n)."""
        self._weights.distances(number, distances)

    def fold(self, number: int, block: Array) -> Folded:
        """What a group of blocks adds to K = -D²/2 times a block of vectors, each pair of points counting for both."""
        place = self.groups - 1 - number // 2 if number % 2 else number // 2  # much work and little in turn
        blocks = range(self.blocks)[place * self._group : (place + 1) * self._group]
        first = self._weights.first(blocks.start)
        product, sums = np.zeros((len(block) - first, block.shape[1])), np.zeros(len(block) - first)
        fourths = sum(self._fold(source, block, product, sums) for source in blocks if not self._stopped)
        product *= -0.5
        sums *= -0.5
        return Folded(slice(first, len(block)), product, sums, 0.25 * fourths)

    def stop(self) -> None:
        """Lets folds that have begun end after the block at hand: nobody waits for them any more."""
        self._stopped = True

    def _fold(self, number: int, block: Array, product: Array, sums: Array) -> float:
        if not self._keep:
            return self._weights.fold(number, block, product, sums)
        known = number in self._kept
        room = self._kept[number] if known else self._weights.room(number)
        fourths = self._weights.fold(number, block, product, sums, room, known)
        self._kept[number] = room
        return fourths


def swept_rows(weights: native.Weights, sources: Indices) -> Array:
    """Distances from some vertices to all (m x n), on all threads."""
    rows, lanes = np.empty((len(sources), weights.size)), weights.lanes
    groups = [slice(start, start + lanes) for start in range(0, len(sources), lanes)]
    each(lambda group: weights.rows(sources[group], rows[group]), groups)
    return rows
