"""Factor analysis against R's factanal: points, and covariance matrices with their number of observations."""

import csv

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance
from mlcli.core.similarities.projector import NoProjection
from mlcli.methods import METHODS, Model
from tests import support
from tests.laws.agreement.tables import TABLES, column, facts, read

SUMMARY = facts("factanal/summary.json")
# the set that each correlation matrix stands with
MATRICES = {"ability_cov_q1": "ability_cov_q2", "ability_cov_q2": "ability_cov_q2",
            "Harman74_cor_q4": "Harman74_cor_q4", "Harman74_cor_q5": "Harman74_cor_q4"}
FACTANAL = 1e-6  # factanal stops where its minimum has eight digits, which leaves the loadings about six


def of_matrix(name: str, **options: object) -> Model:
    with (TABLES / "factanal" / MATRICES[name] / "correlation.csv").open(newline="", encoding="utf-8") as stream:
        names = next(csv.reader(stream))[1:]
    data = Covariance(read(f"factanal/{MATRICES[name]}/correlation.csv"), names, SUMMARY[name]["n_obs"])
    method = METHODS["fa"](axes={"components": int(name[-1])}, **options)
    return method.resolve(data).fit(data, Compute())


def of_cars(scale: bool, **options: object) -> Model:
    points = read("factanal/mtcars_q2/X.csv")
    return support.fit("fa", (points - points.mean(axis=0)) / points.std(axis=0) if scale else points, **options)


def deviation(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference of two sets of axes, up to their order and their signs."""
    cosines = found.T @ expected / np.outer(np.linalg.norm(found, axis=0), np.linalg.norm(expected, axis=0))
    partner = np.abs(cosines).argmax(axis=0)
    assert sorted(partner) == list(range(expected.shape[1]))
    signs = np.sign(cosines[partner, range(expected.shape[1])])
    return float(np.abs(found[:, partner] * signs - expected).max())


@pytest.mark.parametrize("name", MATRICES)
def test_the_minimum_the_test_and_the_uniquenesses_of_a_matrix(name: str) -> None:
    expected, model = SUMMARY[name], of_matrix(name)
    assert model.fit["discrepancy"] == pytest.approx(expected["objective"], rel=1e-11)
    assert model.fit["chi_square"] == pytest.approx(expected["statistic"], rel=1e-11)
    assert model.fit["degrees_of_freedom"] == expected["dof"]
    assert model.fit["p_value"] == pytest.approx(expected["p_value"], rel=1e-9)
    assert model.fit["uniquenesses"] == pytest.approx(expected["uniquenesses"], abs=FACTANAL)
    assert model.embedding.shape == (0, int(name[-1])) and isinstance(model.projector, NoProjection)


@pytest.mark.parametrize("rotation", ["none", "varimax", "promax"])
@pytest.mark.parametrize("name", [*MATRICES, "mtcars_q2"])
def test_loadings_in_every_rotation(name: str, rotation: str) -> None:
    if name == "ability_cov_q1" and rotation != "none":
        pytest.skip("one factor does not turn")
    file = {"none": "unrotated", "promax": "promax_m4"}.get(rotation, rotation)
    options = {"rotation": {"name": rotation}}
    model = of_cars(True, **options) if name == "mtcars_q2" else of_matrix(name, **options)
    assert deviation(model.loadings.values, read(f"factanal/{name}/loadings_{file}.csv")) < FACTANAL
    squares = (model.loadings.values**2).sum(axis=0)
    assert np.allclose(model.spectrum.eigenvalues, squares) and np.all(np.diff(squares) <= 0)
    assert np.allclose(model.spectrum.proportions, squares / len(model.loadings.values))


def test_the_likelihood_and_the_test_of_points() -> None:
    expected, model = SUMMARY["mtcars_q2"], of_cars(True)
    assert model.fit["log_likelihood"] == pytest.approx(expected["loglik_standardised_divisor_n"], rel=1e-12)
    assert model.fit["chi_square"] == pytest.approx(expected["statistic"], rel=1e-11)
    assert model.fit["p_value"] == pytest.approx(expected["p_value"], rel=1e-10)
    values = np.array(list(model.fit["uniquenesses"].values()))
    assert np.abs(values - column("factanal/mtcars_q2/uniquenesses.csv")).max() < FACTANAL


@pytest.mark.parametrize("scores", ["regression", "bartlett"])
@pytest.mark.parametrize("scale", [True, False])
def test_scores(scores: str, scale: bool) -> None:
    """R divides by n - 1 in the deviations that it standardizes with, and so has scores smaller by a root."""
    expected = read(f"factanal/mtcars_q2/scores_{scores}_unrotated.csv") * np.sqrt(32 / 31)
    assert deviation(of_cars(scale, scores=scores).embedding, expected) < FACTANAL
