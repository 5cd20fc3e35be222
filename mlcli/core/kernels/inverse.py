"""The kernel K = M⁺ of a sparse cost M, whose largest eigenvalues are the inverses of M's smallest.

A factorization of M finds them however small they are, but its fill grows with the dimension of the data. Filters
(`core/chebyshev.py`) take products with M alone, more of them the smaller the eigenvalues are: on surfaces these fall
as 1 / n, where the fill is small, and in many dimensions hardly.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import SPARSE
from mlcli.base.machine.rates import Rates, rates, reference
from mlcli.base.machine.threads import allowed, single_threaded_blas
from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.core.centering import Centering, uncentered
from mlcli.core.chebyshev import BAND, KEPT, NARROW, block_width, smallest
from mlcli.core.eigen.options import SpectrumRequest
from mlcli.core.eigen.solved import Closeness, Solved
from mlcli.core.eigen.solvers import STORED, note_krylov
from mlcli.core.krylov import SPARE, Apply, krylov
from mlcli.core.linalg import singular, threads_for, triangle_of
from mlcli.core.sparse_factors import CompressedRows, factorization

FLAT = 3  # columns up to which the factor of the costs has little fill, in more it may be a whole triangle
USUAL, FILL, DEEP = 13.0, 8.0, 100.0  # log₂ n of the benchmark, and its bytes of factor per entry of M
LISTED = 16.0  # bytes of a neighbor in lists, or of an end of an edge in a graph, which are in memory meanwhile
ROOTED, EDGED = 46.0, 56.0  # bytes of an entry of R, itself, two copies that its product is made of, and what threads
# keep of it: with rows on neighborhoods, and with the short rows on edges
PADDED, ALIGNED = 1.25, 20  # entries of a factor with its pattern and updates, over its own; and more of each row
BLOCKS = 10  # blocks of vectors at once beside the basis of block Krylov
ELIMINATED = 3.1  # of LAPACK's decompositions, in units of the square of the factor's mean row, for each row
TOGETHER = 8  # vectors that one sweep of the factor solves for
SQUARED_PASSES, PASSES = 6, 11  # that it usually takes for RᵀR with rows on neighborhoods, and with rows on edges
FACTORED = 20_000  # points up to which a factorization takes seconds, however small the eigenvalues are
GATHERED, FAR, CACHED = 70.0, 160.0, 2**25  # bytes that a product moves for an entry of M, beside a band of vectors in
# the cache of so many bytes, and beside a larger one
COMBINED = 250.0  # bytes that it moves for a row of a band
FILTERED = 10  # blocks of vectors at once beside the basis of block Krylov with filters
UNKNOWN = 500  # products that filters are predicted to take where no samples tell
WHOLE_SVD = 600  # size up to which the whole spectrum, by singular values of a dense R, is worth having
LATER = 1e-9  # residual of M⁺ to accept where rounding allows no smaller one
CLEAR = 1e-5  # share of the largest eigenvalue of M⁺ above which others are solved together with it


@frozen
class CostSize:
    """The size of a cost M = RᵀR, by which its eigensolver is chosen and its time and memory are predicted."""

    rows: int  # n
    count: int  # neighbors of a point
    columns: int  # of the points
    tall: int  # rows of R
    numbers: int  # entries of R
    squared: bool  # whether rows of R are on neighborhoods, else on edges
    fill: float | None = None  # entries of the factor, estimated from samples; None: unknown
    products: float | None = None  # of M with a block of vectors that filters take, estimated from samples, likewise

    @property
    def entries(self) -> float:
        """The usual number of entries of a factor, where the points have few columns."""
        # an edge joins only its ends: a row's fill grows with the neighbors, and not with their square
        each = self.count**2 / USUAL if self.squared else min(self.count**2 / USUAL, self.count)
        return float(self.rows * each * np.log2(self.rows))

    @property
    def factor(self) -> float:
        """The predicted bytes of a factor."""
        usual = (self.entries * FILL if self.columns <= FLAT else
                 min(self.entries * DEEP, np.inf if self.squared else 4.0 * self.rows**2))
        return 8.0 * self.fill if self.fill is not None else usual

    def block(self, demand: SpectrumRequest) -> int:
        """Return the number of vectors of a block."""
        return min(demand.wanted(self.rows) + 1 + SPARE, self.rows)

    def factored(self, demand: SpectrumRequest, seconds: Rates, threads: int) -> float:
        """Return the predicted seconds of a factorization and what block Krylov solves with it."""
        filled, passes = min(self.factor / 8.0, self.rows**2 / 2.0), SQUARED_PASSES if self.squared else PASSES
        eliminated = ELIMINATED * filled**2 / self.rows * seconds.decomposed / threads
        solved = 16.0 * filled * passes * -(-self.block(demand) // TOGETHER) * seconds.moved
        return self.entries * seconds.factored + eliminated + solved

    def filtered(self, demand: SpectrumRequest, seconds: Rates, threads: int) -> float:
        """Return the predicted seconds of filters; infinite where the number of products is unknown."""
        if self.products is None:
            return float("inf")
        entries = (2.0 if self.squared else 1.0) * self.numbers + self.rows
        bands = block_width(demand.wanted(self.rows) + 1) / BAND
        moved = (FAR if 8.0 * BAND * self.rows > CACHED else GATHERED) * entries + COMBINED * self.rows
        return self.products * bands * moved * seconds.moved / threads

    def by_filters(self, demand: SpectrumRequest) -> bool:
        """Whether filters find the eigenvalues: as asked for, or where a factorization is predicted to take longer.

        By the seconds of the reference on one core, so that neither the machine nor its load changes a result.
        """
        if demand.solver != "auto" or self.rows <= FACTORED:
            return demand.solver == "filter"
        return self.filtered(demand, reference(), 1) < self.factored(demand, reference(), 1)


def inverse_step(demand: SpectrumRequest, size: CostSize) -> Step:
    """Return the cost of the spectrum of M⁺, for a cost M of a size."""
    rows, tall, numbers = size.rows, size.tall, size.numbers
    if demand.components == "all" or (demand.whole(rows) and rows <= WHOLE_SVD):
        seconds = (30.0 * rows**3 + 4.0 * tall * rows**2) * rates().decomposed
        return Step("eigensolve", "the whole spectrum by singular values", seconds, 8.0 * (8 * rows + 2 * tall) * rows,
                    remedy="ask for a count of axes, with method.eigensolve.solver=krylov", square=True)
    lists = LISTED * (rows * size.count + (0 if size.squared else numbers))
    held = lists + (ROOTED if size.squared else EDGED) * numbers
    if size.by_filters(demand):
        width = block_width(demand.wanted(rows) + 1)
        known = size if size.products is not None else replace(size, products=float(UNKNOWN))
        return Step("eigensolve", "block Krylov on Chebyshev filters of the sparse cost",
                    known.filtered(demand, rates(), allowed()), held + 8.0 * rows * width * (2 * KEPT + FILTERED),
                    needs=SPARSE)
    passes = SQUARED_PASSES if size.squared else PASSES
    vectors = 8.0 * rows * size.block(demand) * (2 * passes + BLOCKS)
    return Step("eigensolve", "block Krylov on one factorization in nested-dissection order",
                size.factored(demand, rates(), allowed()),
                held + PADDED * size.factor + 8.0 * ALIGNED * rows + vectors,
                remedy="use fewer neighbors, or {method.eigensolve.solver=filter}",
                needs="" if native.available() else SPARSE)


@frozen
class Inverse:
    """K = M⁺ for a sparse cost M = RᵀR with one null vector (LLE, a graph's Laplacian).

    Trace and Frobenius norm are unknown until the whole spectrum is computed.
    """

    root: CompressedRows  # R, m x n
    null: Array | None = None  # n, of unit length, with R null = 0; None: the constant vector
    where: str = "method"  # the option, and what to do about it, where M cannot be factored
    hint: str = "the graph may be connected by edges of no weight"
    filtered: bool = False  # whether Chebyshev filters find the eigenvalues, else a factorization

    definite, inverse, by_factor, rank, remedy, name = True, True, False, None, "", "M⁺"
    tolerance, entries, trace, frobenius = 0.0, 0.0, float("nan"), float("nan")

    @property
    def size(self) -> int:
        """Number of points."""
        return self.root.columns

    @property
    def centering(self) -> Centering:
        """No centering: the null vector is not part of M⁺."""
        return uncentered(self.size)

    @cached_property
    def shift(self) -> float:
        """Tiny positive multiple of the identity, added to M so that it can be factored."""
        return 1e-10 * self.root.squares / self.size

    @property
    def noise(self) -> float:
        """Relative error of (M + shift)⁻¹ x in double precision: eps ‖M‖ / shift."""
        return EPS * self.root.bound / self.shift

    def solver(self) -> Apply:
        """Factor M + shift, and return what multiplies an (n, b) array of vectors by its inverse, off the null vector.

        The factors are freed with the function, before the stage ends and gives memory back.
        """
        factors = factorization(self.root, self.shift, where=self.where, hint=self.hint)
        return lambda block: self.off_null(factors.solve(self.off_null(block)))

    def off_null(self, block: Array) -> Array:
        """Return an (n, b) array of vectors less their components along the null vector."""
        if self.null is None:
            return block - block.mean(axis=0)
        with single_threaded_blas():  # threads of a product so thin would then wait, awake, where blocks run
            return block - np.outer(self.null, self.null @ block)

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """Compute the smallest eigenvalues of M but that of the null vector, as the largest of M⁺."""
        return _solve_inverse(self, demand, compute)

    def closeness(self, solved: Solved) -> Closeness:
        """Return the tolerances for equal eigenvalues."""
        return closeness_of_costs(solved, scale=min(1.0, float(np.sqrt(self.root.bound))))

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> None:
        """Return None: eigenvalues are computed from the vectors. Takes (k,) `values` and (n, k) `vectors`."""

    def costs(self, vectors: Array) -> Array:
        """Return vᵀMv for an (n, k) array of unit vectors, a (k,) array.

        It is a sum of squares ‖Rv‖², accurate where M's smallest eigenvalues are within rounding.
        """
        residuals = self.root.times(vectors)
        return np.einsum("ij,ij->j", residuals, residuals)


def closeness_of_costs(solved: Solved, growth: float = 1.0, scale: float = 1.0) -> Closeness:
    """Return the tolerances for equal eigenvalues of M⁺, for a root R whose entries have `growth` roundings.

    They compare singular values of R, which are of the size `scale`: a zero of M makes eigenvalues of M⁺ unbounded.
    """
    rounding = solved.size * EPS * scale
    return Closeness(1 / np.sqrt(solved.positive), growth * rounding, 100 * rounding, 50 * rounding)


def rounding_of_costs(root: CompressedRows) -> float:
    """Return the cost, for M = RᵀR with R an (m x n) array, up to which that of a unit vector is rounding."""
    return root.squares / root.columns * EPS**2


def _solve_inverse(kernel: Inverse, demand: SpectrumRequest, compute: Compute) -> Solved:
    size, tolerance, residuals = kernel.size, demand.tolerance or STORED, np.zeros(0)
    count = min(demand.wanted(size) + 1, size - 1)
    complete = demand.components == "all" or (
        size <= WHOLE_SVD if demand.solver == "auto" else demand.solver == "dense") or (
        kernel.filtered and size < NARROW * block_width(count))
    if complete:
        vectors, tolerance, following = _smallest_costs(kernel), STORED, np.zeros(0)
    elif kernel.filtered:
        vectors, residuals, following = _filtered(kernel, count, demand.tolerance or LATER, compute)
        tolerance = max(demand.tolerance or LATER, float(residuals.max()))
    else:
        start = compute.generator().standard_normal((size, min(count + SPARE, size - 1)))
        start = kernel.off_null(start)  # or the null vector would be an eigenvector too, at cost zero
        noise = max(kernel.noise, LATER)
        vectors, tolerance, following = _in_turns(kernel.solver(), start, count, demand.tolerance or STORED, noise)
    costs = kernel.costs(vectors)
    order = np.argsort(costs, kind="stable")
    costs, vectors = costs[order], vectors[:, order]
    values = np.append(1 / np.maximum(costs, rounding_of_costs(kernel.root)), [0.0] if complete else [])
    return Solved(values, lambda q: (vectors[:, :q], None), size, complete, 0.0,
                  STORED if complete else tolerance, own_digits=True, iterative=not complete, at_least=following,
                  residuals=residuals[order] if len(residuals) else residuals)


def _filtered(kernel: Inverse, count: int, tolerance: float, compute: Compute) -> tuple[Array, Array, Array]:
    """Return the bottom `count` eigenvectors of M by filters (n x count), bounds of their residuals of M⁺, relative to
    its largest eigenvalue (count), and lower bounds of the eigenvalues that follow.

    The residual of M⁺ for a vector with the residual r of M and the cost μ is at most r / μ of that.
    """
    null = kernel.null if kernel.null is not None else np.full(kernel.size, 1 / np.sqrt(kernel.size))
    found = smallest(kernel.root.normal(), null, count, tolerance, compute.generator())
    above = found.costs > 0
    residuals = np.where(above, found.residuals / np.where(above, found.costs, 1.0), 0.0)
    note("F-FILTER", f"Chebyshev filters: {found.products} products with the sparse cost, the last filters of degree "
         f"{found.degree}, {found.passes} passes of block Krylov", products=found.products, degree=found.degree,
         passes=found.passes, residuals=[float(f"{r:.3g}") for r in residuals])
    return found.vectors, residuals, 1 / found.at_most[found.at_most > 0]


def _in_turns(apply: Apply, start: Array, count: int, tolerance: float, noise: float,
              ) -> tuple[Array, float, Array]:
    """Compute the top `count` eigenvectors, first those with eigenvalues far above the rest.

    Weakly connected components have costs of nearly zero, so M⁺ has eigenvalues so large that relative to them all
    others would seem converged. Returns the vectors (n x count), the largest residual of the first turn relative to its
    largest eigenvalue, and lower bounds of the eigenvalues that follow.
    """
    vectors, first, following = np.empty((len(start), 0)), tolerance, np.zeros(0)

    def rest(block: Array) -> Array:
        return block - vectors @ (vectors.T @ block) if vectors.shape[1] else block

    while vectors.shape[1] < count:
        left = count - vectors.shape[1]
        turn = krylov(lambda block: rest(apply(rest(block))), rest(start)[:, : left + SPARE], left, tolerance,
                      noise, CLEAR)
        note_krylov(turn)
        clear = max(int(np.sum(turn.values >= CLEAR * turn.values[0])), 1)
        first = first if vectors.shape[1] else max(tolerance, float(turn.residuals[:clear].max(initial=0.0)))
        vectors = np.column_stack([vectors, turn.vectors[:, :clear]])
        following = turn.at_least if clear == len(turn.values) else np.zeros(0)
    return vectors, first, following


def _smallest_costs(kernel: Inverse) -> Array:
    """Return all right singular vectors of R but the null one; squares of small σ keep their digits."""
    size = kernel.size
    null = np.ones(size) if kernel.null is None else kernel.null
    with threads_for(size):
        basis = np.linalg.qr(np.column_stack([null, np.eye(size)[:, : size - 1]]))[0][:, 1:]
    tall = kernel.root.dense() @ basis
    if len(tall) < size - 1:  # fewer edges than a tree has
        tall = np.concatenate([tall, np.zeros((size - 1 - len(tall), size - 1))])
    _, _, right = singular(tall if len(tall) <= 2 * size else triangle_of(tall))  # of a graph, a row for each edge
    return basis @ right.T[:, ::-1]
