"""Factor analysis: what holds of a maximum of its likelihood, in any units."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance
from mlcli.base.values.signs import sum_signs
from mlcli.core.iterate import Iterate
from mlcli.core.latent.rotations import Oblimin, Promax, Varimax
from mlcli.errors import ConfigError, GeometryError
from mlcli.methods import METHODS, Model
from mlcli.methods.factors import factor_analysis
from mlcli.methods.factors.factor_analysis import Bounds, ColumnCovariance, Thin, gradient, hessian, maximum_likelihood
from tests.support import Notes, fit

GENERATOR = np.random.default_rng(8)
LOADINGS = np.where(GENERATOR.random((8, 2)) < 0.6, GENERATOR.standard_normal((8, 2)), 0.0)
POINTS = GENERATOR.standard_normal((200, 2)) @ LOADINGS.T + GENERATOR.standard_normal((200, 8)) * np.linspace(0.5, 1, 8)
COVARIANCE = np.cov(POINTS.T, bias=True)
EXACT = {"tolerance": 1e-13}


def implied(model: Model) -> np.ndarray:
    """Λ Φ Λᵀ + Ψ in the data's units."""
    loadings, factors = model.loadings.values, np.array(model.fit["factor_correlations"])
    return loadings @ factors @ loadings.T + np.diag(np.array(list(model.fit["uniquenesses"].values()))
                                                     * np.diag(COVARIANCE))


@pytest.mark.parametrize("rotation", ["none", "varimax", "promax", "oblimin"])
def test_the_equations_of_the_maximum_hold_in_every_rotation(rotation: str) -> None:
    """diag Σ = diag S, S Σ⁻¹ Λ = Λ, and the likelihood is that of the normal distribution."""
    model = fit("fa", POINTS, rotation={"name": rotation}, iterate=EXACT)
    found, loadings = implied(model), model.loadings.values
    assert np.allclose(np.diag(found), np.diag(COVARIANCE), rtol=1e-12)
    assert np.allclose(COVARIANCE @ np.linalg.solve(found, loadings), loadings, rtol=0, atol=1e-11)
    density = multivariate_normal(POINTS.mean(axis=0), found).logpdf(POINTS).sum()
    assert model.fit["log_likelihood"] == pytest.approx(density, rel=1e-12)
    assert model.trace[-1] == pytest.approx(density, rel=1e-12)


def test_gradient_and_hessian_are_those_of_the_function() -> None:
    whole = ColumnCovariance(np.corrcoef(POINTS.T))
    bounds = Bounds.of(whole, 0.005)

    def state(parameters: np.ndarray):  # type: ignore[no-untyped-def]
        still = Iterate(limit=1)
        return maximum_likelihood(whole, 2, Bounds(parameters, parameters), still).state

    at = np.log(GENERATOR.uniform(0.2, 0.9, 8))
    numeric = approx_fprime(at, lambda t: state(t).f, 1e-7)
    assert np.allclose(gradient(state(at), whole), numeric, rtol=0, atol=1e-5)
    slopes = approx_fprime(at, lambda t: gradient(state(t), whole), 1e-7)
    assert np.allclose(hessian(state(at), whole), slopes, rtol=0, atol=1e-5)
    assert bounds.low.shape == (8,)


def test_a_factor_of_the_covariance_serves_as_well_as_the_covariance() -> None:
    """The road for more columns than points: without S, with no more than a diagonal of the Hessian, to one maximum."""
    points = GENERATOR.standard_normal((40, 2)) @ GENERATOR.standard_normal((2, 60))
    points += GENERATOR.standard_normal(points.shape)
    factor = (points - points.mean(axis=0)) / points.std(axis=0) / np.sqrt(40)
    thin, whole = Thin(factor), ColumnCovariance(factor.T @ factor)
    one, other = (maximum_likelihood(held, 2, Bounds.of(held, 0.005), Iterate()) for held in (thin, whole))
    assert one.converged and other.converged
    assert np.allclose(one.state.uniquenesses, other.state.uniquenesses, rtol=0, atol=1e-8)
    assert one.state.f == pytest.approx(other.state.f, rel=1e-12)


