"""The Gaussian process dynamical model: its density, gradients, forecasts, and what it is without dynamics."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mlcli.base.types import Array
from mlcli.errors import ConfigError, DataError, GeometryError
from mlcli.methods.processes.dynamics import Dynamics, Motion, SequenceDensity, SequenceProblem, Trail
from mlcli.methods.processes.fitting import FittedParameters, Problem
from mlcli.methods.processes.gpdm import forecast, slopes
from mlcli.methods.processes.latents import Free
from mlcli.methods.processes.likelihoods import Exact, Observations
from mlcli.methods.processes.new_points import NewRows, place, sequence_objective, track
from mlcli.methods.processes.process import CovarianceFunction, GaussianProcess, Linear, Rbf, start_covariance
from tests.support import fit
from tests.wording import Wording

GENERATOR = np.random.default_rng(0)
ROWS, POINTS = GENERATOR.standard_normal((12, 3)), GENERATOR.standard_normal((12, 2))
NOTHING = POINTS[:0]
DATA = Observations.of(ROWS)
KERNEL = CovarianceFunction((Rbf(1.3, np.array([0.8])), Linear(0.4)), 0.05)
pytestmark = pytest.mark.usefixtures("one_thread")


def problem_of(order: int, weight: float, points: Array = POINTS) -> tuple[SequenceProblem, FittedParameters]:
    """The objective for all terms, at parameters off their start."""
    trail = Trail(2, Dynamics(kernel=("rbf", "linear", "bias"), order=order, weight=weight).density)  # type: ignore
    covariance = start_covariance(("rbf", "bias"), 0.7, 1e-3)
    problem = SequenceProblem(Exact(DATA), trail, covariance, False, np.zeros(len(covariance.logs), dtype=bool))
    latent = trail.start(points)
    off = 0.1 * np.random.default_rng(1).standard_normal(len(latent) + len(covariance.logs))
    return problem, FittedParameters(latent + off[: len(latent)], NOTHING, covariance.logs + off[len(latent) :])


def differences(function: Any, vector: Array, step: float = 1e-5) -> Array:
    """The gradient by central differences."""
    return np.array([(function(vector + step * unit) - function(vector - step * unit)) / (2 * step)
                     for unit in np.eye(len(vector))])


@pytest.mark.parametrize(("order", "weight"), [(1, 1.0), (2, 1.7)])
def test_gradients_are_those_of_finite_differences(order: int, weight: float) -> None:
    problem, state = problem_of(order, weight)
    found = problem.vector(problem(state)[1])
    expected = differences(lambda values: problem(problem.at(state, values))[0], problem.vector(state))
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("order", [1, 2])
def test_the_density_is_that_of_normal_vectors(order: int) -> None:
    """The first points are standard normal; each column of the later ones has the covariance of those before them."""
    before = np.hstack([POINTS[lag : len(POINTS) - order + lag] for lag in range(order)])
    squares = np.sum((before[:, None] - before[None]) ** 2, axis=2)
    matrix = 1.3 * np.exp(-0.5 * squares / 0.8**2) + 0.4 * before @ before.T + 0.05 * np.eye(len(before))
    expected = multivariate_normal(cov=np.eye(2 * order)).logpdf(POINTS[:order].ravel())
    expected += sum(multivariate_normal(cov=matrix).logpdf(column) for column in POINTS[order:].T)
    assert SequenceDensity(KERNEL, order)(KERNEL.logs, POINTS).value == pytest.approx(expected, rel=1e-12)


def test_steps_of_white_noise_alone_are_the_prior_of_latent_points() -> None:
    """With unit white noise for steps the objective is that of the model without dynamics, to the last constant."""
    white, covariance = CovarianceFunction((Linear(1e-300),), 1.0), start_covariance(("rbf", "bias"), 0.7, 1e-3)
    fixed = np.zeros(len(covariance.logs), dtype=bool)
    trail, constant = Trail(2, SequenceDensity(white, 1)), POINTS.size / 2 * np.log(2 * np.pi)
    points = trail.points(trail.start(POINTS))
    moving, still = (SequenceProblem(Exact(DATA), trail, covariance, False, fixed),
                     Problem(Exact(DATA), Free(2), covariance, True, fixed))
    value, slope = moving(FittedParameters(trail.start(points), NOTHING, covariance.logs))
    expected, free = still(FittedParameters(points.ravel(), NOTHING, covariance.logs))
    assert value == pytest.approx(expected + constant, rel=1e-12)
    across = free.latent - trail.points(trail.start(points)).ravel() * float(free.latent @ points.ravel()) / points.size
    across = (across.reshape(-1, 2) - free.latent.reshape(-1, 2).mean(axis=0)).ravel()
    assert np.allclose(slope.latent[: points.size], across, rtol=0, atol=1e-11)
    assert np.allclose(slope.logs, free.logs, rtol=1e-12)


def test_neither_a_turn_nor_another_scale_or_place_changes_the_objective() -> None:
    """A sequence of points in time stands for another only by its shape."""
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((2, 2)))[0]
    for order in (1, 2):
        problem, state = problem_of(order, 1.0)
        trail, value = problem.latents, problem(state)[0]
        points, logs = trail.points(state.latent), trail.logs(state.latent)
        assert points.mean(axis=0) == pytest.approx(0, abs=1e-12) and np.mean(points**2) == pytest.approx(1)
        for other in (points @ turn, 3 * points + [5, -2]):
            moved = FittedParameters(np.concatenate([other.ravel(), logs]), NOTHING, state.logs)
            assert problem(moved)[0] == pytest.approx(value, rel=1e-12)


def nearly_linear(matrix: Array) -> tuple[Motion, Array]:
    """A process that has seen an undisturbed linear sequence, and the sequence."""
    points = np.empty((30, 2))
    points[0] = 1.0, 0.5
    for row in range(29):
        points[row + 1] = points[row] @ matrix.T
    covariance = CovarianceFunction((Linear(1.0),), 1e-6)
    return SequenceDensity(covariance, 1).motion(covariance.logs, points), points


def test_a_forecast_of_a_linear_process_is_kalmans() -> None:
    """Means go on by the matrix, and covariances as A V Aᵀ with the noise: where nothing is unsure about A."""
    matrix = 0.97 * np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    motion, points = nearly_linear(matrix)
    decoder = Exact(Observations(points, np.zeros(2), 2, points)).posterior(motion.covariance, points, NOTHING)
    ahead = forecast(decoder, motion, points, 12)
    spread, point = np.zeros((2, 2)), points[-1]
    for row in range(12):
        noise = motion.posterior.variances(point[None])[0]
        spread, point = matrix @ spread @ matrix.T + noise * np.eye(2), matrix @ point
        assert np.allclose(ahead.points[row], point, rtol=0, atol=1e-5)
        variance = np.diag(spread) + decoder.variances(point[None])[0]
        assert np.allclose(ahead.deviations[row], np.sqrt(variance), rtol=1e-4)
    assert np.allclose(ahead.means, ahead.points, rtol=0, atol=1e-5)


def fitted() -> tuple[GaussianProcess, Motion]:
    """Both processes, at random points."""
    return (Exact(DATA).posterior(CovarianceFunction((Rbf(1.0, np.ones(1)),), 0.1), POINTS, NOTHING),
            SequenceDensity(KERNEL, 2).motion(KERNEL.logs, POINTS))


def test_slopes_and_the_objective_of_new_sequences_are_those_of_finite_differences() -> None:
    posterior, motion = fitted()
    point, new = np.array([0.3, -0.4]), np.random.default_rng(3).standard_normal((6, 3))
    new[2, 1] = new[4] = np.nan
    expected = np.column_stack([(posterior.means(point[None] + 1e-6 * unit) - posterior.means(
        point[None] - 1e-6 * unit))[0] / 2e-6 for unit in np.eye(2)])
    assert np.abs(slopes(posterior, point) - expected).max() <= 1e-8
    function, start = sequence_objective(NewRows.of(posterior, False, new), motion), POINTS[:6].ravel()
    by_hand = differences(lambda values: function(values)[0], start)
    assert np.abs(function(start)[1] - by_hand).max() <= 1e-8 * np.abs(by_hand).max()


def test_a_new_sequence_lies_lower_than_its_rows_one_by_one() -> None:
    posterior, motion = fitted()
    new = ROWS[3:9] + 0.1
    alone, together = place(posterior, True, new), track(posterior, motion, new)
    value, slope = sequence_objective(NewRows.of(posterior, False, new), motion)(together.ravel())
    assert value < sequence_objective(NewRows.of(posterior, False, new), motion)(alone.ravel())[0]
    assert np.abs(slope).max() < 1e-4
    for count in (0, 1, 2):  # as many as the order, or fewer
        assert track(posterior, motion, new[:count]).shape == (count, 2)


def circling(rows: int) -> Array:
    """A noiseless closed curve in four columns, ten steps and a bit a round."""
    angle = 0.6 * np.arange(rows)
    return np.column_stack([np.sin(angle), np.cos(angle), 0.5 * np.sin(2 * angle), np.cos(angle) ** 3])


@pytest.mark.medium
@pytest.mark.parametrize("order", [1, 2])
def test_a_closed_curve_is_predicted(order: int) -> None:
    rows = circling(60)
    model = fit("gpdm", rows[:40], forecast=20, dynamics={"order": order, "floor": 1e-6}, minimize={"limit": 150})
    assert model.forecast.means.shape == model.forecast.deviations.shape == (20, 4)
    wrong = np.sqrt(np.mean((model.forecast.means - rows[40:]) ** 2))
    assert wrong < 0.05 * np.sqrt(np.mean((rows[39] - rows[40:]) ** 2))  # the last row, as it stays
    radii = np.linalg.norm(model.embedding, axis=1)
    assert radii.std() < 0.2 * radii.mean()  # a round, seen as one
    assert (np.diff(model.trace) > 0).all()


@pytest.mark.medium
def test_a_swing_on_one_axis_needs_its_last_two_points() -> None:
    """One point says where the swing is, not where it goes."""
    swing = np.sin(0.35 * np.arange(70))
    rows = np.column_stack([swing, np.tanh(2 * swing), swing**2])
    first, second = (np.abs(fit("gpdm", rows[:50], components=1, forecast=20, dynamics={"order": order},
                                minimize={"limit": 500}).forecast.means - rows[50:]).max() for order in (1, 2))
    assert second < 0.15 < 0.5 < first


@pytest.mark.medium
def test_rows_that_are_not_there_are_filled_in_and_gone_on_from() -> None:
    """A gap within new rows, and rows after their end, are where the steps lead."""
    rows = circling(60)
    model = fit("gpdm", rows[:40], forecast=4, dynamics={"floor": 1e-6}, minimize={"limit": 150})
    new = rows[30:50].copy()
    new[4:8] = new[16:] = np.nan
    filled = model.reconstruct(model.project(new))
    assert np.abs(filled - rows[30:50]).max() < 0.1
    ended = model.reconstruct(model.project(np.vstack([rows[:40], np.full((4, 4), np.nan)])))[40:]
    assert np.abs(ended - model.forecast.means).max() < 0.1


def relaxing(rows: int) -> Array:
    """Van der Pol's oscillator, which stays long and jumps, at even times."""
    from scipy.integrate import solve_ivp

    times = 40 + 0.25 * np.arange(rows)
    return np.asarray(solve_ivp(lambda time, y: [y[1], 3 * (1 - y[0] ** 2) * y[1] - y[0]], (0, times[-1]), [1.0, 0.0],
                                t_eval=times, rtol=1e-9, atol=1e-9).y.T)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])  # of rows by seed 0 the fit has several maxima, and rounding chooses one
