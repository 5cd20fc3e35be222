"""Polychoric correlations: exact tables, corrections, smoothing, refusals, and what a run makes of them."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import ndtr

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance
from mlcli.core.iterate import Iterate
from mlcli.core.latent.polychoric import (
    ItemAnswers,
    ItemPairs,
    definite,
    normal_below,
    polychoric_correlations,
    rectangles,
)
from mlcli.errors import ConfigError, DataError
from mlcli.methods import METHODS
from mlcli.methods.factors.factor_analysis import (
    Bounds,
    ColumnCovariance,
    FactorResiduals,
    derivatives,
    estimate,
    least_squares,
)
from tests.support import Notes, fit
from tests.wording import Wording

GENERATOR = np.random.default_rng(4)
HIDDEN = GENERATOR.standard_normal((400, 1)) * [0.9, 0.8, -0.7, 0.8] + GENERATOR.standard_normal((400, 4)) * 0.6
ITEMS = np.digitize(HIDDEN, [-1.0, 0.1, 0.9]).astype(np.float64) + 1


def test_the_normal_integral_has_its_known_values() -> None:
    rho = np.array([-1 + 1e-12, -0.5, 0.0, 0.3, 1 - 1e-12])
    assert np.allclose(normal_below(np.array(0.0), np.array(0.0), rho), 0.25 + np.arcsin(rho) / (2 * np.pi), atol=1e-15)
    h, k = GENERATOR.standard_normal((2, 50))
    assert np.allclose(normal_below(h, k, np.array(0.0)), ndtr(h) * ndtr(k), rtol=0, atol=2e-16)
    assert np.allclose(normal_below(h, k, np.array(0.7)) + normal_below(h, -k, np.array(-0.7)), ndtr(h), atol=2e-16)


@pytest.mark.parametrize("rho", [-0.95, -0.2, 0.0, 0.6, 0.99])
def test_a_table_of_exact_probabilities_has_its_correlation_back(rho: float) -> None:
    one, other = np.array([[-0.7, 0.4]]), np.array([[-0.2, 1.1]])
    table = rectangles(normal_below(one[:, :, None], other[:, None, :], np.array([[[rho]]])), one, other)
    pairs = ItemPairs(table, one, other)
    assert pairs.maximize()[0] == pytest.approx(rho, abs=1e-7 if abs(rho) < 0.98 else 1e-5)
    numeric = approx_fprime(np.array([0.3]), lambda at: pairs.objective(at)[0], 1e-7)
    assert pairs.slope(np.array([0.3])) == pytest.approx(numeric, rel=1e-5)


def test_correlations_do_not_depend_on_codes_and_turn_with_an_item() -> None:
    with Notes() as notes:
        found = polychoric_correlations(ITEMS, list("abcd"))
        coded = polychoric_correlations(ITEMS**3 * [1, 1, -1, 1], list("abcd"))
    signs = np.array([1, 1, -1, 1])
    assert np.allclose(coded.matrix, found.matrix * np.outer(signs, signs), rtol=0, atol=1e-12)
    assert np.abs(found.matrix - np.corrcoef(HIDDEN.T)).max() < 0.1
    assert not notes.codes


def test_indefinite_correlations_are_smoothed_with_a_warning() -> None:
    matrix = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    smooth = definite(matrix)
    assert np.linalg.eigvalsh(smooth)[0] > 0 and np.all(np.diag(smooth) == 1) and np.array_equal(smooth, smooth.T)
    assert definite(smooth) is smooth
    twice = np.column_stack([ITEMS, ITEMS[:, 0]])  # an item that is there twice has a correlation of one
    with Notes() as notes:
        found = polychoric_correlations(twice, list("abcde"))
    assert notes.codes == {"W-SMOOTHED"} and found.smooth and found.pairs[0, 4] > 1 - 1e-6


def test_an_empty_cell_of_two_by_two_answers_counts_as_half_an_answer() -> None:
    two = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [10, 5, 15], axis=0)
    with Notes() as notes:
        found = polychoric_correlations(two, ["a", "b"])
    assert notes.codes == {"N-EMPTY-CELLS"} and 0.9 < found.matrix[0, 1] < 0.99
    table = ItemAnswers.of(two, ["a", "b"]).tables(np.array([0]), np.array([1]))
    assert (table * 30).tolist() == [[[10, 5], [0.5, 15]]]
    three = np.column_stack([two[:, 0], np.arange(30) % 3])
    assert ItemAnswers.of(three, ["a", "b"]).tables(np.array([0]), np.array([1]))[0, 2].tolist() == [0, 0, 0]


def test_more_than_ten_values_and_gaps_are_refused(wording: Wording) -> None:
    with wording.raises(DataError, "ITEM-VALUES") as caught:
        fit("fa", np.column_stack([ITEMS, np.arange(400) % 11]), correlations="polychoric")
    assert caught.value.code == "E-ITEM-VALUES" and caught.value.exit_code == 65
    with wording.raises(ConfigError, "GAPS-OPTION"):
        fit("fa", np.where(ITEMS == 4, np.nan, ITEMS), correlations="polychoric")
    data = Covariance(np.corrcoef(ITEMS.T), tuple("abcd"), 400)
    with wording.raises(ConfigError, "UNUSED"):
        METHODS["fa"](correlations="polychoric").resolve(data).fit(data, Compute())


@pytest.mark.parametrize("estimator", ["ml", "minres"])
def test_a_fit_is_that_of_the_matrix_and_scores_are_regressions_on_standardized_codes(estimator: str) -> None:
    options = {"components": 1, "estimator": estimator, "iterate": {"tolerance": 1e-13}}
    model = fit("fa", ITEMS, correlations="polychoric", **options)
    matrix = polychoric_correlations(ITEMS, list("abcd")).matrix
    data = Covariance(matrix, tuple("abcd"), len(ITEMS))
    method = METHODS["fa"](axes={"components": 1}, estimator=estimator, iterate={"tolerance": 1e-13})
    expected = method.resolve(data).fit(data, Compute())
    loadings = model.loadings.values / ITEMS.std(axis=0)[:, None]
    assert np.allclose(loadings, expected.loadings.values, rtol=0, atol=1e-10)
    assert model.fit["chi_square"] == pytest.approx(expected.fit["chi_square"], rel=1e-9)
    psi = np.array(list(model.fit["uniquenesses"].values()))
    standardized = (ITEMS - ITEMS.mean(axis=0)) / ITEMS.std(axis=0)
    weights = np.linalg.solve(loadings @ loadings.T + np.diag(psi), loadings)
    assert np.allclose(model.embedding, standardized @ weights, rtol=0, atol=1e-10)
    assert np.allclose(model.project(ITEMS[:3]), model.embedding[:3], rtol=0, atol=1e-12)


def test_derivatives_of_least_squares_are_those_of_the_function() -> None:
    matrix = np.corrcoef(HIDDEN.T)

    def state(parameters: np.ndarray) -> FactorResiduals:
        values, vectors = np.linalg.eigh(matrix - np.diag(np.exp(parameters)))
        return FactorResiduals(parameters, np.exp(parameters), values[::-1], vectors[:, ::-1], 1)

    at = np.log([0.3, 0.5, 0.4, 0.6])
    gradient, hessian = derivatives(state(at))
    assert np.allclose(gradient, approx_fprime(at, lambda t: -state(t).objective, 1e-7), atol=1e-6)
    assert np.allclose(hessian, approx_fprime(at, lambda t: derivatives(state(t))[0], 1e-7), atol=1e-6)
    whole = ColumnCovariance(matrix)
    found = least_squares(whole, 1, Bounds.of(whole, 0.005), Iterate(tolerance=1e-13)).state
    model = found.loadings @ found.loadings.T + np.diag(found.uniquenesses)
    assert np.allclose(np.diag(model), 1, atol=1e-12)  # the diagonal is fitted
    assert found.f == pytest.approx(np.linalg.slogdet(model)[1] + np.trace(np.linalg.solve(model, matrix)), rel=1e-12)
    assert estimate(state(at), whole).turn.shape == (1, 1)
