"""Coordinates of new points among fixed ones by affinities, each by steps of its own divergence (t-SNE)."""

import numpy as np

from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import Array, Indices
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
    placed = list(in_order(lambda rows: _descend(shares[rows], points[indices[rows]], points, dof), blocks))
    return np.vstack(placed) if placed else np.zeros((0, points.shape[1]))


def _descend(shares: Array, near: Array, points: Array, dof: float) -> Array:
    """Return the places (m x p) of new points with neighbors at `near` (m x k x p)."""
    places = np.einsum("mk,mkp->mp", shares, near)
    for _ in range(STEPS):
        gaps = places[:, None, :] - near
        pulls = shares / (1 + np.sum(gaps**2, axis=2) / dof)
        weights = 1 / (1 + squared_distances(places, points) / dof)
        kernel = weights**dof
        pushes = kernel * weights / kernel.sum(axis=1, keepdims=True)
        slope = np.einsum("mk,mkp->mp", pulls, gaps) - (pushes.sum(axis=1)[:, None] * places - pushes @ points)
        places = places - SHARE * slope / pulls.sum(axis=1)[:, None]
    return places
