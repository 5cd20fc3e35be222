"""Metrics and transforms against R: vegan's vegdist and decostand, cluster's daisy."""

import csv
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from scipy.spatial.distance import pdist

from mlcli.base.types import Array
from mlcli.core.metrics import AnyMetric
from mlcli.core.metrics.distances import pairwise
from mlcli.data.prepare.apply import prepare
from mlcli.data.prepare.prepare import Prepare
from mlcli.data.table.table import Table
from tests.laws.agreement.tables import TABLES, read

METRIC: TypeAdapter[Any] = TypeAdapter(AnyMetric)
NAMES = {"bray": "braycurtis", "jaccard": "ruzicka", "jaccard_binary": "jaccard", "bray_binary": "dice",
         "hellinger": "hellinger", "aitchison": "aitchison", "manhattan": "cityblock"}
PAIRS = {name: read(f"metrics/{name}_pairs.csv") for name in ("dune", "bci")}
HEADER = (TABLES / "metrics/dune_pairs.csv").read_text(encoding="utf-8").splitlines()[0].split(",")[1:]


def triangle(distances: Array) -> Array:
    """The lower triangle, column by column, as R has it."""
    rows, columns = np.triu_indices(len(distances), 1)
    return distances[rows, columns]


@pytest.mark.parametrize("data", PAIRS)
@pytest.mark.parametrize("name", NAMES)
def test_distances_are_those_of_vegan(data: str, name: str) -> None:
    counts = read(f"metrics/{data}.csv") + (1 if name == "aitchison" else 0)
    found = triangle(pairwise(METRIC.validate_python(NAMES[name]).fitted(counts), counts))
    np.testing.assert_allclose(found, PAIRS[data][:, HEADER.index(name)], rtol=1e-12)


@pytest.mark.parametrize("data", PAIRS)
def test_cosine_is_half_the_square_of_the_chord(data: str) -> None:
    counts = read(f"metrics/{data}.csv")
    found = triangle(pairwise(METRIC.validate_python("cosine").fitted(counts), counts))
    np.testing.assert_allclose(found, PAIRS[data][:, HEADER.index("chord")] ** 2 / 2, rtol=1e-12)


def test_gower_is_that_of_daisy() -> None:
    with (TABLES / "metrics/site.csv").open(encoding="utf-8") as stream:
        rows = list(csv.reader(stream))[1:]
    texts = {text: float(place) for place, text in enumerate(sorted({cell for row in rows for cell in row[3:]}))}
    points = np.array([[float(row[1]), float(row[2]), texts[row[3]], texts[row[4]]] for row in rows])
    found = triangle(pairwise(METRIC.validate_python("gower").fitted(points, categories={2: (), 3: ()}), points))
    np.testing.assert_allclose(found, read("metrics/site_pairs.csv")[:, 0], rtol=1e-12)


@pytest.mark.parametrize(("name", "transform"), [("total", "total"), ("normalize", "unit"), ("pa", "presence"),
                                                 ("clr", "clr")])
def test_transforms_are_those_of_decostand(name: str, transform: Any) -> None:
    counts = read("metrics/dune.csv") + (1 if name == "clr" else 0)
    np.testing.assert_allclose(transformed(counts, transform)[:6], read(f"metrics/dune_{name}.csv"), rtol=1e-12)


@pytest.mark.parametrize("data", PAIRS)
def test_distances_of_transformed_rows_are_those_of_decostand(data: str) -> None:
    rows = transformed(read(f"metrics/{data}.csv"), "hellinger")
    np.testing.assert_allclose(pdist(rows), PAIRS[data][:, HEADER.index("hellinger")], rtol=1e-12)


def transformed(counts: Array, transform: Any) -> Array:
    """Rows after one transform."""
    table = Table(counts, tuple(map(str, range(counts.shape[1]))), tuple(map(str, range(len(counts)))))
    return prepare(Prepare(transform=(transform,)), table).table.values
