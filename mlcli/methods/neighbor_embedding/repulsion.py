"""Forces of neighbor embeddings: attraction along edges, and repulsion of all pairs, by a tree of cells or on a grid.

The potential Φ(y) = Σ_j k(y - y_j) is smooth, and the force on a point is -∇Φ/2. Splines of degree 7 interpolate the
kernel between nodes in both of its arguments: points are spread over the nodes, their sums with the kernel are products
of Fourier transforms, and value and slope at each point are read off the spline (Linderman, Rachh, Hoskins,
Steinerberger and Kluger, 2019, with polynomials of three nodes in each interval). The kernel 1/(1 + d²) has frequencies
that fall as exp(-ω), which sets the distance of nodes; its constant is left out, so that points nearer than rounding of
one are told apart.

The kernel of an embedding is k(d) = (1 + d²/α)^(-α) with α degrees of freedom: Student's t-distribution of t-SNE has
α = 1, and fewer give heavier tails (Kobak, Linderman, Steinerberger, Kluger and Berens, 2019). With affinities
p that sum to one and q_ij = k_ij / Z, the divergence is KL = Σ p log p + energy + log Z, and its gradient is
4 (attraction - repulsion / Z).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.core.arithmetic import FRACTION, LINE, LOG_2, WHOLE, exponential, logarithm, sum_in_lines, sum_of_all
from mlcli.core.arithmetic import LEAST as LEAST_EXPONENT
from mlcli.core.convolution import Spectrum, charges_shape, convolve, measure, transform_sizes
from mlcli.native.layouts import ORDER, Octree, attract_rows, collect_points, repel_rows, spread_points, turn_sources

NODE_BLOCK = 2**20  # numbers of a block of points and nodes


def spline_response(cosines: Array) -> Array:
    """Return the transform of the spline's values at the nodes, 2416, 1191, 120 and 1 of 5040, at angles of cosines."""
    return (272 + cosines * (297 + cosines * (60 + cosines))) / 630


def spline_values(places: Array, order: int = ORDER) -> Array:
    """Return the values (n x order) of the splines of the nodes around places (n) from zero to one (de Boor)."""
    values = np.ones((len(places), 1))
    for degree in range(1, order):
        ahead = (np.arange(1, degree + 1) - places[:, None]) * values / degree
        behind = (places[:, None] + np.arange(degree - 1, -1, -1)) * values / degree
        values = np.pad(ahead, ((0, 0), (0, 1))) + np.pad(behind, ((0, 0), (1, 0)))
    return values


def spline_slopes(places: Array) -> Array:
    """Return the derivatives (n x 8) of the splines of the nodes around places (n)."""
    values = spline_values(places, ORDER - 1)
    return np.pad(values, ((0, 0), (1, 0))) - np.pad(values, ((0, 0), (0, 1)))


def spline_curvatures(places: Array) -> Array:
    """Return the second derivatives (n x 8) of the splines of the nodes around places (n)."""
    values = spline_values(places, ORDER - 2)
    for _ in range(2):
        values = np.pad(values, ((0, 0), (1, 0))) - np.pad(values, ((0, 0), (0, 1)))
    return values


DERIVATIVES: tuple[Callable[[Array], Array], ...] = (spline_values, spline_slopes, spline_curvatures)


def spread_rows(points: Array, low: Array, spacing: float, grid: Array) -> None:
    """Add the splines of points (n x 1 or n x 2) to the nodes of a grid (1 x m or r x m), the first one at `low`."""
    def work(rows: slice) -> Array:
        nodes, places = _nodes(points[rows], low, spacing, grid.shape)
        weights = _products(places, [spline_values] * len(places))
        return np.bincount(nodes.ravel(), weights.ravel(), grid.size).astype(float)

    for part in in_order(work, row_blocks(len(points), NODE_BLOCK, ORDER ** points.shape[1])):
        grid += part.reshape(grid.shape)


def collect_rows(points: Array, low: Array, spacing: float, grid: Array) -> tuple[Array, Array]:
    """Return slopes (n x p) and values (n) at points of the spline that a grid's nodes span."""
    parts = list(in_order(lambda rows: _collect(points[rows], low, spacing, grid),
                          row_blocks(len(points), NODE_BLOCK, ORDER ** points.shape[1])))
    return np.vstack([slopes for slopes, _ in parts]), np.concatenate([values for _, values in parts])


