"""Power iteration with deflation: the textbook method for the leading eigenvectors."""

import numpy as np

from mlcli.base.stages.stage import advance
from mlcli.base.types import Array
from mlcli.errors import NumericalError
from mlcli.stages.eigen.spectrum_request import SpectrumRequest

POWER_TOLERANCE = 1e-10  # residual at which an eigenvector has converged, relative to the largest eigenvalue
LIMIT = 50_000  # steps for one eigenvector; two eigenvalues closer than 1 - 23/LIMIT of each other need more


def power_iteration(matrix: Array, demand: SpectrumRequest, rank: int, tolerance: float,
                    generator: np.random.Generator) -> tuple[Array, Array]:
    """Return leading eigenvalues (q) and vectors (n x q) of a positive semidefinite matrix (n x n), by deflation.

    There are as many as are to be kept or reported. Residuals are below a tenth of `tolerance`, relative to the
    largest eigenvalue. Raises NumericalError where an eigenvector does not converge.
    """
    vectors = np.zeros((len(matrix), 0))
    values: list[float] = []
    trace = float(np.trace(matrix))
    while len(values) < rank and not _enough(values, trace, demand):
        value, vector = _next(matrix, vectors, values, tolerance, generator)
        values.append(value)
        vectors = np.column_stack([vectors, vector])
        advance(len(values), demand.wanted(rank))
    return np.array(values), vectors


def _enough(values: list[float], trace: float, demand: SpectrumRequest) -> bool:
    least = max(demand.components if isinstance(demand.components, int) else 1, demand.report or 1)
    return len(values) >= least and demand.reached(sum(values), trace)


def _next(matrix: Array, vectors: Array, values: list[float], tolerance: float,
          generator: np.random.Generator) -> tuple[float, Array]:
    vector = _unit(generator.standard_normal(len(matrix)), vectors)
    for _ in range(LIMIT):
        image = matrix @ vector
        value = float(vector @ image)
        scale = values[0] if values else value
        if np.linalg.norm(image - value * vector) <= tolerance / 10 * scale:
            return max(value, 0.0), vector
        vector = _unit(image, vectors)
    raise NumericalError("POWER", f"power iteration did not find axis {len(values) + 1} in {LIMIT} steps",
                         where="method.route", hint="two eigenvalues are nearly equal: use another route, such as svd")


def _unit(vector: Array, vectors: Array) -> Array:
    """Return the unit vector along the part of `vector` orthogonal to `vectors`."""
    for _ in range(2):
        vector = vector - vectors @ (vectors.T @ vector)
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector
