"""The loss of each point of a layout as a function of its own place, with all others fixed: slopes, Hessians, minima.

A loss is made of functions φ of squared distances u = |y - y_j|², with gradients 2 φ' (y - y_j) and Hessians
2 φ' I + 4 φ'' (y - y_j)(y - y_j)ᵀ. Where its minimum lies is the leave-one-out map of Liu, Ma and Zhong, "Assessing and
improving reliability of neighbor embedding methods: a map-continuity perspective", Nature Communications, 2025.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.core.arithmetic import LINE
from mlcli.native.layouts import RadialSums

CACHED = 2**15  # numbers of a block of pairs, which stay in a core's cache
# a function of squared distances of any shape: its values and first derivatives, and at order 2 its second ones
Radial = Callable[[Array, int], tuple[Array, ...]]


@frozen
class Local:
    """Values (m), gradients (m x p) and, where they are asked for, Hessians (m x p x p) of functions of one place."""

    values: Array
    slopes: Array
    bends: Array | None = None

    def __add__(self, other: "Local") -> "Local":
        bends = None if self.bends is None or other.bends is None else self.bends + other.bends
        return Local(self.values + other.values, self.slopes + other.slopes, bends)

    def times(self, factors: Array) -> "Local":
        """Return the functions times factors (m)."""
        return Local(self.values * factors, self.slopes * factors[:, None],
                     None if self.bends is None else self.bends * factors[:, None, None])

    @classmethod
    def joined(cls, parts: "Sequence[Local]") -> "Local":
        """Return functions of several blocks, one after the other."""
        bends = [part.bends for part in parts if part.bends is not None]
        return cls(np.concatenate([part.values for part in parts]), np.concatenate([part.slopes for part in parts]),
                   np.concatenate(bends) if bends else None)


def bends_in(local: Local) -> Array:
    """Return the Hessians (m x p x p) of functions that have them."""
    assert local.bends is not None
    return local.bends


# places (m x p), points that are left out (m), and the order of the highest derivative -> sums over all other points
PairSums = Callable[[Array, Indices, int], Local]


def pair_sums(places: Array, points: Array, radial: Radial, own: Indices, order: int = 2) -> Local:
    """Return Σ_j φ(|y - y_j|²) at places y (m x p), over all points (n x p) but the `own` one of each place (m).

    It runs on one thread, and sums in the order of `native.layouts.student_sums`, whatever the other places.
    """
    blocks = row_blocks(len(places), CACHED, len(points))
    return Local.joined([block_sums(places[rows], points, radial, own[rows], order) for rows in blocks])


def block_sums(places: Array, points: Array, radial: Radial, own: Indices, order: int = 2) -> Local:
    """Return what `pair_sums` does for few places, all of whose pairs (n x m) the function gets at once.

    A place leaves out no point where its own one is not among these.
    """
    gaps = [place - axis[:, None] for place, axis in zip(places.T, np.ascontiguousarray(points.T), strict=True)]
    squares = gaps[0] * gaps[0]
    for gap in gaps[1:]:
        squares += gap * gap
    found, left_out = radial(squares, order), np.flatnonzero((own >= 0) & (own < len(points)))
    for numbers in found:
        numbers[own[left_out], left_out] = 0.0
    return _local(found, gaps, sum_in_lanes)


def sum_in_lanes(values: Array) -> Array:
    """Return the sums (m) of columns (n x m): every eighth number goes to one of eight sums, which are then added."""
    whole = len(values) // LINE
    lanes = np.add.reduce(values[: whole * LINE].reshape(whole, LINE, values.shape[1]), axis=0)
    lanes[: len(values) - whole * LINE] += values[whole * LINE :]
    found = np.zeros(values.shape[1])
    for lane in lanes:
        found += lane
    return found


def local_of(sums: RadialSums) -> Local:
    """Return functions of places (m x p) from the sums of a kernel over pairs."""
    count = sums.slopes.shape[1]
    if not sums.bends.shape[1]:
        return Local(sums.values, 2 * sums.slopes)
    bends = np.empty((len(sums.slopes), count, count))
    lower = np.tril_indices(count)
    bends[:, lower[0], lower[1]] = bends[:, lower[1], lower[0]] = 4 * sums.bends
    bends[:, np.arange(count), np.arange(count)] += 2 * sums.even[:, None]
    return Local(sums.values, 2 * sums.slopes, bends)


@frozen
class Entries:
    """Neighbors of m points in compressed rows: starts (m + 1), and a column and a weight of each entry (e)."""

    starts: Indices
    columns: AnyArray
    weights: Array
    width: int | None = None  # neighbors of each point, where all have as many

    def of(self, which: Indices) -> "Entries":
        """Return the neighbors of some of the points."""
        if self.width is not None:
            return Entries(np.arange(len(which) + 1) * self.width, self.columns.reshape(-1, self.width)[which].ravel(),
                           self.weights.reshape(-1, self.width)[which].ravel(), self.width)
        counts = np.diff(self.starts)[which]
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[which] - starts[:-1], counts)
        return Entries(starts, self.columns[places], self.weights[places])

    @property
    def rows(self) -> Indices:
        """The point of each entry, from 0 (e)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def totals(self) -> Array:
        """The sum of the weights of each point (m)."""
        return self.sum(self.weights)

    def sum(self, numbers: Array) -> Array:
        """Return the sums (m) of numbers of the entries (e)."""
        if self.width is not None:
            return np.asarray(np.sum(numbers.reshape(-1, self.width), axis=1))
        return np.asarray(np.bincount(self.rows, numbers, len(self.starts) - 1), dtype=np.float64)

    def means(self, points: Array) -> Array:
        """Return the weighted means (m x p) of the neighbors' points (n x p)."""
        sums = np.column_stack([self.sum(self.weights * axis[self.columns]) for axis in points.T])
        totals = self.totals
        return np.asarray(sums / np.where(totals > 0, totals, 1.0)[:, None])

    @property
    def first(self) -> Indices:
        """The first column of each point that has any, else the first of all points (m)."""
        there = np.diff(self.starts) > 0
        found = np.zeros(len(there), dtype=np.int64)
        found[there] = self.columns[self.starts[:-1][there]]
        return found


