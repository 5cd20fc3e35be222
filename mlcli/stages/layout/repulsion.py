"""Forces of neighbor embeddings: the repulsion among all pairs of points, and the attraction along a graph.

The kernel of an embedding is k(d) = (1 + d²/α)^(-α) with α degrees of freedom: Student's t-distribution of t-SNE has
α = 1, and fewer give heavier tails (Kobak, Linderman, Steinerberger, Kluger and Berens, 2019). With affinities
p that sum to one and q_ij = k_ij / Z, the divergence is KL = Σ p log p + energy + log Z, and its gradient is
4 (attraction - repulsion / Z).
"""

from typing import Literal

import numpy as np

from mlcli import native
from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.student import Octree, attract_rows, repel_rows, turn_sources
from mlcli.stages.algebra.distances import squared_distances
from mlcli.stages.layout.grid import grid_around, repel_on_grid

Summation = Literal["exact", "grid", "tree"]

BLOCK = 2**20  # numbers of a block of pairs
PAIRS = 2**22  # pairs of a block of the kernels
THETA = (0.2, 0.25, 0.4)  # width of a cell that acts as a point, relative to its distance, by the number of axes
GROUPS = 128  # of a block, with about 16 points each
ENTRIES = 2**18  # entries of a graph in a block
EXACT_ROWS = 6000  # up to as many points all pairs take less time than a grid
USUAL = (1.0e6, 2.5e6)  # nodes of a grid with two axes in most of the descent, and at its end
# Work in functions of one distance: of a node of the grid and a point, of a point in a tree by the number of axes, of a
# pair and each of its axes, and of an entry of a graph and each of its axes.
GRID_WORK, TREE_WORK, PAIR_WORK, ENTRY_WORK = (5, 45), (300, 800, 2400), (0.06, 0.03), (1.7, 0.5)
POWER_WORK, DIVISION_WORK = 1.2, 0.4  # of a pair besides, and of a division that pairs do not share


def choose_summation(rows: int, axes: int) -> Summation:
    """Return how the repulsion of so many points is summed: it depends on nothing but its arguments.

    All pairs for few points and for more than three axes, a grid for one or two axes, a tree for three.
    """
    if rows <= EXACT_ROWS or axes > 3:
        return "exact"
    return "grid" if axes < 3 else "tree"


def repel(points: Array, dof: float, how: Summation) -> tuple[Array, float]:
    """Return forces Σ_j k_ij / (1 + d²/α) (y_i - y_j) on points (n x p), and the normalization Σ k_ij over i ≠ j.

    Errors of a grid are below 1e-4 of the norm of the forces in most layouts, and those of a tree below 1e-2. Where
    points lie so far apart that a grid would have too many nodes, and where squares of their distances vanish, a tree
    takes its place; without the native kernels, all pairs take that of a tree.
    """
    points = np.ascontiguousarray(points)
    if how == "grid" and (grid := grid_around(points)) is not None:
        return repel_on_grid(points, dof, grid)
    if how == "exact" or not native.available():
        return repel_in_pairs(points, dof)
    return repel_by_tree(points, dof)


def repel_by_tree(points: Array, dof: float) -> tuple[Array, float]:
    """Return forces and normalization of points (n x 1 to n x 3) by a tree of cells."""
    tree, theta = Octree(points), THETA[points.shape[1] - 1]
    forces, totals = np.empty_like(points), np.empty(len(points))
    each(lambda groups: tree.repel(groups, theta, dof, (forces, totals)), row_blocks(tree.groups, GROUPS))
    return forces, float(totals.sum()) - len(points)


