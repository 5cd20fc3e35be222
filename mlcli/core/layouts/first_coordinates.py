"""First coordinates of a layout: classical scaling, principal components, Laplacian eigenmaps, and random ones.

They have the same bits on every processor, as no step of theirs is one of BLAS or LAPACK.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.base.values.signs import leading_signs
from mlcli.core.arithmetic import (
    WIDEST,
    leading_pairs,
    length,
    normal_numbers,
    product,
    sparse_product,
    transposed_product,
)
from mlcli.core.euclidean_distances import squared_distances
from mlcli.core.graph.graph import Graph
from mlcli.core.krylov import SPARE
from mlcli.core.layouts.pairs import Pairs

if TYPE_CHECKING:
    from scipy import sparse

EXACT = 1e-7  # error of distances, relative to the largest, that is rounding: a root of that of squares
SMALL = 1e-2  # size of random coordinates on axes that classical scaling lacks, relative to its own
DEGREE, EDGE = 10, 0.9  # of the polynomial that raises eigenvalues above the edge over all below it
# residuals of a start's eigenvectors, relative to the largest eigenvalue of the polynomial, and restarts to reach them
CLOSE = (1e-4, 8), (5e-2, 12)
CONVERGED, RESTARTS = 1e-12, 40  # the same of classical scaling and principal components: as far as they come
PASSES = 30  # over a matrix, of most of these
SQUARES = 2**22  # numbers of a block of squared dissimilarities
# Cosine and sine of the angle between places of a spiral that fill a disk evenly, π (3 - √5).
GOLDEN = -0.7373688780783197, 0.6754902942615238


def classical_start(pairs: Pairs, axes: int) -> Array:
    """Return classical scaling (u x p) on as many axes as it has, up to `axes`."""
    lengths = np.ascontiguousarray(pairs.lengths)

    def apply(block: Array) -> Array:  # -J D∘D J / 2
        centered = block - block.mean(axis=0)
        image = np.vstack([product(lengths[rows] * lengths[rows], centered)
                           for rows in row_blocks(len(lengths), SQUARES, len(lengths))])
        return (image - image.mean(axis=0)) * -0.5

    values, vectors = leading(apply, len(lengths), axes)
    return vectors * np.sqrt(values)


def principal_start(values: Array, axes: int) -> Array:
    """Return principal components (n x p) of features (n x d), on as many axes as they have, up to `axes`."""
    size = float(np.abs(values).max(initial=0.0))
    scaled = np.ascontiguousarray(values) * (2.0 ** -float(np.frexp(size)[1]) if size > 0 else 1.0)
    scaled -= scaled.mean(axis=0)
    if scaled.shape[1] < len(scaled):
        spreads, directions = leading(lambda block: transposed_product(scaled, product(scaled, block)),
                                      scaled.shape[1], axes)
        points = product(scaled, directions)
    else:
        spreads, points = leading(lambda block: product(scaled, transposed_product(scaled, block)), len(scaled), axes)
        points = points * np.sqrt(spreads)
    return points * leading_signs(points)


def leading(apply: Callable[[Array], Array], size: int, axes: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues (up to `axes`) above rounding of a symmetric map, and eigenvectors (n x p)."""
    count = min(axes, size)
    start = normal_numbers(np.random.default_rng(0), (size, min(count + SPARE, size)))
    values, vectors, _ = leading_pairs(apply, start, count, CONVERGED, RESTARTS)
    there = values > 10 * size * EPS * np.abs(values).max(initial=0.0)
    vectors = vectors[:, there]
    return values[there], vectors * leading_signs(vectors)


def leading_step(rows: int, columns: int, axes: int) -> Step:
    """Return the step of classical scaling (n x n) or principal components (n x d)."""
    size, width = float(rows) * columns, WIDEST * (axes + SPARE)
    return Step("eigensolve", "first coordinates", PASSES * size * (axes + SPARE) * rates().moved,
                8.0 * (2 * width * min(rows, columns) + size * (rows != columns)))


def reproduces(pairs: Pairs, points: Array) -> bool:
    """Tell whether coordinates (u x p) have the dissimilarities as distances: more axes would add nothing."""
    errors = np.sqrt(squared_distances(points, points)) - pairs.lengths
    return bool(np.abs(errors).max() <= EXACT * pairs.lengths.max())


def layout_starts(pairs: Pairs, first: Array, axes: int, count: int, compute: Compute) -> Iterator[Array]:
    """Yield `count` starts (u x axes): classical scaling first, then normal points of the dissimilarities' size.

    Axes that classical scaling lacks get small random coordinates, as no step leaves a plane that holds all points.
    """
    generator = compute.generator()
    scale = float(np.sqrt(2 * pairs.size / max(pairs.counts.sum() ** 2, 1)))
    more = normal_numbers(generator, (len(pairs), axes - first.shape[1])) * SMALL * scale
    yield np.column_stack([first, more])
    for _ in range(count - 1):
        yield normal_numbers(generator, (len(pairs), axes)) * scale


