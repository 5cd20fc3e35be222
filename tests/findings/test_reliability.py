"""Reliability of questionnaires: psych's alpha and item statistics, and models whose coefficients are known."""

import numpy as np
import pytest

from mlcli.findings.reliability.measure import ItemStatistics, SchmidLeiman, alpha, factor_of_factors
from tests.laws.agreement.columns.test_items import answers
from tests.laws.agreement.tables import facts, read

EXPECTED = facts("psych/reliability.json")
KEYS = np.array([-1, 1, 1, 1, 1, 1, 1, 1, -1, -1])


def turned() -> np.ndarray:
    """Answers to ten items with reverse-keyed ones turned."""
    points = answers()
    return np.where(KEYS < 0, 7 - points, points)


def test_alpha_and_item_statistics_are_those_of_psych() -> None:
    points, items = turned(), read("psych/bfi_items.csv")
    covariance, correlations = np.cov(points.T), np.corrcoef(points.T)
    assert alpha(covariance) == pytest.approx(EXPECTED["alpha"], abs=1e-12)
    assert alpha(correlations) == pytest.approx(EXPECTED["alpha_standardized"], abs=1e-12)
    found = ItemStatistics.of(covariance)
    assert np.allclose(found.whole, items[:, 0], rtol=0, atol=1e-12)
    assert np.allclose(found.others, items[:, 3], rtol=0, atol=1e-12)
    assert np.allclose(found.alpha_without, items[:, 6], rtol=0, atol=1e-12)
    assert np.allclose(ItemStatistics.of(correlations).whole, items[:, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [2, 5, 12])
def test_parallel_items_have_the_reliability_of_spearman_and_brown(size: int) -> None:
    correlations = np.full((size, size), 0.4) + 0.6 * np.eye(size)
    expected = size * 0.4 / (1 + (size - 1) * 0.4)
    solution = SchmidLeiman.of(np.full((size, 1), np.sqrt(0.4)), np.eye(1))
    assert alpha(correlations) == pytest.approx(expected, rel=1e-14)
    total, hierarchical = solution.omega(correlations)
    assert total == pytest.approx(expected, rel=1e-14)
    assert np.isnan(hierarchical)  # one factor has no groups beside the general one


@pytest.mark.parametrize("factors", [2, 3, 4])
def test_a_hierarchical_model_has_its_general_factor_back(factors: int) -> None:
    """Correlated factors of a general one: loadings, communalities and omega of the model itself."""
    shared = np.full(2, 0.7) if factors == 2 else np.linspace(0.5, 0.8, factors)
    pattern = np.kron(np.eye(factors), np.array([[0.8], [0.7], [0.6], [0.5]]))
    correlations = np.outer(shared, shared) + np.diag(1 - shared**2)
    found = SchmidLeiman.of(pattern, correlations)
    assert np.allclose(factor_of_factors(correlations), shared, atol=1e-9)
    assert np.allclose(found.general, pattern @ shared, atol=1e-9)
    squares = found.general**2 + (found.groups**2).sum(axis=1)
    assert np.allclose(squares, found.communalities, atol=1e-9)
    whole = pattern @ correlations @ pattern.T
    whole += np.diag(1 - np.diag(whole))
    total, hierarchical = found.omega(whole)
    assert total == pytest.approx(1 - (1 - squares).sum() / whole.sum(), abs=1e-9)
    assert hierarchical == pytest.approx((pattern @ shared).sum() ** 2 / whole.sum(), abs=1e-9)
