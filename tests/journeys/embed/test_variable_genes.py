"""A run on the variable genes of an .h5ad file: chosen by a layer, listed, shown, stored, and applied to new cells."""

import csv
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.journeys.support import Caller
from tests.laws.agreement.tables import TABLES, read
from tests.wording import Wording

COUNTS = read("scanpy/counts.csv")
NAMES = [f"gene{number}" for number in range(COUNTS.shape[1])]


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Counts as a layer, and their logarithms, sparse by rows, as scanpy leaves them."""
    monkeypatch.chdir(tmp_path)
    with h5py.File("cells.h5ad", "w") as file:
        file.attrs["encoding-type"] = "anndata"
        for name, matrix in (("X", np.log1p(COUNTS)), ("layers/counts", COUNTS)):
            rows, columns = np.nonzero(matrix)
            group = file.create_group(name)
            group.attrs.update({"encoding-type": "csr_matrix", "shape": matrix.shape})
            group["data"], group["indices"] = matrix[rows, columns], columns
            group["indptr"] = np.searchsorted(rows, np.arange(len(matrix) + 1))
        file["var/_index"], file["obs/_index"] = NAMES, [f"cell{row}" for row in range(len(COUNTS))]
    return "cells.h5ad"


@pytest.mark.medium
@pytest.mark.parametrize("stream", ["auto", "always"])
@pytest.mark.parametrize(("flavor", "options"), [("seurat", []), ("seurat_v3", ["--counts-layer", "counts"])])
def test_a_run_keeps_the_genes_of_scanpy(mlcli: Caller, cells: str, flavor: str, options: list[str],
                                         stream: str, wording: Wording) -> None:
    called = mlcli("embed", cells, "--variable-genes", "40", "--flavor", flavor, *options, "-p", "2", "-v", "-o", "run",
                   "--set", f"input.stream={stream}")
    assert called.code == 0 and wording(called.err, "N-VARIABLE-GENES") and "]: 40 of 300 " in called.err, called.err
    with Path("run/genes.csv").open() as found, (TABLES / f"scanpy/{flavor}.csv").open() as expected:
        chosen = [[row["highly_variable"] for row in csv.DictReader(file)] for file in (found, expected)]
    assert chosen[0] == chosen[1]
    kept = {name for name, flag in zip(NAMES, chosen[0], strict=True) if flag == "1"}
    with Path("run/loadings.csv").open() as file:
        assert {row[0] for row in csv.reader(file)} - {"feature", "column"} == kept
    assert "40 of 300 genes are highly variable by the flavor" in Path("run/report.html").read_text()
    assert mlcli("project", "run", cells, "-o", "new.csv").code == 0
    new, old = (np.loadtxt(path, delimiter=",", skiprows=1, usecols=(1, 2)) for path in ("new.csv",
                                                                                         "run/embedding.csv"))
    np.testing.assert_allclose(new, old, atol=1e-9)
    assert mlcli("verify", "run").code == 0


@pytest.mark.parametrize(("arguments", "message"), [
    (["--counts-layer", "raw"], "'layers/raw'; --counts-layer: prepare.variable_genes.layer"),
    (["--counts-layer", "counts", "--key", "raw/X"], "'raw/X'; --key: input.key"),
    (["--top-variance", "9"], "--variable-genes: prepare.variable_genes; ")])
def test_errors_name_the_flag(mlcli: Caller, cells: str, arguments: list[str], message: str, wording: Wording) -> None:
    called = mlcli("embed", cells, "--variable-genes", "40", *arguments, "-o", "run", "-q")
    assert called.code == 78 and message in called.err and wording(called.err)


@pytest.mark.parametrize(("options", "advice"), [
    ([], "--transform log1p"), (["--counts-layer", "counts"], "(--counts-layer)")])
def test_advice_on_counts_is_for_what_the_genes_are_chosen_by(mlcli: Caller, cells: str, options: list[str],
                                                              advice: str, wording: Wording) -> None:
    with h5py.File(cells, "r+") as file:
        for name in ("X/data", "layers/counts/data"):
            file[name][:] = np.minimum(file["layers/counts/data"][:], 300)
    arguments = ("embed", cells, "--variable-genes", "40", *options, "-p", "2", "--force", "-o", "run")
    assert wording((called := mlcli(*arguments)).err, "W-LOGARITHMS") and advice in called.err
    with h5py.File(cells, "r+") as file:
        file["X/data"][0] = file["layers/counts/data"][0] = -1
    called = mlcli(*arguments)
    assert called.code == 65 and wording(called.err, "E-GENES") and advice in called.err


@pytest.mark.parametrize("name", ["points.npy", "points.csv", "points.npz"])
def test_layers_are_of_h5ad_files(mlcli: Caller, cells: str, name: str, wording: Wording) -> None:
    points = np.random.default_rng(0).random((20, 5))
    np.savetxt("points.csv", points, delimiter=",", header="a,b,c,d,e", comments="")
    np.save("points.npy", points)
    np.savez("points.npz", points)
    called = mlcli("embed", name, "--variable-genes", "2", "--counts-layer", "counts", "-o", "run", "-q")
    assert called.code == 78 and wording(called.err) == ["E-LAYER"] and "; --counts-layer" in called.err


def test_rows_are_held_out_of_the_layer_too(mlcli: Caller, cells: str) -> None:
    called = mlcli("embed", cells, "--variable-genes", "40", "--flavor", "seurat_v3", "--counts-layer", "counts",
                   "--calibrate", "0.2", "-p", "2", "-q", "-o", "run")
    assert called.code == 0, called.err
    counts = [len(Path(f"run/{name}.csv").read_text().splitlines()) - 1 for name in ("embedding", "calibration")]
    assert counts[1] == round(0.2 * len(COUNTS)) and sum(counts) == len(COUNTS)
