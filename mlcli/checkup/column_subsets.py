"""Curse and blessing of dimensionality: distances between rows over the number of columns that they are taken from.

Each draw puts the columns in a random order, and takes the first 1, 2, 4, ... of them, up to all: its subsets are
nested, and the last one is the data. With more columns distances become alike (Beyer, Goldstein, Ramakrishnan and
Shaft, "When is 'nearest neighbor' meaningful?", ICDT 1999): the variation of squared distances of independent columns
falls by the root of their number. Differences between classes grow by the number of columns, and what varies besides by
its root, so that distances separate classes the better the more columns tell them apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import one_by_one
from mlcli.base.stages.stage import stage
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import shown
from mlcli.base.values.sample_size import sample_of
from mlcli.checkup.features import label_groups
from mlcli.checkup.report import ColumnSubsets, Interval, Separation, Skipped
from mlcli.core.euclidean_distances import squared_distances
from mlcli.data.options.wording import counted

CHECK = "column_subsets"  # its name in reports
DRAWS = 20  # orders of the columns
FEWEST, MOST = 10, 300  # rows: fewer make no curve, and of more a sample is compared
WORK = 1.2e10  # multiplications of all draws, which limit the sample of a wide table
LEAST = 1e-60  # of the largest standard deviation: columns that vary less are left out, so that powers do not vanish
INTERVAL = 0.1, 0.5, 0.9  # quantiles over draws


@stage("column subsets")
def subsets_of(values: Array, labels: Mapping[str, Sequence[str]],
               compute: Compute) -> tuple[ColumnSubsets | None, list[Skipped]]:
    """Return how distances between rows (n x d), of numbers of at most one in size, depend on the number of columns.

    A label of the rows has a curve if it has 2 to 50 values; rows without a value do not count there. Of many rows a
    seeded sample is compared. The first is None for fewer than two columns that vary, or fewer than `FEWEST` rows; the
    second says so, and which labels have no curve.
    """
    generator = compute.generator()
    affordable = int(np.sqrt(WORK / (DRAWS * max(1, values.shape[1]))))
    rows = sample_of(len(values), min(MOST, max(affordable, 5 * FEWEST)), generator)
    varying = values[rows][:, np.ptp(values[rows], axis=0) > 0]
    points = varying - varying.mean(axis=0)
    deviations = points.std(axis=0)
    points = points[:, deviations > LEAST * deviations.max(initial=0.0)]
    if len(points) < FEWEST:
        return None, [Skipped(CHECK, f"it takes {FEWEST} rows, and {counted(len(points), 'row')} can be compared")]
    if points.shape[1] < 2:
        small = f" by more than {LEAST:g} of the one that varies most" if varying.shape[1] > 1 else ""
        return None, [Skipped(CHECK, f"it takes two columns that vary{small}")]
    sizes = nested_sizes(points.shape[1])
    orders = [generator.permutation(points.shape[1]) for _ in range(DRAWS)]
    groups, reasons = label_groups(labels, rows)
    curves = [curves_of(points, order, sizes, groups) for order in one_by_one(orders)]
    pairs = PairSums.of(points)
    within = {name: PairSums.within(points, codes) for name, codes in groups.items()}
    labeled = {name: PairSums.of(points[codes >= 0]) for name, codes in groups.items()}
    variation = intervals(curve.variation for curve in curves)
    return ColumnSubsets(
        rows=len(points), draws=DRAWS, sizes=sizes, nearest_over_farthest=intervals(curve.nearest for curve in curves),
        variation=variation, variation_independent=medians(pairs.variation(order, sizes) for order in orders),
        independent_columns=2 / variation[-1].median**2,
        separation=tuple(Separation(
            label=name, values=int(codes.max()) + 1, nearer=intervals(curve.nearer[name] for curve in curves),
            nearer_independent=medians(separation(within[name], labeled[name].less(within[name]), order, sizes)
                                       for order in orders)) for name, codes in groups.items())), [
        Skipped(f"{CHECK}.separation of {shown(name)}", reason) for name, reason in reasons.items()]


def nested_sizes(columns: int) -> tuple[int, ...]:
    """Return 1, 2, 4, ... below the number of columns, and that number."""
    return (*(2**power for power in range((columns - 1).bit_length())), columns)


@frozen
class SubsetCurves:
    """Figures of the nested subsets of one draw, in the order of their sizes (m each)."""

    nearest: Array  # the nearest row's distance over the farthest row's, the median over rows
    variation: Array  # standard deviation of squared distances over their mean
    nearer: Mapping[str, Array]  # by label: the share of comparisons in which rows of one value are nearer


def curves_of(points: Array, order: Indices, sizes: Sequence[int], groups: Mapping[str, Indices]) -> SubsetCurves:
    """Return the figures of the first columns of points (n x d) in an order (d), for groups of rows (n each)."""
    upper = np.triu_indices(len(points), 1)
    of_pairs = {name: (codes[upper[0]], codes[upper[1]]) for name, codes in groups.items()}
    same = {name: (one >= 0) & (one == other) for name, (one, other) in of_pairs.items()}
    different = {name: (one != other) & (one >= 0) & (other >= 0) for name, (one, other) in of_pairs.items()}
    squared = np.zeros((len(points), len(points)))
    nearest, variation, nearer = [], [], {name: list[float]() for name in groups}
    for low, high in pairwise((0, *sizes)):
        block = points[:, order[low:high]]
        squared += squared_distances(block, block)
        farthest = squared.max(axis=1)
        np.fill_diagonal(squared, np.inf)
        nearest.append(float(np.median(np.sqrt(squared.min(axis=1) / farthest))))
        np.fill_diagonal(squared, 0.0)
        apart = squared[upper] / squared.max()
        variation.append(float(apart.std() / apart.mean()))
        for name, alike in same.items():
            nearer[name].append(share_below(apart[alike], apart[different[name]]))
    return SubsetCurves(np.array(nearest), np.array(variation), {name: np.array(line) for name, line in nearer.items()})


def share_below(one: Array, other: Array) -> float:
    """Return the probability that a number of one array (m) is below one of another (n), ties counted by half.

    It is the area under the receiver operating characteristic, U/(mn) of Mann and Whitney (1947).
    """
    one, other = np.sort(one), np.sort(other)
    below, ties = (np.searchsorted(one, other, side) for side in ("left", "right"))
    return float((below + ties).mean() / (2 * len(one)))


@frozen
class PairSums:
    """Sums over pairs of rows, for each of d columns, of the second and the fourth power of differences."""

    pairs: float
    squares: Array
    fourths: Array

    @classmethod
    def of(cls, points: Array) -> "PairSums":
        """Return the sums over all pairs of points (n x d): n S₂, and n S₄ + 3 S₂² of sums of powers of deviations."""
        centered = points - points.mean(axis=0)
        squares = centered**2
        second, fourth, size = squares.sum(axis=0), (squares**2).sum(axis=0), len(points)
        return cls(size * (size - 1) / 2, size * second, size * fourth + 3 * second**2)

    @classmethod
    def within(cls, points: Array, codes: Indices) -> "PairSums":
        """Return the sums over the pairs of points (n x d) in the same group (n)."""
        groups = [cls.of(points[codes == group]) for group in range(int(codes.max()) + 1)]
        return cls(sum(group.pairs for group in groups), np.sum([group.squares for group in groups], axis=0),
                   np.sum([group.fourths for group in groups], axis=0))

    def less(self, some: "PairSums") -> "PairSums":
        """Return the sums over all other pairs than some."""
        return PairSums(self.pairs - some.pairs, self.squares - some.squares, self.fourths - some.fourths)

    @property
    def means(self) -> Array:
        """The means of squared differences (d)."""
        return self.squares / self.pairs

    @property
    def variances(self) -> Array:
        """The variances of squared differences (d), over the number of pairs."""
        return np.maximum(self.fourths / self.pairs - self.means**2, 0.0)

    def variation(self, order: Indices, sizes: Sequence[int]) -> Array:
        """Return the variation of squared distances over the first columns in an order, if these were independent.

        Means and variances of independent columns add up: of d alike it falls as 1/√d.
        """
        last = np.array(sizes) - 1
        return np.asarray(np.sqrt(np.cumsum(self.variances[order])[last]) / np.cumsum(self.means[order])[last])


def separation(within: PairSums, between: PairSums, order: Indices, sizes: Sequence[int]) -> Array:
    """Return the probability that a pair within is nearer than one between, if columns in an order were independent.

    Sums of many are normal: it is Φ(d'/√2) of d', the difference of the means of squared distances over the root of
    their mean variance, which grows as the root of the number of columns (Green and Swets, "Signal detection theory and
    psychophysics", 1966).
    """
    from scipy.special import ndtr

    last = np.array(sizes) - 1
    apart = np.cumsum((between.means - within.means)[order])[last]
    spread = np.sqrt(np.cumsum((between.variances + within.variances)[order])[last] / 2)
    with np.errstate(divide="ignore"):  # a column with one value in each class
        return np.asarray(ndtr(apart / spread / np.sqrt(2)))


def intervals(lines: Iterable[Array]) -> tuple[Interval, ...]:
    """Return the median and the interval of four fifths of all draws at each size (m), of the curves of draws."""
    low, middle, high = np.quantile(np.stack(list(lines)), INTERVAL, axis=0)
    return tuple(Interval(*found) for found in zip(middle.tolist(), low.tolist(), high.tolist(), strict=True))


def medians(lines: Iterable[AnyArray]) -> tuple[float, ...]:
    """Return the median of all draws at each size (m)."""
    return tuple(np.median(np.stack(list(lines)), axis=0).tolist())
