"""Steps of points along the edges of a fuzzy graph that are due, away from sampled points, and to keep local radii."""

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


def radii_rows(starts: Indices, columns: AnyArray, first: int, points: Array, curve: Array, least: float) -> Array:
    """Return log ρ, Σ φ and ρ = Σ φ d² / Σ φ + `least` of rows of points (m x 3), over the edges of each.

    The rows are points (n x p) from `first` on, with starts (m + 1) of their columns (int32), and φ is the membership
    in the layout. A row without edges is zero. Raises ValueError for edges out of range.
    """
    out = np.empty((len(starts) - 1, 3))
    kernels().radii_rows(starts, columns, first, points, curve, least, out)
    return out


def density_rows(edges: Edges, first: int, points: Array, *, pulls: Array, curve: Array, epoch: int, rate: float,
                 moved: Array) -> None:
    """Add to positions (m x p) of rows, points (n x p) from `first` on, a step that keeps local radii.

    `pulls` (n x 2) are what a point's change of φ d² and of φ weighs. Raises ValueError for edges out of range.
    """
    kernels().density_rows(*edges[:3], first, points, pulls, curve, epoch, rate, moved)