def test_rescaled_columns_have_rescaled_loadings_and_nothing_else_changes() -> None:
    scales = np.array([1e-6, 3, 0.2, 1, 1e5, 7, 1, 0.01])
    one, other = fit("fa", POINTS, iterate=EXACT), fit("fa", POINTS * scales, iterate=EXACT)
    assert np.allclose(other.loadings.values, one.loadings.values * scales[:, None], rtol=1e-9, atol=0)
    assert np.allclose(other.embedding, one.embedding, rtol=0, atol=1e-9)
    assert np.allclose(other.spectrum.values, one.spectrum.values, rtol=1e-11)
    assert other.fit["chi_square"] == pytest.approx(one.fit["chi_square"], rel=1e-9)
    expected = one.fit["log_likelihood"] - 200 * np.log(scales).sum()
    assert other.fit["log_likelihood"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("power", [-300, 300])
def test_the_unit_of_the_data_is_nothing_but_a_unit(power: int) -> None:
    one, other = fit("fa", POINTS), fit("fa", np.ldexp(POINTS, power))
    assert np.allclose(one.embedding, other.embedding, rtol=0, atol=1e-11)
    assert np.allclose(np.ldexp(one.loadings.values, power), other.loadings.values, rtol=1e-10)
    assert other.fit["log_likelihood"] == pytest.approx(
        one.fit["log_likelihood"] - POINTS.size * power * np.log(2), rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_held_to_equal_noise_it_is_probabilistic_pca(count: int) -> None:
    factors = fit("fa", POINTS, components=count, noise="equal")
    model = fit("ppca", POINTS, components=count)
    assert factors.fit["log_likelihood"] == pytest.approx(model.fit["log_likelihood"], rel=1e-13)
    assert factors.fit["noise_variance"] == pytest.approx(model.fit["noise_variance"], rel=1e-9)
    signs = sum_signs(model.loadings.values)  # the signs of ppca are those of the largest scores
    assert np.allclose(factors.loadings.values, model.loadings.values * signs, rtol=0, atol=1e-9)
    assert np.allclose(factors.embedding, model.embedding * signs, rtol=0, atol=1e-9)
    assert fit("fa", POINTS, components=min(count, 4)).fit["log_likelihood"] >= model.fit["log_likelihood"]


def test_points_and_their_covariance_give_the_same_factors() -> None:
    data = Covariance(COVARIANCE, [f"x{i + 1}" for i in range(8)], 200)
    found = METHODS["fa"]().resolve(data).fit(data, Compute())
    model = fit("fa", POINTS)
    assert np.allclose(np.abs(found.loadings.values), np.abs(model.loadings.values), rtol=0, atol=1e-9)
    for figure in ("log_likelihood", "chi_square", "p_value"):
        assert found.fit[figure] == pytest.approx(model.fit[figure], rel=1e-9)
    unknown = Covariance(COVARIANCE, data.columns)
    told = METHODS["fa"]().resolve(unknown).fit(unknown, Compute()).fit
    assert told["chi_square"] is told["log_likelihood"] is None and told["discrepancy"] > 0


def test_pca_of_points_and_of_their_covariance() -> None:
    data = Covariance(np.ldexp(COVARIANCE, 600), [f"x{i + 1}" for i in range(8)])
    found, model = METHODS["pca"]().resolve(data).fit(data, Compute()), fit("pca", np.ldexp(POINTS, 300))
    assert np.allclose(found.spectrum.eigenvalues, model.spectrum.eigenvalues, rtol=1e-10)
    assert np.allclose(np.abs(found.loadings.values), np.abs(model.loadings.values), rtol=1e-8, atol=0)
    assert found.embedding.shape == (0, 2)
    with pytest.raises(ConfigError) as caught:
        found.project(POINTS)
    assert caught.value.code == "E-NO-ROWS"


def test_regression_scores_are_posterior_means_and_bartletts_are_unbiased() -> None:
    means = fit("fa", POINTS, iterate=EXACT)
    unbiased = fit("fa", POINTS, iterate=EXACT, scores="bartlett")
    found, loadings = implied(means), means.loadings.values
    centered = POINTS - POINTS.mean(axis=0)
    assert np.allclose(means.embedding, centered @ np.linalg.solve(found, loadings), rtol=0, atol=1e-11)
    assert np.allclose(unbiased.projector.axes.T @ unbiased.projector.decoder.directions, np.eye(2), atol=1e-12)


@pytest.mark.medium
@pytest.mark.parametrize("rows", [40, 90])
def test_leading_eigenpairs_alone_lead_to_the_same_maximum(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """The road for many columns, more of them than rows or fewer, by the diagonal of the Hessian."""
    points = np.random.default_rng(3).standard_normal((rows, 60)) * np.linspace(1, 9, 60)
    monkeypatch.setattr(factor_analysis, "NEWTON", 10)
    whole = fit("fa", points, iterate=EXACT)
    monkeypatch.setattr(factor_analysis, "MANY", 10)
    monkeypatch.setattr(factor_analysis, "symmetric_eigen", lambda matrix: pytest.fail("all of them were found"))
    if rows > 60:  # where an iteration starts follows from all of them
        monkeypatch.setattr(ColumnCovariance, "partial_variances", property(lambda whole: 0.5 * whole.variances))
        monkeypatch.setattr(ColumnCovariance, "log_determinant", None)
    few = fit("fa", points, iterate=EXACT)
    assert np.allclose(few.embedding, whole.embedding, rtol=0, atol=1e-8)
    assert few.trace[-1] == pytest.approx(whole.trace[-1], rel=1e-13)


def test_varimax_is_stationary_and_promax_keeps_unit_variances() -> None:
    """Varimax: at a maximum ΛᵀB is symmetric, with B the cubes less each axis's mean square times it."""
    loadings = GENERATOR.standard_normal((12, 3))
    turn = Varimax().turn(loadings).matrix
    assert np.allclose(turn.T @ turn, np.eye(3), atol=1e-14)
    rows = loadings / np.linalg.norm(loadings, axis=1, keepdims=True) @ turn
    product = rows.T @ (rows**3 - rows * (rows**2).mean(axis=0))
    assert np.allclose(product, product.T, rtol=0, atol=1e-9)
    oblique = Promax().turn(loadings).matrix
    assert np.allclose(np.diag(np.linalg.inv(oblique.T @ oblique)), 1, rtol=1e-12)


@pytest.mark.parametrize("normalize", [False, True])
def test_oblimin_is_stationary_and_finds_a_simple_structure_again(normalize: bool) -> None:
    """No small change of the factors lowers the products of squared loadings; where they can vanish, they do."""
    generator = np.random.default_rng(5)
    loadings = generator.standard_normal((12, 3))
    turn = Oblimin(normalize=normalize).turn(loadings).matrix
    rows = loadings / np.linalg.norm(loadings, axis=1, keepdims=True) if normalize else loadings

    def products(moves: np.ndarray) -> float:
        factors = np.linalg.inv(turn).T + moves.reshape(3, 3)
        squares = (rows @ np.linalg.inv(factors / np.linalg.norm(factors, axis=0)).T) ** 2
        return float((squares.sum(axis=1) ** 2 - (squares**2).sum(axis=1)).sum()) / 4

    slope = [(products(step) - products(-step)) / 2e-6 for step in 1e-6 * np.eye(9)]
    assert np.abs(slope).max() < 1e-7 * products(np.zeros(9)) + 1e-8
    simple = np.kron(np.eye(3), np.ones((4, 1))) * generator.uniform(0.5, 1, (12, 1))
    oblique = simple @ np.linalg.cholesky(0.7 * np.eye(3) + 0.3)
    found = oblique @ Oblimin(normalize=normalize).turn(oblique).matrix
    assert np.allclose(np.sort(np.abs(found), axis=1)[:, :2], 0, atol=1e-8)


def test_indices_of_a_model_that_made_the_data() -> None:
    """χ² is about its degrees of freedom: RMSEA near 0, TLI near 1; the interval contains the estimate; no unit."""
    fit_of = fit("fa", POINTS).fit
    assert fit_of["rmsea_lower"] <= fit_of["rmsea"] <= fit_of["rmsea_upper"] < 0.1 and fit_of["tli"] > 0.9
    assert fit_of["tli"] - 1e-9 <= fit_of["cfi"] <= 1 or fit_of["cfi"] == 1
    assert fit_of["rmsr"] < 0.05 and 0.5 < fit_of["kmo"] < 1 and fit_of["bartlett_p_value"] < 1e-9
    other = fit("fa", POINTS * np.linspace(1, 9, 8)).fit
    assert all(other[name] == pytest.approx(fit_of[name], rel=1e-6) for name in ("tli", "bic", "kmo", "rmsr"))
    assert np.allclose(list(fit_of["variances"].values()), np.diag(COVARIANCE), rtol=1e-12)
    alike = fit("fa", np.linspace(0, 1, 40)[:, None] + np.eye(40, 8) @ np.full((8, 8), 1e-3)).fit
    assert alike["kmo"] is None and alike["bartlett_chi_square"] is None


def test_a_heywood_case_is_told_with_its_columns() -> None:
    copied = np.column_stack([POINTS[:, :5], POINTS[:, 0] + 1e-3 * POINTS[:, 5]])
    with Notes() as notes:
        model = fit("fa", copied)
    told = next(note for note in notes.notes if note.code == "W-HEYWOOD")
    assert set(told.facts["columns"]) <= {"x1", "x6"} and told.facts["columns"]
    assert min(model.fit["uniquenesses"].values()) == pytest.approx(0.005, rel=1e-9)


def test_more_factors_than_the_columns_can_tell_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        fit("fa", POINTS[:, :5], components=3)
    assert caught.value.code == "E-COMPONENTS" and "at most 2" in caught.value.hint


def test_a_small_p_value_for_too_few_factors_only() -> None:
    three = np.hstack([POINTS, GENERATOR.standard_normal((200, 1)) + 0.3 * GENERATOR.standard_normal((200, 3))])
    p_values = [fit("fa", three, components=count).fit["p_value"] for count in (1, 2, 3)]
    assert p_values[0] < p_values[1] < 1e-6 < 1e-3 < p_values[2]


def test_one_column_shares_nothing_and_two_do_so_in_many_ways() -> None:
    with pytest.raises(GeometryError) as caught:
        fit("fa", np.column_stack([POINTS[:, 0], np.ones(200)]))
    assert caught.value.code == "E-COLUMNS"
    with Notes() as notes:
        model = fit("fa", POINTS[:, :2], components=1)
    assert "W-NOT-IDENTIFIED" in notes.codes
    shared = float(np.prod(model.loadings.values))  # the covariance is met exactly, however it is shared out
    assert shared == pytest.approx(COVARIANCE[0, 1], rel=1e-6)


def test_without_noise_the_likelihood_has_no_bound() -> None:
    exact = POINTS[:, :2] @ np.array([[1.0, 2, 0, 1], [0, 1, 3, -1]])
    with Notes() as notes:
        model = fit("fa", exact, noise="equal")
    assert model.fit["log_likelihood"] is None and "W-NO-NOISE" in notes.codes


@pytest.mark.parametrize("options", [
    {}, {"rotation": {"name": "varimax"}}, {"rotation": {"name": "oblimin"}}, {"noise": "equal"}])
def test_factors_are_reflected_so_that_standardized_loadings_sum_to_a_positive_number(options: dict[str, Any]) -> None:
    options = options if "noise" in options else {"iterate": EXACT, **options}
    for sign in (1, -1):
        points = sign * POINTS * (1.0 if "noise" in options else np.geomspace(1, 1e3, 8))
        covariance = np.cov(points.T, bias=True)
        deviations = points.std(axis=0)[:, None]
        model, data = fit("fa", points, **options), Covariance(covariance, tuple("abcdefgh"), 200)
        of_matrix = METHODS["fa"](axes={"components": 2}, **options).resolve(data).fit(data, Compute())
        for found in (model, of_matrix):
            assert np.all((found.loadings.values / deviations).sum(axis=0) > 0)
        scores = (points - points.mean(axis=0)) @ np.linalg.solve(covariance, model.loadings.values)
        assert np.all(np.sum(scores * model.embedding, axis=0) > 0)  # scores turn with the loadings
    assert sum_signs(np.array([[-0.7, 0.2], [0.7, -0.4]])).tolist() == [-1, -1]  # a sum of zero: the largest entry
