"""Power iteration with deflation: the textbook method for the leading eigenvectors."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import advance
from mlcli.base.types import Array
from mlcli.errors import NumericalError
from mlcli.stages.eigen.spectrum_request import SpectrumRequest

POWER_TOLERANCE = 1e-10  # residual at which an eigenvector has converged, relative to the largest eigenvalue
LIMIT = 50_000  # steps for one eigenvector; two eigenvalues closer than 1 - 23/LIMIT of each other need more


@frozen
class PowerIteration:
    """Eigenvalues (q, descending), vectors (n x q), and the steps that found them."""

    values: Array
    vectors: Array
    steps: Array  # s x 3: axis from 1, Rayleigh quotient, residual relative to the largest eigenvalue


def power_iteration(matrix: Array, demand: SpectrumRequest, rank: int, tolerance: float,
                    generator: np.random.Generator) -> PowerIteration:
    """Return leading eigenvalues and vectors of a positive semidefinite matrix (n x n), by deflation.

    There are as many as are to be kept or reported. Residuals are below a tenth of `tolerance`, relative to the
    largest eigenvalue. Raises NumericalError where an eigenvector does not converge.
    """
    vectors = np.zeros((len(matrix), 0))
    values: list[float] = []
    steps: list[Array] = []
    trace = float(np.trace(matrix))
    while len(values) < rank and not _enough(values, trace, demand):
        vector, estimates = _next(matrix, vectors, values, tolerance, generator)
        values.append(max(float(estimates[-1, 0]), 0.0))
        steps.append(estimates)
        vectors = np.column_stack([vectors, vector])
        advance(len(values), demand.wanted(rank))
    order = np.argsort(-np.array(values), kind="stable")  # of nearly equal ones, the smaller may come first
    places = np.repeat(np.argsort(order) + 1.0, [len(some) for some in steps])
    estimates, gaps = np.concatenate(steps).T
    top = max(values) or 1.0
    return PowerIteration(np.array(values)[order], vectors[:, order], np.column_stack([places, estimates, gaps / top]))


def _enough(values: list[float], trace: float, demand: SpectrumRequest) -> bool:
    least = max(demand.components if isinstance(demand.components, int) else 1, demand.report or 1)
    return len(values) >= least and demand.reached(sum(values), trace)


def _next(matrix: Array, vectors: Array, values: list[float], tolerance: float,
          generator: np.random.Generator) -> tuple[Array, Array]:
    """Return the next eigenvector (n), and the Rayleigh quotient and residual of each step (s x 2)."""
    estimates: list[tuple[float, float]] = []
    vector = _unit(generator.standard_normal(len(matrix)), vectors)
    for _ in range(LIMIT):
        image = matrix @ vector
        value = float(vector @ image)
        scale = values[0] if values else value
        gap = float(np.linalg.norm(image - value * vector))
        estimates.append((value, gap))
        if gap <= tolerance / 10 * scale:
            return vector, np.array(estimates)
        vector = _unit(image, vectors)
    raise NumericalError("POWER", f"power iteration did not find axis {len(values) + 1} in {LIMIT} steps",
                         where="method.route", hint="two eigenvalues are nearly equal: use another route, such as svd")


def _unit(vector: Array, vectors: Array) -> Array:
    """Return the unit vector along the part of `vector` orthogonal to `vectors`."""
    for _ in range(2):
        vector = vector - vectors @ (vectors.T @ vector)
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector
