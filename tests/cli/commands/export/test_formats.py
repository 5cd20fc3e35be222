"""Runs as files of other programs, by the descriptions of the formats."""

import csv
import sys
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError
from mlcli.runs.export import exported, ordination_of
from tests.cli.commands.export.conftest import ROWS
from tests.journeys.memory.test_beyond_memory import embedded
from tests.journeys.support import Caller
from tests.wording import Wording


def coordinates(path: str, **options: str) -> Table:
    """The embedding in a file of AnnData, as this program reads it."""
    return read(Input.model_validate({"path": path, "label_columns": ["kind"], **options}))


def sections(text: str) -> dict[str, tuple[list[int], list[list[str]]]]:
    """The sections of ordination results: sizes, and cells."""
    found = {}
    for part in text.removesuffix("\n").split("\n\n"):
        head, *lines = part.split("\n")
        name, *sizes = head.split("\t")
        found[name] = [int(size) for size in sizes], [line.split("\t") for line in lines]
    return found


def test_anndata_holds_coordinates_labels_and_spectrum(mlcli: Caller, run: str, wording: Wording) -> None:
    called = mlcli("export", run, "-o", "cells.h5ad")
    assert called.code == 0 and wording(called.err) == [] and "cells.h5ad" in called.err
    found = coordinates("cells.h5ad", key="obsm/X_pca")
    (texts, values) = embedded(run)
    np.testing.assert_array_equal(found.values, values)
    assert list(found.ids) == [row[0] for row in texts] and list(found.labels["kind"]) == [row[1] for row in texts]
    with h5py.File("cells.h5ad") as file, Path(run, "spectrum.csv").open() as spectrum:
        rows = list(csv.DictReader(spectrum))
        for name, known in (("proportion", "variance_ratio"), ("cumulative", "cumulative")):
            assert file["uns/pca"][known][:].tolist() == [float(row[name]) for row in rows]
        np.testing.assert_allclose(file["uns/pca/variance"][:], [float(row["eigenvalue"]) * 20 / 19 for row in rows],
                                   rtol=1e-14)  # over n - 1, as scanpy's
        assert file["uns/pca/options"].asstr()[()] == Path(run, "config.yaml").read_text()
        assert file["varm/PCs"].shape == (3, 2) and file["var/_index"].asstr()[:].tolist() == ["u", "v", "w"]
        directions = file["varm/PCs"][:]
    centered = np.array([row[2:] for row in ROWS], float)
    centered -= centered.mean(axis=0)
    np.testing.assert_allclose(centered @ directions, values, atol=1e-12)


@pytest.mark.medium
def test_a_graph_that_the_run_kept_is_there_as_well(mlcli: Caller, run: str) -> None:
    mlcli.bare("data.csv", "--id-column", "id", "-m", "umap", "-k", "5", "--keep", "graph,weights", "-o", "map", "-q")
    assert mlcli("export", "map", "-o", "map.h5ad").code == 0 and mlcli("export", run, "-o", "run.h5ad").code == 0
    with h5py.File("map.h5ad") as file, np.load("map/weights.npz") as kept, h5py.File("run.h5ad") as other:
        np.testing.assert_array_equal(file["obsp/connectivities/data"][:], kept["data"])
        assert file["uns/neighbors/params/n_neighbors"][()] == 6 and "obsp" not in other


def test_the_same_run_gives_the_same_bytes(mlcli: Caller, run: str) -> None:
    for name in ("a.h5ad", "b.h5ad"):
        mlcli("export", run, "-o", name)
    assert Path("a.h5ad").read_bytes() == Path("b.h5ad").read_bytes()


def test_ordination_results_have_six_sections(mlcli: Caller, run: str) -> None:
    text = mlcli("export", run).out
    found = sections(text)
    assert list(found) == ["Eigvals", "Proportion explained", "Species", "Site", "Biplot", "Site constraints"]
    assert [sizes for sizes, _ in found.values()] == [[2], [2], [3, 2], [20, 2], [0, 0], [0, 0]]
    texts, values = embedded(run)
    sites = found["Site"][1]
    assert [row[0] for row in sites] == [row[0] for row in texts]
    assert [list(map(float, row[1:])) for row in sites] == values.tolist()
    assert [row[0] for row in found["Species"][1]] == ["u", "v", "w"]
    np.testing.assert_allclose([float(cell) for cell in found["Eigvals"][1][0]], (values**2).mean(axis=0), rtol=1e-12)
    mlcli("export", run, "-o", "run.txt")
    assert Path("run.txt").read_text() == text


def test_distances_have_no_species(mlcli: Caller) -> None:
    Path("d.csv").write_text(",a,b,c\na,0,3,4\nb,3,0,5\nc,4,5,0\n")
    mlcli.finished("embed", "d.csv", "--dissimilarities", "-m", "mds", "-o", "run", "-q")
    found = sections(mlcli("export", "run").out)
    assert found["Species"] == ([0, 0], []) and found["Site"][0] == [3, 2]
    assert mlcli("export", "run", "-o", "run.h5ad").code == 0
    with h5py.File("run.h5ad") as file:
        assert "varm" not in file and not len(file["var/_index"])


def test_labels_of_another_file(mlcli: Caller, run: str) -> None:
    Path("more.csv").write_text("id,kind\n" + "".join(f"p{row},new{row % 2}\n" for row in range(20)))
    assert mlcli("export", run, "-o", "cells.h5ad", "--labels", "more.csv").code == 0
    assert set(coordinates("cells.h5ad", key="obsm/X_pca").labels["kind"]) == {"new0", "new1"}


@pytest.mark.parametrize(("arguments", "code", "error"), [
    (["-o", "x.xyz"], 2, "E-FORMAT"), (["-o", "-", "--format", "h5ad"], 2, "E-FORMAT"),
    (["-o", "data.csv", "--format", "h5ad"], 73, "E-OUTPUT-EXISTS")])
def test_what_is_not_written(mlcli: Caller, run: str, arguments: list[str], code: int, error: str) -> None:
    called = mlcli("export", run, *arguments)
    assert called.code == code and error in called.err


def test_names_that_the_text_cannot_hold(mlcli: Caller) -> None:
    Path("tab.csv").write_text('id,a,b\n"x\ty",1,2\nz,3,5\nw,4,4\n')
    mlcli("embed", "tab.csv", "--id-column", "id", "-o", "tab", "-q")
    called = mlcli("export", "tab")
    assert called.code == 65 and "E-ORDINATION-NAME" in called.err


def test_runs_without_points_or_eigenvalues(mlcli: Caller, run: str, wording: Wording) -> None:
    Path("c.csv").write_text(",a,b\na,2,1\nb,1,2\n")
    mlcli.finished("embed", "c.csv", "--kind", "covariance", "-o", "of", "-q")
    called = mlcli("export", "of", "-o", "x.h5ad")
    assert called.code == 78 and "E-NO-ROWS" in called.err
    content = exported(Path(run))
    with wording.raises(ConfigError, "NO-SPECTRUM"):
        ordination_of(replace(content, run=replace(content.run, findings={})))


def test_without_h5py_the_extra_is_named(mlcli: Caller, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    called = mlcli("export", run, "-o", "cells.h5ad")
    assert called.code == 69 and "manifold-cli[h5]" in called.err and not Path("cells.h5ad").exists()
