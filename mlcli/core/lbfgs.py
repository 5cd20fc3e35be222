"""L-BFGS with sums in a fixed order: the same steps on every processor (Nocedal, 1980)."""

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.core.arithmetic import dot, length
from mlcli.core.minimize import MEMORY, Function, Termination, rounding
from mlcli.core.quasi_newton import quasi_newton_step

FALL, FLAT = 1e-3, 0.9  # Wolfe's conditions: the least share of the promised fall, and the largest of the first slope
EVALUATIONS = 20  # along one step
MARGIN = 0.1  # share of an interval within which no step ends near its sides
NARROW = 0.1  # width of an interval, relative to its end, that is not searched further
NEXT = 1.1, 4.0  # how far beyond a step the next one is, where the objective still falls


@frozen
class Place:
    """A point with the objective and its gradient there (n each)."""

    values: Array
    objective: float
    slope: Array

    @classmethod
    def at(cls, function: Function, values: Array) -> "Place":
        """Evaluate the objective at an (n,) array."""
        return cls(values, *function(values))


def run_fixed_lbfgs(function: Function, start: Array, after: Callable[[Array, float], None],
                    limit: int) -> Termination | None:
    """Run L-BFGS from `start`, an (n,) array, and call `after` with point and objective after each iteration.

    Steps fulfil Wolfe's conditions, and the first one has length one, as in `run_lbfgs`. Where no step lowers the
    objective, the memory is left behind once. Returns the end where that does not help, otherwise None; `after` ends
    the run by StopIteration.
    """
    here = Place.at(function, start)
    moves, bends = deque[Array](maxlen=MEMORY), deque[Array](maxlen=MEMORY)
    reach, done, failed = 1.0, 0, None  # the length of a step without a memory, steps taken, and one that led nowhere
    while done < limit:
        scale = dot(moves[-1], bends[-1]) / dot(bends[-1], bends[-1]) if moves else reach / (length(here.slope) or 1.0)
        step = -quasi_newton_step(here.slope, moves, bends, partial(np.multiply, scale))
        there = search(function, here, step)
        if there is None:
            failed = step if failed is None else failed
            if not moves:
                return Termination(-0.5 * dot(failed, here.slope), rounding(function, here.values, failed))
            reach = length(moves[-1])
            moves.clear()
            bends.clear()
            continue
        move, bend = there.values - here.values, there.slope - here.slope
        if dot(move, bend) > EPS * abs(dot(move, here.slope)):  # convex along the step
            moves.append(move)
            bends.append(bend)
        here, done, failed = there, done + 1, None
        try:
            after(here.values, here.objective)
        except StopIteration:
            return None
    return None


class Along(NamedTuple):
    """A share of a step, with the objective and its slope along the step there."""

    share: float
    objective: float
    slope: float


def search(function: Function, here: Place, step: Array) -> Place | None:
    """Return a place along a step where the objective has fallen enough; None if there is none.

    The search begins at the whole step. Source: Nocedal and Wright, "Numerical optimization", algorithm 3.5.
    """
    first = Along(0.0, here.objective, dot(here.slope, step))
    before, low, share = first, first, 1.0
    high: Along | None = None
    found: Place | None = None
    for _ in range(EVALUATIONS):
        there = Place.at(function, here.values + share * step)
        now = Along(share, there.objective, dot(there.slope, step))
        if now.objective < low.objective and now.objective <= first.objective + FALL * share * first.slope:
            found = there
            if abs(now.slope) <= -FLAT * first.slope:
                return found
            if now.slope * ((math.inf if high is None else high.share) - low.share) >= 0:
                high = low
            before, low = low, now
        else:
            high = now
        if high is None:
            least, most = (low.share + times * (low.share - before.share) for times in NEXT)
            share = min(max(lowest(before, low), least), most)
            continue
        near, far = sorted((low.share, high.share))
        if far - near <= NARROW * far:
            break
        share = min(max(lowest(low, high), near + MARGIN * (far - near)), far - MARGIN * (far - near))
    return found


def lowest(one: Along, other: Along) -> float:
    """Return where the cubic through two places with their slopes is least; halfway if that is nowhere."""
    apart = other.share - one.share
    mean = one.slope + other.slope - 3 * (other.objective - one.objective) / apart
    square = mean * mean - one.slope * other.slope
    root = math.copysign(math.sqrt(max(square, 0.0)), apart)
    below = other.slope - one.slope + 2 * root
    found = other.share - apart * (other.slope + root - mean) / below if below else math.nan
    return found if math.isfinite(found) else one.share + apart / 2
