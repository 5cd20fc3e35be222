"""Non-negative factorization against scikit-learn's: `cd` without shuffling, and `mu`, from the same start."""

import csv
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.core.eigen.eigensolve import ForAxes
from mlcli.methods.parts.nonnegative import Factorization, hals_step, multiplicative_step, start_of_singular_vectors
from tests.laws.agreement.tables import read
from tests.support import fit

with (Path(__file__).parents[4] / "sample_data" / "iris.csv").open(newline="", encoding="utf-8") as stream:
    IRIS = np.array([[float(cell) for cell in row[1:5]] for row in list(csv.reader(stream))[1:]])
POINTS = IRIS / IRIS.max()
SWEEPS = 30
MEDIAN = 1.7762851017722112  # of the objectives of iris from 20 random starts


def factors(name: str) -> tuple[np.ndarray, np.ndarray]:
    """W (n x p) and H (p x d)."""
    weights, parts = (read(f"sklearn/nmf_iris_{name}_{factor}.csv", names=False, header=False) for factor in "wh")
    return weights, parts


def test_the_start_is_that_of_scikit_learn() -> None:
    found = start_of_singular_vectors(POINTS, 3, ForAxes(components=3), Compute())
    weights, parts = factors("start")
    assert np.abs(found.weights.T - weights).max() < 1e-8
    assert np.abs(found.parts - parts).max() < 1e-8


@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_the_same_steps_from_the_same_start_lead_to_the_same_factors(solver: str) -> None:
    weights, parts = factors("start")
    state = Factorization(np.ascontiguousarray(weights.T), parts, np.inf)
    for _ in range(SWEEPS):
        state = (hals_step(POINTS, None, float((POINTS**2).sum()), 1, state) if solver == "cd"
                 else multiplicative_step(POINTS, state))
    weights, parts = factors(f"{solver}30")
    assert np.abs(state.weights.T - weights).max() < 1e-8
    assert np.abs(state.parts - parts).max() < 1e-8


@pytest.mark.medium
def test_the_objective_is_no_higher_than_the_median_of_twenty_random_starts_of_scikit_learn() -> None:
    found = fit("nmf", IRIS, components=3, iterate={"tolerance": 1e-6})
    assert found.fit["objective"] <= MEDIAN * (1 + 1.5e-6)
