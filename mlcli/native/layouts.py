"""Forces of layouts: of stress, of ranks, of Student's kernel, by splines on a grid, and sampled along edges."""

from typing import NamedTuple

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


class RadialSums(NamedTuple):
    """Sums over points x of a function φ of |y - x|² at places y (m x p), which gradients and Hessians are made of."""

    values: Array  # m, Σ φ
    even: Array  # m, Σ φ'
    slopes: Array  # m x p, Σ φ' (y - x)
    bends: Array  # m x p (p + 1) / 2, Σ φ'' (y - x)(y - x)ᵀ below the diagonal and on it; of order 1 none


def student_sums(places: Array, sources: Array, own: Indices, *, dof: float, order: int) -> RadialSums:
    """Return sums of (1 + u/α)^-α and of its derivatives up to an order, 1 or 2, over all points but the own ones (m).

    `sources` are the points by `turn_sources`.
    """
    out = _room(places, order)
    kernels().student_sums(places, sources, own, dof, order, out)
    return _radial_sums(out, places.shape[1])


def membership_sums(places: Array, sources: Array, own: Indices, *, form: tuple[float, float, float],
                    order: int) -> RadialSums:
    """Return sums of log((1 + a uᵇ) / (a uᵇ + ε)) and of its derivatives, as `student_sums`; `form` holds a, b and ε.

    Values are of order 1 alone, and zeros of order 2.
    """
    out = _room(places, order)
    kernels().membership_sums(places, sources, own, *form, order, out)
    return _radial_sums(out, places.shape[1])


def membership_rests(places: Array, sources: Array, own: Indices, *, form: tuple[float, float, float], limit: float,
                     series: Array, ranges: Indices) -> RadialSums:
    """Return the sums of order 2 of what series leave of `membership_sums` below a limit of squared distances.

    `series` are the coefficients of φ' (8) and φ'' (7) in powers of u - limit, the highest first. Sums of each place go
    over a range (m x 2) of the sources. Raises ValueError for ranges beyond these.
    """
    out = _room(places, 2)
    kernels().membership_rests(places, sources, own, *form, limit, series, ranges, out)
    return _radial_sums(out, places.shape[1])


def _room(places: Array, order: int) -> Array:
    axes = places.shape[1]
    return np.empty((len(places), 2 + axes + (axes * (axes + 1) // 2 if order == 2 else 0)))


def _radial_sums(out: Array, axes: int) -> RadialSums:
    return RadialSums(out[:, 0], out[:, 1], out[:, 2 : 2 + axes], out[:, 2 + axes :])


NONE = np.zeros((0, 0))


def stress_rows(points: Array, sources: Array, *, lengths: Array, weights: Array | None,
                rows: slice) -> tuple[Array, Array, Array]:
    """Return Σ w δ / d (x - x'), Σ w (x - x') (m x p each), and Σ w (δ - d)², Σ w δ d and Σ w d² (m x 3) of some rows.

    `points` is (r x p), `sources` those (n x p) that they are compared with, by `turn_sources`, `lengths` δ (r x n).
    Weights (r x n) may be None: all are one then, and there is no second array. δ / d is zero where d is. Raises
    ValueError for rows out of range.
    """
    count, axes = rows.stop - rows.start, points.shape[1]
    pulled, sums = np.empty((count, axes)), np.empty((count, 3))
    spread = np.empty((0, 0) if weights is None else (count, axes))
    kernels().stress_rows(points, sources, lengths, NONE if weights is None else weights, rows.start, rows.stop, pulled,
                          spread, sums)
    return pulled, spread, sums


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


def attract_rows(graph: tuple[Indices, AnyArray, Array], points: Array, dof: float, chosen: Indices,
                 out: tuple[Array, Array]) -> None:
    """Write forces Σ_j p_ij / (1 + d²/α) (y_i - y_j) (n x p) and energies -Σ_j p_ij log k_ij (n) of chosen rows.

    `graph` has starts of rows, and columns (int32) and affinities p of entries. Raises ValueError for rows or columns
    out of range.
    """
    kernels().attract_rows(*graph, points, dof, chosen, *out)


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


class EdgeArrays(NamedTuple):
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


def sample_rows(edges: EdgeArrays, own: Array, first: int, points: Array, curve: Array, draw: Draw,
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


def density_rows(edges: EdgeArrays, first: int, points: Array, *, pulls: Array, curve: Array, epoch: int, rate: float,
                 moved: Array) -> None:
    """Add to positions (m x p) of rows, points (n x p) from `first` on, a step that keeps local radii.

    `pulls` (n x 2) are what a point's change of φ d² and of φ weighs. Raises ValueError for edges out of range.
    """
    kernels().density_rows(*edges[:3], first, points, pulls, curve, epoch, rate, moved)


SCRATCH = 2  # numbers of a pair that disparities take besides
HALF = 32  # bits of a point


def join_pairs(left: Indices, right: Indices) -> AnyArray:
    """Return pairs (m, unsigned) of points (m each).

    A pair is one number, 2³² i + j, so that a kernel reads pairs in their order and coordinates from the nearest cache.
    """
    return left.astype(np.uint64) << np.uint64(HALF) | right.astype(np.uint64)


def split_pairs(pairs: AnyArray) -> tuple[Indices, Indices]:
    """Return the points (m each) of pairs (m)."""
    return (pairs >> np.uint64(HALF)).astype(np.int64), (pairs & np.uint64(2**HALF - 1)).astype(np.int64)


def distances_of_pairs(points: Array, pairs: AnyArray, rows: slice, out: Array) -> None:
    """Write the distances of some pairs of points (u x p) into their places in `out` (m).

    Raises ValueError for points out of range.
    """
    kernels().distances_of_pairs(points, pairs, rows.start, rows.stop, out)


def disparities_of_pairs(distances: Array, pairs: AnyArray, starts: Indices, *, secondary: bool, counts: Array,
                         disparities: Array, scratch: Array) -> tuple[float, float]:
    """Write the disparities (m) of distances (m) and return Σ w (d - d̂)² and Σ w d².

    Groups of equal dissimilarities begin at `starts` (g + 1). A group has one disparity with secondary ties; with
    primary ones its pairs and distances are sorted in place, by distance. Weights are products of `counts` (u), or one
    where these are empty; `scratch` (2 m) is overwritten. Raises ValueError for distances that are no numbers.
    """
    errors, spread = kernels().disparities_of_pairs(distances, pairs, starts, secondary, counts, disparities, scratch)
    return errors, spread


def forces_of_pairs(points: Array, pairs: AnyArray, rows: slice, *, fit: tuple[Array, Array], counts: Array,
                    share: float) -> Array:
    """Return Σ w (d - d̂ - share d) / d (x - y) for each point (u x p) over some pairs.

    `fit` holds distances and disparities (m each).
    """
    forces = np.zeros_like(points)
    kernels().forces_of_pairs(points, pairs, rows.start, rows.stop, *fit, counts, share, forces)
    return forces
