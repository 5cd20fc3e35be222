"""Forces of neighbor embeddings by Student's kernel k = (1 + d²/α)^(-α), and splines on a grid that sum them."""

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels

LANES = 8  # coordinates of sources have as many numbers behind them, less one
ORDER = 8  # nodes of a grid along an axis that a point reaches


def turn_sources(points: Array) -> Array:
    """Return coordinates (n x p) axis by axis, with the room behind them that `repel_rows` takes."""
    sources = np.zeros((points.shape[1], len(points) + LANES - 1))
    sources[:, : len(points)] = points.T
    return sources


def repel_rows(points: Array, sources: Array, dof: float, rows: slice, *, alone: bool = False) -> tuple[Array, Array]:
    """Return forces Σ_j k_ij / (1 + d²/α) (y_i - z_j) (m x p) and sums Σ_j k_ij (m) on some rows y of points (n x p).

    `sources` are the points z by `turn_sources`, all of them, y itself too where it is one. Rows next to each other
    share their rounding, unless each is computed `alone`, in twice the time. Raises ValueError for rows out of range.
    """
    forces, totals = np.empty((rows.stop - rows.start, points.shape[1])), np.empty(rows.stop - rows.start)
    kernels().repel_rows(points, sources, dof, rows.start, rows.stop, alone, forces, totals)
    return forces, totals


class Octree:
    """A tree of cells over points (n x p) with one to three axes, whose far cells repel as one point at their mean.

    Barnes and Hut (1986), with one list of cells for up to 32 points next to each other. A cell is on the list if it is
    no wider than `theta` times its distance from all of these. Raises ValueError for coordinates that are not finite.
    """

    def __init__(self, points: Array) -> None:
        self._native = kernels().Octree(points)
        self.groups: int = self._native.groups

    def repel(self, groups: slice, theta: float, dof: float, out: tuple[Array, Array]) -> None:
        """Write forces (n x p) and sums of the kernel (n) of the points in some groups, as those of `repel_rows`."""
        self._native.repel(groups.start, groups.stop, theta, dof, *out)


def attract_rows(graph: tuple[Indices, AnyArray, Array], points: Array, dof: float, rows: slice) -> tuple[Array, Array]:
    """Return forces Σ_j p_ij / (1 + d²/α) (y_i - y_j) (m x p) and energies -Σ_j p_ij log k_ij (m) of some rows.

    `graph` has starts of rows, and columns (int32) and affinities p of entries. Raises ValueError for rows or columns
    out of range.
    """
    forces, energies = np.empty((rows.stop - rows.start, points.shape[1])), np.empty(rows.stop - rows.start)
    kernels().attract_rows(*graph, points, dof, rows.start, rows.stop, forces, energies)
    return forces, energies


def spread_points(points: Array, chosen: Indices, low: Array, scale: float, grid: Array) -> None:
    """Add the splines of degree 7 of some points (n x 1 or n x 2) to the nodes of a grid (1 x m or r x m).

    A coordinate y lies at the place (y - low) · scale, and reaches the node before it and the next seven. Raises
    ValueError for a point beyond the grid.
    """
    kernels().spread_points(points, chosen, low, scale, grid)


def collect_points(points: Array, chosen: Indices, low: Array, scale: float, grid: Array, *, factor: float,
                   out: tuple[Array, Array]) -> None:
    """Write slopes (n x p), times a factor, and values (n) at some points of the spline that a grid's nodes span.

    Raises ValueError for a point beyond the grid.
    """
    kernels().collect_points(points, chosen, low, scale, grid, factor, *out)