@stage("eigensolve")
def eigenmap_start(graph: Graph, axes: int, seed: int) -> Array:
    """Return Laplacian eigenmaps (n x axes) of a graph whose lengths are weights; pieces of the graph lie apart.

    In each piece D⁻¹ W y = λ y with the largest λ below one, the smoothest functions first (Belkin and Niyogi, 2003),
    to a residual in CLOSE, with signs by the sign rule. A piece of m points lies in a disk of radius √m; disks lie on
    a spiral around the largest piece, by descending size, and do not touch each other. A piece of few points has zeros
    on axes that it lacks. The scale is of no meaning: callers choose their own.
    """
    matrix, pieces = graph.matrix(), graph.pieces()
    order = np.argsort(pieces, kind="stable")
    sizes = np.bincount(pieces)
    points, generator = np.zeros((graph.size, axes)), np.random.default_rng(seed)
    centers = _spiral(sizes, axes)
    for center, size, members in zip(centers, sizes, np.split(order, np.cumsum(sizes)[:-1]), strict=True):
        part = matrix if len(sizes) == 1 else matrix[members][:, members]
        found = _smoothest(part, axes, generator) if size > 1 else np.zeros((1, axes))
        reach = float(np.sqrt(np.sum(found**2, axis=1)).max())
        points[members] = center + found * (np.sqrt(size) / reach if reach > 0 else 0.0)
    return points


def _spiral(sizes: Indices, axes: int) -> Array:
    """Return centers (k x axes) of disks of these areas over π, so far apart that none meet; on a line, of segments."""
    centers, number = np.zeros((len(sizes), axes)), np.arange(len(sizes))
    if axes == 1:
        ends = np.cumsum(2 * np.sqrt(sizes) * (number > 0)) + 2 * np.sqrt(sizes[0])
        centers[1:, 0] = np.where(number[1:] % 2 == 1, ends[1:], -ends[1:])
        return centers
    far, (x, y) = 2 * np.sqrt(np.cumsum(sizes)) * (number > 0), (1.0, 0.0)
    for center, distance in zip(centers, far.tolist(), strict=True):
        center[:2] = distance * x, distance * y
        x, y = x * GOLDEN[0] - y * GOLDEN[1], x * GOLDEN[1] + y * GOLDEN[0]
    return centers


def _smoothest(weights: "sparse.csr_array", axes: int, generator: np.random.Generator) -> Array:
    """Return eigenvectors (m x axes) of D⁻¹ W in one piece, of the largest eigenvalues but one."""
    size, sums = weights.shape[0], np.asarray(weights.sum(axis=1)).ravel()
    roots = np.sqrt(np.where(sums > 0, sums, 1.0))
    even = weights.multiply(1 / roots[:, None]).multiply(1 / roots[None, :]).tocsr()
    even.indices, even.indptr = even.indices.astype(np.int32), even.indptr.astype(np.int32)
    count = min(axes, size - 1)
    start = normal_numbers(generator, (size, min(count + SPARE, size)))
    vectors = _top_vectors(even, roots / length(roots), start, count) / roots[:, None]
    return np.pad(vectors * leading_signs(vectors), ((0, 0), (0, axes - count)))


def _top_vectors(even: "sparse.csr_array", constant: Array, start: Array, count: int) -> Array:
    """Return the `count` top eigenvectors (m x count) of D^(-1/2) W D^(-1/2) without the constant one, an (m,) array.

    Krylov passes apply a Chebyshev polynomial of the matrix, which spreads the eigenvalues near one. Where they are
    not close soon, as with a noisy piece whose eigenvalues hardly differ, rough ones do, or else random vectors; these
    also where the polynomial is below zero for all others, as with a complete graph, and the constant vector is first.
    """
    for residual, restarts in CLOSE:
        _, vectors, converged = leading_pairs(_chebyshev(even, constant), start, count, residual, restarts)
        if converged and (np.abs(np.sum(constant[:, None] * vectors, axis=0)) < 0.5).all():
            return vectors
    note("N-START", "the eigenvectors of a piece did not converge: its start is random")
    return start[:, :count]


def _chebyshev(even: "sparse.csr_array", constant: Array) -> Callable[[Array], Array]:
    """Return the product of a block with T(S), its eigenvalues from -1 to EDGE mapped to [-1, 1], without a vector."""
    center, half = (EDGE - 1) / 2, (EDGE + 1) / 2

    def without(block: Array) -> Array:
        return np.asarray(block - constant[:, None] * np.sum(constant[:, None] * block, axis=0))

    def apply(block: Array) -> Array:
        before = without(block)
        now = (sparse_product(even, before) - center * before) / half
        for _ in range(DEGREE - 1):
            before, now = now, (sparse_product(even, now) - center * now) * (2 / half) - before
        return without(now)

    return apply
