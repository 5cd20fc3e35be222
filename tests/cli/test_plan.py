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
