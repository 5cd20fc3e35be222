"""Coordinates of new points among fixed ones by affinities, each by steps of its own divergence (t-SNE)."""

from collections.abc import Callable

import numpy as np

from mlcli import native
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.native.student import repel_rows, turn_sources
from mlcli.stages.algebra.distances import squared_distances

BLOCK = 2**19  # numbers of a block of new points and fixed ones
STEPS = 50
SHARE = 0.5  # of the way to where a step leads


def enter(shares: Array, indices: Indices, points: Array, dof: float) -> Array:
    """Return coordinates (m x p) of new points with affinities `shares` (m x k) to some of the fixed points (n x p).

    Minimizes Σ p log (p / q) of each row, with q the share of a pair in Σ k over all fixed points, from the mean of the
    neighbors weighted by their affinities. A step goes towards (Σ p w y + Σ q w (x - y)) / Σ p w, with w = k^(1/α) at
    x: the attraction is bounded by a parabola and the repulsion by its slope.
    """
    blocks = row_blocks(len(shares), BLOCK, max(len(points), shares.shape[1]))
    repulsion = repulsion_by(points, dof)
    placed = list(in_order(lambda rows: _descend(shares[rows], points[indices[rows]], repulsion, dof), blocks))
    return np.vstack(placed) if placed else np.zeros((0, points.shape[1]))


def repulsion_by(points: Array, dof: float) -> Callable[[Array], tuple[Array, Array]]:
    """Return a function of places x (m x p): forces Σ k w (x - y) (m x p) by fixed points, and sums Σ k (m).

    With the native kernels those of a place do not depend on the others, to the last bit.
    """
    if native.available():
        sources = turn_sources(points)
        return lambda places: repel_rows(places, sources, dof, slice(0, len(places)), alone=True)

    def repel(places: Array) -> tuple[Array, Array]:
        weights = 1 / (1 + squared_distances(places, points) / dof)
        kernel = weights**dof
        pushes = kernel * weights
        return pushes.sum(axis=1)[:, None] * places - pushes @ points, kernel.sum(axis=1)

    return repel


def _descend(shares: Array, near: Array, repulsion: Callable[[Array], tuple[Array, Array]], dof: float) -> Array:
    """Return the places (m x p) of new points with neighbors at `near` (m x k x p)."""
    places = np.einsum("mk,mkp->mp", shares, near)
    for _ in range(STEPS):
        gaps = places[:, None, :] - near
        pulls = shares / (1 + np.sum(gaps**2, axis=2) / dof)
        pushes, totals = repulsion(places)
        slope = np.einsum("mk,mkp->mp", pulls, gaps) - pushes / totals[:, None]
        places = places - SHARE * slope / pulls.sum(axis=1)[:, None]
    return places
