"""The information bottleneck of counts: no soft assignment is better, and its curve has the slopes of theory."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.errors import GeometryError
from mlcli.methods.views.ib import JointDistribution, first_beta
from tests.support import features, fit

SYMMETRIC = np.array([[3.0, 1], [1, 3]])
HAIR = np.array([[68.0, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]])
GROUPS = np.repeat([[60.0, 5, 5, 30], [5, 70, 5, 20], [10, 10, 60, 20]], 4, axis=0)
PLANTED = np.random.default_rng(3).poisson(GROUPS * np.random.default_rng(4).uniform(1, 5, 12)[:, None]).astype(float)


def entropies(chances: Array) -> Array:
    return -np.where(chances > 0, chances * np.log(np.maximum(chances, 1e-300)), 0.0)


def levels(points: Array, first: Array, beta: float) -> Array:
    """I(T; X) - β I(T; Y) of two clusters, by entropies, where rows are in the first with probabilities (m x n)."""
    joint = points / points.sum()
    weights, total = joint.sum(axis=1), entropies(joint.sum(axis=0)).sum()
    masses = first @ weights
    whole = entropies(masses) + entropies(1 - masses)
    kept = whole - (entropies(first) + entropies(1 - first)) @ weights
    both = entropies(first @ joint).sum(axis=1) + entropies((1 - first) @ joint).sum(axis=1)
    return kept - beta * (whole + total - both)


def least_level(points: Array, beta: float) -> float:
    """The least of them for two rows, over a grid that is refined about its best point."""
    center, width, best = np.full(2, 0.5), 0.5, np.inf
    for cells in (80, *[20] * 11):
        around = np.array(list(product(np.linspace(-width, width, cells + 1), repeat=2)))
        tried = np.clip(center + around, 0, 1)
        found = levels(points, tried, beta)
        if found.min() < best:
            center, best = tried[found.argmin()], float(found.min())
        width *= 0.1
        width = max(width, 1e-12)
    return best


def own_level(points: Array, beta: float, **options: Any) -> float:
    """That of the method; zero where all rows are one cluster."""
    try:
        model = fit("ib", features(points), beta=beta, **options)
    except GeometryError as error:
        assert error.code == "E-BETA"
        return 0.0
    return float(model.fit["kept_information"] - beta * model.fit["relevant_information"])


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))])
@pytest.mark.parametrize("times", [0.9, 1.02, 1.5, 20.0])
def test_no_soft_assignment_of_a_refined_grid_is_better(seed: int, times: float) -> None:
    """Tables of 2 x 3 counts, also skewed ones, below, at and far beyond the β of the first split."""
    generator = np.random.default_rng([seed, 7])
    points = generator.dirichlet(np.full(3, 0.4), 2) * generator.dirichlet([0.5, 0.5])[:, None] + 1e-3
    beta = times * first_beta(JointDistribution.of(points))
    if beta > 1:
        assert own_level(points, beta, annealing={"steps": 12}) <= least_level(points, beta) + 1e-6


def test_the_first_cluster_splits_at_one_over_the_first_inertia() -> None:
    for points in (HAIR, SYMMETRIC):
        inertia = fit("ca", features(points), components=1).spectrum.values[0]
        model = fit("ib", features(points), beta=1.05 / inertia)
        assert model.fit["first_beta"] == pytest.approx(1 / inertia, rel=1e-12) and model.fit["clusters"] == 2
    with pytest.raises(GeometryError) as caught:
        fit("ib", features(SYMMETRIC), beta=0.95 / inertia)
    assert caught.value.code == "E-BETA"


def test_two_clusters_may_be_better_below_that() -> None:
    """There one cluster is a local minimum: two are found on the way down."""
    beta = 0.95 * first_beta(JointDistribution.of(HAIR))
    assert own_level(HAIR, beta) < -1e-4


def test_clusters_of_single_rows_tell_all_that_rows_tell() -> None:
    model = fit("ib", features(HAIR), components=4, beta=2000.0)
    assert model.fit["clusters"] == 4 and np.allclose(np.sort(model.embedding.max(axis=0)), 1)
    assert model.fit["relevant_information"] == pytest.approx(model.fit["total_information"], rel=1e-9)
    assert model.fit["kept_information"] == pytest.approx(model.fit["entropy"], rel=1e-9)


def test_planted_clusters_are_found() -> None:
    model = fit("ib", features(PLANTED), components=3)
    found = model.embedding.argmax(axis=1).reshape(3, 4)
    assert np.all(found == found[:, :1]) and len(set(found[:, 0].tolist())) == 3
    assert model.fit["relevant_information"] > 0.9 * model.fit["total_information"]


def test_the_curve_is_concave_with_slopes_of_one_over_beta() -> None:
    curve = fit("ib", features(PLANTED), components=3).information
    kept, relevant, beta = (curve[name] for name in ("kept", "relevant", "beta"))
    moved = np.diff(kept) > 1e-6
    slopes = np.diff(relevant)[moved] / np.diff(kept)[moved]
    assert np.all(np.diff(kept) > -1e-9) and np.all(np.diff(relevant) > -1e-9)
    assert np.all(slopes < 1 / beta[:-1][moved] + 1e-4) and np.all(slopes > 1 / beta[1:][moved] - 1e-4)
    assert np.all(relevant <= kept + 1e-12) and np.all(kept <= curve["entropy"] + 1e-12)


def test_a_row_in_two_halves_changes_nothing() -> None:
    """Only shares and totals count: rows with equal shares are in the same clusters."""
    halves = np.vstack([HAIR[:1] / 4, HAIR[:1] * 3 / 4, HAIR[1:]])
    one, other = (fit("ib", features(points), beta=20.0) for points in (HAIR, halves))
    assert np.allclose(other.embedding[[0, 2, 3, 4]], one.embedding, atol=1e-7)
    assert np.allclose(other.embedding[0], other.embedding[1], atol=1e-14)
    for name in ("kept_information", "relevant_information", "total_information", "entropy"):
        assert other.fit[name] == pytest.approx(one.fit[name], rel=1e-7)
