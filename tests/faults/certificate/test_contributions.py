"""Contributions and squared cosines that are not those of the rows fail the certificate."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.findings import contributions
from tests.faults.fuzz.directories import SAMPLES
from tests.journeys.support import Caller

RUNS = {"pca": ("us_arrests.csv", "-m", "pca"), "ca": ("hair_eye.csv", "-m", "ca"),
        "mca": ("dune_env.csv", "-m", "mca", "--columns", "Moisture,Management,Use"),
        "famd": ("dune_env.csv", "-m", "famd"),
        "mfa": ("us_arrests.csv", "-m", "mfa", "--groups", "first=Murder,Assault", "--groups", "second=UrbanPop",
                "--groups", "third=Rape", "--set", "method.supplementary=[third]")}


@pytest.fixture
def mlcli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Caller:
    """The command line in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    return Caller(capsys)


@pytest.mark.medium
@pytest.mark.parametrize("what", ["honest", "contributions of rows", "contributions of columns"])
@pytest.mark.parametrize("method", RUNS)
def test_a_share_that_is_a_millionth_off_fails(mlcli: Caller, monkeypatch: pytest.MonkeyPatch, method: str,
                                               what: str) -> None:
    """Each time another of the four tables is wrong, in its largest number."""
    honest, (file, *options) = contributions.shares_of, RUNS[method]

    def lie(*given: Any) -> Any:
        rows, columns = honest(*given)
        part = {"contributions of rows": rows, "contributions of columns": columns}.get(what, ())
        for shares in part[:1] if method in ("pca", "mca") else part[1:]:
            shares[np.unravel_index(np.argmax(shares), shares.shape)] *= 1 + 1e-6
        return rows, columns

    monkeypatch.setattr(contributions, "shares_of", lie)
    called = mlcli.bare(str(SAMPLES / file), *options, "--contributions", "-o", "run")
    if what == "honest":
        assert called.code == 0
    else:
        assert called.code == 80 and what in called.err


@pytest.mark.medium
@pytest.mark.parametrize("wrong", [None, -0.1, 1.1, np.nan, np.inf])
def test_shares_in_an_axis_of_rounding_are_in_range_and_said_to_be_unchecked(
        mlcli: Caller, monkeypatch: pytest.MonkeyPatch, wrong: float | None) -> None:
    points = np.random.default_rng(0).standard_normal((20, 3)) * [3.0, 1.0, 1e-6]
    np.savetxt("flat.csv", points, delimiter=",", header="a,b,c", comments="")
    honest = contributions.shares_of

    def lie(*given: Any) -> Any:
        rows, columns = honest(*given)
        if wrong is not None:
            rows[0][5, 2] = wrong
        return rows, columns

    monkeypatch.setattr(contributions, "shares_of", lie)
    called = mlcli.bare("flat.csv", "-p", "3", "--contributions", "-o", "run")
    assert (called.code, "range of contributions" in called.err) == ((0, False) if wrong is None else (80, True))
    if wrong is None:
        checks = {check["name"]: check for check in json.loads(Path("run/certificate.json").read_text())["checks"]}
        assert checks["contributions of small axes"]["verdict"] == "skipped"
        assert "1 of 3 axes" in checks["contributions of small axes"]["how"]
