"""Forces by Student's kernel, and splines on a grid, against their formulas at every instruction set."""


import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.methods.neighbor_embedding.repulsion import collect_rows, spread_rows
from mlcli.native.layouts import Octree, attract_rows, collect_points, repel_rows, spread_points, turn_sources
from mlcli.native.library import kernels
from tests.native.support import at_level, levels, needs_native

pytestmark = needs_native
level = pytest.fixture(params=levels(), autouse=True)(at_level)


def formula(points: Array, dof: float, sources: Array | None = None) -> tuple[Array, Array]:
    gaps = points[:, None] - (points if sources is None else sources)[None]
    stretched = 1 + np.sum(gaps**2, axis=2) / dof
    return np.einsum("ij,ijk->ik", stretched ** (-dof - 1), gaps), np.sum(stretched**-dof, axis=1)


@pytest.mark.parametrize("dof", [1.0, 0.3, 40.0])
@pytest.mark.parametrize(("rows", "axes"), [(1, 2), (9, 1), (41, 2), (40, 3), (23, 5), (10, 18)])
def test_all_pairs_repel_as_the_formula_says(rows: int, axes: int, dof: float) -> None:
    points = np.random.default_rng(rows).normal(size=(rows, axes)) * 10.0 ** np.arange(-2, 7)[np.arange(rows) % 9, None]
    points[rows // 2] = points[0]
    forces, totals = formula(points, dof)
    some = slice(rows // 3, rows)
    found, sums = repel_rows(points, turn_sources(points), dof, some)
    assert np.allclose(found, forces[some], rtol=1e-11, atol=1e-13 * np.abs(forces).max(initial=1e-300))
    assert np.allclose(sums, totals[some], rtol=1e-13, atol=0)


@pytest.mark.parametrize("dof", [1.0, 0.3])
@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_a_row_alone_is_repelled_by_other_points_and_rounds_by_itself(axes: int, dof: float) -> None:
    """Of more rows than sources; to the last bit as if no other row were there."""
    random = np.random.default_rng(axes)
    rows, others = random.normal(size=(40, axes)) * 9, random.normal(size=(23, axes))
    forces, totals = formula(rows, dof, others)
    found, sums = repel_rows(rows, turn_sources(others), dof, slice(0, 40), alone=True)
    assert np.allclose(found, forces, rtol=1e-11, atol=1e-13) and np.allclose(sums, totals, rtol=1e-13, atol=0)
    for row in range(40):
        own, total = repel_rows(rows[row:row + 1].copy(), turn_sources(others), dof, slice(0, 1), alone=True)
        assert np.array_equal(own[0], found[row]) and total[0] == sums[row]


@pytest.mark.parametrize("dof", [1.0, 0.3])
@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_neighbors_attract_as_the_formula_says(axes: int, dof: float) -> None:
    generator = np.random.default_rng(axes)
    points = generator.normal(size=(150, axes)) * 10.0 ** generator.integers(-3, 6, (150, 1))
    dense = generator.random((150, 150)) * (generator.random((150, 150)) < np.linspace(0, 1, 150)[:, None])
    rows, columns = np.nonzero(dense)
    graph = np.searchsorted(rows, np.arange(151)), columns.astype(np.int32), dense[rows, columns]
    gaps = points[:, None] - points[None]
    stretched = np.sum(gaps**2, axis=2) / dof
    forces = np.einsum("ij,ijk->ik", dense / (1 + stretched), gaps)
    energies = np.sum(dense * np.log1p(stretched), axis=1)
    found, sums = np.full((150, axes), np.nan), np.full(150, np.nan)
    chosen = generator.permutation(150)[:140]
    attract_rows(graph, points, dof, chosen, (found, sums))
    assert np.allclose(found[chosen], forces[chosen], rtol=1e-12, atol=1e-12 * np.abs(forces).max())
    assert np.allclose(sums[chosen], dof * energies[chosen], rtol=1e-13, atol=1e-15)
    assert np.isnan(found).all(axis=1).sum() == np.isnan(sums).sum() == 10  # of the rows that were not chosen


@pytest.mark.parametrize("axes", [1, 2])
def test_splines_are_those_of_numpy(axes: int) -> None:
    points = np.random.default_rng(axes).random((37, axes)) * 3
    low, shape = np.full(axes, -0.25), (1, 30) if axes == 1 else (25, 31)
    chosen = np.arange(36, -1, -1)
    grid, expected = np.zeros(shape), np.zeros(shape)
    spread_points(points, chosen, low, 5.0, grid)
    spread_rows(points, low, 0.2, expected)
    assert np.allclose(grid, expected, rtol=0, atol=1e-14)
    assert grid.sum() == pytest.approx(37)
    values, slopes = np.empty(37), np.empty((37, axes))
    nodes = np.random.default_rng(0).normal(size=shape)
    collect_points(points, chosen, low, 5.0, nodes, factor=-2.0, out=(slopes, values))
    rises, sums = collect_rows(points, low, 0.2, nodes)
    assert np.allclose(values, sums, rtol=0, atol=1e-13)
    assert np.allclose(slopes, -2 * rises, rtol=0, atol=1e-12)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_a_tree_that_opens_every_cell_sums_all_pairs(axes: int) -> None:
    generator = np.random.default_rng(axes)
    points = generator.normal(size=(300, axes))
    points[100:150] = points[99]  # more equal points than a group holds
    points[7] += 1e9
    tree, forces, totals = Octree(points), np.full((300, axes), np.nan), np.full(300, np.nan)
    for group in range(tree.groups):
        tree.repel(slice(group, group + 1), 0.0, 1.0, (forces, totals))
    expected, sums = formula(points, 1.0)
    assert np.allclose(forces, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert np.allclose(totals, sums, rtol=1e-13)


def test_points_in_one_place_do_not_repel() -> None:
    points = np.full((100, 2), 0.1)
    tree, forces, totals = Octree(points), np.full((100, 2), np.nan), np.full(100, np.nan)
    tree.repel(slice(0, tree.groups), 0.5, 1.0, (forces, totals))
    assert not forces.any() and (totals == 100).all()


def test_what_is_not_there_is_refused() -> None:
    points, forces, sums = np.random.default_rng(0).random((5, 2)), np.empty((2, 2)), np.empty(2)
    graph = np.array([0, 1, 2, 3, 4, 5]), np.array([1, 2, 3, 4, 0], dtype=np.int32), np.ones(5)
    every, out = np.arange(5), (np.empty((5, 2)), np.empty(5))
    attract_rows(graph, points, 1.0, every, out)
    for wrong in ((graph[0], graph[1] + np.int32(1), graph[2]), (graph[0], graph[1] - np.int32(1), graph[2]),
                  (graph[0] + 1, *graph[1:]), (graph[0] - 1, *graph[1:]), (graph[0][::-1].copy(), *graph[1:]),
                  (graph[0][:5], *graph[1:]), (*graph[:2], graph[2][:4])):
        with pytest.raises(ValueError, match=r"range|starts"):
            attract_rows(wrong, points, 1.0, every, out)
    for chosen in (np.array([-1, 0]), np.array([4, 5])):
        with pytest.raises(ValueError, match="range"):
            attract_rows(graph, points, 1.0, chosen, out)
    with pytest.raises(ValueError, match="forces and energies"):
        attract_rows(graph, points, 1.0, every, (forces, sums))
    for rows in (slice(-1, 1), slice(4, 6), slice(3, 2)):
        with pytest.raises(ValueError, match=r"range|dimensions"):
            repel_rows(points, turn_sources(points), 1.0, rows)
    for sources in (points.T.copy(), turn_sources(points)[:1]):
        with pytest.raises(ValueError, match="room"):
            kernels().repel_rows(points, sources, 1.0, 0, 2, False, forces, sums)
    for call in (lambda: repel_rows(points, turn_sources(points), 0.0, slice(0, 2)),
                 lambda: attract_rows(graph, points, -1.0, every, out)):
        with pytest.raises(ValueError, match="positive"):
            call()


def test_points_beyond_a_grid_or_a_tree_are_refused() -> None:
    points, chosen, low = np.array([[0.5, 0.5], [3.0, 3.0]]), np.array([0, 1]), np.zeros(2)
    out = np.empty((2, 2)), np.empty(2)
    spread_points(points, chosen, low, 1.0, np.zeros((11, 11)))
    for place in (points + 0.1, -points, points * np.nan):
        with pytest.raises(ValueError, match="beyond"):
            spread_points(place, chosen, low, 1.0, np.zeros((11, 11)))
        with pytest.raises(ValueError, match="beyond"):
            collect_points(place, chosen, low, 1.0, np.zeros((11, 11)), factor=1.0, out=out)
    for wrong in (chosen + 1, chosen - 1):
        with pytest.raises(ValueError, match="not there"):
            spread_points(points, wrong, low, 1.0, np.zeros((11, 11)))
    for shape in ((7, 11), (11, 7)):
        with pytest.raises(ValueError, match="small"):
            spread_points(points, chosen, low, 1.0, np.zeros(shape))
    with pytest.raises(ValueError, match="axes"):
        spread_points(np.zeros((2, 3)), chosen, np.zeros(3), 1.0, np.zeros((11, 11)))
    with pytest.raises(ValueError, match="every point"):
        collect_points(points, chosen, low, 1.0, np.zeros((11, 11)), factor=1.0, out=(out[0][:1], out[1]))
    with pytest.raises(ValueError, match="finite"):
        Octree(points * np.inf)
    with pytest.raises(ValueError, match="axes"):
        Octree(np.zeros((2, 4)))
    tree = Octree(points)
    for groups in (slice(-1, 1), slice(0, 2), slice(1, 0)):
        with pytest.raises(ValueError, match="range"):
            tree.repel(groups, 0.5, 1.0, out)
    with pytest.raises(ValueError, match="theta"):
        tree.repel(slice(0, 1), -0.5, 1.0, out)
