"""LAPACK with checks and fallbacks, also for stacks of small matrices: input and output are finite. No other module
calls LAPACK.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from mlcli.base.machine.rates import pass_cost, rates
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.scaling import Unit
from mlcli.errors import NumericalError

MANY = 1600  # rows from which on a few eigenvectors are so much cheaper than all that loading SciPy is worth it
# Threads wait for each other in a busy loop: where cores are busy, a small matrix takes them 20 to 200 times as long.
ALONE = 2048  # rows up to which the many small steps of eigenvalues, singular values and QR gain little from threads
CACHED = 2**16  # numbers of a tall array that stay in a core's cache from one product to the next
THIN = 80  # passes that the decomposition of a tall matrix takes besides, with what is made of it
SPECTRUM = 9.0  # times n³ operations of a whole symmetric eigenproblem
FEW = 512  # rows up to which a triangular factorization takes a few milliseconds


def require_finite(values: AnyArray, what: str) -> None:
    """Raise NumericalError for NaN or infinity in an array of any shape: LAPACK may hang on it (numpy issue 32591)."""
    if not np.isfinite(values).all():
        raise NumericalError("NOT-FINITE", f"{what} has values that are not finite",
                             hint="scale the data, or change the kernel's parameters, so that it does not overflow")


def threads_for(rows: int, alone: int = ALONE) -> AbstractContextManager[None]:
    """Limit BLAS, which must be loaded by now, to one thread for a matrix of up to `alone` rows."""
    return single_threaded_blas() if rows <= alone else nullcontext()


def symmetric_eigen(matrix: Array) -> tuple[Array, Array]:
    """Return all eigenvalues (n, descending) and unit eigenvectors (n x n, columns) of a symmetric matrix (n x n)."""
    require_finite(matrix, "the matrix to be decomposed")
    try:
        with threads_for(len(matrix)):
            values, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        note("N-FALLBACK", "divide and conquer did not converge; used QR iteration instead")
        values, vectors = _slower_eigen(matrix)
    require_finite(values, "the computed spectrum")
    return values[::-1], vectors[:, ::-1]


def leading_eigen(matrix: Array) -> tuple[Array, Callable[[int], Array]]:
    """Return all eigenvalues (n, descending) of a symmetric matrix (n x n), and a function for its eigenvectors.

    The function maps q to the first q unit eigenvectors (n x q). Large matrices are brought to tridiagonal form once,
    QᵀAQ = T: all eigenvalues of T cost little, and so do a few eigenvectors, which Q turns into those of A; half of
    the work of computing all (dsytrd, dstebz, dstein, dormqr).
    """
    if len(matrix) >= MANY:
        import scipy.linalg  # noqa: F401  before its threads are limited

        require_finite(matrix, "the matrix to be decomposed")
        try:
            with threads_for(len(matrix)):
                return _tridiagonal_eigen(matrix)
        except np.linalg.LinAlgError:
            pass  # divide and conquer may succeed
    values, vectors = symmetric_eigen(matrix)
    return values, lambda count: vectors[:, :count]


def _tridiagonal_eigen(matrix: Array) -> tuple[Array, Callable[[int], Array]]:
    """Return the result of `leading_eigen` by tridiagonal form; raises LinAlgError where LAPACK fails."""
    from scipy.linalg import eigh_tridiagonal, eigvalsh_tridiagonal, lapack

    size = len(matrix)
    room, _ = lapack.dsytrd_lwork(size, lower=1)
    turns, diagonal, beside, factors, failed = lapack.dsytrd(matrix.T, lower=1, lwork=int(room))
    unit = Unit.of(diagonal, beside)
    diagonal, beside = unit.measured(diagonal), unit.measured(beside)  # dstebz squares them
    if failed or not (np.isfinite(diagonal).all() and np.isfinite(beside).all()):
        raise np.linalg.LinAlgError("no tridiagonal form")
    values = unit.plain(eigvalsh_tridiagonal(diagonal, beside)[::-1])
    require_finite(values, "the computed spectrum")

    def leading(count: int) -> Array:
        count = min(count, size)
        try:
            _, chosen = eigh_tridiagonal(diagonal, beside, select="i", select_range=(size - count, size - 1))
        except np.linalg.LinAlgError:  # dstein did not converge
            return symmetric_eigen(matrix)[1][:, :count]
        vectors = np.asfortranarray(chosen[:, ::-1])
        vectors[1:] = lapack.dormqr("L", "N", turns[1:, :-1], factors, vectors[1:], lwork=64 * count)[0]
        return vectors

    return values, leading


def symmetric_eigenvalues(matrix: Array) -> Array:
    """Return all eigenvalues (n, descending) of a symmetric matrix (n x n)."""
    require_finite(matrix, "the matrix to be decomposed")
    with threads_for(len(matrix)):
        values: Array = np.linalg.eigvalsh(matrix)[::-1].astype(np.float64)
    require_finite(values, "the computed spectrum")
    return values


def _slower_eigen(matrix: Array) -> tuple[Array, Array]:
    import scipy.linalg

    try:
        values, vectors = scipy.linalg.eigh(matrix, driver="ev", check_finite=False)
    except np.linalg.LinAlgError as error:
        raise NumericalError("EIGEN", "the eigenvalue solver did not converge",
                             hint="check the data for extreme values with different scales") from error
    return values, vectors


def singular(factor: Array) -> tuple[Array, Array, Array]:
    """Return U (m x k), s (k), Vt (k x n) of F = U diag(s) Vt (m x n), s descending; falls back (scipy issue 15024)."""
    require_finite(factor, "the matrix to be decomposed")
    for driver in ("gesdd", "gesvd"):
        try:
            with threads_for(max(factor.shape)):
                left, sizes, right = _svd(factor, driver)
        except np.linalg.LinAlgError:
            note("N-FALLBACK", f"the singular value solver {driver} did not converge; used the next one")
            continue
        require_finite(sizes, "the computed spectrum")
        return left, sizes, right
    return _singular_by_gram(factor)


def _svd(factor: Array, driver: str) -> tuple[Array, Array, Array]:
    if driver == "gesdd":  # NumPy's
        return np.linalg.svd(factor, full_matrices=False)
    import scipy.linalg

    return tuple(scipy.linalg.svd(factor, full_matrices=False, lapack_driver=driver, check_finite=False))


def _singular_by_gram(factor: Array) -> tuple[Array, Array, Array]:
    """Return the decomposition from the eigenvectors of the smaller Gram matrix; small singular values lose digits."""
    if factor.shape[0] < factor.shape[1]:
        left, sizes, right = _singular_by_gram(factor.T)
        return right.T, sizes, left.T
    values, directions = symmetric_eigen(factor.T @ factor)
    sizes = np.sqrt(np.clip(values, 0, None))
    above = sizes > sizes[0] * np.sqrt(EPS * max(factor.shape))
    left = np.divide(factor @ directions, sizes, out=np.zeros(factor.shape), where=above)
    return left, sizes, directions.T


def lowest_directions(matrix: Array) -> tuple[Array, Array]:
    """Return all r singular values of a matrix (m x r), ascending, and the directions (r x r) that they belong to."""
    rows, width = matrix.shape
    _, sizes, right = singular(np.vstack([matrix, np.zeros((max(width - rows, 0), width))]))
    return sizes[::-1], right[::-1].T


def triangle_of(matrix: Array) -> Array:
    """Return R (k x n, k = min(m, n)) of A = Q R (m x n), which has the singular values of A."""
    require_finite(matrix, "the matrix to be decomposed")
    with threads_for(max(matrix.shape)):
        return np.asarray(np.linalg.qr(matrix, mode="r"))


def orthonormal(columns: Array) -> Array:
    """Return Q (n x k) of A = Q R (n x k) with the diagonal of R over zero, as Gram and Schmidt give it."""
    with threads_for(max(columns.shape)):
        basis, triangle = np.linalg.qr(columns)
    return basis * np.where(np.diag(triangle) < 0, -1.0, 1.0)


def solve_regularized(matrices: Array, rights: Array) -> Array:
    """Return the x of A x = b for positive definite matrices (... x k x k, ... x k) with a ridge.

    Raises NumericalError where the ridge leaves one singular.
    """
    try:
        solutions: Array = np.linalg.solve(matrices, rights[..., None])[..., 0].astype(np.float64)
        return solutions
    except np.linalg.LinAlgError as error:
        raise singular_in_spite_of_ridge() from error


def singular_in_spite_of_ridge() -> NumericalError:
    """Return the error for a local system of equations that its ridge leaves singular."""
    return NumericalError("SINGULAR", "a local system of equations is singular", where="method.ridge",
                          hint="use a larger ridge")


def lowest_eigenvector(matrix: Array) -> Array:
    """Return a unit eigenvector (n) of the smallest eigenvalue of a symmetric matrix (n x n)."""
    import scipy.linalg

    require_finite(matrix, "the matrix to be decomposed")
    try:
        with threads_for(len(matrix)):
            _, vectors = scipy.linalg.eigh(matrix, subset_by_index=[0, 0], check_finite=False)
    except np.linalg.LinAlgError:
        return symmetric_eigen(matrix)[1][:, -1]
    require_finite(vectors, "the computed eigenvector")
    return vectors[:, 0]


def cholesky(matrix: Array) -> Array | None:
    """Return L (n x n, lower) of A = L Lᵀ (n x n); None where A is not positive definite in this arithmetic."""
    require_finite(matrix, "the matrix to be factored")
    try:
        with threads_for(len(matrix), FEW):
            return np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        return None


def lower_solve(triangle: Array, rights: Array) -> Array:
    """Return L⁻¹ B (n x b) for a lower triangle L (n x n) and right sides B (n x b)."""
    import scipy.linalg

    with threads_for(len(triangle), FEW):
        return np.asarray(scipy.linalg.solve_triangular(triangle, rights, lower=True, check_finite=False))


def positive_inverse(matrix: Array) -> tuple[Array, float] | None:
    """Return A⁻¹ and log |A| of a symmetric A (n x n), by Cholesky; None where A is not positive definite."""
    from scipy.linalg import lapack

    require_finite(matrix, "the matrix to be inverted")
    with threads_for(len(matrix), FEW):
        factor, failed = lapack.dpotrf(matrix.T, lower=1)
        if failed:
            return None
        logarithm = 2 * float(np.log(np.diag(factor)).sum())
        inverse = np.tril(lapack.dpotri(factor, lower=1, overwrite_c=1)[0])
    return inverse + np.tril(inverse, -1).T, logarithm


def positive_solver(matrix: Array) -> Callable[[Array], Array] | None:
    """Return the map b -> A⁻¹ b, by Cholesky, which overwrites A (n x n); None where A is not positive definite."""
    import scipy.linalg

    require_finite(matrix, "the matrix to be factored")
    try:
        with threads_for(len(matrix), FEW):
            factor = scipy.linalg.cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return lambda right: np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))


def independent_columns(gram: Array, tolerance: float) -> Indices:
    """Return columns that span a positive semidefinite matrix (n x n), by Cholesky with pivots above `tolerance`."""
    from scipy.linalg.lapack import dpstrf

    require_finite(gram, "the matrix to be factored")
    _, pivots, rank, _ = dpstrf(gram.T, tol=tolerance, lower=1, overwrite_a=1)
    return np.sort(pivots[:rank].astype(np.int64) - 1)


def inverse(matrices: Array, *, where: str, hint: str) -> Array:
    """Return the inverses of a stack of matrices (... x k x k); raises NumericalError, with `where` and `hint`."""
    require_finite(matrices, "the matrix to be inverted")
    try:
        inverses: Array = np.linalg.inv(matrices).astype(np.float64, copy=False)
    except np.linalg.LinAlgError as error:
        raise NumericalError("SINGULAR", "a system of equations is singular", where=where, hint=hint) from error
    return inverses


def root_positive(matrix: Array) -> Array:
    """Return the symmetric root (k x k) of a positive semidefinite matrix (k x k)."""
    values, vectors = symmetric_eigen(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def tall_qr(block: Array) -> tuple[Array, Array]:
    """Return Q (n x b) and the triangle R (b x b) of a block (n x b), by those of rows that fit in a core's cache.

    Source: Demmel, Grigori, Hoemmen and Langou, 2012.
    """
    rows = row_blocks(len(block), CACHED, block.shape[1])
    if len(rows) == 1 or len(block) < block.shape[1]:
        orthonormal, triangle = np.linalg.qr(block)
        return orthonormal, triangle
    parts = list(in_order(lambda some: np.linalg.qr(block[some]), rows))
    rotations, triangle = np.linalg.qr(np.vstack([part for _, part in parts]))
    orthonormal, width = np.empty(block.shape), block.shape[1]  # of rows, as kernels take it, however the block lies

    def turn(number: int) -> None:
        own = rotations[number * width : number * width + len(parts[number][1])]
        np.matmul(parts[number][0], own, out=orthonormal[rows[number]])

    each(turn, range(len(rows)))
    return orthonormal, triangle


def left_singular(stack: Array, what: str, *, whole: bool = False) -> tuple[Array, Array]:
    """Return U (m x k x q) and s (m x q, descending) of matrices A = U diag(s) Vᵀ (m x k x d), with q = min(k, d).

    The `whole` U is m x k x k, and s, with zeros, m x k.
    Wide matrices are first brought to a triangle: Aᵀ = Q R has the singular values of Rᵀ. Raises NumericalError for
    numbers that are not finite, called `what`, and where LAPACK does not converge.
    """
    require_finite(stack, what)
    try:
        if stack.shape[2] > stack.shape[1]:
            stack = np.asarray(np.linalg.qr(stack.transpose(0, 2, 1), mode="r")).transpose(0, 2, 1)
        left, sizes, _ = np.linalg.svd(stack, full_matrices=whole)
    except np.linalg.LinAlgError as error:
        raise NumericalError("EIGEN", f"the singular values of {what} did not converge",
                             hint="check the data for extreme values with different scales") from error
    missing = left.shape[2] - sizes.shape[1]
    return left, np.pad(sizes, ((0, 0), (0, missing))) if missing else sizes


def leading_roots(stack: Array, what: str) -> tuple[Array, Array]:
    """Return unit eigenvectors (m x k x k) and roots (m x k) of the eigenvalues of symmetric matrices (m x k x k).

    In descending order; the root of an eigenvalue below zero is zero. Raises NumericalError as `left_singular`.
    """
    require_finite(stack, what)
    try:
        values, vectors = np.linalg.eigh(stack)
    except np.linalg.LinAlgError as error:
        raise NumericalError("EIGEN", f"the eigenvalues of {what} did not converge",
                             hint="check the data for extreme values with different scales") from error
    return vectors[:, :, ::-1], np.sqrt(np.maximum(values, 0.0))[:, ::-1]


def complements(columns: Array) -> Array:
    """Return orthonormal rows (m x (k - r) x k) that are orthogonal to independent columns (m x k x r) (QR)."""
    basis: Array = np.linalg.qr(columns, mode="complete")[0]
    return basis[:, :, columns.shape[2]:].transpose(0, 2, 1)


def residuals(columns: Array, known: Array) -> Array:
    """Return columns (m x k x r) less their projections on the span of independent `known` ones (m x k x s)."""
    basis = np.asarray(np.linalg.qr(known)[0])
    for _ in range(2):  # once more for what rounding of the first time leaves
        columns = columns - basis @ (basis.transpose(0, 2, 1) @ columns)
    return columns


def solve_cost(size: int, threads: int) -> float:
    """Seconds of a whole symmetric eigenproblem: about 9 n³ operations."""
    return SPECTRUM * size**3 * rates().decomposed / (threads if size > ALONE else 1)


def singular_cost(shape: tuple[int, ...], threads: int) -> float:
    """Seconds of the singular values and vectors of a matrix: about 14 m k² operations for sides m ≥ k, and passes."""
    rows, columns = shape
    return 14.0 * rows * columns * min(rows, columns) * rates().decomposed / threads + THIN * pass_cost(
        rows * columns)


def singular_step(stage: str, shape: tuple[int, ...], threads: int, copies: float = 4.0) -> Step:
    """Step of the singular values and vectors of a matrix, with `copies` arrays of its size in memory at once."""
    rows, columns = shape
    return Step(stage, f"singular values of {rows} x {columns}", singular_cost(shape, threads),
                8.0 * (copies * rows * columns + 4.0 * min(rows, columns) ** 2))