def entry_sums(entries: Entries, places: Array, points: Array, radial: Radial, order: int = 2) -> Local:
    """Return Σ w φ(|y - y_j|²) at a place y (m x p) for each row of entries, over its neighbors among points (n x p).

    It runs on one thread.
    """
    rows = entries.rows
    gaps = [place[rows] - axis[entries.columns] for place, axis in zip(places.T, points.T, strict=True)]
    squares = gaps[0] * gaps[0]
    for gap in gaps[1:]:
        squares += gap * gap
    found = [numbers * entries.weights for numbers in radial(squares, order)]
    return _local(found, gaps, entries.sum)


def _local(found: Sequence[Array], gaps: Sequence[Array], sums: Callable[[Array], Array]) -> Local:
    """Return what functions of squared distances of pairs sum to, by differences along p axes."""
    values, first, *second = found
    slopes = np.column_stack([2 * sums(first * gap) for gap in gaps])
    if not second:
        return Local(sums(values), slopes)
    count = len(gaps)
    bends, even = np.empty((len(slopes), count, count)), 2 * sums(first)
    for one in range(count):
        pulled = second[0] * gaps[one]
        for other in range(one + 1):
            bends[:, one, other] = bends[:, other, one] = 4 * sums(pulled * gaps[other])
        bends[:, one, one] += even
    return Local(sums(values), slopes, bends)


ROUNDS = 30  # of Jacobi's rotations, of which small matrices take up to ten


