"""Factor analysis of points with missing cells: what both ways share with complete data, and what EM must do."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mlcli.core.iterate import Iterate
from mlcli.core.latent.missing_cells import (
    Normal,
    complete_points,
    estimate_moments,
    expectation,
    moments_by_likelihood,
)
from mlcli.core.latent.probabilistic import Grouped
from mlcli.errors import ConfigError, GeometryError
from mlcli.methods import Model
from tests.laws.agreement.tables import TABLES, read
from tests.support import Notes, fit

GENERATOR = np.random.default_rng(17)
POINTS = 5 + GENERATOR.standard_normal((150, 2)) @ GENERATOR.standard_normal((2, 6)) + GENERATOR.standard_normal(
    (150, 6)) * np.linspace(0.5, 1, 6)
GAPS = np.where(GENERATOR.random(POINTS.shape) < 0.15, np.nan, POINTS)
EXACT = Iterate(tolerance=1e-13)
WAYS = pytest.mark.parametrize("how", ["likelihood", "pairwise"])


def implied(model: Model) -> np.ndarray:
    """Λ Φ Λᵀ + Ψ."""
    loadings, fit = model.loadings.values, model.fit
    noise = np.array(list(fit["uniquenesses"].values())) * np.array(list(fit["variances"].values()))
    return loadings @ np.array(fit["factor_correlations"]) @ loadings.T + np.diag(noise)


@WAYS
def test_without_missing_cells_the_moments_are_those_of_the_points(how: str) -> None:
    found = estimate_moments(POINTS, how, EXACT)
    assert np.allclose(found.moments.mean, POINTS.mean(axis=0), rtol=1e-12)
    assert np.allclose(found.moments.covariance, np.cov(POINTS.T, bias=True), rtol=0, atol=1e-12)
    one, other = (fit("fa", POINTS, gaps=way, iterate={"tolerance": 1e-13}) for way in (how, "likelihood"))
    assert np.array_equal(one.embedding, other.embedding)


@pytest.mark.medium
def test_em_never_lowers_the_likelihood_and_ends_where_it_has_no_slope() -> None:
    points = (GAPS - np.nanmean(GAPS, axis=0)) / np.nanstd(GAPS, axis=0)
    data, state = Grouped.of(points), Normal(np.zeros(6), np.eye(6))
    likelihoods = []
    for limit in range(1, 12):
        state, _ = moments_by_likelihood(points, Iterate(limit=limit))
        likelihoods.append(expectation(state, data).objective)
    assert np.all(np.diff(likelihoods) > 0)
    ended, figures = moments_by_likelihood(points, EXACT)
    best = expectation(ended, data).objective
    assert figures["em_converged"] and best >= likelihoods[-1]
    direct = sum(multivariate_normal(ended.mean[there], ended.covariance[np.ix_(there, there)]).logpdf(row[there])
                 for row, there in ((row, ~np.isnan(row)) for row in points) if there.any())
    assert best == pytest.approx(direct, rel=1e-12)
    for _ in range(5):
        step = 1e-4 * GENERATOR.standard_normal((6, 6))
        other = Normal(ended.mean + 1e-4 * GENERATOR.standard_normal(6), ended.covariance + step + step.T)
        assert expectation(other, data).objective < best


@WAYS
@pytest.mark.parametrize("rotation", ["none", "oblimin"])
def test_scores_of_rows_with_missing_cells_are_their_conditional_expectation(how: str, rotation: str) -> None:
    """E[x | y_o] = Φ Λ_oᵀ Σ_oo⁻¹ (y_o - μ_o); of a row without cells, zero."""
    gaps = np.vstack([GAPS, np.full(6, np.nan)])
    model = fit("fa", gaps, gaps=how, rotation={"name": rotation}, iterate={"tolerance": 1e-13})
    covariance, mean = implied(model), model.projector.input_unit.plain(model.projector.centering.means)
    factors = np.array(model.fit["factor_correlations"]) @ model.loadings.values.T
    for row, found in zip(gaps, model.embedding, strict=True):
        there = ~np.isnan(row)
        known = factors[:, there] @ np.linalg.solve(covariance[np.ix_(there, there)], row[there] - mean[there])
        assert np.allclose(found, known, rtol=0, atol=1e-9)
    assert np.array_equal(model.project(gaps), model.embedding)


@WAYS
def test_the_unit_of_a_column_changes_nothing_but_its_loadings(how: str) -> None:
    scales = np.array([1e-5, 1, 3, 1e6, 0.1, 7])
    one, other = (fit("fa", points, gaps=how, iterate={"tolerance": 1e-13}) for points in (GAPS, GAPS * scales))
    assert np.allclose(other.loadings.values, one.loadings.values * scales[:, None], rtol=1e-7)
    assert np.allclose(other.embedding, one.embedding, rtol=0, atol=1e-8)
    if how == "likelihood":
        cells = (~np.isnan(GAPS)).sum(axis=0)
        assert other.fit["observed_log_likelihood"] == pytest.approx(
            one.fit["observed_log_likelihood"] - float(cells @ np.log(scales)), rel=1e-10)


def test_pairwise_correlations_are_those_of_r() -> None:
    rows = (TABLES / "psych" / "bfi_gaps.csv").read_text(encoding="utf-8").splitlines()[1:]
    points = np.array([[np.nan if cell == "NA" else float(cell) for cell in row.split(",")[1:]] for row in rows])
    found = estimate_moments(points, "pairwise", EXACT).moments.covariance
    deviations = np.sqrt(np.diag(found))
    correlations = found / np.outer(deviations, deviations)
    assert np.abs(correlations - read("psych/bfi_gaps_pairwise.csv")).max() < 1e-14


def test_correlations_of_no_points_are_mended_with_a_warning() -> None:
    """Three columns, two at a time: +, + and - agree with no rows that have all three."""
    points, line = np.full((30, 4), np.nan), np.linspace(-1, 1, 10)
    noise = 0.05 * GENERATOR.standard_normal((30, 4))
    points[:10, :2], points[10:20, 1:3] = line[:, None], line[:, None]
    points[20:, 0], points[20:, 2] = line, -line
    points[:, 3] = GENERATOR.standard_normal(30)
    with Notes() as notes:
        found = estimate_moments(points + noise, "pairwise", EXACT).moments.covariance
    assert "W-INDEFINITE" in notes.codes and np.linalg.eigvalsh(found)[0] > -1e-14
    assert estimate_moments(points + noise, "likelihood", Iterate(limit=50)).moments.covariance.shape == (4, 4)


def test_what_no_rows_tell_is_refused() -> None:
    apart = GAPS.copy()
    apart[:75, 0], apart[75:, 1] = np.nan, np.nan
    for points, code in ((apart, "E-PAIRS"), (GAPS[:5], "E-FEW-ROWS")):
        with pytest.raises((GeometryError, ConfigError)) as caught:
            estimate_moments(points, "likelihood", EXACT)
        assert caught.value.code == code


def test_cells_that_do_not_matter_are_completed_by_the_others() -> None:
    """A copy of a column is known where that is."""
    covariance = np.array([[1.0, 1, 0.3], [1, 1 + 1e-9, 0.3], [0.3, 0.3, 1]])
    rows = np.array([[0.7, np.nan, 0.1], [np.nan, np.nan, np.nan]])
    found = complete_points(Normal(np.array([0.0, 0, 2]), covariance), rows)
    assert found[0, 1] == pytest.approx(0.7, abs=1e-6) and found[1].tolist() == [0, 0, 2]
