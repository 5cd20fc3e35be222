"""Landmarks place the rows of a file under every metric as they do in memory."""

import json
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv, parquet

from mlcli.base.types import Array
from mlcli.core.metrics import METRICS
from mlcli.methods import METHODS
from tests.journeys.memory.test_beyond_memory import BLOCKS, embedded, spectrum, table
from tests.journeys.support import Caller

ROWS, COLUMNS = 900, 6
OTHERS = [name for name, kind in METRICS.items() if not kind.plain]
EVERYDAY = {("mds", "cityblock"), ("mds", "gower"), ("kpca", "jaccard"), ("kpca", "cosine")}  # one of every kind


def amounts() -> Array:
    """Rows of amounts over zero."""
    generator = np.random.default_rng(1)
    return generator.gamma(2.0, 1.0, (ROWS, COLUMNS)) * 10.0 ** np.arange(-1, COLUMNS - 1) + 0.01


def points_for(metric: str) -> Array:
    """Rows that a metric is made for."""
    points = amounts()
    if metric == "haversine":
        return points[:, :2] * [1.0, 10.0]
    return np.where(points < np.median(points, axis=0), 0.0, points) + np.eye(ROWS, COLUMNS) if metric in (
        "jaccard", "dice", "hamming") else points


@pytest.mark.parametrize(("method", "metric"), [
    pytest.param(method, metric, marks=() if (method, metric) in EVERYDAY else pytest.mark.slow)
    for method in ("mds", "kpca") for metric in OTHERS])
def test_landmarks_under_a_metric_place_rows_of_a_file_as_in_memory(mlcli: Caller, method: str, metric: str) -> None:
    points = points_for(metric)
    points = points[points.any(axis=1)]
    np.save("t.npy", points)
    for output, more in (("blocks", BLOCKS), ("whole", ())):
        called = mlcli.bare("t.npy", "-m", method, "--metric", metric, "--set", "method.landmarks=60", "-o", output,
                            "-q", *more)
        assert called.code == 0, called.err
    assert np.abs(spectrum("blocks") - spectrum("whole")).max() <= 1e-10 * spectrum("whole")[0]
    found, expected = embedded("blocks")[1], embedded("whole")[1]
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()
    facts = [json.loads(Path(name, "run.json").read_text()) for name in ("blocks", "whole")]
    angles = [fact["spectrum"]["angle_bounds"] for fact in facts]
    assert angles[0] == pytest.approx(angles[1], rel=1e-6) and facts[0]["certificate"] == "pass"
    called = mlcli("verify", "--full", "blocks")
    assert called.code == 0 and "skipped" not in called.out, called.out
    new = mlcli("project", "blocks", "t.npy", "-o", "new.csv", *BLOCKS)
    assert new.code == 0, new.err


@pytest.mark.parametrize(("metric", "cell"), [("braycurtis", -1.0), ("jaccard", None), ("correlation", None)])
def test_rows_outside_of_a_metrics_domain_are_named(mlcli: Caller, metric: str, cell: float | None) -> None:
    points = amounts()
    if cell is None:  # rows that the metric does not tell apart, but for rounding
        points = np.outer(1 + np.arange(ROWS) % 7, np.arange(1, COLUMNS + 1)) / 3
    else:
        points[700, 2] = cell
    parquet.write_table(table(points), "t.parquet", row_group_size=200)
    told = [mlcli.bare("t.parquet", "--id-column", "name", "--label-column", "kind", "-m", "mds", "--metric",
                       metric, "--set", "method.landmarks=60", "-o", "none", *more) for more in ((), BLOCKS)]
    assert told[0].code == told[1].code in (65, 81)
    assert told[0].err == told[1].err and ("row 701" in told[1].err) == (cell is not None)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_categories_of_text_are_compared_in_blocks_as_in_memory(mlcli: Caller, name: str) -> None:
    parquet.write_table(table(amounts()), "t.parquet", row_group_size=200)
    csv.write_csv(table(amounts()), "t.csv")
    options = (name, "--id-column", "name", "--columns", "kind,x1,x2", "-m", "mds", "--metric", "gower", "--set",
               "method.landmarks=60", "-q")
    for output, more in (("blocks", BLOCKS), ("whole", ())):
        called = mlcli.bare(*options, "-o", output, *more)
        assert called.code == 0, called.err
    found, expected = embedded("blocks")[1], embedded("whole")[1]
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()
    assert mlcli("verify", "--full", "blocks").code == 0
    places = [mlcli("project", "blocks", name, "-o", f"{output}.csv", *more).code for output, more in (
        ("a", BLOCKS), ("b", ()))]
    assert places == [0, 0] and Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


def test_methods_that_are_read_in_blocks_say_under_which_conditions(mlcli: Caller) -> None:
    for name, kind in METHODS.items():
        assert not kind(name=name).streams("features") or kind.in_blocks is not None
        assert kind.in_blocks != "" or kind(name=name).streams("features")
    refused = mlcli.bare("t.npy", "-m", "mds", *BLOCKS)
    assert refused.code == 78 and "mds (with method.landmarks " in refused.err
