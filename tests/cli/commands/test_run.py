"""`run` carries out files and sweeps; all are checked first, and one failure does not stop the rest."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.journeys.support import Called, Caller
from tests.wording import Wording


def config(name: str, text: str) -> str:
    """A YAML file over data.csv."""
    Path(name).write_text(f"input: {{path: data.csv}}\n{text}")
    return name


def test_a_file_and_the_layers_above_it(mlcli: Caller) -> None:
    path = config("run.yaml", "method: {name: isomap, neighbors: {count: 8}}\noutput: out\n")
    assert mlcli("run", path).err.endswith("open out/report.html\n")
    called = mlcli("run", path, "--set", "method.neighbors.count=9", "-o", "nine", "--format", "npy", "--json")
    assert called.code == 0, called.err
    assert json.loads(called.out)["run"] == "nine"
    assert "count: 9" in Path("nine/config.yaml").read_text()
    assert Path("nine/embedding.npy").exists()


def test_a_configuration_is_read_from_standard_input(mlcli: Caller, monkeypatch: pytest.MonkeyPatch,
                                                     wording: Wording) -> None:
    def piped(text: bytes, *more: str) -> Called:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        return mlcli("run", "-", "-q", *more)

    assert piped(b"method: {name: mds}\n", "--set", "input.path=data.csv").code == 0
    assert Path("runs/data-mds/embedding.csv").exists()
    assert "E-CONFIG" in wording(piped(b"method: {name: none}", "--set", "input.path=data.csv").err)
    called = piped(b"input: {path: '-'}")
    assert called.code == 2 and "E-STDIN-TWICE" in called.err
    assert piped(b"").code == piped(b"#" * 2**20 + b"\n").code == 78


def rows(path: str) -> list[dict[str, str]]:
    """The rows of a table of runs."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_sweep_makes_runs_named_by_their_values_with_a_table(mlcli: Caller) -> None:
    path = config("sweep.yaml", "output: out\nsweep:\n  method.name: [pca, mds]\n")
    called = mlcli("run", path, "--json")
    assert called.code == 0, called.err
    documents = json.loads(called.out)["runs"]
    assert [run["run"] for run in documents] == ["out/name=pca", "out/name=mds"]
    assert sorted(path.name for path in Path("out").iterdir()) == ["name=mds", "name=pca", "runs.csv", "runs.html"]
    for row, document in zip(rows("out/runs.csv"), documents, strict=True):
        assert (row["run"], row["method.name"]) == (f"name={document['method']}", document["method"])
        assert (row["exit"], row["error"], row["certificate"]) == ("0", "", "pass")
        quality = json.loads((Path(document["run"]) / "quality.json").read_text())
        for name in ("trustworthiness", "continuity", "residual_variance"):
            assert float(row[name]) == quality[name]
        assert [float(row["share_1"]), float(row["share_2"])] == document["proportions"]
        assert float(row["seconds"]) == document["seconds"] and 30 < float(row["memory_mib"]) < 8000


@pytest.mark.medium
def test_several_inputs_make_a_run_each(mlcli: Caller) -> None:
    Path("more.csv").write_bytes(Path("data.csv").read_bytes())
    called = mlcli("embed", "data.csv", "absent.csv", "more.csv", "-o", "out", "-q")
    assert called.code == 66 and called.err.endswith(" out/absent\n") and called.err.count("\n") == 1
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "data", "more", "runs.csv", "runs.html"]
    assert Path("out/data/embedding.csv").read_bytes() == Path("out/more/embedding.csv").read_bytes()
    assert [(row["run"], row["input.path"], row["exit"]) for row in rows("out/runs.csv")] == [
        ("data", "data.csv", "0"), ("absent", "absent.csv", "66"), ("more", "more.csv", "0")]
    assert mlcli("embed", "data.csv", "more.csv", "-q").code == 0
    assert Path("runs/data-pca").exists() and Path("runs/more-pca").exists()
    assert mlcli("embed", "data.csv", "more.csv", "-o", "-").code == 2


def test_all_files_are_checked_before_the_first_run(mlcli: Caller) -> None:
    good, bad = config("good.yaml", "output: a\n"), config("bad.yaml", "output: b\ncompute: {seed: x}\n")
    assert mlcli("run", good, bad).code == 78
    assert not Path("a").exists()


def test_a_failing_run_does_not_stop_the_others(mlcli: Caller) -> None:
    first = config("first.yaml", "output: a\nmethod: {eigensolve: {components: 9}}\n")
    Path("second.yaml").write_text("input: {path: absent.csv}\noutput: b\n")
    third = config("third.yaml", "output: c\n")
    called = mlcli("run", first, "second.yaml", third, "--json")
    assert called.code == 78
    assert [json.loads(line)["error"]["exit"] for line in called.err.splitlines()] == [78, 66]
    assert [(run["run"], run.get("exit")) for run in json.loads(called.out)["runs"]] == [
        ("a", 78), ("b", 66), ("c", None)]
    assert Path("c").exists() and not Path("a").exists()


@pytest.mark.parametrize(("arguments", "code", "name"), [
    (["one.yaml", "two.yaml", "-o", "out"], 2, "E-ONE-OUTPUT"),
    (["one.yaml", "one.yaml"], 78, "E-ONE-OUTPUT"),
    (["one.yaml", "two.yaml"], 78, "E-ONE-OUTPUT"),
    (["sweep.yaml", "-o", "-"], 78, "E-SWEEP"),
    ([], 2, "E-USAGE"),
])
def test_runs_cannot_share_an_output(mlcli: Caller, arguments: list[str], code: int, name: str) -> None:
    config("one.yaml", "")
    config("two.yaml", "compute: {seed: 1}\n")
    config("sweep.yaml", "sweep: {compute.seed: [1, 2]}\n")
    called = mlcli("run", *arguments)
    assert (called.code, called.err.split("]")[0]) == (code, f"mlcli: error[{name}")
    assert not Path("runs").exists()


def test_a_single_run_streams(mlcli: Caller) -> None:
    assert mlcli("run", config("run.yaml", ""), "-o", "-", "-q").out.splitlines()[0].endswith("y1,y2")


def test_a_failing_run_of_several_says_which_and_why(mlcli: Caller) -> None:
    path = config("sweep.yaml", "output: out\nmethod: {name: isomap}\nsweep:\n  method.neighbors.count: [8, 99]\n")
    called = mlcli("run", path, "--json")
    good, bad = json.loads(called.out)["runs"]
    assert (called.code, good["run"], bad["run"], bad["exit"]) == (78, "out/count=8", "out/count=99", 78)
    assert bad["error"]["where"] == "sweep.yaml:5:3: method.neighbors.count"
    assert json.loads(called.err) == {"error": bad["error"], "run": "out/count=99"}
    text = mlcli("run", path, "-o", "again", "-q").err
    assert text.startswith("mlcli: error[E-") and text.count("\n") == 1
    assert text.endswith("; in the run again/count=99\n")
