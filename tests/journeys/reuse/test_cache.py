"""Runs with a cache have the same bytes; a sweep shares what its runs have in common, and leaves nothing behind."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.engine import cache as module
from mlcli.pipeline import start
from tests.journeys.support import Caller

pytestmark = pytest.mark.medium

DETERMINED = ("embedding.csv", "spectrum.csv", "model.npz", "model.json", "quality.json", "dimension.json")


@pytest.fixture(autouse=True)
def table(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORTHWHILE", 0.0)
    np.save("roll.npy", np.random.default_rng(0).standard_normal((150, 3)))


def answers(folder: str) -> dict[str, bool]:
    """Which stages of a run were taken from a cache."""
    said = json.loads((Path(folder) / "run.json").read_text())
    return {answer["stage"]: answer["taken"] for answer in said["cache"]}


def isomap(mlcli: Caller, output: str, *options: str) -> None:
    called = mlcli("embed", "roll.npy", "-m", "isomap", "-k", "20", "-o", output, "-q", *options)
    assert called.code == 0, called.err


def test_a_second_run_takes_the_first_ones_stages(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    isomap(mlcli, "alone")
    assert "cache" not in json.loads(Path("alone/run.json").read_text())
    monkeypatch.setenv("MLCLI_CACHE", "kept")
    isomap(mlcli, "first")
    isomap(mlcli, "second")
    isomap(mlcli, "without", "--no-cache")
    assert not any(answers("first").values()) and all(answers("second").values())
    assert answers("second").keys() - {"elimination"} == {"neighbors", "eigensolve"}
    assert "cache" not in json.loads(Path("without/run.json").read_text())
    for name in DETERMINED:
        alone = Path("alone", name).read_bytes()
        assert all(Path(other, name).read_bytes() == alone for other in ("first", "second", "without"))
    said = json.loads(mlcli("cache", "--json").out)
    assert said["folder"] == "kept" and said["stages"].keys() == answers("second").keys()
    assert all(part["results"] == 1 for part in said["stages"].values())
    assert mlcli("cache", "second").out == "".join(f"{stage}: taken\n" for stage in answers("second"))
    isomap(mlcli, "third", "-p", "3")
    assert "computed: the nearest result differs in self as chosen, self.components" in mlcli("cache", "third").out
    removed = len(answers("second")) + 1
    assert f"{removed} results removed" in mlcli("cache", "--clear").out and not list(Path("kept").iterdir())


def test_the_runs_of_a_sweep_share_one_search(mlcli: Caller) -> None:
    Path("sweep.yaml").write_text("input: {path: roll.npy}\nmethod: {name: isomap}\noutput: out\n"
                                  "sweep: {method.neighbors.count: [15, 20], method.graph: [union, mutual]}\n")
    called = mlcli("run", "sweep.yaml", "-q")
    assert called.code == 0, called.err
    assert sorted(path.name for path in Path("out").iterdir()) == [
        *(f"count={count},graph={graph}" for count in (15, 20) for graph in ("mutual", "union")), "runs.csv",
        "runs.html"]
    assert [answers(f"out/count={count},graph={graph}").get("neighbors") for count in (15, 20)
            for graph in ("union", "mutual")] == [False, True, True, True]
    isomap(mlcli, "alone")
    for name in DETERMINED:
        assert Path("alone", name).read_bytes() == Path("out/count=20,graph=union", name).read_bytes()


@pytest.mark.parametrize(("arguments", "code", "text"), [
    (["cache"], 2, "E-NO-CACHE"), (["cache", "alone", "--clear"], 2, "E-CACHE"), (["cache", "alone"], 2, "E-NO-CACHE"),
    (["cache", "nothing"], 66, "E-"),
    (["embed", "roll.npy", "--set", "compute.cache_limit=much"], 78, "E-MEMORY-LIMIT")])
def test_refusals(mlcli: Caller, arguments: list[str], code: int, text: str) -> None:
    isomap(mlcli, "alone")
    called = mlcli(*arguments)
    assert called.code == code and text in called.err


def test_the_runs_of_a_sweep_read_their_input_once(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes of reading stand in each run; a file that changes meanwhile is read again."""
    Path("few.csv").write_text("x,y,z\n" + "\n".join(f"{i + 1},{i * i},{i % 7}" for i in range(20)) + "\n")
    Path("sweep.yaml").write_text("input: {path: few.csv}\nmethod: {name: pca}\noutput: out\n"
                                  "sweep: {method.eigensolve.components: [1, 2, 3]}\n")
    read, times = start.read, []

    def counted(*arguments: Any) -> Any:
        times.append(Path("few.csv").stat().st_mtime_ns)
        return read(*arguments)

    monkeypatch.setattr(start, "read", counted)
    called = mlcli("run", "sweep.yaml", "-q")
    assert called.code == 0 and len(times) == 1, called.err
    noted = [json.loads(Path(f"out/components={count}/run.json").read_text())["warnings"] for count in (1, 2, 3)]
    assert noted[0] == noted[1] == noted[2] and noted[0][0]["code"] == "W-ID-LIKE"
    mlcli("embed", "few.csv", "-p", "3", "-o", "alone", "-q")
    for name in ("embedding.csv", "model.npz", "quality.json"):
        assert Path("alone", name).read_bytes() == Path("out/components=3", name).read_bytes()

    def touched(*arguments: Any) -> Any:
        table = counted(*arguments)
        Path("few.csv").touch()
        return table

    times.clear()
    monkeypatch.setattr(start, "read", touched)
    assert mlcli("run", "sweep.yaml", "-q", "--force").code == 0 and len(set(times)) == 3
