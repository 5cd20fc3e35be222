"""Constrained ordinations: what holds of the axes, of what constraints explain, and of permutations."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.inputs import Features, TwoViews, ViewedDissimilarities
from mlcli.errors import ConfigError
from tests.support import Notes, distances, features, fit

GENERATOR = np.random.default_rng(15)
POINTS = GENERATOR.standard_normal((50, 4)) @ GENERATOR.standard_normal((4, 4))
CONSTRAINTS = np.column_stack([POINTS[:, 0] + GENERATOR.standard_normal(50), GENERATOR.standard_normal((50, 2))])


def views(points: Array, constraints: Array) -> TwoViews:
    one, other = features(points), features(constraints)
    return TwoViews(one.values, one.ids, one.columns,
                    view=Features(other.values, one.ids, [f"c{i + 1}" for i in range(constraints.shape[1])]))


def close(found: Array, expected: Array, bound: float = 1e-12) -> bool:
    return bool(np.abs(found - expected).max() <= bound * np.abs(expected).max())


def test_redundancy_analysis_by_its_own_columns_is_pca() -> None:
    model, plain = fit("rda", views(POINTS, POINTS), components=4), fit("pca", POINTS, components=4, divisor="n-1")
    assert close(model.embedding, plain.embedding)
    assert close(model.spectrum.eigenvalues, plain.spectrum.eigenvalues)
    assert close(model.loadings.values[:4], plain.loadings.values)
    assert model.spectrum.constrained.all()
    assert model.fit["explained_share"] == pytest.approx(1, abs=1e-14)


def test_residual_axes_are_those_of_pca_of_the_residuals() -> None:
    model = fit("rda", views(POINTS, CONSTRAINTS), components=7)
    design = np.column_stack([np.ones(50), CONSTRAINTS])
    rest = POINTS - design @ np.linalg.lstsq(design, POINTS, rcond=None)[0]
    plain = fit("pca", rest, components=4, divisor="n-1")
    assert close(model.embedding[:, 3:], plain.embedding, 1e-11)
    assert model.spectrum.constrained.tolist() == [True] * 3 + [False] * 4


@pytest.mark.parametrize("scores", ["wa", "lc"])
def test_redundancy_analysis_of_euclidean_distances_is_that_of_the_points(scores: str) -> None:
    pair = views(POINTS, CONSTRAINTS)
    given = ViewedDissimilarities(distances(POINTS), pair.ids, view=pair.view)
    options = {"scores": scores, "components": 5, "permutations": 99}
    columns, pairs = fit("rda", pair, **options), fit("dbrda", given, **options)
    assert close(pairs.embedding, columns.embedding, 1e-10)
    assert close(pairs.spectrum.eigenvalues, columns.spectrum.eigenvalues * 49, 1e-11)
    assert np.abs(pairs.loadings.values - columns.loadings.values[4:]).max() < 1e-10
    assert pairs.fit["pseudo_F"] == pytest.approx(columns.fit["pseudo_F"], rel=1e-11)
    assert pairs.fit["p_value"] == columns.fit["p_value"]  # of the same permutations


def test_the_share_that_constraints_explain_is_that_of_a_regression() -> None:
    """R² of all columns, and of one column the textbook's F."""
    design = np.column_stack([np.ones(50), CONSTRAINTS])
    rest = POINTS - design @ np.linalg.lstsq(design, POINTS, rcond=None)[0]
    share = 1 - np.sum(rest**2) / np.sum((POINTS - POINTS.mean(axis=0)) ** 2)
    assert fit("rda", views(POINTS, CONSTRAINTS)).fit["explained_share"] == pytest.approx(share, rel=1e-12)
    single = fit("rda", views(POINTS[:, :1], CONSTRAINTS), permutations=0)
    squared = 1 - np.sum(rest[:, 0] ** 2) / np.sum((POINTS[:, 0] - POINTS[:, 0].mean()) ** 2)
    assert single.fit["pseudo_F"] == pytest.approx(squared / 3 / ((1 - squared) / 46), rel=1e-12)
    assert "p_value" not in single.fit


