"""The smallest eigenvalues of a sparse cost M by Chebyshev filters: products with M alone, and no factorization.

A filter is a polynomial p of degree d, with p(0) = 1, that is as small as it can be between a cutoff a and a bound b of
the eigenvalues: p(μ) = T_d((c - μ) / e) / T_d(c / e) with c = (b + a) / 2 and e = (b - a) / 2. Eigenvalues under the
cutoff are the largest of p(M), in the same order, and block Krylov finds them. Nothing but the entries of M and a few
blocks of vectors is in memory, whatever the dimension of the data, of which the fill of a factor depends.

Source: Zhou, Saad, Tiago and Chelikowsky, "Self-consistent-field calculations using Chebyshev-filtered subspace
iteration", 2006; the bound: Collatz, "Einschließungssatz für die charakteristischen Zahlen von Matrizen", 1942.
"""

from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.core.arithmetic import sparse_product
from mlcli.core.krylov import SPARE, krylov
from mlcli.core.linalg import tall_qr

if TYPE_CHECKING:
    from scipy import sparse

BAND = 8  # vectors that a product takes together: more cost little up to so many
DECAY = 2.0  # degree of a filter, in roots of b / a: it leaves cosh(2 · DECAY)⁻¹ of eigenvalues over the cutoff
SETTLED = 0.7  # a cutoff that falls by less than this is kept
STEEPEST = 1500  # degree of a filter at most; smaller eigenvalues take more passes
STEEP, WIDER = 100, 4  # degree from which on wider blocks are tried, and how many times wider
NARROW = 4  # rows of a matrix for each vector of a block, at least
LEAST = 1 / 64  # share of a cutoff that the next one is at least
MOST = 0.9  # of the bound, for a cutoff
BOUNDS = 20  # products for the bound b
CLOSE = 1e-13  # residual of p(M), whose rounding is a few times smaller, relative to its largest eigenvalue
SHARE = 1e-4  # of the tolerance of M, as one of p(M): residuals over the cutoff are smaller there
NEAR = 1e-9  # where it does not fall that far
KEPT, RESTART = 8, 4  # blocks before a restart, and wide ones: the fewest of which it leaves three
POLISHES = 3  # filters after which residuals are what rounding leaves
ROUNDING = 50  # residuals of M that rounding leaves, in units of eps times its bound
PART = 2**16  # numbers of a block of rows


@frozen
class Bottom:
    """The smallest eigenvalues of a cost but those of vectors that were taken from it, ascending."""

    costs: Array  # m
    vectors: Array  # n x m
    residuals: Array  # m, ‖M v - μ v‖
    products: int  # of M with a block of vectors of the least width
    degree: int  # of the last filter
    passes: int  # of block Krylov with it
    at_most: Array = field(default_factory=lambda: np.zeros(0))  # upper bounds of the eigenvalues after these


def smallest(cost: "sparse.csr_array", null: Array, count: int, tolerance: float,
             generator: np.random.Generator) -> Bottom:
    """Return the `count` smallest eigenvalues of a cost (n x n) but that of its null vector (n), of unit length.

    The cost is positive semidefinite, and all entries of the null vector are positive. Each piece of the cost has its
    part of this vector as a null vector of its own, so that further zeros are known beforehand, however many they are.
    For others, the cutoff falls to the estimate of the last eigenvalue of a block, which that is not over, while
    filters of increasing degree bring the block near; then block Krylov finds the eigenvectors with the last filter.
    Many weakly joined pieces have as many small eigenvalues, which a narrow block ends among: where its filter is
    steep, the block is as wide as makes a product with all of its vectors, and as many as there are, cheapest.
    Residuals are below `tolerance` times their eigenvalue, or what rounding leaves. Raises NumericalError where it does
    not converge.
    """
    nulls = null_vectors(cost, null)
    zeros = further_nulls(nulls, null, count)
    left = count - zeros.shape[1]
    if left == 0:
        return Bottom(np.zeros(count), zeros, np.zeros(count), products=0, degree=0, passes=0)
    with single_threaded_blas():
        found = _over_zero(cost, nulls, left, tolerance, generator)
    return replace(found, costs=np.append(np.zeros(len(zeros.T)), found.costs),
                   vectors=np.column_stack([zeros, found.vectors]),
                   residuals=np.append(np.zeros(len(zeros.T)), found.residuals))


