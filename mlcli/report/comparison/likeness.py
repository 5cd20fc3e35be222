"""How alike two embeddings of the same points are: up to rotation and size, by their spans, by their neighbors."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.scaling import Unit
from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.linalg import singular
from mlcli.stages.graph.nearest import nearest_of_some

EPS = float(np.finfo(np.float64).eps)


def standardized(values: Array) -> Array:
    """Coordinates (n x p) about their mean, with a sum of squares of 1; zero where all points are one."""
    near_one = Unit.of(values).measured(values)
    mean = near_one.mean(axis=0)
    centered = near_one - mean
    size = float(np.linalg.norm(centered))
    rounding = 4 * EPS * float(np.abs(near_one).max(initial=0.0)) * np.sqrt(values.size)
    return np.zeros_like(centered) if size <= rounding else centered / size


@frozen
class Fit:
    """One embedding rotated and reflected onto another, both standardized."""

    m2: float  # what is left of the sum of squares, which is 1: 0 the same shape, 1 nothing alike
    turned: Array  # the second one in the place of the first, its size kept (n x the larger p)


def procrustes(first: Array, second: Array) -> Fit:
    """The symmetric Procrustes statistic m² = 1 - (Σσ)² (Gower, 1971; vegan's `protest`, SciPy's `disparity`).

    Both are standardized embeddings (n x p, n x q); the one with fewer axes is padded with zeros.
    m² comes from the residuals, so that it is right also where it is tiny.
    """
    width = max(first.shape[1], second.shape[1])
    left, right = _widened(first, width), _widened(second, width)
    u, sizes, vt = singular(right.T @ left)
    turned = right @ (u @ vt)
    if not first.any() or not second.any():
        return Fit(float("nan"), turned)
    return Fit(min(float(np.square(left - sizes.sum() * turned).sum()), 1.0), turned)


def _widened(values: Array, width: int) -> Array:
    return np.pad(values, ((0, 0), (0, width - values.shape[1])))


def principal_angles(first: Array, second: Array) -> Array:
    """Angles in degrees between the spans of two centered embeddings, ascending; as many as the smaller rank.

    Small angles from sines, large ones from cosines (Björck and Golub, 1973; Knyazev and Argentati, 2002).
    """
    left, right = _basis(first), _basis(second)
    if left.shape[1] < right.shape[1]:
        left, right = right, left
    if not right.shape[1]:
        return np.empty(0)
    products = left.T @ right
    cosines = singular(products)[1]
    sines = singular(right - left @ products)[1][::-1]
    angles = np.where(cosines**2 < 0.5, np.arccos(np.clip(cosines, 0, 1)), np.arcsin(np.clip(sines, 0, 1)))
    degrees: Array = np.degrees(angles)
    return degrees


def _basis(values: Array) -> Array:
    """Orthonormal columns with the same span, axes of no extent left out."""
    basis, sizes, _ = singular(values / np.maximum(np.abs(values).max(axis=0, initial=0.0), np.finfo(float).tiny))
    spanning: Array = basis[:, sizes > sizes.max(initial=0.0) * max(values.shape) * EPS]
    return spanning


@frozen
class Agreement:
    """Shared neighbors, averaged over points; standard errors where the points are a sample."""

    neighbors: int
    points: int
    overlap: float  # of the k nearest in one, the share among the k nearest in the other
    jaccard: float  # those in both over those in either
    overlap_se: float | None
    jaccard_se: float | None


def agreement(first: Array, second: Array, rows: Indices, neighbors: int) -> Agreement:
    """The agreement of two embeddings as seen from some of the points."""
    near = [nearest_of_some(values, rows, neighbors).indices.reshape(len(rows), neighbors)
            for values in (first, second)]
    shared = shared_counts(*near)
    overlaps, jaccards = shared / neighbors, shared / (2 * neighbors - shared)
    errors = [None if len(rows) == len(first) else _error(part, len(first)) for part in (overlaps, jaccards)]
    return Agreement(neighbors, len(rows), float(overlaps.mean()), float(jaccards.mean()), *errors)


def shared_counts(first: Indices, second: Indices) -> Indices:
    """How many of each row's entries (m x k, each row without repetition) stand in both."""
    both = np.sort(np.concatenate([first, second], axis=1), axis=1)
    counts: Indices = (both[:, 1:] == both[:, :-1]).sum(axis=1)
    return counts


def _error(values: Array, size: int) -> float:
    """The standard error of a mean over a sample without repetition."""
    count = len(values)
    return float(values.std(ddof=1) * np.sqrt((1 - count / size) / count)) if count > 1 else float("nan")
