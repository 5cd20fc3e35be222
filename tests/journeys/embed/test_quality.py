"""quality.json, as runs write it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.findings.quality.measure import quality
from tests import support
from tests.journeys.support import Caller
from tests.wording import Wording


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
    spectrum = np.loadtxt("run/spectrum.csv", delimiter=",", skiprows=1, usecols=1)
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


def test_label_measures_are_about_the_column_that_was_chosen(mlcli: Caller, wording: Wording) -> None:
    rows = np.random.default_rng(0).standard_normal((40, 3))
    lines = [f"{'ab'[int(row[0] > 0)]},{'xy'[int(row[1] > 0)]},p{place}," + ",".join(map(repr, row.tolist()))
             for place, row in enumerate(rows)]
    Path("data.csv").write_text("\n".join(["first,second,name,u,v,w", *lines]) + "\n", encoding="utf-8")
    given = ("embed", "data.csv", "-q", "--id-column", "name", "--label-column", "first", "--label-column", "second")
    assert mlcli(*given, "-o", "one").code == mlcli(*given, "-o", "two", "--set",
                                                    "report.quality.label=second").code == 0
    one, two = written("one"), written("two")
    assert (one["label"], two["label"]) == ("first", "second") and one["silhouette"] != two["silhouette"]
    assert "1-NN error of second" in Path("two/report.html").read_text(encoding="utf-8")
    called = mlcli(*given, "-o", "three", "--set", "report.quality.label=name")
    assert called.code == 78 and "first, second" in called.err and not Path("three").exists()
    assert wording(called.err) == ["E-QUALITY-LABEL"]


def test_stress_above_one_is_explained(mlcli: Caller) -> None:
    """Points in many dimensions on one axis: errors are larger than the distances drawn."""
    np.save("wide.npy", np.random.default_rng(0).standard_normal((30, 300)))
    assert mlcli("embed", "wide.npy", "-m", "mds", "-p", "1", "-o", "run", "-q").code == 0
    assert written("run")["stress_1"] > 1
    page = Path("run/report.html").read_text(encoding="utf-8")
    assert "points lie closer together than in the data; at the best scale of the embedding it is" in page


def test_a_table_that_its_metric_cannot_tell_apart_is_refused(mlcli: Caller, wording: Wording) -> None:
    np.save("amounts.npy", np.random.default_rng(0).uniform(1, 2, (20, 4)))
    for metric in ("jaccard", "dice"):
        called = mlcli("embed", "amounts.npy", "-m", "mds", "--metric", metric, "-o", "run")
        assert called.code == 65 and "E-METRIC" in wording(called.err) and "braycurtis" in called.err
    np.save("alike.npy", np.ones((20, 4)))
    called = mlcli("embed", "alike.npy", "-m", "mds", "-p", "2", "-o", "run")
    assert called.code != 0 and "E-AXES" in wording(called.err)
    called = mlcli("embed", "alike.npy", "-m", "mds", "-o", "run")
    assert called.code == 0 and "nan" not in called.err


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("stream", ["never", "always"])
def test_distances_that_are_not_euclidean_are_told_of_in_blocks_too(mlcli: Caller, kind: type, stream: str) -> None:
    amounts = np.random.default_rng(0).gamma(0.3, 5, (300, 30))
    pairs = np.abs(amounts[:, None] - amounts[None]).sum(2) / (amounts[:, None] + amounts[None]).sum(2)
    np.save("bray.npy", ((pairs + pairs.T) / 2).astype(kind))
    called = mlcli("embed", "bray.npy", "--dissimilarities", "-m", "mds", "-o", "run", "--set",
                   f"input.stream={stream}")
    assert called.code == 0 and "W-NEGATIVE" in called.err


@pytest.mark.medium
def test_a_layout_shows_its_measures_beside_those_of_pca(mlcli: Caller) -> None:
    """In quality.json those that a run of PCA has; on the page a column and a sentence; the summary is as before."""
    np.save("data.npy", np.random.default_rng(11).standard_normal((60, 5)) * [5, 4, 3, 2, 1])
    called = mlcli("embed", "data.npy", "-m", "smacof", "-p", 2, "-o", "layout", "--json", "-q")
    assert called.code == mlcli("embed", "data.npy", "-m", "pca", "-p", 2, "-o", "linear", "-q").code == 0
    found, expected = (written(run) for run in ("layout", "linear"))
    beside = found["baseline"]
    assert (beside.pop("method"), beside.pop("components")) == ("pca", 2) and "baseline" not in expected
    assert beside.pop("reconstruction_error") is None
    assert beside == {name: expected[name] for name in beside} and beside["trustworthiness"] != found["trustworthiness"]
    page = Path("layout/report.html").read_text(encoding="utf-8")
    kept, rank = beside["q_nx"]["values"][found["neighbors"] - 1], beside["shepard_correlation"]
    said = f"PCA on 2 axes keeps {kept:.0%} of the neighbors and distances with a rank correlation of {rank:.2f}."
    assert said in page
    assert ">PCA</th>" in page and f"{beside['trustworthiness']:.4g}" in page
    assert "baseline" not in json.loads(called.out)["quality"]
    assert mlcli("report", "layout", "-q").code == mlcli("compare", "layout", "linear", "-q").code == 0


def test_a_layout_of_a_graph_has_no_baseline(mlcli: Caller) -> None:
    Path("edges.csv").write_text("source,target,length\n" + "".join(f"{i},{j},{1 + (i * j) % 3}\n" for i in range(20)
                                                     for j in range(i + 1, min(i + 5, 20))))
    called = mlcli("embed", "edges.csv", "-m", "tsne", "--set", "input.kind=graph", "-o", "run", "-q")
    assert called.code == 0, called.err
    assert "baseline" not in written("run")
