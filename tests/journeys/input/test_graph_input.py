"""A graph as the input: the same numbers as from the points it was made of, and clear ends where there are none."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph
from mlcli.core.graph import pieces
from mlcli.core.graph.graph import Graph, undirected
from mlcli.methods import METHODS
from tests.journeys.support import Called, Caller
from tests.wording import Wording


@pytest.fixture(autouse=True)
def points() -> Array:
    """A surface in space, with two equal points."""
    generator = np.random.default_rng(5)
    flat = generator.random((60, 2)) * [6, 3]
    values = 1e4 * np.column_stack([np.sin(flat[:, 0]), np.cos(flat[:, 0]), flat[:, 1]])
    values[9] = values[30]
    np.save("points.npy", values)
    return values


def made(called: Called) -> Called:
    assert called.code == 0, called.err
    return called


def kept(mlcli: Caller, method: str, *more: str) -> None:
    made(mlcli.bare("points.npy", "-m", method, "-k", "7", "-o", "first", "--keep", "graph", "-q", *more))


def same(*names: str) -> None:
    for name in names:
        assert Path("first", name).read_bytes() == Path("second", name).read_bytes(), name


@pytest.mark.parametrize("more", [(), ("method.paths.algorithm=dijkstra",), ("method.paths.algorithm=floyd",),
                                  ("method.paths.store=streamed",), ("method.landmarks=20",)])
def test_a_graph_kept_and_fed_back_gives_the_bytes_of_isomap(mlcli: Caller, more: tuple[str, ...]) -> None:
    options = [part for one in more for part in ("--set", one)]
    kept(mlcli, "isomap", *options)
    made(mlcli.bare("--graph", "first/graph.npz", "-m", "isomap", "-o", "second", "-q", *options))
    same("embedding.csv", "spectrum.csv")
    made(mlcli("verify", "--full", "second"))


@pytest.mark.parametrize("weights", ["binary", "heat"])
def test_a_graph_kept_and_fed_back_gives_the_same_laplacian(mlcli: Caller, weights: str) -> None:
    options = ("--set", f"method.weights.name={weights}")
    kept(mlcli, "laplacian", *options)
    made(mlcli.bare("--graph", "first/graph.npz", "-m", "laplacian", "-o", "second", "-q", *options))
    same("embedding.csv", "spectrum.csv")


def test_given_affinities_are_kept_as_they_were_given(mlcli: Caller) -> None:
    given = sparse.csr_array([[0.0, 3e9, 1e9], [3e9, 0.0, 7e8], [1e9, 7e8, 0.0]])
    sparse.save_npz("given.npz", given)
    made(mlcli.bare("--graph", "given.npz", "--set", "input.edges=affinities", "-m", "laplacian", "-p", "1",
                    "--keep", "weights,graph", "-o", "first", "-q"))
    for name in ("weights", "graph"):
        assert np.array_equal(sparse.load_npz(f"first/{name}.npz").toarray(), given.toarray())


@pytest.mark.medium
@pytest.mark.parametrize(("method", "edges"), [("isomap", "lengths"), ("sde", "lengths"), ("laplacian", "lengths"),
                                               ("laplacian", "affinities")])
def test_a_method_written_out_takes_the_graph_that_it_takes(mlcli: Caller, points: Array, method: str,
                                                            edges: str) -> None:
    kept(mlcli, "laplacian", "--keep", "weights", "--set", "method.weights.name=heat")
    given = ("--set", f"input.path=first/{'graph' if edges == 'lengths' else 'weights'}.npz", "--set",
             "input.kind=graph", "--set", f"input.edges={edges}", "-q", "--force")
    Path("chain.yaml").write_text(made(mlcli("methods", method, "--yaml")).out, encoding="utf-8")
    Path("named.yaml").write_text(f"method: {{name: {method}}}", encoding="utf-8")
    made(mlcli("run", "chain.yaml", *given, "-o", "second"))
    made(mlcli("run", "named.yaml", *given, "-o", "named"))
    for name in ("embedding.csv", "spectrum.csv"):
        assert Path("second", name).read_bytes() == Path("named", name).read_bytes()
    made(mlcli("verify", "--full", "second"))


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
def test_a_function_of_path_lengths_is_the_same_of_the_graph(mlcli: Caller, kernel: str) -> None:
    chain = ("--set", "method.paths={}", "--set", f"method.kernel.name={kernel}", "--set", "method.centering=none")
    kept(mlcli, "chain", *chain)
    made(mlcli.bare("--graph", "first/graph.npz", "-m", "chain", "-o", "second", "-q", *chain))
    same("embedding.csv", "spectrum.csv")
    made(mlcli("verify", "--full", "second"))
    assert "features" in mlcli("project", "second", "points.npy").err


@pytest.mark.parametrize(("options", "edges", "path"), [
    ({}, "lengths", "method.paths"), ({"kernel": {"name": "linear"}}, "lengths", "method.kernel.name"),
    ({"kernel": {"name": "reconstruction"}}, "lengths", "method.kernel.name"),
    ({"paths": {}}, "affinities", "input"), ({"metric": "cosine", "paths": {}}, "lengths", "method.metric"),
    ({"paths": {}, "graph": {"neighbors": {"count": 3}}}, "lengths", "method.graph.neighbors.count"),
    ({"paths": {}, "graph": {"rule": "mutual"}}, "lengths", "method.graph.rule"),
    ({"kernel": {"name": "unfolding", "ridge": 0.5}}, "lengths", "method.kernel.ridge"),
    ({"paths": {}, "graph": {"neighbors": {"pieces": "connect"}}}, "lengths", "method.graph.neighbors.pieces"),
    ({"kernel": {"name": "graph_laplacian", "weights": {"name": "given"}}}, "lengths", "method.kernel.weights.name")])
def test_a_chain_says_what_it_cannot_do_with_a_graph(mlcli: Caller, options: dict[str, Any], edges: str,
                                                     path: str) -> None:
    sparse.save_npz("graph.npz", sparse.csr_array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 2, 0.0]]))
    given = json.dumps({"name": "chain", **options})
    called = mlcli.bare("--graph", "graph.npz", "--set", f"input.edges={edges}", "--set", f"method={given}")
    assert called.code == 78 and path in called.err


@pytest.mark.parametrize("normalized", [True, False])
def test_commute_times_carry_the_unit_of_affinities(normalized: bool) -> None:
    """Of affinities a times as large, distances of commuting times are the root of a times smaller (L⁺ over a)."""
    chain = METHODS["chain"].model_validate({"name": "chain", "kernel": {
        "name": "graph_laplacian", "normalized": normalized}})
    weights = 1 / (1 + np.abs(np.subtract.outer(*2 * [np.arange(5.0) ** 2])))
    rows, columns = np.nonzero(1 - np.eye(5))
    graphs = [AffinityGraph(np.zeros((5, 0)), tuple("abcde"), starts=np.arange(6) * 4, indices=columns,
                            weights=factor * weights[rows, columns]) for factor in (1.0, 2.0**41)]
    first, second = (chain.resolve(graph).fit(graph, Compute()) for graph in graphs)
    factor = 1.0 if normalized else 2.0**41
    np.testing.assert_allclose(first.ranks.values, factor * second.ranks.values, rtol=1e-12)
    np.testing.assert_allclose(first.embedding, factor**0.5 * second.embedding, rtol=1e-12)


@pytest.mark.parametrize("normalized", [True, False])
def test_costs_carry_the_unit_of_given_affinities_unless_they_are_shares(normalized: bool) -> None:
    options: dict[str, Any] = {"normalized": normalized, "weights": {"name": "given"}}
    weights = np.abs(np.subtract.outer(*2 * [np.arange(5.0)]))
    rows, columns = np.nonzero(weights)
    models = [METHODS["laplacian"](**options).fit(
        AffinityGraph(np.zeros((5, 0)), tuple("abcde"), starts=np.arange(6) * 4, indices=columns,
                      weights=unit * weights[rows, columns]), Compute()) for unit in (1.0, 2.0**40)]
    assert np.array_equal(models[0].embedding, models[1].embedding)
    assert np.array_equal(models[0].ranks.values, models[1].ranks.values * (1.0 if normalized else 2.0**40))


@pytest.mark.parametrize("normalized", ["true", "false"])
def test_affinities_are_the_weights(mlcli: Caller, normalized: str) -> None:
    options = ("--set", f"method.normalized={normalized}")
    kept(mlcli, "laplacian", "--keep", "weights", "--set", "method.weights={name: heat, rate: 1e-7}", *options)
    weights = sparse.load_npz("first/weights.npz")
    sparse.save_npz("scaled.npz", 2.0**40 * weights)
    for name, factor in (("first/weights.npz", 1.0), ("scaled.npz", 2.0**40)):
        made(mlcli.bare("--graph", name, "--set", "input.edges=affinities", "-m", "laplacian", "-o", "second", "-q",
                        "--force", *options))
        first, second = (np.genfromtxt(f"{run}/embedding.csv", delimiter=",", skip_header=1)[:, 1:]
                         for run in ("first", "second"))
        assert np.abs(first - second).max() <= 1e-7 * np.abs(first).max()
        first, second = (np.genfromtxt(f"{run}/spectrum.csv", delimiter=",", skip_header=1)[:, 1]
                         for run in ("first", "second"))
        scale = factor if normalized == "false" else 1.0
        assert np.allclose(first, scale * second, rtol=1e-7)
        made(mlcli("verify", "--full", "second"))


@pytest.mark.parametrize("more", [(), ("--set", "method.constraints=at_most"), ("--set", "method.basis=12")])
def test_a_graph_kept_and_fed_back_gives_the_bytes_of_an_unfolding(mlcli: Caller, more: tuple[str, ...]) -> None:
    made(mlcli.bare("points.npy", "-m", "sde", "-k", "5", "-o", "first", "--keep", "graph", "-q", *more))
    made(mlcli.bare("--graph", "first/graph.npz", "-m", "sde", "-o", "second", "-q", *more))
    if more:  # of points, faces are made of their coordinates
        same("embedding.csv", "spectrum.csv")
    made(mlcli("verify", "--full", "second"))


def test_isomap_of_a_complete_graph_is_mds(mlcli: Caller, points: Array) -> None:
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    rows, columns = np.triu_indices(60, 1)
    sparse.save_npz("all.npz", sparse.coo_array((apart[rows, columns], (rows, columns)), shape=(60, 60)))
    np.save("apart.npy", apart)
    made(mlcli.bare("--graph", "all.npz", "-m", "isomap", "-p", "3", "-o", "first", "-q"))
    made(mlcli.bare("--dissimilarities", "apart.npy", "-m", "mds", "-p", "3", "-o", "second", "-q"))
    first, second = (np.genfromtxt(f"{run}/embedding.csv", delimiter=",", skip_header=1) for run in ("first", "second"))
    assert np.abs(first - second).max() <= 1e-10 * np.abs(first).max()


TWO = "source,target,length\na,b,1\nb,c,2\nc,a,1.5\nd,e,1\n"


def test_pieces_are_refused_left_out_and_never_connected(mlcli: Caller, wording: Wording) -> None:
    Path("two.csv").write_text(TWO)
    given = ("embed", "--graph", "two.csv", "-m", "isomap", "-p", "1", "-q")
    called = mlcli(*given)
    assert called.code == 81
    assert "E-PIECES" in wording(called.err)
    assert "connect" not in called.err
    called = mlcli(*given, "--set", "method.neighbors.pieces=connect")
    assert (called.code, "E-UNUSED" in called.err) == (78, True)
    made(mlcli(*given, "--set", "method.neighbors.pieces=largest", "-o", "first", "--keep", "graph"))
    assert [line.partition(",")[0] for line in Path("first/embedding.csv").read_text().splitlines()[1:]] == [*"abc"]
    assert sparse.load_npz("first/graph.npz").shape == (3, 3)
    assert "d,4," in Path("first/dropped.csv").read_text()
    made(mlcli("verify", "--full", "first"))


@pytest.mark.parametrize(("options", "code", "said"), [
    (("-m", "lle"), 78, "E-KIND"), (("-m", "pca"), 78, "E-KIND"), (("-m", "mds"), 78, "E-KIND"),
    (("-m", "isomap", "-k", "4"), 78, "method.neighbors.count"),
    (("-m", "isomap", "--radius", "4"), 78, "method.neighbors.radius"),
    (("-m", "isomap", "--set", "method.graph=mutual"), 78, "method.graph"),
    (("-m", "sde", "--set", "method.common_neighbors=true"), 78, "method.common_neighbors"),
    (("-m", "isomap", "--set", "input.edges=affinities"), 78, "E-NEEDS"),
    (("-m", "isomap", "--scale", "standard"), 78, "prepare.scale"),
    (("-m", "laplacian", "--set", "input.edges=affinities", "--set", "method.weights.name=heat"), 78, "E-WEIGHTS"),
    (("-m", "laplacian", "--set", "method.weights.name=given"), 78, "E-WEIGHTS")])
def test_what_has_no_use_with_a_graph_is_refused(mlcli: Caller, options: tuple[str, ...], code: int, said: str) -> None:
    Path("edges.csv").write_text(TWO.replace("d,e", "a,d").replace("length", "weight"))
    called = mlcli("embed", "--graph", "edges.csv", *options, "-o", "-")
    assert (called.code, said in called.err, called.out) == (code, True, ""), called.err


def test_given_weights_need_a_graph_with_affinities(mlcli: Caller) -> None:
    called = mlcli("embed", "points.npy", "-m", "laplacian", "--set", "method.weights.name=given", "-o", "-")
    assert (called.code, "E-WEIGHTS" in called.err) == (78, True)


@pytest.mark.parametrize("method", ["isomap", "sde", "laplacian"])
def test_new_points_are_refused_before_they_are_read(mlcli: Caller, method: str) -> None:
    Path("edges.csv").write_text(TWO.replace("d,e", "a,d"))
    made(mlcli.bare("--graph", "edges.csv", "-m", method, "-p", "1", "-o", "first", "-q"))
    called = mlcli("project", "first", "missing.csv")
    assert (called.code, "E-NO-PROJECTION" in called.err) == (78, True)


def test_a_graph_of_lengths_zero_and_one_point(mlcli: Caller) -> None:
    Path("edges.csv").write_text("source,target,length\na,b,0\nb,c,0\n")
    assert "E-ALL-EQUAL" in mlcli("embed", "--graph", "edges.csv", "-m", "isomap", "-o", "-").err
    sparse.save_npz("one.npz", sparse.csr_array((1, 1)))
    assert "E-ONE-ROW" in mlcli("embed", "--graph", "one.npz", "-m", "isomap", "-o", "-").err


def test_lengths_that_no_points_have_are_not_unfolded(mlcli: Caller) -> None:
    Path("edges.csv").write_text("source,target,length\na,b,1\nb,c,1\nc,a,5\n")
    called = mlcli("embed", "--graph", "edges.csv", "-m", "sde", "-p", "1", "-o", "-")
    assert called.code != 0
    assert "internal" not in called.err.lower()


def test_numbers_of_any_size(mlcli: Caller) -> None:
    kept(mlcli, "isomap")
    graph = sparse.load_npz("first/graph.npz")
    for power in (-900, 900):
        sparse.save_npz("graph.npz", graph * 2.0**power)
        made(mlcli.bare("--graph", "graph.npz", "-m", "isomap", "-o", "second", "-q", "--force"))
        first, second = (np.genfromtxt(f"{run}/embedding.csv", delimiter=",", skip_header=1)[:, 1:]
                         for run in ("first", "second"))
        assert np.allclose(np.ldexp(second, -power), first, rtol=1e-9)


def test_the_checkup_of_a_graph(mlcli: Caller) -> None:
    Path("edges.csv").write_text("source,target,length\na,b,1\nb,c,0\nc,a,5\nd,e,1\n")
    document = json.loads(made(mlcli("check", "--graph", "edges.csv", "--json")).out)
    assert document["edges"] == {
        "numbers": "lengths", "edges": 4, "zeros": 1, "smallest": 0.0, "largest": 5.0, "fewest": 1, "most": 2,
        "hub": "a", "pieces": 2, "piece_sizes": [3, 2], "detours": 1}
    assert [found["code"] for found in document["findings"]] == ["C-GRAPH-PIECES", "C-DETOURS"]
    assert "longer than a path          1 edge" in made(mlcli("check", "--graph", "edges.csv")).out
    assert mlcli("check", "--graph", "edges.csv", "--strict").code == 65


def test_the_plan_of_a_graph(mlcli: Caller) -> None:
    kept(mlcli, "isomap")
    called = made(mlcli("plan", "--graph", "first/graph.npz", "-m", "isomap"))
    assert called.out.startswith("isomap: a graph of 60 points")


@pytest.mark.parametrize("change", ["length", "edge"])
def test_the_certificate_sees_edges_that_were_not_given(mlcli: Caller, monkeypatch: pytest.MonkeyPatch,
                                                        change: str) -> None:
    kept(mlcli, "isomap")
    whole = pieces._require_one_piece

    def wrong(*given: Any) -> tuple[Graph, None]:
        graph, _ = whole(*given)
        rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
        once = rows < graph.indices
        left, right, lengths = rows[once], graph.indices[once], graph.lengths[once]
        lengths[3] *= 1 + 1e-12 if change == "length" else 1.0
        chosen = slice(None) if change == "length" else np.arange(len(left)) != 3
        return undirected(graph.size, left[chosen], right[chosen], lengths[chosen], "union"), None

    monkeypatch.setattr(pieces, "_require_one_piece", wrong)
    called = mlcli.bare("--graph", "first/graph.npz", "-m", "isomap", "-o", "second", "-q")
    assert (called.code, "check 'edges'" in called.err) == (80, True), called.err
