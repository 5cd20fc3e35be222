"""Dense products, and the solution of large positive definite systems, in blocks of rows on all threads.

Blocks have the same rows for any number of threads, and each is computed by one thread: so are the results, to the bit.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import EPS
from mlcli.core.linalg import cholesky, lower_solve, require_finite

TILE = 256  # rows of a block
SHIFTS = 10.0 ** np.arange(5)  # of eigenvalues, in units of rounding, until a matrix is positive definite
REFINEMENTS = 20  # steps of conjugate gradients that undo a shift


def product(left: Array, right: Array) -> Array:
    """Return A B (m x n) of A (m x k) and B (k x n)."""
    result = np.empty((len(left), right.shape[1]))

    def multiply(block: slice) -> None:
        np.matmul(left[block], right, out=result[block])

    each(multiply, row_blocks(len(left), TILE))
    return result


def gram_product(first: Array, *others: Array) -> Array:
    """Return the products aᵢ·aⱼ of rows (m x k), times those of other rows (m x k' each), as a matrix (m x m).

    Entries above the diagonal mean nothing.
    """
    result = np.zeros((len(first), len(first)))

    def multiply(block: slice) -> None:
        part = result[block, : block.stop]
        np.matmul(first[block], first[: block.stop].T, out=part)
        for rows in others:
            part *= rows[block] @ rows[: block.stop].T

    each(multiply, row_blocks(len(first), TILE)[::-1])  # the longest first
    return result


def factor_in_place(matrix: Array) -> bool:
    """Overwrite the lower triangle of A (n x n) by that of L with A = L Lᵀ; False where A is not positive definite."""
    blocks = row_blocks(len(matrix), TILE)
    for number, block in enumerate(blocks, start=1):
        done = matrix[block, : block.start]
        with single_threaded_blas():
            corner = cholesky(matrix[block, block] - done @ done.T if block.start else matrix[block, block])
        if corner is None:
            return False
        matrix[block, block] = corner
        each(partial(_eliminate, matrix, block), blocks[number:])
    return True


def _eliminate(matrix: Array, block: slice, rows: slice) -> None:
    """Overwrite the entries at some rows and the columns of `block` by those of L, whose earlier columns are there."""
    part = matrix[rows, block]
    if block.start:
        part -= matrix[rows, : block.start] @ matrix[block, : block.start].T
    part[:] = lower_solve(matrix[block, block], part.T).T


def steady_solver(matrix: Array) -> Callable[[Array], Array] | None:
    """Return the map b -> A⁻¹ b for a symmetric A (n x n) that rounding may have left not quite positive definite.

    A is read from its lower triangle, and scaled in place to a unit diagonal. A shift of its eigenvalues lets Cholesky
    succeed, and conjugate gradients, preconditioned by the factor, undo the shift as far as rounding allows.
    None where no small shift helps.
    """
    import scipy.linalg

    diagonal = np.diag(matrix)
    if not diagonal.min(initial=1.0) > 0:
        return None
    scale = 1 / np.sqrt(diagonal)
    each(partial(_rescale, matrix, scale), row_blocks(len(matrix), TILE))
    require_finite(matrix, "the matrix to be factored")
    places = np.arange(len(matrix))
    for shift in (0.0, *(EPS * len(matrix) * SHIFTS)):
        factor = matrix.copy()
        factor[places, places] += shift
        if factor_in_place(factor):
            solver = partial(scipy.linalg.cho_solve, (factor.T, False), check_finite=False)
            apply = partial(scipy.linalg.blas.dsymv, 1.0, matrix.T)
            return lambda right: scale * _refine(apply, solver, scale * right)
    return None


def _rescale(matrix: Array, scale: Array, rows: slice) -> None:
    """Multiply rows and columns of the lower triangle by the entries of `scale` (n)."""
    matrix[rows, : rows.stop] *= scale[rows, None]
    matrix[rows, : rows.stop] *= scale[: rows.stop]


@single_threaded_blas()
def _refine(apply: Callable[[Array], AnyArray], solver: Callable[[Array], AnyArray], right: Array) -> Array:
    """Return the x of A x = b by preconditioned conjugate gradients, as long as the residual falls."""
    solution = best = np.asarray(solver(right))
    rest = right - apply(solution)
    least = float(np.linalg.norm(rest))
    turned = solver(rest)
    direction, slope = turned, float(rest @ turned)
    for _ in range(REFINEMENTS):
        image = apply(direction)
        bend = float(direction @ image)
        if not bend > 0 or least <= EPS * np.linalg.norm(right):
            break
        solution = solution + slope / bend * direction
        rest = right - apply(solution)
        if float(np.linalg.norm(rest)) >= least:  # rounding
            break
        best, least = solution, float(np.linalg.norm(rest))
        turned = solver(rest)
        direction, slope = turned + float(rest @ turned) / slope * direction, float(rest @ turned)
    return best
