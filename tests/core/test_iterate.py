"""The iteration that all iterative methods share."""

from dataclasses import dataclass

import numpy as np
import pytest

from mlcli.core.iterate import Iterate
from mlcli.errors import NumericalError
from tests.support import Notes
from tests.wording import Wording


@dataclass(frozen=True)
class Point:
    """A number on its way to 3 with ratio r."""

    value: float
    ratio: float

    @property
    def objective(self) -> float:
        return self.value


def step(point: Point) -> Point:
    return Point(3 + point.ratio * (point.value - 3), point.ratio)


@pytest.mark.parametrize("ratio", [0.1, 0.9, 0.995, -0.5])
def test_it_ends_as_near_the_limit_as_the_tolerance_says(ratio: float) -> None:
    """Also where steps are short because progress is slow: at 0.995 a step is 1/200 of what is left."""
    result = Iterate(tolerance=1e-8)(step, Point(4.0, ratio))
    assert result.converged and result.facts == {"iterations": len(result.trace), "converged": True}
    assert abs(result.state.value - 3) <= 3 * 1.01e-8
    assert result.trace[-1] == result.state.value


def test_a_fixed_point_is_seen_at_once() -> None:
    result = Iterate()(step, Point(3.0, 0.5))
    assert result.converged and np.array_equal(result.trace, [3.0])


def test_a_change_of_its_own_takes_the_place_of_the_objective() -> None:
    """The objective stands still while the state moves."""

    @dataclass(frozen=True)
    class Turning:
        angle: float
        objective: float = 1.0

    result = Iterate()(lambda state: Turning(state.angle / 2), Turning(1.0), lambda a, b: abs(a.angle - b.angle))
    assert result.converged and abs(result.state.angle) < 1e-8


def test_the_limit_is_a_warning() -> None:
    with Notes() as notes:
        result = Iterate(limit=5)(step, Point(4.0, 0.9))
    assert not result.converged and len(result.trace) == 5
    assert notes.codes == {"W-UNCONVERGED"}


def test_steps_that_come_no_closer_to_rest_end_it_where_patience_is_set() -> None:
    """As the limit does; a steady approach never runs out of it."""
    with Notes() as notes:
        turning = Iterate()(lambda state: Point(-state.value, 0.0), Point(2.0, 0.0), lambda a, b: 1.0, patience=30)
    assert not turning.converged and len(turning.trace) == 31
    assert notes.codes == {"W-UNCONVERGED"}
    assert Iterate()(step, Point(4.0, 0.99), patience=30).converged


def test_an_objective_that_is_not_finite_is_an_error(wording: Wording) -> None:
    with pytest.raises(NumericalError) as caught:
        Iterate()(lambda state: Point(state.value * 1e200, 0.0), Point(2.0, 0.0))
    assert caught.value.code == "E-DIVERGED" and "E-DIVERGED" in wording(caught.value)


def test_changes_that_are_rounding_end_it_whatever_the_tolerance() -> None:
    """An objective that is a sum of many terms never stands still, however long one waits."""

    @dataclass(frozen=True)
    class Noisy:
        rest: float
        sign: int = 1

        @property
        def objective(self) -> float:
            return 1 + self.rest + self.sign * 1e-12

    with Notes() as notes:
        result = Iterate(tolerance=1e-300)(lambda state: Noisy(state.rest / 2, -state.sign), Noisy(1.0))
    assert result.converged and len(result.trace) < 120
    assert notes.codes == {"N-ROUNDING"}


def test_slow_progress_is_not_taken_for_rounding() -> None:
    with Notes() as notes:
        result = Iterate(tolerance=1e-13)(step, Point(4.0, 0.98))
    assert abs(result.state.value - 3) <= 1e-12
    assert notes.codes == set()


@dataclass(frozen=True)
class Climbing:
    """A climb to 1 of ratio r, told with an error of another sign at each step."""

    rest: float
    ratio: float
    error: float

    @property
    def objective(self) -> float:
        return 1 - self.rest + self.error


@pytest.mark.parametrize(("tolerance", "error", "rising"), [
    (1e-300, 1e-8, True), (1e-300, 1e-4, True), (1e-7, 1e-8, True), (1e-300, 1e-8, False)])
def test_an_objective_that_rises_no_further_than_it_falls_is_at_its_end(tolerance: float, error: float,
                                                                        rising: bool) -> None:
    """Only where it rises in exact arithmetic, where the falls are small, and where the tolerance is below them."""
    with Notes() as notes:
        result = Iterate(tolerance=tolerance, limit=400)(
            lambda state: Climbing(state.rest * state.ratio, state.ratio, -state.error), Climbing(1.0, 0.7, error),
            lambda before, after: 1e-8 + abs(after.error), rising=rising)
    ends = rising and tolerance < error < 1e-6
    assert notes.codes == {"N-ROUNDING" if ends else "W-UNCONVERGED"}
    assert result.converged == ends and (not ends or 50 < len(result.trace) < 120)
