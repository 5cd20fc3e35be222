"""PCA against R's prcomp and princomp."""

import numpy as np
import pytest

from mlcli.data.prepare.apply import prepare
from mlcli.data.prepare.prepare import Prepare
from mlcli.data.table.table import Table
from mlcli.methods import Model
from tests import support
from tests.laws.agreement.tables import TOLERANCE, column, read, score_deviation, value_deviation

ROUTES = ("auto", "covariance", "dual", "svd", "power")
SETS = {"USArrests_cov": "USArrests", "USArrests_scaled": "USArrests", "iris4_cov": "iris4", "iris4_scaled": "iris4"}


def fit(name: str, divisor: str, route: str = "auto") -> Model:
    """All axes of a data set, scaled where its name says so, with one divisor throughout."""
    values = read(f"data/{SETS[name]}.csv")
    table = Table(values=values, columns=("a", "b", "c", "d"), ids=tuple(support.names(len(values))))
    scale = "standard" if name.endswith("_scaled") else "none"
    prepared = prepare(Prepare(scale=scale, divisor=divisor), table).table
    return support.fit("pca", prepared.data(), divisor=divisor, route=route, components=4)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", SETS)
def test_eigenvalues_and_scores_are_those_of_prcomp(name: str, route: str) -> None:
    model = fit(name, "n-1", route)
    variances = column(f"pca/{name}/sdev.csv") ** 2
    assert value_deviation(model.spectrum.eigenvalues[:4], variances) < TOLERANCE
    assert score_deviation(model.embedding, read(f"pca/{name}/scores.csv"), variances) < TOLERANCE


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", SETS)
def test_directions_are_the_rotation_of_prcomp(name: str, route: str) -> None:
    model = fit(name, "n-1", route)
    values = column(f"pca/{name}/sdev.csv") ** 2 / column(f"pca/{name}/sdev.csv")[0] ** 2  # directions are unit vectors
    assert score_deviation(model.spectrum.directions, read(f"pca/{name}/rotation.csv"), values) < TOLERANCE


@pytest.mark.parametrize("name", SETS)
def test_divisor_n_gives_the_eigenvalues_of_princomp(name: str) -> None:
    """princomp divides by n; of scaled data it takes the correlations, which no divisor changes."""
    variances = column(f"pca/{name}/princomp_sdev_divisor_n.csv") ** 2
    assert value_deviation(fit(name, "n").spectrum.eigenvalues, variances) < TOLERANCE


@pytest.mark.parametrize("divisor", ["n", "n-1"])
@pytest.mark.parametrize("name", SETS)
def test_proportions_are_those_of_prcomp_with_either_divisor(name: str, divisor: str) -> None:
    expected = column(f"pca/{name}/explained_variance_ratio.csv")
    assert np.abs(fit(name, divisor).spectrum.proportions - expected).max() < TOLERANCE


@pytest.mark.parametrize("name", [name for name in SETS if name.endswith("_cov")])
def test_divisors_differ_by_their_ratio_and_scores_not_at_all(name: str) -> None:
    one, other = fit(name, "n"), fit(name, "n-1")
    rows = len(one.embedding)
    assert value_deviation(one.spectrum.eigenvalues * rows / (rows - 1), other.spectrum.eigenvalues) < TOLERANCE
    assert np.array_equal(one.embedding, other.embedding)
