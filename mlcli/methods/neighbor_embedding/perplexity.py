"""Affinities of a perplexity: Gaussians of neighbors' distances, with a precision for each point, and joint ones.

A row of affinities p has the perplexity exp(-Σ p log p), the number of neighbors that it is shared among. Source:
Hinton and Roweis, "Stochastic neighbor embedding", 2002; the mean over several perplexities: Kobak and Berens, "The art
of using t-SNE for single-cell transcriptomics", 2019.
"""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import pass_cost, rates
from mlcli.base.rows.blocks import each, one_by_one, row_blocks
from mlcli.base.stages.stage import computed, note, running, stage
from mlcli.base.stages.steps import Step
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Joined, Spatial, WeightedGraph
from mlcli.core.arithmetic import exponential, logarithm, sum_of_parts
from mlcli.core.graph.graph import symmetrize, undirected
from mlcli.core.graph.neighbors import Search, nearest_by
from mlcli.core.graph.pieces import first_ids
from mlcli.core.graph.search import Lists
from mlcli.core.layouts.pairs import SAME, alike
from mlcli.core.metrics.distances import metric_of, squared
from mlcli.errors import GeometryError

BLOCK = 2**18  # numbers of a block of rows
REACH = 3  # neighbors for each unit of the perplexity; farther ones have affinities near zero
FAR = 800.0  # exponent whose exponential is zero
LARGEST = 1e300  # gap beyond which an affinity is zero at any precision
ALONE = float(np.finfo(np.float64).max)  # precision under which only the nearest have affinities
EXACT = 1e-13  # difference of an entropy from its aim that is rounding
TRIES = 200  # steps of the search for a precision, more than bisection takes
LOGARITHM = 700.0  # of the largest precision
FLAT = 1e-200  # slope of the entropy below which a step of Newton's would be too far


@result("affinities")
@frozen
class JointAffinities:
    """Affinities P of all pairs, symmetric with sum one, in compressed rows; and the precisions that lead to them."""

    starts: Indices  # n + 1
    indices: AnyArray  # int32
    values: AnyArray  # in single precision from `SINGLE` points on
    precisions: Array  # n x s, of d² over the square of the row's middle d; none where affinities are given

    @property
    def graph(self) -> tuple[Indices, AnyArray, AnyArray]:
        """The starts of rows, and the column and the affinity of each entry."""
        return self.starts, self.indices, self.values

    @property
    def entropy(self) -> float:
        """-Σ p log p."""
        shares = self.values if (self.values > 0).all() else self.values[self.values > 0]

        def terms(some: slice) -> Array:
            numbers = shares[some].astype(np.float64, copy=False)
            return numbers * logarithm(numbers)

        return -sum_of_parts(terms, len(shares))


