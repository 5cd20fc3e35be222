"""Methods of several tables against FactoMineR's MFA and FAMD and ade4's statis; contributions against FactoMineR."""

import csv
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.findings.contributions import ratios, shares_of
from mlcli.methods import METHODS, Model
from tests.laws.agreement.columns.test_correspondence import SITES, answers
from tests.laws.agreement.tables import TABLES, aligned, column, read
from tests.support import features, matrices

CLOSE = 1e-10  # of the largest number of a table, as the issue asks
APART = [0, 4]  # the wines that are supplementary in MFA
GROUPS = ["origin=Label,Soil", "shaken=Odor.Intensity.before.shaking:Spice.before.shaking",
          "sight=Visual.intensity:Surface.feeling", "smell=Odor.Intensity:Aroma.quality",
          "taste=Attack.intensity:Harmony", "whole=Overall.quality:Typical"]


def table(name: str) -> Array:
    return read(f"groups/{name}.csv")


def names_of(name: str) -> list[str]:
    with (TABLES / f"groups/{name}.csv").open(newline="", encoding="utf-8") as stream:
        return [row[0] for row in csv.reader(stream)][1:]


def close(found: Array, expected: Array) -> None:
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= CLOSE * np.abs(expected).max()


@cache
def wines() -> Features:
    """Twenty-one wines of the Loire: two columns of text, then 29 of numbers."""
    with (TABLES / "groups/wine.csv").open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    cells = np.array([row[1:] for row in rows])
    texts = [np.unique(cells[:, place], return_inverse=True) for place in (0, 1)]
    values = np.column_stack([*(codes for _, codes in texts), cells[:, 2:].astype(float)])
    return Features(values, [row[0] for row in rows], header[1:],
                    categories={place: tuple(levels.tolist()) for place, (levels, _) in enumerate(texts)})


def columns_of(data: Features, columns: Any, rows: Any = slice(None)) -> Features:
    places = np.arange(data.values.shape[1])[columns].tolist()
    return Features(data.values[rows][:, places], list(np.array(data.ids)[rows]), [data.columns[at] for at in places],
                    categories={new: data.categories[old] for new, old in enumerate(places) if old in data.categories})


def fitted(method: str, data: Input, **options: Any) -> Model:
    options = {"axes": {"components": 4}, **options}
    return METHODS[method](**options).resolve(data).fit(data, Compute())


@cache
def mfa() -> Model:
    rest = np.setdiff1d(np.arange(21), APART)
    return fitted("mfa", columns_of(wines(), slice(None), rest), groups=GROUPS, supplementary=["origin", "whole"])


def signs(model: Model, name: str) -> Array:
    return np.where((model.embedding * table(name)).sum(axis=0) < 0, -1.0, 1.0)


def levels(model: Model, name: str) -> Array:
    """The loadings of categories in the order of another table."""
    places = {text.partition("=")[2]: place for place, text in enumerate(model.loadings.columns) if "=" in text}
    return model.loadings.values[[places[level] for level in names_of(name)]]


def test_rows_and_variances_of_mfa_are_those_of_factominer() -> None:
    model, expected = mfa(), table("mfa_eigenvalues")[:, 0]
    count = len(model.spectrum.eigenvalues)
    close(model.spectrum.eigenvalues, expected[:count])
    close(aligned(model.embedding, table("mfa_rows")), table("mfa_rows"))
    close(model.project(wines().values[APART]) * signs(model, "mfa_rows"), table("mfa_new"))


def test_groups_of_mfa_are_those_of_factominer() -> None:
    groups = mfa().groups
    close(groups.rv, table("mfa_rv"))
    close(groups.products, table("mfa_lg"))
    for name, found in (("coordinates", groups.coordinates), ("contributions", groups.contributions),
                        ("cos2", groups.cosines), ("correlations", groups.correlations)):
        close(found[groups.active], table(f"mfa_group_{name}"))
    close(groups.coordinates[~groups.active], table("mfa_group_coordinates_sup"))
    close(groups.cosines[~groups.active], table("mfa_group_cos2_sup"))


def test_partial_points_of_mfa_are_those_of_factominer() -> None:
    expected = table("mfa_partial").reshape(19, 4, 4).transpose(1, 0, 2)
    close(mfa().groups.partial[mfa().groups.active] * signs(mfa(), "mfa_rows"), expected)


def test_columns_and_categories_of_mfa_are_those_of_factominer() -> None:
    model = mfa()
    turned = model.loadings.values * signs(model, "mfa_rows")
    close(turned[:27], table("mfa_columns"))
    close(turned[27:29], table("mfa_columns_sup"))
    close(levels(model, "mfa_levels_sup") * signs(model, "mfa_rows"), table("mfa_levels_sup"))


@cache
def mixed() -> Model:
    return fitted("mfa", columns_of(wines(), slice(0, 10)), groups=GROUPS[:3], center=["shaken"])


def test_groups_of_categories_and_of_numbers_with_their_scales_are_those_of_factominer() -> None:
    model = mixed()
    close(aligned(model.embedding, table("mixed_rows")), table("mixed_rows"))
    close(model.groups.rv, table("mixed_rv"))
    close(model.groups.contributions, table("mixed_group_contributions"))
    close(levels(model, "mixed_levels") * signs(model, "mixed_rows"), table("mixed_levels"))


