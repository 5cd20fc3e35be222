"""Forces of neighbor embeddings against their formulas."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.stages.layout.repulsion import attract, choose_summation, repel


def formula(points: Array, dof: float) -> tuple[Array, float]:
    """The repulsion and its normalization, written out."""
    gaps = points[:, None] - points[None]
    stretched = np.sum(gaps**2, axis=2) / dof
    return np.einsum("ij,ijk->ik", (1 + stretched) ** (-dof - 1), gaps), float(np.sum((1 + stretched) ** -dof)) - len(
        points)


@pytest.mark.parametrize("dof", [1.0, 0.5, 2.5])
@pytest.mark.parametrize("axes", [1, 2, 3, 5])
def test_all_pairs_repel_as_the_formula_says(axes: int, dof: float) -> None:
    points = np.random.default_rng(axes).normal(size=(90, axes)) * 3
    points[3] = points[7]
    forces, normalization = formula(points, dof)
    found, total = repel(points, dof, "exact")
    assert np.linalg.norm(found - forces) <= 1e-13 * np.linalg.norm(forces)
    assert total == pytest.approx(normalization, rel=1e-13)


@pytest.mark.parametrize("dof", [1.0, 0.5])
@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_neighbors_attract_as_the_formula_says(axes: int, dof: float) -> None:
    generator = np.random.default_rng(axes)
    points, dense = generator.normal(size=(40, axes)), generator.random((40, 40)) * (generator.random((40, 40)) < 0.3)
    dense[5] = 0
    rows, columns = np.nonzero(dense)
    graph = np.searchsorted(rows, np.arange(41)), columns.astype(np.int32), dense[rows, columns]
    gaps = points[:, None] - points[None]
    stretched = np.sum(gaps**2, axis=2) / dof
    found, energy = attract(graph, points, dof)
    assert np.allclose(found, np.einsum("ij,ijk->ik", dense / (1 + stretched), gaps), rtol=0, atol=1e-13)
    assert energy == pytest.approx(dof * np.sum(dense * np.log1p(stretched)), rel=1e-13)
    for wrong in (graph[1] + np.int32(40), graph[1] - np.int32(40)):
        with pytest.raises(ValueError, match="out of range"):
            attract((graph[0], wrong, graph[2]), points, dof)


def test_the_way_of_summation_depends_on_rows_and_axes() -> None:
    assert [choose_summation(500, axes) for axes in (1, 2, 3, 4)] == ["exact"] * 4
    assert [choose_summation(10**5, axes) for axes in (1, 2, 3, 4)] == ["grid", "grid", "tree", "exact"]
