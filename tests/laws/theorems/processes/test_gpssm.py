"""The Gaussian process state-space model: its expectations, gradients and bound, and what it is with linear kernels."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mlcli.base.types import Array
from mlcli.core.iterate import Iterated
from mlcli.core.minimize import Point
from mlcli.core.similarities.projector import require_projector
from mlcli.errors import ConfigError, DataError
from mlcli.methods.processes.dynamics import Motion
from mlcli.methods.processes.expectations import GaussianPoints, KernelMoments, kernel_gradient, kernel_moments
from mlcli.methods.processes.fitting import FittedParameters
from mlcli.methods.processes.likelihoods import Observations
from mlcli.methods.processes.markov import Markov, MarkovParameters, ascend
from mlcli.methods.processes.process import Bias, CovarianceFunction, GaussianProcess, Linear, Rbf
from mlcli.methods.processes.transitions import StateSpaceProblem, smooth_rows, smoothing_bound
from tests.support import fit
from tests.wording import Wording

GENERATOR = np.random.default_rng(0)
MEANS, PLACES = GENERATOR.standard_normal((4, 2)), GENERATOR.standard_normal((3, 2))
SPREADS = np.einsum("tpq,trq->tpr", *[0.5 * GENERATOR.standard_normal((4, 2, 2))] * 2) + 0.05 * np.eye(2)
POINTS = GaussianPoints(MEANS, SPREADS)
KERNELS = (CovarianceFunction((Rbf(1.3, np.array([0.8, 1.4])), Linear(0.4), Bias(0.3)), 0.05),
           CovarianceFunction((Bias(0.3), Rbf(0.7, np.array([1.1]))), 0.05), CovarianceFunction((Linear(0.4),), 0.05))
TERMS = ((("rbf", "bias"), ("rbf", "linear")), (("linear",), ("linear",)),
         (("rbf-ard", "linear", "bias"), ("rbf", "linear", "bias")))
pytestmark = pytest.mark.usefixtures("one_thread")


def differences(function: Any, vector: Array, step: float = 1e-6) -> Array:
    """The gradient by central differences."""
    return np.array([(function(vector + step * unit) - function(vector - step * unit)) / (2 * step)
                     for unit in np.eye(len(vector))])


def random_sequence(count: int, axes: int = 2, seed: int = 1) -> Markov:
    """A sequence with random parameters."""
    generator = np.random.default_rng(seed)
    roots = np.tril(0.3 * generator.standard_normal((count, axes, axes))) + np.eye(axes)
    return Markov(generator.standard_normal((count, axes)), 0.6 * generator.standard_normal((count - 1, axes, axes)),
                  roots)


@pytest.mark.parametrize("covariance", KERNELS)
def test_expectations_are_those_of_quadrature(covariance: CovarianceFunction) -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=2).reshape(-1, 2)
    shares = np.outer(weights, weights).ravel() / (2 * np.pi)
    found, total, squared = kernel_moments(covariance, POINTS, PLACES), 0.0, np.zeros((3, 3))
    for row in range(4):
        off = grid @ np.linalg.cholesky(SPREADS[row]).T
        values = covariance(MEANS[row] + off, PLACES)
        total += float(shares @ covariance.diagonal(MEANS[row] + off))
        squared += (shares[:, None] * values).T @ values
        assert np.allclose(found.crossed[row], shares @ values, rtol=1e-9)
        steps = (shares[:, None] * values).T @ off
        assert np.allclose(found.slopes[row] @ SPREADS[row], steps, rtol=0, atol=1e-9)  # Stein's lemma
    assert found.total == pytest.approx(total, rel=1e-12) and np.allclose(found.squared, squared, rtol=1e-8)


@pytest.mark.parametrize("covariance", KERNELS)
def test_gradients_of_expectations_are_those_of_differences(covariance: CovarianceFunction) -> None:
    generator = np.random.default_rng(2)
    squared = generator.standard_normal((3, 3))
    weights = KernelMoments(0.7, crossed=generator.standard_normal((4, 3)),
                            slopes=generator.standard_normal((4, 3, 2)), squared=squared + squared.T)
    symmetric = np.array([[[1, 0], [0, 0]], [[0, 1], [1, 0]], [[0, 0], [0, 1]]], dtype=float)

    def function(values: Array) -> float:
        means, spreads, places, logs = np.split(values, np.cumsum([8, 12, 6]))
        moved = SPREADS + np.einsum("tk,kpq->tpq", spreads.reshape(4, 3), symmetric)
        found = kernel_moments(covariance.at(np.append(logs, 0.0)), GaussianPoints(means.reshape(4, 2), moved),
                               places.reshape(3, 2))
        return float(weights.total * found.total + np.sum(weights.crossed * found.crossed)
                     + np.sum(weights.slopes * found.slopes) + np.sum(weights.squared * found.squared))

    found = kernel_gradient(covariance, POINTS, PLACES, weights)
    by_spreads = np.einsum("tpq,kpq->tk", found.points.covariances, symmetric)
    gathered = np.concatenate([found.points.means.ravel(), by_spreads.ravel(), found.places.ravel(), found.logs])
    here = np.concatenate([MEANS.ravel(), np.zeros(12), PLACES.ravel(), covariance.logs[:-1]])
    expected = differences(function, here)
    assert np.abs(gathered - expected).max() <= 1e-8 * np.abs(expected).max()


def problem_of(terms: Any, rows: int = 6) -> tuple[StateSpaceProblem, FittedParameters]:
    """The objective, at parameters off their start."""
    generator = np.random.default_rng(3)
    problem = StateSpaceProblem.of(Observations.of(generator.standard_normal((rows, 3))), 2, 4, terms)
    start = problem.start(generator.standard_normal((rows, 2)))
    off = 0.2 * generator.standard_normal(len(problem.vector(start)))
    return problem, problem.at(start, problem.vector(start) + off)


@pytest.mark.parametrize("terms", TERMS)
def test_gradients_of_the_bound_are_those_of_differences(terms: Any) -> None:
    problem, state = problem_of(terms)
    gradient, here = problem.vector(problem(state)[1]), problem.vector(state)
    sizes = np.array([state.latent.size, state.places.size, state.logs.size])
    for block in range(3):  # sequence, inducing points, parameters
        for generator in map(np.random.default_rng, range(4)):
            direction = generator.standard_normal(len(here)) * (np.repeat(np.arange(3), sizes) == block)
            behind, ahead = (problem(problem.at(state, here + step * direction))[0] for step in (-1e-5, 1e-5))
            assert (ahead - behind) / 2e-5 == pytest.approx(gradient @ direction, rel=1e-6, abs=1e-6)


def test_states_so_wide_that_rounding_makes_them_singular_are_no_place_to_go() -> None:
    """Where the search goes too far it is told so, and steps back, in the fit as well as for new rows."""
    problem, state = problem_of(TERMS[0])
    sequence = problem.parameters.sequence(state.latent)
    wide = replace(sequence, moves=np.broadcast_to([[1e12, 0.0], [1e12, 0.0]], sequence.moves.shape))
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(problem(replace(state, latent=problem.parameters.vector(wide)))[0])
        posterior, motion = problem.posteriors(sequence, problem.parts(state))
        bound = smoothing_bound(posterior, motion, ROWS[:6])
        assert not np.isfinite(bound(wide.states)[0])


@pytest.mark.parametrize("terms", TERMS[:2])
def test_a_rotation_of_states_does_not_change_the_bound(terms: Any) -> None:
    problem, state = problem_of(terms)
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((2, 2)))[0]
    parameters = problem.parameters
    moved = FittedParameters(parameters.vector(parameters.sequence(state.latent).rotate(turn)), state.places @ turn,
                             state.logs)
    assert problem(moved)[0] == pytest.approx(problem(state)[0], rel=1e-10)


def test_a_result_states_the_bound_of_its_iterations_to_the_last_bit() -> None:
    """With other rounding, as that of rotated axes, there may be none where inducing points almost coincide."""
    problem, state = problem_of(TERMS[0])
    found = problem.result(state, Iterated(Point(problem.vector(state), 0.0), np.zeros(0), True))
    assert found.value == problem.bound(problem.parameters.sequence(state.latent), problem.parts(state))
    again = problem.parts(FittedParameters(found.latent, np.vstack([
        found.posterior.places, found.motion.before[:, 0]]), state.logs))
    assert found.value == pytest.approx(problem.bound(found.sequence, again), rel=1e-9)


def dense(sequence: Markov) -> Array:
    """The covariance of all states, by the linear system that makes them of independent noises."""
    count, size = sequence.means.shape
    system, noises = np.eye(count * size), np.zeros((count * size, count * size))
    for row in range(count):
        here = slice(row * size, row * size + size)
        noises[here, here] = sequence.roots[row] @ sequence.roots[row].T
        if row:
            system[here, (row - 1) * size : row * size] = -sequence.moves[row - 1]
    inverse = np.linalg.inv(system)
    return np.asarray(inverse @ noises @ inverse.T)


def test_moments_entropy_and_precision_of_a_sequence_are_those_of_one_normal_vector() -> None:
    sequence = random_sequence(5)
    states, whole = sequence.states, dense(sequence)
    blocks = whole.reshape(5, 2, 5, 2)
    assert np.allclose(states.covariances, np.einsum("tptq->tpq", blocks))
    assert np.allclose(states.following, [blocks[row + 1, :, row] for row in range(4)])
    assert sequence.entropy == pytest.approx(multivariate_normal(cov=whole).entropy(), rel=1e-12)
    diagonal, below = sequence.precision
    inverse = np.linalg.inv(whole).reshape(5, 2, 5, 2)
    assert np.allclose(diagonal, np.einsum("tptq->tpq", inverse))
    assert np.allclose(below, [inverse[row + 1, :, row] for row in range(4)])
    again = Markov.of_precision(sequence.means, diagonal, below)
    assert again is not None and np.allclose(dense(again), whole)
    assert Markov.of_precision(sequence.means, diagonal - 100 * np.eye(2), below) is None
    rights = np.random.default_rng(5).standard_normal((5, 2))
    assert np.allclose(sequence.solve(rights).ravel(), whole @ rights.ravel())
    parameters = MarkovParameters(2)
    assert np.allclose(dense(parameters.sequence(parameters.vector(again))), whole)


def known_system(transition: Array, loadings: Array, noises: tuple[float, float]) -> tuple[GaussianProcess, Motion]:
    """Processes of rows and steps that are certain of two matrices."""
    axes = np.eye(len(transition))
    rows, steps = (CovarianceFunction((Linear(1.0),), noise) for noise in noises)
    return (GaussianProcess(rows, places=axes, weights=loadings.T, known=axes, mean=np.zeros(len(loadings))),
            Motion(steps, before=axes[:, None], weights=transition.T, known=axes))


def joint(transition: Array, loadings: Array, noises: tuple[float, float], rows: int,
          more: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """The precision of all states of a linear system, and C' / r of all rows; `more` adds to the precision of a state
    (that of a row, that of a step from it).
    """
    size = len(transition)
    precision, pull = np.zeros((rows, size, rows, size)), np.zeros((rows, size, rows, len(loadings)))
    extra = (np.zeros((size, size)),) * 2 if more is None else more
    precision[0, :, 0] += np.eye(size)
    for row in range(rows):
        precision[row, :, row] += loadings.T @ loadings / noises[0] + extra[0]
        pull[row, :, row] = loadings.T / noises[0]
        if row < rows - 1:
            precision[row, :, row] += transition.T @ transition / noises[1] + extra[1]
            precision[row + 1, :, row + 1] += np.eye(size) / noises[1]
            precision[row + 1, :, row] -= transition / noises[1]
            precision[row, :, row + 1] -= transition.T / noises[1]
    return precision.reshape(rows * size, -1), pull.reshape(rows * size, -1)


TRANSITION = np.array([[0.9, -0.3], [0.2, 0.8]])
LOADINGS = np.array([[1.0, 0.2], [-0.4, 0.7], [0.3, 0.3]])
NOISES = (0.2, 0.1)
ROWS = np.random.default_rng(6).standard_normal((7, 3))


def test_with_linear_kernels_smoothing_is_kalmans() -> None:
    """Where the functions are known matrices, one step ends at the posterior of the states, and the bound is the
    log-likelihood of the rows.
    """
    posterior, motion = known_system(TRANSITION, LOADINGS, NOISES)
    precision, pull = joint(TRANSITION, LOADINGS, NOISES, 7)
    covariance = np.linalg.inv(precision)
    sequence, value = ascend(smoothing_bound(posterior, motion, ROWS), Markov.apart(np.zeros((7, 2)), 0.1))
    assert np.allclose(sequence.means.ravel(), covariance @ pull @ ROWS.ravel(), rtol=0, atol=1e-12)
    assert np.allclose(dense(sequence), covariance, rtol=0, atol=1e-12)
    prior = np.linalg.inv(joint(TRANSITION, 0 * LOADINGS, NOISES, 7)[0])
    shown = np.kron(np.eye(7), LOADINGS)
    exact = multivariate_normal(cov=shown @ prior @ shown.T + NOISES[0] * np.eye(21)).logpdf(ROWS.ravel())
    assert value == pytest.approx(exact, rel=1e-12)
    assert np.allclose(smooth_rows(posterior, motion, ROWS).means, sequence.means, rtol=0, atol=1e-10)


def test_missing_cells_and_rows_are_left_out_of_smoothing() -> None:
    posterior, motion = known_system(TRANSITION, LOADINGS, NOISES)
    gaps = ROWS.copy()
    gaps[2, 1] = gaps[4] = gaps[6, :2] = np.nan
    precision, pull = joint(TRANSITION, 0 * LOADINGS, NOISES, 7)
    there = ~np.isnan(gaps).ravel()
    shown = np.kron(np.eye(7), LOADINGS)[there]
    expected = np.linalg.solve(precision + shown.T @ shown / NOISES[0], shown.T @ gaps.ravel()[there] / NOISES[0])
    assert pull.shape == (14, 21)
    assert np.allclose(smooth_rows(posterior, motion, gaps).means.ravel(), expected, rtol=0, atol=1e-10)


def test_the_bound_is_below_the_log_likelihood_of_unknown_matrices() -> None:
    """For one axis and one column, the log-likelihood is an integral over two numbers."""
    values = np.array([[0.4], [0.9], [0.2], [-0.5], [-0.6]])
    problem = StateSpaceProblem.of(Observations(values, np.zeros(1), 1, values), 1, 4, (("linear",), ("linear",)))
    start = problem.start(values)
    rows, steps = problem.parts(start)
    grid = np.linspace(-6, 6, 121)
    logs = np.empty((len(grid), len(grid)))
    for place, move in enumerate(grid * np.sqrt(steps.covariance.terms[0].parameters[0])):
        noises = rows.covariance.whole_noise, steps.covariance.whole_noise
        prior = np.linalg.inv(joint(np.array([[move]]), np.zeros((1, 1)), noises, 5)[0])
        shown = grid**2 * rows.covariance.terms[0].parameters[0]
        whole = shown[:, None, None] * prior + noises[0] * np.eye(5)
        squares = np.einsum("kts,t,s->k", np.linalg.inv(whole), values[:, 0], values[:, 0])
        logs[place] = -0.5 * (np.linalg.slogdet(whole)[1] + squares + 5 * np.log(2 * np.pi))
    density = np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi) * (grid[1] - grid[0])
    exact = float(np.log(density @ np.exp(logs) @ density))

    def bound(sequence: Markov) -> float:
        found = problem.evidence((rows, steps), sequence.states)
        assert found is not None
        return found[0] + sequence.entropy

    assert max(bound(random_sequence(5, 1, seed)) for seed in range(8)) < exact
    best = ascend(lambda states: problem.evidence((rows, steps), states)[:2], Markov.apart(values, 0.1))  # type: ignore
    assert exact - np.log(2) - 1.0 < best[1] < exact  # states of either sign are equally probable, and q has one


def moving(rows: int, columns: int = 3) -> Array:
    """A linear system, observed with noise."""
    generator = np.random.default_rng(7)
    state, found = np.zeros(2), np.empty((rows, columns))
    loadings = generator.standard_normal((columns, 2))
    for row in range(rows):
        state = TRANSITION @ state + np.sqrt(NOISES[1]) * generator.standard_normal(2)
        found[row] = loadings @ state + 0.3 * generator.standard_normal(columns)
    return found


LINEAR = {"kernel": ["linear"], "transition": ["linear"], "axes": {"components": 2}}


@pytest.mark.medium
def test_a_fit_with_linear_kernels_is_the_smoother_of_its_expected_matrices() -> None:
    """The uncertainty of a matrix counts as rows of zeros; without it the smoother is that of the mean matrices, which
    is near where the matrices are known well.
    """
    rows = moving(60)
    model = fit("gpssm", rows, **LINEAR, minimize={"tolerance": 1e-11})
    projector = require_projector(model.projector)
    similarity: Any = projector.similarity
    rows, posterior, motion = projector.input_unit.measured(rows), similarity.posterior, similarity.motion
    steps, means, unsure = motion.posterior, [], []
    for process in (posterior, steps):
        variance = process.covariance.terms[0].variance
        means.append(variance * process.weights.T @ process.places)
        known = variance**2 * process.places.T @ process.known @ process.places
        columns = int(process.varying.sum())
        unsure.append(columns * (variance * np.eye(2) - known) / process.covariance.whole_noise)
    noises = posterior.covariance.whole_noise, steps.covariance.whole_noise
    centered, spread = (rows - rows.mean(axis=0)).ravel(), model.embedding.std()
    precision, pull = joint(means[1], means[0], noises, 60, (unsure[0], unsure[1]))
    assert np.abs(np.linalg.solve(precision, pull @ centered) - model.embedding.ravel()).max() < 1e-5 * spread
    blocks = np.linalg.inv(precision).reshape(60, 2, 60, 2)
    assert model.spreads is not None
    assert np.abs(np.einsum("tptq->tpq", blocks) - model.spreads).max() < 1e-3 * model.spreads.max()
    precision, pull = joint(means[1], means[0], noises, 60)
    assert 1e-4 * spread < np.abs(np.linalg.solve(precision, pull @ centered) - model.embedding.ravel()
                                  ).max() < 0.1 * spread


def circling(rows: int) -> Array:
    """A closed curve in four columns with noise, twenty steps and a bit a round."""
    times = 0.3 * np.arange(rows)
    points = np.column_stack([np.cos(times) + 0.3 * np.cos(2 * times), np.sin(times)])
    generator = np.random.default_rng(1)
    return np.tanh(points @ generator.standard_normal((2, 4))) + 0.05 * generator.standard_normal((rows, 4))


@pytest.mark.medium
def test_training_rows_are_smoothed_to_their_coordinates_and_a_forecast_goes_on() -> None:
    rows = circling(50)
    model = fit("gpssm", rows[:42], inducing=8, axes={"components": 2}, forecast=8, minimize={"tolerance": 1e-4})
    assert np.abs(model.project(rows[:42]) - model.embedding).max() < 0.02 * model.embedding.std()
    assert model.forecast is not None
    assert np.sqrt(np.mean((model.forecast.means - rows[42:]) ** 2)) < 0.4 * rows.std()
    off = np.abs(model.forecast.means - rows[42:]) / model.forecast.deviations
    assert float(np.mean(off < 2)) > 0.8


def test_what_it_cannot_fit_is_refused_by_name(wording: Wording) -> None:
    with wording.raises(ConfigError, "TERMS"):
        fit("gpssm", ROWS, transition=["linear", "linear"])
    gaps = ROWS.copy()
    gaps[1, 1] = np.nan
    with wording.raises(DataError, "MISSING"):
        fit("gpssm", gaps)


def test_two_rows_have_one_step() -> None:
    model = fit("gpssm", ROWS[:2], forecast=2, minimize={"limit": 5})
    assert model.embedding.shape == (2, 1) and model.project(ROWS[:1]).shape == (1, 1)


def test_rows_that_are_all_equal_have_one_state() -> None:
    model = fit("gpssm", np.full((5, 3), 2.0), forecast=3)
    assert model.embedding.shape == (5, 1) and not model.embedding.any()
    assert model.forecast is not None and np.all(model.forecast.means == 2.0)
    assert not model.project(np.full((2, 3), 2.0)).any()
