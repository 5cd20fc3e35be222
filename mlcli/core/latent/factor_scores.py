"""Scores of a factor model, and the steps of fit and scores with their costs."""

import numpy as np

from mlcli.base.machine.rates import product_rate, rates
from mlcli.base.stages.stage import stage
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.types import Array
from mlcli.core.kernels.factor_solver import product_steps
from mlcli.core.kernels.row_factor import AnyFactor
from mlcli.core.krylov import SPARE
from mlcli.core.latent.missing_cells import GappedPoints
from mlcli.core.linalg import MANY, solve_cost

USUAL, PATTERN = 40, 25  # iterations of EM with missing cells, and small calls for each pattern of cells
NEWTON, CALLS = 10, 80  # steps of most fits, and small calls of each
PAIR, COUNTED = 3e-4, 1e-8  # seconds of the polychoric correlation of a pair of items, and of each row in its table
PASSES = 40  # products with a block of vectors in a step, where only the leading eigenpairs are computed


@stage("coordinates")
def score_points(kernel: AnyFactor | GappedPoints, axes: Array) -> Array:
    """Return the scores (n x q) of centered points on axes (d x q)."""
    return kernel.lift(axes)


def factor_steps(shape: tuple[int, ...], points: bool, equal: bool, factors: int, threads: int, most: int,
                 ) -> list[Step]:
    """Return the steps of the moments of points, the fit (in closed form for equal noise), and the scores."""
    size, side = shape[0] * shape[1], min(shape)
    seconds, memory, remedy = solve_cost(side, threads), 8.0 * 9 * side**2, "leave columns out"
    newton = CALLS * rates().called + 2 * seconds + shape[1] ** 3 / product_rate(threads)
    if side >= MANY:
        product = 4.0 * (size if side < shape[1] else side**2) * (factors + SPARE) / product_rate(1)
        newton = min(newton, PASSES * product)
    fit = (Step("eigensolve", "in closed form", seconds, memory, remedy=remedy) if equal else
           repeated("iterate", "Newton's method", newton, memory, usual=NEWTON, most=most, remedy=remedy))
    if not points:
        return [fit]
    first = product_steps(shape, "auto", threads)[0]  # without the products of the rows' side
    return [first, fit, score_step(shape, factors, threads)]


def score_step(shape: tuple[int, ...], axes: int, threads: int) -> Step:
    """Return the step of scores of points (n x d) on a number of axes."""
    size = float(shape[0] * shape[1])
    return Step("coordinates", f"scores on {axes} axes", 2.0 * size * axes / product_rate(threads), 8.0 * size)


def gap_step(points: Array, most: int) -> Step:
    """Return the step of EM for points with missing cells (n x d): a system of equations for each pattern of cells."""
    rows, columns = points.shape
    patterns = len(np.unique(np.packbits(~np.isnan(points), axis=1), axis=0))
    once = patterns * (PATTERN * rates().called + columns**3 / product_rate(1)) + rows * columns**2 / product_rate(1)
    return repeated("iterate", "em for missing cells", once, 8.0 * (3 * points.size + 3 * columns**2), usual=USUAL,
                    most=most, remedy="choose gaps: pairwise")


def polychoric_step(shape: tuple[int, ...]) -> Step:
    """Return the step of polychoric correlations of points (n x d): a table and a search for each pair of columns."""
    rows, columns = shape
    pairs = columns * (columns - 1) / 2
    return Step("polychoric correlations", "pairs", pairs * (PAIR + COUNTED * rows),
                8.0 * (rows * columns + 2 * columns**2))
