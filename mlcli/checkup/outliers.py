"""Rows far from all others: from the center in robust units, and from their nearest points."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.checkup.unusual import Far, Outliers
from mlcli.core.graph.search import Lists

FEWEST = 10  # rows needed to call one an outlier
SPREADS = {"center": 5.0, "neighbors": 6.0}  # beyond the median, in spreads of the logarithm
NEAR = 5  # rank of the neighbor whose distance counts: a group of up to as many far rows is detected
FARTHEST = 1e150  # largest number of median deviations: its square does not overflow
LISTED = 5


def outliers_of(values: Array | None, columns: Sequence[str], ids: Sequence[str], lists: Lists | None) -> Outliers:
    """Find outliers among `values`, an (n, d) array if not None, and by `lists` of equally many nearest neighbors."""
    center = neighbors = None
    if values is not None and len(values) >= FEWEST:
        lengths, widest = from_center(values)
        center = far_rows(lengths, ids, "center", [columns[column] for column in widest])
    if lists is not None and len(lists.counts) >= FEWEST:
        nearest = lists.lengths.reshape(len(lists.counts), -1)
        neighbors = far_rows(nearest[:, min(NEAR, nearest.shape[1]) - 1], ids, "neighbors")
    return Outliers(center, neighbors)


def far_rows(lengths: Array, ids: Sequence[str], rule: str, columns: Sequence[str] = ()) -> Far:
    """Find the rows whose length, in an (n,) array of numbers of at least zero, is far beyond that of the others.

    With q the quantiles of the logarithms of lengths above zero, a row is far away beyond q50 + s (q90 -
    q50), s being `SPREADS`: no row of 1,000 is, of normal, uniform, log-normal or Student's t points with 3
    degrees of freedom. Up to a tenth of the rows may be far away without hiding each other.
    """
    positive = lengths > 0
    logs = np.log(lengths, where=positive, out=np.full(len(lengths), -np.inf))
    if positive.sum() < FEWEST:
        return Far(0, float("inf"), ())
    median, high = np.quantile(logs[positive], [0.5, 0.9])
    limit = median + SPREADS[rule] * max(high - median, np.finfo(float).eps)
    beyond = np.flatnonzero(logs > limit)
    worst = beyond[np.argsort(-logs[beyond], kind="stable")[:LISTED]]
    with np.errstate(over="ignore"):  # infinitely far, where lengths differ by more than the range of numbers
        return Far(len(beyond), float(np.exp(limit - median)), tuple(
            (str(ids[row]), float(np.exp(logs[row] - median)), columns[row] if columns else "")
            for row in worst.tolist()))


def from_center(values: Array) -> tuple[Array, Indices]:
    """Return the length of each row's deviations from the medians, and the column that contributes most.

    Returns two (n,) arrays for an (n, d) array. Deviations are in median absolute deviations of each
    column. Columns with a median deviation of zero (more than half of their values equal) are left out.
    """
    squares, largest, widest = np.zeros(len(values)), np.zeros(len(values)), np.zeros(len(values), dtype=np.int64)
    for column in range(values.shape[1]):
        exponent = np.frexp(np.abs(values[:, column]).max())[1]
        inside = np.ldexp(values[:, column], -exponent)  # differences cannot overflow
        apart = np.abs(inside - np.median(inside))
        usual = np.median(apart)
        if usual > 0:
            with np.errstate(over="ignore"):
                squared = np.minimum(apart / usual, FARTHEST) ** 2
            squares += squared
            wider = squared > largest
            largest[wider], widest[wider] = squared[wider], column
    return np.sqrt(squares), widest
