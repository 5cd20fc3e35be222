"""Undirected graphs, their pieces, and shortest paths: by Dijkstra's algorithm, blocked, and by sparse elimination."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, Literal, Self, get_args

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import allowed
from mlcli.base.rows.blocks import each, in_stages, row_blocks
from mlcli.base.stages.checkpoints import loop
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels, private_copy

STRIP = 64  # rows of a strip in Floyd-Warshall
LARGE = 1 << 22  # entries of a graph that are not copied


def undirected(starts: Indices, indices: Indices, lengths: Array, *, mutual: bool) -> tuple[Indices, Indices, Array]:
    """Return compressed rows of a graph: starts (n + 1), ascending indices and lengths (e each).

    It joins the pairs of lists in compressed rows (n + 1, k and k) that are listed once or, where `mutual`, twice or
    more, at the least of their lengths. Raises ValueError for vertices out of range.
    """
    found, columns, least = np.empty(len(starts), np.int64), np.empty(2 * len(indices), np.int64), np.empty(
        2 * len(indices))
    lists = _vector(starts, np.int64), _vector(indices, np.int64), _vector(lengths, np.float64)
    count = kernels().undirected(*lists, mutual, found, columns, least)
    # what is not used of large arrays never was in memory, and a copy would be
    return (found, columns[:count], least[:count]) if count > LARGE else (
        found, columns[:count].copy(), least[:count].copy())


Join = Literal["sum", "mixture", "larger"]
JOINS: tuple[Join, ...] = get_args(Join)
SHARES = 8  # blocks of rows for each thread


def join_lists(starts: Indices, columns: AnyArray, values: AnyArray, *, join: Join, divisor: float = 1.0,
               mix: float = 1.0, single: bool = False) -> tuple[Indices, AnyArray, AnyArray]:
    """Return a symmetric matrix in compressed rows: starts (n + 1), ascending columns (int32) and numbers (e each).

    Its entries are made of the numbers v and w by which lists in compressed rows (n + 1, k and k) have a pair, zero
    where one of both does not: (v + w) / divisor, `mix` (v + w - v w) + (1 - `mix`) v w, or the larger of both. Zeros
    are left out but for the last. In single precision, if asked for, v and w are rounded as well as the result. Beside
    arguments and result it takes 8 bytes a row. The time grows with the squares of the lengths of lists. Raises
    ValueError for vertices out of range.
    """
    kind = np.float32 if single else np.float64
    lists = _vector(starts, np.int64), _vector(columns, np.int32), _vector(values, kind)
    how, size = (JOINS.index(join), divisor, mix), len(starts) - 1
    blocks = row_blocks(size, max(-(-size // (SHARES * allowed())), 1))
    next_places = np.zeros(size, dtype=np.int64)
    each(lambda rows: kernels().count_joined(*lists, *how, rows.start, rows.stop, next_places), blocks)
    found = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(next_places, out=found[1:])
    next_places[:] = found[:-1]
    indices = np.empty(int(found[-1]), dtype=np.int32)
    numbers = np.empty(len(indices), dtype=kind)
    each(lambda rows: kernels().fill_joined(*lists, *how, rows.start, rows.stop, next_places, indices, numbers), blocks)
    each(lambda rows: kernels().sort_joined(found, rows.start, rows.stop, indices, numbers), blocks)
    return found, indices, numbers


def pieces(starts: Indices, indices: Indices, lengths: Array) -> Indices:
    """Return the piece of each vertex of an undirected graph, numbered by first vertex, as an array of shape (n,)."""
    labels = np.empty(len(starts) - 1, dtype=np.int64)
    kernels().pieces(_vector(starts, np.int64), _vector(indices, np.int64), _vector(lengths, np.float64), labels)
    return labels


def strong_pieces(starts: Indices, indices: Indices) -> Indices:
    """Return the strongly connected piece of each vertex of a directed graph, an array of shape (n,)."""
    labels = np.empty(len(starts) - 1, dtype=np.int64)
    kernels().strong_pieces(_vector(starts, np.int64), _vector(indices, np.int64), labels)
    return labels


def dijkstra_rows(starts: Indices, indices: Indices, lengths: Array, sources: Indices, out: AnyArray) -> None:
    """Write the distances from m sources to all n vertices into `out`, an (m, n) array of float64."""
    kernels().dijkstra_rows(_vector(starts, np.int64), _vector(indices, np.int64), _vector(lengths, np.float64),
                            _vector(sources, np.int64), out)


def floyd_pivot(matrix: AnyArray, pivot: int) -> None:
    """Run the first half of a step in place: relax the rows of strip `pivot` of an (n, n) array through one another."""
    kernels().floyd_pivot(matrix, pivot)


def floyd_rows(matrix: AnyArray, pivot: int, strip: int) -> None:
    """Run the second half in place: relax the rows of another strip through the pivot's; strips may run in parallel."""
    kernels().floyd_rows(matrix, pivot, strip)


