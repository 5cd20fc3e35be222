"""Forces of neighbor embeddings: the repulsion among all pairs of points, and the attraction along a graph.

The kernel of an embedding is k(d) = (1 + d²/α)^(-α) with α degrees of freedom: Student's t-distribution of t-SNE has
α = 1, and fewer give heavier tails (Kobak, Linderman, Steinerberger, Kluger and Berens, 2019). With affinities
p that sum to one and q_ij = k_ij / Z, the divergence is KL = Σ p log p + energy + log Z, and its gradient is
4 (attraction - repulsion / Z).
"""

from typing import Literal

import numpy as np

from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.stages.algebra.distances import squared_distances

Summation = Literal["exact", "grid", "tree"]

BLOCK = 2**20  # numbers of a block of pairs
EXACT_ROWS = 4000  # up to as many points all pairs take less time than a grid
NODES = 2**22  # numbers of a grid of usual extent


def choose_summation(rows: int, axes: int) -> Summation:
    """Return how the repulsion of so many points is summed: it depends on nothing but its arguments.

    All pairs for few points and for more than three axes, a grid for one or two axes, a tree for three.
    """
    if rows <= EXACT_ROWS or axes > 3:
        return "exact"
    return "grid" if axes < 3 else "tree"


def repel(points: Array, dof: float, how: Summation) -> tuple[Array, float]:
    """Return forces Σ_j k_ij / (1 + d²/α) (y_i - y_j) on points (n x p), and the normalization Σ k_ij over i ≠ j."""
    def work(rows: slice) -> tuple[Array, float]:
        shrunk = 1 / (1 + squared_distances(points[rows], points) / dof)
        kernel = shrunk**dof if dof != 1 else shrunk
        pulls = kernel * shrunk
        forces = pulls.sum(axis=1)[:, None] * points[rows] - pulls @ points
        return np.asarray(forces), float(kernel.sum()) - len(kernel)

    parts = list(in_order(work, row_blocks(len(points), BLOCK, len(points))))
    return np.vstack([forces for forces, _ in parts]), float(np.sum([kernel for _, kernel in parts]))


def attract(graph: tuple[Indices, AnyArray, Array], points: Array, dof: float) -> tuple[Array, float]:
    """Return forces Σ_j p_ij / (1 + d²/α) (y_i - y_j) on points (n x p), and the energy -Σ p_ij log k_ij.

    `graph` has the starts of its rows (n + 1), and the column (int32) and the affinity p of each entry. Raises ValueError for indices out of range.
    """
    starts, indices, values = graph
    if len(indices) and not 0 <= indices.min() <= indices.max() < len(points):
        raise ValueError("an index is out of range")

    def work(rows: slice) -> tuple[Array, float]:
        low, high = starts[rows.start], starts[rows.stop]
        own = np.repeat(np.arange(rows.start, rows.stop), np.diff(starts[rows.start : rows.stop + 1]))
        gaps = points[own] - points[indices[low:high]]
        stretched = np.einsum("ij,ij->i", gaps, gaps) / dof
        pulls = values[low:high] / (1 + stretched)
        sums = [np.bincount(own - rows.start, pulls * column, rows.stop - rows.start) for column in gaps.T]
        return np.stack(sums, axis=1).astype(float), dof * float(values[low:high] @ np.log1p(stretched))

    parts = list(in_order(work, row_blocks(len(points), BLOCK, max(1, len(indices) // max(1, len(points))))))
    return np.vstack([forces for forces, _ in parts]), float(np.sum([energy for _, energy in parts]))


def repel_seconds(rows: int, axes: int, how: Summation, threads: int) -> float:
    """Predict the seconds of one repulsion."""
    if how == "exact":
        return rows**2 * (1 + axes / 2) * rates().bent / max(threads, 1)
    return rows * 1000 * rates().bent / max(threads, 1)


def repel_bytes(rows: int, axes: int, how: Summation) -> int:
    """Predict the bytes that a repulsion holds beside points and forces."""
    return 8 * NODES if how == "grid" else 64 * rows if how == "tree" else 8 * BLOCK


def attract_seconds(entries: int, axes: int, threads: int) -> float:
    """Predict the seconds of one attraction along so many entries of a graph."""
    return entries * (1 + axes) * rates().bent / max(threads, 1)


def attract_bytes(rows: int, axes: int) -> int:
    """Predict the bytes that an attraction holds beside graph, points and forces."""
    return 8 * rows * axes
