"""Graphs to try the kernels on, and what SciPy says of them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from mlcli import native
from mlcli.base.rows.blocks import in_stages
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.core import sparse_factors
from mlcli.core.graph.graph import Graph, undirected
from mlcli.native.library import kernels

needs_native = pytest.mark.skipif(not native.available(), reason="native kernels not built, or MLCLI_SIMD=none")
TOLERANCE = {"float64": 1e-12, "float32": 1e-6}


def levels() -> list[str]:
    """The instruction sets that this processor runs; a build that lacks one fails its tests (MLCLI_LEVELS=all)."""
    return list(native.machine_levels()) or ["absent"]


def choose(level: str) -> None:
    assert kernels().choose_level(level), f"the build lacks {level}: install it with MLCLI_LEVELS=all"


def at_level(request: pytest.FixtureRequest) -> Iterator[str]:
    """The kernels at the instruction set that a fixture asks for."""
    usual = native.describe()
    choose(request.param)
    yield request.param
    choose(usual)


def pairs(size: int, left: Any, right: Any, lengths: Any) -> Graph:
    left, right, lengths = (np.asarray(values) for values in (left, right, lengths))
    apart = left != right
    return undirected(size, left[apart].astype(np.int64), right[apart].astype(np.int64),
                      lengths[apart].astype(float), "union")


def random_graph(size: int, edges: int, seed: int = 0, zeros: float = 0.0, ties: bool = False) -> Graph:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 4, edges).astype(float) if ties else generator.random(edges)
    lengths[generator.random(edges) < zeros] = 0.0
    return pairs(size, generator.integers(0, size, edges), generator.integers(0, size, edges), lengths)


def lattice(rows: int, columns: int) -> Graph:
    number = np.arange(rows * columns).reshape(rows, columns)
    left = np.concatenate([number[1:].ravel(), number[:, 1:].ravel()])
    right = np.concatenate([number[:-1].ravel(), number[:, :-1].ravel()])
    return pairs(rows * columns, left, right, np.random.default_rng(1).random(len(left)))


def star(size: int) -> Graph:
    return pairs(size, np.zeros(size - 1), np.arange(1, size), np.arange(1.0, size))


def path(size: int) -> Graph:
    return pairs(size, np.arange(size - 1), np.arange(1, size), np.random.default_rng(2).random(size - 1))


def complete(size: int) -> Graph:
    left, right = np.triu_indices(size, 1)
    return pairs(size, left, right, np.random.default_rng(3).random(len(left)))


GRAPHS = {
    "one vertex": pairs(1, [], [], []),
    "no edges": pairs(5, [], [], []),
    "two vertices": pairs(2, [0], [1], [3.0]),
    "random": random_graph(300, 900),
    "sparse, in pieces": random_graph(400, 300, seed=4),
    "zero lengths": random_graph(200, 500, seed=5, zeros=0.5),
    "all zero": random_graph(70, 200, seed=6, zeros=1.0),
    "ties": random_graph(250, 700, seed=7, ties=True),
    "lattice": lattice(30, 41),
    "star": star(150),
    "path": path(200),
    "complete": complete(150),
    "dense": random_graph(700, 20000, seed=8),
    "just a block": random_graph(64, 200, seed=9),
    "a block and one": random_graph(65, 200, seed=10),
    "huge lengths": pairs(40, np.arange(39), np.arange(1, 40), np.full(39, 1e30)),
}


def expected(graph: Graph) -> Array:
    result: Array = dijkstra(graph.matrix(), directed=True)
    return result


def orders(graph: Graph) -> dict[str, Indices]:
    """Orders of elimination: as numbered, shuffled, by the kernels' dissection, and by that of METIS if it is there."""
    found = {"natural": np.arange(graph.size), "shuffled": np.random.default_rng(11).permutation(graph.size)}
    found["dissected"] = native.dissection(graph.starts, graph.indices)
    if sparse_factors.available():
        found["METIS"] = sparse_factors.nested_dissection(graph.starts, graph.indices)
    return found


def eliminated(graph: Graph, order: Indices, precision: native.Precision = "float64") -> native.Weights:
    return finished(native.Elimination(graph.starts, graph.indices, graph.lengths, order).weights(precision))


def finished(weights: native.Weights) -> native.Weights:
    """The weights with all tasks done, those of a stage on as many threads as allowed."""
    for _ in in_stages(weights.stages, weights.factor):
        pass
    return weights


def sources(weights: native.Weights, block: int) -> Indices:
    """The vertices that are the sources of a block."""
    first = weights.first(block)
    return weights.order[first : first + weights.lanes]


def by_elimination(graph: Graph, order: Indices, precision: native.Precision = "float64") -> AnyArray:
    weights, distances = eliminated(graph, order, precision), np.full((graph.size, graph.size), np.nan)
    for block in range(weights.blocks):
        weights.distances(block, distances)
    return distances


def by_floyd(graph: Graph) -> AnyArray:
    matrix = np.full((graph.size, graph.size), np.inf)
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    matrix[rows, graph.indices] = graph.lengths
    np.fill_diagonal(matrix, 0)
    strips = range(-(-graph.size // native.STRIP))
    for pivot in strips:
        native.floyd_pivot(matrix, pivot)
        for strip in set(strips) - {pivot}:
            native.floyd_rows(matrix, pivot, strip)
    return matrix


def by_dijkstra(graph: Graph) -> AnyArray:
    out = np.full((graph.size, graph.size), np.nan)
    native.dijkstra_rows(graph.starts, graph.indices, graph.lengths, np.arange(graph.size), out)
    return out


def assert_close(found: AnyArray, wanted: Array, relative: float) -> None:
    assert np.array_equal(np.isinf(found), np.isinf(wanted))
    finite = np.isfinite(wanted)
    assert np.all(np.abs(found[finite] - wanted[finite]) <= relative * wanted[finite])