def _vector(values: AnyArray, kind: type) -> AnyArray:
    return np.ascontiguousarray(values, dtype=kind)


Precision = Literal["float32", "float64"]


@result("elimination")
class Elimination:
    """An analyzed graph in compressed rows for one order of elimination; a stored length of zero is an edge."""

    def __init__(self, starts: Indices, indices: Indices, lengths: Array, order: Indices) -> None:
        """Analyze; `order` lists the vertices, first eliminated first. Raises ValueError if an index is wrong."""
        self._given = {"starts": private_copy(starts, np.int64), "indices": private_copy(indices, np.int64),
                       "lengths": private_copy(lengths, np.float64), "order": private_copy(order, np.int64)}
        self._native = kernels().Elimination(*self._given.values())
        self.size = len(starts) - 1

    def state(self) -> dict[str, AnyArray]:
        """Return the arguments that construct it again: the graph and the order."""
        return dict(self._given)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.state().values())

    @property
    def fill(self) -> int:
        """The sum of the sizes of all up-sets."""
        return int(self._native.fill)

    @property
    def work(self) -> float:
        """The number of relaxations of the numeric elimination."""
        return float(self._native.work)

    @property
    def stages(self) -> list[int]:
        """How many tasks each stage of the numeric elimination has."""
        counts: list[int] = self._native.tasks()
        return counts

    def relaxations(self, precision: Precision) -> int:
        """Return the relaxations of a fold of all blocks, with those of merged supernodes and unused lanes."""
        return int(self._native.relaxations(_lanes(precision)))

    @property
    def pieces(self) -> int:
        """The number of connected pieces."""
        return int(self._native.pieces)

    @property
    def depth(self) -> int:
        """The number of vertices on the longest path of the elimination tree."""
        return int(self._native.depth)

    def blocks(self, precision: Precision) -> int:
        """Return the number of blocks that the sources are divided into."""
        return -(-self.size // _lanes(precision))

    def bytes(self, precision: Precision) -> int:
        """Return the bytes of memory that the analysis and its weights take."""
        return int(self._native.bytes) + int(self._native.values) * np.dtype(precision).itemsize

    def block_bytes(self, precision: Precision, stored: bool) -> int:
        """Return the bytes that one thread needs to sweep a block: to write distances (`stored`) or to fold them."""
        rows = 2 * self.depth + (self.size if stored else 0)
        return rows * _lanes(precision) * np.dtype(precision).itemsize

    def weights(self, precision: Precision) -> "Weights":
        """Return weights that contain the graph's lengths; `Weights.factor` eliminates."""
        return Weights(self, precision)


@result("eliminating")
@frozen
class EliminationCheckpoint:
    """The weights of an elimination between two tasks."""

    numbers: AnyArray  # of all weights
    done: AnyArray  # whether each task is done, those of a stage after those of the stages before it


@result("weights")
class Weights:
    """The weights of an elimination in one precision. Methods may run at the same time in several threads."""

    def __init__(self, elimination: Elimination, precision: Precision, numbers: AnyArray | None = None) -> None:
        """Start before any task; or after those that made `numbers`: all of them, if these are of `state()`.

        Raises ValueError or TypeError if the numbers cannot be those of this graph in this precision.
        """
        library, held = kernels(), elimination._native
        sweeper = {"float32": library.SweeperSingle, "float64": library.SweeperDouble}[precision]
        self._native = sweeper(held) if numbers is None else sweeper(held, np.ascontiguousarray(numbers))
        self.size, self._elimination, self.precision = elimination.size, elimination, precision
        self.stages = elimination.stages if numbers is None else []  # how many tasks each has
        self.blocks, self.lanes = int(self._native.blocks), int(self._native.lanes)

    @classmethod
    def eliminated(cls, elimination: Elimination, precision: Precision) -> Self:
        """Return the weights after all tasks, which run on all threads.

        A checkpoint is offered after each stage, and once it is wanted after the tasks that have begun: no other runs
        while the numbers are written.
        """
        with loop(EliminationCheckpoint) as place:
            left = place.left
            weights = cls(elimination, precision, None if left is None else left.numbers)
            done = np.zeros(sum(elimination.stages), dtype=bool) if left is None else left.done.copy()
            state = partial(EliminationCheckpoint, weights.numbers, done)
            while not done.all():
                with closing(weights._tasks(elimination.stages, done)) as tasks:
                    for idle in tasks:
                        if place.wanted:
                            break
                        if idle and not done.all():
                            place.offer(state)
                if not done.all():
                    place.offer(state)
        return weights

    def _tasks(self, stages: Sequence[int], done: AnyArray) -> Generator[bool, None, None]:
        """Run the tasks that are not done, of so many in each stage; yield after each whether no other runs now."""
        firsts = [0, *accumulate(stages)]
        rest = [np.flatnonzero(~done[first:last]).tolist() for first, last in pairwise(firsts)]
        ends = {*accumulate(map(len, rest))}

        def run(stage: int, place: int) -> None:
            self.factor(stage, rest[stage][place])
            done[firsts[stage] + rest[stage][place]] = True

        with closing(in_stages([*map(len, rest)], run)) as tasks:
            for count, _ in enumerate(tasks, 1):
                yield count in ends

    @property
    def fill(self) -> int:
        """The sum of the sizes of all up-sets."""
        return self._elimination.fill

    @property
    def numbers(self) -> AnyArray:
        """The weights themselves, as the tasks so far have left them; not a copy."""
        numbers: AnyArray = self._native.numbers
        return numbers

    def recipe(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return a function and its arguments that compute the weights again.

        The graph is much smaller than they are.
        """
        return type(self).eliminated, (self._elimination, self.precision)

    def state(self) -> dict[str, Any]:
        """Return the analyzed graph and its weights, from which it is restored, after all tasks."""
        return {"elimination": self._elimination, "precision": self.precision, "numbers": self.numbers}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.state().values())

    def factor(self, stage: int, task: int) -> None:
        """Run one task of a stage; tasks of a stage may run at the same time, after all stages before it."""
        self._native.factor(stage, task)

    def all_pairs(self, out: AnyArray) -> None:
        """Write the distances between all vertices into `out`, an (n, n) array, on all threads.

        Each pair is found once, in the order of elimination backwards: the distance from a vertex to an earlier one is
        the least of its lengths to its ancestors plus their distances, which are finished. The matrix is then put in
        the order of the vertices in place. It is symmetric to the last bit, and infinite between pieces. `out` is a
        float64 array.
        """
        library = kernels()
        pairs = {"float32": library.AllPairsSingle, "float64": library.AllPairsDouble}[self.precision](self._native)
        for _ in in_stages(pairs.stages, lambda stage, task: pairs.run(stage, task, out)):
            pass

    def distances(self, block: int, out: AnyArray) -> None:
        """Write the distances from a block's sources to all vertices, infinite between pieces.

        `out` is a float64 array: either the whole (n, n) array, of which the sources' rows are
        written, or one row for each source, in their order.
        """
        self._native.distances(block, out)

    @property
    def order(self) -> Indices:
        """The vertices by position in the final order of elimination."""
        result: Indices = self._native.order
        return result

    def rows(self, sources: Indices, out: AnyArray) -> None:
        """Write the distances from any m vertices to all n into `out`, an (m, n) array of float64.

        Sources are swept in groups of `lanes`; a group costs the same however few they are.
        """
        self._native.rows(np.ascontiguousarray(sources, dtype=np.int64), out)

    def first(self, block: int) -> int:
        """Return the position of a block's first source."""
        return block * self.lanes

    def room(self, block: int) -> AnyArray:
        """Return an array, not initialized, for the distances of a block that `fold` can store."""
        return np.empty((self.size - self.first(block), self.lanes), dtype=self.precision)

    def fold(self, block: int, vectors: Array, product: Array, sums: Array | None, kept: AnyArray | None = None,
             again: bool = False) -> float:
        """Add a block's share of D ∘ D times an (n, b) array `vectors` to `product`, and of its row sums to `sums`.

        All of them are by position (`order`). A pair of vertices counts for both of them, in the block of the one with
        the earlier position: only rows from the block's first position on are changed. `product` (m x b) and `sums` (m)
        are the last m positions. Returns the block's share of the sum of D⁴, or zero where `sums` is None. The graph
        must be connected.

        `kept` (see `room`) receives the distances as well; `again` multiplies the distances that a fold of
        the same block has stored there, with the same bits, instead of computing them again.
        """
        return float(self._native.fold(block, vectors, product, sums, kept, again))

    def fold_columns(self, sources: Indices, factors: Array, product: Array) -> None:
        """Add D ∘ D from m vertices (columns) times an (m, b) array of factors to `product` (n x b), by position.

        Sources are swept in groups of `lanes`, quickest where these are near one another. The graph must be connected.
        """
        self._native.fold_columns(np.ascontiguousarray(sources, dtype=np.int64), np.ascontiguousarray(factors), product)


def _lanes(precision: Precision) -> int:
    return 256 // np.dtype(precision).itemsize  # sources in a block: BLOCK in src/kernels.hpp
