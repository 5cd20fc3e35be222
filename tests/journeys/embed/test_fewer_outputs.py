"""`--outputs`: a run with fewer files has the same ones, and says what it cannot be used for."""

import json
from pathlib import Path

import pytest

from tests.journeys.support import Caller
from tests.wording import Wording

ALWAYS = {"config.yaml", "run.json", "certificate.json", "embedding.csv", "spectrum.csv"}
MADE = {"model": {"model.json", "model.npz"}, "quality": {"quality.json", "shepard.csv"},
        "dimension": {"dimension.json", "dimension.csv"}, "report": {"report.html", "scree.svg", "scatter.svg"}}


def embed(mlcli: Caller, output: str, *more: str) -> set[str]:
    called = mlcli("embed", "data.csv", "-m", "isomap", "-k", "8", "-o", output, "-q", *more)
    assert called.code == 0, called.err
    return {path.name for path in Path(output).iterdir()}


@pytest.mark.parametrize("left", ["", *MADE])
def test_what_is_left_out_is_not_there_and_the_rest_is_the_same(mlcli: Caller, left: str) -> None:
    whole = embed(mlcli, "whole")
    kept = [name for name in MADE if left and name != left]
    here = embed(mlcli, "fewer", "--outputs", ",".join(["embedding", "spectrum", *kept]))
    assert ALWAYS | {name for made in kept for name in MADE[made]} <= here
    assert not here & {name for made in MADE.keys() - kept for name in MADE[made]}
    assert left == "report" or not kept or here == whole - MADE[left]
    for name in here - {"config.yaml", "run.json", "certificate.json", "report.html"}:
        assert Path("whole", name).read_bytes() == Path("fewer", name).read_bytes()
    assert json.loads(Path("fewer/certificate.json").read_text())["verdict"] == "pass"


def test_a_run_without_a_model_says_so(mlcli: Caller) -> None:
    embed(mlcli, "fewer", "--outputs", "spectrum,embedding")
    for command in (["project", "fewer", "data.csv"], ["embed", "fewer", "-o", "again"]):
        called = mlcli(*command)
        assert called.code == 66 and "E-NOT-WRITTEN" in called.err, called.err
    verified = json.loads(mlcli("verify", "fewer", "--json").out)
    assert verified["certificate"]["checks"][0]["how"] == "the run wrote no model"
    assert mlcli("compare", "fewer", "fewer").code == 0
    assert mlcli("report", "fewer", "-q").code == 0 and Path("fewer/report.html").exists()
    Path("fewer/model.json").write_text("{}")
    assert mlcli("project", "fewer", "data.csv").code == 83


@pytest.mark.parametrize("outputs", ["embedding,spectrum,picture", ""])
def test_outputs_that_there_are_not_are_refused(mlcli: Caller, outputs: str) -> None:
    called = mlcli("embed", "data.csv", "--outputs", outputs)
    assert called.code == 78 and "report.outputs" in called.err


@pytest.mark.parametrize("outputs", ["embedding", "spectrum,model"])
def test_what_is_always_written_need_not_stand_in_the_list(mlcli: Caller, outputs: str) -> None:
    assert mlcli("embed", "data.csv", "--outputs", outputs, "-o", "run", "-q").code == 0
    assert Path("run/embedding.csv").exists() and Path("run/spectrum.csv").exists()
    assert Path("run/model.json").exists() == ("model" in outputs)


def test_run_takes_the_flags_of_embed_that_say_what_is_written(mlcli: Caller) -> None:
    Path("job.yaml").write_text("input: {path: data.csv}\nmethod: {name: isomap}\n")
    assert mlcli("run", "job.yaml", "--outputs", "embedding,spectrum", "--keep", "graph", "-o", "run", "-q").code == 0
    assert Path("run/graph.npz").exists() and not Path("run/report.html").exists()


@pytest.mark.parametrize("command", [("embed", "data.csv"), ("explore", "data.csv"), ("collect", ".")])
def test_a_folder_is_not_named_as_a_file_is(mlcli: Caller, command: tuple[str, ...], wording: Wording) -> None:
    called = mlcli(*command, "-o", "all.HTML")
    assert called.code == 73 and wording(called.err) == ["E-OUTPUT-NAME"] and ".HTML" in called.err
    assert not Path("all.HTML").exists()
