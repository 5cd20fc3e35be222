"""The losses of single points are the terms of the objective with these points: Hessians to 1e-8, by complex steps.

A complex step of a gradient, Im g(y + ih) / h, has no error of differences. Gradients are those of the whole objective,
by all pairs.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli import native
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.compute import Compute
from mlcli.core.graph.graph import Graph
from mlcli.core.layouts.own_losses import LayoutLosses
from mlcli.core.layouts.own_stress import stress_losses
from mlcli.methods import METHODS, Model
from mlcli.methods.neighbor_embedding import own_losses
from mlcli.methods.neighbor_embedding.negative_sampling import NEAR, MembershipCurve
from mlcli.methods.neighbor_embedding.own_losses import (
    derivative,
    membership_push,
    push_bends,
    push_series,
    steps_from,
    strip_ranges,
)
from tests.support import dissimilarities, features

POINTS = np.random.default_rng(5).standard_normal((40, 3)) * [3, 2, 1]
STEP = 1e-30


def fitted(name: str, points: Array = POINTS, **options: Any) -> tuple[Any, Model, LayoutLosses]:
    """A method, its model, and the losses of its points."""
    data = features(points)
    method: Any = METHODS[name](**options).resolve(data)
    model = method.fit(data, Compute())
    return method, model, method.point_losses(method.in_range(data), model, Compute())


def bends(gradient: Callable[[int, AnyArray], AnyArray], points: Array) -> Array:
    """Return the Hessians (n x p x p) of each point, of gradients of a point at a place of its own."""
    found = np.empty((*points.shape, points.shape[1]))
    for row, place in enumerate(points):
        for axis in range(points.shape[1]):
            ahead = place.astype(complex)
            ahead[axis] += 1j * STEP
            found[row, :, axis] = gradient(row, ahead).imag / STEP
    return found


def square(product: Any, size: int) -> Array:
    """Return a sparse product as a matrix."""
    return np.asarray(Graph(product.starts, product.indices, product.values).matrix().toarray()).reshape(size, size)


@pytest.mark.parametrize("options", [{}, {"dof": 0.7, "perplexity": [4.0, 8.0]}, {"axes": {"components": 3}}])
def test_hessians_of_tsne_are_those_of_the_divergence(options: Any) -> None:
    few = {"perplexity": 8.0, "descent": {"early_steps": 20, "steps": 30}}
    method, model, losses = fitted("tsne", **{**few, **options})
    points, dof = model.embedding, method.dof
    shares = square(model.products["weights"], len(points))

    def gradient(row: int, place: AnyArray) -> AnyArray:
        every = points.astype(complex)
        every[row] = place
        gaps = every[:, None] - every
        stretched = 1 + np.sum(gaps * gaps, axis=2) / dof
        kernel = stretched**-dof
        np.fill_diagonal(kernel, 0)
        of_row = (shares[row] - kernel[row] / kernel.sum()) / stretched[row]
        return np.asarray(4 * np.sum(of_row[:, None] * gaps[row], axis=0) / (2 * shares[row].sum()))

    assert np.allclose(losses.bends, bends(gradient, points), rtol=1e-8, atol=1e-8 * np.abs(losses.bends).max())


@pytest.mark.parametrize("options", [{}, {"negative_samples": 20, "repulsion": 3.0, "min_dist": 0.4}])
def test_hessians_of_umap_are_those_of_the_expected_step(options: Any) -> None:
    method, model, losses = fitted("umap", neighbors={"count": 6}, epochs=60, **options)
    points, a, b = model.embedding, model.fit["a"], model.fit["b"]
    weights = square(model.products["weights"], len(points))
    weights = np.where(weights / weights.max() * 60 >= 1, weights, 0)

    def gradient(row: int, place: AnyArray) -> AnyArray:
        gaps = place - np.delete(points, row, axis=0)
        squares = np.sum(gaps * gaps, axis=1)
        bent, own = a * squares**b, np.delete(weights[row], row)
        rise = b * bent / squares
        pull = own * rise / (1 + bent)
        push = rise * (1 / (1 + bent) - 1 / (bent + NEAR)) * (
            method.repulsion * method.negative_samples / (2 * len(points)) * own.sum())
        return np.asarray(np.sum(2 * (pull + push)[:, None] * gaps, axis=0) / own.sum())

    assert np.allclose(losses.bends, bends(gradient, points), rtol=1e-8, atol=1e-8 * np.abs(losses.bends).max())


@pytest.mark.parametrize("axes", [1, 2])
def test_hessians_on_a_grid_are_those_of_all_pairs(axes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(axes)
    points = np.vstack([generator.normal(size=(150, axes)) * scale + 6 * scale for scale in (1.0, 0.3, 1.7)])
    points[7], curve = points[8], MembershipCurve(1.6, 0.9)
    expected = push_bends(points, curve)
    monkeypatch.setattr(own_losses, "ALL_PAIRS", 100)
    found = push_bends(points, curve)
    apart = np.abs(found - expected).max(axis=(1, 2)) / np.abs(expected).max(axis=(1, 2))
    assert 0 < apart.max() < 1e-7
    monkeypatch.setattr(native, "available", lambda: False)
    assert np.allclose(push_bends(points, curve), found, rtol=0, atol=1e-11 * np.abs(found).max())


def test_the_series_of_the_repulsion_has_its_derivatives() -> None:
    curve = MembershipCurve(1.6, 0.9)
    terms = push_series(curve, 0.8)
    squares = 0.8 + np.linspace(-0.05, 0.05, 11)
    values, slopes = (sum(term * (squares - 0.8) ** place for place, term in enumerate(some))
                      for some in (terms, derivative(terms)))
    exact = membership_push(squares, 1, curve=curve)
    assert np.allclose(values, exact[0], rtol=1e-10) and np.allclose(slopes, exact[1], rtol=1e-8)
    assert np.allclose(slopes[5], membership_push(squares, 2, curve=curve)[1][5], rtol=1e-13)


def test_points_within_a_radius_are_in_three_ranges() -> None:
    points = np.random.default_rng(9).random((300, 2)) * [3, 5]
    order, ranges = strip_ranges(points, 0.4)
    places = points[order]
    near = np.linalg.norm(places[:, None] - places, axis=2) <= 0.4
    there = np.zeros_like(near)
    for row in range(300):
        for low, high in (some[row] for some in ranges):
            assert not there[row, low:high].any()
            there[row, low:high] = True
    assert not (near & ~there).any() and there.mean() < 0.25


def of_stress(points: Array, lengths: Array, weights: Array) -> Callable[[int, AnyArray], AnyArray]:
    """The gradient of Σ w (δ - d)² over Σ w of a point."""
    def gradient(row: int, place: AnyArray) -> AnyArray:
        gaps = place - np.delete(points, row, axis=0)
        apart, own = np.sqrt(np.sum(gaps * gaps, axis=1)), np.delete(weights[row], row)
        pull = own * (1 - np.delete(lengths[row], row) / apart)
        return np.asarray(2 * np.sum(pull[:, None] * gaps, axis=0) / own.sum())

    return gradient


@pytest.mark.parametrize(("name", "options", "power"), [
    ("smacof", {}, 0.0), ("smacof", {"weights": -2.0, "axes": {"components": 3}}, -2.0), ("sammon", {}, -1.0),
    ("smacof", {"axes": {"components": 1}}, 0.0)])
def test_hessians_of_stress_are_those_of_the_definition(name: str, options: Any, power: float) -> None:
    _, model, losses = fitted(name, **options)
    lengths = np.sqrt(np.sum((POINTS[:, None] - POINTS) ** 2, axis=2))
    weights = np.where(lengths > 0, lengths, 1.0) ** power
    expected = bends(of_stress(model.embedding, lengths, weights), model.embedding)
    assert np.allclose(losses.bends, expected, rtol=1e-8, atol=1e-8)


def test_hessians_of_given_dissimilarities_are_those_of_features() -> None:
    lengths = np.sqrt(np.sum((POINTS[:, None] - POINTS) ** 2, axis=2))
    data = dissimilarities(lengths)
    method: Any = METHODS["smacof"]().resolve(data)
    losses = method.point_losses(method.in_range(data), method.fit(data, Compute()), Compute())
    assert losses.features is None
    assert np.allclose(losses.bends, fitted("smacof")[2].bends, atol=1e-6)


def test_hessians_of_nmds_keep_disparities_as_they_are() -> None:
    _, model, losses = fitted("nmds", starts=1)
    similarity: Any = model.projector.similarity  # type: ignore[union-attr]
    lengths = similarity.disparities(np.sqrt(np.sum((similarity.points[:, None] - similarity.points) ** 2, axis=2)))
    expected = bends(of_stress(similarity.coordinates, lengths, np.ones((40, 40))), similarity.coordinates)
    assert np.allclose(losses.bends, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("name", "options"), [("smacof", {}), ("sammon", {}), ("nmds", {"starts": 1})])
def test_equal_rows_bend_a_loss_and_a_row_that_differs_leaves_no_minimum(name: str, options: Any) -> None:
    method, model, losses = fitted(name, np.vstack([POINTS, POINTS[:1]]), **options)
    similarity: Any = model.projector.similarity  # type: ignore[union-attr]
    lengths = np.sqrt(np.sum((similarity.points[:, None] - similarity.points) ** 2, axis=2))
    assert np.allclose(similarity.coordinates[0], similarity.coordinates[-1], atol=1e-6)
    places = np.vstack([similarity.coordinates[:-1], similarity.coordinates[:1]])
    targets = lengths if similarity.disparities is None else similarity.disparities(lengths)
    weights = np.where(lengths > 0, np.where(lengths > 0, lengths, 1.0) ** method.exponent, float(method.exponent == 0))
    alone = bends(of_stress(places[:-1], np.where(lengths > 0, targets, 0)[:-1, :-1], weights[:-1, :-1]), places[:-1])
    rest, twin = weights[0, 1:-1].sum(), weights[0, -1]
    here = replace(similarity, coordinates=places)
    found = stress_losses(here, None).bends
    assert np.allclose(found[0], (alone[0] * rest + 2 * twin * np.eye(2)) / (rest + twin), rtol=1e-8, atol=1e-8)
    places[1] = places[0]
    found = stress_losses(replace(similarity, coordinates=places), None).bends
    assert all(np.linalg.eigvalsh(found[row])[0] < 0 for row in (0, 1, 40)) and losses.bends.shape == found.shape


def test_hessians_of_phate_are_those_of_potential_distances() -> None:
    _, model, losses = fitted("phate", time=6)
    points = POINTS
    apart = np.sqrt(np.sum((points[:, None] - points) ** 2, axis=2))
    widths = np.sort(apart, axis=1)[:, 5]
    near = np.exp(-((apart / widths[:, None]) ** 40))
    near[near < 1e-4] = 0
    steps = near + near.T
    ends = np.linalg.matrix_power(steps / steps.sum(axis=1, keepdims=True), 6)
    potentials = -np.log(ends + 1e-7)
    lengths = np.sqrt(np.sum((potentials[:, None] - potentials) ** 2, axis=2))
    expected = bends(of_stress(model.embedding, lengths, np.ones((40, 40))), model.embedding)
    assert np.allclose(losses.bends, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("name", "options"), [
    ("tsne", {"perplexity": 8.0, "descent": {"early_steps": 20, "steps": 30}}),
    ("tsne", {"perplexity": 8.0, "dof": 0.5, "descent": {"early_steps": 20, "steps": 30}}),
    ("umap", {"neighbors": {"count": 6}, "epochs": 60}), ("smacof", {}), ("sammon", {}), ("nmds", {"starts": 1}),
    ("phate", {"time": 6}), ("phate", {"time": 1})])
def test_gradients_of_moved_inputs_are_those_of_their_losses(name: str, options: Any) -> None:
    losses = fitted(name, **options)[2]
    assert losses.moved is not None and losses.features is not None
    found = losses.moved(slice(3, 5), np.array([[0.1], [0]]) * np.ones(losses.features.shape[1]))
    places, step = losses.points[[3, 3, 4, 4]] + 0.3, 1e-6
    slopes = found.at(np.arange(4), places).slopes
    for axis in range(2):
        ahead, back = (found.at(np.arange(4), places + sign * step * np.eye(2)[axis]).values for sign in (1, -1))
        assert np.allclose((ahead - back) / (2 * step), slopes[:, axis], rtol=1e-5, atol=1e-6)
    assert all(start.shape == places.shape for start in found.starts())


@pytest.mark.parametrize("filled", [0.05, 0.9])
def test_steps_from_few_or_many_nodes_are_products(filled: float) -> None:
    generator = np.random.default_rng(7)
    shares, steps = generator.random((9, 30)) * (generator.random((9, 30)) < filled), generator.random((30, 30))
    assert np.allclose(steps_from(shares, steps), shares @ steps, rtol=1e-14, atol=0)


def test_moved_inputs_of_many_points_of_phate_are_compared_with_some(monkeypatch: pytest.MonkeyPatch) -> None:
    every, shifts = fitted("phate", time=6)[2], np.zeros((1, 3))
    monkeypatch.setattr(own_losses, "COMPARED", len(POINTS) // 2)
    losses = fitted("phate", time=6)[2]
    assert np.array_equal(losses.bends, every.bends), "singularity is of all points"
    assert every.moved is not None and losses.moved is not None
    whole, some = (of.moved(slice(3, 5), shifts) for of in (every, losses))
    places, which = losses.points[[3, 4]] + 0.3, np.arange(2)
    near = np.arange(0, len(POINTS), 2)
    for row, (value, place) in enumerate(zip(some.at(which, places).values, places, strict=True)):
        others = near[near != row + 3]
        apart = np.linalg.norm(place - losses.points[others], axis=1)
        assert value == pytest.approx(np.mean((whole.lengths[row, others] - apart) ** 2), rel=1e-12)
    assert all(start.shape == places.shape for start in some.starts())
    assert not np.array_equal(some.starts()[0][1], losses.points[4]), "a point is no start of its own"
