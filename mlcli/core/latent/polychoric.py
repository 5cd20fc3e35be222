"""Polychoric correlations of ordered answers: of the normal variables that thresholds cut into answers.

Two steps: the thresholds of each item are normal quantiles of its cumulative shares; then the correlation of each pair
maximizes Σ w ln P over the cells of its table, with w the cell's share of the rows, and P the probability of its
rectangle. An empty cell of a table of two by two answers, which would make the correlation one, counts as half an
answer; larger tables are taken as they are. Source: Olsson, "Maximum likelihood estimation of the polychoric
correlation coefficient", 1979; these are the thresholds and corrections of R's psych (`polychoric` with `global`,
`tetrachoric`) and lavaan.
"""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note, stage
from mlcli.base.types import Array, Indices
from mlcli.core.linalg import symmetric_eigen
from mlcli.errors import DataError

MOST = 10  # different answers of an item
CORRECTION = 0.5  # of an answer, in place of none, in tables of two by two
FAR = 40.0  # a threshold beyond all others: its tail is less than any double
GRID = np.sin(np.linspace(-0.5 * np.pi, 0.5 * np.pi, 35)[1:-1])  # correlations among which the best is refined
ENDS = 1 - 1e-13
STEPS, STILL = 100, 1e-14  # of the search, and a move at which it ends
LEAST = 1e-18  # probability of a rectangle, whose rounding is larger
PAIRS = 2048  # pairs of items in a block of work
SMALL, REPLACED = 1e-12, 1e-10  # an eigenvalue that is too small, and the one that takes its place (psych's)


@frozen
class ItemAnswers:
    """Answers to items as places among the item's levels, and the thresholds between these."""

    places: Indices  # n x d
    counts: Indices  # d, levels
    thresholds: Array  # d x (most levels - 1), FAR beyond the last one of an item

    @classmethod
    def of(cls, points: Array, columns: Sequence[str]) -> "ItemAnswers":
        """Return the answers of points (n x d); raises DataError for a column of more than ten values."""
        places, counts, cuts = np.empty(points.shape, dtype=np.int64), [], []
        for column, name in enumerate(columns):
            levels, places[:, column], sizes = np.unique(points[:, column], return_inverse=True, return_counts=True)
            if len(levels) > MOST:
                raise DataError("ITEM-VALUES", f"column {name[:80]!r} has {len(levels):,} different values, and "
                                f"polychoric correlations are of items with {MOST} answers at most", where="input",
                                hint="leave the column out with {input.columns}, or choose "
                                "{method.correlations=pearson}")
            counts.append(len(levels))
            cuts.append(quantile(np.cumsum(sizes)[:-1] / len(points)))
        thresholds = np.full((len(columns), max(counts, default=1) - 1), FAR)
        for row, cut in zip(thresholds, cuts, strict=True):
            row[: len(cut)] = cut
        return cls(places, np.array(counts, dtype=np.int64), thresholds)

    def tables(self, first: Indices, second: Indices) -> Array:
        """Return the tables (m x k x k) of pairs of items (m), as shares of the rows; those of two by two corrected."""
        rows, most = len(self.places), int(self.counts.max())
        found = np.zeros((len(first), most, most))
        for number, (one, other) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            cells = np.bincount(self.places[:, one] * most + self.places[:, other], minlength=most * most)
            found[number] = cells.reshape(most, most)
        small = (self.counts[first] == 2) & (self.counts[second] == 2)
        found[small, :2, :2] = np.where(found[small, :2, :2] == 0, CORRECTION, found[small, :2, :2])
        return found / rows


@frozen
class Polychoric:
    """Polychoric correlations."""

    matrix: Array  # d x d, positive definite
    pairs: Array  # d x d, each of its own pair
    answers: ItemAnswers

    @property
    def smooth(self) -> bool:
        """Whether the correlations of the pairs were changed to fit together."""
        return bool(np.any(self.matrix != self.pairs))


@stage("polychoric correlations")
def polychoric_correlations(points: Array, columns: Sequence[str]) -> Polychoric:
    """Return the polychoric correlations of points (n x d), whose columns have at least two values each.

    Raises DataError for a column of more than ten. Notes tables with empty cells, and a matrix that is not definite.
    """
    answers = ItemAnswers.of(points, columns)
    size = len(columns)
    first, second = np.triu_indices(size, 1)
    pairs, empty = np.eye(size), 0
    for start in range(0, len(first), PAIRS):
        one, other = first[start: start + PAIRS], second[start: start + PAIRS]
        tables = answers.tables(one, other)
        empty += int(np.sum((tables * len(points) == CORRECTION).any(axis=(1, 2))))
        pairs[one, other] = ItemPairs(tables, answers.thresholds[one], answers.thresholds[other]).maximize()
    pairs = np.triu(pairs, 1) + np.triu(pairs, 1).T + np.eye(size)
    if empty:
        note("N-EMPTY-CELLS", f"{empty} of {len(first)} pairs of items of two answers have a combination that nobody "
             f"gave; it counts as {CORRECTION} of an answer", pairs=empty)
    matrix = definite(pairs)
    if matrix is not pairs:
        note("W-SMOOTHED", "the polychoric correlations are not positive definite; they were smoothed: eigenvalues "
             f"that are too small became {REPLACED:g}. Chi-square of factors and what follows from it are then of "
             "little use")
    return Polychoric(matrix, pairs, answers)


