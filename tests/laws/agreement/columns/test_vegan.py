"""Redundancy analysis of columns and of dissimilarities against vegan: the lichen pastures by chemistry of the soil."""

import csv
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.inputs import Features, TwoViews, ViewedDissimilarities
from mlcli.methods import Model
from tests import support
from tests.laws.agreement.tables import TABLES, aligned, read

LICHENS, SOIL = read("vegan/varespec.csv"), read("vegan/varechem.csv")
NAMES, CONSTRAINTS = support.names(24), ["N", "P", "K", "Al"]
VIEW = Features(SOIL, NAMES, CONSTRAINTS)
SETS = ["rda", "partial", "dbrda", "dbpartial"]


def fitted(name: str, **options: Any) -> Model:
    partial = {"condition": ["K", "Al"]} if "partial" in name else {}
    if options.pop("given", False):
        apart = np.abs(LICHENS[:, None] - LICHENS).sum(axis=2) / (LICHENS[:, None] + LICHENS).sum(axis=2)
        return support.fit("dbrda", ViewedDissimilarities(apart, NAMES, view=VIEW), **partial, **options)
    data = TwoViews(LICHENS, NAMES, [f"x{i}" for i in range(44)], view=VIEW)
    if name.startswith("db"):
        return support.fit("dbrda", data, metric="braycurtis", **partial, **options)
    return support.fit("rda", data, **partial, **options)


def figures() -> dict[str, list[float]]:
    with (TABLES / "vegan/figures.csv").open(newline="", encoding="utf-8") as stream:
        return {name: list(map(float, cells)) for name, *cells in list(csv.reader(stream))[1:]}


def sorted_parts(values: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Constrained eigenvalues, then unconstrained ones, each descending."""
    return np.concatenate([np.sort(values[marks])[::-1], np.sort(values[~marks])[::-1]])


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("scores", ["wa", "lc"])
def test_constrained_ordinations_of_lichens(name: str, scores: str) -> None:
    axes = 4 if "partial" in name else 6
    model = fitted(name, scores=scores, components=axes, permutations=0)
    expected, coordinates = read(f"vegan/{name}_eigenvalues.csv"), read(f"vegan/{name}_{scores}.csv")
    marks = model.spectrum.constrained
    assert marks.sum() == expected[:, 1].sum()
    assert np.abs(sorted_parts(model.spectrum.eigenvalues, marks) - expected[:, 0]).max() < 1e-10 * expected[0, 0]
    assert np.abs(aligned(model.embedding, coordinates) - coordinates).max() < 1e-10 * np.abs(coordinates).max()
    biplot = read(f"vegan/{name}_biplot.csv")
    arrows = model.loadings.values[-len(biplot):, : axes - 2]
    assert np.abs(aligned(arrows, biplot) - biplot).max() < 1e-10
    total, ratio, _, constrained, residual = figures()[name]
    assert model.fit["inertia"]["total"] == pytest.approx(total, rel=1e-12)
    assert model.fit["pseudo_F"] == pytest.approx(ratio, rel=1e-11)
    assert model.fit["degrees_of_freedom"] == {"constrained": constrained, "residual": residual}


@pytest.mark.parametrize("name", SETS)
def test_p_values_are_those_of_other_permutations(name: str) -> None:
    count, value = 1999, figures()[name][2]
    found = fitted(name, permutations=count).fit["p_value"]
    assert abs(found - value) < 5 * np.sqrt(value * (1 - value) / count) + 1.5 / count


def test_dissimilarities_may_be_given() -> None:
    given, computed = fitted("dbrda", given=True), fitted("dbrda")
    assert np.abs(given.embedding - computed.embedding).max() < 1e-12
    assert given.fit["p_value"] == computed.fit["p_value"]
