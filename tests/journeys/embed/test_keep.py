"""What `report.keep` writes is what the fit made: in SciPy's and NumPy's formats, in the input's units."""

import csv
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from mlcli.base.types import Array, Indices
from mlcli.base.values.products import Square
from mlcli.base.values.scaling import Unit
from mlcli.methods import METHODS
from tests.journeys.support import Caller
from tests.support import distances
from tests.wording import Wording

KEPT = {"graph": "graph.npz", "weights": "weights.npz", "distances": "distances.npy", "kernel": "kernel.npy",
        "uncentered": "uncentered.npy"}


@pytest.fixture(autouse=True)
def points() -> Array:
    """Points of a large unit, two of them equal."""
    values = np.random.default_rng(3).standard_normal((40, 3)) * [3e6, 2e6, 1e6]
    values[7] = values[21]
    np.save("points.npy", values)
    np.save("between.npy", distances(values))
    return values


def eigenvalues(folder: str) -> Array:
    """The eigenvalues of the kernel of a run."""
    with Path(folder, "spectrum.csv").open(encoding="utf-8") as file:
        shown = np.array([float(row["eigenvalue"]) for row in csv.DictReader(file)])
    return shown * float(json.loads(Path(folder, "run.json").read_text())["spectrum"]["divisor"])


def kept(mlcli: Caller, method: str, names: str, *more: str, data: str = "points.npy") -> None:
    called = mlcli.bare(data, "-m", method, "--keep", names, "-o", method, "-q", *more)
    assert called.code == 0, called.err


@pytest.mark.parametrize("method", ["isomap", "mds", "kpca", "sde"])
def test_the_kernel_is_the_one_that_was_solved(mlcli: Caller, method: str) -> None:
    kept(mlcli, method, "kernel", *(["-k", "6"] if method in ("isomap", "sde") else []))
    kernel = np.load(f"{method}/kernel.npy")
    assert np.array_equal(kernel, kernel.T)
    assert np.abs(kernel.sum(axis=0)).max() <= 1e-12 * np.abs(kernel).max() * len(kernel)
    told = eigenvalues(method)
    found = np.linalg.eigvalsh(kernel)[::-1]
    assert np.abs(found[: len(told)] - told).max() <= 1e-12 * found[0]


@pytest.mark.parametrize(("method", "more"), [
    ("isomap", ("-k", "6")), ("mds", ()), ("kpca", ("--set", "method.kernel.name=polynomial")),
    ("kpca", ("--kernel", "gaussian"))])
def test_the_kernel_before_centering_is_centered_to_that_which_was_solved(mlcli: Caller, method: str,
                                                                          more: tuple[str, ...]) -> None:
    distant = method in ("isomap", "mds")
    kept(mlcli, method, "kernel,uncentered" + ",distances" * distant, *more)
    before, kernel = np.load(f"{method}/uncentered.npy"), np.load(f"{method}/kernel.npy")
    centered = before - before.mean(axis=0) - before.mean(axis=1)[:, None] + before.mean()
    assert np.abs(centered - kernel).max() <= 1e-12 * np.abs(before).max() * len(before)
    if distant:
        np.testing.assert_allclose(before, -np.load(f"{method}/distances.npy") ** 2 / 2, rtol=1e-12)
    elif "gaussian" in more:
        assert (np.diag(before) == 1).all() and (before > 0).all()


def test_a_kernel_that_is_not_centered_has_none_before_centering(mlcli: Caller, wording: Wording) -> None:
    for more in (["-m", "sde", "-k", "6"], ["-m", "chain", "--kernel", "gaussian", "--set", "method.centering=none"]):
        called = mlcli.bare("points.npy", *more, "--keep", "uncentered", "-o", "none", "-q")
        assert called.code == 78 and wording(called.err) == ["E-KEEP"]


def test_edges_of_length_zero_survive_and_paths_on_the_graph_are_the_distances(mlcli: Caller, points: Array) -> None:
    kept(mlcli, "isomap", "graph,distances", "-k", "6")
    graph, paths = sparse.load_npz("isomap/graph.npz"), np.load("isomap/distances.npy")
    rows, columns = graph.tocoo().coords
    assert 0.0 in graph.data
    assert (21, 7) in zip(rows.tolist(), columns.tolist(), strict=True)
    assert np.allclose(graph.data, distances(points)[rows, columns], rtol=1e-12, atol=0)
    assert np.allclose(dijkstra(graph), paths, rtol=1e-12, atol=0)
    assert np.array_equal(paths, paths.T)


