"""Probabilistic PCA: what holds of a maximum of its likelihood, with missing cells and without."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mlcli.core.iterate import Iterate
from mlcli.core.latent.probabilistic import Grouped, Latent, expectation_maximization, maximize, posterior, random_start
from mlcli.errors import ConfigError
from mlcli.methods.factors.ppca import PPCA
from tests.support import Notes, features, fit

GENERATOR = np.random.default_rng(5)
POINTS = GENERATOR.standard_normal((80, 3)) @ GENERATOR.standard_normal((3, 6))
POINTS += 0.3 * GENERATOR.standard_normal((80, 6))
COVARIANCE = np.cov(POINTS.T, bias=True)
GAPS = np.where(GENERATOR.random(POINTS.shape) < 0.2, np.nan, POINTS)


def model_covariance(loadings: np.ndarray, noise: float) -> np.ndarray:
    return loadings @ loadings.T + noise * np.eye(len(loadings))


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_closed_form_satisfies_the_equations_of_the_maximum(count: int) -> None:
    """tr C = tr S, tr C⁻¹S = d, S C⁻¹ W = W; the noise is the mean of the discarded eigenvalues."""
    model = fit("ppca", POINTS, components=count)
    noise, loadings = model.fit["noise_variance"], model.loadings.values
    found = model_covariance(loadings, noise)
    assert noise == pytest.approx(np.linalg.eigvalsh(COVARIANCE)[: 6 - count].mean(), rel=1e-12)
    assert np.trace(found) == pytest.approx(np.trace(COVARIANCE), rel=1e-13)
    assert np.trace(np.linalg.solve(found, COVARIANCE)) == pytest.approx(6, rel=1e-12)
    assert np.allclose(COVARIANCE @ np.linalg.solve(found, loadings), loadings, rtol=0, atol=1e-12)
    density = multivariate_normal(POINTS.mean(axis=0), found).logpdf(POINTS).sum()
    assert model.fit["log_likelihood"] == pytest.approx(density, rel=1e-13)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_limit_of_em_is_the_closed_form(count: int) -> None:
    closed = fit("ppca", POINTS, components=count)
    em = fit("ppca", POINTS, components=count, solver="em")
    assert em.fit["converged"] and em.fit["iterations"] == len(em.trace)
    assert em.fit["log_likelihood"] == pytest.approx(closed.fit["log_likelihood"], rel=1e-12)
    assert em.trace[-1] == pytest.approx(closed.fit["log_likelihood"], rel=1e-9)
    assert em.fit["noise_variance"] == pytest.approx(closed.fit["noise_variance"], rel=1e-7)
    assert np.allclose(em.loadings.values, closed.loadings.values, rtol=0, atol=1e-6)
    assert np.allclose(em.embedding, closed.embedding, rtol=0, atol=1e-6)
    assert np.allclose(em.fit["posterior_covariance"], closed.fit["posterior_covariance"], atol=1e-7)


@pytest.mark.parametrize("points", [POINTS, GAPS], ids=["complete", "gaps"])
def test_no_step_of_em_lowers_the_likelihood(points: np.ndarray) -> None:
    data = Grouped.of(points - np.nanmean(points, axis=0))
    for seed in range(5):
        start = random_start(data, 2, np.random.default_rng(seed))
        trace = expectation_maximization(data, start, Iterate()).trace
        assert np.diff(trace).min() >= -1e-12 * max(1, abs(trace[-1]))


def test_the_likelihood_of_gaps_is_that_of_the_observed_cells() -> None:
    """Row by row, by the density of the normal distribution of the cells that are there."""
    model = fit("ppca", GAPS)
    latent = model.projector.similarity.latent
    mean, found = latent.mean, model_covariance(latent.loadings, latent.noise)
    shift = model.projector.exponent_in
    total = 0.0
    for row in GAPS:
        there = ~np.isnan(row)
        part = multivariate_normal(np.ldexp(mean[there], shift), np.ldexp(found[np.ix_(there, there)], 2 * shift))
        total += part.logpdf(row[there]) if there.any() else 0.0
    assert model.fit["log_likelihood"] == pytest.approx(total, rel=1e-12)


def test_the_maximum_with_gaps_is_a_fixed_point_that_no_neighbor_beats() -> None:
    data = Grouped.of(GAPS)
    result = expectation_maximization(data, random_start(data, 2, np.random.default_rng(0)), Iterate(tolerance=1e-12))
    model = result.state.model
    best = posterior(model, data)
    again = maximize(data, best, 0.0)
    assert np.allclose(again.loadings, model.loadings, rtol=0, atol=1e-9)
    generator = np.random.default_rng(1)
    for _ in range(50):
        near = Latent(model.mean + 1e-3 * generator.standard_normal(6),
                      model.loadings + 1e-3 * generator.standard_normal((6, 2)),
                      model.noise * (1 + 1e-3 * generator.standard_normal()))
        assert posterior(near, data).log_likelihood < best.log_likelihood


def test_posteriors_with_gaps_are_those_of_the_joint_normal_distribution() -> None:
    """x | y has mean Wᵀ C⁻¹ (y - μ) and covariance I - Wᵀ C⁻¹ W over the observed cells; all lie at μ + W x."""
    model = fit("ppca", GAPS)
    latent, shift = model.projector.similarity.latent, model.projector.exponent_in
    mean, loadings = np.ldexp(latent.mean, shift), np.ldexp(latent.loadings, shift)
    noise = np.ldexp(latent.noise, 2 * shift)
    filled = model.reconstruct(model.embedding)
    for row, place, spread, whole in zip(GAPS, model.embedding, model.spreads, filled, strict=True):
        there = ~np.isnan(row)
        part = loadings[there]
        gain = np.linalg.solve(model_covariance(part, noise), part).T
        assert np.allclose(place, gain @ (row - mean)[there], rtol=0, atol=1e-11)
        assert np.allclose(spread, np.eye(2) - gain @ part, rtol=0, atol=1e-11)
        assert np.allclose(whole, mean + loadings @ place, rtol=0, atol=1e-12)


def test_rows_with_gaps_are_projected_to_where_they_were_fitted() -> None:
    model = fit("ppca", GAPS)
    assert np.allclose(model.project(GAPS), model.embedding, rtol=0, atol=1e-12)
    assert np.array_equal(model.project(np.full((1, 6), np.nan)), np.zeros((1, 2)))


@pytest.mark.parametrize("power", [-300, -1, 1, 300])
def test_the_unit_of_data_with_gaps_is_nothing_but_a_unit(power: int) -> None:
    one, other = fit("ppca", GAPS), fit("ppca", np.ldexp(GAPS, power))
    assert np.array_equal(one.embedding, other.embedding)
    assert np.array_equal(np.ldexp(one.loadings.values, power), other.loadings.values)
    expected = one.fit["log_likelihood"] - np.count_nonzero(~np.isnan(GAPS)) * power * np.log(2)
    assert other.fit["log_likelihood"] == pytest.approx(expected, rel=1e-12)


def test_few_gaps_change_little_and_no_gaps_nothing() -> None:
    one_gap = POINTS.copy()
    one_gap[0, 0] = np.nan
    whole, nearly = fit("ppca", POINTS), fit("ppca", one_gap)
    assert np.allclose(np.abs(nearly.embedding), np.abs(whole.embedding), atol=0.2)
    assert [PPCA().resolve(features(points)).solver for points in (POINTS, one_gap)] == ["closed", "em"]


def test_as_the_noise_goes_the_axes_become_those_of_pca_at_unit_variance() -> None:
    exact = POINTS[:, :2] @ np.array([[1.0, 2, 0, 1], [0, 1, 3, -1]])
    with Notes() as notes:
        model = fit("ppca", exact)
    assert model.fit["noise_variance"] == 0 and model.fit["log_likelihood"] is None
    assert "W-NO-NOISE" in notes.codes
    scores = fit("pca", exact).embedding
    assert np.allclose(model.embedding, scores / scores.std(axis=0), rtol=0, atol=1e-10)
    assert np.allclose(model.reconstruct(model.embedding), exact, rtol=0, atol=1e-12)


def test_the_likelihood_grows_with_the_number_of_axes() -> None:
    values = [fit("ppca", POINTS, components=count).fit["log_likelihood"] for count in range(1, 6)]
    assert np.all(np.diff(values) >= 0)


def test_gaps_need_em_and_a_count() -> None:
    for options in ({"solver": "closed"}, {"components": 0.9}):
        with pytest.raises(ConfigError):
            fit("ppca", GAPS, **options)
