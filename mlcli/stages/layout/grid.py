"""Repulsion summed on an equispaced grid, by splines and Fourier transforms: n log n work in place of n².

The potential Φ(y) = Σ_j k(y - y_j) is smooth, and the force on a point is -∇Φ/2. Splines of degree 7 interpolate the
kernel between nodes in both of its arguments: points are spread over the nodes, their sums with the kernel are products
of Fourier transforms, and value and slope at each point are read off the spline (Linderman, Rachh, Hoskins,
Steinerberger and Kluger, 2019, with polynomials of three nodes in each interval). The kernel 1/(1 + d²) has frequencies
that fall as exp(-ω), which sets the distance of nodes; its constant is left out, so that points nearer than rounding of
one are told apart.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.native.student import ORDER, collect_points, spread_points
from mlcli.stages.layout.splines import collect_rows, spline_spectrum, spread_rows

SPACING = 0.22  # between nodes: errors below 1e-4 of the forces, by frequencies beyond π over it
INTERVALS = 24  # at least, along the longer axis
LEAST = 1e-150  # extent whose square vanishes
NODES = (2**22, 2**24)  # of a grid for few points, and for any number
NODES_PER_ROW = 64  # beyond which a tree takes less time
MARGIN = 20  # nodes over which interpolation's inverse falls to 1e-6
STRIP = 32  # rows of nodes whose points are spread by one task; more than splines reach
ROWS = 2**13  # points whose forces are read by one task
BLOCK = 2**17  # numbers of a block of transforms


@frozen
class Grid:
    """Nodes around points: the first node's place, the distance of nodes, and how many points' splines reach.

    The transforms have `sizes` nodes along each axis: twice as many and more, so that sums do not wrap around.
    """

    low: Array
    spacing: float
    reached: tuple[int, ...]
    sizes: tuple[int, ...]


def grid_around(points: Array) -> Grid | None:
    """Return the grid for points (n x 1 or n x 2), or None where squares of distances vanish or it has too many nodes.

    As many are too many as take more time than a tree, or more memory than 16 bytes for each of 2^24.
    """
    from scipy.fft import next_fast_len

    columns = np.ascontiguousarray(points.T)
    low = columns.min(axis=1)
    spans = columns.max(axis=1) - low
    if not spans.max() > LEAST:
        return None
    spacing = min(SPACING, float(spans.max()) / INTERVALS)
    nodes = float(np.prod(2 * (spans / spacing + ORDER + MARGIN)))
    if nodes > max(NODES[0], min(NODES[1], NODES_PER_ROW * len(points))):
        return None
    reached = tuple(int(span / spacing) + 1 + ORDER for span in spans)
    return Grid(low, spacing, reached, tuple(2 * next_fast_len(count + MARGIN, real=True) for count in reached))


def repel_on_grid(points: Array, dof: float, grid: Grid) -> tuple[Array, float]:
    """Return forces and normalization of points (n x 1 or n x 2), as `repulsion.repel` does."""
    charges = np.zeros(grid.reached if points.shape[1] == 2 else (1, *grid.reached))
    if native.available():
        strips = point_strips(points, grid)
        for parity in (0, 1):  # the splines of every other strip reach different rows
            each(lambda chosen: spread_points(points, chosen, grid.low, 1 / grid.spacing, charges), strips[parity::2])
    else:
        spread_rows(points, grid.low, grid.spacing, charges)
    potential = convolve(charges, kernel_spectrum(grid.sizes, grid.spacing, dof), grid.sizes)
    if native.available():
        slopes, values = np.empty_like(points), np.empty(len(points))
        order = np.concatenate(strips)
        each(lambda rows: collect_points(points, order[rows], grid.low, 1 / grid.spacing, potential, factor=-0.5,
                                         out=(slopes, values)), row_blocks(len(order), ROWS))
    else:
        slopes, values = collect_rows(points, grid.low, grid.spacing, potential)
        slopes *= -0.5
    return slopes, float(values.sum()) + len(points) * (len(points) - 1.0)


def point_strips(points: Array, grid: Grid) -> list[Indices]:
    """Return the positions of points (n x 1 or n x 2) in strips of rows of the grid; all in one with one axis."""
    if points.shape[1] == 1:
        return [np.arange(len(points))]
    rows = ((points[:, 0] - grid.low[0]) * (1 / grid.spacing)).astype(np.int64)
    strips = (rows // STRIP).astype(np.uint16)  # numbers of two bytes are sorted by their digits
    order = np.argsort(strips, kind="stable")
    return np.split(order, np.cumsum(np.bincount(strips))[:-1])


@lru_cache(maxsize=1)  # sizes stay the same for many steps
def kernel_spectrum(sizes: tuple[int, ...], spacing: float, dof: float) -> Array:
    """Return the transform of k(d) - 1 over pairs of nodes, divided by that of the splines for either argument.

    It is real and even along each axis; an axis of m nodes has m/2 + 1 numbers.
    """
    from scipy.fft import dctn

    squared = np.zeros(1)
    for size in sizes:
        squared = np.add.outer(squared, (np.arange(size // 2 + 1) * spacing) ** 2)
    kernel = np.expm1(-dof * np.log1p(squared[0] / dof))
    spectrum = np.asarray(dctn(kernel, type=1, overwrite_x=True))
    for axis, size in enumerate(sizes):
        spectrum /= spline_spectrum(size).reshape([-1 if other == axis else 1 for other in range(spectrum.ndim)]) ** 2
    spectrum.flags.writeable = False
    return spectrum


def convolve(charges: Array, spectrum: Array, sizes: Sequence[int]) -> Array:
    """Return the sums of charges (r x m) with a kernel of some spectrum at the same nodes, in the place of the charges.

    Transforms run in blocks of whole lines, so that their numbers do not depend on the threads.
    """
    from scipy.fft import fft, ifft, irfft, rfft

    rows, columns = charges.shape
    lines = np.empty((rows, sizes[-1] // 2 + 1), dtype=complex)

    def forth(block: slice) -> None:
        lines[block] = rfft(charges[block], sizes[-1], axis=1)

    def across(block: slice) -> None:
        whole = fft(lines[:, block], sizes[0], axis=0)
        whole[: len(spectrum)] *= spectrum[:, block]
        whole[len(spectrum) :] *= spectrum[-2:0:-1, block]
        lines[:, block] = ifft(whole, axis=0, overwrite_x=True)[:rows]

    def back(block: slice) -> None:
        charges[block] = irfft(lines[block], sizes[-1], axis=1)[:, :columns]

    each(forth, row_blocks(rows, BLOCK, sizes[-1]))
    if len(sizes) == 1:
        lines *= spectrum
    else:
        each(across, row_blocks(lines.shape[1], BLOCK, sizes[0]))
    each(back, row_blocks(rows, BLOCK, sizes[-1]))
    return charges