def test_steps_that_are_not_linear_are_predicted_where_linear_ones_are_not(seed: int) -> None:
    """Fifty rows after two hundred, seen through eight bent columns with noise of a twentieth of their deviation."""
    generator, places = np.random.default_rng(seed), relaxing(250 + 7 * seed)[7 * seed :]
    places = (places - places.mean(axis=0)) / places.std(axis=0)
    columns = np.tanh(0.7 * places @ generator.standard_normal((2, 8)) + generator.uniform(-1, 1, 8))
    columns /= columns.std(axis=0)
    rows = columns + 0.05 * generator.standard_normal(columns.shape)
    forecast = fit("gpdm", rows[:200], forecast=50).forecast
    wrong = {"gpdm": forecast.means - columns[200:]}
    for states in (2, 8):
        linear = fit("lgssm", rows[:200], components=states)
        gap = np.vstack([rows[:200], np.full((50, 8), np.nan)])
        wrong[f"lgssm {states}"] = linear.reconstruct(linear.project(gap))[200:] - columns[200:]
    errors = {name: float(np.sqrt(np.mean(off**2))) for name, off in wrong.items()}
    assert errors["gpdm"] < 0.2 < 0.5 < min(errors["lgssm 2"], errors["lgssm 8"])
    assert np.mean(((forecast.means - rows[200:]) / forecast.deviations) ** 2) < 1.5


