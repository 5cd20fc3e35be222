"""A copy of a run's .h5ad: all of it as it was, and the run's results as anndata and scanpy would have stored them."""

import csv
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy import sparse

from mlcli.runs import relate
from tests.cli.commands.export.cell_file import ARRAY, CELLS, MAP, NUMBER, ROWS, TEXT, marked, values
from tests.journeys.memory.test_beyond_memory import embedded
from tests.journeys.support import Caller
from tests.wording import Wording

# what anndata 0.12 writes of scanpy 1.11's pca, umap and neighbors: the encoding of each member
LAYOUT = {"obsm/X_pca": ARRAY, "varm/PCs": ARRAY, "uns/pca": MAP, "uns/pca/variance": ARRAY,
          "uns/pca/variance_ratio": ARRAY, "uns/pca/params": MAP, "uns/pca/params/zero_center": NUMBER,
          "uns/pca/params/use_highly_variable": NUMBER, "obsm/X_umap": ARRAY, "uns/umap": MAP, "uns/umap/params": MAP,
          "uns/umap/params/a": NUMBER, "uns/umap/params/b": NUMBER, "obsp/distances": ROWS, "obsp/connectivities": ROWS,
          "uns/neighbors": MAP, "uns/neighbors/connectivities_key": TEXT, "uns/neighbors/distances_key": TEXT,
          "uns/neighbors/params": MAP, "uns/neighbors/params/n_neighbors": NUMBER,
          "uns/neighbors/params/method": TEXT, "uns/neighbors/params/metric": TEXT,
          "uns/neighbors/params/random_state": NUMBER, "uns/neighbors/params/use_rep": TEXT}
UMAP = ("-m", "umap", "-k", "6", "--set", "method.epochs=5")


def dump(path: str | Path) -> dict[str, tuple[Any, ...]]:
    """Every member of a file: its attributes, and of data sets how and what they store."""
    found: dict[str, tuple[Any, ...]] = {}

    def add(name: str, member: Any) -> None:
        attributes = {key: np.asarray(value).tolist() for key, value in member.attrs.items()}
        stored = () if isinstance(member, h5py.Group) else (
            member.dtype.str, member.shape, member.chunks, member.compression, np.asarray(member[()]).tolist())
        found[name] = (attributes, *stored)

    with h5py.File(path) as file:
        file.visititems(add)
        add("", file)
    return found


def matrix(file: Any, name: str) -> Any:
    group = file[name]
    return sparse.csr_array((group["data"][:], group["indices"][:], group["indptr"][:]), shape=group.attrs["shape"])


@pytest.mark.medium
def test_the_copy_has_all_of_the_input_and_the_layout_of_anndata(mlcli: Caller, cells: Path, wording: Wording) -> None:
    original = cells.read_bytes()
    mlcli.bare("cells.h5ad", "-p", "3", "-o", "pca", "-q")
    mlcli.bare("pca", *UMAP, "-o", "umap", "-q")
    called = mlcli("export", "umap", "--into", "copy.h5ad")
    assert called.code == 0 and "'obsm/X_pca'" in called.err and "N-REPLACED" in wording(called.err)
    assert cells.read_bytes() == original
    before, after = dump("cells.h5ad"), dump("copy.h5ad")
    own = ("obsm/X_pca", "uns/pca", "uns/umap", "uns/neighbors", "obsp", "varm", "obsm/X_umap")
    new = {name for name in after if name.startswith(own)}
    assert {name: after[name] for name in after if name not in new} == {
        name: before[name] for name in before if name != "obsm/X_pca"}
    encodings = {name: (after[name][0].get("encoding-type"), after[name][0].get("encoding-version")) for name in new}
    assert {name: encodings[name] for name in LAYOUT} == LAYOUT
    assert all(encodings[name] == MAP for name in ("obsp", "varm"))
    assert all(after[f"obsp/{name}"][0]["shape"] == [60, 60] for name in ("distances", "connectivities"))