@frozen
class DistanceGaps:
    """(d² - least d²) / middle d² of each row's neighbors (m x k), and which of the k places are filled."""

    values: Array
    present: AnyArray

    @classmethod
    def of(cls, lengths: Array, present: AnyArray | None = None) -> "DistanceGaps":
        """Return the gaps of lengths (m x k), of which those not `present` are left out."""
        there = np.ones(lengths.shape, dtype=bool) if present is None else present
        ranked = np.sort(np.where(there, lengths, np.inf), axis=1)
        counts = there.sum(axis=1, keepdims=True)
        least, middle, most = (np.take_along_axis(ranked, at, axis=1) for at in (0 * counts, counts // 2, counts - 1))
        scale = np.where(middle > 0, middle, np.where(most > 0, most, 1.0))
        filled = np.where(there, lengths, least)
        with np.errstate(over="ignore"):  # differences of lengths are exact where they are small
            return cls(np.minimum((filled - least) / scale * ((filled + least) / scale), LARGEST), there)

    def __len__(self) -> int:
        """Return m, the number of rows."""
        return len(self.values)

    def take(self, rows: Indices) -> "DistanceGaps":
        """Return some of the rows."""
        return DistanceGaps(self.values[rows], self.present[rows])

    def affinities(self, precisions: Array) -> Array:
        """Return affinities (m x k) with sum one for a precision (m) of each row."""
        with np.errstate(over="ignore"):
            energies = np.minimum(self.values * precisions[:, None], FAR)
        weights = self.present * exponential(-energies)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def entropies(self, precisions: Array) -> tuple[Array, Array]:
        """Return the entropy of each row, and its fall for a step of the precision's logarithm (m each)."""
        with np.errstate(over="ignore"):
            energies = np.minimum(self.values * precisions[:, None], FAR)
        weights = self.present * exponential(-energies)
        totals = weights.sum(axis=1)
        means = (weights * energies).sum(axis=1) / totals
        spread = (weights * (energies - means[:, None]) ** 2).sum(axis=1) / totals
        return logarithm(totals) + means, spread

    def precisions(self, perplexity: float) -> Array:
        """Return the precision (m) of each row whose affinities have the perplexity.

        Zero where so few neighbors have a lower one with equal affinities, `ALONE` where so many nearest ones tie that
        they have a higher one alone.
        """
        ties = np.sum((self.values <= 0) & self.present, axis=1)
        found = np.where(self.present.sum(axis=1) <= perplexity, 0.0, ALONE)
        rows = np.flatnonzero((found > 0) & (ties < perplexity))
        found[rows] = self.take(rows)._solve(float(logarithm(np.asarray(perplexity))))
        return found

    def _solve(self, aim: float) -> Array:
        """Return precisions of an entropy by Newton's method on their logarithms, in a bracket of bisection."""
        low, high = np.full(len(self), -LOGARITHM), np.full(len(self), LOGARITHM)
        places, rows = np.zeros(len(self)), np.arange(len(self))
        for _ in range(TRIES):
            if not len(rows):
                break
            here = places[rows]
            entropies, falls = self.take(rows).entropies(exponential(here))
            above = entropies - aim
            low[rows], high[rows] = np.where(above > 0, here, low[rows]), np.where(above > 0, high[rows], here)
            ahead = here + np.divide(above, falls, out=np.full(len(rows), np.inf), where=falls > FLAT)
            middle = (low[rows] + high[rows]) / 2
            following = np.where((ahead > low[rows]) & (ahead < high[rows]), ahead, middle)
            done = (np.abs(above) <= EXACT) | (following == here)
            places[rows] = np.where(done, here, following)
            rows = rows[~done]
        return exponential(places)


def reach(perplexities: Sequence[float]) -> int:
    """Return the number of neighbors that affinities of these perplexities need."""
    return int(REACH * max(perplexities))


def conditional(gaps: DistanceGaps, perplexities: Sequence[float]) -> tuple[Array, Array]:
    """Return affinities (m x k) of each row, the mean over the perplexities, and precisions (m x s)."""
    precisions = np.column_stack([gaps.precisions(perplexity) for perplexity in perplexities])
    shares = sum(gaps.affinities(each) for each in precisions.T) / len(perplexities)
    return np.asarray(shares), precisions


@stage("weights", version=1)
def calibrate(lists: Lists, perplexities: tuple[float, ...]) -> JointAffinities:
    """Return the joint affinities of points with these neighbors."""
    size = len(lists.counts)
    shares = np.empty(len(lists.indices), dtype=np.float32 if size >= SINGLE else np.float64)
    precisions = np.empty((size, len(perplexities)))

    def work(rows: slice) -> None:
        gaps = gaps_of(lists, rows)
        found, precisions[rows] = conditional(gaps, perplexities)
        shares[lists.starts[rows.start] : lists.starts[rows.stop]] = found[gaps.present]

    each(work, row_blocks(size, BLOCK, int(lists.counts.max(initial=1))), progress=True)
    computed("conditional affinities", (lists, shares))
    return joint(lists, shares, precisions)


def gaps_of(lists: Lists, rows: slice) -> DistanceGaps:
    """Return the gaps of some rows' neighbors, in the order of the lists, as many as the longest of all rows has."""
    counts = lists.counts[rows]
    present = np.arange(int(lists.counts.max(initial=0))) < counts[:, None]
    lengths = np.zeros(present.shape)
    lengths[present] = lists.lengths[lists.starts[rows.start] : lists.starts[rows.stop]]
    return DistanceGaps.of(lengths, present)


def joint(lists: Lists, shares: AnyArray, precisions: Array) -> JointAffinities:
    """Return joint affinities (P + Pᵀ) / 2n of rows P (e) of the lists, each with sum one."""
    size = len(lists.starts) - 1
    return JointAffinities(*symmetrize(Lists(lists.starts, lists.indices, shares), "sum", divisor=2.0 * size,
                                       single=size >= SINGLE), precisions)


FEWEST = 5  # points of which some have a perplexity above 1 and below (n - 1) / 3
BOTH_WAYS = 1.6  # entries of joint affinities for each neighbor, as some of these are neighbors of each other
SINGLE = 2**18  # points from which on joint affinities are in single precision
WORKING = 12.0  # bytes of a neighbor while affinities are made: its number and length
SOLVING = 96.0  # bytes of a number of a block whose precisions are searched for
TRIALS = 12  # evaluations of a row's entropy until it has the perplexity
HELD = 2**20  # numbers of a block of distances


def require_points(data: Joined) -> None:
    """Raise GeometryError for too few points, and for points of a graph without edges."""
    if len(data.values) < FEWEST:
        raise GeometryError("FEW-POINTS", f"a perplexity above 1 needs {FEWEST} points, and there are "
                            f"{len(data.values)}", hint="give more points, or choose mds or smacof")
    if isinstance(data, WeightedGraph):
        degrees = np.bincount(np.repeat(np.arange(len(data.values)), np.diff(data.starts)), minlength=len(data.values))
        alone = degrees == 0
        if alone.any():
            raise GeometryError("ISOLATED", f"{int(alone.sum())} of {len(alone)} points have no edge: nothing attracts "
                                "them", where=f"points: {first_ids(data.ids, alone)}",
                                hint="leave them out, or join them by edges")


def joint_affinities(data: Joined, lists: Lists, perplexities: tuple[float, ...]) -> JointAffinities:
    """Return the joint affinities of points with the neighbors in `lists`: given ones over their sum, or calibrated.

    Raises GeometryError where all points are equal, or all at one distance from each other.
    """
    if isinstance(data, AffinityGraph):
        with running("weights"):
            return joint(lists, data.weights * (len(data.values) / float(data.weights.sum())),
                         np.zeros((len(data.values), 0)))
    if isinstance(data, WeightedGraph):
        few = int(np.sum(lists.counts <= max(perplexities)))
        if few:
            note("N-FEW-EDGES", f"{few} points have no more edges than the perplexity: theirs have equal affinities",
                 points=few)
    else:
        require_lengths(data, lists)
    return calibrate(lists, perplexities)


def affinity_lists(data: Joined, perplexities: tuple[float, ...], search: Search = "exact") -> Lists:
    """Return the neighbors that affinities are of: the nearest, or the ends of a graph's edges."""
    if isinstance(data, WeightedGraph):
        return Lists(data.starts, data.indices, data.weights)
    lists = nearest_by(search, reach(perplexities)).lists(data)
    return Lists(lists.starts, lists.indices.astype(np.int32), lists.lengths)


def require_lengths(data: Spatial, lists: Lists) -> None:
    """Raise GeometryError where all pairs of points are at one distance."""
    if lists.lengths.min() < lists.lengths.max():
        return
    with running("neighbors"):
        values, one = data.values, lists.lengths[0] ** 2
        for rows in one_by_one(row_blocks(len(values), HELD, len(values))):
            apart = squared(metric_of(data), values[rows], values) if isinstance(data, Features) else values[rows] ** 2
            apart[np.arange(len(apart)), np.arange(rows.start, rows.stop)] = one
            if not np.allclose(apart, one, rtol=SAME, atol=0):
                return
    raise GeometryError("ALL-EQUAL", f"all {len(values)} points are at one distance from each other, so none is nearer "
                        "than another", hint="check that the right columns or matrix was read")


def equal_groups(lists: Lists, square: Array | None) -> Indices | None:
    """Return the group of equal points that each one is in (n), None where all differ.

    Points at distance zero are equal; in a matrix of dissimilarities (n x n), if they are so to all others too.
    """
    near = np.flatnonzero(lists.lengths == 0)
    if not len(near):
        return None
    size = len(lists.starts) - 1
    rows, columns = np.searchsorted(lists.starts, near, side="right") - 1, lists.indices[near].astype(np.int64)
    if square is not None:
        same = alike(square, rows, columns)
        rows, columns = rows[same], columns[same]
    groups = undirected(size, rows, columns, np.zeros(len(rows)), "union").pieces()
    return groups if groups.max() + 1 < size else None


def groups_of(data: Joined, lists: Lists) -> Indices | None:
    """Return the groups of equal points; None where all differ, and for a graph, whose points have places of their own.
    """
    if isinstance(data, WeightedGraph):
        return None
    with running("weights"):
        return equal_groups(lists, data.values if isinstance(data, Dissimilarities) else None)


def affinity_steps(data: Joined, perplexities: tuple[float, ...], compute: Compute,
                   search: Search = "exact") -> list[Step]:
    """Return the steps of neighbors and of their affinities."""
    if isinstance(data, WeightedGraph):
        entries, searching = len(data.indices), []
    else:
        entries = len(data.values) * reach(perplexities)
        searching = [nearest_by(search, reach(perplexities)).step(data, compute)]
    trials = 0 if isinstance(data, AffinityGraph) else TRIALS * len(perplexities)
    seconds = (trials * rates().bent / compute.thread_count() + rates().neighbor + 4 * pass_cost(1) * 8) * entries
    held = WORKING + number_bytes(len(data.values)) + (
        1.0 if isinstance(data, WeightedGraph) else BOTH_WAYS) * entry_bytes(len(data.values))
    return [*searching, Step("weights", f"of {entries:,} neighbors" if searching else f"of {entries:,} edges", seconds,
                             held * entries + SOLVING * min(BLOCK * compute.thread_count(), entries))]


def number_bytes(count: int) -> float:
    """Return the bytes of an affinity of so many points."""
    return 4.0 if count >= SINGLE else 8.0


def entry_bytes(count: int) -> float:
    """Return the bytes of a joint affinity and its column, of so many points."""
    return 4.0 + number_bytes(count)


def entries_of(data: Joined, perplexities: tuple[float, ...]) -> float:
    """Return about how many entries joint affinities have."""
    return float(len(data.indices)) if isinstance(data, WeightedGraph) else (
        BOTH_WAYS * len(data.values) * reach(perplexities))
