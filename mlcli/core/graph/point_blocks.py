"""Candidates for the nearest neighbors of points, by products of blocks of points: each pair of points once.

The points are ordered so that near ones are near each other, and divided into blocks. Blocks that are near each other
come first; of the others, pairs of blocks are skipped whose boxes or balls are farther apart than any of their points
keeps another. Products of the other pairs begin with the columns of the largest variance and stop where these, and the
norms of what is left, prove that no pair of a tile of 16 points with a few others is near enough. What is skipped is
decided between rounds, from what all points have kept until then, so that it is the same for any number of threads.
What points keep is the same in whatever order blocks are compared, so that a search resumes between any two of them.
"""

from itertools import pairwise

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import complete, each, row_blocks
from mlcli.base.stages.checkpoints import Place, loop
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices

BLOCK = 384  # points of a block, at least: the products of two blocks stay in the second cache
MOST_BLOCKS = 4096  # so that bounds of all pairs of blocks take little
SAMPLE = 4096  # points whose axes are those of all
TURNED = 16  # points for each column, where turning them to their axes takes little beside their products
LEVELS = 4  # by how much more blocks each round takes than those before it
TRIED = 256  # pairs of blocks that show where products can stop
LEAST = 8  # of so many pairs one is tried, at most
TOGETHER = 256  # blocks that are compared with one: about a tenth of a second
ASKED = 3.0  # columns that take as long as asking whether products can stop
BEYOND = np.float32(1e30)  # half a squared distance above all others
NUMBERS = 2**20  # that are looked at together


@result("point-blocks")
@frozen
class PointBlocksCheckpoint:
    """What points have kept between two tasks of a comparison, and what decides the rest of it."""

    indices: AnyArray  # n x count, int32
    values: AnyArray  # n x count, float32
    number: int  # of the comparison
    most: AnyArray  # b: the largest value that a point of each block kept before the round
    kept: AnyArray  # n: the largest value that each point kept before the comparison
    ends: Indices  # s: columns at which products stop
    done: AnyArray  # t: whether each task of the comparison is done
    passed: Indices  # t x s: pairs of points that each task has left at each stage
    taken: int  # products taken before the comparison
    skipped: int  # pairs of points in blocks that were skipped


