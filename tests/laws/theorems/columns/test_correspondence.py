"""Correspondence analysis is a weighted PCA of profiles; of two questions it is that of their cross table."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from mlcli.base.types import Array
from tests.laws.agreement.tables import aligned
from tests.support import features, fit, gram

GENERATOR = np.random.default_rng(12)
COUNTS = GENERATOR.poisson(GENERATOR.gamma(1.0, 3.0, (14, 6))) + np.eye(14, 6)
FIRST, SECOND = GENERATOR.integers(0, 4, 120), GENERATOR.integers(0, 3, 120)
SECOND = np.where(GENERATOR.random(120) < 0.6, FIRST % 3, SECOND)
ANSWERS = np.column_stack([FIRST, SECOND]).astype(float)


def cross_table(left: Array, right: Array) -> Array:
    return np.array([[np.sum((left == one) & (right == other)) for other in np.unique(right)]
                     for one in np.unique(left)]).astype(float)


def test_it_is_the_svd_of_standardized_residuals() -> None:
    model, shares = fit("ca", COUNTS, components=3, loadings="standard"), COUNTS / COUNTS.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    left, sizes, right = np.linalg.svd((shares - np.outer(rows, columns)) / np.sqrt(np.outer(rows, columns)))
    np.testing.assert_allclose(model.spectrum.values, sizes[:5] ** 2, rtol=1e-12)
    expected = left[:, :3] * sizes[:3] / np.sqrt(rows)[:, None]
    np.testing.assert_allclose(aligned(model.embedding, expected), expected, atol=1e-12)
    expected = right[:3].T / np.sqrt(columns)[:, None]
    np.testing.assert_allclose(aligned(model.loadings.values, expected), expected, atol=1e-12)


def test_it_is_pca_of_profiles_that_stand_there_once_for_each_count() -> None:
    """The masses of rows are weights, and the chi-square metric weighs columns by one over their masses."""
    model, sums = fit("ca", COUNTS, components=4), COUNTS.sum(axis=1)
    profiles = COUNTS / sums[:, None] / np.sqrt(COUNTS.sum(axis=0) / COUNTS.sum())
    times = np.repeat(np.arange(len(COUNTS)), sums.astype(int))
    expected = fit("pca", profiles[times], components=4)
    np.testing.assert_allclose(model.spectrum.values, expected.spectrum.eigenvalues[:5], rtol=1e-11)
    np.testing.assert_allclose(aligned(model.embedding[times], expected.embedding), expected.embedding, atol=1e-11)


def test_rows_and_columns_change_places_in_the_transposed_table() -> None:
    model, turned = fit("ca", COUNTS, components=3), fit("ca", COUNTS.T, components=3)
    np.testing.assert_allclose(model.spectrum.values, turned.spectrum.values, rtol=1e-12)
    np.testing.assert_allclose(aligned(turned.embedding, model.loadings.values), model.loadings.values, atol=1e-12)
    np.testing.assert_allclose(aligned(turned.loadings.values, model.embedding), model.embedding, atol=1e-12)


def test_inertias_add_up_to_chi_square_over_the_total() -> None:
    assert fit("ca", COUNTS).spectrum.trace == pytest.approx(
        chi2_contingency(COUNTS, correction=False).statistic / COUNTS.sum(), rel=1e-12)


def test_rows_of_equal_profiles_may_be_added_up() -> None:
    """Distributional equivalence (Benzécri): a row split in 1 to 3 lies where it lay, and all others do."""
    split = np.vstack([COUNTS[:-1], 0.25 * COUNTS[-1], 0.75 * COUNTS[-1]])
    model, other = fit("ca", COUNTS, components=3), fit("ca", split, components=3)
    np.testing.assert_allclose(other.spectrum.values, model.spectrum.values, rtol=1e-12)
    np.testing.assert_allclose(other.embedding[[*range(14), 13]], np.vstack([model.embedding, model.embedding[13:]]),
                               atol=1e-12)
    assert np.allclose(other.embedding[14], other.embedding[13], atol=1e-12)


def test_a_table_without_association_has_no_axes() -> None:
    model = fit("ca", np.outer([1.0, 2.0, 3.0], [1.0, 5.0, 2.0, 4.0]))
    assert not len(model.spectrum.values) and not model.embedding.any()


def test_two_questions_are_their_cross_table() -> None:
    """λ = (1 + √μ) / 2 of the inertias μ of the table; adjusted, they are these, and answers lie where it puts them."""
    table = cross_table(FIRST, SECOND)
    model, expected = fit("mca", ANSWERS, components=2), fit("ca", table, components=2)
    np.testing.assert_allclose(model.spectrum.values[:2], (1 + np.sqrt(expected.spectrum.values)) / 2, rtol=1e-12)
    np.testing.assert_allclose(model.spectrum.adjusted, expected.spectrum.values, rtol=1e-10)
    assert model.spectrum.adjusted_total == pytest.approx(expected.spectrum.trace, rel=1e-11)
    places = np.vstack([expected.embedding, expected.loadings.values])
    scales = np.sqrt(model.spectrum.values[:2] / expected.spectrum.values)
    np.testing.assert_allclose(gram(model.loadings.values), gram(places * scales), atol=1e-11)


def test_answers_are_counts_of_the_indicator_matrix() -> None:
    answers = np.column_stack([ANSWERS, GENERATOR.integers(1, 6, 120)])
    indicators = np.column_stack([column == level for column in answers.T for level in np.unique(column)]).astype(float)
    model, expected = fit("mca", answers, components=3), fit("ca", indicators, components=3)
    np.testing.assert_allclose(model.spectrum.values, expected.spectrum.values[: len(model.spectrum.values)],
                               rtol=1e-11)
    np.testing.assert_allclose(model.embedding, expected.embedding, atol=1e-11)
    np.testing.assert_allclose(model.loadings.values, expected.loadings.values, atol=1e-11)


def test_other_numbers_for_the_same_answers_change_nothing() -> None:
    model, other = fit("mca", features(ANSWERS)), fit("mca", features(3.5 * ANSWERS - 2))
    assert np.array_equal(model.embedding, other.embedding)
