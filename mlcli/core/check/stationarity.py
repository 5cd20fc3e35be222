"""Stationarity of an objective f at a result, by central differences of f alone along a few directions.

The slope along u is s = (f(x + h u) - f(x - h u)) / 2h. A step of an iteration falls by at least what it promises
along u where it lowers a paraboloid that touches f from above: with c the paraboloid's curvature along u, by s² / 2c.
So an iteration that claims to bring no more than t has s² / 2c ≤ t along every direction. For descent along the
gradient, which L-BFGS takes to be no better than its own steps, c is the largest curvature (the descent lemma:
Nesterov, "Introductory lectures on convex optimization", 2004, 1.2.3). For EM it is the information of rows and hidden
variables together (Dempster, Laird and Rubin, 1977).
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.check import Check, ratio, skipped

STEP = 1e-4  # h at most, for parameters of size one: logarithms, and coordinates of variance one
SEED = 27  # of random directions
UNCONVERGED = "the iteration ended before it converged, and claims no convergence"


@frozen
class Course:
    """An objective along k directions through a result (m)."""

    objective: Callable[[Array], float]
    values: Array
    here: float  # the objective there
    directions: Sequence[Array]
    noise: float  # rounding of the objective
    allowed: float  # fall that counts as none

    @cached_property
    def ends(self) -> Array:
        """The step, and the objective a step behind and a step ahead, for each direction (k x 3)."""
        return np.array([self.end(some, STEP) for some in self.directions]).reshape(-1, 3)

    def end(self, direction: Array, step: float) -> tuple[float, float, float]:
        """Return a step, and the objective behind and ahead; a step that bends it by more than allowed is shortened."""
        behind, ahead = (self.objective(self.values + size * direction) for size in (-step, step))
        bent = abs(ahead - 2 * self.here + behind) / 2
        if step == STEP and bent > self.allowed:
            return self.end(direction, step * max(float(np.sqrt(self.allowed / bent)), STEP))
        return step, behind, ahead

    @property
    def slopes(self) -> Array:
        """The slopes along the directions (k)."""
        steps, behind, ahead = self.ends.T
        return np.asarray((ahead - behind) / (2 * steps))

    @property
    def curvatures(self) -> Array:
        """The absolute curvatures along the directions (k), and what rounding may hide of them."""
        steps, behind, ahead = self.ends.T
        bent = np.abs(ahead - 2 * self.here + behind)
        return np.asarray((bent + self.noise + np.finfo(np.float64).tiny) / steps**2)

    def falls(self, curvatures: Array) -> Array:
        """Return the falls (k) that a step promises, by a paraboloid's curvatures (k)."""
        return np.asarray(self.slopes**2 / (2 * np.maximum(curvatures, self.noise / self.ends.T[0] ** 2)))


def of_size_one(direction: Array) -> Array:
    """Return a direction (m) with a largest entry of one; zeros as they are."""
    return direction / (float(np.abs(direction).max(initial=0.0)) or 1.0)


def gradient_check(course: Course, slopes: Array) -> Check:
    """Check the fit's slopes (k) along the directions of a course: as right as they are within a tenth of a step."""
    steps = course.ends.T[0]
    allowed = course.noise / steps + 0.1 * steps * course.curvatures
    return ratio("gradient", float(np.max(np.abs(course.slopes - slopes) / allowed, initial=0.0)), 1.0,
                 "the fit's gradient along steep and random directions is that of central differences", exact=False)


def stationarity_check(course: Course, curvatures: Array, converged: bool) -> Check:
    """Check that no direction promises more than what is allowed, by curvatures (k), where convergence is claimed."""
    if not converged:
        return skipped("stationarity", UNCONVERGED)
    return ratio("stationarity", float(np.max(course.falls(curvatures), initial=0.0)), course.allowed,
                 "the fall that a step along steep or random directions promises, by central differences", exact=False)
