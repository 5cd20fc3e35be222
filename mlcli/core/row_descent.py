"""Minimization of many small problems at once, one for each row, by BFGS with a halving line search.

Source: Nocedal and Wright, "Numerical Optimization", 2006, chapter 6.
"""

from typing import Protocol, Self

import numpy as np

from mlcli.base.types import AnyArray, Array

STEPS = 200
HALVINGS = 20
DESCENT = 1e-4  # least share of the decrease predicted by the slope (Armijo)
SMALL = 1e-12  # relative decrease of the objective below which the search ends


class RowObjective(Protocol):
    """An objective of each row at a point of its own."""

    def take(self, chosen: AnyArray) -> Self:
        """Return the objective of some of the rows, by an index or mask."""

    def __call__(self, points: Array) -> tuple[Array, Array]:
        """Return the objective of every row (m) at its point (m x p), and its gradient (m x p)."""


def descend(rows: RowObjective, points: Array, farthest: float) -> tuple[Array, Array]:
    """Minimize from points (m x p) by steps no longer than `farthest`; return points (m x p) and objectives (m)."""
    size = points.shape[1]
    points, (values, slopes) = points.copy(), rows(points)
    bends = np.broadcast_to(np.eye(size), (len(points), size, size)).copy()  # inverses of Hessians
    active = np.isfinite(values)
    fresh = np.ones(len(points), dtype=bool)
    for _ in range(STEPS):
        if not active.any():
            break
        here = np.flatnonzero(active)
        steps = _directions(bends[here], slopes[here], farthest, fresh[here])
        hopeful = -np.einsum("ij,ij->i", steps, slopes[here]) > SMALL * np.maximum(np.abs(values[here]), 1.0)
        active[here[~hopeful]] = False
        here, steps = here[hopeful], steps[hopeful]
        moved, reached, slope, lower = _line_search(rows.take(here), points=points[here], values=values[here],
                                                    slopes=slopes[here], steps=steps)
        shift, change = moved - points[here], slope - slopes[here]
        curved = np.einsum("ij,ij->i", shift, change)
        keep = lower & (curved > 0)
        bends[here[keep]] = _update_bfgs(bends[here[keep]], shift[keep], change[keep], fresh[here[keep]])
        fresh[here[keep]] = False
        still = lower & (values[here] - reached > SMALL * np.maximum(np.abs(reached), 1.0))
        points[here[lower]], values[here[lower]], slopes[here[lower]] = moved[lower], reached[lower], slope[lower]
        active[here[~still]] = False
    return points, values


def _directions(bends: Array, slopes: Array, farthest: float, fresh: AnyArray) -> Array:
    """Return descent steps (m x p), none longer than `farthest`, the first ones at most a tenth of it."""
    steps = -np.einsum("ijk,ik->ij", bends, slopes)
    uphill = np.einsum("ij,ij->i", steps, slopes) >= 0
    steps[uphill] = -slopes[uphill]
    lengths = np.linalg.norm(steps, axis=1)
    most = np.where(fresh, 0.1 * farthest, farthest)
    shrink = np.divide(most, lengths, out=np.ones_like(lengths), where=lengths > most)
    return np.nan_to_num(steps * shrink[:, None])


def _line_search(rows: RowObjective, *, points: Array, values: Array, slopes: Array, steps: Array,
              ) -> tuple[Array, Array, Array, AnyArray]:
    """Halve each step until it decreases the objective; returns points, objectives, slopes, and a mask of success."""
    moved, reached, slope = points.copy(), values.copy(), slopes.copy()
    lower, length = np.zeros(len(points), dtype=bool), 1.0
    promised = DESCENT * np.einsum("ij,ij->i", steps, slopes)
    for _ in range(HALVINGS):
        left = np.flatnonzero(~lower)
        if not len(left):
            break
        tried = points[left] + length * steps[left]
        found, by = rows.take(left)(tried)
        good = (found <= values[left] + length * promised[left]) & np.isfinite(by).all(axis=1)
        done = left[good]
        moved[done], reached[done], slope[done], lower[done] = tried[good], found[good], by[good], True
        length /= 2
    return moved, reached, slope, lower


def _update_bfgs(bends: Array, shift: Array, change: Array, fresh: AnyArray) -> Array:
    """Return the BFGS update; the first one is scaled by the measured curvature."""
    sizes, curved = np.einsum("ij,ij->i", change, change), np.einsum("ij,ij->i", shift, change)
    bends[fresh] *= (curved[fresh] / sizes[fresh])[:, None, None]
    across = np.eye(shift.shape[1]) - np.einsum("ij,ik->ijk", shift, change) / curved[:, None, None]
    return across @ bends @ across.transpose(0, 2, 1) + np.einsum("ij,ik->ijk", shift, shift) / curved[:, None, None]