def _over_zero(cost: "sparse.csr_array", nulls: "sparse.csr_array", count: int, tolerance: float,
               generator: np.random.Generator) -> Bottom:
    """Return the `count` smallest eigenvalues of a cost (n x n) without its null vectors (c x n)."""
    bound, size, width = largest_at_most(cost, np.asarray(abs(nulls).sum(axis=0))), cost.shape[0], block_width(count)
    products, floor, rounding = BOUNDS, bound * (DECAY / STEEPEST) ** 2, ROUNDING * EPS * bound
    now, filters, settled = Filter(cost, nulls, bound / 2, bound), 0, False
    block = generator.standard_normal((size, width))
    while not settled:
        block = tall_qr(now.apply(block))[0]
        block, costs, residuals = _rotated(cost, block)
        products, filters = products + (now.degree + 1) * block.shape[1] // width, filters + 1
        if residuals[:count].max() <= rounding:
            return _bottom(count, block, costs, residuals, products=products, degree=now.degree, passes=0)
        cutoff = min(max(float(costs[-1]), now.cutoff * LEAST, floor), MOST * bound)
        settled = filters > 1 and cutoff > SETTLED * now.cutoff
        now = replace(now, cutoff=cutoff)
        if now.degree > STEEP and block.shape[1] == width and size > NARROW * WIDER * width:
            block = np.column_stack([block, generator.standard_normal((size, (WIDER - 1) * width))])
            now, filters, settled = replace(now, cutoff=bound / 2), 0, False
    if block.shape[1] > width:
        widths = width * np.arange(1, WIDER + 1)
        best = int(widths[np.argmin(widths / np.sqrt(np.maximum(costs[widths - 1], floor)))])
        block = np.ascontiguousarray(block[:, :best])
        now = replace(now, cutoff=min(max(float(costs[best - 1]), floor), MOST * bound))
    kept = max(KEPT * width, RESTART * block.shape[1])
    ritz = krylov(now.apply, block, count, max(CLOSE, SHARE * tolerance), NEAR, kept=kept)
    products, block = products + now.degree * ritz.passes * block.shape[1] // width, ritz.block
    for polish in range(POLISHES + 1):
        if polish:
            block = tall_qr(now.apply(block))[0]
            products += now.degree
        block, costs, residuals = _rotated(cost, block)
        products += 1
        if (residuals[:count] <= np.maximum(tolerance * costs[:count], rounding)).all():
            break
    return replace(_bottom(count, block, costs, residuals, products=products, degree=now.degree, passes=ritz.passes),
                   at_most=now.inverse(ritz.at_least))


def _bottom(count: int, block: Array, costs: Array, residuals: Array, *, products: int, degree: int,
            passes: int) -> Bottom:
    return Bottom(costs[:count], block[:, :count], residuals[:count], products=products, degree=degree, passes=passes)


