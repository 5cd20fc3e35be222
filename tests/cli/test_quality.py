"""quality.json, as runs write it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.report.quality import quality
from tests import support
from tests.cli.support import Caller


def written(folder: str) -> dict[str, Any]:
    return dict(json.loads((Path(folder) / "quality.json").read_text()))


def manifest(folder: str) -> dict[str, Any]:
    return dict(json.loads((Path(folder) / "run.json").read_text()))


def test_a_run_measures_what_it_wrote(mlcli: Caller) -> None:
    """The file's numbers are those of the written coordinates and the table, with a stage of their own."""
    assert mlcli("embed", "data.csv", "-q", "-o", "run", "--scale", "standard", "--set", "report.quality.neighbors=5",
                 "--format", "npy").code == 0
    table = np.genfromtxt("data.csv", delimiter=",", skip_header=1, usecols=(1, 2, 3))
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    expected = quality(support.features(table), np.load("run/embedding.npy"), neighbors=5,
                       generator=np.random.default_rng(0)).figures
    found = written("run")
    spectrum = np.loadtxt("run/spectrum.csv", delimiter=",", skiprows=1)[:, 1]
    assert found.pop("reconstruction_error") == pytest.approx(spectrum[2:].sum())
    del expected["reconstruction_error"]
    assert list(found) == list(expected)
    assert found["trustworthiness"] == expected["trustworthiness"]
    assert found["sammon_stress"] == pytest.approx(expected["sammon_stress"], rel=1e-9)
    assert "quality" in [stage["stage"] for stage in manifest("run")["stages"]]
    assert "quality.json" in manifest("run")["files"]


@pytest.mark.parametrize("value", ["null", "~", ""])
def test_quality_can_be_left_out(mlcli: Caller, value: str) -> None:
    assert mlcli("embed", "data.csv", "-q", "-o", "run", "--set", f"report.quality={value}").code == 0
    assert not Path("run/quality.json").exists()
    assert "quality" not in [stage["stage"] for stage in manifest("run")["stages"]]
    assert mlcli("run", "run/config.yaml", "-q", "-o", "again").code == 0
    assert not Path("again/quality.json").exists()


@pytest.mark.parametrize("value", ["none", "false", "{neighbors: 0}", "{sample: 1}", "{sample: some}"])
def test_a_wrong_option_is_refused(mlcli: Caller, value: str) -> None:
    called = mlcli("embed", "data.csv", "-o", "run", "--set", f"report.quality={value}")
    assert called.code == 78 and "report.quality" in called.err


def test_a_sample_has_standard_errors(mlcli: Caller) -> None:
    assert mlcli("embed", "data.csv", "-q", "-o", "run", "--set", "report.quality.sample=20").code == 0
    found = written("run")
    assert (found["rows"], found["anchors"], found["exact"]) == (30, 20, False)
    assert found["trustworthiness_se"] > 0 and found["reconstruction_error_se"] > 0
    assert len(found["q_nx"]["values"]) == len(found["q_nx_se"]["values"]) == 29


def test_rows_outside_the_largest_piece_are_not_measured(mlcli: Caller) -> None:
    """Two clouds far apart: labels, features and geodesics are those of the piece that was embedded."""
    points = np.random.default_rng(0).standard_normal((50, 3)) + 1000 * (np.arange(50) % 5 == 0)[:, None]
    lines = [f"{','.join(map(str, row))},{'ab'[row[0] > 0]}" for row in points.tolist()]
    Path("two.csv").write_text("\n".join(["x,y,z,side", *lines, ""]))
    assert mlcli("embed", "two.csv", "-q", "-m", "isomap", "-k", "5", "--set", "method.neighbors.pieces=largest",
                 "--label-column", "side", "-o", "run").code == 0
    found = written("run")
    assert (found["rows"], found["distances"], found["label"]) == (40, "geodesic", "side")
    assert 0.8 < found["trustworthiness"] <= 1 and 0 < found["silhouette"] < 1


@pytest.mark.parametrize("method", ["mds", "isomap", "pca", "lle", "kpca"])
def test_every_method_is_measured(mlcli: Caller, method: str) -> None:
    assert mlcli("embed", "data.csv", "-q", "-m", method, "-o", "run").code == 0
    found = written("run")
    assert found["distances"] == {"isomap": "geodesic", "kpca": "kernel"}.get(method, "euclidean")
    for name in ("trustworthiness", "lcmc", "stress_1", "sammon_stress", "residual_variance", "shepard_correlation"):
        assert isinstance(found[name], float), name
    assert (found["reconstruction_error"] is None) == (method not in ("mds", "pca"))


def test_a_given_kernel_and_given_dissimilarities(mlcli: Caller) -> None:
    points = np.random.default_rng(0).standard_normal((20, 3))
    np.savetxt("kernel.csv", points @ points.T, delimiter=",", fmt="%.17g")
    np.savetxt("apart.csv", support.distances(points), delimiter=",", fmt="%.17g")
    assert mlcli("embed", "kernel.csv", "-q", "-m", "kpca", "--set", "input.kind=kernel", "-p", 3, "-o", "k").code == 0
    assert mlcli("embed", "apart.csv", "-q", "-m", "mds", "--dissimilarities", "-p", 3, "-o", "d").code == 0
    assert (written("k")["distances"], written("d")["distances"]) == ("kernel", "given")
    assert max(written("k")["stress_1"], written("d")["stress_1"]) < 1e-7
