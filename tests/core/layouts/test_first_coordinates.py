"""Starts of layouts: eigenmaps against dense eigenvectors, and pieces of a graph that lie apart."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core.graph.graph import Graph, graph_of, undirected
from mlcli.core.graph.search import nearest
from mlcli.core.layouts.first_coordinates import eigenmap_start


def similar(points: Array, count: int = 8) -> Graph:
    graph = graph_of(nearest(points, count), "union")
    return Graph(graph.starts, graph.indices, np.exp(-(graph.lengths / graph.lengths.mean()) ** 2))


@pytest.mark.parametrize("size", [300, 500])
def test_eigenmaps_are_those_of_dense_eigenvectors(size: int) -> None:
    graph = similar(np.random.default_rng(2).random((size, 2)) * [3, 1])
    found, weights = eigenmap_start(graph, 2, seed=0), graph.matrix().toarray()
    sums = weights.sum(axis=1)
    vectors = np.linalg.eigh(weights / np.sqrt(np.outer(sums, sums)))[1][:, [-2, -3]]
    measured = (found - np.average(found, axis=0, weights=sums)) * np.sqrt(sums)[:, None]
    assert np.abs(np.sum(measured / np.linalg.norm(measured, axis=0) * vectors, axis=0)) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("axes", [1, 2, 4])
def test_pieces_lie_apart_and_small_ones_have_places_too(axes: int) -> None:
    generator = np.random.default_rng(3)
    sizes = [30, 20, 20, 12]
    points = np.vstack([generator.random((size, 3)) + 50 * place for place, size in enumerate(sizes)])
    graph = similar(points, 5)
    rows = np.repeat(np.arange(82), np.diff(graph.starts))  # then a pair, and a point without edges
    graph = undirected(85, np.append(rows, 82), np.append(graph.indices, 83), np.append(graph.lengths, 0.5), "union")
    found = eigenmap_start(graph, axes, seed=0)
    assert found.shape == (85, axes) and np.isfinite(found).all()
    labels = graph.pieces()
    middles = np.array([found[labels == piece].mean(axis=0) for piece in range(6)])
    reach = np.array([np.linalg.norm(found[labels == piece] - middles[piece], axis=1).max() for piece in range(6)])
    apart = np.linalg.norm(middles[:, None] - middles, axis=2) + 1e9 * np.eye(6)
    assert (apart.min(axis=1) > reach).all()
    assert np.array_equal(found, eigenmap_start(graph, axes, seed=0))


def test_a_complete_graph_has_a_random_start_and_not_a_constant_one() -> None:
    left, right = np.triu_indices(14, 1)
    graph = undirected(14, left, right, np.ones(len(left)), "union")
    spread = eigenmap_start(graph, 2, seed=0).std(axis=0)
    assert spread.min() > 0.1 * spread.max()
