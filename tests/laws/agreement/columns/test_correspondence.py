"""Correspondence analysis against vegan's cca and R's ca, of answers against FactoMineR, ade4 and R's mjca."""

import csv
import re

import numpy as np
import pytest

from mlcli.base.values.inputs import Features
from mlcli.methods import Model
from tests.laws.agreement.tables import TABLES, aligned, column, read
from tests.support import features, fit

CLOSE = 1e-10  # of the largest number of a table, as the issue asks
DUNE = read("metrics/dune.csv")
SITES, NEW = DUNE[:16, DUNE[:16].any(axis=0)], DUNE[16:, DUNE[:16].any(axis=0)]


def table(name: str) -> np.ndarray:
    return read(f"correspondence/{name}.csv")


def close(found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(aligned(found, expected) - expected).max() <= CLOSE * np.abs(expected).max()


@pytest.fixture(scope="module")
def sites() -> Model:
    return fit("ca", SITES, components=4, loadings="standard")


def test_inertias_are_those_of_vegan_and_ca(sites: Model) -> None:
    for name in ("dune_eigenvalues", "dune_ca_inertias"):
        close(sites.spectrum.eigenvalues[:, None], table(name))


@pytest.mark.parametrize(("rows", "columns"), [("dune_sites", "dune_species"), ("dune_ca_rows", "dune_ca_columns")])
def test_sites_are_principal_and_species_standard_coordinates(sites: Model, rows: str, columns: str) -> None:
    close(sites.embedding, table(rows))
    close(sites.loadings.values, table(columns))


def test_new_sites_lie_where_vegan_predicts_them(sites: Model) -> None:
    signs = np.sign((sites.embedding * table("dune_sites")).sum(axis=0))
    assert np.abs(sites.project(NEW) * signs - table("dune_new")).max() <= CLOSE * np.abs(table("dune_new")).max()


def answers() -> Features:
    """Opinions of 38 people, each answer a number from 1, and the department as text."""
    with (TABLES / "correspondence/answers.csv").open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    cells = np.array(rows)[:, 1:]
    found = [np.unique(part, return_inverse=True) for part in cells.T]
    return Features(np.column_stack([places for _, places in found]).astype(float), [row[0] for row in rows],
                    header[1:], categories={place: tuple(texts.tolist()) for place, (texts, _) in enumerate(found)})


@pytest.fixture(scope="module")
def people() -> Model:
    return fit("mca", answers(), components=4)


@pytest.mark.parametrize("tool", ["factominer", "ade4"])
def test_people_and_answers_are_those_of_factominer_and_ade4(people: Model, tool: str) -> None:
    close(people.spectrum.eigenvalues[:, None], table(f"answers_{tool}_eigenvalues"))
    close(people.embedding, table(f"answers_{tool}_rows"))
    close(people.loadings.values, table(f"answers_{tool}_levels"))
    with (TABLES / f"correspondence/answers_{tool}_levels.csv").open(encoding="utf-8") as stream:
        names = [line.partition(",")[0] for line in stream][1:]  # altit_1 or altit.1, by which only answers are unique
    assert [name.rpartition("=")[2] for name in people.loadings.columns] == [
        re.split("[._]", name)[-1] for name in names]


def test_adjusted_inertias_are_those_of_mjca(people: Model) -> None:
    expected = table("answers_adjusted")
    assert people.spectrum.adjusted.shape == (len(expected),)
    close(people.spectrum.adjusted[:, None], expected[:, :1])
    close(people.spectrum.adjusted[:, None] / people.spectrum.adjusted_total, expected[:, 1:])
    assert people.fit["adjusted_total"] == pytest.approx(column("correspondence/answers_adjusted_total.csv")[0],
                                                         rel=CLOSE)


def test_numbers_name_answers_as_texts_do(people: Model) -> None:
    given = answers()
    numbers = fit("mca", features(given.values + 1), components=4)
    assert np.array_equal(numbers.embedding, people.embedding)
    assert numbers.loadings.columns[:3] == ("x1=1", "x1=2", "x1=3")
