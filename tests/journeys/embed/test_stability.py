"""`report.stability`: its files, its section of the page, its refusals, and its place in plan and run."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.faults.fuzz.directories import damaged
from tests.journeys.support import Caller
from tests.wording import Wording

ASKED = "report.stability.resamples=6"
GENERATOR = np.random.default_rng(4)


@pytest.fixture
def points(mlcli: Caller) -> None:
    """Sixty points in four columns, and the distances of eight."""
    values = GENERATOR.standard_normal((60, 4)) * [4.0, 2.0, 1.0, 0.5]
    np.savetxt("points.csv", values, delimiter=",", header="a,b,c,d", comments="")
    np.savetxt("far.csv", np.linalg.norm(values[:8, None] - values[:8], axis=2), delimiter=",")
    kernel = values[:8] @ values[:8].T
    np.savetxt("kernel.csv", (kernel + kernel.T) / 2, delimiter=",")


@pytest.mark.medium
@pytest.mark.parametrize(("arguments", "kind"), [((), "bootstrap"), (("-m", "isomap", "-k", "9"), "subsample")])
def test_a_run_says_how_stable_it_is(mlcli: Caller, points: None, arguments: tuple[str, ...], kind: str) -> None:
    called = mlcli("embed", "points.csv", *arguments, "-p", "2", "--set", ASKED, "-o", "run", "-q")
    assert called.code == 0, called.err
    found = json.loads(Path("run/stability.json").read_text())
    assert (found["kind"], found["resamples"], found["failed"]) == (kind, 6, 0)
    spectrum = np.loadtxt("run/spectrum.csv", delimiter=",", skiprows=1, usecols=(1, 2))
    for place, name in enumerate(("eigenvalues", "shares")):
        values = np.array([item["value"] for item in found[name]])
        np.testing.assert_allclose(values, spectrum[: len(values), place], rtol=1e-12)
    rows = Path("run/stability.csv").read_text().splitlines()
    assert rows[0] == "row,resamples,y1,y2,correlation" and len(rows) == 61
    page = Path("run/report.html").read_text()
    assert "<h2>Stability</h2>" in page and page.count('class="ellipse"') == sum(
        int(row.split(",")[1]) > 1 for row in rows[1:])
    assert mlcli("verify", "run").code == 0
    assert mlcli("report", "run", "-q").code == 0 and Path("run/report.html").read_text() == page
    again = mlcli("embed", "points.csv", *arguments, "-p", "2", "--set", ASKED, "-o", "again", "--threads", "1", "-q")
    assert again.code == 0 and Path("again/stability.csv").read_bytes() == Path("run/stability.csv").read_bytes()


def test_its_cost_is_planned_and_its_stage_is_the_runs(mlcli: Caller, points: None) -> None:
    planned = json.loads(mlcli("plan", "points.csv", "--set", ASKED, "--json").out)["steps"]
    assert mlcli("embed", "points.csv", "--set", ASKED, "-o", "run", "-q").code == 0
    stages = json.loads(Path("run/run.json").read_text())["stages"]
    assert [step["stage"] for step in planned] == [stage["stage"] for stage in stages]
    of_fit = ("centering", "covariance", "kernel", "eigensolve")
    fit = sum(step["seconds"] for step in planned if step["stage"] in of_fit)
    asked = next(step for step in planned if step["stage"] == "stability")
    assert "6 fits" in asked["how"] and asked["seconds"] >= 6 * fit > 0


def test_fits_that_fail_are_counted(mlcli: Caller, points: None) -> None:
    two = np.concatenate([GENERATOR.standard_normal((20, 2)), GENERATOR.standard_normal((20, 2)) + [20.0, 0.0],
                          [[5.0, 0.0], [10.0, 0.0], [15.0, 0.0]]])
    np.savetxt("bridge.csv", two, delimiter=",", header="a,b", comments="")
    called = mlcli("embed", "bridge.csv", "-m", "isomap", "--radius", "6", "--set",
                   "report.stability.resamples=20", "--set", "report.stability.share=0.7", "-o", "run", "-q")
    assert called.code == 0, called.err
    found = json.loads(Path("run/stability.json").read_text())
    assert found["failed"] > 0 and found["failed"] + found["resamples"] == 20
    assert f"{found['failed']} more failed" in Path("run/report.html").read_text()


@pytest.mark.parametrize(("arguments", "named"), [
    (("kernel.csv", "--kind", "kernel", "-m", "kpca"), "kpca"), (("points.csv", "-m", "lgssm"), "lgssm"),
    (("points.csv", "-o", "-"), ""), (("points.csv", "--set", "report.stability.share=1"), "report.stability.share"),
    (("points.csv", "--set", "report.stability.share=0.5"), "report.stability.share"),
    (("points.csv", "--set", "report.stability.resamples=1"), "report.stability.resamples")])
def test_what_cannot_be_drawn_again_is_refused(mlcli: Caller, points: None, arguments: tuple[str, ...],
                                               named: str, wording: Wording) -> None:
    called = mlcli("embed", *arguments, "--set", ASKED, "-q") if "resamples=1" not in arguments[-1] else mlcli(
        "embed", *arguments, "-q")
    assert called.code == 78 and named in called.err and "stability" in called.err and wording(called.err)


def test_distances_are_drawn_again_too(mlcli: Caller, points: None) -> None:
    called = mlcli("embed", "far.csv", "--dissimilarities", "-m", "mds", "-p", "1", "--set", ASKED, "-o", "run", "-q")
    assert called.code == 0, called.err
    assert Path("run/stability.csv").read_text().startswith("row,resamples,y1\n")
    assert Path("run/report.html").read_text().count('class="ellipse"') > 2


@pytest.mark.parametrize(("name", "content"), [
    ("stability.json", b'{"kind": "jackknife"}'),
    ("stability.csv", b"id,resamples,y1,y2,correlation\n1,2,0.5,0.5,0\n"), ("stability.csv", b"id,y1\n")])
def test_files_that_no_run_writes_are_refused(mlcli: Caller, points: None, name: str, content: bytes,
                                              wording: Wording) -> None:
    assert mlcli("embed", "points.csv", "--set", ASKED, "-o", "run", "-q").code == 0
    called = mlcli("report", damaged(Path("run"), Path("copy"), name, content), "-q")
    assert called.code == 83 and name in called.err and wording(called.err) == ["E-RUN-FILES"]
