"""Forces of neighbor embeddings against their formulas."""

import numpy as np
import pytest

from mlcli import native
from mlcli.base.context import set_context
from mlcli.base.types import Array
from mlcli.methods.neighbor_embedding import repulsion
from mlcli.methods.neighbor_embedding.repulsion import (
    Summation,
    attract,
    attract_bytes,
    attract_seconds,
    cell_order,
    choose_summation,
    grid_around,
    kernel_less_one,
    kernel_spectrum,
    repel,
    repel_bytes,
    repel_seconds,
    spline_response,
    spline_values,
)
from mlcli.methods.neighbor_embedding.tsne import MOST_AXES
from mlcli.native.layouts import ORDER
from tests.native.library.bits import bits_of


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


@pytest.mark.parametrize("axes", [1, 2, 3, 5])
def test_points_next_to_each_other_in_the_order_of_cells_are_near(axes: int) -> None:
    points = np.random.default_rng(axes).random((2000, axes)) * np.array([1.0, 30.0, 1e-9, 2.0, 5.0])[:axes]
    order = cell_order(points)
    assert np.array_equal(np.sort(order), np.arange(2000))
    within = points[:, : min(axes, 3)] / np.ptp(points[:, : min(axes, 3)], axis=0)
    steps, usual = (np.linalg.norm(np.diff(within[rows], axis=0), axis=1).mean() for rows in (order, slice(None)))
    assert steps < usual / 4


def test_every_row_has_a_place_in_the_order_of_cells() -> None:
    for points in (np.ones((5, 2)), np.array([[0.0, 1.0], [np.inf, 2.0], [np.nan, -1e308], [-1e308, 1e308]])):
        assert np.array_equal(np.sort(cell_order(points)), np.arange(len(points)))


def test_the_way_of_summation_depends_on_rows_and_axes() -> None:
    assert [choose_summation(500, axes) for axes in (1, 2, 3, 4)] == ["exact"] * 4
    assert [choose_summation(10**5, axes) for axes in (1, 2, 3, 4)] == ["grid", "grid", "tree", "exact"]


