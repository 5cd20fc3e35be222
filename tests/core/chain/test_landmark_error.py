"""Bounds of axes by landmarks hold against those of all points, and say something."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.chain.landmark_error import LEAST, MOST, sample_count, sample_rows, with_errors
from mlcli.core.eigen.options import choose_landmarks
from mlcli.methods import METHODS, Model
from tests.support import dissimilarities, distances, features, fit

POINTS = np.random.default_rng(3).standard_normal((240, 5)) * [4.0, 3.0, 2.0, 1.0, 0.5]


def angles(exact: Model, found: Model) -> Array:
    """The angles between the axes of two embeddings, in degrees."""
    one, other = (model.embedding - model.embedding.mean(axis=0) for model in (exact, found))
    cosines = np.abs(np.einsum("ij,ij->j", one, other)) / np.linalg.norm(one, axis=0) / np.linalg.norm(other, axis=0)
    return np.asarray(np.degrees(np.arccos(np.minimum(cosines, 1))))


def test_without_a_residual_the_bound_is_the_angle() -> None:
    """Kernel rows of points in p dimensions lie in the span of p axes, so that nothing is left to chance."""
    points = POINTS[:, :3]
    exact = fit("mds", points, components=3)
    for data in (points, dissimilarities(distances(points))):
        found = fit("mds", data, components=3, landmarks=40)
        assert found.ranks.errors == pytest.approx(angles(exact, found), abs=1e-5)
        assert found.ranks.errors.max() > 1


CASES: dict[str, dict[str, Any]] = {
    "mds": {"metric": "cityblock"}, "isomap": {"neighbors": 12},
    "kpca": {"kernel": {"name": "gaussian", "rate": 0.02}}}


@pytest.mark.medium
@pytest.mark.parametrize("method", CASES)
def test_bounds_hold_and_are_not_far_from_the_angles(method: str) -> None:
    options = CASES[method]
    exact, found, true = fit(method, POINTS, **options), list[Array](), list[Array]()
    data = features(POINTS)
    for seed in range(15):
        given = {**options, "neighbors": {"count": 12}} if method == "isomap" else options
        model = METHODS[method](**given, landmarks=60).resolve(data).fit(data, Compute(seed=seed))
        found.append(model.ranks.errors)
        true.append(angles(exact, model))
    assert np.mean(np.array(true) <= np.array(found)) >= 0.93
    assert np.median(np.array(found) / np.array(true)) <= 3


def test_axes_of_too_few_landmarks_are_not_known() -> None:
    """Two landmarks give one axis, and eigenvalues of nothing else: the gap is not known to be there."""
    found = fit("mds", POINTS, metric="cityblock", landmarks=2, components=1)
    assert 0 < found.ranks.errors[0] <= 90


def test_a_correction_of_landmarks_has_no_exact_answer() -> None:
    assert not len(fit("mds", POINTS, metric="cityblock", landmarks=40, correction="lingoes").ranks.errors)


def test_the_sample_is_not_that_of_the_landmarks() -> None:
    compute = Compute(seed=4)
    sampled = sample_rows(1000, 800, 2, compute)
    assert len(sampled) == sample_count(1000, 800, 2) == 40 and len({*sampled.tolist()}) == 40
    assert len({*sampled.tolist()} & {*choose_landmarks(1000, 50, compute.generator()).tolist()}) < 15
    assert (sample_count(10**6, 100, 2), sample_count(10**6, 10**4, 2), sample_count(20, 10, 2)) == (LEAST, MOST, 20)


def test_an_embedding_of_zero_has_no_error() -> None:
    """As where no eigenvalue of the landmarks is positive."""
    size = 12
    values = np.full((size, size), 1e-300)
    np.fill_diagonal(values, 0.0)
    model = replace(fit("mds", POINTS, components=2, landmarks=30), embedding=np.zeros((size, 2)))
    found = with_errors(model, np.arange(size), lambda some: values[some], centered=True)
    assert np.isnan(found.ranks.errors).all() and len(found.ranks.errors) == 2
