"""A page and the terminal state one proportion of variance for each factor."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.support import Caller


@pytest.fixture(autouse=True)
def files(mlcli: Caller) -> None:
    """Nine columns of three correlated factors, in different units."""
    rng = np.random.default_rng(7)
    factors = rng.standard_normal((150, 3)) + 0.8 * rng.standard_normal((150, 1))
    values = (np.repeat(factors, 3, axis=1) + 0.7 * rng.standard_normal((150, 9))) * np.linspace(1, 3, 9)
    np.savetxt("data.csv", values, delimiter=",", header=",".join("abcdefghi"), comments="")


def footers(mlcli: Caller) -> dict[str, list[float]]:
    lines = mlcli("report", "run", "--table", "factors", "--as", "csv").out.splitlines()[1:]
    return {name: list(map(float, numbers)) for name, *numbers in (line.split(",") for line in lines)}


@pytest.mark.parametrize("options", [(), ("--rotation", "varimax"), ("--set", "method.noise=equal")])
def test_uncorrelated_factors_have_the_shares_of_their_loadings_everywhere(mlcli: Caller,
                                                                           options: tuple[str, ...]) -> None:
    called = mlcli("embed", "data.csv", "-m", "fa", "-p", "3", *options, "-v", "-o", "run")
    shares = footers(mlcli)["proportion of variance"]
    page = Path("run/report.html").read_text(encoding="utf-8")
    for share in shares:
        assert f"{share:.1%}" in called.err and f">{share:.2%}<" in page
    assert f"Factor 1 ({shares[0]:.1%})" in page and "The factors are correlated" not in page


def test_correlated_factors_have_one_proportion_named_with_their_loadings(mlcli: Caller) -> None:
    called = mlcli("embed", "data.csv", "-m", "fa", "-p", "3", "--rotation", "oblimin", "-v", "-o", "run")
    found = footers(mlcli)
    assert found["with shared variance"] != found["sum of squared loadings"]
    assert found["proportion of variance"] == pytest.approx([one / 9 for one in found["with shared variance"]])
    page = Path("run/report.html").read_text(encoding="utf-8")
    assert "The factors are correlated" in page and "share of trace" not in page
    assert not re.search(r"Factor 1 \(\d", page) and "Cumulative share of the trace" not in page
    assert "share" not in next(line for line in called.err.splitlines() if "* kept" in line) and "%" not in "".join(
        line for line in called.err.splitlines() if line.startswith("   "))


def test_equal_noise_has_loadings_and_uniquenesses_in_units_of_the_columns(mlcli: Caller) -> None:
    assert mlcli("embed", "data.csv", "-m", "fa", "-p", "2", "--set", "method.noise=equal", "-o", "run").code == 0
    lines = mlcli("report", "run", "--table", "loadings", "--as", "csv").out.splitlines()
    places = lines[0].split(",").index("communality"), lines[0].split(",").index("uniqueness")
    cells = [[float(line.split(",")[place]) for place in places] for line in lines[1:10]]
    communalities, uniquenesses = zip(*cells, strict=True)
    assert uniquenesses == pytest.approx([uniquenesses[0]] * 9)
    variances = np.loadtxt("data.csv", delimiter=",", skiprows=1).var(axis=0)
    assert sum(communalities) + sum(uniquenesses) == pytest.approx(variances.sum(), rel=1e-6)
