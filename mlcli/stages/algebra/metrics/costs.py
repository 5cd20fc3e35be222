"""Predicted seconds of the distances of a metric."""

from mlcli.stages.algebra import costs
from mlcli.stages.algebra.metrics.base import Comparison


def distances_cost(metric: Comparison, points: int, columns: int, threads: int) -> float:
    """Seconds of the distances of all pairs, each computed once."""
    if metric.plain:
        return costs.kernel_cost(points, columns, threads)
    return points**2 / 2 * (columns * metric.column_seconds + 2e-9) / threads


def pairs_cost(metric: Comparison, points: int, columns: int, threads: int) -> float:
    """Seconds of the distances of all pairs, rows of them at a time, each compared with others."""
    if metric.plain:
        return costs.pairs_cost(points, columns, threads)
    return 2 * distances_cost(metric, points, columns, threads) + points**2 * 1e-8 / threads
