"""Fuzzy graphs, curves and local radii against umap-learn's, which computes in single precision."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.core.graph.search import nearest
from mlcli.methods.neighbor_embedding.fuzzy_graph import fuzzy_graph, intersect_classes
from mlcli.methods.neighbor_embedding.negative_sampling import Density, density_term, fit_curve
from tests.laws.agreement.tables import facts, read

POINTS = np.loadtxt(Path(__file__).parents[3] / "sample_data" / "us_arrests.csv", delimiter=",", skiprows=1,
                    usecols=(1, 2, 3, 4))


def expected(name: str) -> np.ndarray:
    """The memberships of a table (n x n)."""
    found = np.zeros((len(POINTS), len(POINTS)))
    table = read(f"umap/{name}.csv", names=False)
    rows, columns = table[:, 0].astype(int), table[:, 1].astype(int)
    found[rows, columns] = found[columns, rows] = table[:, 2]
    return found


@pytest.mark.parametrize(("name", "count", "connectivity", "mix"), [
    ("union", 14, 1.0, 1.0), ("between", 6, 1.5, 0.5), ("both", 6, 2.0, 0.0)])
def test_memberships_are_those_of_umap_learn(name: str, count: int, connectivity: float, mix: float) -> None:
    found = fuzzy_graph(nearest(POINTS, count), connectivity, mix)
    assert np.abs(found.matrix().toarray() - expected(name)).max() < 1e-5


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_intersections_with_classes_are_those_of_umap_learn(weight: float) -> None:
    found = intersect_classes(fuzzy_graph(nearest(POINTS, 6), 1.5, 0.5), np.arange(50) % 5 - 1, weight)
    there = expected(f"classes_{weight:g}")
    assert np.abs(found.matrix().toarray() - there).max() < 1e-5
    assert found.edges == np.count_nonzero(there) // 2


def test_local_radii_are_those_of_umap_learn() -> None:
    """Up to a constant: here they are relative to their median."""
    graph = fuzzy_graph(nearest(POINTS, 14), 1.0, 1.0)
    apart = np.sqrt(((POINTS[:, None] - POINTS) ** 2).sum(axis=2))
    rows = np.repeat(np.arange(50), np.diff(graph.starts))
    term = density_term(Density(), graph, apart[rows, graph.indices], 200)
    assert term is not None
    differences = term.radii - read("umap/radii.csv", names=False)[:, 0]
    assert np.ptp(differences) < 1e-5


@pytest.mark.parametrize("case", facts("umap/curves.json").items(), ids=lambda case: case[0])
def test_curves_are_those_of_umap_learn(case: tuple[str, list[float]]) -> None:
    """Whose steps end up to 2.5e-6 from the minimum."""
    min_dist, spread = map(float, case[0].split())
    found = fit_curve(min_dist, spread)
    assert [found.a, found.b] == pytest.approx(case[1], rel=3e-6)
