"""Squared Euclidean distances between points, whole or for chosen pairs."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.stage import advance
from mlcli.base.types import Array, Indices

BLOCK = 2**24  # numbers in a block of work: 128 MiB of doubles
CACHED = 2**15  # numbers that stay in a core's cache
FEW_COLUMNS = 16  # up to here differences are as quick as a product
NEAR = 1e-3  # squared distances below this share of the points' squared norms are computed again by differences


def row_blocks(rows: int, width: int) -> Iterator[slice]:
    """Slices of rows such that each block holds about BLOCK numbers of `width` a row."""
    step = max(1, BLOCK // max(width, 1))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
        advance(min(start + step, rows), rows)


def squared_distances(left: Array, right: Array) -> Array:
    """‖xᵢ - yⱼ‖² (m x n); near pairs keep their digits, equal points are exactly zero apart."""
    distances = np.empty((len(left), len(right)))
    for block in row_blocks(len(left), max(len(right), left.shape[1])):
        distances[block] = _block(left[block], right)
    return distances


def _block(left: Array, right: Array) -> Array:
    """One block of rows, through a matrix product on data centered at the right-hand points."""
    if left.shape[1] <= FEW_COLUMNS:
        return by_differences(left, right)
    center = right.mean(axis=0)
    left_norms, right_norms = _norms(left - center), _norms(right - center)
    products = (left - center) @ (right - center).T
    sums = left_norms[:, None] + right_norms
    squared = np.maximum(sums - 2 * products, 0.0)
    rows, columns = np.nonzero(squared <= NEAR * sums)
    squared[rows, columns] = pair_distances(left, right, rows, columns)
    return squared


def by_differences(left: Array, right: Array) -> Array:
    """‖xᵢ - yⱼ‖² (m x n) of points with few columns, a column at a time: the same to the last bit either way round."""
    squared, columns = np.zeros((len(left), len(right))), np.ascontiguousarray(right.T)
    width = min(max(len(right), 1), CACHED)
    height = CACHED // width
    work = np.empty((height, width))
    for down in range(0, len(left), height):
        for across in range(0, len(right), width):
            sums = squared[down : down + height, across : across + width]
            gaps = work[: sums.shape[0], : sums.shape[1]]
            for own, other in zip(left[down : down + height].T, columns[:, across : across + width], strict=True):
                np.subtract(own[:, None], other, out=gaps)
                np.multiply(gaps, gaps, out=gaps)
                np.add(sums, gaps, out=sums)
    return squared


def pair_distances(left: Array, right: Array, rows: Indices, columns: Indices) -> Array:
    """‖xᵢ - yⱼ‖² for a list of pairs, by differences: the same to the last bit for (i, j) and (j, i)."""
    squared = np.empty(len(rows))
    step = max(1, BLOCK // max(left.shape[1], 1))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        squared[part] = _norms(left[rows[part]] - right[columns[part]])
    return squared


def _norms(points: Array) -> Array:
    return np.einsum("ij,ij->i", points, points)
