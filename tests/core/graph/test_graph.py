"""The neighbor graph: zero-length edges, pieces, and the policies for them."""

import tracemalloc
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Spatial
from mlcli.core.graph import connecting, pieces
from mlcli.core.graph.connecting import nearest_outside
from mlcli.core.graph.graph import graph_of, symmetrize, undirected
from mlcli.core.graph.neighbors import Nearest, nearest_lists
from mlcli.core.graph.pieces import closed_groups, connected_graph, connected_lists, fewest_neighbors
from mlcli.core.graph.search import Lists, nearest
from mlcli.core.metrics.angles import Cosine
from mlcli.core.metrics.minkowski import Cityblock
from mlcli.core.paths.paths import Paths
from mlcli.errors import GeometryError
from mlcli.native.paths import Join
from tests.support import Notes, dissimilarities, distances, features, fit
from tests.wording import Wording

GENERATOR = np.random.default_rng(4)
POINTS_OF_A_LINE = np.arange(6.0)[:, None]
CLUSTERS = np.vstack([GENERATOR.standard_normal((30, 2)), GENERATOR.standard_normal((20, 2)) + [50, 0],
                      GENERATOR.standard_normal((12, 2)) + [0, 90]])


def in_each_form(points: Array) -> list[Spatial]:
    """The points (n x d) as features with several metrics, and as distances."""
    plain = features(points)
    return [plain, *(replace(plain, metric=metric) for metric in (Cosine(), Cityblock())),
            dissimilarities(cdist(points, points))]


def test_a_zero_length_is_an_edge() -> None:
    points = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0]])
    graph = graph_of(nearest(points, 2), "union")
    assert graph.pieces().max() == 0
    for algorithm in ("dijkstra", "floyd"):
        paths = Paths(algorithm=algorithm).distances(graph, Compute())
        assert paths[0, 1] == 0
        assert paths[0, 5] == 2


def test_duplicates_do_not_change_geodesics() -> None:
    points = GENERATOR.standard_normal((30, 2))
    plain = Paths().distances(graph_of(nearest(points, 6), "union"), Compute())
    rows = np.concatenate([np.arange(30), [3, 3, 17]])
    graph = graph_of(nearest(points, 6), "union")
    left, lengths = np.repeat(np.arange(30), np.diff(graph.starts)), graph.lengths
    collapsed = undirected(33, np.concatenate([left, [30, 31, 32]]), np.concatenate([graph.indices, [3, 3, 17]]),
                           np.concatenate([lengths, [0.0, 0.0, 0.0]]), "union")
    assert np.allclose(Paths().distances(collapsed, Compute()), plain[np.ix_(rows, rows)], rtol=1e-14)


def test_mutual_neighbors_are_neighbors_both_ways() -> None:
    lists = nearest(CLUSTERS, 5)
    named = set(zip(lists.rows.tolist(), lists.indices.tolist(), strict=True))
    mutual, union = graph_of(lists, "mutual"), graph_of(lists, "union")
    assert mutual.edges == len({(i, j) for i, j in named if (j, i) in named and i < j})
    assert union.edges == len({tuple(sorted(pair)) for pair in named})


def test_pieces_are_numbered_by_size() -> None:
    assert np.bincount(graph_of(nearest(CLUSTERS, 5), "union").pieces()).tolist() == [30, 20, 12]


def test_pieces_are_an_error_that_says_what_would_help() -> None:
    with pytest.raises(GeometryError) as caught:
        fit("isomap", CLUSTERS, neighbors=5)
    message = str(caught.value)
    assert "3 pieces of 30, 20, 12 points" in message
    assert "31, 32" in message
    suggested = int(message.split("use ")[1].split()[0])
    fit("isomap", CLUSTERS, neighbors=suggested)
    with pytest.raises(GeometryError):
        fit("isomap", CLUSTERS, neighbors=suggested - 1)


def test_the_radius_that_connects_is_suggested_too() -> None:
    with pytest.raises(GeometryError) as caught:
        fit("isomap", CLUSTERS, neighbors={"radius": 3.0})
    suggested = float(str(caught.value).split("radius of ")[1].split()[0])
    fit("isomap", CLUSTERS, neighbors={"radius": suggested * (1 + 1e-5)})
    with pytest.raises(GeometryError):
        fit("isomap", CLUSTERS, neighbors={"radius": suggested * (1 - 1e-5)})


def test_more_neighbors_are_the_last_advice_where_it_takes_many() -> None:
    """A point's nearest are all in its own cluster, until there are no more."""
    draw = np.random.default_rng(0).standard_normal((140, 2))
    draw[70:] += 1e3
    with pytest.raises(GeometryError) as caught:
        fit("isomap", draw, neighbors=5)
    hint = caught.value.hint
    assert hint.index("largest") < hint.index("more than 50 neighbors")