def _collect(points: Array, low: Array, spacing: float, grid: Array) -> tuple[Array, Array]:
    """Return slopes (n x p) and values (n) as `collect_rows` does, on one thread."""
    nodes, places = _nodes(points, low, spacing, grid.shape)
    held, axes = grid.ravel()[nodes], range(len(places))
    slopes = [np.sum(held * _products(places, [spline_slopes if axis == own else spline_values for axis in axes]),
                     axis=1) / spacing for own in axes]
    return np.stack(slopes, axis=1), np.sum(held * _products(places, [spline_values for _ in axes]), axis=1)


def _nodes(points: Array, low: Array, spacing: float, shape: tuple[int, ...]) -> tuple[Indices, list[Array]]:
    """Return the nodes that points reach (m x 8 or m x 64), and their places after the first along each axis."""
    places = (points - low) * (1 / spacing)
    first = places.astype(np.int64)
    reach = [column[:, None] + np.arange(ORDER) for column in first.T]
    nodes = reach[0]
    if len(reach) == 2:
        nodes = (reach[0][:, :, None] * shape[1] + reach[1][:, None]).reshape(len(points), -1)
    return nodes, list((places - first).T)


def _products(places: list[Array], functions: list[Callable[[Array], Array]]) -> Array:
    """Return the products over axes of functions of the places, for all nodes (m x 8 or m x 64)."""
    along = [function(place) for function, place in zip(functions, places, strict=True)]
    return along[0] if len(along) == 1 else (along[0][:, :, None] * along[1][:, None]).reshape(len(places[0]), -1)


SPACING = 0.22  # between nodes: errors below 1e-4 of the forces, by frequencies beyond π over it
INTERVALS = 24  # at least, along the longer axis
LEAST = 1e-150  # extent whose square vanishes
NODES = (2**22, 2**24)  # of a grid for few points, and for any number
NODES_PER_ROW = 64  # beyond which a tree takes less time
MARGIN = 20  # nodes over which interpolation's inverse falls to 1e-6
STRIP = 32  # rows of nodes whose points are spread by one task; more than splines reach
ROWS = 2**13  # points whose forces are read by one task


@frozen
class Grid:
    """Nodes around points: the first node's place, the distance of nodes, and how many points' splines reach.

    The transforms have `sizes` nodes along each axis: twice as many and more, so that sums do not wrap around.
    """

    low: Array
    spacing: float
    reached: tuple[int, ...]
    sizes: tuple[int, ...]


def grid_around(points: Array, largest: float = SPACING) -> Grid | None:
    """Return the grid for points (n x 1 or n x 2) with nodes up to `largest` apart.

    None where squares of distances vanish or it has too many nodes.

    As many are too many as take more time than a tree, or more memory than ten bytes for each of 2^24.
    """
    columns = np.ascontiguousarray(points.T)
    low = columns.min(axis=1)
    spans = columns.max(axis=1) - low
    if not spans.max() > LEAST:
        return None
    spacing = min(largest, float(spans.max()) / INTERVALS)
    nodes = float(np.prod(2 * (spans / spacing + ORDER + MARGIN)))
    if nodes > max(NODES[0], min(NODES[1], NODES_PER_ROW * len(points))):
        return None
    reached = tuple(int(span / spacing) + 1 + ORDER for span in spans)
    return Grid(low, spacing, reached, transform_sizes(reached, MARGIN))


def repel_on_grid(points: Array, dof: float, grid: Grid) -> tuple[Array, float]:
    """Return forces and normalization of points (n x 1 or n x 2), as `repulsion.repel` does."""
    strips = point_strips(points, grid)
    charges = field_of(points, grid, strips, kernel_spectrum(grid.sizes, grid.spacing, dof))
    if native.available():
        slopes, values = np.empty_like(points), np.empty(len(points))
        order = np.concatenate(strips)
        each(lambda rows: collect_points(points, order[rows], grid.low, 1 / grid.spacing, charges, factor=-0.5,
                                         out=(slopes, values)), row_blocks(len(order), ROWS))
    else:
        slopes, values = collect_rows(points, grid.low, grid.spacing, charges)
        slopes *= -0.5
    return slopes, sum_of_all(values) + len(points) * (len(points) - 1.0)


