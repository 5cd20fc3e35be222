"""LAPACK for stacks of small matrices, one for each neighborhood, with finite input."""

import numpy as np

from mlcli.base.types import Array
from mlcli.errors import NumericalError
from mlcli.stages.algebra.linalg import require_finite


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
