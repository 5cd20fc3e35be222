"""Why dissimilarities have negative eigenvalues: noise of measurement, extended objects, or a space that is curved.

Whether the negative eigenvalues carry structure (Laub and Müller, "Feature discovery in non-metric pairwise data", JMLR
5, 2004) is tried: axes of both signs predict dissimilarities of points that were left out better than those of
positive ones, or they do not, as where each dissimilarity has an error of its own. The errors of rounding are known
by size.

Distances between the nearest parts of extended objects break the triangle inequality by way of the large ones (Xu,
Wilson and Hancock, "Determining the cause of negative dissimilarity eigenvalues", CAIP 2011). Whatever their shape,
d(i, j) - d(i, k) - d(k, j) is at most the diameter of object k. This excess is as large for short ways as for long
ones, and about as large for objects like i and j. Where dissimilarities are powers of distances, divergences or the
like, it grows with the way instead, or their square roots are Euclidean; where it comes from errors on top of another
space, points like i and j have none of it. Such sets are left undecided.

Distances in a curved space, along streets or along paths of a graph break no triangle.
`scripts/negative_eigenvalues.py` plants sets of each kind, and shows how the limits below were chosen.
"""

from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import stage
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.sample_size import sample_of
from mlcli.checkup.metric import SLACK
from mlcli.checkup.report import Cause, Evidence
from mlcli.core.euclidean_distances import gower, inner_products
from mlcli.core.kernels.corrections import is_euclidean
from mlcli.core.kernels.forms import Dense
from mlcli.core.linalg import symmetric_eigen, symmetric_eigenvalues

FEWEST = 30  # points
MOST = 500  # points that are examined: a sample of more
NEAREST = 6  # points with which an eigenvector is compared at each point
FOLDS = 3  # each point is left out once
ZERO = 1e-9  # of the largest eigenvalue
SHORT = 0.25  # quantile of dissimilarities: a way over a third point that is no longer is short
STRUCTURE = 0.05  # share of the error that axes below zero remove, at least, where they are no noise
HOLDS = 0.01  # of the mean dissimilarity: a triangle inequality broken by no more holds but for rounding
BROKEN = 0.03  # of the mean dissimilarity: extended objects break it by at least as much
SHORTENED = 0.25  # excess of short ways over that of all, at least, of extended objects
STEADY = 0.25  # excess at the points most like two over that of these, at least, of extended objects
PATHS = 0.4  # share of pairs with a third point exactly between them, from which on distances are lengths of paths
ROUNDED, FINE = 1.3, 4  # times what rounding makes: up to which it is the cause, and from which on it is none
BREADTH = 0.15, 0.37  # of noise; half of a semicircle has 32 / (9 pi^2) = 0.36
UNLIKE, ALIKE = 0.15, 0.2  # autocorrelation of the first eigenvector: at most of noise, and at least of structure
MANY, EVEN = 0.35, 1.3  # share and balance, at least and at most, of noise that breaks no triangle, or in squares


@stage("cause")
def cause_of(distances: Array, generator: np.random.Generator) -> Cause:
    """Return the cause of the negative eigenvalues of -HD²H/2, with the evidence, of dissimilarities (n x n).

    They are symmetric, with a zero diagonal, none below zero, and not Euclidean.
    """
    if len(distances) > MOST:
        drawn = sample_of(len(distances), MOST, generator)
        distances = distances[np.ix_(drawn, drawn)]
    size = len(distances)
    distances = distances / distances.max()  # so that their sum is in range
    distances /= distances.sum() / (size * (size - 1))
    values, vectors = symmetric_eigen(Dense.of(gower(distances**2)).matrix)
    negative = values < -ZERO * np.abs(values).max()
    if size < FEWEST or not negative.any():
        return Cause("undecided", size, None)
    order = np.argsort(values[negative], kind="stable")
    weights, vectors = -values[negative][order], vectors[:, negative][:, order]
    ways = detours(distances)
    others = (np.abs(values) <= weights[0]) & ~negative
    found = Evidence(prediction=prediction_gain(distances), share=float(negative.mean()),
                     balance=float(negative.sum() / max(others.sum(), 1)),
                     breadth=float(weights.sum() ** 2 / (weights @ weights) / size),
                     first_autocorrelation=float(autocorrelations(distances, vectors[:, :1])[0]),
                     rounding=float(weights[0]) / rounding_eigenvalue(distances), between=ways.between,
                     triangle_excess=float(ways.excess.max()),
                     short_excess=float(ways.short.sum() / ways.excess.sum()) if ways.excess.any() else 0.0,
                     excess_alike=ways.alike,
                     squares=is_euclidean(symmetric_eigenvalues(Dense.of(gower(distances)).matrix)))
    return Cause(decide(found), size, found)


def decide(found: Evidence) -> Literal["noise", "extent", "space", "undecided"]:
    """Return the cause that the evidence shows."""
    many = BREADTH[0] <= found.breadth <= BREADTH[1]
    holds = found.triangle_excess <= HOLDS
    if holds and found.between >= PATHS:
        return "space"
    if many and found.rounding <= ROUNDED:
        return "noise"
    if found.prediction >= STRUCTURE or found.first_autocorrelation >= ALIKE:
        extended = (found.triangle_excess >= BROKEN and found.short_excess >= SHORTENED and not found.squares
                    and found.excess_alike >= STEADY and found.rounding >= FINE)
        return "space" if holds else "extent" if extended else "undecided"
    even = not (holds or found.squares) or (found.share >= MANY and found.balance <= EVEN)
    return "noise" if many and even and found.first_autocorrelation <= UNLIKE else "undecided"


