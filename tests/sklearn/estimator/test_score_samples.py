"""`score_samples`: the log-likelihood of linear models as in scikit-learn, and the negative score of others."""

import numpy as np
import pytest
from sklearn.decomposition import PCA, FactorAnalysis

from mlcli import sklearn as own

GENERATOR = np.random.default_rng(4)
ROWS = (GENERATOR.standard_normal((200, 2)) @ GENERATOR.standard_normal((2, 6))
        + GENERATOR.standard_normal((200, 6)) * [0.5, 0.6, 0.7, 0.8, 0.9, 1.0] + 3)
NEW = ROWS[:9] + 0.3


@pytest.mark.parametrize("options", [{}, {"divisor": "n-1"}, {"loadings": "unit"}])
@pytest.mark.parametrize("components", [2, 6])
def test_the_likelihood_of_pca_is_that_of_scikit_learn(options: dict[str, str], components: int) -> None:
    found = own.PCA(components=components, **options).fit(ROWS).score_samples(NEW)
    np.testing.assert_allclose(found, PCA(components).fit(ROWS).score_samples(NEW), rtol=1e-10)


def test_the_likelihood_of_fa_is_that_of_scikit_learn() -> None:
    found = own.FA(components=2, iterate_tolerance=1e-13).fit(ROWS).score_samples(NEW)
    expected = FactorAnalysis(2, tol=1e-13, max_iter=100_000).fit(ROWS).score_samples(NEW)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_likelihoods_of_the_rows_of_ppca_sum_to_that_of_the_fit() -> None:
    fitted = own.PPCA(components=2).fit(ROWS)
    assert fitted.score_samples(ROWS).sum() == pytest.approx(fitted.run_.fit["log_likelihood"], rel=1e-12)


def test_of_a_row_with_gaps_its_other_cells_count() -> None:
    fitted = own.PPCA(components=2, missing="model").fit(ROWS)
    gap = NEW.copy()
    gap[:, 1] = np.nan
    mean, noise, weights = fitted.mean_, fitted.noise_variance_, fitted.loadings_
    covariance = np.delete(np.delete(weights @ weights.T + noise * np.eye(6), 1, 0), 1, 1)
    gaps = np.delete(NEW - mean, 1, 1)
    expected = -0.5 * (np.einsum("ij,jk,ik->i", gaps, np.linalg.inv(covariance), gaps)
                       + np.log(np.linalg.det(covariance)) + 5 * np.log(2 * np.pi))
    np.testing.assert_allclose(fitted.score_samples(gap), expected, rtol=1e-9)


def test_other_methods_give_the_negative_score_off_the_manifold() -> None:
    fitted = own.LLE(neighbors=8).fit(ROWS)
    np.testing.assert_allclose(fitted.score_samples(NEW), -fitted.run_.off_manifold(NEW).scores)
    assert fitted.score_samples(NEW[:1] + 50)[0] < fitted.score_samples(NEW).min()


def test_a_chain_of_columns_has_scores_and_a_given_kernel_has_none() -> None:
    fitted = own.Chain().fit(ROWS)
    np.testing.assert_allclose(fitted.score_samples(NEW), -fitted.run_.off_manifold(NEW).scores)
    assert hasattr(own.KernelPCA(), "score_samples") and not hasattr(own.KernelPCA(kind="kernel"), "score_samples")


def test_a_fit_without_noise_has_no_density() -> None:
    flat = ROWS[:, :2] @ GENERATOR.standard_normal((2, 4))
    with pytest.raises(ValueError, match="no density"):
        own.PCA(components=2).fit(flat).score_samples(flat)
