"""Witnesses of shortest paths: proven, whoever computed them."""

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from mlcli.base.rows.memo import memoize, open_memo
from mlcli.base.types import Array
from mlcli.core.check import kernels
from mlcli.core.check.kernels import shortest
from mlcli.core.graph.graph import Graph, graph_of
from mlcli.core.graph.search import nearest


def graph_with(shortest_edge: float) -> Graph:
    """A neighbor graph of a random cloud, two of whose points are so far apart."""
    points = np.random.default_rng(3).standard_normal((40, 3))
    points[1] = points[0] + [shortest_edge, 0.0, 0.0]
    return graph_of(nearest(points, 6), "union")


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of sources that Dijkstra's algorithm has searched from."""
    counts: list[int] = []
    search = kernels.dijkstra_rows

    def counted(graph: Graph, sources: np.ndarray) -> Array:
        counts.append(len(sources))
        return search(graph, sources)

    monkeypatch.setattr(kernels, "dijkstra_rows", counted)
    return counts


def test_paths_of_the_fit_serve_where_they_are_shortest(searches: list[int]) -> None:
    graph, sources = graph_with(0.1), np.arange(0, 40, 3)
    paths = dijkstra(graph.matrix())
    with open_memo():
        memoize("distances", (*graph.parts, "elimination", "float64"), lambda: paths)
        assert np.array_equal(shortest(graph, sources), paths[sources])
    assert searches == []


@pytest.mark.parametrize("factor", [0.5, 1 + 1e-13, 2.0, np.nan])
def test_paths_of_the_fit_that_are_not_shortest_are_searched_for(factor: float, searches: list[int]) -> None:
    graph, sources = graph_with(0.1), np.arange(40)
    paths = dijkstra(graph.matrix())
    wrong = paths.copy()
    wrong[7] *= factor
    wrong[9, 4] *= factor
    with open_memo():
        memoize("distances", (*graph.parts, "elimination", "float64"), lambda: wrong)
        assert np.allclose(shortest(graph, sources), paths, rtol=1e-14, atol=0)
    assert sum(searches) == (40 if np.isnan(factor) else 2)  # without a longest path none is proven


def test_along_edges_of_no_length_nothing_is_proven_of_the_fit(searches: list[int]) -> None:
    """Two equal points could hold any length in a circle: it is the least of the other's plus nothing."""
    graph, sources = graph_with(0.0), np.arange(40)
    with open_memo():
        memoize("distances", (*graph.parts, "elimination", "float64"), lambda: dijkstra(graph.matrix()))
        assert np.isfinite(shortest(graph, sources)).all()
    assert sum(searches) == 40
