"""The one minimization: L-BFGS until the objective falls no further, or the limit of iterations is reached."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcli.base.checkpoints import Place, loop
from mlcli.base.frozen import frozen
from mlcli.base.options import Options, option
from mlcli.base.scaling import Unit
from mlcli.base.stage import advance, note, stage
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.errors import NumericalError
from mlcli.stages.algebra.iterate import Iterated

ROUGH = 1e-6  # no rounding of an objective is larger, as a share of its whole fall
STEADY = 5  # iterations whose fall decides: a single step may be short far from the minimum
MEMORY = 10  # steps that bend the next one
LONGEST = 1 << 23  # numbers of gradients that a checkpoint holds
Function = Callable[[Array], tuple[float, Array]]  # an objective and its gradient at a point


@frozen
class Point:
    """A point and the objective there."""

    values: Array
    objective: float


@result("evaluations")
@frozen
class Evaluations:
    """What a minimization has been told so far: told the same again, it takes the same steps to the last bit."""

    values: Array  # m, the objective at each point that was asked for
    slopes: Array  # m x n


class Told:
    """A function that answers from what it was told before, as far as that goes, and offers what it is told.

    A step to where the objective is not finite went too far: it is taken back by a value as far above the start as
    that is above the least.
    """

    def __init__(self, function: Function, place: Place[Evaluations]) -> None:
        self.function, self.place, self.asked = function, place, 0
        left = place.left
        self.values: list[float] = [] if left is None else left.values.tolist()
        self.slopes: list[Array] = [] if left is None else list(left.slopes)
        self.first = self.least = np.nan

    def __call__(self, point: Array) -> tuple[float, Array]:
        """The objective and its gradient at a point."""
        self.asked += 1
        if self.asked <= len(self.values):
            value, slope = self.values[self.asked - 1], self.slopes[self.asked - 1]
        else:
            value, slope = self.function(point)
            self._remember(value, slope)
        if np.isnan(self.first):
            self.first = self.least = value
        elif not np.isfinite(value):
            return 2 * self.first - self.least + 1.0, np.zeros(len(point))
        self.least = min(self.least, value)
        return value, slope

    def _remember(self, value: float, slope: Array) -> None:
        """Offers what is known so far; beyond LONGEST the beginning is all that is kept."""
        if len(self.values) == self.asked - 1 and self.asked * len(slope) <= LONGEST:
            self.values.append(float(value))
            self.slopes.append(np.array(slope))
            self.place.offer(lambda: Evaluations(np.array(self.values), np.array(self.slopes)))


@frozen
class Descent:
    """Where a minimization stands between two iterations."""

    values: Array  # the point
    first: float  # the objective at the start
    trace: Array  # the objective after each iteration so far

    @property
    def fall(self) -> float:
        """How much the objective fell in the last iterations, as a share of its whole fall; infinite before these."""
        course = np.append(self.first, self.trace)
        if len(course) <= STEADY:
            return np.inf
        whole = float(course[0] - course[-1])
        return float(course[-1 - STEADY] - course[-1]) / whole if whole > 0 else 0.0

    @property
    def point(self) -> Point:
        """The point with its objective."""
        return Point(self.values, float(self.trace[-1]) if len(self.trace) else self.first)


class Minimize(Options):
    """When a minimization stops."""

    limit: int = option(1_000, "Iterations at most.", ge=1)
    tolerance: float = option(1e-9, f"Share of the objective's whole fall; {STEADY} iterations that bring less have "
                              "converged.", gt=0, lt=1)

    @stage("iterate")
    def __call__(self, function: Function, start: Array) -> Iterated[Point]:
        """Steps down from `start` until converged or at the limit, which is a warning of the run (80 under --strict).

        The tolerance depends on neither the unit nor the zero of the objective. Near the minimum a step that finds no
        lower point is rounding, which is a note. Raises NumericalError where the objective at the start is not finite.
        """
        with loop(Evaluations) as place:
            told = Told(function, place)
            return self._from(Descent(start, finite(told(start)[0], 0), np.zeros(0)), told)

    def _from(self, now: Descent, function: Function) -> Iterated[Point]:
        """Steps down from where a minimization stands."""

        def after(values: Array, objective: float) -> None:
            nonlocal now
            done = len(now.trace) + 1
            now = Descent(values, now.first, np.append(now.trace, finite(objective, done)))
            advance(done, self.limit)
            if now.fall <= self.tolerance:
                raise StopIteration

        left, resting = self.limit - len(now.trace), False
        if left > 0 and now.fall > self.tolerance:
            resting = rests(function, now.values, after, left)
        converged = resting or now.fall <= self.tolerance or self._rounds(now)
        if not converged:
            known = bool(np.isfinite(now.fall))
            told = f"; the last {STEADY} brought {now.fall:.1e} of the objective's fall" if known else ""
            note("W-UNCONVERGED", f"stopped after {len(now.trace)} iterations without convergence{told}",
                 iterations=len(now.trace), change=now.fall if known else None)
        return Iterated(now.point, now.trace, converged)

    def _rounds(self, end: Descent) -> bool:
        """Whether only rounding is left where no step lowers the objective, with a note."""
        if len(end.trace) >= self.limit or end.fall > ROUGH:
            return False
        note("N-ROUNDING", f"stopped after {len(end.trace)} iterations: no step lowers the objective, and the "
             f"tolerance of {self.tolerance:.1e} is below its rounding", iterations=len(end.trace), change=end.fall)
        return True


def rests(function: Function, start: Array, after: Callable[[Array, float], None], limit: int) -> bool:
    """Runs SciPy's L-BFGS, `after` each iteration of it; whether it ended where nothing is left to lower.

    Its first step is as long as one over the slope, within limits, so the objective is measured in the slope's unit.
    """
    from scipy import optimize

    unit = Unit.of(function(start)[1])

    def measured(values: Array) -> tuple[float, Array]:
        objective, slope = function(values)
        return (unit**-1).number(objective), unit.measured(slope)

    def told(intermediate_result: Any) -> None:
        after(intermediate_result.x.copy(), unit.number(intermediate_result.fun))

    options = {"maxiter": limit, "maxfun": np.iinfo(np.int32).max, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
    ended = optimize.minimize(measured, start, jac=True, method="L-BFGS-B", callback=told, options=options)
    return bool(ended.status == 0)


def finite(objective: float, done: int) -> float:
    """An objective; raises NumericalError where it is not a number."""
    if not np.isfinite(objective):
        raise NumericalError("DIVERGED", f"the objective is {objective} after {done} iterations",
                             hint="scale the data (prepare.scale), or ask for fewer axes")
    return float(objective)
