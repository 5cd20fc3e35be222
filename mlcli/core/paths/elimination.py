"""Exact geodesics by sparse elimination over (min, +), in the order of sparse direct solvers.

One sweep per block of sources gives all their shortest paths, without n Dijkstras and without an n x n matrix (Carré,
1971; Delling et al., "PHAST", 2011; Sao et al., 2020).
"""

from concurrent.futures import CancelledError
from dataclasses import field
from functools import partial
from threading import Event
from typing import Any, Self

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.machine.threads import allowed
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.rows.memo import memoize
from mlcli.base.stages.stage import stage
from mlcli.base.stages.steps import Passes
from mlcli.base.types import AnyArray, Array, Indices, RowsOf
from mlcli.core.graph.graph import Graph
from mlcli.core.kernels.streamed import BlockSums, ColumnSample
from mlcli.core.paths.geodesics import LANDMARKS, WIDTH, Cost, dijkstra_rows, halved_squares
from mlcli.core.sparse_factors import nested_dissection
from mlcli.native import Precision

GROUP = 8  # sweeps summed together, which makes adding their sums cheap; more only for MOST
SHARES = 32  # blocks at least, where there are as many sweeps; never by the threads, which results must not depend on
THICK = 300  # mean size of up-sets from which on a sweep costs far more than its products with a block of vectors
WIDE, MANY = 40, 500  # vectors and landmarks that save two of six passes there
SAMPLE = 2048  # columns that improve a start so much that a pass is saved
SHARE = 4  # points for each column of a sample, at least
MOST = 256  # blocks at most, unless each had more than LARGE sweeps: each adds to the rows of half of the points
LARGE = 64  # sweeps that take far longer than adding their sums, however many points there are


