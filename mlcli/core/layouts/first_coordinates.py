"""First coordinates of a layout: classical scaling, Laplacian eigenmaps of a graph, and random ones."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import mute_notes, note, stage
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities
from mlcli.base.values.signs import leading_signs
from mlcli.core.chain.compose import compose
from mlcli.core.chain.kernels import GowerKernel
from mlcli.core.chain.stages import Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.euclidean_distances import squared_distances
from mlcli.core.graph.graph import Graph
from mlcli.core.krylov import SPARE, krylov
from mlcli.core.layouts.pairs import Pairs
from mlcli.errors import NumericalError

if TYPE_CHECKING:
    from scipy import sparse

EXACT = 1e-7  # error of distances, relative to the largest, that is rounding: a root of that of squares
SMALL = 1e-2  # size of random coordinates on axes that classical scaling lacks, relative to its own
FEW = 400  # points of a piece whose eigenvectors are all computed
DEGREE, EDGE = 10, 0.9  # of the polynomial that raises eigenvalues above the edge over all below it
# residuals of a start's eigenvectors, relative to the largest eigenvalue of the polynomial, and passes to reach them
CLOSE = (1e-4, 40), (5e-2, 60)
GOLDEN = np.pi * (3 - np.sqrt(5.0))  # angle between places of a spiral that fill a disk evenly


def classical_chain(axes: int) -> Stages:
    """Return the chain of classical scaling on so many axes, or on fewer where it has fewer."""
    return Stages(kernel=GowerKernel(), centering="double",
                  eigensolve=Eigensolve.model_construct(set(), components=axes))  # as a default, which is clipped


def classical_start(pairs: Pairs, axes: int, compute: Compute) -> Array:
    """Return classical scaling (u x p) on as many axes as it has, up to `axes`."""
    with mute_notes():
        data = Dissimilarities(pairs.lengths, [str(number) for number in range(len(pairs))])
        chain = classical_chain(min(axes, len(pairs) - 1))
        return np.asarray(compose(chain, data, compute).fit().embedding)


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
    more = generator.standard_normal((len(pairs), axes - first.shape[1])) * SMALL * scale
    yield np.column_stack([first, more])
    for _ in range(count - 1):
        yield generator.standard_normal((len(pairs), axes)) * scale


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
    with single_threaded_blas():  # so that any number of threads gives the same bytes
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
    far = 2 * np.sqrt(np.cumsum(sizes)) * (number > 0)
    centers[:, 0], centers[:, 1] = far * np.cos(GOLDEN * number), far * np.sin(GOLDEN * number)
    return centers


def _smoothest(weights: "sparse.csr_array", axes: int, generator: np.random.Generator) -> Array:
    """Return eigenvectors (m x axes) of D⁻¹ W in one piece, of the largest eigenvalues but one."""
    size, sums = weights.shape[0], np.asarray(weights.sum(axis=1)).ravel()
    roots = np.sqrt(np.where(sums > 0, sums, 1.0))
    even = weights.multiply(1 / roots[:, None]).multiply(1 / roots[None, :]).tocsr()
    constant = roots / np.linalg.norm(roots)
    count = min(axes, size - 1)
    start = generator.standard_normal((size, count + SPARE))
    if size <= max(FEW, 4 * start.shape[1]):
        dense = even.toarray()
        vectors = np.linalg.eigh((dense + dense.T) / 2 - 2 * np.outer(constant, constant))[1][:, ::-1][:, :count]
    else:
        vectors = _top_vectors(even, constant, start, count)
    vectors = vectors / roots[:, None]
    return np.pad(vectors * leading_signs(vectors), ((0, 0), (0, axes - count)))


def _top_vectors(even: "sparse.csr_array", constant: Array, start: Array, count: int) -> Array:
    """Return the `count` top eigenvectors (m x count) of D^(-1/2) W D^(-1/2) without the constant one, an (m,) array.

    Krylov passes apply a Chebyshev polynomial of the matrix, which spreads the eigenvalues near one. Where they are
    not close soon, as with a noisy piece whose eigenvalues hardly differ, rough ones do, or else random vectors.
    """
    for residual, passes in CLOSE:
        with suppress(NumericalError):
            return krylov(_chebyshev(even, constant), start, count, residual, passes=passes).vectors[:, :count]
    note("N-START", "the eigenvectors of a piece did not converge: its start is random")
    return start[:, :count]


def _chebyshev(even: "sparse.csr_array", constant: Array) -> Callable[[Array], Array]:
    """Return the product of a block with T(S), its eigenvalues from -1 to EDGE mapped to [-1, 1], without a vector."""
    center, half = (EDGE - 1) / 2, (EDGE + 1) / 2

    def without(block: Array) -> Array:
        return np.asarray(block - np.outer(constant, constant @ block))

    def apply(block: Array) -> Array:
        before = without(block)
        now = (even @ before - center * before) / half
        for _ in range(DEGREE - 1):
            before, now = now, (even @ now - center * now) * (2 / half) - before
        return without(now)

    return apply