class PointBlocks:
    """Points in blocks, and the `count` nearest that each has found, by (half the squared distance, index).

    The points (n x d) are in single precision and of at most unit size in each coordinate. `rounding` is the relative
    rounding of squared distances by products. With `portable`, what each block finds has the same bits on every
    processor.
    """

    def __init__(self, points: AnyArray, count: int, rounding: float, *, portable: bool = False) -> None:
        size, self.columns = points.shape
        group = native.GROUP
        self.block = max(BLOCK, -(-size // (MOST_BLOCKS * group)) * group)
        self.order = native.block_order(points, self.block)
        self.portable = portable
        self.indices = np.full((size, count), -1, dtype=np.int64)
        self.values = np.full((size, count), BEYOND, dtype=np.float32)
        self._native = native.BlockedPoints(points, self.order, self.block)
        self._tiles = -(-size // group)
        padded = self._tiles * group
        parts = row_blocks(size, NUMBERS, self.columns)
        self._ends = _stages(self.columns)
        squares = np.zeros((len(self._ends), padded), dtype=np.float32)  # of the columns of each stage

        def sum_squares(rows: slice) -> None:
            some = points[self.order[rows]]
            for stage, (start, end) in enumerate(zip([0, *self._ends[:-1]], self._ends, strict=True)):
                for column in range(start, end):
                    squares[stage, rows] += some[:, column] * some[:, column]

        each(sum_squares, parts)
        whole = np.cumsum(squares, axis=0)
        self._halves = np.full(padded, 4 * BEYOND, dtype=np.float32)  # those that fill a group are near none
        self._halves[:size] = whole[-1, :size] / 2
        self._rests = np.zeros((len(self._ends), padded), dtype=np.float32)
        for stage in range(len(self._ends) - 2, -1, -1):
            self._rests[stage] = self._rests[stage + 1] + squares[stage + 1]
        self._rests = np.sqrt(self._rests) * np.float32(1 + 1e-5)
        self._most = float(whole[-1].max())  # the largest squared norm
        self._slack = 2 * rounding * self._most  # what rounding may change of half a squared distance, twice
        self._bounds_of(points)
        self.passed = 0  # products of a pair in a column that were taken
        self.skipped = 0  # pairs of points in blocks that were skipped

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self._low)

    def _bounds_of(self, points: AnyArray) -> None:
        """Compute the boxes of all blocks (b x d), their centers and radii (b)."""
        starts = range(0, len(points), self.block)
        self._low, self._high, self._centers = (np.empty((len(starts), self.columns), dtype=np.float32)
                                                for _ in range(3))
        self._radii = np.empty(len(starts), dtype=np.float32)

        def bound(number: int) -> None:
            some = points[self.order[starts[number] : starts[number] + self.block]]
            self._low[number], self._high[number] = some.min(axis=0), some.max(axis=0)
            self._centers[number] = center = (self._low[number] + self._high[number]) / 2
            gaps = some - center
            self._radii[number] = np.sqrt(np.square(gaps).sum(axis=1).max()) * (1 + 1e-5)

        each(bound, range(len(starts)))

    def _distances(self) -> tuple[AnyArray, AnyArray]:
        """Return the distances of the centers of all blocks, and lower bounds of half the squared distances of their
        points (b x b).
        """
        apart = np.empty((self.blocks, self.blocks), dtype=np.float32)
        bounds = np.empty_like(apart)

        def measure(number: int) -> None:
            gaps = np.maximum(self._low - self._high[number], self._low[number] - self._high)
            np.maximum(gaps, 0, out=gaps)
            boxes = np.zeros(self.blocks, dtype=np.float32)
            centers = np.zeros(self.blocks, dtype=np.float32)
            for column in range(self.columns):
                boxes += gaps[:, column] * gaps[:, column]
                between = self._centers[:, column] - self._centers[number, column]
                centers += between * between
            apart[number] = np.sqrt(centers)
            balls = np.maximum(apart[number] * (1 - 1e-5) - self._radii - self._radii[number], 0)
            bounds[number] = np.maximum(boxes, balls * balls) * np.float32(0.5 * (1 - 1e-5)) - self._slack

        each(measure, range(self.blocks))
        return apart, bounds

    def search(self, nearest: int | None = None) -> None:
        """Compare all blocks, or each with as many of the `nearest` ones. A checkpoint is offered between tasks."""
        apart, bounds = self._distances()
        np.fill_diagonal(apart, -1.0)  # nothing is nearer to a block than itself, also where centers are equal
        ranks = np.argsort(np.argsort(apart, axis=1, kind="stable"), axis=1)
        left, right = np.triu_indices(self.blocks)
        levels = np.minimum(ranks[left, right], ranks[right, left])
        del apart, ranks
        rounds = list(pairwise([-1, *self._levels(self.blocks if nearest is None else nearest)]))
        with loop(PointBlocksCheckpoint) as place:
            first = 0 if place.left is None else self._restore(place.left)
            for number in range(first, len(rounds) + 1):
                low, high = rounds[min(number, len(rounds) - 1)]
                some = (levels > low) & (levels <= high)
                self._compare_round(left[some], right[some], bounds, number, len(rounds) - 1, place)

    def _levels(self, most: int) -> list[int]:
        """Return how near blocks are, by their rank, that each round compares at last: each with itself in the first.
        """
        ends, step = [0], 1
        while ends[-1] < min(most, self.blocks) and self.blocks > 1:
            last = step * LEVELS > most or step * LEVELS > self.blocks // 2
            ends.append(most if last else step)
            step *= LEVELS
        return ends

    def _restore(self, left: PointBlocksCheckpoint) -> int:
        """Return the number of the comparison that a checkpoint is amid, with all as it was there."""
        self.indices[:], self.values[:] = left.indices, left.values
        self.passed, self.skipped = left.taken, left.skipped
        self._stop_at([self._ends.index(end) for end in left.ends.tolist()])
        return left.number

    def _compare_round(self, left: Indices, right: Indices, bounds: AnyArray, number: int, last: int,
                       place: Place[PointBlocksCheckpoint]) -> None:
        """Compare the pairs of blocks (p) of a round that may be near. The last round has two comparisons: a few pairs
        first, which show where products stop, and then the rest, which has the number after its own.
        """
        begun = None if place.left is None or place.left.number != number else place.left
        if begun is not None:
            self._nearest = begun.most
        elif number <= last:
            kept = self.values[:, -1]
            self._nearest = np.maximum.reduceat(kept, np.arange(0, len(kept), self.block))
        near = bounds[left, right] <= np.maximum(self._nearest[left], self._nearest[right])
        if begun is None and number <= last:
            self.skipped += self._points(left[~near], right[~near])
        left, right = left[near], right[near]
        tried = np.ones(len(left), dtype=bool)
        if number >= last > 0 and len(left) >= 2 * LEAST:
            tried[:] = False
            tried[:: max(LEAST, len(left) // TRIED)] = True
        if number > last:
            self._compare(left[~tried], right[~tried], number, place, begun, progress=True)
            return
        whole = bool(tried.all())
        passed = self._compare(left[tried], right[tried], number, place, begun, progress=whole and number == last)
        if not whole:
            shares = np.concatenate([[1.0], passed / self._points(left[tried], right[tried])])
            self._stop_at(_stops(np.array([0, *self._ends]), shares))

    def _stop_at(self, stages: list[int]) -> None:
        """Let products stop at some of the stages only."""
        self._ends, self._rests = [self._ends[k] for k in stages], np.ascontiguousarray(self._rests[stages])

    def _points(self, left: Indices, right: Indices) -> int:
        """Return how many pairs of points some pairs of blocks (p) have."""
        sizes = np.minimum(self.block, len(self.order) - np.arange(self.blocks) * self.block)
        return int((sizes[left] * sizes[right]).sum())

    def _compare(self, left: Indices, right: Indices, number: int, place: Place[PointBlocksCheckpoint],
                 begun: PointBlocksCheckpoint | None, *, progress: bool) -> Indices:
        """Compare pairs of blocks (p), and return how many pairs of points each stage has left."""
        if not len(left):
            return np.zeros(len(self._ends), dtype=np.int64)
        owner = np.where((left + right) % 2, left, right)
        other = left + right - owner
        order = np.lexsort((other, owner))
        owner, other = owner[order], other[order]
        cuts = np.flatnonzero(np.diff(owner, prepend=-1))
        tasks = [slice(start + low, min(start + low + TOGETHER, end))
                 for start, end in zip(cuts, [*cuts[1:], len(owner)], strict=True)
                 for low in range(0, end - start, TOGETHER)]
        kept = np.full(self._tiles * native.GROUP, -BEYOND, dtype=np.float32)
        kept[: len(self.values)] = self.values[:, -1] if begun is None else begun.kept
        reach = kept.reshape(-1, native.GROUP).max(axis=1) + np.float32(self._slack)
        ends = np.array(self._ends, dtype=np.int64)
        done = np.zeros(len(tasks), dtype=bool) if begun is None else begun.done.copy()
        passed = np.zeros((len(tasks), len(ends)), dtype=np.int64) if begun is None else begun.passed.copy()

        def work(number: int) -> None:
            task = tasks[number]
            self._native.search(int(owner[task.start]), other[task], halves=self._halves, kept=kept, reach=reach,
                                ends=ends, rests=self._rests, portable=self.portable, indices=self.indices,
                                values=self.values, passed=passed[number])

        complete(work, done, place, lambda: PointBlocksCheckpoint(
            self.indices.astype(np.int32), self.values, number, most=self._nearest, kept=kept[: len(self.values)],
            ends=ends, done=done, passed=passed, taken=self.passed, skipped=self.skipped), progress=progress)
        total: Indices = passed.sum(axis=0)
        widths = np.diff(ends, prepend=0)
        self.passed += int(widths[0] * self._points(left, right) + (widths[1:] * total[:-1]).sum())
        return total

    @property
    def share(self) -> float:
        """The share of the products of all pairs of points that was not taken."""
        size = len(self.order)
        return max(0.0, 1 - self.passed / (self.columns * (size * (size - 1) / 2)))


def _stages(columns: int) -> list[int]:
    """Return columns after which products may stop, and the last."""
    ends: list[int] = []
    step = 4
    while step < columns * 0.8 and len(ends) < 12:
        ends.append(step)
        step += max(4, step // 3 // 4 * 4)
    return [*ends, columns]


def _stops(ends: Indices, shares: Array) -> list[int]:
    """Return the stages at which it pays to ask, from the columns (s + 1) until each, 0 first, and the share of pairs
    that is left there: the least sum of columns, by dynamic programming.
    """
    least, before = [0.0], [0]
    for stage in range(1, len(ends)):
        costs = [least[k] + shares[k] * (ends[stage] - ends[k] + ASKED) for k in range(stage)]
        before.append(int(np.argmin(costs)))
        least.append(min(costs))
    kept = []
    stage = len(ends) - 1
    while stage > 0:
        kept.append(stage - 1)
        stage = before[stage]
    return kept[::-1]


def turn_to_axes(points: Array, center: Array) -> Array | None:
    """Return orthonormal axes (d x d) of some of the points less a (d,) center, those of the largest variance first.

    None where turning all points (n x d) would take long beside their products.
    """
    size, columns = points.shape
    if size < TURNED * columns:
        return None
    chosen = np.ascontiguousarray(points[:: max(1, size // SAMPLE)])
    with single_threaded_blas():
        moments, _ = native.gram(chosen, center)
        return np.ascontiguousarray(np.linalg.eigh(moments)[1][:, ::-1])