@pytest.mark.parametrize("correction", ["none", "lingoes", "cailliez"])
@pytest.mark.parametrize("data", ["points.npy", "between.npy"])
def test_distances_fed_back_give_the_same_spectrum(mlcli: Caller, correction: str, data: str) -> None:
    np.save("between.npy", np.load("between.npy") ** 1.4)  # which no points have
    square = ["--dissimilarities"] if data == "between.npy" else []
    kept(mlcli, "mds", "distances", "--set", f"method.correction={correction}", *square, data=data)
    again = mlcli.bare("mds/distances.npy", "-m", "mds", "--dissimilarities", "-o", "again", "-q")
    assert again.code == 0, again.err
    first, second = eigenvalues("mds"), eigenvalues("again")
    few = min(len(first), len(second))
    assert np.abs(first[:few] - second[:few]).max() <= 1e-12 * first[0]


def test_weights_reproduce_points_from_their_neighbors(mlcli: Caller, points: Array) -> None:
    kept(mlcli, "lle", "weights", "-k", "6")
    weights = sparse.load_npz("lle/weights.npz")
    assert np.abs(weights.sum(axis=1) - 1).max() <= 1e-12
    assert np.linalg.norm(weights @ points - points) <= 0.5 * np.linalg.norm(points)
    assert np.diff(weights.indptr).tolist() == [6] * 40


def test_affinities_have_the_edges_of_the_graph(mlcli: Caller) -> None:
    kept(mlcli, "laplacian", "graph,weights", "-k", "6", "--set", "method.weights={name: heat, rate: 1e-13}")
    graph, weights = (sparse.load_npz(f"laplacian/{name}.npz") for name in ("graph", "weights"))
    assert np.array_equal(graph.indices, weights.indices)
    assert np.allclose(weights.data, np.exp(-1e-13 * graph.data**2), rtol=1e-9, atol=0)


@pytest.mark.parametrize("data", ["points.npy", "labeled.csv"])
def test_the_fuzzy_graph_is_kept_with_lengths_and_memberships(mlcli: Caller, points: Array, data: str) -> None:
    """Of umap, also where labels take edges away; memberships given as affinities have the same layout."""
    Path("labeled.csv").write_text("a,b,c,group\n" + "".join(
        f"{','.join(map(repr, row))},{'xy'[place % 2]}\n" for place, row in enumerate(points.tolist())))
    more = ["--set", "method.target_weight=1"] * (data == "labeled.csv")
    shared = "--set", "method.epochs=20", "--format", "npy"
    kept(mlcli, "umap", "graph,weights", "-k", "6", *shared, *more, data=data)
    graph, weights = (sparse.load_npz(f"umap/{name}.npz") for name in ("graph", "weights"))
    fit = json.loads(Path("umap/run.json").read_text())["fit"]
    rows, columns = weights.tocoo().coords
    assert np.array_equal(graph.indices, weights.indices) and np.array_equal(graph.indptr, weights.indptr)
    assert np.allclose(graph.data, distances(points)[rows, columns], rtol=1e-12, atol=0)
    assert weights.nnz == 2 * fit["edges"] and weights.sum() == pytest.approx(fit["membership"], rel=1e-12)
    assert abs(weights - weights.T).max() < 1e-15 and weights.max() <= 1
    if more:
        assert ((rows + columns) % 2 == 0).all()
    called = mlcli.bare("umap/weights.npz", "-m", "umap", "--set", "input.kind=graph", "--set",
                        "input.edges=affinities", *shared, "-o", "again", "-q")
    assert called.code == 0, called.err
    assert Path("umap/embedding.npy").read_bytes() == Path("again/embedding.npy").read_bytes()


@pytest.mark.medium
def test_files_are_named_hashed_reproduced_and_replaced(mlcli: Caller) -> None:
    kept(mlcli, "isomap", "graph,distances,kernel,graph", "-k", "6")
    files = json.loads(Path("isomap/run.json").read_text())["files"]
    assert {"graph.npz", "distances.npy", "kernel.npy"} <= files.keys()
    before = {name: Path("isomap", name).read_bytes() for name in ("graph.npz", "distances.npy", "kernel.npy")}
    assert mlcli("verify", "isomap").code == 0
    kept(mlcli, "isomap", "graph,distances,kernel", "-k", "6", "--force")
    assert before == {name: Path("isomap", name).read_bytes() for name in before}
    Path("isomap/graph.npz").write_bytes(b"")
    assert mlcli("verify", "isomap").code == 83
    kept(mlcli, "isomap", "kernel", "-k", "6", "--force")
    assert not Path("isomap/graph.npz").exists()


@pytest.mark.parametrize("method", METHODS)
def test_what_a_method_does_not_make_is_refused_by_name(mlcli: Caller, method: str) -> None:
    made = METHODS[method]().makes()
    for name in KEPT.keys() - set(made):
        called = mlcli.bare("points.npy", "-m", method, "--keep", name, "-o", "refused")
        assert (called.code, "E-KEEP" in called.err, name in called.err) == (78, True, True), called.err
        assert all(other in called.err for other in made)
    assert not Path("refused").exists()


