"""The most probable latent points of successive new rows, given the steps of a fitted sequence.

New rows are a sequence of their own. Every row is first placed by its own cells or, without any, by the steps from the
rows before it. Then all points are optimized together by L-BFGS on -Σ log p(yₜ | xₜ) - log p(X), with the means and
variances of steps from the fit.
"""

from collections.abc import Callable

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.linalg import threads_for
from mlcli.stages.algebra.minimize import run_lbfgs
from mlcli.stages.gaussian.dynamics import Motion, Steps
from mlcli.stages.gaussian.placing import Rows, place
from mlcli.stages.gaussian.posterior import Posterior

LIMIT = 500  # iterations
SMALL = 1e-12  # relative decrease of the objective below which the search ends


def track(posterior: Posterior, motion: Motion, new: Array) -> Array:
    """Return the latent points (m x p) of rows in time order (m x d; NaN where missing)."""
    start = place(posterior, True, new)
    if not len(posterior.places) or not len(new):
        return start
    rows = Rows.of(posterior, False, new)
    start = extrapolate(motion, start, np.flatnonzero(~rows.observed.any(axis=1)))
    with threads_for(len(motion.known)), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return lowest(sequence_objective(rows, motion), start)


def extrapolate(motion: Motion, points: Array, unseen: Indices) -> Array:
    """Return the points (m x p), with those of rows `unseen`, a (u,) array, predicted from the rows before them."""
    points, order, posterior = points.copy(), motion.order, motion.posterior
    for row in unseen[unseen >= order].tolist():
        points[row] = posterior.means(points[row - order : row].reshape(1, -1))[0]
    return points


def sequence_objective(rows: Rows, motion: Motion) -> Callable[[Array], tuple[float, Array]]:
    """Return -Σ log p(yₜ | xₜ) - log p(X) up to a constant, with its gradient, as a function of all points."""
    posterior, order = motion.posterior, motion.order

    def function(values: Array) -> tuple[float, Array]:
        points = values.reshape(len(rows.values), -1)
        steps = Steps.of(points, min(order, len(points)))
        value, slope = rows(points)
        whole, first = float(value.sum()) + 0.5 * float(np.sum(steps.first**2)), steps.first
        if not len(steps.after):
            return whole, (slope + first).ravel()
        moved, by_before = Rows.of(posterior, False, steps.after)(steps.before)
        off = (steps.after - posterior.means(steps.before)) / posterior.variances(steps.before)[:, None]
        return whole + float(moved.sum()), (slope + steps.gather(first, by_before, off)).ravel()

    return function


def lowest(function: Callable[[Array], tuple[float, Array]], start: Array) -> Array:
    """Return the best point of a minimization from `start`, an (m, p) array; the start if its objective is not finite.
    """
    best, least = start, function(start.ravel())[0]
    if not np.isfinite(least):
        return start
    first = least

    def after(values: Array, objective: float) -> None:
        nonlocal best, least
        if not objective < least - SMALL * abs(least):
            raise StopIteration
        best, least = values.reshape(start.shape), objective

    def finite_function(values: Array) -> tuple[float, Array]:
        value, slope = function(values)
        if np.isfinite(value) and np.isfinite(slope).all():
            return value, slope
        return 2 * first - least + 1.0, np.zeros(len(values))

    run_lbfgs(finite_function, start.ravel(), after, LIMIT)
    return best