@pytest.mark.parametrize("method", ["rda", "dbrda"])
def test_an_affine_map_of_the_constraints_changes_nothing(method: str) -> None:
    mixing = np.array([[2.0, 0, 0], [1, 1e3, 0], [0, 5, 1e-4]])
    model, mapped = (fit(method, views(POINTS, part)) for part in (CONSTRAINTS, CONSTRAINTS @ mixing + 9))
    assert close(mapped.embedding, model.embedding, 1e-9)
    assert mapped.fit["p_value"] == model.fit["p_value"]


@pytest.mark.parametrize("method", ["rda", "dbrda"])
def test_a_condition_is_a_regression_before_and_its_columns_explain_nothing_more(method: str) -> None:
    design = np.column_stack([np.ones(50), CONSTRAINTS[:, 0]])
    free = [part - design @ np.linalg.lstsq(design, part, rcond=None)[0] for part in (POINTS, CONSTRAINTS[:, 1:])]
    partial = fit(method, views(POINTS, CONSTRAINTS), condition=["c1"])
    plain = fit(method, views(*free))
    assert close(partial.embedding, plain.embedding, 1e-10)
    left, total = partial.fit["degrees_of_freedom"]["residual"], partial.fit["inertia"]
    assert (left, plain.fit["degrees_of_freedom"]["residual"]) == (46, 47)
    assert sum(total.values()) == pytest.approx(2 * total["total"], rel=1e-12)
    with pytest.raises(ConfigError) as caught:
        partial.project(POINTS)
    assert caught.value.code == "E-NO-PROJECTION"


@pytest.mark.parametrize("method", ["rda", "dbrda"])
def test_dependent_and_constant_constraints_are_named_and_change_nothing(method: str) -> None:
    wider = np.column_stack([CONSTRAINTS, CONSTRAINTS[:, 0] - CONSTRAINTS[:, 1], np.full(50, 7.0)])
    with Notes() as notes:
        model = fit(method, views(POINTS, wider))
    assert "W-ALIASED" in notes.codes
    assert next(note for note in notes.notes if note.code == "W-ALIASED").facts["columns"] == ["c4", "c5"]
    assert close(model.embedding, fit(method, views(POINTS, CONSTRAINTS)).embedding)
    assert [name for name in model.loadings.columns if name.startswith("c")] == ["c1", "c2", "c3"]


@pytest.mark.medium
def test_without_any_effect_p_values_are_uniform() -> None:
    """200 tables of noise: about as many p-values in each fifth; the test of Kolmogorov and Smirnov at 0.001."""
    generator, values = np.random.default_rng(4), []
    for _ in range(200):
        pair = views(generator.standard_normal((12, 2)), generator.standard_normal((12, 1)))
        values.append(fit("rda", pair, components=1, permutations=99).fit["p_value"])
    steps = np.abs(np.sort(values) - np.arange(1, 201) / 200).max()
    assert steps < 1.95 / np.sqrt(200) + 0.01


@pytest.mark.parametrize("method", ["rda", "dbrda"])
def test_new_rows_are_placed_on_constrained_axes_and_on_no_others(method: str) -> None:
    model = fit(method, views(POINTS, CONSTRAINTS), components=3)
    assert close(model.project(POINTS), model.embedding)
    with pytest.raises(ConfigError) as caught:
        fit(method, views(POINTS, CONSTRAINTS), components=4).project(POINTS)
    assert caught.value.code == "E-NO-PROJECTION"


def test_eigenvalues_below_zero_come_last_and_are_no_axes() -> None:
    pair = views(POINTS, CONSTRAINTS)
    given = ViewedDissimilarities(distances(POINTS) ** 3, pair.ids, view=pair.view)
    with Notes() as notes:
        model = fit("dbrda", given, components=6)
    values, marks = model.spectrum.values, model.spectrum.constrained
    positive = int(np.sum(values > 0))
    assert "W-NEGATIVE" in notes.codes and (values[:positive] > 0).all() and (values[positive:] < 0).all()
    lengths = np.linalg.norm(fit("dbrda", given, components=6, scores="lc").embedding, axis=0)
    assert np.allclose(lengths**2, values[:6])
    inner = model.fit["inertia"]
    assert values[marks].sum() == pytest.approx(inner["constrained"], rel=1e-9)
    assert values[~marks].sum() == pytest.approx(inner["unconstrained"], rel=1e-9)