def test_pca_has_scanpys_scores_directions_and_variances(mlcli: Caller, cells: Path) -> None:
    mlcli.bare("cells.h5ad", "--columns", "g1,g5,g2", "--where", "kind != b", "-p", "2", "-o", "run", "-q")
    assert mlcli("export", "run", "--into", "copy.h5ad").code == 0
    chosen = np.arange(len(CELLS)) % 3 != 1
    table = values()[np.ix_(chosen, [1, 5, 2])]
    variances = np.linalg.eigvalsh(np.cov(table.T))[::-1]  # over n - 1
    with h5py.File("copy.h5ad") as file:
        scores, directions = file["obsm/X_pca"][:], file["varm/PCs"][:]
        np.testing.assert_allclose(file["uns/pca/variance"][:], variances, rtol=1e-12)
        np.testing.assert_allclose(file["uns/pca/variance_ratio"][:], variances / variances.sum(), rtol=1e-12)
    assert np.isnan(scores[~chosen]).all() and not directions[[0, 3, 4, 6, 7]].any()
    np.testing.assert_array_equal(scores[chosen], embedded("run")[1])
    np.testing.assert_allclose((table - table.mean(axis=0)) @ directions[[1, 5, 2]], scores[chosen], atol=1e-12)
    np.testing.assert_allclose(directions.T @ directions, np.eye(2), atol=1e-12)


def test_without_a_model_there_are_no_directions_and_a_note_says_so(mlcli: Caller, cells: Path) -> None:
    mlcli("embed", "cells.h5ad", "-p", "2", "-o", "run", "-q", "--outputs", "embedding,spectrum")
    called = mlcli("export", "run", "--into", "copy.h5ad")
    assert called.code == 0 and "N-NO-DIRECTIONS" in called.err
    with h5py.File("copy.h5ad") as file:
        assert "varm" not in file and "variance" in file["uns/pca"]


@pytest.mark.parametrize(("key", "genes"), [("layers/double", 8), ("raw/X", 8), ("obsm/X_pca", 0)])
def test_other_matrices_of_the_file(mlcli: Caller, cells: Path, key: str, genes: int) -> None:
    mlcli.bare("cells.h5ad", "--key", key, "-p", "2", "-o", "run", "-q")
    called = mlcli("export", "run", "--into", "copy.h5ad")
    assert called.code == 0 and ("N-GENES-NOT-IN-VAR" in called.err) == (key == "raw/X")
    with h5py.File("copy.h5ad") as file:
        np.testing.assert_array_equal(file["obsm/X_pca"][:], embedded("run")[1])
        assert ("varm" in file) == (genes > 0)
        assert not genes or file["varm/PCs"].shape == (genes, 2)
        layer = file.get("uns/pca/params/layer")
        assert (None if layer is None else layer.asstr()[()]) == ("double" if key == "layers/double" else None)


@pytest.mark.medium
def test_graphs_are_those_of_the_fit_and_cells_left_out_have_no_edges(mlcli: Caller, cells: Path) -> None:
    options = ("cells.h5ad", *UMAP, "--where", "kind != b", "-q")
    mlcli.bare(*options, "-o", "kept", "--keep", "graph,weights")
    mlcli.bare(*options, "-o", "again")
    for name in ("kept", "again"):
        assert mlcli("export", name, "--into", f"{name}.h5ad", "-q").code == 0
    rows = np.flatnonzero(np.arange(len(CELLS)) % 3 != 1)
    with h5py.File("kept.h5ad") as file, h5py.File("again.h5ad") as other:
        for name, kept in (("distances", "graph"), ("connectivities", "weights")):
            found, expected = matrix(file, f"obsp/{name}"), sparse.load_npz(f"kept/{kept}.npz")
            assert found.nnz == expected.nnz and np.diff(found.indptr)[1::3].sum() == 0
            np.testing.assert_array_equal(found.toarray()[np.ix_(rows, rows)], expected.toarray())
            np.testing.assert_array_equal(matrix(other, f"obsp/{name}").toarray(), found.toarray())
        parameters = file["uns/neighbors/params"]
        assert parameters["n_neighbors"][()] == 7  # with the point itself
        assert [parameters[name].asstr()[()] for name in ("method", "metric", "use_rep")] == ["umap", "euclidean", "X"]
        assert np.isnan(file["obsm/X_umap"][:]).all(axis=1).tolist() == [row % 3 == 1 for row in range(len(CELLS))]


