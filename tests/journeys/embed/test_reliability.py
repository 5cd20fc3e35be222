"""Reliability in a run: omega as psych has it, item statistics in files, on the page and as a table."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.findings.test_reliability import EXPECTED, turned
from tests.journeys.support import Caller
from tests.laws.agreement.columns.test_items import answers
from tests.laws.agreement.tables import TABLES, read


@pytest.mark.medium
@pytest.mark.parametrize("rotation", ["none", "oblimin"])
def test_omega_of_a_correlation_matrix_is_that_of_psych(mlcli: Caller, rotation: str) -> None:
    matrix = TABLES / "factanal" / "Harman74_cor_q4" / "correlation.csv"
    made = mlcli("embed", matrix, "--kind", "correlation", "-m", "fa", "-p", "4", "--set", "method.estimator=minres",
                 "--rotation", rotation, "--reliability", "-o", "one")
    assert made.code == 0
    found, expected = json.loads(Path("one/reliability.json").read_text()), read("psych/Harman74_schmid.csv")
    assert found["omega_total"] == pytest.approx(EXPECTED["omega_total"], abs=1e-4)
    assert found["omega_hierarchical"] == pytest.approx(EXPECTED["omega_hierarchical"], abs=1e-4)
    items = np.genfromtxt("one/items.csv", delimiter=",", names=True, usecols=range(1, 13))
    assert np.abs(items["general"] - expected[:, 0]).max() < 1e-4
    assert np.abs(items["uniqueness"] - expected[:, -1]).max() < 1e-4
    assert np.isnan(items["mean"]).all()
    assert mlcli("verify", "one").code == 0


@pytest.mark.medium
def test_a_run_shows_its_items_and_names_those_that_are_not_turned(mlcli: Caller) -> None:
    names = ",".join(f"q{place}" for place in range(10))
    for name, points in (("raw.csv", answers()), ("keyed.csv", turned())):
        np.savetxt(name, points, delimiter=",", header=names, comments="", fmt="%d")
    made = mlcli("embed", "raw.csv", "-m", "fa", "-p", "2", "--reliability", "--reverse", "q0,q8", "--range", "1,6",
                 "-o", "raw")
    assert "W-KEYED" in made.err and "'q9'" in made.err
    made = mlcli("embed", "keyed.csv", "-m", "fa", "-p", "2", "--reliability", "-o", "keyed")
    assert made.code == 0 and "omega hierarchical" in made.err and "W-KEYED" not in made.err
    found = json.loads(Path("keyed/reliability.json").read_text())
    assert found["alpha"] == pytest.approx(EXPECTED["alpha"], abs=1e-12)
    items = np.genfromtxt("keyed/items.csv", delimiter=",", names=True)
    assert np.allclose(items["deviation"], read("psych/bfi_items.csv")[:, 5], rtol=1e-12)
    assert "omega hierarchical" in Path("keyed/report.html").read_text()
    table = mlcli("report", "keyed", "--table", "items", "--as", "latex")
    assert table.code == 0 and "alpha without" in table.out
    assert mlcli("embed", "keyed.csv", "-m", "pca", "--reliability", "-o", "no").code == 78


def test_one_factor_has_no_omega_hierarchical_anywhere(mlcli: Caller) -> None:
    names = ",".join(f"q{place}" for place in range(10))
    np.savetxt("keyed.csv", turned(), delimiter=",", header=names, comments="", fmt="%d")
    made = mlcli("embed", "keyed.csv", "-m", "fa", "-p", "1", "--reliability", "-o", "keyed")
    assert made.code == 0 and "omega total" in made.err and "hierarchical" not in made.err
    assert json.loads(Path("keyed/reliability.json").read_text())["omega_hierarchical"] is None
    page = Path("keyed/report.html").read_text()
    assert "omega total" in page and "hierarchical" not in page and "Schmid-Leiman" not in page
    assert "general" not in mlcli("report", "keyed", "--table", "items", "--as", "markdown").out
