"""The one minimization: known minima, when it stops, and going on after a death."""

from itertools import count

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core import minimize
from mlcli.core.lbfgs import run_fixed_lbfgs
from mlcli.core.minimize import DEVIATIONS, STEADY, Function, Likeliest, Minimize, Run, rounding, run_lbfgs
from mlcli.errors import NumericalError
from tests.checkpoints import in_parts
from tests.support import Notes
from tests.wording import Wording

SIZES = np.geomspace(1, 1e3, 20)
CENTER = np.linspace(-1, 2, 20)
FAR = np.random.default_rng(0).standard_normal(20)


def quadratic(values: Array) -> tuple[float, Array]:
    """Σ s (x - c)², whose minimum is c, and no lower than seven."""
    off = values - CENTER
    return float(np.sum(SIZES * off**2)) + 7.0, 2 * SIZES * off


def rosenbrock(values: Array) -> tuple[float, Array]:
    """The curved valley whose minimum is at ones."""
    x, y = values
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2, np.array(
        [-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)])


def times(factor: float, function: Function) -> Function:
    def scaled(values: Array) -> tuple[float, Array]:
        value, slope = function(values)
        return factor * value, factor * slope
    return scaled


CASES = {"quadratic": (quadratic, FAR, CENTER), "rosenbrock": (rosenbrock, np.array([-1.2, 1.0]), np.ones(2))}
every_case = pytest.mark.parametrize(("function", "start", "minimum"), CASES.values(), ids=CASES.keys())
every_run = pytest.mark.parametrize("run", [run_lbfgs, run_fixed_lbfgs])


@every_run
@every_case
def test_it_finds_the_known_minimum(function: Function, start: Array, minimum: Array, run: Run) -> None:
    with Notes() as notes:
        found = Minimize(tolerance=1e-14)(function, start, run=run)
    assert not notes.codes and found.converged and np.allclose(found.state.values, minimum, rtol=0, atol=1e-5)
    assert found.state.objective == found.trace[-1] == function(found.state.values)[0]
    assert found.trace[0] < function(start)[0] and (np.diff(found.trace) <= 0).all()
    assert found.facts == {"iterations": len(found.trace), "converged": True}


