"""The top of a spectrum by Lanczos iteration, with a probe for eigenvalues it passed over."""

from collections.abc import Callable

import numpy as np

from mlcli.base.types import Array
from mlcli.errors import NumericalError
from mlcli.stages.linalg import EPS, orthonormal, require_finite

TOLERANCE = 1e-9  # residual accepted, relative to the largest eigenvalue; the iteration aims at machine precision

Apply = Callable[[Array], Array]


def lanczos(apply: Apply, size: int, count: int, generator: np.random.Generator) -> tuple[Array, Array]:
    """The `count` algebraically largest eigenvalues (descending) and their vectors (size x count).

    A Krylov space can miss copies of a multiple eigenvalue, so the found space is deflated and
    the rest probed from a new start; what shows up above the last value found is taken in.
    """
    values, vectors = _top(apply, size, count, generator, 0.0)
    for _ in range(count + 1):
        missed_value, missed_vector = _top(_deflated(apply, vectors), size, 1, generator, 0.0)
        scale = float(np.abs(values).max())
        if missed_value[0] <= values[-1] + 100 * size * EPS * scale:
            return values, vectors
        vectors = orthonormal(np.hstack([vectors, missed_vector]))
        values, vectors = _ritz(apply, vectors, count)
    raise NumericalError("MISSED", "eigenvalues keep appearing above those found",
                         hint="use method.eigensolve.solver=dense")


def _top(apply: Apply, size: int, count: int, generator: np.random.Generator, tolerance: float) -> tuple[Array, Array]:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    operator = LinearOperator((size, size), matvec=apply, matmat=apply, dtype=np.float64)
    start = generator.standard_normal(size)
    converged = 0
    for width in (2 * count + 20, 4 * count + 60):
        try:
            values, vectors = eigsh(operator, k=count, which="LA", v0=start, ncv=min(width, size), tol=tolerance)
        except ArpackNoConvergence as error:
            converged = len(error.eigenvalues)
            continue
        require_finite(values, "the computed spectrum")
        order = np.argsort(-values, kind="stable")
        return values[order], vectors[:, order]
    raise NumericalError("LANCZOS", f"{converged} of {count} eigenvalues converged",
                         hint="ask for fewer axes, or use method.eigensolve.solver=dense")


def _deflated(apply: Apply, vectors: Array) -> Apply:
    """The operator with the found space sent to zero."""

    def off(block: Array) -> Array:
        return block - vectors @ (vectors.T @ block)

    return lambda block: off(apply(off(block)))


def _ritz(apply: Apply, basis: Array, count: int) -> tuple[Array, Array]:
    """The best `count` eigenpairs within the span of a basis."""
    small = basis.T @ apply(basis)
    values, rotation = np.linalg.eigh((small + small.T) / 2)
    return values[::-1][:count], basis @ rotation[:, ::-1][:, :count]
