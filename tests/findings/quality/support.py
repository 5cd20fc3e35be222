"""Measures of an embedding as the definitions have them, point by point and pair by pair."""

from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.findings.quality.measure import quality
from tests import support


def measured(points: Any, embedding: Array, **options: Any) -> dict[str, Any]:
    """What quality.json would say."""
    source = support.features(points) if isinstance(points, np.ndarray) else points
    return quality(source, embedding, generator=np.random.default_rng(0), **options).figures


def order(distances: Array) -> list[list[int]]:
    """The other points of each point, by (distance, index)."""
    return [[j for j in np.argsort(row, kind="stable").tolist() if j != i] for i, row in enumerate(distances)]


def intrusion(source: Array, embedded: Array, k: int) -> float:
    """One less the scaled sum over the k nearest in the embedding of how far their rank in the source is beyond k."""
    n, ranks = len(source), [{j: r for r, j in enumerate(row, 1)} for row in order(source)]
    excess = sum(max(ranks[i][j] - k, 0) for i, row in enumerate(order(embedded)) for j in row[:k])
    return 1 - 2 * excess / (n * k * (2 * n - 3 * k - 1))


def overlap(source: Array, embedded: Array, k: int) -> float:
    """The share of the k nearest that both spaces name."""
    pairs = zip(order(source), order(embedded), strict=True)
    return float(np.mean([len({*left[:k]} & {*right[:k]}) / k for left, right in pairs]))
