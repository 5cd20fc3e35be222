"""The one iteration: steps from state to state until the objective, or another measure, converges, or by a schedule."""

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.checkpoints import Place, loop
from mlcli.base.stages.stage import Limit, advance, computed, note, stage
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.options import Options, option
from mlcli.errors import NumericalError

ROUNDING = 16 * EPS  # a relative change this small is rounding
SMALL = 1e-10  # a relative change this small may be rounding: where it is of a sum of many terms
ROUGH = 1e-6  # no rounding of an objective is larger, relatively
STILL = 50  # steps that have not brought a smaller change, after which small ones are rounding


class State(Protocol):
    """The state of an iteration."""

    @property
    def objective(self) -> float:
        """The objective that the iteration improves, as `trace.csv` and the report show it."""


S = TypeVar("S", bound=State)
Change = Callable[[S, S], float]  # how far the second state is from the first, relative to its own size


@frozen
class Iterated(Generic[S]):
    """The last state of an iteration, with the course of the objective."""

    state: S
    trace: Array  # the objective after each iteration
    converged: bool

    @property
    def facts(self) -> dict[str, Any]:
        """The entries `iterations` and `converged` of a model's `fit`."""
        return {"iterations": len(self.trace), "converged": self.converged}


@result("climb")
@frozen
class Climb:
    """The course of an objective that never falls in exact arithmetic, so that its falls measure rounding."""

    top: float
    fall: float = 0.0  # the largest
    last: float = -np.inf
    idle: int = 0  # steps since it rose above its top by more than that

    def to(self, objective: float) -> "Climb":
        """Return the climb after one more step, to `objective`."""
        fall = max(self.fall, self.last - objective)
        if objective > self.top + fall:
            return Climb(objective, fall, objective)
        return Climb(self.top, fall, objective, self.idle + 1)

    @property
    def rounding(self) -> float:
        """The largest fall, relative to the objective, once there is only rounding; zero before."""
        size = self.fall / abs(self.top) if self.top else np.inf
        return size if self.idle >= STILL and size <= ROUGH else 0.0


@result("iterate")
@frozen
class IterationCheckpoint(Generic[S]):
    """State of an iteration between two steps; an iteration resumed from it gives the same bits."""

    state: S
    trace: Array  # the objective after each iteration so far
    last: float  # the change that the last of them made; infinite before the first
    least: float  # the smallest of these changes
    still: int  # steps since it was made
    climb: Climb

    @classmethod
    def before(cls, start: S) -> "IterationCheckpoint[S]":
        """Return the checkpoint before the first step."""
        return cls(start, np.zeros(0), np.inf, np.inf, 0, Climb(start.objective))


@result("schedule")
@frozen
class Scheduled(Generic[S]):
    """State of an iteration by a schedule between two steps."""

    state: S
    trace: Array  # the objective after each step so far


@stage("iterate")
def follow_schedule(step: Callable[[S, int], S], start: S, count: int) -> Iterated[S]:
    """Take `count` steps from `start`, each a function of the state and of its number from 0.

    The state's class is declared by `@result`, as checkpoints hold it. For methods whose steps are a schedule
    (exaggeration, rates that fall) with no measure of convergence. Raises NumericalError where the objective is no
    longer finite. Each step offers a checkpoint.
    """
    with loop(Scheduled) as place:
        before = place.left or Scheduled(start, np.zeros(0))
        state, trace = before.state, before.trace.tolist()
        computed("start", state)
        for number in range(len(trace), count):
            state = step(state, number)
            trace.append(require_finite(state.objective, number + 1))
            computed("state", state)
            advance(number + 1, count)
            place.offer(partial(Scheduled, state, np.array(trace)))
    return Iterated(state, np.array(trace), converged=True)


