"""The losses of single points are the terms of the objective with these points: Hessians to 1e-8, by complex steps.

A complex step of a gradient, Im g(y + ih) / h, has no error of differences. Gradients are those of the whole objective,
by all pairs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import AnyArray, Array
from mlcli.base.values.compute import Compute
from mlcli.core.graph.graph import Graph
from mlcli.core.layouts.own_losses import LayoutLosses
from mlcli.methods import METHODS, Model
from mlcli.methods.neighbor_embedding import own_losses
from mlcli.methods.neighbor_embedding.negative_sampling import NEAR
from mlcli.methods.neighbor_embedding.own_losses import steps_from
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
    own = np.array([3, 3, 8])
    found = losses.moved(losses.features[own] + [[0.1], [0], [0.2]], own)
    places, step = losses.points[own] + 0.3, 1e-6
    slopes = found.at(np.arange(3), places).slopes
    for axis in range(2):
        ahead, back = (found.at(np.arange(3), places + sign * step * np.eye(2)[axis]).values for sign in (1, -1))
        assert np.allclose((ahead - back) / (2 * step), slopes[:, axis], rtol=1e-5, atol=1e-6)
    assert all(start.shape == places.shape for start in found.starts())


@pytest.mark.parametrize("filled", [0.05, 0.9])
def test_steps_from_few_or_many_nodes_are_products(filled: float) -> None:
    generator = np.random.default_rng(7)
    shares, steps = generator.random((9, 30)) * (generator.random((9, 30)) < filled), generator.random((30, 30))
    assert np.allclose(steps_from(shares, steps), shares @ steps, rtol=1e-14, atol=0)


def test_inputs_of_many_points_of_phate_are_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fitted("phate", time=6)[2].moved is not None
    monkeypatch.setattr(own_losses, "MOVABLE", len(POINTS) - 1)
    losses = fitted("phate", time=6)[2]
    assert losses.features is None and losses.moved is None and losses.bends.shape == (len(POINTS), 2, 2)
