"""Factor analysis against R's psych and GPArotation: indices of the fit, suitability of the columns, oblimin."""

import csv

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance
from mlcli.core.latent.rotations import Oblimin
from mlcli.methods import METHODS, Model
from tests.laws.agreement.columns.test_fa import deviation
from tests.laws.agreement.tables import TABLES, facts, read

SUMMARY = facts("psych/summary.json")
MATRICES = {"bfi": "psych/bfi_correlation.csv", "Harman74": "factanal/Harman74_cor_q4/correlation.csv"}
FACTORS = {"bfi": 5, "Harman74": 4}


def of_matrix(name: str, observations: int | None = None, **options: object) -> Model:
    with (TABLES / MATRICES[name]).open(newline="", encoding="utf-8") as stream:
        names = next(csv.reader(stream))[1:]
    data = Covariance(read(MATRICES[name]), names, observations)
    return METHODS["fa"](axes={"components": FACTORS[name]}, **options).resolve(data).fit(data, Compute())


@pytest.mark.parametrize("name", MATRICES)
def test_indices_of_the_fit(name: str) -> None:
    """psych stops its own search where its minimum has about seven digits."""
    expected = SUMMARY[name]
    found = of_matrix(name, expected["observations"]).fit
    for figure in ("rmsea", "rmsea_lower", "rmsea_upper", "tli", "rmsr", "bic", "chi_square"):
        assert found[figure] == pytest.approx(expected[figure], rel=2e-6, abs=1e-5), figure
    freedom, columns = found["degrees_of_freedom"], len(found["uniquenesses"])
    excess = expected["bartlett_chi_square"] - columns * (columns - 1) / 2
    assert found["cfi"] == pytest.approx(1 - (expected["chi_square"] - freedom) / excess, rel=2e-6)
    assert 0.7 < found["cfi"] < 1
    for figure in ("kmo", "bartlett_chi_square"):
        assert found[figure] == pytest.approx(expected[figure], rel=1e-11)
    assert found["bartlett_p_value"] == pytest.approx(expected["bartlett_p_value"], rel=1e-9, abs=1e-300)
    assert found["sampling_adequacy"] == pytest.approx(expected["sampling_adequacy"], rel=1e-11)
    communalities = {name: 1 - value for name, value in found["uniquenesses"].items()}
    assert communalities == pytest.approx(expected["communalities"], abs=2e-5)


def test_indices_that_need_the_number_of_observations_are_left_out_without_it() -> None:
    found = of_matrix("Harman74").fit
    figures = ("chi_square", "p_value", "rmsea", "tli", "cfi", "bic", "bartlett_chi_square")
    assert all(found[name] is None for name in figures)
    assert found["kmo"] == pytest.approx(SUMMARY["Harman74"]["kmo"]) and found["rmsr"] > 0


@pytest.mark.parametrize("name", ["bfi", "Harman74", "mtcars"])
def test_oblimin_turns_loadings_as_gparotation_does(name: str) -> None:
    loadings = read(f"psych/{name}_unrotated.csv")
    turn = Oblimin().turn(loadings).matrix
    assert np.abs(loadings @ turn - read(f"psych/{name}_oblimin.csv")).max() < 1e-6
    back = np.linalg.inv(turn)
    assert np.abs(back @ back.T - read(f"psych/{name}_correlations.csv")).max() < 1e-6


@pytest.mark.parametrize("name", MATRICES)
def test_loadings_under_oblimin(name: str) -> None:
    model, expected = of_matrix(name, rotation={"name": "oblimin"}), read(f"psych/{name}_oblimin.csv")
    assert deviation(model.loadings.values, expected) < 1e-5
    assert np.allclose(np.diag(model.fit["factor_correlations"]), 1, rtol=1e-14)
