"""Squared Euclidean distances between points, whole or for chosen pairs."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.base.values.options import Power
from mlcli.base.values.sample_size import FEW_COLUMNS
from mlcli.base.values.scaling import Unit
from mlcli.core.arithmetic import row_products, symmetric_products

# Names of the rate r of exp(-r d²) in the literature and in other programs, and r in terms of each.
GAUSSIAN_RATE: Mapping[str, str | Power] = {
    "gamma": Power("gamma", 1, 1), "sigma": Power("1 / (2 sigma²)", 0.5, -2), "bandwidth": "1 / (2 bandwidth²)",
    "length_scale": "1 / (2 length_scale²)", "t": "1 / t", "epsilon": "1 / epsilon"}
HELD = 2**24  # numbers of a block that all threads work on together: 128 MiB of doubles
BLOCK = 2**20  # numbers of a block for one thread: 8 MiB of doubles
DIGITS = 8  # binary digits of a center, from those of the farthest point's coordinates on
WIDE = 2**12  # columns that are multiplied together
CACHED = 2**15  # numbers that stay in a core's cache
NEAR = 1e-3  # squared distances below this share of the points' squared norms are computed again by differences


def squared_distances(left: Array, right: Array) -> Array:
    """Return ‖xᵢ - yⱼ‖² (m x n) of two arrays of points (m x d, n x d), the same for any number of threads.

    Equal points are exactly zero apart, near pairs keep their digits, and the squares of whole numbers are exact.
    """
    distances = np.empty((len(left), len(right)))
    rows_of = partial(by_differences, right=right) if left.shape[1] <= FEW_COLUMNS else _by_products(right)

    def fill(rows: slice) -> None:
        distances[rows] = rows_of(left[rows])

    each(fill, row_blocks(len(left), BLOCK, max(len(right), left.shape[1])), progress=True)
    return distances


def squared_distances_in_order(left: Array, right: Array) -> Array:
    """Return the squared distances (m x n) of `squared_distances` with the same bits on every processor.

    Of points with themselves each product is computed once.
    """
    if left.shape[1] <= FEW_COLUMNS:
        return squared_distances(left, right)
    center = short_center(right)
    others = CenteredPoints.from_center(right, center)
    own = others if left is right else CenteredPoints.from_center(left, center)
    squared = symmetric_products(own.moved, own.moved) if left is right else np.empty((len(left), len(right)))

    def fill(rows: slice) -> None:
        if left is not right:
            row_products(own.moved[rows], others.moved, squared[rows])
        _from_products(squared[rows], left[rows], own.norms[rows], others)

    each(fill, row_blocks(len(left), BLOCK, max(len(right), left.shape[1])))
    return squared


def gower(squared: Array, out: Array | None = None) -> Array:
    """Return -D²/2 of squared distances (m x n), in `out` if given; centered, it holds inner products (Gower, 1966)."""
    return np.asarray(np.multiply(squared, -0.5, out=out))


def halve(squared: Array) -> Array:
    """Return -D²/2 of squared distances (m x n) in their place, by all threads."""
    each(lambda rows: gower(squared[rows], squared[rows]), row_blocks(len(squared), BLOCK, squared.shape[1]))
    return squared


def inner_products(left: Array, right: Array) -> Array:
    """Return ⟨xᵢ, yⱼ⟩ (m x n) of two arrays of points (m x d, n x d), the same for any number of threads."""
    products = np.empty((len(left), len(right)))
    each(lambda rows: np.matmul(left[rows], right.T, out=products[rows]),
         row_blocks(len(left), BLOCK, max(len(right), left.shape[1])))
    return products


def _by_products(right: Array) -> Callable[[Array], Array]:
    center = short_center(right)
    moved = CenteredPoints.from_center(right, center)
    return lambda left: by_product(CenteredPoints.from_center(left, center), moved)


@frozen
class CenteredPoints:
    """Points, and the same points less a center, with their squared norms."""

    points: Array  # m x d
    moved: Array  # m x d
    norms: Array  # m, squared

    @classmethod
    def from_center(cls, points: Array, center: Array) -> "CenteredPoints":
        """Subtract a center, a (d,) array, from points (m x d)."""
        moved = points - center
        return cls(points, moved, _norms(moved))


def short_center(points: Array) -> Array:
    """Return the mean (d) of points (m x d), rounded so that whole numbers less this center have few digits.

    Their products, and sums of these, then fit into a double, so that equal distances are equal to the last bit.
    """
    mean: Array = points.mean(axis=0)
    ends = np.array([points.max(axis=0) - mean, points.min(axis=0) - mean])
    unit = (Unit.of(ends) / Unit(DIGITS)).number(1.0)
    return np.rint(mean / unit) * unit if ends.any() and unit > 0 else mean


def by_product(left: CenteredPoints, right: CenteredPoints) -> Array:
    """Return ‖xᵢ - yⱼ‖² (m x n) of points less one center, by one product; those of near pairs by differences."""
    return _from_products(left.moved @ right.moved.T, left.points, left.norms, right)


def to_centered(points: Array, center: Array, right: CenteredPoints) -> Array:
    """Return ‖xᵢ - yⱼ‖² (m x n) of points (m x d), as `by_product` does, to points less the same center, a (d,) array.

    The native kernel needs no copy of the points less the center.
    """
    if not native.available():
        return by_product(CenteredPoints.from_center(points, center), right)
    products, norms = np.zeros((len(points), len(right.moved))), np.zeros(len(points))
    for part in row_blocks(points.shape[1], WIDE):  # of which the kernel makes copies
        some, sizes = native.project(points[:, part], center[part], right.moved[:, part].T)
        products += some
        norms += sizes
    return _from_products(products, points, norms, right)


def _from_products(products: Array, left: Array, norms: Array, right: CenteredPoints) -> Array:
    """Return ‖xᵢ - yⱼ‖² (m x n) in the place of the products of points less one center.

    `left` is the (m, d) array of points x, `norms` the (m,) array of their squared norms less the center.
    """
    squared, sums = products, norms[:, None] + right.norms
    squared *= -2
    squared += sums
    np.maximum(squared, 0.0, out=squared)
    sums *= NEAR
    rows, columns = np.divmod(np.flatnonzero(squared <= sums), len(right.points))
    squared[rows, columns] = pair_distances(left, right.points, rows, columns)
    return squared


def by_differences(left: Array, right: Array) -> Array:
    """Return ‖xᵢ - yⱼ‖² (m x n) of points with few columns (m x d, n x d), column by column.

    The result is symmetric in its arguments to the last bit.
    """
    columns = np.ascontiguousarray(right.T)
    squared = np.empty((len(left), len(right))) if len(columns) else np.zeros((len(left), len(right)))
    width = min(max(len(right), 1), CACHED)
    height = CACHED // width
    work = np.empty((height, width))
    for down in range(0, len(left), height):
        for across in range(0, len(right), width):
            sums = squared[down : down + height, across : across + width]
            gaps = work[: sums.shape[0], : sums.shape[1]]
            for number, (own, other) in enumerate(zip(left[down : down + height].T, columns[:, across : across + width],
                                                      strict=True)):
                np.subtract(own[:, None], other, out=gaps)
                np.multiply(gaps, gaps, out=gaps if number else sums)
                if number:
                    np.add(sums, gaps, out=sums)
    return squared


def pair_distances(left: Array, right: Array, rows: Indices, columns: Indices) -> Array:
    """Return ‖xᵢ - yⱼ‖² (p) of the pairs (rows[p], columns[p]) of points (m x d, n x d), by differences.

    The result is the same to the last bit for (i, j) and (j, i).
    """
    squared = np.empty(len(rows))
    for part in row_blocks(len(rows), BLOCK, left.shape[1]):
        squared[part] = _norms(left[rows[part]] - right[columns[part]])
    return squared


def rounding_of_products(columns: int, kind: type[np.floating[Any]]) -> float:
    """Return a bound of the rounding of ‖x - y‖² by products of so many columns, relative to ‖x‖² and ‖y‖²."""
    return 4 * (columns + 4) * float(np.finfo(kind).eps)


def _norms(points: Array) -> Array:
    """Return ‖xᵢ‖² (m) of points (m x d), summed in an order that no processor changes."""
    norms = np.empty(len(points))
    for rows in row_blocks(len(points), CACHED, points.shape[1]):
        norms[rows] = np.sum(points[rows] * points[rows], axis=1)
    return norms