class Iterate(Options):
    """When an iteration stops."""

    limit: int = option(10_000, "Largest number of iterations.", ge=1)
    tolerance: float = option(1e-9, "Convergence: estimated relative distance from the limit, extrapolated from the "
                              "last steps.", gt=0, lt=1)

    @stage("iterate")
    def __call__(self, step: Callable[[S], S], start: S, change: "Change[S] | None" = None, *,
                 rising: bool = False, steady: bool = True, patience: int | None = None) -> Iterated[S]:
        """Repeat `step` from `start` until converged or at the limit; the limit warns (exit code 80 under --strict).

        `change` is a relative distance of two states, by default of their objectives. Where changes shrink by a
        steady factor r, the distance from the limit is r / (1 - r) of the last one, so slow progress does not pass
        for convergence; where they are not `steady`, `change` is itself an estimate of that distance. Small changes
        that stop shrinking are rounding errors: they end the iteration with a note. So does an objective that is
        `rising` in exact arithmetic, if its rises are no larger than its falls. With `patience`, that many steps
        without a smaller change end it like the limit does. Raises NumericalError where the objective is no longer
        finite. Each step offers a checkpoint.
        """
        with loop(IterationCheckpoint) as place:
            return self._from(place.left or IterationCheckpoint.before(start), step, change or objective_change, place,
                              rising=rising, steady=steady, patience=patience or self.limit)

    def _from(self, begun: IterationCheckpoint[S], step: Callable[[S], S], change: "Change[S]",
              place: Place[IterationCheckpoint[S]],
              *, rising: bool, steady: bool, patience: int) -> Iterated[S]:
        """Continue an iteration from a checkpoint."""
        state, trace, last, least, still = begun.state, begun.trace.tolist(), begun.last, begun.least, begun.still
        climb = begun.climb
        computed("start", state)
        for done in range(len(trace) + 1, self.limit + 1):
            before, state = state, step(state)
            trace.append(require_finite(state.objective, done))
            computed("state", state)
            moved = change(before, state)
            advance(done, Limit(self.limit))
            if moved <= ROUNDING or (remaining(moved, last) if steady else moved) <= self.tolerance:
                return Iterated(state, np.array(trace), True)
            least, still = min(least, moved), 0 if moved < least else still + 1
            climb = climb.to(state.objective)
            resting = still >= STILL and least <= SMALL
            if resting or (rising and climb.rounding > self.tolerance):
                rounding = least if resting else climb.rounding
                note("N-ROUNDING", f"stopped after {done} iterations: changes of {rounding:.1e} are rounding error, "
                     f"and the tolerance of {self.tolerance:.1e} is below it", iterations=done, change=rounding)
                return Iterated(state, np.array(trace), True)
            last = moved
            if still >= patience:
                break
            place.offer(partial(IterationCheckpoint, state, np.array(trace), last, least, still, climb))
        known = bool(np.isfinite(last))  # a change may be that of several steps, and there may have been too few
        ending = f"; the last changed the result by {last:.1e}, relatively" if known else ""
        note("W-UNCONVERGED", f"stopped after {len(trace)} iterations without convergence{ending}",
             iterations=len(trace), change=float(last) if known else None)
        return Iterated(state, np.array(trace), False)


def require_finite(objective: float, done: int) -> float:
    """Return a finite objective; raises NumericalError for infinity and NaN."""
    if not np.isfinite(objective):
        raise NumericalError("DIVERGED", f"the objective is {objective} after {done} iterations",
                             hint="scale the data (prepare.scale), or ask for fewer axes")
    return float(objective)


def objective_change(before: State, after: State) -> float:
    """Return the change of the objective relative to its size."""
    size = max(abs(before.objective), abs(after.objective))
    return abs(after.objective - before.objective) / size if size > 0 else 0.0


def remaining(moved: float, last: float) -> float:
    """Return the distance from the limit if changes shrink on as from `last` to `moved`; infinite if they grow."""
    return moved * moved / (last - moved) if moved < last < np.inf else np.inf