def field_of(points: Array, grid: Grid, strips: list[Indices], spectrum: Spectrum) -> Array:
    """Return the numbers at a grid's nodes whose spline is the sum of a kernel, given by its spectrum, over points."""
    charges = np.zeros(charges_shape(grid.reached))
    if native.available():
        for parity in (0, 1):  # the splines of every other strip reach different rows
            each(lambda chosen: spread_points(points, chosen, grid.low, 1 / grid.spacing, charges), strips[parity::2])
    else:
        spread_rows(points, grid.low, grid.spacing, charges)
    convolve(charges, spectrum)
    return charges


@frozen
class Field:
    """The sum of a kernel over points, as a function of a place on the grid around them."""

    grid: Grid
    nodes: Array
    low: Array  # p, the corners of the points' box
    high: Array

    @classmethod
    def of(cls, points: Array, spectrum: Callable[[Grid], Spectrum], spacing: float = SPACING) -> "Field | None":
        """Return the field of points (n x 1 or n x 2); None where a grid around them has too many nodes."""
        points = np.ascontiguousarray(points)
        grid = grid_around(points, spacing)
        if grid is None:
            return None
        nodes = field_of(points, grid, point_strips(points, grid), spectrum(grid))
        return cls(grid, nodes, points.min(axis=0), points.max(axis=0))

    def at(self, places: Array) -> tuple[Array, Array]:
        """Return values (m) and slopes (m x p) at places (m x p), on one thread; beyond the box, those on its side."""
        inside = np.ascontiguousarray(np.clip(places, self.low, self.high))
        if not native.available():
            slopes, values = _collect(inside, self.grid.low, self.grid.spacing, self.nodes)
            return values, slopes
        slopes, values = np.empty_like(inside), np.empty(len(inside))
        collect_points(inside, np.arange(len(inside)), self.grid.low, 1 / self.grid.spacing, self.nodes, factor=1.0,
                       out=(slopes, values))
        return values, slopes

    def bends(self, places: Array) -> Array:
        """Return second derivatives (m x p x p) at places (m x p) within the points' box, on one thread."""
        nodes, within = _nodes(places, self.grid.low, self.grid.spacing, self.nodes.shape)
        held, axes = self.nodes.ravel()[nodes], range(len(within))
        found = np.empty((len(places), len(within), len(within)))
        for one in axes:
            for other in range(one + 1):
                weights = _products(within, [DERIVATIVES[(axis == one) + (axis == other)] for axis in axes])
                found[:, one, other] = found[:, other, one] = np.sum(held * weights, axis=1)
        return found / (self.grid.spacing * self.grid.spacing)


