"""A run under a metric says the same as the run of the metric's matrix: figures of quality, ways along the graph."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from tests.journeys.support import Caller
from tests.wording import Wording

COUNTS = np.random.default_rng(4).integers(0, 60, (40, 7)) + 1.0


@pytest.mark.parametrize("metric", ["braycurtis", "cityblock"])
@pytest.mark.parametrize("method", ["mds", "isomap"])
def test_quality_and_routes_are_those_of_the_matrix(mlcli: Caller, method: str, metric: str) -> None:
    np.save("points.npy", COUNTS)
    np.save("matrix.npy", squareform(pdist(COUNTS, metric)))
    assert mlcli("embed", "points.npy", "-m", method, "--metric", metric, "-o", "by_metric").code == 0
    assert mlcli("embed", "matrix.npy", "--dissimilarities", "-m", method, "-o", "by_matrix").code == 0
    ours, theirs = (json.loads(Path(run, "quality.json").read_bytes()) for run in ("by_metric", "by_matrix"))
    for name in ("stress_1", "sammon_stress", "residual_variance", "trustworthiness"):
        assert ours[name] == pytest.approx(theirs[name], rel=1e-9)
    if method == "isomap":
        ways = [mlcli("route", run, "1", "40").out.splitlines()[1:] for run in ("by_metric", "by_matrix")]
        ours, theirs = ([float(line.rpartition(",")[2]) for line in way] for way in ways)
        assert ours == pytest.approx(theirs, rel=1e-12) and len(ours) > 1


def table(columns: dict[str, object]) -> None:
    """A table of columns, as data.csv."""
    cells = [np.asarray(column, dtype=object) for column in columns.values()]
    lines = [",".join(map(str, row)) for row in zip(*cells, strict=True)]
    Path("data.csv").write_text("\n".join([",".join(columns), *lines, ""]))


def certified(mlcli: Caller, *options: str) -> None:
    """Embeds data.csv, without a warning of a library, and verifies the run in full."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        called = mlcli("embed", "data.csv", "--force", "-o", "run", "-q", *options)
    assert called.code == 0, called.err
    assert mlcli("verify", "run", "--full").code == 0


def test_gower_keeps_the_digits_of_columns_that_are_far_from_zero(mlcli: Caller) -> None:
    offsets, other = np.random.default_rng(0).integers(0, 5 * 2**20, 30) / 2**20, COUNTS[:30, 0]
    coordinates = []
    for start in (0, 1_700_000_000):
        table({"time": start + offsets, "other": other})
        certified(mlcli, "-m", "mds", "--metric", "gower", "--format", "npy")
        coordinates.append(np.load("run/embedding.npy"))
    assert np.array_equal(*coordinates)


@pytest.mark.parametrize(("metric", "signed"), [("gower", False), ("aitchison", False), ("gower", True),
                                                ("minkowski", True)])
def test_numbers_near_the_end_of_the_range_of_doubles(mlcli: Caller, metric: str, signed: bool) -> None:
    numbers = 9e307 * np.random.default_rng(1).uniform(-1.0 if signed else 0.1, 1.0, (12, 3))
    table({"a": numbers[:, 0], "b": numbers[:, 1], "c": numbers[:, 2]})
    certified(mlcli, "-m", "mds", "--metric", metric)


def test_sde_under_a_metric_that_embeds(mlcli: Caller) -> None:
    shares = np.random.default_rng(2).dirichlet(np.ones(3), 20)
    table({"a": shares[:, 0], "b": shares[:, 1], "c": shares[:, 2]})
    certified(mlcli, "-m", "sde", "-k", "5", "--metric", "aitchison")


@pytest.mark.parametrize("options", [("-k", "2"), ("-k", "4", "--set", "method.weights.name=heat"),
                                     ("-k", "6", "--metric", "jaccard"),
                                     ("-k", "4", "--set", "method.normalized=false")])
def test_laplacian_eigenmaps_of_equal_rows(mlcli: Caller, options: tuple[str, ...]) -> None:
    rows = np.repeat(np.random.default_rng(3).integers(0, 2, (9, 4)) * [1, 2, 3, 4] + np.eye(9, 4), 4, axis=0)
    table({"a": rows[:, 0], "b": rows[:, 1], "c": rows[:, 2], "d": rows[:, 3]})
    certified(mlcli, "-m", "laplacian", "--set", "method.neighbors.pieces=connect", *options)


