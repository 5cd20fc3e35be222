"""Minimization by L-BFGS, until the objective falls no further or the limit of iterations is reached."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.checkpoints import Place, loop
from mlcli.base.stages.stage import Limit, advance, note, stage
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.options import Options, option
from mlcli.base.values.scaling import Unit
from mlcli.core.iterate import Iterated, require_finite

STEADY = 5  # iterations whose fall decides: a single step may be short far from the minimum
MEMORY = 10  # steps that bend the next one
OWN = ("CONVERGENCE", "ABNORMAL")  # how SciPy begins to say that no step lowers the objective
NEARBY = np.linspace(0, 1, 7)  # shares of a step at which an objective shows its rounding
SIZES = (1.0, 1e-3)  # of such steps
FOURTH = np.sqrt(70.0)  # root of the sum of squares of a fourth difference's weights
DEVIATIONS = 10  # of rounding, which hide a fall
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
    """Recorded values of the objective. Replaying them repeats L-BFGS's steps bit for bit."""

    values: Array  # m, the objective at each point, in the order of the evaluations
    slopes: Array  # m x n


class ReplayedObjective:
    """An objective that replays recorded values first, and records and offers new ones as checkpoints.

    If the objective is not finite, it returns a large finite value, so that the line search steps back: as far above
    the first value as that is above the smallest.
    """

    def __init__(self, function: Function, place: Place[Evaluations]) -> None:
        self.function, self.place, self.asked = function, place, 0
        left = place.left
        self.values: list[float] = [] if left is None else left.values.tolist()
        self.slopes: list[Array] = [] if left is None else list(left.slopes)
        self.first = self.least = np.nan

    def __call__(self, point: Array) -> tuple[float, Array]:
        """Return the objective and its gradient (n) at a point, an (n,) array."""
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
        """Record a value and offer the record as a checkpoint; beyond LONGEST numbers nothing more is recorded.

        Then the record is offered only where it is wanted, so that the run can end.
        """
        longer = len(self.values) == self.asked - 1 and self.asked * len(slope) <= LONGEST
        if longer:
            self.values.append(float(value))
            self.slopes.append(np.array(slope))
        if longer or self.place.wanted:
            self.place.offer(lambda: Evaluations(np.array(self.values), np.array(self.slopes)))


@frozen
class MinimizationState:
    """The state of a minimization between two iterations."""

    values: Array  # the point
    first: float  # the objective at the start
    trace: Array  # the objective after each iteration so far

    @property
    def fall(self) -> float:
        """The fall of the objective in the last STEADY iterations; infinite before there are so many."""
        course = np.append(self.first, self.trace)
        return float(course[-1 - STEADY] - course[-1]) if len(course) > STEADY else np.inf

    @property
    def whole(self) -> float:
        """The whole fall of the objective."""
        return self.first - self.point.objective

    @property
    def point(self) -> Point:
        """The point with its objective."""
        return Point(self.values, float(self.trace[-1]) if len(self.trace) else self.first)


@frozen
class Termination:
    """The end of L-BFGS where no step lowers the objective."""

    fall: float  # still to come, as the last slope and the steps before predict it
    rounding: float  # of the objective there


# L-BFGS from a point, with a call after each iteration, to a limit of them; its end where no step lowers the objective.
Run = Callable[[Function, Array, Callable[[Array, float], None], int], Termination | None]


