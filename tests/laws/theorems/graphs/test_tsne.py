"""Facts about t-SNE: its gradient is that of differences and vanishes at rest, and rows, threads and units are free."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.graph.search import nearest
from mlcli.methods import METHODS
from mlcli.methods.neighbor_embedding.perplexity import JointAffinities, calibrate
from mlcli.methods.neighbor_embedding.tsne import Descent, Divergence
from tests.checkpoints import in_parts
from tests.support import dissimilarities, distances, features, fit

RANDOM = np.random.default_rng(5)
POINTS = RANDOM.standard_normal((60, 4)) * [3, 2, 1, 0.5] + 6.0 * (np.arange(60) % 3 == 0)[:, None]
PLACES = RANDOM.standard_normal((60, 2))


def affinities(points: Array = POINTS, perplexity: float = 10.0) -> JointAffinities:
    return calibrate(nearest(points, int(3 * perplexity)), (perplexity,))


def value_and_slope(divergence: Divergence, values: Array) -> tuple[float, Array]:
    forces = divergence.forces(values.reshape(len(divergence.affinities.starts) - 1, -1), "exact")
    return forces.divergence, 4 * (forces.attraction - forces.repulsion).ravel()


@pytest.mark.parametrize("dof", [1.0, 0.5, 4.0])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_gradient_is_that_of_differences(dof: float, axes: int) -> None:
    divergence, values = Divergence(affinities(), dof), RANDOM.standard_normal(60 * axes)
    slope = value_and_slope(divergence, values)[1]
    for direction in RANDOM.standard_normal((5, len(values))):
        ahead, behind = (value_and_slope(divergence, values + step * direction)[0] for step in (1e-5, -1e-5))
        assert (ahead - behind) / 2e-5 == pytest.approx(slope @ direction, rel=1e-6, abs=1e-8)


@pytest.mark.medium
def test_the_gradient_vanishes_at_the_fixed_point_of_the_descent() -> None:
    """Newton-like steps go on from the end of a descent to where the slope is zero; a descent from there stays there.
    """
    cloud = np.random.default_rng(3).standard_normal((40, 3))
    divergence = Divergence(affinities(cloud, 12.0), 1.0)
    ended = Descent(early_steps=100, steps=300)(divergence, 1e-4 * PLACES[:40], "exact").state
    lower = minimize(lambda values: value_and_slope(divergence, values), ended.points.ravel(), jac=True,
                     method="BFGS", options={"gtol": 1e-9})
    at_rest = lower.x.reshape(40, 2) - lower.x.reshape(40, 2).mean(axis=0)
    slopes = [divergence.forces(points, "exact").slope for points in (ended.points, at_rest)]
    assert slopes[0] < 1e-2 and slopes[1] < 1e-6 and lower.fun <= ended.divergence
    after = Descent(early_steps=0, steps=20)(divergence, at_rest, "exact").state
    assert np.abs(after.points - at_rest).max() < 1e-5 * np.abs(at_rest).max()


def test_permuted_rows_have_permuted_gradients_and_after_some_steps_permuted_coordinates() -> None:
    order = RANDOM.permutation(60)
    one, other = Divergence(affinities(), 1.0), Divergence(affinities(POINTS[order]), 1.0)
    left, right = one.forces(PLACES, "exact"), other.forces(PLACES[order], "exact")
    for name in ("attraction", "repulsion"):
        assert np.allclose(getattr(left, name)[order], getattr(right, name), rtol=0, atol=1e-12)
    few = Descent(early_steps=10, steps=10)
    left, right = (few(each, start, "exact").state.points for each, start in (
        (one, 1e-4 * PLACES), (other, 1e-4 * PLACES[order])))
    assert np.abs(left[order] - right).max() <= 1e-6 * np.abs(left).max()


def test_many_degrees_of_freedom_lead_to_stochastic_neighbor_embedding() -> None:
    """(1 + d²/α)^(-α) is exp(-d²) for infinite α, and its forces are those of SNE's gradient."""
    given = affinities()
    joint = np.zeros((60, 60))
    joint[np.repeat(np.arange(60), np.diff(given.starts)), given.indices] = given.values
    kernel = np.exp(-distances(PLACES) ** 2) * (1 - np.eye(60))
    pulls = joint - kernel / kernel.sum()
    forces = Divergence(given, 1e7).forces(PLACES, "exact")
    assert np.allclose(forces.attraction - forces.repulsion, pulls.sum(axis=1)[:, None] * PLACES - pulls @ PLACES,
                       atol=1e-6)
    there = joint > 0
    expected = np.sum(joint[there] * np.log(joint[there] / kernel[there] * kernel.sum()))
    assert forces.divergence == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("start", ["pca", "laplacian", "random"])
def test_threads_change_no_byte(start: str) -> None:
    data = features(POINTS)
    options = {"start": start, "descent": {"early_steps": 5, "steps": 5}}
    one, two = (METHODS["tsne"](**options).resolve(data).fit(data, Compute(threads=count)) for count in (1, 2))
    assert np.array_equal(one.embedding, two.embedding)
    assert np.array_equal(one.project(POINTS + 0.01), two.project(POINTS + 0.01))


def test_a_descent_that_dies_after_every_few_steps_ends_with_the_same_bytes() -> None:
    def descend() -> Array:
        state = Descent(early_steps=6, steps=6)(Divergence(affinities(), 1.0), 1e-4 * PLACES, "exact").state
        return np.column_stack([state.points, state.velocity, state.gains])

    again, stops = in_parts(descend, 5)
    assert stops == 2 and np.array_equal(again, descend())


@pytest.mark.medium
@pytest.mark.parametrize("start", ["pca", "laplacian", "random"])
def test_equal_points_stay_together(start: str) -> None:
    """Also where there are more of them than neighbors count, and no division is by zero."""
    twice = np.vstack([POINTS[:20], POINTS[:20], np.repeat(POINTS[40:41], 30, axis=0)])
    model = fit("tsne", twice, start=start, perplexity=8.0)
    assert np.isfinite(model.embedding).all()
    assert np.array_equal(model.embedding[:20], model.embedding[20:40])
    assert np.ptp(model.embedding[40:], axis=0).max() == 0


@pytest.mark.medium
def test_distances_give_what_features_give() -> None:
    """Up to signs and rounding: classical scaling of distances has the scores of principal components."""
    few = {"descent": {"early_steps": 10, "steps": 10}}
    one, other = fit("tsne", POINTS, **few), fit("tsne", dissimilarities(distances(POINTS)), **few)
    assert np.allclose(one.embedding, other.embedding, atol=1e-6 * np.abs(one.embedding).max())


@pytest.mark.medium
def test_training_points_are_near_their_own_places() -> None:
    """Equal rows are placed on them, and rows that are nearly equal near to them."""
    model = fit("tsne", POINTS)
    assert np.array_equal(model.project(POINTS), model.embedding)
    apart = np.linalg.norm(model.project(POINTS + 1e-9) - model.embedding, axis=1)
    assert np.median(apart) < 0.05 * np.abs(model.embedding).max()
    assert np.allclose(model.project(POINTS[:3] + 1e-9), model.project(POINTS + 1e-9)[:3], rtol=0, atol=1e-9)
