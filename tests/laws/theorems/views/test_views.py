"""Discriminants and canonical correlations: what holds of two views of the same rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mlcli.base.types import Array
from mlcli.base.values.inputs import Features, Labeled, TwoViews
from mlcli.errors import ConfigError, GeometryError
from tests.support import Notes, features, fit

GENERATOR = np.random.default_rng(8)
SHARED = GENERATOR.standard_normal((120, 2))
FIRST = np.hstack([SHARED, GENERATOR.standard_normal((120, 2))]) @ GENERATOR.standard_normal((4, 4))
SECOND = np.hstack([SHARED + 0.5 * GENERATOR.standard_normal((120, 2)),
                    GENERATOR.standard_normal((120, 1))]) @ GENERATOR.standard_normal((3, 3))
CLASSES = np.digitize(SHARED[:, 0] + 0.3 * GENERATOR.standard_normal(120), [-1.0, 0.2, 1.0])
MIXING = np.array([[2.0, 0, 0, 0], [1, 3, 0, 0], [0, 1, 1e-3, 0], [0, 5, 0, 1e4]])


def labeled(points: Array, classes: Array = CLASSES) -> Labeled:
    data = features(points)
    return Labeled(data.values, data.ids, data.columns, labels=[f"class {name}" for name in classes])


def views(first: Array, second: Array) -> TwoViews:
    one, other = features(first), features(second)
    return TwoViews(one.values, one.ids, one.columns, view=Features(other.values, one.ids, other.columns))


def same(found: Array, expected: Array, bound: float = 1e-9) -> bool:
    return bool(np.abs(found - expected).max() <= bound * np.abs(expected).max())


def test_discriminants_do_not_depend_on_an_affine_map_of_the_points() -> None:
    model, mapped = fit("lda", labeled(FIRST)), fit("lda", labeled(FIRST @ MIXING - 7))
    assert same(mapped.embedding, model.embedding)
    assert same(mapped.spectrum.values, model.spectrum.values)
    assert mapped.fit == model.fit


def test_discriminants_are_canonical_variates_with_the_indicators_of_classes() -> None:
    """Ratios are ρ²/(1 - ρ²) (n - g)/(g - 1); axes are the same but for their unit."""
    indicators = (CLASSES[:, None] == np.arange(3)).astype(float)
    model, canonical = (fit("lda", labeled(FIRST), components=3),
                        fit("cca", views(FIRST, indicators), components=3))
    squares = canonical.spectrum.values**2
    assert same(model.spectrum.values, squares / (1 - squares) * (120 - 4) / (4 - 1))
    scaled = [part.embedding / np.linalg.norm(part.embedding, axis=0) for part in (model, canonical)]
    assert same(scaled[0], scaled[1])


def test_discriminant_scores_are_white_within_the_classes() -> None:
    scores = fit("lda", labeled(FIRST), components=3).embedding
    within = scores - np.array([scores[number == CLASSES].mean(axis=0) for number in range(4)])[CLASSES]
    assert np.allclose(within.T @ within / (120 - 4), np.eye(3), atol=1e-12)


def test_resubstitution_errors_are_those_of_bayes_rule_with_a_common_covariance() -> None:
    centers = np.array([FIRST[number == CLASSES].mean(axis=0) for number in range(4)])
    within = FIRST - centers[CLASSES]
    covariance = within.T @ within / (120 - 4)
    posterior = np.column_stack([np.log(np.mean(number == CLASSES)) + multivariate_normal(centers[number], covariance)
                                 .logpdf(FIRST) for number in range(4)])
    errors = int(np.sum(posterior.argmax(axis=1) != CLASSES))
    assert 0 < errors < 90
    assert fit("lda", labeled(FIRST)).fit["resubstitution_errors"] == errors


def test_dependent_columns_change_no_discriminant() -> None:
    twice = np.column_stack([FIRST, FIRST[:, 0] - 2 * FIRST[:, 1], FIRST[:, 3] * 1e-6])
    model, same_columns = fit("lda", labeled(FIRST)), fit("lda", labeled(twice))
    assert same(same_columns.embedding, model.embedding)
    assert same(same_columns.project(twice), model.embedding)


def test_a_column_that_tells_classes_apart_exactly_is_warned_of() -> None:
    with Notes() as notes:
        model = fit("lda", labeled(np.column_stack([FIRST, CLASSES])))
    assert "W-SEPARATED" in notes.codes
    assert same(model.embedding, fit("lda", labeled(FIRST)).embedding)


@pytest.mark.parametrize(("classes", "code"), [(np.zeros(120, int), "E-ONE-CLASS"), (np.arange(120), "E-WITHIN")])
def test_labels_without_use_are_refused(classes: Array, code: str) -> None:
    with pytest.raises(GeometryError) as caught:
        fit("lda", labeled(FIRST, classes))
    assert caught.value.code == code


@pytest.mark.parametrize("absent", ["", " ", "NA", "NaN"])
def test_rows_without_a_label_are_left_out_of_the_fit(absent: str) -> None:
    """Without one is what would be without a number; no such row changes an axis, and no class is named so."""
    data = labeled(FIRST)
    few = replace(data, labels=[absent if row % 9 == 2 else label for row, label in enumerate(data.labels)])
    known = np.flatnonzero(np.arange(len(FIRST)) % 9 != 2)
    with Notes() as notes:
        model = fit("lda", few)
    assert [note.facts["rows"] for note in notes.notes if note.code == "N-UNLABELED"] == [len(FIRST) - len(known)]
    alone = fit("lda", data.take(known))
    assert model.embedding.tobytes() == alone.embedding.tobytes()
    assert model.fit == alone.fit and model.kept is not None and model.kept.tolist() == known.tolist()


def test_lda_has_an_axis_less_than_classes() -> None:
    with pytest.raises(ConfigError) as refused:
        fit("lda", labeled(FIRST), components=4)
    assert "at most 3" in str(refused.value)


@pytest.mark.parametrize("method", ["cca", "ibfa"])
def test_invertible_maps_of_either_view_change_nothing(method: str) -> None:
    model = fit(method, views(FIRST, SECOND), components=3)
    mapped = fit(method, views(FIRST @ MIXING + 5, 1e-200 * SECOND @ MIXING[:3, :3]), components=3)
    assert same(mapped.spectrum.values, model.spectrum.values)
    assert same(mapped.embedding, model.embedding, 1e-8)


def test_canonical_correlations_are_correlations_of_variates() -> None:
    """Of both orders of the views; all other pairs of variates are uncorrelated."""
    model, turned = (fit("cca", pair, components=3) for pair in (views(FIRST, SECOND), views(SECOND, FIRST)))
    rho = model.spectrum.values
    assert same(turned.spectrum.values, rho)
    assert np.allclose(model.embedding.T @ model.embedding / 120, np.eye(3), atol=1e-12)
    crossed = np.abs(model.embedding.T @ turned.embedding / 120)
    assert np.allclose(crossed, np.diag(rho), atol=1e-12)


def test_no_combination_of_columns_is_more_correlated_than_the_first_pair() -> None:
    top = fit("cca", views(FIRST, SECOND)).spectrum.values[0]
    first, second = FIRST - FIRST.mean(axis=0), SECOND - SECOND.mean(axis=0)
    directions = np.random.default_rng(0).standard_normal((500, 7))
    found = [np.corrcoef(first @ one[:4], second @ one[4:])[0, 1] for one in directions]
    assert max(found) < top < 1


def test_linearly_dependent_views_correlate_perfectly() -> None:
    model = fit("cca", views(FIRST, FIRST @ MIXING[:, :3] + 1), components=3)
    assert np.allclose(model.spectrum.values, 1, rtol=0, atol=1e-12)
    with Notes() as notes:
        assert fit("ibfa", views(FIRST, FIRST @ MIXING)).fit["log_likelihood"] is None
    assert "W-UNBOUNDED" in notes.codes


def test_few_rows_correlate_whatever_the_data() -> None:
    generator = np.random.default_rng(4)
    with Notes() as notes:
        model = fit("cca", views(generator.standard_normal((8, 5)), generator.standard_normal((8, 4))))
    assert "W-SATURATED" in notes.codes
    assert np.allclose(model.spectrum.values[:2], 1, atol=1e-12) and model.spectrum.values[2] < 0.999


def test_the_way_back_of_canonical_variates_is_regression() -> None:
    model = fit("cca", views(FIRST, SECOND), components=2)
    design = np.column_stack([np.ones(120), model.embedding])
    fitted = design @ np.linalg.lstsq(design, FIRST, rcond=None)[0]
    assert np.allclose(model.reconstruct(model.embedding), fitted, atol=1e-12)


def test_shared_factors_reproduce_the_cross_covariance() -> None:
    """With all factors W₁ W₂ᵀ is the cross covariance; each factor takes a share of the views' own covariance."""
    model = fit("ibfa", views(FIRST, SECOND), components=3)
    first, second = model.loadings.values[:4], model.loadings.values[4:]
    crossed = (FIRST - FIRST.mean(axis=0)).T @ (SECOND - SECOND.mean(axis=0)) / 120
    assert np.allclose(first @ second.T, crossed, atol=1e-12)
    for points, loadings in ((FIRST, first), (SECOND, second)):
        assert np.linalg.eigvalsh(np.cov(points.T, bias=True) - loadings @ loadings.T).min() > 0


