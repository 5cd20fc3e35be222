"""How much of the first axes a label explains: groups of the rows that a picture will show, wanted or not."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.checkup.unusual import LabelFacts
from mlcli.stages.algebra.linalg import leading_eigen

AXES = 2  # principal components that a label is held against
MOST = 50  # values of a label, and
SAMPLE = 2000  # rows
ROUNDING = 1e-12  # of the first eigenvalue: components of no more are none
ROWS = 3  # rows for each of them, at least, on average


def labels_of(data: Features, labels: Mapping[str, Sequence[str]], compute: Compute) -> tuple[LabelFacts, ...]:
    """The shares of the first principal components that labels with few values explain; of many rows, of a sample."""
    size = len(data.values)
    rows = np.arange(size) if size <= SAMPLE else np.sort(compute.generator().choice(size, SAMPLE, replace=False))
    groups = dict(label_groups({name: [texts[row] for row in rows.tolist()] for name, texts in labels.items()}))
    axes = components(data.normalized().values[rows]) if groups else ()
    return tuple(LabelFacts(name, int(codes.max()) + 1, tuple(epsilon_squared(axis, codes) for axis in axes))
                 for name, codes in groups.items())


def components(values: Array) -> Array:
    """The first principal components (p x n) of points (n x d), of length one."""
    centered = values - values.mean(axis=0)
    eigenvalues, leading = leading_eigen(centered @ centered.T)
    return leading(min(AXES, int((eigenvalues > ROUNDING * eigenvalues[0]).sum()))).T


def label_groups(labels: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Indices]]:
    """Labels that divide the rows into few groups, as numbers of these."""
    for name, texts in labels.items():
        values, codes = np.unique(np.array(texts), return_inverse=True)
        if 2 <= len(values) <= min(MOST, len(texts) // ROWS):
            yield name, codes.astype(np.int64)


def epsilon_squared(axis: Array, codes: Indices) -> float:
    """The share of an axis's variance between groups, less what groups drawn by chance would have: epsilon squared.

    ε² = 1 - (1 - η²)(n - 1)/(n - g), at least 0, with η² the sum of squares between g groups over the total (Kelley,
    1935).
    """
    size, sizes = len(axis), np.bincount(codes)
    centered = axis - axis.mean()
    means = np.bincount(codes, centered) / sizes
    total = float(centered @ centered)
    share = float(sizes @ means**2) / total if total > 0 else 0.0
    return max(0.0, 1 - (1 - share) * (size - 1) / (size - len(sizes)))
