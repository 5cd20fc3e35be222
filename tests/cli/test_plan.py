"""`mlcli plan` says what it was given in the words of its kind."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.support import Caller


@pytest.mark.parametrize("method", ["pca", "fa"])
def test_a_covariance_has_columns_and_no_rows(mlcli: Caller, method: str) -> None:
    points = np.random.default_rng(0).standard_normal((50, 6))
    np.save("covariance.npy", np.cov(points.T))
    given = ("covariance.npy", "-m", method, "--set", "input.kind=covariance", "--set", "input.observations=50")
    called = mlcli("plan", *given)
    assert called.code == 0, called.err
    assert called.out.splitlines()[0].startswith(f"{method}: the covariance of 6 columns, ")
    assert "row" not in called.out
    document = json.loads(mlcli("plan", *given, "--json").out)
    assert (document["kind"], document["rows"], document["columns"]) == ("covariance", 0, 6)


def test_points_have_rows_and_columns(mlcli: Caller) -> None:
    assert Path("data.csv").is_file()
    called = mlcli("plan", "data.csv")
    assert called.out.startswith("pca: 30 rows x 3 columns, ")


@pytest.fixture
def roll() -> str:
    """A swiss roll of more points than the whole spectrum is computed for."""
    generator = np.random.default_rng(0)
    angle = 1.5 * np.pi * (1 + 2 * generator.random(2300))
    np.save("roll.npy", np.column_stack([angle * np.cos(angle), 21 * generator.random(2300), angle * np.sin(angle)]))
    return "roll.npy"


def test_what_is_planned_is_what_runs(mlcli: Caller, roll: str) -> None:
    steps = {step["stage"]: step for step in json.loads(mlcli("plan", roll, "-m", "isomap", "--json").out)["steps"]}
    assert mlcli("embed", roll, "-m", "isomap", "-o", "run").code == 0
    facts = json.loads(Path("run/run.json").read_text())["facts"]
    assert steps["paths"]["how"] == next(fact["message"] for fact in facts if fact["code"] == "F-PATHS")
    assert steps["paths"]["how"].startswith("dijkstra, streamed" if "elimination" not in steps["paths"]["how"]
                                            else "elimination, streamed")


@pytest.mark.parametrize("algorithm", ["auto", "dijkstra"])
def test_a_measured_share_stands_beside_the_prediction(mlcli: Caller, roll: str, algorithm: str) -> None:
    called = mlcli("plan", roll, "-m", "isomap", "--set", f"method.paths.algorithm={algorithm}", "--set",
                   "method.paths.store=streamed", "--measure", "0.05", "--json")
    document = json.loads(called.out)
    measured = {step["stage"]: step["measured"] for step in document["steps"]}
    assert measured["eigensolve"] > 0 and measured["neighbors"] is None
    others = sum(step["seconds"] for step in document["steps"] if step["measured"] is None)
    assert document["seconds_measured"] == pytest.approx(others + measured["eigensolve"])


def test_on_a_cluster_only_passes_change(mlcli: Caller, roll: str) -> None:
    def steps(*more: str) -> dict[str, dict]:
        document = json.loads(mlcli("plan", roll, "-m", "isomap", "--json", *more).out)
        assert document["workers"] == (int(more[1]) if more else None)
        return {step["stage"]: step for step in document["steps"]}

    here, one, many = steps(), steps("--cluster", "1"), steps("--cluster", "8")
    assert {name for name in here if here[name] != many[name]} == {"eigensolve"}
    assert "on 8 workers" in many["eigensolve"]["how"]
    assert 0 < many["eigensolve"]["seconds"] < one["eigensolve"]["seconds"]


def test_what_does_not_fit_is_82(mlcli: Caller, roll: str) -> None:
    called = mlcli("plan", roll, "-m", "isomap", "--set", "compute.memory_limit=64MB")
    assert called.code == 82
    assert called.out.splitlines()[-1].endswith(": does not fit")
