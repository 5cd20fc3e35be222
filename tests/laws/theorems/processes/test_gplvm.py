"""The Gaussian process latent variable model: gradients, bounds, and what it is for linear kernels."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from mlcli.base.types import Array
from mlcli.core.minimize import Likeliest
from mlcli.core.row_descent import descend
from mlcli.errors import ConfigError, DataError, NumericalError
from mlcli.methods.processes.fitting import Bayesian, FittedParameters, MostProbable, Problem
from mlcli.methods.processes.latents import Free, FreeClouds, KernelRegression, Latents, Network
from mlcli.methods.processes.likelihoods import (
    Clouds,
    Exact,
    Likelihood,
    Observations,
    SparseLikelihood,
    require_inverse,
)
from mlcli.methods.processes.new_points import NewRows, extent_of
from mlcli.methods.processes.process import Bias, CovarianceFunction, Rbf, start_covariance
from tests.laws.agreement.tables import facts, read
from tests.support import fit
from tests.wording import Wording

GENERATOR = np.random.default_rng(0)
ROWS, POINTS = GENERATOR.standard_normal((12, 3)), GENERATOR.standard_normal((12, 2))
pytestmark = pytest.mark.usefixtures("one_thread")
DATA = Observations.of(ROWS)
NOTHING = POINTS[:0]


def test_the_likelihood_and_its_gradient_are_those_of_the_table() -> None:
    known = facts("gplvm/summary.json")["iris_pca2"]
    covariance = CovarianceFunction((Rbf(1.3, np.array([0.8])), Bias(0.1)), 0.05)
    likelihood = Exact(Observations.of(read("gplvm/iris_pca2/Y_centred.csv")))
    points = read("gplvm/iris_pca2/X_latent.csv")
    found = likelihood(covariance, points, NOTHING)
    assert found.value == pytest.approx(-known["negative_loglik"], rel=1e-12)
    expected = -read("gplvm/iris_pca2/dnll_dX.csv")  # by differences, which leave it seven digits
    assert np.abs(found.points - expected).max() <= 2e-8 * np.abs(expected).max()
    for row in (0, 70, 149):
        step = np.zeros_like(points)
        step[row, 1] = 2e-3
        slopes = [(likelihood(covariance, points + size * step, NOTHING).value
                   - likelihood(covariance, points - size * step, NOTHING).value) / (size * 4e-3)
                  for size in (1.0, 0.5, 0.25)]
        slopes = [(4 * fine - rough) / 3 for rough, fine in pairwise(slopes)]  # Richardson's
        assert found.points[row, 1] == pytest.approx((16 * slopes[1] - slopes[0]) / 15, abs=1e-8)
    by_logs = -np.array(known["dnll_dlog_v_l_noise_bias"])
    assert np.abs(found.logs[[0, 1, 3, 2]] - by_logs).max() <= 1e-8 * np.abs(by_logs).max()


PROBLEMS: dict[str, tuple[Likelihood, Latents, tuple[str, ...], int]] = {
    "all terms": (Exact(DATA), Free(2), ("rbf", "linear", "bias"), 1),
    "a length for each axis": (Exact(DATA), Free(2), ("rbf-ard",), 2),
    "the same by inducing points": (SparseLikelihood(DATA, 5), Free(2), ("rbf-ard", "bias"), 2),
    "linear": (Exact(DATA), Free(2), ("linear",), 1),
    "inducing points": (SparseLikelihood(DATA, 5), Free(2), ("rbf", "linear"), 2),
    "clouds": (Clouds(DATA, 5), FreeClouds(2), ("rbf-ard",), 2),
    "kernel regression": (Exact(DATA), KernelRegression().latents(ROWS, 2, GENERATOR), ("rbf",), 1),
    "network": (Exact(DATA), Network(hidden=4).latents(ROWS, 2, GENERATOR), ("rbf",), 1)}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("prior", [False, True])
def test_gradients_are_those_of_finite_differences(name: str, prior: bool) -> None:
    evidence, latents, terms, axes = PROBLEMS[name]
    covariance = start_covariance(terms, 0.7, 1e-3, axes)  # type: ignore[arg-type]
    problem = Problem(evidence, latents, covariance, prior, np.zeros(len(covariance.logs), dtype=bool))
    generator = np.random.default_rng(1)
    latent = latents.start(POINTS)
    state = FittedParameters(latent + 0.1 * generator.standard_normal(len(latent)),
                             evidence.places(latents.points(latent)) + 0.1,
                             covariance.logs + 0.1 * generator.standard_normal(len(covariance.logs)))
    vector, step = problem.vector(state), 1e-5
    found = problem.vector(problem(state)[1])
    expected = np.array([(problem(problem.at(state, vector + step * unit))[0]
                          - problem(problem.at(state, vector - step * unit))[0]) / (2 * step)
                         for unit in np.eye(len(vector))])
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max()


def test_length_scales_of_axes_trade_with_coordinates_at_no_cost_but_for_their_product() -> None:
    """The likelihood is the same; so without a fixed scale a prior on coordinates would shrink both without end."""
    generator, factors = np.random.default_rng(6), np.array([2.0, 0.3])
    covariance = CovarianceFunction((Rbf(1.3, np.array([0.8, 1.7])), Bias(0.1)), 0.05)
    scaled = CovarianceFunction((Rbf(1.3, np.array([0.8, 1.7]) * factors), Bias(0.1)), 0.05)
    value = Exact(DATA)(covariance, POINTS, NOTHING).value
    assert Exact(DATA)(scaled, POINTS * factors, NOTHING).value == pytest.approx(value, rel=1e-12)
    problem = MostProbable().problem(DATA, ("bias", "rbf-ard", "linear"), Free(2), 2)
    assert problem.fixed.tolist() == [False, False, True, True, False, False]  # neither that of another term
    start = FittedParameters(POINTS.ravel(), NOTHING, problem.covariance.logs)
    moved = problem.at(start, problem.vector(start) + generator.standard_normal(POINTS.size + 6))
    assert moved.logs[2:4].sum() == pytest.approx(start.logs[2:4].sum(), abs=1e-14)
    assert abs(moved.logs[2] - start.logs[2]) > 0.1
    slope = problem(moved)[1].logs
    assert slope[2] == pytest.approx(-slope[3], rel=1e-12) and abs(slope[2]) > 1e-3


def test_equal_length_scales_are_one() -> None:
    one, each = (start_covariance(("rbf", "bias"), 0.7, 1e-6), start_covariance(("rbf-ard", "bias"), 0.7, 1e-6, 2))
    assert Exact(DATA)(one, POINTS, NOTHING).value == Exact(DATA)(each, POINTS, NOTHING).value
    model = fit("gplvm", ROWS, components=2, kernel=["rbf-ard"], minimize={"limit": 60})
    lengths = np.array(model.fit["rbf_lengths"])
    assert np.prod(lengths) == pytest.approx(1.0, rel=1e-12) and np.ptp(lengths) > 0.1
    spread = model.embedding.var(axis=0) * model.fit["rbf_variance"] / lengths**2
    assert model.spectrum.values[:2] == pytest.approx(spread, rel=1e-12) and spread[0] >= spread[1]


@pytest.mark.parametrize("count", [1, 2])
def test_the_optimum_of_the_linear_kernel_is_that_of_dual_ppca(count: int) -> None:
    points = np.random.default_rng(2).standard_normal((25, 5)) * [3, 2, 1, 0.5, 0.5]
    model = fit("gplvm", points, components=count, kernel=["linear"], start={"name": "random", "restarts": 1},
                inference={"name": "map", "prior": "none"}, minimize={"tolerance": 1e-13})
    centered = points - points.mean(axis=0)
    values, vectors = np.linalg.eigh(centered @ centered.T / 5)
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = values[count:].sum() / (25 - count)
    variance = float(np.mean(centered**2))  # of the kernel, which is fixed
    assert model.fit["noise_variance"] == pytest.approx(noise, rel=1e-6)
    gram = model.embedding @ model.embedding.T * variance
    expected = (vectors[:, :count] * (values[:count] - noise)) @ vectors[:, :count].T
    assert np.abs(gram - expected).max() <= 1e-5 * values[0]
    logs = np.log(values[:count]).sum() + (25 - count) * np.log(noise)
    assert model.fit["log_likelihood"] == pytest.approx(-2.5 * (25 * np.log(2 * np.pi) + logs + 25), rel=1e-9)


def test_all_points_induced_give_the_likelihood_itself() -> None:
    covariance = start_covariance(("rbf", "bias"), 0.7, 1e-6)
    exact, sparse = Exact(DATA), SparseLikelihood(DATA, 12)
    value = exact(covariance, POINTS, NOTHING).value
    assert sparse(covariance, POINTS, sparse.places(POINTS)).value == pytest.approx(value, rel=1e-6)
    assert SparseLikelihood(DATA, 5)(covariance, POINTS, POINTS[:5]).value < value
    whole, induced = exact.posterior(covariance, POINTS, NOTHING), sparse.posterior(covariance, POINTS, POINTS)
    new = np.random.default_rng(3).standard_normal((4, 2))
    assert np.allclose(whole.means(new), induced.means(new), rtol=0, atol=1e-6)
    assert np.allclose(whole.variances(new), induced.variances(new), rtol=0, atol=1e-6)


def test_clouds_without_extent_are_points() -> None:
    covariance, narrow = start_covariance(("rbf-ard",), 0.7, 1e-6, 2), -30.0
    clouds = Clouds(DATA, 5)(covariance, np.hstack([POINTS, np.full_like(POINTS, narrow)]), POINTS[:5]).value
    divergence = 0.5 * float(np.sum(POINTS**2 + np.exp(narrow) - narrow - 1))
    assert clouds + divergence == pytest.approx(SparseLikelihood(DATA, 5)(covariance, POINTS, POINTS[:5]).value,
                                                rel=1e-9)


def log_evidence(covariance: CovarianceFunction, observed: Observations) -> float:
    """log ∫ p(Y | X) p(X) dX of three points on one axis, by Gauss and Hermite's rule."""
    nodes, weights = hermegauss(40)
    weights = weights / weights.sum()
    grid = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 3)
    squares = (grid[:, :, None] - grid[:, None, :]) ** 2
    (kernel,) = covariance.terms
    matrices = kernel.variance * np.exp(-0.5 * squares / kernel.parameters[1] ** 2)  # type: ignore[union-attr]
    matrices += covariance.whole_noise * np.eye(3)
    energies = np.einsum("nij,ij->n", np.linalg.inv(matrices), observed.values @ observed.values.T)
    logs = -0.5 * (observed.columns * (np.linalg.slogdet(matrices)[1] + 3 * np.log(2 * np.pi)) + energies)
    mass = np.einsum("i,j,k->ijk", weights, weights, weights).ravel()
    return float(np.log(np.sum(mass * np.exp(logs - logs.max()))) + logs.max())


