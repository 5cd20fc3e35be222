"""Steps of points along the edges of a fuzzy graph that are due, and away from sampled points."""

from typing import NamedTuple

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels


class Edges(NamedTuple):
    """Edges of rows: starts (m + 1), other ends (int32), rates (uint32) and numbers (int32) of each."""

    starts: Indices
    columns: AnyArray
    rates: AnyArray
    numbers: AnyArray


class Draw(NamedTuple):
    """What is drawn in a step: how many samples an edge has, the epoch, and the key of its counter."""

    samples: int
    epoch: int
    key: int


def sample_rows(edges: Edges, own: Array, first: int, points: Array, curve: Array, draw: Draw,
                rate: float) -> tuple[Array, float, int]:
    """Return positions (m x p) of rows after a step from `own` among points (n x p), its cost, and the edges due.

    `first` is the number of the first row among the points, or -1 where the rows are none of them; `curve` holds a, b,
    the weight of samples, the least denominator and the largest force. Raises ValueError for edges out of range.
    """
    moved = np.empty_like(own)
    cost, due = kernels().sample_rows(*edges, own, first, points, curve, draw.samples, draw.epoch, draw.key, rate,
                                      moved)
    return moved, cost, due
