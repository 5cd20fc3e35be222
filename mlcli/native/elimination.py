"""All shortest paths of an undirected graph by sparse elimination over the (min, +) semiring, as blocks of work."""

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np

from mlcli.base.rows.blocks import in_stages
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels, owned

Precision = Literal["float32", "float64"]


@result("elimination")
class Elimination:
    """The analysis of a graph in compressed rows for one order of elimination; a zero length is an edge."""

    def __init__(self, starts: Indices, indices: Indices, lengths: Array, order: Indices) -> None:
        """Analyzes; `order` lists the vertices, first eliminated first. Raises ValueError where an index is wrong."""
        self._given = {"starts": owned(starts, np.int64), "indices": owned(indices, np.int64),
                       "lengths": owned(lengths, np.float64), "order": owned(order, np.int64)}
        self._native = kernels().Elimination(*self._given.values())
        self.size = len(starts) - 1

    def state(self) -> dict[str, AnyArray]:
        """What makes it again: the graph and the order."""
        return dict(self._given)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.state().values())

    @property
    def fill(self) -> int:
        """The sizes of all up-sets together."""
        return int(self._native.fill)

    @property
    def work(self) -> float:
        """The relaxations of the numeric elimination."""
        return float(self._native.work)

    def relaxations(self, precision: Precision) -> int:
        """The relaxations of a fold of all blocks, what merging and unused lanes add included."""
        return int(self._native.relaxations(_lanes(precision)))

    @property
    def pieces(self) -> int:
        """The number of connected pieces."""
        return int(self._native.pieces)

    @property
    def depth(self) -> int:
        """The vertices on the longest path of the elimination tree."""
        return int(self._native.depth)

    def blocks(self, precision: Precision) -> int:
        """The number of blocks that the sources are divided into."""
        return -(-self.size // _lanes(precision))

    def bytes(self, precision: Precision) -> int:
        """The memory that the analysis and its weights take."""
        return int(self._native.bytes) + int(self._native.values) * np.dtype(precision).itemsize

    def block_bytes(self, precision: Precision, stored: bool) -> int:
        """The memory that one thread needs to sweep a block: to write distances (stored), or to fold them."""
        rows = 2 * self.depth + (self.size if stored else 0)
        return rows * _lanes(precision) * np.dtype(precision).itemsize

    def weights(self, precision: Precision) -> "Weights":
        """The weights, holding the graph's lengths; `Weights.factor` eliminates."""
        return Weights(self, precision)


@result("weights")
class Weights:
    """The weights of an elimination in one precision. Methods may run at the same time in several threads."""

    def __init__(self, elimination: Elimination, precision: Precision, numbers: AnyArray | None = None) -> None:
        """Before any task is done; or after all of them, where `numbers` are what `state` gave then.

        Raises ValueError or TypeError where the numbers cannot be those of this graph in this precision.
        """
        library, held = kernels(), elimination._native
        sweeper = {"float32": library.SweeperSingle, "float64": library.SweeperDouble}[precision]
        self._native = sweeper(held) if numbers is None else sweeper(held, np.ascontiguousarray(numbers))
        self.size, self._elimination, self.precision = elimination.size, elimination, precision
        self.stages: list[int] = held.tasks() if numbers is None else []  # how many tasks each has
        self.blocks, self.lanes = int(self._native.blocks), int(self._native.lanes)

    @classmethod
    def eliminated(cls, elimination: Elimination, precision: Precision) -> Self:
        """The weights after all tasks, which run on all threads."""
        weights = cls(elimination, precision)
        for _ in in_stages(weights.stages, weights.factor):
            pass
        return weights

    def recipe(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """What makes it again by work instead of its numbers: the analyzed graph, which is much smaller."""
        return type(self).eliminated, (self._elimination, self.precision)

    def state(self) -> dict[str, Any]:
        """What makes it again, once all tasks are done: the analyzed graph and its weights."""
        return {"elimination": self._elimination, "precision": self.precision, "numbers": self._native.numbers}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.state().values())

    def factor(self, stage: int, task: int) -> None:
        """One task of a stage; the tasks of a stage may run at the same time, after all stages before it."""
        self._native.factor(stage, task)

    def distances(self, block: int, out: AnyArray) -> None:
        """Writes the distances from a block's sources to all vertices, infinite between pieces.

        `out` is float32 or float64: either the whole matrix (n x n), of which the sources' rows
        are written, or a row for each source, in their order.
        """
        self._native.distances(block, out)

    @property
    def order(self) -> Indices:
        """The vertices by position: in the final order of elimination."""
        result: Indices = self._native.order
        return result

    def rows(self, sources: Indices, out: AnyArray) -> None:
        """Writes the distances from any vertices to all into a row of `out` (float32 or float64) each.

        They are swept in groups of `lanes`; a group costs the same however few they are.
        """
        self._native.rows(np.ascontiguousarray(sources, dtype=np.int64), out)

    def first(self, block: int) -> int:
        """The position of a block's first source."""
        return block * self.lanes

    def room(self, block: int) -> AnyArray:
        """An array that `fold` can keep a block's distances in, not initialized."""
        return np.empty((self.size - self.first(block), self.lanes), dtype=self.precision)

    def fold(self, block: int, vectors: Array, product: Array, sums: Array, kept: AnyArray | None = None,
             again: bool = False) -> float:
        """Adds a block's share of D ∘ D times `vectors` (n x b) to `product`, that of its row sums to `sums`.

        A pair of vertices counts for both of them, in the block of the one with the earlier position: only
        rows from the block's first position on are added to. `product` (m x b) and `sums` (m) hold the
        last m positions. Returns the block's share of the sum of D⁴. The graph must be connected.

        `kept` (see `room`) takes the distances as well; `again` multiplies what a fold of
        the same block has kept there, to the same bits, instead of finding it anew.
        """
        return float(self._native.fold(block, vectors, product, sums, kept, again))


def _lanes(precision: Precision) -> int:
    return 256 // np.dtype(precision).itemsize  # sources in a block: BLOCK in src/kernels.hpp