@pytest.mark.parametrize("method", ["isomap", "laplacian", "lle", "mlle", "ltsa", "hlle", "sde", "lpp", "npe"])
def test_clusters_are_refused_without_another_search(method: str, monkeypatch: pytest.MonkeyPatch,
                                                     wording: Wording) -> None:
    """The lists tell the pieces, and bounds that nothing near joins them; what most need then stands first."""
    draw = np.random.default_rng(0).standard_normal((180, 4))
    draw[60:120] += 1e3
    draw[120:] -= 1e3

    def refuse(*given: object) -> Lists:
        raise AssertionError("another search for neighbors")

    monkeypatch.setattr(pieces, "nearest_lists", refuse)
    monkeypatch.setattr(connecting, "nearest_of_some", refuse)
    monkeypatch.setattr(connecting, "nearest_outside", refuse)
    with pytest.raises(GeometryError) as caught:
        fit(method, draw, neighbors=8)
    assert wording(caught.value) in (["E-PIECES"], ["E-OVERLAP"])


def test_a_refusal_holds_no_matrix_of_all_pairs() -> None:
    draw = np.random.default_rng(0).standard_normal((3000, 5)) + 100.0 * (np.arange(3000) % 3)[:, None]
    tracemalloc.start()
    with pytest.raises(GeometryError):
        fit("laplacian", draw, neighbors=8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 3000**2 / 4


@pytest.mark.parametrize("rule", ["union", "mutual"])
@pytest.mark.parametrize("seed", range(6))
def test_the_fewest_neighbors_up_to_a_bound_are_those_of_every_count_tried(rule: Literal["union", "mutual"],
                                                                          seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((60, 3)) + 1.0
    points[: 15 + seed] += 3.0 + seed % 3
    points[-3:] = points[-1]
    for data in in_each_form(points):
        joined = [count for count in range(1, 31) if graph_of(nearest_lists(data, count), rule).pieces().max() == 0]
        expected = joined[0] if joined else None
        for start in {1, 2, 3} - set(joined):
            assert fewest_neighbors(data, nearest_lists(data, start), None if rule == "union" else (
                lambda lists: graph_of(lists, rule).pieces().max() == 0), 30) == expected


@pytest.mark.parametrize("size", [1000, 2])
def test_the_longest_link_of_one_pass_is_that_of_the_shortest_links(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "PAIRED", size)
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(8), [20, 10, 9, 8, 7, 5, 2, 1]))
    for data in in_each_form(CLUSTERS):
        expected = connecting.shortest_links(data, labels)[2].max()
        assert connecting.connecting_link(data, labels) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", ["isomap", "lle"])
def test_the_largest_piece_is_the_fit_of_its_rows(method: str) -> None:
    with Notes() as notes:
        model = fit(method, CLUSTERS, neighbors={"count": 8, "pieces": "largest"})
    assert "W-LARGEST-PIECE" in notes.codes
    assert model.kept is not None and model.kept.tolist() == list(range(30))
    assert np.allclose(model.embedding, fit(method, CLUSTERS[:30], neighbors=8).embedding, atol=1e-8)


def test_connecting_adds_the_shortest_links() -> None:
    with Notes() as notes:
        graph, kept = connected_graph(features(CLUSTERS), Nearest(5), "connect", "union")
    assert kept is None
    plain = graph_of(nearest(CLUSTERS, 5), "union")
    assert graph.edges == plain.edges + 2
    assert [note.facts["edges"] for note in notes.notes if note.code == "W-CONNECTED"] == [2]
    apart = distances(CLUSTERS)
    expected = sorted([apart[:30, 30:50].min(), min(apart[:30, 50:].min(), apart[30:50, 50:].min())])
    added = np.setdiff1d(graph.lengths, plain.lengths)
    assert np.allclose(np.sort(added), expected)


def test_connecting_by_dissimilarities_is_the_same() -> None:
    left, _ = connected_graph(features(CLUSTERS), Nearest(5), "connect", "union")
    right, _ = connected_graph(dissimilarities(distances(CLUSTERS)), Nearest(5), "connect", "union")
    assert np.array_equal(left.indices, right.indices)
    assert np.allclose(left.lengths, right.lengths)


def test_lle_connects_closed_groups() -> None:
    lists, kept = connected_lists(features(CLUSTERS), Nearest(5), "connect")
    assert kept is None
    assert lists.counts.max() > 5
    model = fit("lle", CLUSTERS, neighbors={"count": 5, "pieces": "connect"})
    assert np.isfinite(model.embedding).all()


