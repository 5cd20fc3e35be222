"""The exact median of squared distances over all pairs of points under a metric: a sample, then one pass."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import stage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.stages.algebra.metrics import Fitted
from mlcli.stages.algebra.metrics.costs import distances_cost

TILE = 256  # points on a side of a tile
SAMPLE = 1000  # points whose pairs give a first estimate
SPREAD = 0.06  # share of ranks on each side of the sample's median; the median of all pairs is nearly always within


@frozen
class Range:
    """The squared distances within a range, and counts of those that are zero or below it."""

    zeros: int
    below: int  # but over zero
    values: Array


@stage("rate")
def median_square(metric: Fitted, points: Array) -> float:
    """Return the median of d² over all pairs of rows of an (n, d) array at a distance over zero; 0 for none."""
    rows, pairs = metric.represent(points), len(points) * (len(points) - 1) // 2
    low, high = 0.0, np.inf
    if len(points) > SAMPLE:
        some = _pass(metric, rows[np.linspace(0, len(rows) - 1, SAMPLE).astype(np.int64)], low, high).values
        if len(some):
            low, high = np.quantile(some, [0.5 - SPREAD, 0.5 + SPREAD]).tolist()
    while True:
        found = _pass(metric, rows, low, high)
        count = pairs - found.zeros
        if not count:
            return 0.0
        ranks = np.array([(count - 1) // 2, count // 2]) - found.below
        if ranks[0] >= 0 and ranks[1] < len(found.values):
            return float(np.partition(found.values, ranks)[ranks].mean())
        low, high = 0.0, np.inf


def rate_step(metric: Fitted, rows: int, columns: int, threads: int) -> Step:
    """Return the cost of the median: a pass over all pairs, and the memory of those near it."""
    share = 1.0 if rows <= SAMPLE else 4 * SPREAD
    return Step("rate", f"the median {metric.name} distance of all pairs, in one pass",
                distances_cost(metric, rows, columns, threads), 8.0 * share * rows**2)


def _pass(metric: Fitted, rows: Array, low: float, high: float) -> Range:
    """Collect the squared distances from `low` to `high`, but over zero, of all pairs of represented rows."""
    sides = row_blocks(len(rows), TILE)

    def work(tile: tuple[slice, slice]) -> Range:
        down, across = tile
        squares = np.square(metric.compare(rows[down], rows[across]))
        values = squares[np.triu_indices(len(squares), 1)] if down == across else squares.ravel()
        inside = (values >= low) & (values <= high) & (values > 0)
        return Range(int(np.sum(values == 0)), int(np.sum((values > 0) & (values < low))), values[inside])

    tiles = [(down, across) for i, down in enumerate(sides) for across in sides[i:]]
    parts = list(in_order(work, tiles, progress=True))
    return Range(sum(part.zeros for part in parts), sum(part.below for part in parts),
                 np.concatenate([part.values for part in parts]))