@cache
def famd() -> Model:
    return fitted("famd", columns_of(wines(), [0, 1, 28, 29, 30]))


def test_mixed_data_are_analyzed_as_factominer_does() -> None:
    model, order = famd(), [2, 3, 4, 0, 1]  # numbers are first there
    close(model.spectrum.eigenvalues[:4], table("famd_eigenvalues")[:, 0])
    close(aligned(model.embedding, table("famd_rows")), table("famd_rows"))
    close(model.groups.coordinates[order], table("famd_columns"))
    close(model.groups.contributions[order], table("famd_column_contributions"))
    close(model.loadings.values[:3] * signs(model, "famd_rows"), table("famd_numbers"))
    close(levels(model, "famd_levels") * signs(model, "famd_rows"), table("famd_levels"))


def test_statis_is_that_of_ade4_but_for_weights_that_add_up_to_one() -> None:
    model = fitted("statis", columns_of(wines(), slice(2, 29)), groups=GROUPS[1:5])
    weights = column("groups/statis_weights.csv")
    close(model.groups.rv[:4, :4], table("statis_rv"))
    close(model.groups.weights, weights / weights.sum())
    expected = table("statis_eigenvalues")[:, 0] / weights.sum()
    close(model.spectrum.eigenvalues[: len(expected)], expected)
    rows = table("statis_rows") / np.sqrt(weights.sum())
    close(aligned(model.embedding, rows), rows)
    values = model.spectrum.eigenvalues[:4]  # ade4 compares tables with the compromise on its four axes
    close(model.groups.coordinates @ values / np.sqrt(np.diag(model.groups.products)[:-1] * (values @ values)),
          column("groups/statis_cosines.csv"))


def test_statis_of_dissimilarities_is_that_of_ade4() -> None:
    scores = wines().values[:, 2:20]
    standard = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    model = fitted("statis", matrices([cdist(part, part) for part in np.split(standard, [5, 8], axis=1)]))
    weights = column("groups/distatis_weights.csv")
    close(model.groups.rv[:3, :3], table("distatis_rv"))
    close(model.groups.weights, weights / weights.sum())
    expected = table("distatis_eigenvalues")[:, 0] / weights.sum()
    close(model.spectrum.eigenvalues[: len(expected)], expected)
    rows = table("distatis_rows") / np.sqrt(weights.sum())
    close(aligned(model.embedding, rows), rows)


SETS = {"pca": lambda: columns_of(wines(), slice(2, 7)), "mca": answers,
        "ca": lambda: features(SITES)}


@pytest.mark.parametrize("method", SETS)
def test_contributions_and_squared_cosines_are_those_of_factominer(method: str) -> None:
    data = SETS[method]()
    chosen = METHODS[method](**{METHODS[method].axes_section(): {"components": 3}}).resolve(data)
    rows, columns = shares_of(chosen, data.values, chosen.fit(data, Compute()))
    for name, found in zip(("row_contributions", "row_cos2", "column_contributions", "column_cos2"), (*rows, *columns),
                           strict=True):
        close(found, table(f"{method}_{name}"))


def test_rows_and_columns_of_mfa_contribute_as_in_factominer() -> None:
    method = METHODS["mfa"](groups=GROUPS, supplementary=["origin", "whole"], axes={"components": 4})
    rest = np.setdiff1d(np.arange(21), APART)
    rows, columns = shares_of(method, wines().values[rest], mfa())
    close(rows[0], table("mfa_row_contributions"))
    close(rows[1], table("mfa_row_cos2"))
    close(columns[0][:27], table("mfa_column_contributions"))
    close(columns[1][:27], table("mfa_column_cos2"))


def test_a_share_of_nothing_is_zero() -> None:
    assert ratios(np.array([[0.0, 1.0]]), np.array([0.0, 2.0])).tolist() == [[0.0, 0.5]]


def test_missing_cells_are_those_of_missmda() -> None:
    """Every eleventh cell of ten columns, by two axes; MFA of the completed table (FactoMineR)."""
    whole = columns_of(wines(), slice(10))
    row, column = np.indices(whole.values.shape)
    data = replace(whole, values=np.where((7 * row + 3 * column) % 11 == 0, np.nan, whole.values))
    found = fitted("mfa", data, groups=GROUPS[:3], axes={"components": 2}, iterate={"tolerance": 1e-13})
    close(aligned(found.embedding, table("gaps_rows")), table("gaps_rows"))
    expected = table("gaps_eigenvalues")[:, 0]
    close(found.spectrum.eigenvalues[:len(expected)], expected[:len(found.spectrum.eigenvalues)])
    metric = found.required_projector.similarity.metric
    cells = metric.cells(metric.unweighted(data.values))
    cells[:, :8] = np.ldexp(cells[:, :8], metric.exponents)
    with (TABLES / "groups/gaps_cells.csv").open(newline="", encoding="utf-8") as stream:
        places = {name: place for place, name in enumerate(next(csv.reader(stream))[1:])}
    named = [*(data.columns[place] for place in metric.numbers), *metric.answers.texts]
    close(cells, table("gaps_cells")[:, [places[name] for name in named]])
