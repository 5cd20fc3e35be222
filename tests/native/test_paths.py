"""The three shortest-path algorithms agree with SciPy's, and with one another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from mlcli import native
from mlcli.base.machine.threads import limit_threads
from mlcli.core.graph.graph import Graph
from mlcli.core.paths import geodesics
from mlcli.core.paths.geodesics import dijkstra_rows
from mlcli.native.library import kernels
from tests.native.support import (
    GRAPHS,
    TOLERANCE,
    assert_close,
    by_dijkstra,
    by_elimination,
    by_floyd,
    choose,
    eliminated,
    expected,
    finished,
    levels,
    needs_native,
    orders,
    pairs,
    sources,
)
from tests.support import paired

pytestmark = needs_native
every_graph = pytest.mark.parametrize("name", GRAPHS)
both = pytest.mark.parametrize("precision", TOLERANCE)
every_graph_in_both = pytest.mark.parametrize(("name", "precision"), paired(GRAPHS, TOLERANCE))


@every_graph_in_both
def test_elimination(name: str, precision: str) -> None:
    graph = GRAPHS[name]
    wanted = expected(graph)
    for order in orders(graph).values():
        assert_close(by_elimination(graph, order, precision), wanted, TOLERANCE[precision])


@every_graph
def test_dijkstra_and_floyd(name: str) -> None:
    graph = GRAPHS[name]
    assert_close(by_dijkstra(graph), expected(graph), TOLERANCE["float64"])
    assert_close(by_floyd(graph), expected(graph), TOLERANCE["float64"])


@pytest.mark.parametrize("low, high", [(-250, 250), (-323, -320), (300, 308), (-12, 0)])
def test_dijkstra_finds_the_same_bits_with_lengths_of_any_scale(low: float, high: float) -> None:
    generator = np.random.default_rng(0)
    left, right = generator.integers(0, 300, (2, 900))
    lengths = 10.0 ** generator.uniform(low, high, 900)
    lengths[::90] = np.inf  # joins nothing
    graph = pairs(300, left, right, lengths)
    assert np.array_equal(by_dijkstra(graph), expected(graph))


@every_graph
def test_renumbered_vertices_have_the_same_distances(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = np.arange(GRAPHS[name].size)[::7]
    plain = dijkstra_rows(GRAPHS[name], chosen)
    monkeypatch.setattr(geodesics, "SCATTERED", 0)
    assert np.array_equal(dijkstra_rows(GRAPHS[name], chosen), plain)
    assert np.array_equal(plain, expected(GRAPHS[name])[chosen])


@every_graph
def test_pieces_are_those_that_paths_join(name: str) -> None:
    graph = GRAPHS[name]
    labels = native.pieces(graph.starts, graph.indices, graph.lengths)
    assert np.array_equal(labels[:, None] == labels[None, :], np.isfinite(expected(graph)))
    assert np.array_equal(np.unique(labels, return_index=True)[1], np.sort(np.unique(labels, return_index=True)[1]))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 90))
    edges = draw(st.integers(0, 3 * size))
    ends = st.lists(st.integers(0, size - 1), min_size=edges, max_size=edges)
    lengths = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 1 / 3, 7.0, 1e3]), min_size=edges, max_size=edges)
    return pairs(size, draw(ends), draw(ends), draw(lengths))


@pytest.mark.medium
@given(graphs(), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_all_agree(graph: Graph, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(graph.size)
    wanted = by_dijkstra(graph)
    assert_close(by_floyd(graph), wanted, TOLERANCE["float64"])
    some = order[: 1 + seed % graph.size]
    for precision, relative in TOLERANCE.items():
        assert_close(by_elimination(graph, order, precision), wanted, relative)
        rows = np.empty((len(some), graph.size))
        eliminated(graph, order, precision).rows(some, rows)
        assert_close(rows, wanted[some], relative)


@pytest.mark.parametrize(("name", "level"), paired(GRAPHS, levels()))
def test_levels_give_the_same_bits(name: str, level: str) -> None:
    graph, usual = GRAPHS[name], native.describe()
    order = orders(graph)["shuffled"]
    usual_results = [by_elimination(graph, order, precision) for precision in TOLERANCE] + [by_floyd(graph)]
    try:
        assert kernels().choose_level(level) and native.describe() == level
        results = [by_elimination(graph, order, precision) for precision in TOLERANCE] + [by_floyd(graph)]
    finally:
        choose(usual)
    for found, wanted in zip(results, usual_results, strict=True):
        assert np.array_equal(found, wanted)


@pytest.mark.medium
@pytest.mark.parametrize(("precision", "level"), paired(TOLERANCE, levels()))
def test_fold(precision: str, level: str) -> None:
    graph, usual = GRAPHS["lattice"], native.describe()
    squared, relative = expected(graph) ** 2, 10 * TOLERANCE[precision]
    weights = eliminated(graph, orders(graph)["shuffled"], precision)
    rows = squared[weights.order]
    for columns in (0, 1, 3, 4, 9):
        vectors = np.random.default_rng(12).standard_normal((graph.size, columns))
        product, sums = np.zeros((graph.size, columns)), np.zeros(graph.size)
        try:
            choose(level)
            placed = vectors[weights.order]
            fourths = sum(weights.fold(block, placed, product, sums) for block in range(weights.blocks))
        finally:
            choose(usual)
        assert np.all(np.abs(product - rows @ vectors) <= relative * (rows @ np.abs(vectors)))
        assert np.allclose(sums, rows.sum(axis=1), rtol=relative, atol=0)
        assert fourths == pytest.approx((squared**2).sum(), rel=relative)
        alone = np.zeros_like(product)
        assert sum(weights.fold(block, placed, alone, None) for block in range(weights.blocks)) == 0
        assert np.abs(alone - product).max(initial=0.0) <= relative * np.abs(product).max(initial=0.0)


@pytest.mark.parametrize(("precision", "level"), paired(TOLERANCE, levels()))
def test_columns_of_any_sources_times_factors(precision: str, level: str) -> None:
    graph, usual = GRAPHS["lattice"], native.describe()
    weights, relative = eliminated(graph, orders(graph)["shuffled"], precision), 10 * TOLERANCE[precision]
    generator = np.random.default_rng(13)
    for count, columns in ((1, 1), (weights.lanes, 3), (weights.lanes + 5, 9), (0, 2), (3, 0)):
        chosen, factors = generator.integers(graph.size, size=count), generator.standard_normal((count, columns))
        squared = expected(graph)[np.ix_(weights.order, chosen)] ** 2
        product = np.ones((graph.size, columns))
        try:
            choose(level)
            weights.fold_columns(chosen, factors, product)
        finally:
            choose(usual)
        assert np.all(np.abs(product - 1 - squared @ factors) <= relative * (1 + squared @ np.abs(factors)))


@pytest.mark.medium
@both
def test_a_block_adds_to_its_own_rows_and_later_ones_each_pair_once(precision: str) -> None:
    graph = GRAPHS["lattice"]
    squared = expected(graph) ** 2
    weights = eliminated(graph, orders(graph)["shuffled"], precision)
    for block in range(weights.blocks):
        first, own = weights.first(block), sources(weights, block)
        later = weights.order[first:]
        assert np.array_equal(own, later[: len(own)])
        vectors = np.zeros((graph.size, 1))
        vectors[own] = 1.0
        product, sums = np.zeros((len(later), 1)), np.zeros(len(later))
        weights.fold(block, vectors[weights.order], product, sums)
        assert np.allclose(product[:, 0], squared[np.ix_(later, own)].sum(axis=1), rtol=1e-5, atol=0)
        assert np.allclose(sums[len(own) :], product[len(own) :, 0], rtol=1e-5, atol=0)
        assert np.allclose(sums[: len(own)], squared[np.ix_(own, later)].sum(axis=1), rtol=1e-5, atol=0)


@both
def test_what_a_fold_keeps_gives_the_same_bits_again(precision: str) -> None:
    graph = GRAPHS["lattice"]
    elimination = native.Elimination(graph.starts, graph.indices, graph.lengths, orders(graph)["shuffled"])
    weights = finished(elimination.weights(precision))
    vectors = np.random.default_rng(3).standard_normal((graph.size, 5))
    results = []
    rooms = [weights.room(block) for block in range(weights.blocks)]
    for again in (False, True):
        product, sums = np.zeros((graph.size, 5)), np.zeros(graph.size)
        fourths = [weights.fold(b, vectors, product, sums, rooms[b], again) for b in range(weights.blocks)]
        results.append((product, sums, fourths))
    for first, second in zip(*results, strict=True):
        assert np.array_equal(first, second)


@both
def test_rows_of_one_block(precision: str) -> None:
    graph = GRAPHS["random"]
    weights, wanted = eliminated(graph, orders(graph)["shuffled"], precision), expected(graph)
    for block in (0, 4):
        own = sources(weights, block)
        out = np.empty((len(own), graph.size))
        weights.distances(block, out)
        assert_close(out, wanted[own], TOLERANCE[precision])


@every_graph_in_both
def test_rows_of_any_sources(name: str, precision: str) -> None:
    """Scattered over the whole order, more than are swept at once, one of them twice."""
    graph, generator = GRAPHS[name], np.random.default_rng(15)
    wanted, many = expected(graph), generator.integers(0, graph.size, 150)
    many[70] = many[3]
    for order in orders(graph).values():
        weights = eliminated(graph, order, precision)
        for some in (many, many[:1], many[:0]):
            rows = np.full((len(some), graph.size), np.nan)
            weights.rows(some, rows)
            assert_close(rows, wanted[some], TOLERANCE[precision])


@both
def test_a_row_is_the_same_to_the_last_bit_whatever_is_swept_with_it(precision: str) -> None:
    graph = GRAPHS["lattice"]
    weights = eliminated(graph, orders(graph)["shuffled"], precision)
    alone, together, block = (np.empty((rows, graph.size)) for rows in (1, 40, weights.lanes))
    one = sources(weights, 3)[5:6]
    weights.rows(one, alone)
    weights.rows(np.append(np.arange(0, 390, 10), one), together)
    weights.distances(3, block)
    assert np.array_equal(alone[0], together[-1]) and np.array_equal(alone[0], block[5])


@pytest.mark.medium
def test_threads_change_nothing() -> None:
    """A graph whose elimination is divided into many tasks, done in one thread and in four."""
    generator = np.random.default_rng(13)
    graph = pairs(6000, generator.integers(0, 6000, 40000), generator.integers(0, 6000, 40000), generator.random(40000))
    order = orders(graph)["dissected"]
    elimination = native.Elimination(graph.starts, graph.indices, graph.lengths, order)
    alone = finished(elimination.weights("float32"))
    with limit_threads(4):
        together = finished(elimination.weights("float32"))
    assert max(alone.stages) > 1
    rows = np.empty((2, 64, graph.size))
    alone.distances(7, rows[0])
    together.distances(7, rows[1])
    assert np.array_equal(rows[0], rows[1])
    wanted = np.empty((64, graph.size))
    native.dijkstra_rows(graph.starts, graph.indices, graph.lengths, sources(alone, 7), wanted)
    assert_close(rows[0], wanted, 1e-6)


def test_what_an_elimination_says_of_itself() -> None:
    graph = GRAPHS["path"]
    elimination = native.Elimination(graph.starts, graph.indices, graph.lengths, np.arange(200))
    assert (elimination.size, elimination.fill, elimination.pieces, elimination.blocks("float32")) == (200, 199, 1, 4)
    for precision in ("float32", "float64"):
        assert elimination.relaxations(precision) >= 100 * elimination.fill  # a pair of vertices is found once
        assert elimination.weights(precision).blocks == elimination.blocks(precision)
    assert elimination.bytes("float64") > elimination.bytes("float32") > 0
    assert elimination.block_bytes("float32", stored=True) > elimination.block_bytes("float32", stored=False)
    assert native.Elimination(*GRAPHS["no edges"].__dict__.values(), np.arange(5)).pieces == 5


def test_a_graph_given_in_one_direction() -> None:
    starts, indices, lengths = np.array([0, 2, 3, 3]), np.array([1, 2, 2]), np.array([1.0, 5.0, 1.0])
    weights = finished(native.Elimination(starts, indices, lengths, np.arange(3)).weights("float64"))
    out = np.empty((3, 3))
    weights.distances(0, out)
    assert out[0, 2] == out[2, 0] == 2


@settings(max_examples=60, deadline=None)
@given(size=st.integers(1, 60), edges=st.integers(0, 150), seed=st.integers(0, 10**6))
def test_strong_pieces_are_those_of_scipy(size: int, edges: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows, columns = np.divmod(np.unique(generator.integers(0, size**2, edges)), size)  # SciPy hangs on repeats
    starts = np.searchsorted(rows, np.arange(size + 1))
    found = native.strong_pieces(starts, columns)
    matrix = sparse.csr_array((np.ones(len(columns)), columns, starts), shape=(size, size))
    count, labels = connected_components(matrix, directed=True, connection="strong")
    assert found.max() == count - 1
    assert len({*zip(found.tolist(), labels.tolist(), strict=True)}) == count
    assert (found[rows] >= found[columns]).all()  # numbered after those that they lead into


def test_strong_pieces_of_a_long_path_take_no_deep_stack() -> None:
    size = 300_000
    around = native.strong_pieces(np.arange(size + 1), np.roll(np.arange(size), -1))
    assert around.max() == 0
    along = native.strong_pieces(np.minimum(np.arange(size + 1), size - 1), np.arange(1, size))
    assert np.array_equal(along, np.arange(size)[::-1])


@needs_native
@pytest.mark.parametrize("mutual", [False, True])
@pytest.mark.parametrize(("size", "count"), [(1, 0), (4, 9), (40, 300), (300, 900)])
def test_an_edge_has_the_least_length_of_the_pairs_that_list_it(size: int, count: int, mutual: bool) -> None:
    generator = np.random.default_rng(count)
    left, right, lengths = *generator.integers(0, size, (2, count)), generator.random(count)
    left, right, lengths = left[left != right], right[left != right], lengths[left != right]
    known: dict[tuple[int, int], list[float]] = {}
    for i, j, length in zip(left.tolist(), right.tolist(), lengths.tolist(), strict=True):
        known.setdefault((min(i, j), max(i, j)), []).append(length)
    wanted = np.zeros((size, size))
    for (i, j), several in known.items():
        wanted[i, j] = wanted[j, i] = min(several) if len(several) > mutual else 0.0
    order, lists = np.argsort(left, kind="stable"), np.searchsorted(np.sort(left), np.arange(size + 1))
    starts, indices, found = native.undirected(lists, right[order], lengths[order], mutual=mutual)
    graph = sparse.csr_array((found, indices, starts), (size, size))
    assert graph.has_canonical_format
    assert np.array_equal(graph.toarray(), wanted)
    with pytest.raises(ValueError, match="out of range"):
        native.undirected(np.append(np.zeros(size, np.int64), 1), np.array([size]), np.ones(1), mutual=mutual)
