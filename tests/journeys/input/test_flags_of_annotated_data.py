"""The flags of .h5ad files are other names of options, and say so where they cannot be used."""

from pathlib import Path

import numpy as np
import pytest

from tests.journeys.support import Caller
from tests.wording import Wording


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with counts of three genes in six cells, and their logarithms."""
    h5py = pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    counts = np.random.default_rng(0).poisson(3.0, (6, 3)).astype(float)
    with h5py.File("cells.h5ad", "w") as file:
        file.attrs["encoding-type"] = "anndata"
        file["X"], file["layers/counts"] = np.log1p(counts), counts
        file["var/_index"], file["obs/_index"] = ["TP53", "MYC", "CD4"], [f"cell {row}" for row in range(6)]
        file["obs/type"] = ["a", "b"] * 3
    return "cells.h5ad"


def test_both_spellings_store_the_same(mlcli: Caller, cells: str) -> None:
    Path("genes.txt").write_text("MYC\n\n CD4\n", encoding="utf-8")
    first = mlcli("embed", "-q", cells, "--key", "layers/counts", "--where", "type == a", "--columns", "MYC,CD4",
                  "-o", "run")
    config, numbers = Path("run/config.yaml").read_text(), Path("run/embedding.csv").read_bytes()
    again = mlcli("embed", "-q", cells, "--layer", "counts", "--obs", "type == a", "--genes", "genes.txt", "-o", "run",
                  "--force")
    assert (first.code, again.code) == (0, 0)
    assert (Path("run/config.yaml").read_text(), Path("run/embedding.csv").read_bytes()) == (config, numbers)


@pytest.mark.parametrize(("arguments", "code", "place"), [
    (["--layer", "raw"], 78, "'layers/raw'; --layer: input.key"),
    (["--obs", "tipe == a"], 78, "'type'?; --obs: input.where"),
    (["--genes", "MYC,CD8"], 78, "'CD4'?; --genes: input.columns"),
    (["--layer", "counts", "--key", "layers/counts"], 2, "--key and --layer "),
    (["--genes", "MYC", "--columns", "CD4"], 2, "--columns and --genes "),
    (["--obs", "type == a", "--where", "type == a"], 2, "--where and --obs "),
    (["--genes", "empty.txt"], 2, "; --genes"), (["--genes", "latin.txt"], 2, "; --genes"),
])
def test_errors_name_the_flags_that_were_typed(mlcli: Caller, cells: str, arguments: list[str], code: int,
                                               place: str, wording: Wording) -> None:
    Path("empty.txt").write_text("\n\n")
    Path("latin.txt").write_bytes("é\n".encode("latin-1"))
    called = mlcli("embed", "-q", cells, *arguments)
    assert (called.code, called.out) == (code, "")
    assert place in called.err and wording(called.err)


def test_hints_name_the_flag_that_was_typed(mlcli: Caller, cells: str, wording: Wording) -> None:
    for flag, output in (("--genes", "one"), ("--columns", "two")):
        said = mlcli("embed", cells, flag, "MYC,CD4", "-v", "-o", output).err
        assert wording(said, "N-TEXT-COLUMNS") == ["N-TEXT-COLUMNS"] and f" {flag}" in said


@pytest.mark.parametrize("command", ["embed", "check", "explore", "plan"])
def test_other_files_are_refused(mlcli: Caller, command: str, wording: Wording) -> None:
    called = mlcli(command, "data.csv", "--layer", "counts")
    assert called.code == 2 and wording(called.err) == ["E-NOT-H5AD"] and "; --layer; " in called.err


def test_a_long_list_of_genes_is_no_file(mlcli: Caller, cells: str, wording: Wording) -> None:
    called = mlcli("embed", cells, "--genes", ",".join(["MYC", "CD4", "G" * 300]))
    assert called.code == 78 and "E-UNKNOWN-COLUMN" in wording(called.err), called.err


@pytest.mark.parametrize("name", ["cells.h5", "cells.HDF5", "cells"])
def test_other_names_of_hdf5_are_read(mlcli: Caller, cells: str, name: str) -> None:
    Path(cells).rename(name)
    assert mlcli("check", name, "--layer", "counts", "--obs", "type == a", "-q").code == 0


def test_a_plan_asks_for_the_input_of_its_file(mlcli: Caller, cells: str, wording: Wording) -> None:
    Path("run.yaml").write_text("input: {path: cells.h5ad}\nmethod: {name: pca}\n")
    assert mlcli("plan", "run.yaml", "--layer", "counts").code == 0
    Path("run.yaml").write_text("input: {path: cells.csv}\nmethod: {name: pca}\n")
    said = mlcli("plan", "run.yaml", "--layer", "counts").err
    assert wording(said) == ["E-NOT-H5AD"] and " cells.csv; " in said


@pytest.mark.parametrize("name", ["-", "data.csv.gz", "folder"])
def test_standard_input_texts_and_folders_are_no_annotated_data(mlcli: Caller, cells: str, name: str,
                                                                wording: Wording) -> None:
    Path("folder").mkdir()
    called = mlcli("check", name, "--genes", "MYC")
    assert called.code == 2 and wording(called.err) == ["E-NOT-H5AD"] and f" {name}; --genes" in called.err