@pytest.mark.parametrize("method", ["mds", "isomap"])
def test_landmarks_make_no_kernel_of_all_points(mlcli: Caller, method: str) -> None:
    called = mlcli.bare("points.npy", "-m", method, "--set", "method.landmarks=9", "--keep", "kernel")
    assert (called.code, "E-KEEP" in called.err) == (78, True)


@pytest.mark.parametrize(("method", "options", "name", "able"), [
    ("pca", (), "uncentered", False), ("mfa", ("--groups", "one=1", "--groups", "other=2,3"), "kernel", False),
    ("sde", ("-k", "6"), "weights", False), ("isomap", ("--set", "method.landmarks=9"), "kernel", True),
    ("chain", ("--kernel", "gaussian"), "graph", True)])
def test_options_are_blamed_only_where_others_make_the_result(
        mlcli: Caller, method: str, options: tuple[str, ...], name: str, able: bool, wording: Wording) -> None:
    called = mlcli.bare("points.npy", "-m", method, *options, "--keep", name, "-o", "none")
    assert (called.code, "these options" in called.err, wording(called.err)) == (78, able, ["E-KEEP"])


def test_standard_output_keeps_nothing(mlcli: Caller) -> None:
    called = mlcli("embed", "points.npy", "-m", "mds", "--keep", "kernel", "-o", "-")
    assert (called.code, called.out) == (78, "")
    assert "E-UNUSED" in called.err


def test_what_does_not_fit_on_disk_is_refused_before_the_fit(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**6, 10**6 - 9000, 9000))
    called = mlcli.bare("points.npy", "-m", "mds", "--keep", "kernel", "-o", "full")
    assert (called.code, "E-DISK" in called.err) == (82, True), called.err
    assert not Path("full").exists()
    planned = mlcli("plan", "points.npy", "-m", "mds", "--keep", "kernel")
    assert planned.code == 82
    assert "on disk about 12.5 KiB" in planned.out or "does not fit" in planned.out
    assert mlcli.bare("points.npy", "-m", "mds", "-o", "small", "-q").code == 0


def test_a_disk_that_fills_up_all_the_same_is_an_error_and_leaves_nothing(
        mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    called = mlcli.bare("points.npy", "-m", "mds", "--keep", "kernel", "-o", "full")
    assert (called.code, "No space left" in called.err) == (74, True)
    assert not Path("full").exists()


@pytest.mark.parametrize("room", [1, 7 * 40, 10**6])
def test_blocks_of_any_size_fill_the_same_matrix(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    monkeypatch.setattr("mlcli.base.values.products.ROOM", room)
    monkeypatch.setattr("mlcli.base.values.products.ROWS", 2)
    whole = np.random.default_rng(0).standard_normal((40, 40))
    asked: list[int] = []

    def rows(chosen: Indices) -> Array:
        asked.append(len(chosen))
        return whole[chosen]

    filled = np.empty((40, 40))
    Square(40, rows, "none", Unit(-3)).fill(filled)
    assert np.array_equal(np.triu(filled), np.triu(whole) / 8)
    assert np.array_equal(filled, filled.T)
    assert max(asked) == max(2, min(40, room // 40))


@pytest.mark.parametrize("options", [("-k", "6", "--paths", "floyd", "--kernel", "gaussian"),
                                     ("--kernel", "gaussian", "--metric", "cityblock"), ("--kernel", "laplacian")])
def test_of_functions_of_distances_both_are_kept(mlcli: Caller, options: tuple[str, ...], points: Array) -> None:
    kept(mlcli, "chain", "distances,kernel", *options, "--set", "method.centering=none")
    lengths, kernel = np.load("chain/distances.npy"), np.load("chain/kernel.npy")
    power = 2 if "gaussian" in options else 1
    pairs = np.triu_indices(40, 1)
    apart = lengths[pairs] > 0
    rates = -np.log(kernel[pairs][apart]) / lengths[pairs][apart] ** power
    assert rates == pytest.approx(rates[0], rel=1e-9) and np.array_equal(kernel.diagonal(), np.ones(40))
    if "--paths" not in options:
        order = 1 if "cityblock" in options else 2
        assert lengths == pytest.approx(np.linalg.norm(points[:, None] - points, ord=order, axis=2), rel=1e-12)
    told, found = eigenvalues("chain"), np.linalg.eigvalsh(kernel)[::-1]
    assert np.abs(found[: len(told)] - told).max() <= 1e-12 * found[0]


def test_what_is_kept_follows_from_the_kind_of_input(mlcli: Caller) -> None:
    np.save("kernel.npy", np.eye(9) + 1)
    given = ("embed", "kernel.npy", "-m", "kpca", "--set", "input.kind=kernel", "-o", "run", "-q", "--keep")
    called = mlcli(*given, "distances")
    assert (called.code, "E-KEEP" in called.err) == (78, True)
    assert mlcli(*given, "kernel").code == 0
