"""Elimination orders: by METIS where it is installed, by the kernels' own dissection elsewhere, with a note."""

import numpy as np
import pytest

from mlcli import native
from mlcli.base.stages.stage import listening
from mlcli.base.values.compute import Compute
from mlcli.core import sparse_factors
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.search import nearest
from mlcli.core.paths.elimination import Analysis
from mlcli.core.paths.paths import Paths, plan_paths
from mlcli.rundir.journal import Journal
from tests.native.support import GRAPHS, needs_native

COMPUTE = Compute()


@pytest.fixture
def without_metis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_factors, "available", lambda: False)


def codes(journal: Journal) -> list[str]:
    return [note["code"] for note in journal.noted("N-")]


@needs_native
@pytest.mark.usefixtures("without_metis")
@pytest.mark.parametrize("name", GRAPHS)
def test_an_order_without_metis_lists_each_vertex_once(name: str) -> None:
    graph = GRAPHS[name]
    order = sparse_factors.nested_dissection(graph.starts, graph.indices)
    assert order.dtype == np.int64
    assert np.array_equal(np.sort(order), np.arange(graph.size))
    assert np.array_equal(order, sparse_factors.nested_dissection(graph.starts, graph.indices))


@needs_native
@pytest.mark.usefixtures("without_metis")
def test_without_metis_a_neighbor_graph_is_eliminated_and_a_note_tells() -> None:
    points = np.random.default_rng(3).random((1500, 2))
    graph = graph_of(nearest(points, 8), "union")
    journal = Journal()
    with listening(journal):
        plan = plan_paths(graph, "auto", "auto", "auto", COMPUTE)
    assert plan.algorithm == "elimination"
    assert codes(journal) == ["N-NO-METIS"]
    found = Paths().distances(graph, COMPUTE)
    wanted = Paths(algorithm="dijkstra").distances(graph, COMPUTE)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@needs_native
@pytest.mark.skipif(not sparse_factors.available(), reason="METIS is absent, which has no wheels here")
def test_the_own_dissection_fills_in_little_more_than_metis(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(4).random((3000, 2))
    graph = graph_of(nearest(points, 8), "union")
    journal = Journal()
    with listening(journal):
        theirs = Analysis._anew(graph).native
    assert codes(journal) == []
    monkeypatch.setattr(sparse_factors, "available", lambda: False)
    ours = Analysis._anew(graph).native
    assert ours.fill <= 1.25 * theirs.fill
    assert ours.relaxations("float32") <= 1.5 * theirs.relaxations("float32")


@needs_native
def test_a_dissection_refuses_what_is_no_undirected_graph() -> None:
    for starts, indices in (([0, 1, 1], [1]), ([0, 1, 2], [1, 2]), ([0, 1, 2], [1, -1]), ([0, 2, 3], [1, 1, 0])):
        with pytest.raises(ValueError):
            native.dissection(np.array(starts), np.array(indices))