@frozen
class Analysis:
    """A graph in one piece with its symbolic elimination: the edges that remain as vertices are removed."""

    graph: Graph
    native: native.Elimination

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """Order the graph by nested dissection and analyze it; the last analysis is reused for the same graph."""
        return memoize("analysis", graph.parts, lambda: cls._anew(graph))

    @classmethod
    def _anew(cls, graph: Graph) -> Self:
        order = nested_dissection(graph.starts, graph.indices)
        return cls(graph, native.Elimination(graph.starts, graph.indices, graph.lengths, order))

    def passes(self, precision: Precision, count: int, cost: Cost) -> Passes:
        """Return the cost of passes on a cluster, where the workers eliminate the graph themselves."""
        size, strips, width = self.graph.size, self.native.blocks(precision), start_of(self.native, keep=count == 1)[0]
        blocks = -(-strips // group_of(strips))
        vectors = 8.0 * width * size
        return Passes(count, seconds=cost.seconds * cost.threads, blocks=blocks, sent=vectors, returned=vectors,
                      summed=vectors / 2, before=cost.preparation * cost.threads,
                      once=self.graph.bytes + 8.0 * size,
                      working=self.native.bytes(precision) + self.native.block_bytes(precision, False))

    def bytes(self, precision: Precision, stored: bool) -> int:
        """Return the memory of the eliminated graph, and of one sweep in each thread."""
        return self.native.bytes(precision) + allowed() * self.native.block_bytes(precision, stored)


@stage("elimination", version=1)
def eliminate(analysis: Analysis, precision: Precision) -> native.Weights:
    """Eliminate the vertices one after the other; return the weights for the sweeps."""
    return native.Weights.eliminated(analysis.native, precision)


@frozen
class EliminationRows:
    """An eliminated graph, ready to sweep; with `keep`, distances stay in memory for the next pass."""

    graph: Graph
    weights: native.Weights
    keep: bool
    rooms: dict[int, AnyArray] = field(default_factory=dict)  # distances of sweeps that were folded
    stopped: Event = field(default_factory=Event)
    lasting = True

    @classmethod
    def of(cls, analysis: Analysis, precision: Precision, keep: bool = False) -> Self:
        """Eliminate an analyzed graph; weights and kept distances of the last one are reused for the same graph."""
        given = *analysis.graph.parts, precision
        weights = memoize("weights", given, lambda: eliminate(analysis, precision))
        rooms: dict[int, AnyArray] = memoize("rooms", given, dict) if keep else {}
        return cls(analysis.graph, weights, keep, rooms)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the kept distances: they are computed again, to the same bits."""
        return EliminationRows, (self.graph, self.weights, self.keep)

    @property
    def key(self) -> tuple[AnyArray | str, ...]:
        """The graph, the order of elimination and the precision."""
        return *self.graph.parts, self.order, self.weights.precision

    @property
    def size(self) -> int:
        """Number of vertices."""
        return self.graph.size

    @property
    def width(self) -> int:
        """Number of vectors that a sweep can multiply at little more than its own cost."""
        return start_of(self.weights, keep=self.keep)[0]

    @property
    def landmarks(self) -> int:
        """Number of rows computed to start the eigensolver."""
        return start_of(self.weights, keep=self.keep)[1]

    @property
    def sample(self) -> ColumnSample | None:
        """Columns of points spread evenly over the order of elimination, and so over the graph; None with `keep`."""
        count = min(SAMPLE, self.size // SHARE)
        if self.keep or count == 0:
            return None
        points = self.order[(2 * np.arange(count) + 1) * self.size // (2 * count)]
        return ColumnSample(points, partial(self._multiply, points))

    @property
    def blocks(self) -> int:
        """Number of blocks of work in a pass."""
        return -(-self.strips // self._group)

    @property
    def strips(self) -> int:
        """Number of sweeps."""
        return self.weights.blocks

    @property
    def order(self) -> Indices:
        """The vertices in the order of elimination (n)."""
        return self.weights.order

    @property
    def quick_rows(self) -> RowsOf:
        """A function that computes rows of K (m x n); it references the weights, not the kept distances."""
        return partial(_swept_kernel, self.weights)

    def rows(self, chosen: Indices) -> Array:
        """Return rows of K in double precision (m x n), one source at a time."""
        return halved_squares(dijkstra_rows(self.graph, chosen))

    def write(self, strip: int, distances: AnyArray) -> None:
        """Write the rows of a sweep into D (n x n)."""
        self.weights.distances(strip, distances)

    def fold(self, number: int, vectors: Array, moments: bool) -> tuple[BlockSums]:
        """Return the sums that a group of sweeps adds to K times (n, b) vectors; each pair counts for both points."""
        place = self.blocks - 1 - number // 2 if number % 2 else number // 2  # expensive and cheap blocks alternate
        sweeps = range(self.strips)[place * self._group : (place + 1) * self._group]
        first = self.weights.first(sweeps.start)
        product = np.zeros((len(vectors) - first, vectors.shape[1]))
        sums = np.zeros(len(vectors) - first) if moments else None
        fourths = 0.0
        for sweep in sweeps:
            if self.stopped.is_set():
                raise CancelledError("the pass was stopped")  # rather than a part of its sum
            fourths += self._fold(sweep, vectors, product, sums)
        product *= -0.5
        halved = 0.0 if sums is None else -0.5 * sums
        return (BlockSums(slice(first, len(vectors)), product, halved, 0.25 * fourths),)

    def stop(self) -> None:
        """End running folds after the current sweep, because their results are no longer needed."""
        self.stopped.set()

    def _multiply(self, points: Indices, factors: Array) -> Array:
        def share(some: slice) -> Array:
            product = np.zeros((self.size, factors.shape[1]))
            self.weights.fold_columns(points[some], factors[some], product)
            return product

        placed = np.zeros((self.size, factors.shape[1]))
        for some in in_order(share, row_blocks(len(points), self.weights.lanes)):
            placed += some
        product = np.empty_like(placed)
        product[self.order] = -0.5 * placed
        return product

    @property
    def _group(self) -> int:
        return group_of(self.strips)

    def _fold(self, sweep: int, vectors: Array, product: Array, sums: Array | None) -> float:
        if not self.keep:
            return self.weights.fold(sweep, vectors, product, sums)
        known = sweep in self.rooms
        room = self.rooms[sweep] if known else self.weights.room(sweep)
        fourths = self.weights.fold(sweep, vectors, product, sums, room, known)
        self.rooms[sweep] = room
        return fourths


def start_of(eliminated: native.Elimination | native.Weights, *, keep: bool) -> tuple[int, int]:
    """Return the numbers of vectors and of landmarks for an eigensolver that sweeps an eliminated graph in every pass.

    With `keep` only the first pass sweeps.
    """
    return (WIDE, MANY) if not keep and eliminated.fill >= THICK * eliminated.size else (WIDTH, LANDMARKS)


def group_of(strips: int) -> int:
    """Return the number of sweeps in a block."""
    return max(1, min(GROUP, strips // SHARES), min(-(-strips // MOST), LARGE))


def sweep_rows(weights: native.Weights, sources: Indices) -> Array:
    """Return distances from some vertices to all (m x n), on all threads."""
    rows = np.empty((len(sources), weights.size))
    each(lambda some: weights.rows(sources[some], rows[some]), row_blocks(len(sources), weights.lanes))
    return rows


def _swept_kernel(weights: native.Weights, chosen: Indices) -> Array:
    return halved_squares(sweep_rows(weights, chosen))


def elimination_cost(size: int, relaxations: float, numeric: float, threads: int) -> Cost:
    """Cost of a pass by elimination: its relaxations and n² entries, after `numeric` relaxations of preparation."""
    rate, entry = rates().relaxation, rates().entry
    seconds = relaxations * rate + float(size) ** 2 * entry
    return Cost("elimination", seconds / threads, numeric * rate / threads, threads)
