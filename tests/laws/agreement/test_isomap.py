"""Isomap against vegan's isomap and scikit-learn's Isomap."""

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features
from mlcli.core.graph.graph import Graph, graph_of
from mlcli.core.graph.neighbors import Nearest
from mlcli.core.paths.paths import Paths
from mlcli.methods import Model
from tests import support
from tests.laws.agreement.tables import TOLERANCE, column, read, residual_variances, score_deviation, value_deviation
from tests.native.support import needs_native

COUNTS = {"BCI_bray_k3": 3, "swissroll1000_k7": 7}
SETS = list(COUNTS)


def data(name: str) -> Features | Dissimilarities:
    """What vegan was given: Bray-Curtis dissimilarities of 50 plots, or Tenenbaum's first 1,000 points."""
    if name == "BCI_bray_k3":
        return support.dissimilarities(read("isomap/BCI_bray_k3/D.csv"))
    return support.features(read("data/swissroll1000.csv", names=False, header=False))


def graph(name: str) -> Graph:
    return graph_of(Nearest(COUNTS[name]).lists(data(name)), "union")


def fit(name: str, algorithm: str, components: int) -> Model:
    paths = {"algorithm": algorithm}
    return support.fit("isomap", data(name), neighbors=COUNTS[name], paths=paths, components=components)


@pytest.mark.parametrize("name", SETS)
def test_the_graph_has_the_edges_of_vegan(name: str) -> None:
    """vegan keeps everyone as near as the k-th neighbor, we exactly k; these two sets have no such ties."""
    expected = {frozenset(edge) for edge in (read(f"isomap/{name}/net.csv", names=False) - 1).astype(int).tolist()}
    ours = graph(name)
    rows = np.repeat(np.arange(ours.size), np.diff(ours.starts))
    assert {frozenset(edge) for edge in zip(rows.tolist(), ours.indices.tolist(), strict=True)} == expected


@pytest.mark.parametrize("algorithm", ["dijkstra", "floyd", pytest.param("elimination", marks=needs_native)])
def test_geodesic_distances_are_those_of_vegan(algorithm: str) -> None:
    expected = read("isomap/BCI_bray_k3/geodesic.csv")
    found = Paths(algorithm=algorithm).distances(graph("BCI_bray_k3"), Compute())
    assert np.abs(found - expected).max() < 1e-14 * expected.max()


@pytest.mark.parametrize(("name", "algorithm"), [
    ("BCI_bray_k3", "dijkstra"), ("BCI_bray_k3", "floyd"), ("swissroll1000_k7", "dijkstra")])
def test_eigenvalues_and_points_are_those_of_vegan(name: str, algorithm: str) -> None:
    """vegan leaves out eigenvalues near zero, so its list is aligned from both ends."""
    points, values = read(f"isomap/{name}/points.csv"), column(f"isomap/{name}/eig_all.csv")
    model = fit(name, algorithm, points.shape[1])
    found, positive = model.spectrum.eigenvalues, int((values > 0).sum())
    negative = len(values) - positive
    assert value_deviation(found[:positive], values[:positive]) < TOLERANCE
    assert np.abs(found[-negative:] - values[positive:]).max() < TOLERANCE * values[0]
    assert np.abs(found[positive:-negative]).max() < 1e-7 * values[0]  # those that vegan left out
    assert score_deviation(model.embedding, points, values) < TOLERANCE


@pytest.mark.medium
def test_swiss_roll_has_the_published_eigenvalues() -> None:
    values = fit("swissroll1000_k7", "dijkstra", 2).spectrum.eigenvalues
    assert np.round(values[:3], 2).tolist() == [907168.16, 244109.53, 18056.18]


@pytest.mark.medium
@pytest.mark.parametrize("name", SETS)
def test_residual_variances_are_those_of_vegan(name: str) -> None:
    """Tenenbaum's form: over the whole matrix of geodesic distances with its diagonal."""
    expected = read(f"isomap/{name}/residual_variance.csv")[:, 0]
    model = fit(name, "dijkstra", len(expected))
    found = residual_variances(Paths().distances(graph(name), Compute()), model.embedding)
    assert np.abs(found - expected).max() < TOLERANCE


@pytest.mark.medium
def test_points_are_those_of_scikit_learn() -> None:
    expected = read("sklearn/isomap_swissroll1000_k7_points.csv", names=False, header=False)
    model = fit("swissroll1000_k7", "dijkstra", expected.shape[1])
    assert score_deviation(model.embedding, expected, column("isomap/swissroll1000_k7/eig_all.csv")) < TOLERANCE