@every_run
@every_case
@pytest.mark.parametrize("limit", [4, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_minimization_that_dies_ends_with_the_same_bytes(function: Function, start: Array, minimum: Array,
                                                           limit: int, run: Run) -> None:
    """Told again what it was told before, it takes the same steps; nothing is computed twice."""
    asked: list[Array] = []

    def counted(values: Array) -> tuple[float, Array]:
        asked.append(values)
        return function(values)

    with Notes() as undisturbed:
        whole = Minimize(tolerance=1e-14, limit=limit)(counted, start, run=run)
    count = len(asked)
    with Notes() as dying:
        found, deaths = in_parts(lambda: Minimize(tolerance=1e-14, limit=limit)(counted, start, run=run), every=3)
    assert deaths == count // 3 > 1 and len(asked) == 2 * count
    assert found.state.values.tobytes() == whole.state.values.tobytes()
    assert found.trace.tobytes() == whole.trace.tobytes() and dying.notes[-1:] == undisturbed.notes[-1:]


def test_what_is_kept_of_a_long_minimization_is_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimize, "LONGEST", 20)
    whole = Minimize()(rosenbrock, np.array([-1.2, 1.0]))
    found, deaths = in_parts(lambda: Minimize()(rosenbrock, np.array([-1.2, 1.0])))
    assert deaths == 10 and found.trace.tobytes() == whole.trace.tobytes()
    asked = count()
    _, more = in_parts(lambda: Minimize()(rosenbrock, np.array([-1.2, 1.0])), wanted=lambda: next(asked) == 5)
    assert more == 11  # a run that is to end does not go on because nothing more is kept


@every_run
def test_a_step_too_far_is_taken_back_also_after_a_death(run: Run) -> None:
    def walled(values: Array) -> tuple[float, Array]:
        return rosenbrock(values) if values[1] < 1.2 else (np.nan, np.full(2, np.nan))

    whole = Minimize()(walled, np.array([-1.2, 1.0]), run=run)
    found, _ = in_parts(lambda: Minimize()(walled, np.array([-1.2, 1.0]), run=run), every=2)
    assert whole.converged and found.trace.tobytes() == whole.trace.tobytes()


@every_run
@pytest.mark.parametrize("factor", [2.0**-200, 2.0**200])
def test_neither_the_unit_nor_the_zero_of_the_objective_matters(factor: float, run: Run) -> None:
    def lifted(values: Array) -> tuple[float, Array]:
        value, slope = rosenbrock(values)
        return value - 3.0, slope

    start = np.array([-1.2, 1.0])
    with Notes():
        one, other, moved = (Minimize()(function, start, run=run)
                             for function in (rosenbrock, times(factor, rosenbrock), lifted))
    assert one.converged and other.converged and moved.converged
    assert np.allclose(other.state.values, one.state.values, rtol=0, atol=1e-3)
    assert np.allclose(moved.state.values, one.state.values, rtol=0, atol=1e-3)


@every_run
def test_a_start_at_the_minimum_stays_there(run: Run) -> None:
    with Notes() as notes:
        found = Minimize()(quadratic, CENTER, run=run)
    assert not notes.codes and found.converged and found.state.values.tolist() == CENTER.tolist()


def wrong(values: Array) -> tuple[float, Array]:
    """A slope that leads up."""
    value, slope = quadratic(values)
    return value, -slope


@every_run
def test_a_slope_that_leads_up_does_not_converge(run: Run) -> None:
    with Notes() as notes:
        found = Minimize(tolerance=1e-15)(wrong, FAR, run=run)
    assert notes.codes == {"W-UNCONVERGED"} and not found.converged
    assert np.allclose(found.state.values, FAR, rtol=0, atol=1e-2)


@every_run
def test_a_step_that_fails_is_rounding_where_the_objective_is_that_rough(run: Run) -> None:
    """Steps of 2^-20 in the objective hide what is left to fall."""
    def stepped(values: Array) -> tuple[float, Array]:
        value, slope = quadratic(values)
        return float(np.round(value * 2.0**20)) / 2.0**20, slope

    with Notes() as notes:
        found = Minimize(tolerance=1e-15)(stepped, FAR, run=run)
    assert notes.codes <= {"N-ROUNDING"} and found.converged
    assert found.state.objective == pytest.approx(7.0, abs=1e-5)


@every_run
def test_a_slope_that_errs_near_the_minimum_does_not_converge_however_little_the_last_steps_brought(run: Run) -> None:
    """A slope off by a thousandth of the first one promises more than rounding can hide."""
    def erring(values: Array) -> tuple[float, Array]:
        value, slope = quadratic(values)
        return value, slope + 1e-3

    with Notes() as notes:
        found = Minimize(tolerance=1e-15)(erring, FAR, run=run)
    fall = (found.trace[-1 - STEADY] - found.trace[-1]) / (quadratic(FAR)[0] - found.trace[-1])
    assert fall < 1e-6
    assert notes.codes == {"W-UNCONVERGED"} and not found.converged


def test_rounding_is_found_from_differences() -> None:
    """Uniform noise of width w has a standard deviation of w / √12; a smooth objective has only its last digits."""
    generator = np.random.default_rng(1)

    def noisy(values: Array) -> tuple[float, Array]:
        value, slope = quadratic(values)
        return value + 1e-6 * float(generator.uniform()), slope

    found = np.median([rounding(noisy, FAR, CENTER - FAR) for _ in range(50)]) / DEVIATIONS
    assert found == pytest.approx(1e-6 / np.sqrt(12), rel=0.5)
    assert rounding(quadratic, FAR, CENTER - FAR) <= 1e-12 * quadratic(FAR)[0]


def test_a_step_that_leads_too_far_is_no_rounding() -> None:
    """A wall half a step away, as an objective has where a matrix becomes singular."""
    def walled(values: Array) -> tuple[float, Array]:
        value, slope = quadratic(values)
        return (value if np.linalg.norm(values - FAR) < 0.5 * np.linalg.norm(CENTER - FAR) else 1e6), slope

    assert rounding(walled, FAR, CENTER - FAR) <= 1e-12 * quadratic(FAR)[0]


def test_a_likelihood_has_converged_by_the_nats_of_each_number() -> None:
    """Whatever it fell before: a start close to the minimum is judged alike."""
    with Notes():
        ends = [Likeliest(tolerance=1e-4)(quadratic, CENTER + size, numbers=20) for size in (1.0, 1e-2)]
    assert all(end.converged for end in ends)
    for end in ends:
        falls = (end.trace[:-STEADY] - end.trace[STEADY:]) / 20
        assert falls[-1] <= 1e-4 and (len(falls) == 1 or (falls[:-1] > 1e-4).all())


@pytest.mark.parametrize("at", [np.nan, np.inf])
def test_an_objective_that_is_no_number_is_an_error(at: float, wording: Wording) -> None:
    with wording.raises(NumericalError, "DIVERGED"):
        Minimize()(lambda values: (at, values), FAR)