def test_the_response_of_a_spline_is_the_transform_of_its_values_at_the_nodes() -> None:
    angles, places = np.linspace(0, np.pi, 50), np.arange(ORDER) - (ORDER // 2 - 1)
    expected = np.cos(np.multiply.outer(angles, places)) @ spline_values(np.zeros(1))[0]
    assert np.allclose(spline_response(np.cos(angles)), expected, rtol=1e-14)


@pytest.mark.parametrize("dof", [1.0, 0.3, 2.5, 40.0])
def test_the_kernel_less_its_constant_keeps_its_digits_at_any_distance(dof: float) -> None:
    stretched = np.r_[0.0, 10.0 ** np.random.default_rng(0).uniform(-300, 12, 3000), np.linspace(0, 3, 3000)]
    assert np.allclose(kernel_less_one(stretched, dof), np.expm1(-dof * np.log1p(stretched)), rtol=3e-15, atol=0)


ERRORS: dict[Summation, float] = {"grid": 5e-4, "tree": 1e-2}  # of the norm of all forces


def clusters(rows: int, axes: int, deviation: float) -> Array:
    """Points in twenty clusters, as far apart as they are wide, with duplicates."""
    generator = np.random.default_rng(rows + axes)
    centers = generator.normal(size=(20, axes))
    points = centers[generator.integers(0, 20, rows)] + 0.2 * generator.normal(size=(rows, axes))
    points[:5] = points[5]
    return np.asarray(points * (deviation / points.std()))


@pytest.mark.parametrize(("deviation", "dof"), [(1e-200, 1.0), (1e-4, 1.0), (0.01, 0.5), (1.0, 3.0), (8.0, 0.5),
                                                (30.0, 1.0)])
@pytest.mark.parametrize(("how", "axes"), [("grid", 1), ("grid", 2), ("tree", 1), ("tree", 2), ("tree", 3)])
def test_sums_over_cells_are_near_those_over_pairs(how: Summation, axes: int, deviation: float, dof: float) -> None:
    points = clusters(1500, axes, deviation)
    forces, normalization = repel(points, dof, "exact")
    found, total = repel(points, dof, how)
    assert np.linalg.norm(found - forces) <= ERRORS[how] * np.linalg.norm(forces)
    assert total == pytest.approx(normalization, rel=ERRORS[how])
    if how == "grid" and deviation <= 0.01:
        assert np.linalg.norm(found - forces) <= 1e-8 * np.linalg.norm(forces)


def graph_of(points: Array, count: int) -> tuple[Array, Array, Array]:
    """The nearest neighbors of points (n x p), all with the same affinity."""
    squared = np.sum((points[:, None] - points[None]) ** 2, axis=2)
    np.fill_diagonal(squared, np.inf)
    indices = np.argsort(squared, axis=1)[:, :count].astype(np.int32).ravel()
    return np.arange(len(points) + 1) * count, indices, np.full(len(indices), 1 / len(indices))


@pytest.mark.medium
def test_the_gradient_by_a_grid_is_near_that_of_all_pairs_while_points_spread() -> None:
    generator = np.random.default_rng(0)
    data = generator.normal(size=(15, 6))[generator.integers(0, 15, 1500)] * 3 + generator.normal(size=(1500, 6))
    graph, points = graph_of(data, 30), data[:, :2] / data[:, :2].std() * 1e-4
    velocity, spans = np.zeros_like(points), []
    for step in range(301):
        repulsion, normalization = repel(points, 1.0, "exact")
        early = 12 if step < 100 else 1
        gradient = early * attract(graph, points, 1.0)[0] - repulsion / normalization
        if step % 50 == 0:
            spans.append(float(np.ptp(points)))
            found, total = repel(points, 1.0, "grid")
            off = found / total - repulsion / normalization
            assert np.linalg.norm(off) <= 1e-3 * np.linalg.norm(gradient)
        velocity = (0.5 if step < 100 else 0.8) * velocity - 4 * 1500 / early * gradient
        points = points + velocity
    assert spans[0] < 1e-2 and spans[-1] > 50


@pytest.mark.parametrize(("how", "axes"), [("exact", 2), ("grid", 1), ("grid", 2), ("tree", 3)])
def test_threads_change_no_bit(how: Summation, axes: int) -> None:
    points = clusters(9000 if how == "grid" else 3000, axes, 8.0)
    starts = np.arange(len(points) + 1) * 60
    graph = starts, np.random.default_rng(0).integers(0, len(points), starts[-1], dtype=np.int32), np.ones(starts[-1])
    results = []
    for threads in (1, 2, 3):
        with set_context(threads=threads):
            results.append((repel(points, 1.0, how), attract(graph, points, 1.0)))
    for (forces, total), (pulls, energy) in results[1:]:
        assert forces.tobytes() == results[0][0][0].tobytes() and total == results[0][0][1]
        assert pulls.tobytes() == results[0][1][0].tobytes() and energy == results[0][1][1]


@pytest.mark.parametrize(("how", "axes"), [("exact", 2), ("grid", 1), ("grid", 2), ("tree", 2), ("tree", 3)])
def test_permuted_rows_get_permuted_forces(how: Summation, axes: int) -> None:
    points, order = clusters(1200, axes, 5.0), np.random.default_rng(1).permutation(1200)
    forces, total = repel(points, 1.0, how)
    found, again = repel(points[order], 1.0, how)
    assert np.abs(found - forces[order]).max() <= 1e-12 * np.abs(forces).max()
    assert again == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize(("how", "axes"), [("exact", 2), ("grid", 1), ("grid", 2), ("tree", 2), ("tree", 3)])
def test_points_in_one_place_do_not_repel(how: Summation, axes: int) -> None:
    forces, total = repel(np.full((70, axes), 0.3), 1.0, how)
    assert not forces.any() and total == pytest.approx(70 * 69)
    forces, total = repel(np.full((1, axes), 0.3), 1.0, how)
    assert not forces.any() and total == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("axes", [1, 2])
def test_a_group_too_far_for_a_grid_is_summed_by_a_tree(axes: int) -> None:
    points = clusters(600, axes, 5.0)
    points[:50] += 1e7
    assert grid_around(points) is None
    forces, total = repel(points, 1.0, "exact")
    found, near = repel(points, 1.0, "grid")
    assert found.tobytes() == repel(points, 1.0, "tree")[0].tobytes()
    assert np.linalg.norm(found - forces) <= 1e-2 * np.linalg.norm(forces)
    assert near == pytest.approx(total, rel=1e-2)


@pytest.mark.parametrize("axes", [1, 2])
def test_a_grid_without_kernels_gives_what_it_gives_with_them(axes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    points = clusters(400, axes, 2.0)
    forces, total = repel(points, 1.0, "grid")
    graph = graph_of(points, 5)
    pulls, energy = attract(graph, points, 0.5)
    monkeypatch.setattr(native, "available", lambda: False)
    kernel_spectrum.cache_clear()
    found, again = repel(points, 1.0, "grid")
    assert np.allclose(found, forces, rtol=0, atol=1e-11 * np.abs(forces).max())
    assert again == pytest.approx(total, rel=1e-11)
    found, again = attract(graph, points, 0.5)
    assert np.allclose(found, pulls, rtol=0, atol=1e-12 * np.abs(pulls).max())
    assert again == pytest.approx(energy, rel=1e-12)
    found, again = repel(points, 1.0, "tree")
    assert np.allclose(found, repel(points, 1.0, "exact")[0], rtol=0, atol=0)
    kernel_spectrum.cache_clear()


@pytest.mark.parametrize("dof", [1.0, 0.5])
@pytest.mark.parametrize(("rows", "axes"), [(2, 2), (3, 1), (9, 3), (150, 1), (151, 2), (150, 3), (90, 5)])
def test_forces_without_kernels_have_the_same_bits(rows: int, axes: int, dof: float,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks with an odd number of rows, too, whose last one shares its division with itself."""
    points = 3 * np.random.default_rng(rows).random((rows, axes))
    points[-1] = points[0]
    monkeypatch.setattr(repulsion, "PAIRS", 33 * rows)
    monkeypatch.setattr(repulsion, "CACHED", 5 * rows)
    graph = graph_of(points, min(20, rows - 1))
    forces, pulls = repel(points, dof, "exact"), attract(graph, points, dof)
    monkeypatch.setattr(native, "available", lambda: False)
    assert bits_of(repel(points, dof, "exact")) == bits_of(forces)
    if axes <= MOST_AXES:
        assert bits_of(attract(graph, points, dof)) == bits_of(pulls)


def test_predictions_rise_with_the_work() -> None:
    for how, axes in (("exact", 2), ("exact", 4), ("grid", 1), ("grid", 2), ("tree", 2), ("tree", 3)):
        assert 0 < repel_seconds(10**4, axes, how, 2) < repel_seconds(10**4, axes, how, 1) < repel_seconds(
            10**6, axes, how, 1)
        assert 0 < repel_bytes(10**4, axes, how) <= repel_bytes(10**6, axes, how)
    assert repel_seconds(1000, 2, "exact", 1) < repel_seconds(1000, 2, "exact", 1, dof=0.5)
    assert 0 < attract_seconds(10**6, (10**4, 2), 2) < attract_seconds(10**6, (10**4, 2), 1) < attract_seconds(
        10**6, (10**6, 2), 1)
    assert 0 < attract_bytes(10**4, 2) < attract_bytes(10**5, 2)