@pytest.mark.parametrize(("method", "options", "weighted"), [
    ("laplacian", ("--set", "method.weights.name=adaptive"), True), ("isomap", (), False), ("lle", (), False)])
def test_affinities_are_weights_or_one_for_each_edge(mlcli: Caller, cells: Path, method: str,
                                                     options: tuple[str, ...], weighted: bool) -> None:
    mlcli.bare("cells.h5ad", "-m", method, "-k", "25", *options, "-o", "run", "-q")
    assert mlcli("export", "run", "--into", "copy.h5ad", "-q").code == 0
    with h5py.File("copy.h5ad") as file:
        lengths, affinities = matrix(file, "obsp/distances"), matrix(file, "obsp/connectivities")
        assert file["uns/neighbors/params/method"].asstr()[()] == method
    table = values()
    rows = np.repeat(np.arange(len(CELLS)), np.diff(lengths.indptr))
    np.testing.assert_allclose(lengths.data, np.linalg.norm(table[rows] - table[lengths.indices], axis=1), rtol=1e-12)
    np.testing.assert_array_equal(affinities.toarray(), affinities.toarray().T)
    assert (np.unique(affinities.data).tolist() != [1.0]) == weighted and affinities.nnz == lengths.nnz


def test_diffusion_maps_have_the_constant_first(mlcli: Caller, cells: Path) -> None:
    mlcli.bare("cells.h5ad", "-m", "diffusion", "-p", "3", "-o", "run", "-q")
    assert mlcli("export", "run", "--into", "copy.h5ad", "-q").code == 0
    with h5py.File("copy.h5ad") as file:
        found, eigenvalues = file["obsm/X_diffmap"][:], file["uns/diffmap_evals"][:]
    assert (found[:, 0] == 1).all() and eigenvalues[0] == 1 and (np.diff(eigenvalues) < 0).all()
    np.testing.assert_array_equal(found[:, 1:], embedded("run")[1])
    listed = Path("run/spectrum.csv").read_text().splitlines()[1:4]
    assert eigenvalues[1:].tolist() == [float(line.split(",")[1]) for line in listed]


@pytest.mark.medium
def test_components_ahead_of_the_method_are_there_as_well(mlcli: Caller, cells: Path) -> None:
    mlcli.bare("cells.h5ad", *UMAP, "--set", "prepare.reduce=4", "-o", "run", "-q")
    mlcli.bare("cells.h5ad", "-p", "4", "-o", "pca", "-q")
    for name in ("run", "pca"):
        assert mlcli("export", name, "--into", f"{name}.h5ad", "-q").code == 0
    with h5py.File("run.h5ad") as file, h5py.File("pca.h5ad") as expected:
        for name in ("obsm/X_pca", "varm/PCs"):
            np.testing.assert_allclose(file[name][:], expected[name][:], atol=1e-12)
        for name in ("variance", "variance_ratio"):
            np.testing.assert_allclose(file["uns/pca"][name][:], expected["uns/pca"][name][:4], rtol=1e-12)
        assert file["uns/neighbors/params/use_rep"].asstr()[()] == "X_pca" and "X_umap" in file["obsm"]


@pytest.mark.medium
def test_rows_without_ids_are_found_by_reading_the_input_again(mlcli: Caller, cells: Path) -> None:
    options = ("cells.h5ad", "-p", "2", "--where", "kind != b", "-q")
    mlcli.bare(*options, "--set", "report.formats=[npy]", "-o", "numbers")
    mlcli.bare(*options, "-o", "names")
    mlcli.bare("numbers", "-m", "mds", "-o", "second", "-q")
    for name in ("numbers", "names", "second"):
        assert mlcli("export", name, "--into", f"{name}.h5ad", "-q").code == 0
    with h5py.File("numbers.h5ad") as file, h5py.File("names.h5ad") as other, h5py.File("second.h5ad") as third:
        np.testing.assert_array_equal(file["obsm/X_pca"][:], other["obsm/X_pca"][:])
        np.testing.assert_array_equal(third["obsm/X_pca"][:], other["obsm/X_pca"][:])
        assert np.isnan(third["obsm/X_mds"][:]).all(axis=1).tolist() == [row % 3 == 1 for row in range(len(CELLS))]


