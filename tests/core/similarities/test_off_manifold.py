"""Scores off the manifold: identities with PCA, rows left out one by one as if they were not there, and p."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mlcli
from mlcli.base.types import Array
from mlcli.base.values.inputs import CrossLabeled, Labeled, TwoViews
from mlcli.core.similarities.off_manifold import NEAREST, ManifoldScore, leverage_free, with_reaches
from mlcli.data.read.in_memory import new_rows
from mlcli.methods import METHODS
from tests.support import features, furnished, in_domain

GENERATOR = np.random.default_rng(5)
POINTS = GENERATOR.standard_normal((60, 4)) * [3, 2, 0.5, 0.2] + [10, 0, -5, 1]
NEW = GENERATOR.standard_normal((15, 4)) * 2 + [10, 0, -5, 1]


def apart(rows: Array) -> Array:
    """All distances (n x n)."""
    return np.asarray(np.linalg.norm(rows[:, None] - rows, axis=2))


def relative(far: Array, among: Array) -> float:
    """The score of a row at distances `far` (n) of points with distances `among` (n x n), by its definition."""
    near = np.argsort(far, kind="stable")[:NEAREST]
    reaches = [np.sort(np.delete(among[one], one))[:NEAREST].mean() for one in near]
    return float(far[near].mean() / np.mean(reaches))


def test_q_of_pca_is_the_squared_length_that_the_axes_leave_and_t2_is_of_variances_one() -> None:
    run = mlcli.embed(POINTS, "pca", components=2)
    found = run.off_manifold(NEW)
    centered = NEW - POINTS.mean(axis=0)
    _, _, axes = np.linalg.svd(POINTS - POINTS.mean(axis=0), full_matrices=False)
    left = centered - centered @ axes[:2].T @ axes[:2]
    assert found.q is not None and found.hotelling_t2 is not None
    np.testing.assert_allclose(found.q, np.sum(left**2, axis=1), rtol=1e-9)
    np.testing.assert_allclose(found.hotelling_t2, np.sum(
        (centered @ axes[:2].T) ** 2 / run.embedding.var(axis=0, ddof=1), axis=1), rtol=1e-9)
    assert np.ptp(found.scores / found.q) < 1e-9 * found.scores.max()


@pytest.mark.parametrize("other", [{"method": "mds"}, {"method": "kpca", "set": {"method.kernel.name": "linear"}}])
def test_the_residual_of_a_kernel_of_inner_products_is_that_of_pca(other: dict[str, object]) -> None:
    plain = mlcli.embed(POINTS, "pca", components=2).off_manifold(NEW)
    kernel = mlcli.embed(POINTS, components=2, **other).off_manifold(NEW)  # type: ignore[arg-type]
    np.testing.assert_allclose(kernel.scores, plain.scores, rtol=1e-7)
    np.testing.assert_array_equal(kernel.p, plain.p)


def test_the_residual_of_a_gaussian_kernel_is_that_of_its_feature_vectors() -> None:
    run = mlcli.embed(POINTS, "kpca", components=3, set={"method.kernel.name": "gaussian", "method.kernel.rate": 0.05})
    every = np.vstack([POINTS, NEW])
    kernel = np.exp(-0.05 * apart(every) ** 2)
    size = len(POINTS)
    mean = np.r_[np.full(size, 1 / size), np.zeros(len(NEW))]
    weights = np.eye(len(every)) - mean  # of all feature vectors, less the mean of those of the fit
    centered = weights @ kernel @ weights.T
    values, vectors = np.linalg.eigh(centered[:size, :size])
    along = centered[size:, :size] @ vectors[:, -3:] / np.sqrt(values[-3:])
    left = np.diag(centered)[size:] - np.sum(along**2, axis=1)
    found = run.off_manifold(NEW).scores
    np.testing.assert_allclose(found / found[0], left / left[0], rtol=1e-7)


def test_axes_of_another_length_leave_the_same_residual() -> None:
    long, short = ({"set": {"method.kernel.name": "gaussian", "method.kernel.rate": 0.05,
                            "method.coordinates.scale": scale}} for scale in ("roots", "unit"))
    found = [mlcli.embed(POINTS, "chain", components=2, **given).off_manifold(NEW).scores for given in (long, short)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8)


@pytest.mark.parametrize("rows", [POINTS, POINTS[:7], POINTS[:6], POINTS[:3], np.repeat(POINTS[:12], 2, axis=0)])
def test_a_row_left_out_has_the_score_of_a_row_that_was_never_there(rows: Array) -> None:
    far = apart(rows)
    reference, found = with_reaches(far, rows, None)
    for row in range(len(rows)) if len(np.unique(rows, axis=0)) == len(rows) else ():
        others = np.delete(np.arange(len(rows)), row)
        assert found[row] == pytest.approx(relative(far[row, others], far[np.ix_(others, others)]), rel=1e-12)
    assert np.isfinite(found).all() and (reference.reaches >= 0).all()


def test_new_rows_have_the_score_by_definition() -> None:
    run = mlcli.embed(POINTS, "lle", neighbors=8)
    expected = [relative(np.linalg.norm(POINTS - row, axis=1), apart(POINTS)) for row in NEW]
    found = run.off_manifold(NEW).scores
    np.testing.assert_allclose(found / found[0], np.array(expected) / expected[0], rtol=1e-9)


def test_leverages_sum_to_the_number_of_axes_and_the_constant() -> None:
    coordinates = np.linalg.qr(POINTS - POINTS.mean(axis=0))[0][:, :2]
    squares = np.sum(coordinates**2, axis=1) * (len(POINTS) - 1)
    left = 1 / np.sqrt(leverage_free(np.ones(len(POINTS)), squares, len(POINTS)))
    assert np.sum(1 - left) == pytest.approx(3)


def test_p_counts_scores_that_are_as_large_ties_included() -> None:
    score = ManifoldScore("reconstruction", 1.0, np.zeros(1), np.zeros((1, 1)), calibration=np.array([0.0, 1, 1, 2]))
    np.testing.assert_allclose(score.p(np.array([-1.0, 0, 0.5, 1, 2, 3])), np.array([5, 5, 4, 4, 2, 1]) / 5)
    with pytest.raises(ValueError, match="ascending"):
        replace(score, calibration=np.array([1.0, 0.0]))


def test_of_exchangeable_scores_the_share_with_p_up_to_a_is_at_most_a() -> None:
    scores = GENERATOR.standard_normal(20).round(1)  # with ties
    made = []
    for one in range(20):
        others = np.sort(np.delete(scores, one))
        made.append(ManifoldScore("reconstruction", 1.0, np.zeros(1), np.zeros((1, 1)), calibration=others).p(
            scores[one : one + 1])[0])
    for count in range(1, 21):
        assert np.mean(np.array(made) <= count / 20 + 1e-12) <= count / 20 + 1e-12


def test_a_score_does_not_depend_on_the_unit_of_the_data() -> None:
    for method in ("pca", "isomap", "kpca"):
        plain, large = (mlcli.embed(POINTS * unit, method).off_manifold(NEW * unit) for unit in (1.0, 2.0**40))
        np.testing.assert_allclose(plain.scores, large.scores, rtol=1e-7)
        np.testing.assert_array_equal(plain.p, large.p)


def test_rows_that_the_axes_hold_wholly_tie_at_zero() -> None:
    found = mlcli.embed(POINTS, "pca", components=4).off_manifold(NEW)
    assert (found.scores == 0).all() and (found.p == 1).all()


GAUSSIAN = {"method.minimize.limit": 5}
COSTLY = ("umap", "tsne", "phate", "nmds", "gplvm", "mvgplvm")


@pytest.mark.medium
def test_rows_that_a_gaussian_process_was_fitted_to_are_scored_by_their_neighbors() -> None:
    """Its errors of them say nothing of others; those of rows held out do."""
    run = mlcli.embed(POINTS, "gplvm", components=2, set=GAUSSIAN)
    expected = [relative(np.linalg.norm(POINTS - row, axis=1), apart(POINTS)) for row in NEW]
    found = run.off_manifold(NEW).scores
    np.testing.assert_allclose(found / found[0], np.array(expected) / expected[0], rtol=1e-9)
    held = mlcli.embed(POINTS, "gplvm", components=2, set=GAUSSIAN, calibrate=0.3)
    scored = held.off_manifold(NEW)
    errors = np.sum((NEW - held.reconstruct(scored.coordinates)) ** 2, axis=1)
    np.testing.assert_allclose(scored.scores / scored.scores[0], errors / errors[0], rtol=1e-9)


def test_neighbors_of_a_row_with_a_gap_are_those_of_the_row_that_its_coordinates_lead_back_to() -> None:
    run = mlcli.embed(POINTS, "gplvm", components=2, set={**GAUSSIAN, "prepare.missing": "model"})
    gaps = NEW.copy()
    gaps[::2, 1] = np.nan
    found = run.off_manifold(gaps)
    whole = np.where(np.isnan(gaps), run.reconstruct(found.coordinates), gaps)
    expected = np.array([relative(np.linalg.norm(POINTS - row, axis=1), apart(POINTS)) for row in whole])
    np.testing.assert_allclose(found.scores / found.scores[0], expected / expected[0], rtol=1e-9)


@pytest.mark.parametrize("method", [pytest.param(name, marks=pytest.mark.medium) if name in COSTLY else name
                                    for name, kind in METHODS.items() if not kind.ordered])
def test_a_score_depends_on_the_row_and_the_fit_alone(method: str) -> None:
    """So scores of rows held out and of new rows like them are exchangeable, and p is exact, whatever the method is."""
    points, new = (in_domain(method, rows - POINTS.mean(axis=0)) for rows in (POINTS, NEW))
    data = furnished(features(points), METHODS[method].accepts)
    options = {"neighbors": 12} if "neighbors" in METHODS[method].model_fields else {}
    beside: dict[str, Any] = {}
    if isinstance(data, TwoViews):
        beside["view"] = data.view.values
    if isinstance(data, Labeled):
        beside["labels"] = list(data.labels)
    if isinstance(data, CrossLabeled):
        beside["labels"] = {"style": list(data.labels), "content": list(data.contents)}
    run = mlcli.embed(data.values, method, calibrate=0.3, set=GAUSSIAN if method in ("gplvm", "mvgplvm") else {},
                      **beside, **options)
    model, table = run._model, new_rows(new, run.columns, (), "features")
    table = replace(table, labels={"style": ("style 0", "style 1", "style 0") * 5} if method == "bilinear" else {})
    every = model.place(table)
    order = GENERATOR.permutation(len(new))
    assert every.scores is not None and model.score is not None and model.score.exact
    for some in (order, order[:1], order[3:5]):
        alone = model.place(table.take(some)).scores
        np.testing.assert_allclose(alone, every.scores[some], rtol=1e-6, atol=1e-12)
