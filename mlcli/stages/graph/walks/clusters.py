"""Clusters of points that a random walk hardly tells apart: the landmarks of its steps (Moon and others, 2019)."""

from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import advance
from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.distances import BLOCK, squared_distances

if TYPE_CHECKING:
    from scipy import sparse

FUNCTIONS = 100  # leading functions of the walk by which points are compared
SPARE = 10  # more of them while they are computed
POWERS = 7  # products with the walk that bring them near
PASSES = 10  # of k-means; later ones move few points


def walk_clusters(kernel: "sparse.csr_array", count: int, generator: np.random.Generator) -> Indices:
    """Return the cluster of each point (n), from 0: at most `count` of them by k-means, from points drawn at random.

    Points are compared by where one step of the walk leads them, in the leading functions of a symmetric kernel
    (n x n). Clusters are numbered in the order of their first points.
    """
    points = leading_functions(kernel, generator)
    centers = points[np.sort(generator.choice(len(points), min(count, len(points)), replace=False))]
    labels = nearest_centers(points, centers)
    for number in range(PASSES):
        centers = means(points, labels)
        before, labels = labels, nearest_centers(points, centers)
        advance(number + 1, PASSES)
        if np.array_equal(before, labels):
            break
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[places]


def leading_functions(kernel: "sparse.csr_array", generator: np.random.Generator) -> Array:
    """Return the leading functions of a walk after one step (n x q), by subspace iteration from random vectors.

    These are eigenvectors V of D^(-1/2) K D^(-1/2), D the sums of a symmetric kernel K (n x n), times D⁻¹ K.
    """
    from scipy import sparse

    sums = kernel.sum(axis=1)
    even = sparse.diags_array(sums**-0.5)
    symmetric = sparse.csr_array(even @ kernel @ even)
    count = kernel.shape[0]
    with single_threaded_blas():  # the same bits for any number of threads
        basis: Array = generator.standard_normal((count, min(FUNCTIONS + SPARE, count)))
        for _ in range(POWERS):
            basis = np.linalg.qr(symmetric @ basis)[0]
        values, turn = np.linalg.eigh(basis.T @ (symmetric @ basis))
        largest = np.argsort(-np.abs(values), kind="stable")[:FUNCTIONS]
        return np.asarray((kernel @ (basis @ turn[:, largest])) / sums[:, None])


def nearest_centers(points: Array, centers: Array) -> Indices:
    """Return the nearest of some centers (c x q) for each point of (n x q), an (n,) array."""
    def work(rows: slice) -> Indices:
        return squared_distances(points[rows], centers).argmin(axis=1)

    return np.concatenate(list(in_order(work, row_blocks(len(points), BLOCK, max(len(centers), points.shape[1])))))


def means(points: Array, labels: Indices) -> Array:
    """Return the means (c x q) of the points (n x q) of each label that occurs in an (n,) array."""
    kinds, places = np.unique(labels, return_inverse=True)
    sums = memberships(places, len(kinds))
    return np.asarray((sums @ points) / sums.sum(axis=1)[:, None])


def memberships(labels: Indices, count: int) -> "sparse.csr_array":
    """Return the matrix of ones where a point belongs to one of `count` clusters (count x n), for labels (n) from 0."""
    from scipy import sparse

    size = len(labels)
    return sparse.csr_array((np.ones(size), (labels, np.arange(size))), shape=(count, size))
