"""The triangle inequality on a sample of triples, a test for squared distances."""

from itertools import combinations

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.units import percent

SAMPLE = 10_000
ALL = 39  # most points whose triples are all tried
SHARE = 0.2
SLACK = 1e-9  # relative, for points on a line


def warn_if_squared(values: Array) -> None:
    """Warn if an (n, n) array violates the triangle inequality in more than a fifth of the triples."""
    share = violation_share(values)
    if share > SHARE:
        note("W-LOOKS-SQUARED", f"the triangle inequality fails in {percent(share, 0)} of the triples, as it does for "
             "squared distances; if they are squared, give {input.squared=true}", share=share)


def violation_share(values: Array) -> float:
    """Return the share of triples of an (n, n) array with a side longer than the other two combined."""
    if len(values) < 3:
        return 0.0
    first, second, third = triples(len(values)).T
    halves = np.stack([values[first, second], values[second, third], values[third, first]]) * 0.5  # no overflow
    halves.sort(axis=0)
    return float(np.mean(halves[2] > (halves[0] + halves[1]) * (1 + SLACK)))


def triples(size: int) -> Indices:
    """Return three different points in each row of an (m, 3) array: all triples, or a fixed sample."""
    if size <= ALL:
        return np.array(list(combinations(range(size), 3)), dtype=np.int64)
    drawn = np.random.default_rng(0).integers(0, [size, size - 1, size - 2], (SAMPLE, 3))
    first, second, third = drawn.T
    second = second + (second >= first)
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = third + (third >= low)
    return np.stack([first, second, third + (third >= high)], axis=1)
