"""Probabilistic PCA against tables of the closed form and of exact EM with missing cells, made in R."""

import csv

import numpy as np
import pytest

from tests import support
from tests.laws.agreement.tables import TABLES, aligned, column, facts, read

COUNTS = (1, 2, 3)


@pytest.mark.parametrize("solver", ["closed", "em"])
@pytest.mark.parametrize("count", COUNTS)
def test_likelihood_noise_loadings_and_posterior_means(count: int, solver: str) -> None:
    model = support.fit("ppca", read("data/iris4.csv"), components=count, solver=solver)
    expected = facts("ppca/iris4/summary.json")[f"q{count}"]
    assert model.fit["log_likelihood"] == pytest.approx(expected["loglik"], rel=1e-12)
    assert model.fit["noise_variance"] == pytest.approx(expected["sigma2"], rel=1e-7)
    loadings, means = read(f"ppca/iris4/W_q{count}.csv"), read(f"ppca/iris4/posterior_mean_q{count}.csv")
    assert np.abs(aligned(model.loadings.values, loadings) - loadings).max() < 1e-6
    assert np.abs(aligned(model.embedding, means) - means).max() < 1e-6


def test_missing_cells() -> None:
    with (TABLES / "ppca" / "iris4_gaps" / "X_missing_as_NA.csv").open(newline="", encoding="utf-8") as stream:
        cells = [row[1:] for row in list(csv.reader(stream))[1:]]
    points = np.array([[np.nan if cell == "NA" else float(cell) for cell in row] for row in cells])
    model = support.fit("ppca", points, components=1)
    loadings = model.loadings.values
    assert np.abs(loadings @ loadings.T - read("ppca/iris4_gaps/WWt.csv")).max() < 1e-6
    mean = model.reconstruct(np.zeros((1, 1)))[0]
    assert np.abs(mean - column("ppca/iris4_gaps/mu.csv")).max() < 1e-6
    filled = np.where(np.isnan(points), model.reconstruct(model.embedding), points)
    assert np.abs(filled - read("ppca/iris4_gaps/X_imputed_conditional_mean.csv")).max() < 1e-6