def null_vectors(cost: "sparse.csr_array", null: Array) -> "sparse.csr_array":
    """Return the parts of a null vector (n) on each piece of a cost (n x n), of unit length (c x n)."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(cost, directed=False)
    lengths = np.sqrt(np.bincount(labels, null**2, minlength=count))
    places = labels.astype(np.int32), np.arange(len(null), dtype=np.int32)
    return sparse.csr_array((null / lengths[labels], places), shape=(count, len(null)))


def further_nulls(nulls: "sparse.csr_array", null: Array, count: int) -> Array:
    """Return at most `count` orthonormal combinations (n x m) of null vectors (c x n) that are orthogonal to one (n).
    """
    pieces = nulls.shape[0]
    shares = sparse_product(nulls, null[:, None])
    basis = np.linalg.qr(np.column_stack([shares, np.eye(pieces, min(count, pieces - 1))]))[0]
    return sparse_product(nulls.T.tocsr(), basis[:, 1:])


def block_width(count: int) -> int:
    """Return the number of vectors of a block for the `count` smallest eigenvalues: whole bands, with a few to spare.
    """
    return -(-(count + SPARE) // BAND) * BAND


def largest_at_most(cost: "sparse.csr_array", positive: Array) -> float:
    """Return a bound of the largest eigenvalue of a symmetric matrix (n x n), from a positive vector z (n) on.

    It is the largest quotient of |M| z over z, for the best of z, |M| z, ... (Collatz 1942). That of the normalized
    Laplacian is 2, from the root of the degrees.
    """
    sizes = abs(cost)
    vector, best = np.maximum(positive, np.finfo(np.float64).tiny ** 0.25 * positive.max()), np.inf
    for _ in range(BOUNDS):
        image = sizes @ vector
        best = min(best, float((image / vector).max()))
        vector = image / image.max() + EPS
    return best * (1 + 100 * EPS)


@frozen
class Filter:
    """A polynomial p(M) of a cost M, with p(0) = 1, that is small for eigenvalues from a cutoff to a bound."""

    cost: "sparse.csr_array"  # n x n
    nulls: "sparse.csr_array"  # c x n: unit null vectors
    cutoff: float
    bound: float

    @property
    def degree(self) -> int:
        """The degree d."""
        return int(np.ceil(DECAY * np.sqrt(self.bound / self.cutoff)))

    def without(self, block: Array) -> Array:
        """Return a block (n x b) without its parts along the null vectors."""
        return np.asarray(block - sparse_product(self.nulls.T.tocsr(), sparse_product(self.nulls, block)))

    def apply(self, block: Array) -> Array:
        """Return p(M) B of a block (n x b), without its parts along the null vectors.

        By T_{k+1}(x) = 2 x T_k(x) - T_{k-1}(x), with quotients of values at zero, which do not overflow.
        """
        center, half = (self.bound + self.cutoff) / 2, (self.bound - self.cutoff) / 2
        before, first = np.ascontiguousarray(self.without(block)), half / center
        now, ratio = before.copy(), first
        self._step(now, now, shift=center, factor=1 / center, rest=0.0, before=before)
        for _ in range(2, self.degree + 1):
            following = 1 / (2 / first - ratio)
            before, now = now, self._step(now, before, shift=center, factor=2 * following / half,
                                          rest=ratio * following, before=before)
            ratio = following
        return self.without(now)

    def _step(self, now: Array, out: Array, *, shift: float, factor: float, rest: float, before: Array) -> Array:
        """Write factor · (shift - M) Y - rest · Z into `out`, which may be Z, of vectors Y and Z (n x b)."""
        image = sparse_product(self.cost, now)

        def combine(rows: slice) -> None:
            out[rows] = factor * (shift * now[rows] - image[rows]) - rest * before[rows]

        each(combine, row_blocks(len(now), PART, now.shape[1]))
        return out

    def inverse(self, values: Array) -> Array:
        """Return the eigenvalues μ under the cutoff of which p(μ) are the (m,) `values`; leaves out those over it."""
        center, half = (self.bound + self.cutoff) / 2, (self.bound - self.cutoff) / 2
        scaled = values * np.cosh(self.degree * np.arccosh(center / half))
        return np.asarray(center - half * np.cosh(np.arccosh(scaled[scaled > 1]) / self.degree))


def _rotated(cost: "sparse.csr_array", block: Array) -> tuple[Array, Array, Array]:
    """Return the Ritz vectors of an orthonormal block (n x b), their values, ascending, and the norms of residuals."""
    image = sparse_product(cost, block)
    products = block.T @ image
    costs, turn = np.linalg.eigh((products + products.T) / 2)
    vectors = np.ascontiguousarray(block @ turn)
    return vectors, costs, np.linalg.norm(image @ turn - vectors * costs, axis=0)