@pytest.mark.slow
def test_deviations_are_as_large_as_errors() -> None:
    """Thirty rows ahead of noisy turns, 120 cells: errors over deviations have variance one, to a third."""
    rows = circling(90) + 0.05 * np.random.default_rng(0).standard_normal((90, 4))
    model = fit("gpdm", rows[:60], forecast=30, dynamics={"floor": 1e-6})
    over = (model.forecast.means - rows[60:]) / model.forecast.deviations
    assert np.mean(over**2) == pytest.approx(1, abs=0.35)
    assert np.sqrt(np.mean((model.forecast.means - circling(90)[60:]) ** 2)) < 0.05  # less than the rows' noise


@pytest.mark.parametrize(("options", "error", "where"), [
    ({"kernel": ["rbf", "rbf"]}, ConfigError, "method.kernel"),
    ({"dynamics": {"kernel": ["linear", "linear"]}}, ConfigError, "method.dynamics.kernel"),
    ({"dynamics": {"order": 2}}, GeometryError, "method.dynamics.order")])
def test_what_has_no_use_is_refused(options: dict[str, Any], error: type[Exception], where: str) -> None:
    with pytest.raises(error) as caught:
        fit("gpdm", ROWS[:2], **options)
    assert caught.value.where == where  # type: ignore[attr-defined]


def test_rows_without_all_cells_are_refused(wording: Wording) -> None:
    gaps = ROWS.copy()
    gaps[1, 2] = np.nan
    with pytest.raises(DataError) as caught:
        fit("gpdm", gaps)
    assert "E-MISSING" in wording(caught.value) and caught.value.where == "prepare.missing"


def test_a_sequence_at_rest_stays_there() -> None:
    model = fit("gpdm", np.full((5, 3), 2.0), forecast=3)
    assert np.array_equal(model.forecast.means, np.full((3, 3), 2.0)) and not model.forecast.deviations.any()
    assert np.array_equal(model.project(np.ones((4, 3))), np.zeros((4, 1)))
