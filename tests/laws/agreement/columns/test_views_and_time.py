"""Discriminants, canonical correlations, states and independent components against MASS, statsmodels, scikit-learn."""

import csv
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.values.inputs import Features, Labeled, TwoViews
from mlcli.methods.processes import kalman
from mlcli.methods.processes.kalman import Sequence, StateSpace, smooth
from tests import support
from tests.laws.agreement.tables import TABLES, aligned, column, facts, read

SAMPLES = Path(__file__).parents[4] / "sample_data"
IRIS = read("data/iris4.csv")
SPECIES = ["setosa"] * 50 + ["versicolor"] * 50 + ["virginica"] * 50


def table(name: str) -> np.ndarray:
    """A CSV file without a header."""
    return np.loadtxt(TABLES / name, delimiter=",")


def test_discriminants_of_iris() -> None:
    ids = support.names(150)
    model = support.fit("lda", Labeled(IRIS, ids, ["a", "b", "c", "d"], labels=SPECIES))
    assert np.sqrt(model.spectrum.values) == pytest.approx(column("lda/iris/svd.csv"), rel=1e-10)
    assert model.spectrum.proportions.round(5).tolist() == [0.99121, 0.00879]
    assert model.fit["resubstitution_errors"] == 3
    scaling, scores = read("lda/iris/scaling.csv"), read("lda/iris/scores.csv")
    assert np.abs(aligned(model.loadings.values, scaling) - scaling).max() < 1e-10
    assert np.abs(aligned(model.embedding, scores) - scores).max() < 1e-10


@pytest.mark.parametrize("method", ["cca", "ibfa"])
def test_canonical_correlations_of_sepals_with_petals(method: str) -> None:
    ids = support.names(150)
    data = TwoViews(IRIS[:, :2], ids, ["a", "b"], view=Features(IRIS[:, 2:], ids, ["c", "d"]))
    expected = facts("statsmodels/summary.json")["cancorr_iris"]
    assert support.fit(method, data).spectrum.values == pytest.approx(expected, rel=1e-12)


def test_states_of_the_oscillator(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the parameters that made it; the table's first state is normal around a start that is given here."""
    with (SAMPLES / "oscillator.csv").open(newline="", encoding="utf-8") as stream:
        cells = [row[1:] for row in list(csv.reader(stream))[1:]]
    points = np.array([[np.nan if cell == "NA" else float(cell) for cell in row] for row in cells]) - [1, 2, 3, 4]
    turn = 0.98 * np.array([[np.cos(0.2), -np.sin(0.2)], [np.sin(0.2), np.cos(0.2)]])
    model = StateSpace(turn, 0.09 * np.eye(2), np.array([[1, 0], [0.5, 1], [-1, 0.5], [0, -0.8]]), np.full(4, 0.25))
    monkeypatch.setattr(kalman, "_start", lambda **_: np.array([0.1, -0.2]))
    found = smooth(Sequence.of(points), model)
    assert found.log_likelihood == pytest.approx(facts("statsmodels/summary.json")["oscillator_log_likelihood"],
                                                 rel=1e-11)
    assert np.abs(found.means - table("statsmodels/oscillator_states.csv")).max() < 1e-9
    assert np.abs(found.covariances.reshape(-1, 4) - table("statsmodels/oscillator_covariances.csv")).max() < 1e-9


@pytest.mark.parametrize("contrast", ["logcosh", "exp", "cube"])
def test_independent_components_of_the_mixture(contrast: str) -> None:
    points = np.loadtxt(SAMPLES / "mixture.csv", delimiter=",", skiprows=1)
    model = support.fit("ica", points, components=3, contrast=contrast, iterate={"tolerance": 1e-13, "limit": 2000})
    expected = table(f"sklearn/fastica_{contrast}_mixture_components.csv").T
    axes = np.ldexp(model.axes, -model.projector.exponent_in)
    likeness = np.abs(np.corrcoef((points @ axes).T, (points @ expected).T)[:3, 3:])
    order = likeness.argmax(axis=1)
    assert sorted(order) == [0, 1, 2]
    assert np.abs(aligned(axes, expected[:, order]) - expected[:, order]).max() < 1e-8


def test_posterior_probabilities_of_iris() -> None:
    ids, columns = support.names(150), ["a", "b", "c", "d"]
    model = support.fit("lda", Labeled(IRIS, ids, columns, labels=SPECIES))
    assert model.memberships.names == ("setosa", "versicolor", "virginica")
    assert np.abs(model.memberships.probabilities - read("lda/iris/posterior.csv")).max() < 1e-10
    third, held = np.arange(2, 150, 3), np.setdiff1d(np.arange(150), np.arange(2, 150, 3))
    some = Labeled(IRIS[held], support.names(100), columns, labels=[SPECIES[row] for row in held])
    found = support.fit("lda", some, priors=[0.5, 0.3, 0.2]).projector.classify(IRIS[third])
    assert np.abs(found.probabilities - read("lda/iris/posterior_third.csv")).max() < 1e-10


@pytest.mark.parametrize(("name", "shrinkage"), [("ledoit_wolf", "ledoit_wolf"), ("third", 1 / 3)])
def test_posterior_probabilities_with_shrinkage(name: str, shrinkage: str | float) -> None:
    """By 20, 12 and 15 flowers of the species, of all of them."""
    rows = [*range(20), *range(50, 62), *range(100, 115)]
    some = Labeled(IRIS[rows], support.names(47), ["a", "b", "c", "d"], labels=[SPECIES[row] for row in rows])
    found = support.fit("lda", some, shrinkage=shrinkage).projector.classify(IRIS)
    expected = read(f"sklearn/lda_{name}.csv", names=False, header=False)
    assert np.abs(found.probabilities - expected).max() < 1e-10
