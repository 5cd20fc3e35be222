"""The multi-view Gaussian process latent variable model: its bound, its gradient, and axes that views share."""

from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, TwoViews
from mlcli.methods import METHODS, Model
from mlcli.methods.processes.fitting import FittedParameters
from mlcli.methods.processes.likelihoods import Clouds, Observations
from mlcli.methods.processes.views import SharedProblem
from tests.support import names

pytestmark = pytest.mark.usefixtures("one_thread")
GENERATOR = np.random.default_rng(0)
ROWS, OTHERS = GENERATOR.standard_normal((12, 3)), 5 + 2 * GENERATOR.standard_normal((12, 2))
POINTS = GENERATOR.standard_normal((12, 2))


def two_views(first: Array, second: Array) -> TwoViews:
    one, other = (Features(view, names(len(view)), names(view.shape[1])) for view in (first, second))
    return TwoViews(one.values, one.ids, one.columns, view=other)


def shared_circle(seed: int) -> tuple[Array, Array]:
    """Two views (60 x 6) of a circle, each with a signal of its own in two of its columns."""
    generator = np.random.default_rng(seed)
    angle = generator.uniform(0, 2 * np.pi, 60)
    circle, own = np.column_stack([np.cos(angle), np.sin(angle)]), generator.uniform(-1.5, 1.5, (2, 60))
    views = []
    for one in own:
        seen = [circle @ generator.standard_normal((2, 4)), np.outer(one, generator.standard_normal(2))]
        views.append(np.hstack(seen) + 0.05 * generator.standard_normal((60, 6)))
    return views[0], views[1]


def fitted(first: Array, second: Array, **options: Any) -> Model:
    data = two_views(first, second)
    return METHODS["mvgplvm"](**options).resolve(data).fit(data, Compute())


def around(problem: SharedProblem, seed: int) -> FittedParameters:
    """A state near the start, with other inducing points and parameters for each view."""
    generator, start = np.random.default_rng(seed), problem.start(POINTS)
    return problem.at(start, problem.vector(start) + 0.1 * generator.standard_normal(len(problem.vector(start))))


def test_two_copies_of_a_view_are_one_view_with_its_columns_twice() -> None:
    """At the same parameters the bound is the same, and so is its slope by the latent points."""
    one = Observations.of(ROWS)
    problem = SharedProblem.of([one, one], 5, 2)
    start = problem.start(POINTS)
    whole = Clouds(Observations.of(np.hstack([ROWS, ROWS])), 5)
    clouds = problem.latents.points(start.latent)
    found = whole(problem.covariance, clouds, start.places[:5])
    value, slopes = problem(start)
    assert value == pytest.approx(-found.value, rel=1e-12)
    assert np.allclose(slopes.latent, -found.points.ravel(), rtol=1e-10, atol=1e-12)
    assert np.allclose(slopes.places[:5] + slopes.places[5:], -found.places, rtol=1e-10, atol=1e-12)


def test_a_single_view_is_the_bayesian_model() -> None:
    one = Observations.of(ROWS)
    problem = SharedProblem.of([one], 5, 2)
    start = problem.start(POINTS)
    found = Clouds(one, 5)(problem.covariance, problem.latents.points(start.latent), start.places)
    assert problem(start)[0] == pytest.approx(-found.value, rel=1e-14)


@pytest.mark.parametrize("last", [False, True])
def test_the_gradient_is_that_of_finite_differences(last: bool) -> None:
    problem: Any = SharedProblem.of([Observations.of(ROWS), Observations.of(OTHERS)], 4, 2)
    problem = problem.final if last else problem
    state, step = around(problem, 1), 1e-5
    vector = problem.vector(state)
    found = problem.vector(problem(state)[1])
    expected = np.array([(problem(problem.at(state, vector + step * unit))[0]
                          - problem(problem.at(state, vector - step * unit))[0]) / (2 * step)
                         for unit in np.eye(len(vector))])
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max()
    assert not last or np.all(found[-8:] != 0)


@pytest.mark.medium
def test_views_share_a_circle_and_each_keeps_its_own_signal() -> None:
    first, second = shared_circle(0)
    model = fitted(first, second, axes={"components": 4}, inducing=15, minimize={"limit": 250})
    assert model.fit["shared_axes"] == [1, 2]
    assert sorted(model.fit["private_axes"]) == [[3], [4]]
    shares = np.array(model.fit["relevances"])
    assert np.allclose(shares.sum(axis=1), 1) and np.allclose(model.spectrum.values, shares.mean(axis=0))
    similarity: Any = model.projector.similarity
    unit = two_views(first, second).view.normalized().unit
    rest = unit.plain(similarity.others[0].means(model.embedding)) - second  # from the same points
    assert np.sum(rest**2) < 0.02 * np.sum((second - second.mean(axis=0)) ** 2)
    assert np.sum((model.reconstruct(model.embedding) - first) ** 2) < 0.02 * np.sum((first - first.mean(axis=0)) ** 2)
    placed = model.project(first)  # by the first view alone: its axes are found again, that of the second is not
    used = [axis - 1 for axis in (1, 2, model.fit["private_axes"][0][0])]
    for axis in used:
        assert abs(np.corrcoef(placed[:, axis], model.embedding[:, axis])[0, 1]) > 0.95


@pytest.mark.medium
def test_units_of_either_view_change_nothing_but_the_likelihood() -> None:
    first, second = shared_circle(1)
    options: dict[str, Any] = {"inducing": 6, "minimize": {"limit": 10}}
    model, scaled = fitted(first, second, **options), fitted(first * 2.0**9, second * 2.0**-30, **options)
    assert np.array_equal(model.embedding, scaled.embedding)
    assert np.array_equal(model.spectrum.values, scaled.spectrum.values)
    shift = (9 - 30) * np.log(2) * first.size
    assert scaled.fit["log_likelihood"] == pytest.approx(model.fit["log_likelihood"] - shift, rel=1e-12)
    assert scaled.fit["view_2_rbf_variance"] == model.fit["view_2_rbf_variance"] * 2.0**-60


@pytest.mark.parametrize("constant", [0, 1])
def test_a_view_that_does_not_vary_has_no_part(constant: int) -> None:
    views = [shared_circle(2)[0][:20], np.full((20, 2), 3.0)]
    model = fitted(*(views if constant else views[::-1]), inducing=5, minimize={"limit": 5})
    assert model.fit["relevances"][constant] == [0.0, 0.0] and sum(model.fit["relevances"][1 - constant]) > 0.99
    assert model.fit["shared_axes"] == [] and model.fit["private_axes"][constant] == []
    assert np.isfinite(model.project(views[0 if constant else 1])).all()