def point_strips(points: Array, grid: Grid) -> list[Indices]:
    """Return the positions of points (n x 1 or n x 2) in strips of rows of the grid; all in one with one axis."""
    if points.shape[1] == 1:
        return [np.arange(len(points))]
    rows = ((points[:, 0] - grid.low[0]) * (1 / grid.spacing)).astype(np.int64)
    strips = (rows // STRIP).astype(np.uint16)  # numbers of two bytes are sorted by their digits
    order = np.argsort(strips, kind="stable")
    return np.split(order, np.cumsum(np.bincount(strips))[:-1])


@lru_cache(maxsize=1)  # sizes stay the same for many steps
def kernel_spectrum(sizes: tuple[int, ...], spacing: float, dof: float) -> Spectrum:
    """Return the spectrum of k(d) - 1 over pairs of nodes, divided by that of the splines for either argument."""
    found = measure(lambda squared: kernel_less_one(squared * (spacing * spacing / dof), dof), spline_response, sizes)
    found.numbers.flags.writeable = False
    return found


def kernel_less_one(stretched: Array, dof: float) -> Array:
    """Return (1 + x)^-α - 1 of numbers x of zero or more, which may vanish beside one (Kahan's way)."""
    if dof == 1:
        return -stretched / (1 + stretched)
    whole = 1 + stretched
    grown = whole > 1
    logs = np.where(grown, logarithm(whole) * (stretched / np.where(grown, whole - 1, 1.0)), stretched)
    powers = -dof * logs
    shrunk = exponential(powers)
    near = (shrunk > 0.5) & (shrunk < 1)
    return np.where(near, (shrunk - 1) * (powers / logarithm(np.where(near, shrunk, 0.75))),
                    np.where(shrunk < 1, shrunk - 1, powers))


Summation = Literal["exact", "grid", "tree"]
CACHED, BESIDE = 2**14, 160  # half the numbers of a block of pairs without the kernels, and bytes beside each
SHARED_AXES = 3  # up to which rows share a division
ROOT_OF_HALF = np.uint64(0x3FE6A09E667F3BCD)  # bits of its lower neighbor
PAIRS = 2**22  # pairs of a block of the kernels
THETA = (0.2, 0.25, 0.4)  # width of a cell that acts as a point, relative to its distance, by the number of axes
GROUPS = 128  # of a block, with about 16 points each
ENTRIES = 2**18  # entries of a graph in a block
EXACT_ROWS = 6000  # up to as many points all pairs take less time than a grid
USUAL = (1.0e6, 2.5e6)  # nodes of a grid with two axes in most of the descent, and at its end
# Work in functions of one distance: of a node of the grid and a point, of a point in a tree by the number of axes, of a
# pair and each of its axes, and of an entry of a graph and each of its axes.
GRID_WORK, TREE_WORK, PAIR_WORK, ENTRY_WORK = (2, 45), (300, 800, 2400), (0.06, 0.03), (1.7, 0.5)
ORDER_WORK, WAITED = 22, 0.2  # of a point that is sorted; share of an entry's for each doubling beyond a core's cache
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
    return forces, sum_of_all(totals) - len(points)


def repel_in_pairs(points: Array, dof: float) -> tuple[Array, float]:
    """Return forces and normalization by the sums over all pairs."""
    if native.available():
        sources = turn_sources(points)
        parts = list(in_order(lambda rows: repel_rows(points, sources, dof, rows),
                              row_blocks(len(points), PAIRS, len(points))))
    else:
        parts = list(in_order(lambda rows: student_forces(points[rows], points, dof),
                              row_blocks(len(points), PAIRS, len(points))))
    return np.vstack([forces for forces, _ in parts]), _sum([totals for _, totals in parts]) - len(points)


def student_forces(places: Array, points: Array, dof: float, *, alone: bool = False) -> tuple[Array, Array]:
    """Return forces (m x p) on places and sums (m) by NumPy, as `repel_rows`, from points (n x p).

    Sums have the order of the kernel, and rows next to each other share a division.
    """
    rows = len(places)
    several = dof == 1 and not alone and rows > 1 and places.shape[1] <= SHARED_AXES
    columns = np.zeros((points.shape[1], -(-len(points) // LINE) * LINE, 1))  # up to a whole line
    columns[:, : len(points), 0] = points.T
    forces, totals = np.empty(places.shape), np.empty(rows)
    for some in row_blocks(rows, max(CACHED // columns.shape[1], 1) * 2):  # an even number
        gaps = [own - column for own, column in zip(places[some].T, columns, strict=True)]
        squares = gaps[0] * gaps[0]
        for gap in gaps[1:]:
            squares += gap * gap
        stretched = (squares if dof == 1 else squares * (1 / dof)) + 1
        if several:
            beside = stretched[:, np.minimum(np.arange(stretched.shape[1]) ^ 1, stretched.shape[1] - 1)]
            kernel = inverse = 1 / (stretched * beside) * beside
        elif dof == 1:
            kernel = inverse = 1 / stretched
        else:
            logs, inverse = logarithm_and_inverse(stretched)
            kernel = exponential(np.maximum(-dof * logs, LEAST_EXPONENT))
        kernel[len(points) :] = 0.0
        pulls = kernel * inverse
        totals[some] = sum_in_lines(kernel)
        for axis, gap in enumerate(gaps):
            forces[some, axis] = sum_in_lines(pulls * gap)
    return forces, totals


def cell_order(points: Array) -> Indices:
    """Return an order of points (n x p) in which those that lie near each other come soon after each other.

    It is that of cells along Morton's curve through the first axes. No sum depends on it: it only decides which
    coordinates are still in the cache when neighbors need them.
    """
    axes = min(points.shape[1], 3)
    bits = 32 // axes
    codes = np.zeros(len(points), dtype=np.uint32)
    with np.errstate(over="ignore", invalid="ignore"):  # coordinates without limits are in any cell
        for axis, column in enumerate(points.T[:axes]):
            low, high = column.min(), column.max()
            cells = ((column - low) * ((2.0**bits - 0.5) / ((high - low) or 1.0))).astype(np.uint32)
            for bit in range(bits):
                codes |= ((cells >> np.uint32(bit)) & np.uint32(1)) << np.uint32(bit * axes + axis)
    return np.lexsort(codes.view(np.uint16).reshape(-1, 2).T)  # numbers of two bytes are sorted by their digits


def logarithm_and_inverse(values: Array) -> tuple[Array, Array]:
    """Return the logarithms and inverses of numbers of one or more, by one division, to the bits of the kernel."""
    bits = values.view(np.uint64) - ROOT_OF_HALF
    exponents = (WHOLE | (bits >> np.uint64(52))).view(np.float64) - 2.0**52
    parts = ((bits & FRACTION) + ROOT_OF_HALF).view(np.float64)
    both = 1 / (values * (parts + 1))
    f = (parts - 1) * (both * values)
    s = f * f
    q = s * s
    low = 2 / 3 + s * (2 / 5) + q * (2 / 7 + s * (2 / 9))
    high = 2 / 11 + s * (2 / 13) + q * (2 / 15 + s * (2 / 17) + q * (2 / 19))
    return exponents * LOG_2 + (f * 2 + f * s * (low + q * q * high)), both * (parts + 1)


def attract(graph: tuple[Indices, AnyArray, Array], points: Array, dof: float) -> tuple[Array, float]:
    """Return forces Σ_j p_ij / (1 + d²/α) (y_i - y_j) on points (n x p), and the energy -Σ p_ij log k_ij.

    `graph` has the starts of its rows (n + 1), and the column (int32) and the affinity p of each entry. Raises
    ValueError for indices out of range.
    """
    starts, indices, values = graph
    points = np.ascontiguousarray(points)
    if native.available():
        order, out = cell_order(points), (np.empty_like(points), np.empty(len(points)))
        each(lambda rows: attract_rows(graph, points, dof, order[rows], out), row_blocks(
            len(points), ENTRIES, max(1, len(indices) // max(1, len(points)))))
        return out[0], sum_of_all(out[1])

    def work(rows: slice) -> tuple[Array, Array]:
        low, high = starts[rows.start], starts[rows.stop]
        chosen = indices[low:high]
        own = np.repeat(np.arange(rows.stop - rows.start), np.diff(starts[rows.start : rows.stop + 1]))
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(points):
            raise ValueError("an index is out of range")
        gaps = points[rows][own] - points[chosen]
        squares = sum((gap * gap for gap in gaps.T), np.zeros(len(gaps)))
        logs, inverse = logarithm_and_inverse(1 + squares * (1 / dof))
        lanes = own * LINE + (np.arange(low, high) - starts[rows][own]) % LINE  # which sums of the kernel they are in
        pulls, size = values[low:high] * inverse, LINE * (rows.stop - rows.start)
        columns = [*(pulls * gap for gap in gaps.T), values[low:high] * logs]
        sums = np.stack([np.bincount(lanes, column, size) for column in columns]).astype(float)
        *forces, energies = np.cumsum(sums.reshape(len(columns), -1, LINE), axis=2)[:, :, -1]
        return np.stack(forces, axis=1), energies * dof

    parts = list(in_order(work, row_blocks(len(points), ENTRIES, max(1, len(indices) // max(1, len(points))))))
    return np.vstack([forces for forces, _ in parts]), _sum([energies for _, energies in parts])


def _sum(parts: list[Array]) -> float:
    """Return the sum of numbers of all rows, in an order that blocks do not change."""
    return sum_of_all(np.concatenate(parts))


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
    return 130 * rows if how == "tree" else 16 * rows * axes + (0 if native.available() else BESIDE * CACHED)


def attract_seconds(entries: int, shape: tuple[int, int], threads: int) -> float:
    """Predict the seconds of one attraction on points (n x p) along so many entries of a graph."""
    rows, axes = shape
    if not native.available():
        return entries * (10 + 10 * axes) * rates().bent / max(threads, 1)
    work = (ENTRY_WORK[0] + ENTRY_WORK[1] * axes) * (1 + WAITED * doublings_beyond_cache(shape))
    return (entries * work / max(threads, 1) + rows * ORDER_WORK) * rates().bent


def doublings_beyond_cache(shape: tuple[int, int]) -> float:
    """Return how often coordinates (n x p) are twice the 1 MiB of a core's cache; 0 for fewer."""
    return max(float(np.log2(8.0 * shape[0] * shape[1] / 2**20)), 0.0)


def attract_bytes(rows: int, axes: int) -> int:
    """Predict the bytes that an attraction holds beside graph, points and forces."""
    return 8 * rows * (axes + 2)
