"""The likeness of two embeddings of the same points: up to rotation and size, by their spans, by their neighbors."""

from collections.abc import Iterable
from functools import reduce

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import map_blocks, nonzero_columns, parts, zip_blocks
from mlcli.base.types import Array, Indices
from mlcli.base.values.scaling import Unit, largest_of
from mlcli.core.graph.search import nearest_of_some
from mlcli.core.linalg import singular, triangle_of
from mlcli.core.permutations import Permutations

EPS = float(np.finfo(np.float64).eps)


def standardize(values: Array) -> Array:
    """Return coordinates, an (n, p) array, about their mean, with sum of squares 1; zero where all points are equal.
    """
    near_one = Unit.of(values).measured(values)
    mean = np.sum([some.sum(axis=0) for some in parts(near_one)], axis=0) / max(len(near_one), 1)
    size = float(np.sqrt(sum(float(np.square(some - mean).sum()) for some in parts(near_one))))
    rounding = 4 * EPS * largest_of(near_one) * np.sqrt(values.size)
    return map_blocks(lambda some: np.zeros_like(some) if size <= rounding else (some - mean) / size, near_one)


@frozen
class Alignment:
    """One embedding rotated and reflected onto another, both standardized."""

    m2: float  # residual sum of squares, of a total of 1: 0 for the same shape, 1 for unrelated ones
    turned: Array  # the second one aligned with the first, of its own size, an (n, max(p, q)) array


def procrustes(first: Array, second: Array) -> Alignment:
    """Return the symmetric Procrustes statistic m² = 1 - (Σσ)² and the aligned second embedding.

    Both are standardized embeddings, (n, p) and (n, q) arrays; the one with fewer axes is padded with zeros. m² is
    computed from the residuals, so small values are accurate. Source: Gower, 1971; vegan's `protest`, SciPy's
    `disparity`.
    """
    width = max(first.shape[1], second.shape[1])
    u, sizes, vt = singular(_pad(products(second, first), width, width))
    turned = map_blocks(lambda some: _pad(some, len(some), width) @ (u @ vt), second)
    if not nonzero_columns(first).any() or not nonzero_columns(second).any():
        return Alignment(float("nan"), turned)
    left = sum(float(np.square(_pad(one, len(one), width) - sizes.sum() * other).sum())
               for one, other in zip_blocks(first, turned))
    return Alignment(min(left, 1.0), turned)


def procrustes_p(first: Array, second: Array, permutations: Permutations) -> float:
    """Return the p-value of the Procrustes correlation Σσ of two standardized embeddings, (n, p) and (n, q) arrays.

    It is the share of permutations of the second one's rows that reach it, NaN where all points of one coincide.
    Source: Jackson, 1995; vegan's `protest`.
    """
    def correlations(orders: Indices) -> Array:
        return np.asarray(np.linalg.norm(first.T @ second[orders], "nuc", axis=(1, 2)))[:, None]

    if not first.any() or not second.any():
        return float("nan")
    observed = correlations(np.arange(len(first))[None])[0]
    return float(permutations.p_values(observed, correlations, len(first))[0])


def _pad(values: Array, rows: int, width: int) -> Array:
    return np.pad(values, ((0, rows - len(values)), (0, width - values.shape[1])))


def products(left: Array, right: Array) -> Array:
    """Return LᵀR, a (p, q) array, of the columns of two arrays with the same rows."""
    return np.sum([one.T @ other for one, other in zip_blocks(left, right)], axis=0)


def principal_angles(first: Array, second: Array) -> Array:
    """Return angles in degrees between the spans of two centered embeddings, (n, p) and (n, q) arrays, ascending.

    As many as the smaller rank. Small angles from sines, large ones from cosines (Björck and Golub, 1973; Knyazev and
    Argentati, 2002).
    """
    left, right = _basis(first), _basis(second)
    if left.shape[1] < right.shape[1]:
        left, right = right, left
    if not right.shape[1]:
        return np.empty(0)
    turned = products(left, right)
    cosines = singular(turned)[1]
    sines = _sizes(other - one @ turned for one, other in zip_blocks(left, right))[::-1]
    angles = np.where(cosines**2 < 0.5, np.arccos(np.clip(cosines, 0, 1)), np.arcsin(np.clip(sines, 0, 1)))
    degrees: Array = np.degrees(angles)
    return degrees


def _basis(values: Array) -> Array:
    """Return orthonormal columns with the same span, without axes of no extent: X = Q R, then again of Q."""
    largest = np.max([np.abs(some).max(axis=0, initial=0.0) for some in parts(values)], axis=0)
    scale = np.maximum(largest, np.finfo(float).tiny)
    _, sizes, turn = singular(_triangle(some / scale for some in parts(values)))
    spanning = sizes > sizes.max(initial=0.0) * max(values.shape) * EPS
    near = map_blocks(lambda some: some / scale @ (turn[spanning].T / sizes[spanning]), values)
    again = np.linalg.inv(_triangle(parts(near)))
    return map_blocks(lambda some: some @ again, near)


def _sizes(rows: Iterable[Array]) -> Array:
    """Return the singular values of a matrix, from blocks of its rows."""
    return singular(_triangle(rows))[1]


def _triangle(rows: Iterable[Array]) -> Array:
    """Return R of A = Q R, from blocks of the rows of A."""
    return reduce(lambda above, some: triangle_of(np.vstack([above, some])), map(triangle_of, rows))


@frozen
class Agreement:
    """Shared neighbors, averaged over points; standard errors where the points are a sample."""

    neighbors: int
    points: int
    overlap: float  # share of the k nearest in one that are among the k nearest in the other
    jaccard: float  # neighbors in both over neighbors in either
    overlap_se: float | None
    jaccard_se: float | None


def agreement(first: Array, second: Array, rows: Indices, neighbors: int) -> Agreement:
    """Return the mean overlap of neighborhoods of two embeddings, (n, p) and (n, q) arrays, at the points `rows` (m,).
    """
    near = [nearest_of_some(values, rows, neighbors).indices.reshape(len(rows), neighbors)
            for values in (first, second)]
    shared = shared_counts(*near)
    overlaps, jaccards = shared / neighbors, shared / (2 * neighbors - shared)
    errors = [None if len(rows) == len(first) else _error(part, len(first)) for part in (overlaps, jaccards)]
    return Agreement(neighbors, len(rows), float(overlaps.mean()), float(jaccards.mean()), *errors)


def shared_counts(first: Indices, second: Indices) -> Indices:
    """Return how many of each row's entries are in both of two (m, k) arrays, an (m,) array; no row repeats an entry.
    """
    both = np.sort(np.concatenate([first, second], axis=1), axis=1)
    counts: Indices = (both[:, 1:] == both[:, :-1]).sum(axis=1)
    return counts


def _error(values: Array, size: int) -> float:
    """Return the standard error of a mean over a sample without repetition."""
    count = len(values)
    return float(values.std(ddof=1) * np.sqrt((1 - count / size) / count)) if count > 1 else float("nan")