def repel_in_pairs(points: Array, dof: float) -> tuple[Array, float]:
    """Return forces and normalization by the sums over all pairs."""
    if native.available():
        sources = turn_sources(points)
        parts = list(in_order(lambda rows: repel_rows(points, sources, dof, rows),
                              row_blocks(len(points), PAIRS, len(points))))
        return np.vstack([forces for forces, _ in parts]), _sum([totals for _, totals in parts]) - len(points)

    near = points - points[:1]  # equal points are zero then, and so are their forces

    def work(rows: slice) -> tuple[Array, Array]:
        shrunk = 1 / (1 + squared_distances(near[rows], near) / dof)
        kernel = shrunk**dof if dof != 1 else shrunk
        pulls = kernel * shrunk
        return pulls.sum(axis=1)[:, None] * near[rows] - pulls @ near, kernel.sum(axis=1)

    parts = list(in_order(work, row_blocks(len(points), BLOCK, len(points))))
    return np.vstack([forces for forces, _ in parts]), _sum([totals for _, totals in parts]) - len(points)


def attract(graph: tuple[Indices, AnyArray, Array], points: Array, dof: float) -> tuple[Array, float]:
    """Return forces Σ_j p_ij / (1 + d²/α) (y_i - y_j) on points (n x p), and the energy -Σ p_ij log k_ij.

    `graph` has the starts of its rows (n + 1), and the column (int32) and the affinity p of each entry. Raises
    ValueError for indices out of range.
    """
    starts, indices, values = graph
    points = np.ascontiguousarray(points)

    def work(rows: slice) -> tuple[Array, Array]:
        if native.available():
            return attract_rows((starts, indices, values), points, dof, rows)
        low, high = starts[rows.start], starts[rows.stop]
        chosen = indices[low:high]
        own = np.repeat(np.arange(rows.stop - rows.start), np.diff(starts[rows.start : rows.stop + 1]))
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(points):
            raise ValueError("an index is out of range")
        gaps = points[rows][own] - points[chosen]
        stretched = np.einsum("ij,ij->i", gaps, gaps) / dof
        columns = [values[low:high] / (1 + stretched) * column for column in gaps.T]
        columns.append(dof * values[low:high] * np.log1p(stretched))
        sums = np.stack([np.bincount(own, column, rows.stop - rows.start) for column in columns], axis=1).astype(float)
        return sums[:, :-1], sums[:, -1]

    parts = list(in_order(work, row_blocks(len(points), ENTRIES, max(1, len(indices) // max(1, len(points))))))
    return np.vstack([forces for forces, _ in parts]), _sum([energies for _, energies in parts])


def _sum(parts: list[Array]) -> float:
    """Return the sum of numbers of all rows, in an order that blocks do not change."""
    return float(np.concatenate(parts).sum())


def repel_seconds(rows: int, axes: int, how: Summation, threads: int, dof: float = 1.0) -> float:
    """Predict the seconds of one repulsion; that on a grid depends on the extent, here one of most of the descent."""
    if how == "grid":
        work = GRID_WORK[0] * USUAL[0] ** (axes / 2) + GRID_WORK[1] * rows
    elif how == "tree" and native.available():
        work = float(TREE_WORK[axes - 1] * rows)
    else:
        pair = PAIR_WORK[0] + PAIR_WORK[1] * axes + (POWER_WORK if dof != 1 else DIVISION_WORK if axes > 3 else 0)
        work = rows**2 * (pair if native.available() else 6 + pair)
    return work * rates().bent / max(threads, 1)


def repel_bytes(rows: int, axes: int, how: Summation) -> int:
    """Predict the bytes that a repulsion holds beside points and forces."""
    if how == "grid":
        return int(10 * USUAL[1] ** (axes / 2)) + 40 * rows
    return 130 * rows if how == "tree" else 8 * BLOCK if not native.available() else 16 * rows * axes


def attract_seconds(entries: int, axes: int, threads: int) -> float:
    """Predict the seconds of one attraction along so many entries of a graph."""
    work = ENTRY_WORK[0] + ENTRY_WORK[1] * axes if native.available() else 10 + 10 * axes
    return entries * work * rates().bent / max(threads, 1)


def attract_bytes(rows: int, axes: int) -> int:
    """Predict the bytes that an attraction holds beside graph, points and forces."""
    return 8 * rows * (axes + 2)