def eigen_of_each(matrices: Array) -> tuple[Array, Array]:
    """Return the eigenvalues (m x p), ascending, and eigenvectors (m x p x p, columns) of m symmetric matrices.

    By Jacobi's rotations of all matrices at once, with the same bits on every processor (Golub and Van Loan, "Matrix
    computations", 8.5).
    """
    work, size = np.array(matrices), matrices.shape[1]
    vectors = np.broadcast_to(np.eye(size), work.shape).copy()
    for _ in range(ROUNDS):
        if not np.triu(np.abs(work), 1).any():
            break
        for one in range(size):
            for other in range(one + 1, size):
                _rotate(work, vectors, one, other)
    values = np.diagonal(work, axis1=1, axis2=2)
    order = np.argsort(values, axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(vectors, order[:, None, :], axis=2)


def _rotate(work: Array, vectors: Array, one: int, other: int) -> None:
    """Make one entry off the diagonal zero in each of m symmetric matrices, in place."""
    first, last, off = work[:, one, one], work[:, other, other], work[:, one, other]
    apart = np.abs(off) > np.finfo(np.float64).eps / 4 * np.sqrt(np.abs(first)) * np.sqrt(np.abs(last))
    ratio = np.divide(last - first, 2 * off, out=np.zeros_like(off), where=apart)
    tangent = np.where(ratio < 0, -1.0, 1.0) / (np.abs(ratio) + np.sqrt(ratio * ratio + 1))
    cosine = np.where(apart, 1 / np.sqrt(tangent * tangent + 1), 1.0)
    sine = np.where(apart, tangent * cosine, 0.0)
    for sides in (work, work.transpose(0, 2, 1), vectors):  # columns, rows, and the columns of vectors
        left, right = sides[:, :, one].copy(), sides[:, :, other].copy()
        sides[:, :, one] = cosine[:, None] * left - sine[:, None] * right
        sides[:, :, other] = sine[:, None] * left + cosine[:, None] * right
    work[:, one, other] = work[:, other, one] = 0.0


class OwnLosses(ABC):
    """The losses of m inputs, each a function of a place in the layout, where a minimum is looked for."""

    @abstractmethod
    def at(self, which: Indices, places: Array) -> Local:
        """Return values and gradients of some of the losses at a place each (k x p), on one thread."""

    @abstractmethod
    def starts(self) -> Sequence[Array]:
        """Return places (m x p) from which a minimum may be reached, besides those of the points themselves."""


@frozen
class LayoutLosses:
    """The losses of all points of a layout (n x p), and those that moved inputs would have in a point's stead."""

    points: Array  # n x p
    bends: Array  # n x p x p, the Hessian of each point's own loss at its place
    features: Array | None = None  # n x d, the inputs, where these can be moved
    reach: float = 0.0  # the median distance of an input from the last of its neighbors
    width: int = 1  # numbers that the loss of an input takes
    keeps_lengths: bool = False  # whether distances in the layout have the unit of those between inputs
    # some points, and shifts (s x d) of inputs -> the losses of these, of all shifts of a point one after the other
    moved: "Callable[[slice, Array], OwnLosses] | None" = None


LIMIT = 60  # steps of a search
SURE = 1e-4  # of the decrease that the slope promises, which a step is to bring (Armijo)
SHORTER = 0.25  # factor of a step that brings less
SHORTEST = 1e-4  # of a step, after which the search ends
STILL = 1e-5  # step relative to the longest that ends the search
FLAT = 1e-3  # least curvature that is taken for a first step, relative to the largest


def first_inverses(bends: Array) -> Array:
    """Return positive inverses (m x p x p) of symmetric Hessians: of the absolute eigenvalues, small ones raised."""
    values, vectors = eigen_of_each(bends)
    sizes = np.abs(values)
    largest = sizes.max(axis=1, keepdims=True)
    sizes = np.maximum(sizes, np.where(largest > 0, FLAT * largest, 1.0))
    scaled = vectors / sizes[:, None, :]
    return np.asarray(np.sum(scaled[:, :, None, :] * vectors[:, None, :, :], axis=3))


def minimize_each(losses: OwnLosses, start: Array, inverses: Array, longest: float) -> tuple[Array, Array]:
    """Return the places (m x p) of the minima of m losses near a start (m x p), and the losses there (m).

    By the BFGS method from first inverse Hessians (m x p x p), each with steps of its own, no longer than `longest`
    (Nocedal and Wright, "Numerical optimization", 2006, 6.1). It runs on one thread.
    """
    places, moving = np.array(start), np.arange(len(start))
    now = losses.at(moving, places)
    values, slopes, inverse = now.values.copy(), now.slopes.copy(), np.array(inverses)
    shares = np.ones(len(start))
    steps = _bounded(-_products(inverse, slopes), longest)
    for _ in range(LIMIT):
        if not len(moving):
            break
        step = shares[moving, None] * steps[moving]
        ahead = losses.at(moving, places[moving] + step)
        sure = SURE * np.sum(step * slopes[moving], axis=1)
        taken = ahead.values <= values[moving] + sure
        rows, some = moving[taken], np.flatnonzero(taken)
        bend = ahead.slopes[some] - slopes[rows]
        places[rows] += step[some]
        values[rows], slopes[rows] = ahead.values[some], ahead.slopes[some]
        inverse[rows] = _updated(inverse[rows], step[some], bend)
        ended = np.abs(step).max(axis=1) <= STILL * longest
        follow = -_products(inverse[rows], slopes[rows])
        uphill = np.sum(follow * slopes[rows], axis=1) >= 0
        steps[rows] = _bounded(np.where(uphill[:, None], -slopes[rows], follow), longest)
        shares[rows] = 1.0
        shares[moving[~taken]] *= SHORTER
        moving = moving[~ended & (shares[moving] >= SHORTEST)]
    return places, values


def _products(matrices: Array, rows: Array) -> Array:
    return np.asarray(np.sum(matrices * rows[:, None, :], axis=2))


def _bounded(steps: Array, longest: float) -> Array:
    lengths = np.sqrt(np.sum(steps * steps, axis=1, keepdims=True))
    return np.where(lengths > longest, steps * (longest / np.where(lengths > 0, lengths, 1.0)), steps)


def _updated(inverse: Array, step: Array, bend: Array) -> Array:
    """Return inverse Hessians (m x p x p) after steps (m x p) with changes of the slope, where these are convex."""
    along = np.sum(step * bend, axis=1)
    sizes = np.sqrt(np.sum(step * step, axis=1) * np.sum(bend * bend, axis=1))
    convex = along > 1e-8 * sizes
    factor = np.where(convex, 1 / np.where(convex, along, 1.0), 0.0)
    bent = _products(inverse, bend)
    whole = factor * (1 + factor * np.sum(bend * bent, axis=1))
    crossed = step[:, :, None] * bent[:, None, :]
    return np.asarray(inverse + whole[:, None, None] * step[:, :, None] * step[:, None, :]
                      - factor[:, None, None] * (crossed + crossed.transpose(0, 2, 1)))


SOUGHT = 2**11  # searches of a block


def minima(losses: OwnLosses, begun: Array, inverses: Array, longest: float, *, everywhere: AnyArray) -> Array:
    """Return the places (m x p) where m losses are least, of those reached from their points' places (m x p).

    Where `everywhere` is true (m), the search also starts at the best of the losses' own starts. All threads work.
    """
    others = losses.starts()

    def work(rows: slice) -> Array:
        which = np.arange(rows.start, rows.stop)
        part = Part(losses, which)
        own, least = minimize_each(part, begun[rows], inverses[rows], longest)
        some = np.flatnonzero(everywhere[rows])
        if not len(others) or not len(some):
            return own
        from_others = Part(losses, which[some])
        heights = np.array([from_others.at(np.arange(len(some)), start[which[some]]).values for start in others])
        best = np.array(others)[heights.argmin(axis=0), which[some]]
        again, lower = minimize_each(from_others, best, inverses[which[some]], longest)
        better = lower < least[some]
        own[some[better]] = again[better]
        return own

    blocks = row_blocks(len(begun), SOUGHT)
    return np.vstack(list(in_order(work, blocks))) if blocks else np.zeros_like(begun)


@frozen
class Part(OwnLosses):
    """Some of several losses."""

    losses: OwnLosses
    rows: Indices

    def at(self, which: Indices, places: Array) -> Local:
        """Return values and gradients of some of these losses."""
        return self.losses.at(self.rows[which], places)

    def starts(self) -> Sequence[Array]:
        """Return the starts of these losses."""
        return [start[self.rows] for start in self.losses.starts()]