def test_the_same_run_gives_the_same_bytes_and_a_kept_graph_is_not_computed(
        mlcli: Caller, cells: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlcli.bare("cells.h5ad", *UMAP, "--keep", "graph,weights", "-o", "run", "-q")
    assert mlcli("export", "run", "--into", "one.h5ad", "-q").code == 0
    monkeypatch.setattr(relate, "begin", lambda config: pytest.fail("the input is read again"))
    assert mlcli("export", "run", "--into", "two.h5ad", "-q").code == 0
    assert Path("one.h5ad").read_bytes() == Path("two.h5ad").read_bytes()


def test_components_of_answers_are_unit_directions_and_eigenvalues_of_correlations(mlcli: Caller, cells: Path) -> None:
    answers = np.digitize(values()[:, :5], [4, 8])
    with h5py.File(cells, "r+") as file:
        for name in ("X", "raw", "layers"):
            del file[name]
        file["X"] = np.column_stack([answers, values()[:, 5:]])
    mlcli.bare("cells.h5ad", "--columns", "g0,g1,g2,g3,g4", "--correlations", "polychoric", "-o", "run", "-q")
    assert mlcli("export", "run", "--into", "copy.h5ad", "-q").code == 0
    listed = np.loadtxt("run/spectrum.csv", delimiter=",", skiprows=1, usecols=1)
    with h5py.File("copy.h5ad") as file:
        directions, scores = file["varm/PCs"][:5], file["obsm/X_pca"][:]
        assert file["uns/pca/variance"][:].tolist() == listed.tolist()
    np.testing.assert_allclose(directions.T @ directions, np.eye(2), atol=1e-12)
    standard = (answers - answers.mean(axis=0)) / answers.std(axis=0)
    np.testing.assert_allclose(standard @ directions, scores, atol=1e-9)


def test_given_affinities_have_no_distances_no_metric_and_no_basis(mlcli: Caller, cells: Path) -> None:
    near = sparse.csr_array((np.linalg.norm(values()[:, None] - values(), axis=2) < 25) * (1 - np.eye(len(CELLS))))
    with h5py.File(cells, "r+") as file:
        group = marked(file.create_group("obsp/near"), ROWS)
        group.attrs["shape"] = near.shape
        group["data"], group["indices"], group["indptr"] = near.data, near.indices, near.indptr
    made = mlcli("embed", "cells.h5ad", "--graph", "--key", "obsp/near", "--set", "input.edges=affinities", "-m",
                 "laplacian", "-p", "1", "-o", "run", "-q")
    assert made.code == 0, made.err
    assert mlcli("export", "run", "--into", "copy.h5ad", "-q").code == 0
    with h5py.File("copy.h5ad") as file:
        assert {*file["obsp"]} == {"near", "connectivities"} and "distances_key" not in file["uns/neighbors"]
        assert {*file["uns/neighbors/params"]} == {"n_neighbors", "method", "random_state"}


@pytest.mark.parametrize("options", [(), ("-m", "isomap", "--reduce", "2")])
def test_variable_genes_are_marked_among_all(mlcli: Caller, cells: Path, options: tuple[str, ...]) -> None:
    with h5py.File(cells, "r+") as file:
        file["X"][...] = np.log1p(values())
    mlcli.bare("cells.h5ad", "--variable-genes", "3", "-p", "2", *options, "-o", "run", "-q")
    assert mlcli("export", "run", "--into", "copy.h5ad", "-q").code == 0
    with h5py.File("copy.h5ad") as file, Path("run/genes.csv").open() as table:
        chosen = file["var/highly_variable"]
        assert chosen.dtype == bool and chosen.attrs["encoding-type"] == "array"
        assert chosen[:].tolist() == [row["highly_variable"] == "1" for row in csv.DictReader(table)] != [False] * 8
        assert list(file["var"].attrs["column-order"]) == ["highly_variable"]
        assert file["uns/pca/params/use_highly_variable"][()]
        assert file["uns/pca/params/mask_var"].asstr()[()] == "highly_variable"
        assert (file["varm/PCs"][:] != 0).any(axis=1).tolist() == chosen[:].tolist()