@pytest.mark.parametrize("clusters", [2, 7])
def test_each_round_of_connecting_halves_the_closed_groups(clusters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed group that only took in the points that lead into it would grow through its cluster one by one."""
    generator = np.random.default_rng(0)
    points = np.vstack([generator.standard_normal((120, 8)) + 50 * place for place in range(clusters)])
    groups = closed_groups(nearest(points, 4))
    rounds: list[int] = []

    def counted(data: Features, groups: Indices, rows: Indices) -> tuple[Indices, Array]:
        rounds.append(len(rows))
        return nearest_outside(data, groups, rows)

    monkeypatch.setattr(connecting, "nearest_outside", counted)
    lists, kept = connected_lists(features(points), Nearest(4), "connect")
    assert kept is None
    assert len(set(closed_groups(lists).tolist()) - {-1}) == 1
    assert 1 <= len(rounds) <= np.log2(len(set(groups.tolist()) - {-1}))


def test_lle_names_a_group_that_looks_only_at_itself(wording: Wording) -> None:
    """In one piece, because the point in the middle looks at both groups; but neither group looks out."""
    line = np.array([0, 0.1, 0.2, 0.3, 5.2, 10, 10.1, 10.2, 10.3])
    points = np.column_stack([line, 0 * line])
    for policy in ("error", "largest"):
        with pytest.raises(GeometryError) as caught:
            fit("lle", points, neighbors={"count": 3, "pieces": policy})
        assert caught.value.code == "E-CLOSED-GROUPS"
        assert "E-CLOSED-GROUPS" in wording(caught.value)
    assert fit("lle", points, neighbors={"count": 3, "pieces": "connect"}).embedding.shape == (9, 2)


def test_isolated_points_of_a_radius_graph_are_pieces() -> None:
    points = np.vstack([GENERATOR.standard_normal((20, 2)), [[100.0, 100.0]]])
    with pytest.raises(GeometryError) as caught:
        fit("isomap", points, neighbors={"radius": 2.5})
    assert caught.value.code == "E-PIECES" and ": 21; " in str(caught.value)
    for method in ("isomap", "lle"):
        model = fit(method, points, neighbors={"radius": 30.0, "pieces": "largest"})
        assert model.kept is not None and len(model.kept) == 20


def test_more_duplicates_than_neighbors_split_the_graph_and_it_says_so() -> None:
    points = np.vstack([np.zeros((15, 2)), GENERATOR.standard_normal((30, 2)) + 5])
    with pytest.raises(GeometryError):
        fit("isomap", points, neighbors=5)
    model = fit("isomap", points, neighbors={"count": 5, "pieces": "connect"})
    assert np.ptp(model.embedding[:15], axis=0).max() < 1e-6


def test_a_radius_far_beyond_the_data_joins_everyone() -> None:
    """Also where the radius in the units of the computation, or its square, is no finite number."""
    points = POINTS_OF_A_LINE * 1e-200
    for radius in (1.0, 1e150):
        model = fit("isomap", points, neighbors={"radius": radius}, components=1)
        assert np.allclose(model.embedding, fit("isomap", points, neighbors=5, components=1).embedding)
        assert np.allclose(model.project(points), model.embedding)


def with_shares(count: int, nearby: int) -> Lists:
    """Neighbor lists of random points with numbers from zero on, some of which are zero."""
    generator = np.random.default_rng(8)
    lists = nearest(generator.standard_normal((count, 3)), nearby)
    return Lists(lists.starts, lists.indices, generator.random(len(lists.indices)) * (generator.random(
        len(lists.indices)) < 0.9))


def joined(numbers: Array, join: Join) -> Array:
    """What the numbers (n x n) of a pair become, for a divisor of 3 and a mix of 0.75."""
    both = numbers * numbers.T
    return {"sum": numbers / 3 + numbers.T / 3, "mixture": 0.75 * (numbers + numbers.T - both) + 0.25 * both,
            "larger": np.maximum(numbers, numbers.T)}[join]


@pytest.mark.parametrize("longest", [4096, 0])  # by the kernel, and by NumPy
@pytest.mark.parametrize("join", ["sum", "mixture", "larger"])
def test_both_lists_of_a_pair_make_one_number(join: Join, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.core.graph.graph.LONGEST", longest)
    lists = with_shares(150, 7)
    listed, numbers = np.zeros((150, 150), dtype=bool), np.zeros((150, 150))
    listed[lists.rows, lists.indices], numbers[lists.rows, lists.indices] = True, lists.lengths
    expected = joined(numbers, join)
    kept = listed | listed.T if join == "larger" else expected != 0
    starts, columns, found = symmetrize(lists, join, divisor=3.0, mix=0.75)
    assert starts.tolist() == np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).tolist()
    assert (columns.dtype, columns.tolist()) == (np.int32, np.nonzero(kept)[1].tolist())
    assert found.tobytes() == expected[kept].tobytes()
    single = symmetrize(lists, join, divisor=3.0, mix=0.75, single=True)[2]
    rounded = joined(numbers.astype(np.float32).astype(np.float64), join)
    assert single.tobytes() == rounded[kept].astype(np.float32).tobytes()


def test_lists_of_vertices_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="out of range"):
        symmetrize(Lists(np.array([0, 1, 2]), np.array([1, 2]), np.ones(2)), "sum")
