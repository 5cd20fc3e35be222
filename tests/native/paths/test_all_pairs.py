"""The matrix of all distances is that of single sources, symmetric to the last bit, on any threads and instructions."""


import numpy as np
import pytest

from mlcli import native
from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import AnyArray, Indices
from mlcli.core.graph.graph import Graph
from mlcli.native.library import kernels
from mlcli.native.paths import Precision
from tests.native.support import (
    GRAPHS,
    TOLERANCE,
    assert_close,
    by_dijkstra,
    by_elimination,
    eliminated,
    expected,
    lattice,
    levels,
    needs_native,
    orders,
)
from tests.support import paired

pytestmark = needs_native


def all_pairs(graph: Graph, order: Indices, precision: Precision = "float64") -> AnyArray:
    matrix = np.full((graph.size, graph.size), np.nan)
    eliminated(graph, order, precision).all_pairs(matrix)
    return matrix


@pytest.mark.parametrize(("name", "precision"), paired(GRAPHS, TOLERANCE))
def test_the_distances_of_all_pairs(name: str, precision: Precision) -> None:
    graph = GRAPHS[name]
    wanted = expected(graph)
    for order in orders(graph).values():
        found = all_pairs(graph, order, precision)
        assert_close(found, wanted, TOLERANCE[precision])
        assert np.array_equal(found, found.T) and not found.diagonal().any()


@pytest.mark.parametrize(("name", "level"), paired(GRAPHS, levels()))
def test_levels_give_the_same_bits(name: str, level: str) -> None:
    graph, usual = GRAPHS[name], native.describe()
    order = orders(graph)["shuffled"]
    wanted = [all_pairs(graph, order, precision) for precision in ("float32", "float64")]
    try:
        assert kernels().choose_level(level) and native.describe() == level
        found = [all_pairs(graph, order, precision) for precision in ("float32", "float64")]
    finally:
        kernels().choose_level(usual)
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.medium
@pytest.mark.parametrize("size", [(32, 48), (37, 41)])
def test_threads_change_nothing(size: tuple[int, int]) -> None:
    """Several spans, whose strips end with the blocks of a row or within them, and cycles of rows in many parts."""
    graph = lattice(*size)
    order = orders(graph)["dissected"]
    with limit_threads(1):
        alone = all_pairs(graph, order)
    with limit_threads(4):
        together = all_pairs(graph, order)
    assert np.array_equal(alone, together)
    assert_close(alone, by_dijkstra(graph), TOLERANCE["float64"])


def test_a_row_differs_from_that_of_its_source_alone_by_rounding() -> None:
    """A source alone adds up the way to a common ancestor from its own end, the matrix from the other one's."""
    graph = GRAPHS["lattice"]
    order = orders(graph)["shuffled"]
    assert_close(all_pairs(graph, order), by_elimination(graph, order), 1e-14)
