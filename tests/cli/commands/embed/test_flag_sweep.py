"""`embed` with several values of a flag: a run for each combination, of the methods that have the option."""

import csv
import json
from pathlib import Path

import pytest

from tests.journeys.support import Caller

FEW = ("--outputs", "embedding,spectrum", "-q")


def runs_in(folder: str) -> list[dict[str, str]]:
    with Path(folder, "runs.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_each_combination_is_a_run_and_the_last_flag_varies_fastest(mlcli: Caller) -> None:
    assert mlcli("embed", "data.csv", "-m", "isomap", "-k", "8,9", "-p", "1, 2", "-o", "out", *FEW).code == 0
    rows = runs_in("out")
    found = {(row["method.eigensolve.components"], row["method.neighbors.count"]): row["run"] for row in rows}
    assert found == {(p, k): f"components={p},count={k}" for p in "12" for k in "89"}
    assert [row["run"] for row in rows] == [f"components={p},count={k}" for p in "12" for k in "89"]
    assert {row["exit"] for row in rows} == {"0"}
    assert mlcli("embed", "data.csv", "-m", "isomap", "-k", "9", "-p", "2", "-o", "alone", *FEW).code == 0
    assert Path("alone/embedding.csv").read_bytes() == Path("out/components=2,count=9/embedding.csv").read_bytes()
    asked = [json.loads(Path(run, "run.json").read_text())["asked"] for run in ("alone", "out/components=2,count=9")]
    assert asked[0] == asked[1]


@pytest.mark.medium
def test_an_option_goes_to_the_methods_that_have_it(mlcli: Caller) -> None:
    """pca has no neighbors, and is one run; laplacian has its count at another path."""
    called = mlcli("embed", "data.csv", "-m", "pca,isomap,laplacian", "-k", "8,9",
                   "--set", "method.paths.algorithm=floyd", *FEW)
    assert called.code == 0, called.err
    rows = runs_in("runs/data-sweep")
    assert [row["run"] for row in rows] == ["name=pca", "name=isomap,count=8", "name=isomap,count=9",
                                            "name=laplacian,count=8", "name=laplacian,count=9"]
    assert [row["method.neighbors.count"] for row in rows] == ["", "8", "9", "8", "9"]
    told = {row["run"]: json.loads(Path("runs/data-sweep", row["run"], "run.json").read_text()) for row in rows}
    assert told["name=isomap,count=8"]["method"] == "isomap"
    assert "algorithm: floyd" in Path("runs/data-sweep/name=isomap,count=9/config.yaml").read_text()


@pytest.mark.medium
def test_an_alternative_goes_to_the_method_that_has_it_with_its_options(mlcli: Caller) -> None:
    """Its name is an option as well, though the name of the method is none."""
    called = mlcli("embed", "data.csv", "-m", "pca,kpca", "--set", "method.kernel.name=polynomial",
                   "--set", "method.kernel.degree=3", "-o", "out", *FEW)
    assert called.code == 0, called.err
    assert "degree: 3" in Path("out/name=kpca/config.yaml").read_text()
    assert "kernel" not in Path("out/name=pca/config.yaml").read_text()


def test_files_and_values_are_combined(mlcli: Caller) -> None:
    Path("more.csv").write_bytes(Path("data.csv").read_bytes())
    assert mlcli("embed", "data.csv", "more.csv", "--scale", "center,standard", "-o", "out", *FEW).code == 0
    assert [row["run"] for row in runs_in("out")] == ["data,scale=center", "data,scale=standard",
                                                      "more,scale=center", "more,scale=standard"]
    assert mlcli("embed", "data.csv", "more.csv", "--scale", "center,standard", *FEW).code == 0
    assert sorted(map(str, Path("runs").glob("*/*/run.json"))) == [
        f"runs/{name}-sweep/scale={scale}/run.json" for name in ("data", "more") for scale in ("center", "standard")]


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["-m", "pca,mds", "-k", "5,8"], 78, "method.neighbors"),  # which neither has
    (["-m", "pca", "-k", "5,8"], 78, "method.neighbors"),
    (["-m", "pca,isomap", "--set", "method.neighbours.count=5"], 78, "method.neighbours"),
    (["-m", "pca,isomaps"], 78, "isomaps"),
    (["-m", "isomap", "-k", "5,,8"], 2, "E-EMPTY-VALUE"),
    (["-m", "isomap", "-k", "5,eight"], 78, "method.neighbors.count"),
    (["-m", "isomap", "-k", "5,8", "-o", "-"], 2, "E-ONE-OUTPUT"),
    (["-m", "isomap", "-k", "[5, 8]"], 78, "sweep"),  # a list of YAML stays one
    (["-p", ",".join(map(str, range(1, 10_003)))], 78, "10002 runs")])
def test_what_cannot_be_run_is_refused_before_the_first_run(mlcli: Caller, arguments: list[str], code: int,
                                                            said: str) -> None:
    called = mlcli("embed", "data.csv", *arguments)
    assert called.code == code, called.err
    assert said in called.err
    assert not Path("runs").exists()
