"""How many axes by the likelihood: against scikit-learn's and R's figures, and where the truth is known."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mlcli.findings.dimension.likelihood import (
    cross_validate,
    factor_gaussian,
    log_density,
    minka_evidence,
    ppca_bic,
    ppca_log_likelihoods,
    ppca_parameters,
)
from tests.laws.agreement.tables import facts, read
from tests.support import fit

IRIS = np.linalg.eigvalsh(np.cov(read("data/iris4.csv").T, bias=True))[::-1]
GENERATOR = np.random.default_rng(0)
POINTS = GENERATOR.standard_normal((300, 3)) @ GENERATOR.standard_normal((3, 9))
EACH = POINTS + GENERATOR.standard_normal(POINTS.shape) * np.linspace(0.5, 1, 9)
EQUAL = POINTS + 0.7 * GENERATOR.standard_normal(POINTS.shape)


def test_minkas_evidence_is_that_of_scikit_learn() -> None:
    """Its PCA takes variances over n - 1; version 1.9.1."""
    expected = [364.0337315111599, 420.9353768472531, 440.4184836262871]
    assert np.allclose(minka_evidence(IRIS * 150 / 149, 150), expected, rtol=1e-12, atol=0)


def test_likelihoods_and_criteria_of_probabilistic_pca_are_those_of_the_method_and_of_r() -> None:
    likelihoods, criteria = ppca_log_likelihoods(IRIS, 150), ppca_bic(IRIS, 150)
    for count in (1, 2, 3):
        expected = facts("ppca/iris4/summary.json")[f"q{count}"]
        assert likelihoods[count] == pytest.approx(expected["loglik"], rel=1e-12)
        assert -2 * criteria[count] == pytest.approx(expected["BIC"], rel=1e-12)
        assert ppca_parameters(4)[count] == expected["n_param_incl_mean"]
        model = fit("ppca", read("data/iris4.csv"), components=count)
        assert likelihoods[count] == pytest.approx(model.fit["log_likelihood"], rel=1e-12)


def test_evidence_and_criterion_find_the_axes_of_equal_noise() -> None:
    values = np.linalg.eigvalsh(np.cov(EQUAL.T, bias=True))[::-1]
    assert minka_evidence(values, 300).argmax() + 1 == 3
    assert ppca_bic(values, 300).argmax() == 3
    assert np.all(np.diff(ppca_log_likelihoods(values, 300)) > 0)


@pytest.mark.parametrize("power", [-300, 300])
def test_the_best_count_does_not_depend_on_the_unit(power: int) -> None:
    values = np.linalg.eigvalsh(np.cov(EQUAL.T, bias=True))[::-1]
    shifts = ppca_bic(np.ldexp(values, power), 300) - ppca_bic(values, 300)
    assert np.allclose(shifts, shifts[0], rtol=1e-10)
    assert minka_evidence(np.ldexp(values, power), 300).argmax() == minka_evidence(values, 300).argmax()


def test_tied_eigenvalues_have_no_evidence() -> None:
    assert np.isneginf(minka_evidence(np.array([3.0, 2.0, 2.0, 1.0]), 50)).tolist() == [False, True, True]


@pytest.mark.medium
def test_held_out_points_are_likeliest_with_the_true_number_of_factors() -> None:
    means = cross_validate(EACH, factor_gaussian, range(6), 5, np.random.default_rng(1))
    assert means.argmax() == 3
    assert np.array_equal(means, cross_validate(EACH, factor_gaussian, range(6), 5, np.random.default_rng(1)))


def test_the_density_is_that_of_the_factor_model() -> None:
    mean, covariance = factor_gaussian(EACH, 3)
    expected = multivariate_normal(mean, covariance).logpdf(EACH)
    assert np.allclose(log_density(EACH, mean, covariance), expected, rtol=1e-11)
    model = fit("fa", EACH, components=3)
    assert log_density(EACH, mean, covariance).sum() == pytest.approx(model.fit["log_likelihood"], rel=1e-12)
    mean, covariance = factor_gaussian(EACH, 0)
    assert np.allclose(covariance, np.diag(EACH.var(axis=0)))