@pytest.mark.medium
def test_the_bayesian_bound_is_below_the_evidence() -> None:
    observed = Observations.of(np.array([[0.5, 1.0], [-1.0, 0.2], [0.7, -1.0]]))
    generator, gaps = np.random.default_rng(4), []
    for _ in range(8):
        covariance = CovarianceFunction((Rbf(float(np.exp(generator.normal())), np.exp(generator.normal(size=1))),),
                                        0.3)
        clouds = np.column_stack([generator.normal(size=3), generator.normal(size=3)])
        bound = Clouds(observed, 3)(covariance, clouds, clouds[:, :1]).value
        gaps.append(log_evidence(covariance, observed) - bound)
    assert min(gaps) > 0
    covariance = CovarianceFunction((Rbf(1e-9, np.ones(1)),), 0.3,
                                    1e-12)  # nothing to know of X: the bound is the evidence
    clouds = np.column_stack([np.zeros(3), np.zeros(3)])
    bound = Clouds(observed, 1)(covariance, clouds, np.zeros((1, 1))).value
    assert bound == pytest.approx(log_evidence(covariance, observed), rel=1e-7)


@pytest.mark.parametrize(("options", "where"), [
    ({"inference": {"name": "bayesian"}, "constraint": {"name": "mlp"}}, "method.constraint"),
    ({"inference": {"name": "bayesian"}, "kernel": ["linear"]}, "method.kernel"),
    ({"kernel": ["rbf", "rbf"]}, "method.kernel"),
    ({"kernel": ["rbf", "rbf-ard"]}, "method.kernel")])
