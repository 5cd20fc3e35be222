"""Exact geodesics by sparse elimination over (min, +), with the order that sparse direct solvers use.

All shortest paths are found in one sweep for each block of sources, without n Dijkstras and
without an n x n matrix (Carré, 1971; Delling et al., "PHAST", 2011; Sao et al., 2020).
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Self

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.stage import advance
from mlcli.base.threads import allowed
from mlcli.base.types import AnyArray, Array
from mlcli.native import Precision
from mlcli.stages.folding import Folded
from mlcli.stages.graph import Graph
from mlcli.stages.ordering import nested_dissection


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


class EliminationRows:
    """An eliminated graph, ready to sweep: an engine of geodesics; it may keep what it folds for the next pass."""

    def __init__(self, analysis: Analysis, precision: Precision, keep: bool = False) -> None:
        self._kept = analysis.native.room(precision) if keep else None
        self._known: set[int] = set()  # the blocks that have been kept
        self._weights = analysis.native.weights(precision)
        self.blocks = analysis.native.blocks(precision)
        stages = self._weights.stages
        with ThreadPoolExecutor(allowed()) as pool:
            for stage, count in enumerate(stages):
                for _ in pool.map(lambda task, stage=stage: self._weights.factor(stage, task), range(count)):
                    pass
                advance(stage + 1, len(stages))

    def write(self, number: int, distances: AnyArray) -> None:
        """Writes a block's rows of distances into their place in a matrix (n x n)."""
        self._weights.distances(number, distances)

    def fold(self, number: int, block: Array) -> Folded:
        """A block's rows of K = -D²/2 times a block of vectors."""
        room = None if self._kept is None else self._kept[number]
        sources, products, squares, fourths = self._weights.fold(number, block, room, number in self._known)
        if room is not None:
            self._known.add(number)
        return Folded(sources, -0.5 * products, -0.5 * squares, 0.25 * float(fourths.sum()))
