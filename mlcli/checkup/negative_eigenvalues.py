"""Why dissimilarities have negative eigenvalues: noise of measurement, extended objects, or a space that is curved.

Noise is as strong in every direction, so it makes about as many small negative eigenvalues as positive ones, and their
eigenvectors change from a point to its nearest ones (Laub and Müller, "Feature discovery in non-metric pairwise data",
JMLR 5, 2004, tell such a spectrum from one with structure). Distances between the nearest parts of extended objects
break the triangle inequality, most by way of large objects, and the eigenvectors concentrate on these (Xu, Wilson and
Hancock, "Determining the cause of negative dissimilarity eigenvalues", CAIP 2011). Distances in a curved space, or
along streets, break no triangle, and few large negative eigenvalues have eigenvectors that change slowly over the
points. `scripts/negative_eigenvalues.py` plants sets of each kind, and shows how the limits below were chosen.
"""

from typing import Literal

import numpy as np

from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import stage
from mlcli.base.types import Array
from mlcli.base.values.sample_size import sample_of
from mlcli.checkup.metric import SLACK
from mlcli.checkup.report import Cause, Evidence
from mlcli.core.euclidean_distances import gower
from mlcli.core.kernels.forms import Dense
from mlcli.core.linalg import symmetric_eigen

FEWEST = 30  # points
MOST = 500  # points that are examined: a sample of more
NEAREST = 6  # points with which an eigenvector is compared at each point
ZERO = 1e-9  # of the largest eigenvalue
HOLDS = 0.01  # of the mean dissimilarity: a triangle inequality broken by no more holds but for rounding
BROKEN = 0.05  # of the mean dissimilarity: extended objects break it by more
BREADTH = 0.2, 0.37  # of noise; half of a semicircle has 32 / (9 pi^2) = 0.36
NARROW, WIDEST = 0.04, 0.28  # breadth of a single direction, and the most of extended objects
UNLIKE, ALIKE = 0.15, 0.2  # autocorrelation of the first eigenvector: at most of noise, and at least of a curved space
LEAST = -0.02  # mean autocorrelation, at least, of what is no noise
SIZES = 0.2  # correlation of sizes with the weight in negative eigenvectors, at least, of extended objects
VARIATION = 0.5  # of sizes, at least, of extended objects: equal ones are those of a constant


@stage("cause")
def cause_of(distances: Array, generator: np.random.Generator) -> Cause:
    """Return the cause of the negative eigenvalues of -HD\u00b2H/2, with the evidence, of dissimilarities (n x n).

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
    alike = autocorrelations(distances, vectors)
    sizes = detours(distances)
    carried = vectors**2 @ (weights / weights.sum())
    vary = sizes.std() > 0 and carried.std() > 0
    found = Evidence(triangle_excess=float(sizes.max()),
                     breadth=float(weights.sum() ** 2 / (weights @ weights) / size),
                     autocorrelation=float(alike @ weights / weights.sum()), first_autocorrelation=float(alike[0]),
                     size_variation=float(sizes.std() / sizes.mean()) if sizes.any() else 0.0,
                     size_correlation=float(np.corrcoef(carried, sizes)[0, 1]) if vary else 0.0)
    return Cause(decide(found), size, found)


def decide(found: Evidence) -> Literal["noise", "extent", "space", "undecided"]:
    """Return the cause that the evidence shows."""
    structured = found.autocorrelation >= LEAST
    if found.triangle_excess <= HOLDS and structured and (
            found.first_autocorrelation >= ALIKE or found.breadth <= NARROW):
        return "space"
    if (found.triangle_excess >= BROKEN and structured and found.breadth <= WIDEST
            and found.size_correlation >= SIZES and found.size_variation >= VARIATION):
        return "extent"
    if (BREADTH[0] <= found.breadth <= BREADTH[1] and found.autocorrelation <= 0
            and found.first_autocorrelation <= UNLIKE):
        return "noise"
    return "undecided"


def autocorrelations(distances: Array, vectors: Array) -> Array:
    """Return how alike each vector, a column of an (n, m) array, is at nearest points: Moran's I, shape (m,).

    It is 1 where a vector is the same at all `NEAREST` points of each, and about 0 where it does not depend on them.
    """
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1, kind="stable")[:, :NEAREST]
    means = sum(vectors[nearest[:, place]] for place in range(NEAREST)) / NEAREST
    return np.asarray((vectors * means).sum(axis=0) / (vectors**2).sum(axis=0))


def detours(distances: Array) -> Array:
    """Return by how much the way over each point is shorter than a pair of others is apart, at most, shape (n,).

    Of balls that is the diameter of one between two others, if distances are those of nearest parts.
    """
    def block(rows: slice) -> Array:
        found = np.zeros(rows.stop - rows.start)
        for place, row in enumerate(distances[rows]):
            excess = distances - row - row[:, None]
            np.fill_diagonal(excess, 0.0)
            found[place] = excess.max()
        return np.where(found > SLACK * distances.max(), found, 0.0)

    return np.concatenate(list(in_order(block, row_blocks(len(distances), 16))))