class Minimize(Options):
    """When a minimization stops."""

    measure: ClassVar[str] = "of the objective's fall"  # what the tolerance is of
    limit: int = option(1_000, "Largest number of iterations.", ge=1)
    tolerance: float = option(1e-9, f"Share of the objective's whole fall; {STEADY} iterations that bring less have "
                              "converged.", gt=0, lt=1)

    @stage("iterate")
    def __call__(self, function: Function, start: Array, numbers: int = 1, run: Run | None = None) -> Iterated[Point]:
        """Minimize from `start`, an (n,) array, until converged or at the limit, which warns (80 under --strict).

        The tolerance depends on neither the unit nor the zero of the objective; a log-likelihood is that of `numbers`
        numbers of the data. If no step finds a lower point, the iteration has converged if the predicted decrease is
        within the tolerance. A note is given if rounding hides that decrease. `run` is L-BFGS, by default SciPy's.
        Raises NumericalError where the objective at the start is not finite.
        """
        with loop(Evaluations) as place:
            objective = ReplayedObjective(function, place)
            return self._from(MinimizationState(start, require_finite(objective(start)[0], 0), np.zeros(0)), objective,
                              numbers, run or run_lbfgs)

    def _from(self, now: MinimizationState, function: Function, numbers: int, run: Run) -> Iterated[Point]:
        """Continue a minimization from a state."""

        def after(values: Array, objective: float) -> None:
            nonlocal now
            done = len(now.trace) + 1
            now = MinimizationState(values, now.first, np.append(now.trace, require_finite(objective, done)))
            advance(done, Limit(self.limit))
            if self.share(now.fall, now, numbers) <= self.tolerance:
                raise StopIteration

        left, rest = self.limit - len(now.trace), None
        if left > 0 and self.share(now.fall, now, numbers) > self.tolerance:
            rest = run(function, now.values, after, left)
        converged = self.share(now.fall, now, numbers) <= self.tolerance or self._rests(now, rest, numbers)
        if not converged:
            self._warn(now, rest, numbers)
        return Iterated(now.point, now.trace, converged)

    def share(self, fall: float, now: MinimizationState, numbers: int) -> float:
        """Return a fall in the measure of the tolerance: as a share of the whole fall, and of a likelihood in nats."""
        return fall / now.whole if now.whole > 0 else np.inf if fall else 0.0

    def _rests(self, end: MinimizationState, rest: Termination | None, numbers: int) -> bool:
        """Whether the fall still to come is within the tolerance or hidden by rounding, where no step lowers more."""
        if rest is None:
            return False
        if self.share(rest.fall, end, numbers) <= self.tolerance:
            return True
        if rest.fall > rest.rounding:
            return False
        note("N-ROUNDING", f"stopped after {len(end.trace)} iterations: no step lowers the objective, and the "
             f"tolerance of {self.tolerance:.1e} is below its rounding error", iterations=len(end.trace),
             change=self.share(rest.fall, end, numbers))
        return True

    def _warn(self, end: MinimizationState, rest: Termination | None, numbers: int) -> None:
        """Warn that the minimization did not converge."""
        change = self.share(end.fall, end, numbers)
        known = bool(np.isfinite(change))
        ending = f"; the last {STEADY} brought {change:.1e} {self.measure}" if known else ""
        if rest is not None:
            promised = self.share(rest.fall, end, numbers)
            ending = f": no step lowers the objective, and its slope promises {promised:.1e} {self.measure}"
        note("W-UNCONVERGED", f"stopped after {len(end.trace)} iterations without convergence{ending}",
             iterations=len(end.trace), change=change if known else None)


class Likeliest(Minimize):
    """When a maximization of the likelihood stops; the objective is minus a log-likelihood, in nats."""

    measure: ClassVar[str] = "nats for each number of the data"
    limit: int = option(5_000, "Largest number of iterations.", ge=1)
    tolerance: float = option(1e-5, f"Convergence: {STEADY} iterations in a row that together lower the objective by "
                              "less than this, in nats per number of the data.", gt=0, lt=1)

    def share(self, fall: float, now: MinimizationState, numbers: int) -> float:
        """Return a fall in nats for each number of the data."""
        return fall / numbers


def run_lbfgs(function: Function, start: Array, after: Callable[[Array, float], None], limit: int,
              least: Array | None = None) -> Termination | None:
    """Run SciPy's L-BFGS from `start`, an (n,) array, and call `after` with point and objective after each iteration.

    `least` are lower bounds (n), if there are any. Returns its end where no step lowers the objective, otherwise None.
    SciPy's first step is as long as one over the slope, within limits, so the objective is measured in the slope's
    unit.
    """
    from scipy import optimize

    unit = Unit.of(function(start)[1])

    def measured(values: Array) -> tuple[float, Array]:
        objective, slope = function(values)
        return (unit**-1).number(objective), unit.measured(slope)

    def report(intermediate_result: Any) -> None:
        after(intermediate_result.x.copy(), unit.number(intermediate_result.fun))

    options = {"maxiter": limit, "maxfun": np.iinfo(np.int32).max, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
    bounds = None if least is None else optimize.Bounds(least, np.full(len(start), np.inf))
    ended = optimize.minimize(measured, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=report,
                              options=options)
    if not ended.message.startswith(OWN):
        return None
    step = -ended.hess_inv.dot(ended.jac)
    return Termination(unit.number(-0.5 * float(step @ ended.jac)), unit.number(rounding(measured, ended.x, step)))


def rounding(function: Function, values: Array, step: Array) -> float:
    """Return the largest fall that rounding may hide near a point, from fourth differences of the objective.

    `values` and `step` are (n,) arrays; the differences are along the step. The fall is infinite where the objective
    is the same all along. Of the step and a small part of it the smoother one counts, as a step may lead too far.
    Source: Moré and Wild, "Estimating computational noise", 2011.
    """
    spreads, here = [], abs(function(values)[0])
    for size in SIZES:
        course = np.array([function(values + size * share * step)[0] for share in NEARBY])
        spreads.append(float(np.sqrt(np.mean(np.diff(course, 4) ** 2))) / FOURTH if np.ptp(course) else np.inf)
    return DEVIATIONS * max(min(spreads), EPS * here)