@pytest.mark.parametrize("alias", ["manhattan", "taxicab", "l1", "{name: l1}", "{name: minkowski, p: 1}"])
def test_other_names_of_metrics(mlcli: Caller, alias: str) -> None:
    np.savetxt("data.csv", COUNTS, delimiter=",")
    for run, metric in (("one", ("--metric", "cityblock")), ("two", ("--metric", alias)),
                        ("three", ("--set", f"method.metric={alias}"))):
        called = mlcli("embed", "data.csv", "-m", "mds", "-o", run, "-q", "--format", "npy", *metric)
        assert called.code == 0, called.err
    one, two, three = (np.load(f"{run}/embedding.npy") for run in ("one", "two", "three"))
    assert np.allclose(one, two, rtol=0, atol=1e-9 * np.abs(one).max()) and np.array_equal(two, three)


def test_columns_of_text_that_are_not_named_are_refused_with_what_would_make_them_categories(mlcli: Caller,
                                                                                             wording: Wording) -> None:
    table({"a": [1, 2, 3, 4], "b": ["x", "y", "x", "y"]})
    called = mlcli("embed", "data.csv", "-m", "mds", "--metric", "gower")
    assert (called.code, "E-TEXT-COLUMN" in called.err) == (65, True)
    assert "--columns" in called.err and wording(called.err)
    certified(mlcli, "-m", "mds", "--metric", "gower", "--columns", "a,b", "-p", "1")


def test_axes_that_an_iterative_solver_leaves_loose_are_certified_by_their_residual(mlcli: Caller) -> None:
    """Costs near 0.4 lie so near each other that vectors have few digits, and rows are as far from their means."""
    np.save("points.npy", np.random.default_rng(0).random((700, 40)))
    called = mlcli("embed", "points.npy", "-m", "laplacian", "--metric", "manhattan", "-o", "run", "-q",
                   "--set", "method.eigensolve.tolerance=1e-6", "--set", "report.quality=null",
                   "--set", "report.dimension=false")
    assert called.code == 0 and "W-CERTIFICATE" not in called.err, called.err
    checks = {check["name"]: check for check in json.loads(Path("run/certificate.json").read_text())["checks"]}
    assert checks["projection"]["verdict"] == checks["residual"]["verdict"] == "pass"


@pytest.mark.parametrize(("metric", "way"), [("jaccard", "never"), ("dice", "never"), ("jaccard", "always")])
def test_amounts_that_count_as_presence_are_noted_and_numbers_below_zero_refused(mlcli: Caller, metric: str,
                                                                                 way: str, wording: Wording) -> None:
    present = np.random.default_rng(6).integers(0, 2, (30, 5)) | np.eye(30, 5, dtype=int)
    present[:, 4] = 1
    table({**{f"bit{place}": present[:, place] for place in range(5)}, "activity": np.arange(1, 31) / 8})
    options = ("-m", "mds", "--metric", metric, "--set", f"input.stream={way}", *(
        ("--set", "method.landmarks=10") if way == "always" else ()))
    called = mlcli.bare("data.csv", *options, "-o", "run")
    assert called.code == 0 and wording(called.err, "W-PRESENCE") == ["W-PRESENCE"] and "'activity'" in called.err
    assert mlcli.bare("data.csv", *options, "--columns", "bit0:bit4", "-o", "bits").code == 0
    assert b"-PRESENCE" not in Path("bits/run.json").read_bytes()
    table({"bit": present[:, 0], "cover": np.arange(30) / 8, "activity": np.arange(1, 31) / 8})
    assert mlcli.bare("data.csv", *options, "-o", "amounts").code == 0
    notes = {note["code"]: note for note in json.loads(Path("amounts/run.json").read_bytes())["notes"]}
    assert notes["N-PRESENCE"]["columns"] == ["cover", "activity"] and "ruzicka" in notes["N-PRESENCE"]["message"]
    present[7, 2] = -1
    table({f"bit{place}": present[:, place] for place in range(5)})
    called = mlcli.bare("data.csv", *options, "-o", "wrong")
    assert called.code == 65 and not Path("wrong").exists()
    assert f"column 'bit2': {metric} " in called.err and wording(called.err)