@pytest.mark.parametrize("count", [1, 2])
def test_shared_factors_are_the_gaussian_model_that_they_stand_for(count: int) -> None:
    """Log-likelihood, posterior means given both views and given the first, from dense covariance matrices."""
    data = views(FIRST, SECOND)
    model = fit("ibfa", data, components=count)
    first, second = model.loadings.values[:4], model.loadings.values[4:]
    both = np.hstack([FIRST - FIRST.mean(axis=0), SECOND - SECOND.mean(axis=0)])
    covariance = both.T @ both / 120
    covariance[:4, 4:] = first @ second.T
    covariance[4:, :4] = second @ first.T
    assert model.fit["log_likelihood"] == pytest.approx(
        multivariate_normal(np.zeros(7), covariance).logpdf(both).sum(), rel=1e-12)
    assert np.allclose(model.embedding, both @ np.linalg.solve(covariance, model.loadings.values), atol=1e-11)
    alone = both[:, :4] @ np.linalg.solve(covariance[:4, :4], first)
    assert np.allclose(model.project(FIRST), alone, atol=1e-11)
    turned = fit("ibfa", data, components=count, given="first")
    assert np.allclose(np.abs(turned.embedding), np.abs(alone), atol=1e-11)


def test_other_loadings_of_the_same_rank_are_no_more_likely() -> None:
    model = fit("ibfa", views(FIRST, SECOND), components=1)
    both = np.hstack([FIRST - FIRST.mean(axis=0), SECOND - SECOND.mean(axis=0)])
    generator = np.random.default_rng(1)
    covariance, loadings = both.T @ both / 120, model.loadings.values
    for _ in range(50):
        moved = loadings + 0.01 * generator.standard_normal(loadings.shape)
        covariance[:4, 4:] = moved[:4] @ moved[4:].T
        covariance[4:, :4] = covariance[:4, 4:].T
        assert multivariate_normal(np.zeros(7), covariance).logpdf(both).sum() < model.fit["log_likelihood"]


def test_a_unit_shifts_the_log_likelihood_by_its_logarithm() -> None:
    model, larger = (fit("ibfa", views(unit * FIRST, SECOND)) for unit in (1.0, 1024.0))
    assert larger.fit["log_likelihood"] == pytest.approx(
        model.fit["log_likelihood"] - 120 * 4 * 10 * np.log(2), rel=1e-12)


@pytest.mark.parametrize("method", ["cca", "gib", "ibfa", "vib"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_view_that_does_not_vary_is_named(method: str, number: int) -> None:
    """Nothing is shared with it; which of the views that is cannot be seen from an embedding of zeros."""
    given = [FIRST, SECOND]
    given[number - 1] = np.full((120, 2), 3.0)
    with Notes() as notes:
        model = fit(method, views(*given))
    assert not model.embedding.any()
    [told] = [note for note in notes.notes if note.code == "W-CONST"]
    assert f"view {number}" in told.message and told.facts["columns"] == ["x1", "x2"]
    assert "W-RANK" in notes.codes
