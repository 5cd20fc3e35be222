"""The triangle inequality on a sample of triples: how squared distances are recognized."""

from itertools import combinations

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices

SAMPLE = 10_000
ALL = 39  # points that have no more triples than the sample
SHARE = 0.2
SLACK = 1e-9  # relative, for points on a line


def warn_if_squared(values: Array) -> None:
    """Notes dissimilarities that violate the triangle inequality in more than a fifth of the triples."""
    share = violations(values)
    if share > SHARE:
        note("W-LOOKS-SQUARED", f"the triangle inequality fails in {share:.0%} of the triples, as it does for squared "
             "distances; if they are squared, give {input.squared=true}", share=share)


def violations(values: Array) -> float:
    """The share of triples in which one side is longer than the other two together."""
    if len(values) < 3:
        return 0.0
    first, second, third = triples(len(values)).T
    halves = np.stack([values[first, second], values[second, third], values[third, first]]) * 0.5  # no overflow
    halves.sort(axis=0)
    return float(np.mean(halves[2] > (halves[0] + halves[1]) * (1 + SLACK)))


def triples(size: int) -> Indices:
    """Three different points a row: all of them, or a fixed sample."""
    if size <= ALL:
        return np.array(list(combinations(range(size), 3)), dtype=np.int64)
    drawn = np.random.default_rng(0).integers(0, [size, size - 1, size - 2], (SAMPLE, 3))
    first, second, third = drawn.T
    second = second + (second >= first)
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = third + (third >= low)
    return np.stack([first, second, third + (third >= high)], axis=1)
