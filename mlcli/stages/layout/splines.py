"""Splines of degree 7 between the nodes of an equispaced grid, where the native kernels are absent."""

from collections.abc import Callable

import numpy as np

from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.native.student import ORDER

BLOCK = 2**20  # numbers of a block of points and nodes


def spline_spectrum(size: int) -> Array:
    """Return the transform of the spline's values at whole numbers, (m/2 + 1)."""
    values, places = spline_values(np.zeros(1))[0], np.arange(ORDER) - (ORDER // 2 - 1)
    angles = 2 * np.pi / size * np.arange(size // 2 + 1)
    return np.asarray(np.cos(np.multiply.outer(angles, places)) @ values)


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


def spread_rows(points: Array, low: Array, spacing: float, grid: Array) -> None:
    """Add the splines of points (n x 1 or n x 2) to the nodes of a grid (1 x m or r x m), the first one at `low`."""
    def work(rows: slice) -> Array:
        nodes, places = _nodes(points[rows], low, spacing, grid.shape)
        weights = _products(places, [spline_values] * len(places))
        return np.bincount(nodes.ravel(), weights.ravel(), grid.size).astype(float)

    for part in in_order(work, row_blocks(len(points), BLOCK, ORDER ** points.shape[1])):
        grid += part.reshape(grid.shape)


def collect_rows(points: Array, low: Array, spacing: float, grid: Array) -> tuple[Array, Array]:
    """Return slopes (n x p) and values (n) at points of the spline that a grid's nodes span."""
    def work(rows: slice) -> Array:
        nodes, places = _nodes(points[rows], low, spacing, grid.shape)
        held, axes = grid.ravel()[nodes], range(len(places))
        slopes = [np.sum(held * _products(places, [spline_slopes if axis == own else spline_values for axis in axes]),
                         axis=1) / spacing for own in axes]
        return np.stack([*slopes, np.sum(held * _products(places, [spline_values for _ in axes]), axis=1)], axis=1)

    both = np.vstack(list(in_order(work, row_blocks(len(points), BLOCK, ORDER ** points.shape[1]))))
    return np.ascontiguousarray(both[:, :-1]), both[:, -1]


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