def test_what_has_no_use_is_refused(options: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        fit("gplvm", ROWS, **options)
    assert caught.value.where == where


def test_rows_without_all_cells_are_refused_by_a_fit_and_by_a_back_constraint(wording: Wording) -> None:
    gaps = ROWS.copy()
    gaps[1, 2] = np.nan
    with pytest.raises(DataError) as caught:
        fit("gplvm", gaps)
    assert "E-MISSING" in wording(caught.value) and caught.value.where == "prepare.missing"
    model = fit("gplvm", ROWS, constraint={"name": "kernel"}, minimize={"limit": 2})
    with pytest.raises(DataError) as caught:
        model.project(gaps)
    assert "row 2" in str(caught.value)


@pytest.mark.medium
def test_a_default_fit_of_iris_converges_to_what_it_says() -> None:
    """Nothing more is to be had: from its end, a thousand times stricter, less than a thousandth of a nat a number."""
    points = read("gplvm/iris_pca2/Y_centred.csv")
    model = fit("gplvm", points)
    stricter = fit("gplvm", points, minimize={"tolerance": 1e-8})
    assert model.fit["converged"] and stricter.fit["iterations"] > model.fit["iterations"]
    assert 0 <= stricter.trace[-1] - model.trace[-1] <= 1e-3 * points.size


@pytest.mark.medium
def test_every_start_leads_down_and_the_best_of_several_is_kept() -> None:
    fits = {count: fit("gplvm", ROWS, start={"name": "random", "restarts": count}, minimize={"limit": 30})
            for count in (1, 4)}
    assert fits[4].trace[-1] >= fits[1].trace[-1]
    for start in ({"name": "pca"}, {"name": "isomap", "neighbors": 4}):
        trace = fit("gplvm", ROWS, start=start, minimize={"limit": 10}).trace
        assert (np.diff(trace) > 0).all()


@pytest.mark.medium
def test_the_variance_of_the_kernel_of_clouds_is_free_once_the_rest_has_come_to_rest() -> None:
    """The bound rises by it, and is flat there."""
    problem = Bayesian(inducing=6).problem(DATA, (), FreeClouds(2), 2)
    state, ended = problem.fit(POINTS, Likeliest(tolerance=1e-8))
    fixed, first = replace(problem, freed=False).fit(POINTS, Likeliest(tolerance=1e-8))
    assert fixed.logs[0] == problem.covariance.logs[0] and abs(state.logs[0] - fixed.logs[0]) > 0.1
    assert np.array_equal(ended.trace[: len(first.trace)], first.trace) and ended.trace[-1] < first.trace[-1]
    assert abs(replace(problem, fixed=problem.fixed & False)(state)[1].logs[0]) < 1e-2
    stopped = problem.fit(POINTS, Likeliest(limit=len(first.trace)))[1]
    assert len(stopped.trace) <= len(first.trace)


@pytest.mark.medium
def test_axes_that_nothing_varies_along_are_switched_off() -> None:
    """Clouds of a curve in three dimensions, with two axes too many."""
    places = np.linspace(-2, 2, 40)
    curve = np.column_stack([places, np.sin(2 * places), np.cos(2 * places)])
    curve += 0.02 * np.random.default_rng(5).standard_normal(curve.shape)
    model = fit("gplvm", curve, components=3, inference={"name": "bayesian", "inducing": 12})
    assert model.fit["axes_in_use"] == 1
    assert model.spreads.shape == (40, 3, 3)
    assert model.spreads[:, 0, 0].max() < 0.1 and model.spreads[:, 1:].max() > 0.8  # nearly the prior's


def test_a_singular_covariance_is_an_error_of_the_numbers() -> None:
    with pytest.raises(NumericalError) as caught:
        require_inverse(-np.eye(3))
    assert (caught.value.code, caught.value.exit_code) == ("E-JITTER", 80)
    assert require_inverse(np.ones((3, 3)))[2] == 1e-10  # of the mean diagonal


def lowest_of_all(rows: NewRows, points: Array) -> Array:
    """The least objective of every row over a fine grid of two latent axes far beyond the points, and steps down."""
    low, extent = points.min(axis=0), np.ptp(points, axis=0)
    sides = [np.linspace(least - size, least + 2 * size, 90) for least, size in zip(low, extent, strict=True)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    least = np.empty(len(rows.values))
    for row in range(len(least)):
        values = rows.take(np.full(len(grid), row))(grid)[0]
        starts = grid[np.argsort(values)[:12]]
        found = descend(rows.take(np.full(len(starts), row)), starts, extent_of(rows))[1]
        least[row] = min(found.min(), values.min())
    return least


@pytest.mark.medium
@pytest.mark.parametrize("inference", ["map", "inducing"])
def test_no_place_is_more_probable_than_that_of_a_row_unlike_all_others(inference: str) -> None:
    """Starts ranked by the distance of means alone missed places away from the data, where the variance is larger."""
    generator = np.random.default_rng(3)
    angles = generator.uniform(0, np.pi, 40)
    loadings = generator.standard_normal((3, 6))
    curve = np.column_stack([np.cos(angles), np.sin(angles), angles**2 / 4]) @ loadings
    model = fit("gplvm", curve + 0.1 * generator.standard_normal(curve.shape), minimize={"limit": 150},
                inference={"name": "sparse", "inducing": 12} if inference == "inducing" else {"name": "map"})
    new = np.vstack([curve[:4], curve[4:16] + generator.standard_normal((12, 6))])
    new[5, :3] = np.nan
    placing = model.projector.similarity
    rows = NewRows.of(placing.posterior, placing.prior, model.projector.input_unit.measured(new))
    places = model.projector.output_unit.measured(model.project(new))
    assert (rows(places)[0] <= lowest_of_all(rows, placing.posterior.places) + 0.1).all()
    unlike = model.projector.unexplained(new, model.project(new))
    assert not unlike[:4].any() and unlike[4:].sum() >= 6


@pytest.mark.medium
def test_no_place_is_more_probable_where_there_is_next_to_no_noise() -> None:
    """Ranked by the density alone, starts lay where the variance is large: up to 56 nats below."""
    times = np.sort(np.random.default_rng(7).uniform(0, 2 * np.pi, 60))
    waves = np.column_stack([np.sin(k * times + k) for k in range(1, 9)])
    model = fit("gplvm", waves[::2], minimize={"limit": 300})
    placing, new = model.projector.similarity, waves[1::6]
    rows = NewRows.of(placing.posterior, placing.prior, model.projector.input_unit.measured(new))
    places = model.projector.output_unit.measured(model.project(new))
    assert placing.posterior.covariance.whole_noise < 1e-4 * waves.var(axis=0).mean()
    short = rows(places)[0] - lowest_of_all(rows, placing.posterior.places)
    assert np.median(short) <= 0.1 and (short <= 0.1).mean() >= 0.8


@pytest.mark.medium
@pytest.mark.parametrize("limit", [6, 30])
def test_a_new_row_has_the_same_place_in_any_order_and_alone(limit: int) -> None:
    """A minimum has half the digits of the objective, which rounds by order, and nearly all of the slope."""
    points = np.random.default_rng(0).uniform(size=(20, 3)) * 3
    model = fit("gplvm", points, minimize={"limit": limit})
    new, order = points + 0.01, np.random.default_rng(1).permutation(20)
    together = model.project(new)
    assert np.abs(model.project(new[order]) - together[order]).max() < 1e-11
    assert np.abs(np.vstack([model.project(row[None]) for row in new]) - together).max() < 1e-11