def prediction_gain(distances: Array) -> float:
    """Return by which share axes of negative eigenvalues lower the error of predicting dissimilarities (n x n).

    A third of the points is left out at a time. Their inner products follow from their dissimilarities to the others,
    by axes of the others' kernel (Gower, 1968): as many as predict best, once those of positive eigenvalues only,
    and once of both signs.
    """
    squared = distances**2
    ranks = np.argsort(np.argsort(squared.sum(axis=1), kind="stable"), kind="stable")
    errors = np.zeros(2)
    for fold in range(FOLDS):
        known, left = np.flatnonzero(ranks % FOLDS != fold), np.flatnonzero(ranks % FOLDS == fold)
        near, far = squared[np.ix_(known, known)].mean(axis=1), squared[np.ix_(left, known)].mean(axis=1)
        values, vectors = symmetric_eigen(gower(squared[np.ix_(known, known)] - near - near[:, None] + near.mean()))
        order = np.argsort(-np.abs(values), kind="stable")
        order = order[np.abs(values[order]) > ZERO * np.abs(values).max()]
        values, vectors = values[order], vectors[:, order]
        places = inner_products(gower(squared[np.ix_(left, known)] - near - far[:, None] + near.mean()), vectors.T)
        pairs = np.triu_indices(len(left), 1)
        products = gower(squared[np.ix_(left, left)] - far - far[:, None] + near.mean())[pairs]
        errors += [least_error(products, places[:, axes], values[axes], pairs) for axes in (values > 0, values != 0)]
    return float(1 - errors[1] / errors[0]) if errors[0] > 0 else 0.0


def least_error(products: Array, places: Array, values: Array, pairs: tuple[Indices, Indices]) -> float:
    """Return the least sum of squared errors of inner products (p) of pairs of points, by the first axes of places."""
    left = products.copy()
    least = float((left**2).sum())  # BLAS adds in an order that depends on the threads
    for place, value in zip(places.T, values, strict=True):
        left -= place[pairs[0]] * place[pairs[1]] / value
        least = min(least, float((left**2).sum()))
    return least


def nearest_points(distances: Array, count: int) -> Indices:
    """Return the numbers of the nearest points of each (n x count), nearest first."""
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    return np.argsort(apart, axis=1, kind="stable")[:, :count]


def autocorrelations(distances: Array, vectors: Array) -> Array:
    """Return how alike each vector, a column of an (n, m) array, is at nearest points: Moran's I, shape (m,).

    It is 1 where a vector is the same at all `NEAREST` points of each, and about 0 where it does not depend on them.
    """
    nearest = nearest_points(distances, NEAREST)
    means = sum(vectors[nearest[:, place]] for place in range(NEAREST)) / NEAREST
    return np.asarray((vectors * means).sum(axis=0) / (vectors**2).sum(axis=0))


@frozen
class Detours:
    """Ways over each of n points, against the direct ones between two others."""

    excess: Array  # (n,) by how much a way is shorter, at most; of balls, their diameters
    short: Array  # (n,) the same of ways no longer than the quantile `SHORT` of dissimilarities
    alike: float  # excess at the points most like two over that of these, weighted by it
    between: float  # share of pairs with a point exactly between them


def detours(distances: Array) -> Detours:
    """Compare the ways over each point with dissimilarities (n x n), over all pairs of others."""
    size = len(distances)
    slack = SLACK * distances.max()
    limit = np.quantile(distances[np.triu_indices(size, 1)], SHORT)
    sums = (distances**2).sum(axis=1)
    rows_apart = sums + sums[:, None] - 2 * inner_products(distances, distances) - 2 * distances**2
    likest = nearest_points(rows_apart, 2)  # by their dissimilarities to others

    def block(rows: slice) -> tuple[Array, AnyArray]:
        found, between = np.zeros((rows.stop - rows.start, 4)), np.zeros(distances.shape, dtype=bool)
        for place, row in enumerate(distances[rows]):
            ways = row + row[:, None]
            gaps = distances - ways
            np.fill_diagonal(gaps, 0.0)
            apart = row > slack
            between |= (np.abs(gaps) <= slack) & apart & apart[:, None]
            excess = np.where(gaps > slack, gaps, 0.0)
            if not excess.any():
                continue
            like = np.where(likest[:, 0] == rows.start + place, likest[:, 1], likest[:, 0])
            found[place] = (excess.max(), excess.max(where=ways <= limit, initial=0.0), (excess**2).sum(),
                            (excess * np.maximum(gaps[np.ix_(like, like)], 0)).sum())
        return found, between

    parts = list(in_order(block, row_blocks(size, 16)))
    excess, short, own, there = np.concatenate([part[0] for part in parts]).T
    between = np.logical_or.reduce([part[1] for part in parts])
    np.fill_diagonal(between, False)
    return Detours(excess, short, float(there.sum() / own.sum()) if own.any() else 0.0,
                   float(between.mean() * size / (size - 1)))


def rounding_eigenvalue(distances: Array) -> float:
    """Return the largest eigenvalue that rounding adds to the kernel of dissimilarities (n x n).

    Their step u is their smallest difference. An error of rounding is uniform in a step, with the variance u²/12,
    and changes an entry of the kernel, -D²/2, by D times as much; the eigenvalues of such errors fill a semicircle of
    the radius 2 √n times their root mean square (Wigner, 1958).
    """
    gaps = np.diff(np.unique(distances))
    step = gaps.min(where=gaps > SLACK * distances.max(), initial=distances.max())
    size = len(distances)
    return float(np.sqrt((distances**2).sum() / (size - 1) / 3) * step)