def definite(correlations: Array) -> Array:
    """Return correlations (d x d) as they are, or with eigenvalues below 1e-12 replaced, and ones in the diagonal."""
    values, vectors = symmetric_eigen(correlations)
    if values[-1] >= SMALL:
        return correlations
    values = np.where(values < SMALL, REPLACED, values)
    found = (vectors * values) @ vectors.T
    roots = np.sqrt(np.diag(found))
    found = found / np.outer(roots, roots)
    found = (found + found.T) / 2
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


@frozen
class ItemPairs:
    """Tables of pairs of items, and the thresholds of both items of each."""

    tables: Array  # m x k x k, as shares of the rows
    first: Array  # m x (k - 1)
    second: Array  # m x (k - 1)

    def objective(self, rho: Array) -> Array:
        """Return Σ w ln P of each pair (m) at correlations (m)."""
        cells = rectangles(normal_below(*self._broadcast(rho)), self.first, self.second)
        return np.asarray((self.tables * np.log(np.maximum(cells, LEAST))).sum(axis=(1, 2)))

    def slope(self, rho: Array) -> Array:
        """Return the derivative of the objective by the correlation, of each pair (m)."""
        h, k, r = self._broadcast(rho)
        cells = np.maximum(rectangles(normal_below(h, k, r), self.first, self.second), LEAST)
        rest = 1 - r**2
        density = np.exp(-(h**2 - 2 * r * h * k + k**2) / (2 * rest)) / (2 * np.pi * np.sqrt(rest))
        change = np.diff(np.diff(np.pad(density, ((0, 0), (1, 1), (1, 1))), axis=1), axis=2)
        return np.asarray((self.tables * change / cells).sum(axis=(1, 2)))

    def _broadcast(self, rho: Array) -> tuple[Array, Array, Array]:
        return self.first[:, :, None], self.second[:, None, :], rho[:, None, None]

    def maximize(self) -> Array:
        """Return the correlations (m) at which the tables are most likely.

        The best of a grid is refined by the root of the slope: secants with halved values (Illinois), and bisections.
        """
        values = np.stack([self.objective(np.full(len(self.tables), rho)) for rho in GRID])
        best, top = values.argmax(axis=0), values.max(axis=0)
        edges = np.concatenate([[-ENDS], GRID, [ENDS]])
        low, high, middle = edges[best], edges[best + 2], GRID[best]
        for end in (low, high):  # which may be a correlation of one, or nearly
            middle = np.where(self.objective(end) > top, end, middle)
        inside, side = middle == GRID[best], np.zeros(len(self.tables), dtype=np.int64)
        at_low = np.maximum(self.slope(low), LEAST)  # near a correlation of one it may be rounding
        at_high = np.minimum(self.slope(high), -LEAST)
        for step in range(STEPS):
            secant = (low * at_high - high * at_low) / (at_high - at_low)
            halved = (step % 4 == 3) | ~((secant > low) & (secant < high))
            moved = np.where(inside, np.where(halved, (low + high) / 2, secant), middle)
            still = np.abs(moved - middle) <= STILL
            middle = moved
            if (still | ~inside).all():
                break
            at = self.slope(middle)
            rises = at > 0
            at_high = np.where(rises & (side > 0), at_high / 2, np.where(rises, at_high, at))
            at_low = np.where(~rises & (side < 0), at_low / 2, np.where(rises, at, at_low))
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
            side = np.where(rises, 1, -1)
        return middle


def rectangles(below: Array, one: Array, other: Array) -> Array:
    """Return the probabilities of rectangles (m x k x k) between thresholds, of P(X < h, Y < k) at these."""
    from scipy.special import ndtr

    whole = np.pad(below, ((0, 0), (1, 1), (1, 1)))
    whole[:, -1, 1:-1], whole[:, 1:-1, -1], whole[:, -1, -1] = ndtr(other), ndtr(one), 1.0
    return np.asarray(np.diff(np.diff(whole, axis=1), axis=2))


def normal_below(h: Array, k: Array, rho: Array) -> Array:
    """Return P(X < h, Y < k) of standard normal variables with a correlation between -1 and 1, by broadcasting.

    Owen's function gives it to rounding (Owen, "Tables for computing bivariate normal probabilities", 1956).
    """
    from scipy.special import ndtr, owens_t

    h, k = np.where(h == 0, 1e-300, h), np.where(k == 0, 1e-300, k)
    root = np.sqrt((1 - rho) * (1 + rho))
    with np.errstate(over="ignore"):
        first, second = (k - rho * h) / (h * root), (h - rho * k) / (k * root)
    apart = np.where(h * k > 0, 0.0, np.where((h < 0) == (k < 0), 0.0, 0.5))
    return np.asarray((ndtr(h) + ndtr(k)) / 2 - owens_t(h, first) - owens_t(k, second) - apart)


def quantile(shares: Array) -> Array:
    """Return the normal quantiles of shares."""
    from scipy.special import ndtri

    return np.asarray(ndtri(shares))
