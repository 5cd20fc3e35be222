"""Shares of the first principal axes that labels explain: groups that the scatter plot will show."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.checkup.unusual import LabelFacts
from mlcli.core.linalg import leading_eigen

AXES = 2  # principal components that labels are compared with
MOST = 50  # most values of a label
SAMPLE = 2000  # most rows
ROUNDING = 1e-12  # of the first eigenvalue: components of no more count as zero
ROWS = 3  # least average number of rows for each value


def labels_of(data: Features, labels: Mapping[str, Sequence[str]], compute: Compute) -> tuple[LabelFacts, ...]:
    """Return the shares of the first principal components that labels explain, on at most 2,000 rows."""
    size = len(data.values)
    rows = np.arange(size) if size <= SAMPLE else np.sort(compute.generator().choice(size, SAMPLE, replace=False))
    groups = dict(label_groups({name: [texts[row] for row in rows.tolist()] for name, texts in labels.items()}))
    axes = components(data.normalized().values[rows]) if groups else ()
    return tuple(LabelFacts(name, int(codes.max()) + 1, tuple(epsilon_squared(axis, codes) for axis in axes))
                 for name, codes in groups.items())


def components(values: Array) -> Array:
    """Return the first principal components of an (n, d) array of points, each of length one, as a (p, n) array."""
    centered = values - values.mean(axis=0)
    eigenvalues, leading = leading_eigen(centered @ centered.T)
    return leading(min(AXES, int((eigenvalues > ROUNDING * eigenvalues[0]).sum()))).T


def label_groups(labels: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Indices]]:
    """Yield labels that divide the rows into few groups, with the group number of each row."""
    for name, texts in labels.items():
        values, codes = np.unique(np.array(texts), return_inverse=True)
        if 2 <= len(values) <= min(MOST, len(texts) // ROWS):
            yield name, codes.astype(np.int64)


def epsilon_squared(axis: Array, codes: Indices) -> float:
    """Return ε², the share of the variance of an axis between groups, corrected for groups drawn by chance.

    ε² = 1 - (1 - η²)(n - 1)/(n - g), at least 0, with η² the sum of squares between g groups over the total
    (Kelley, 1935). `axis` and `codes`, the group of each row, are (n,) arrays.
    """
    size, sizes = len(axis), np.bincount(codes)
    centered = axis - axis.mean()
    means = np.bincount(codes, centered) / sizes
    total = float(centered @ centered)
    share = float(sizes @ means**2) / total if total > 0 else 0.0
    return max(0.0, 1 - (1 - share) * (size - 1) / (size - len(sizes)))
