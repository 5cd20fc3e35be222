"""Facts about stresses of frameworks: how many there are, what they close, and what stays open."""

import numpy as np
import pytest

from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.types import Array
from mlcli.core.blocked import steady_solver
from mlcli.core.graph.search import nearest
from mlcli.data.samples import sample
from mlcli.methods.unfolding.faces import centered_basis, closed_directions, equilibrium, open_basis, open_directions
from mlcli.methods.unfolding.pairs import NeighborPairs, squared_norms
from tests.checkpoints import in_parts


def framework(points: Array, left: list[int], right: list[int]) -> tuple[Array, Array]:
    """Rows of the pairs, and the points, over all mean-free vectors."""
    basis = centered_basis(np.arange(len(points)))
    return basis[left] - basis[right], basis.T @ points


def complete(points: Array) -> tuple[Array, Array]:
    """The framework of all pairs."""
    left, right = np.triu_indices(len(points), 1)
    return framework(points, left.tolist(), right.tolist())


@pytest.mark.parametrize(("count", "dimensions"), [(4, 2), (5, 3), (7, 3), (6, 1)])
def test_stresses_are_counted_by_maxwell(count: int, dimensions: int) -> None:
    """Pairs less the rank of rigidity, dn - d(d + 1)/2; their pulls cancel at every point."""
    rows, points = complete(np.random.default_rng(0).standard_normal((count, dimensions)))
    stresses = equilibrium(rows, points)
    rank = dimensions * count - dimensions * (dimensions + 1) // 2
    assert stresses.shape == (len(rows), count * (count - 1) // 2 - rank)
    for stress in stresses.T:
        assert np.abs((rows.T * stress) @ (rows @ points)).max() <= 1e-12 * np.abs(stress).max()


def test_all_distances_leave_only_the_points_open() -> None:
    rows, points = complete(np.random.default_rng(1).standard_normal((9, 2)))
    opened = open_directions(rows, points)
    assert opened.shape == (8, 2)
    assert np.abs(points - opened @ (opened.T @ points)).max() <= 1e-12


def test_the_search_for_closed_directions_goes_on_after_every_step() -> None:
    generator = np.random.default_rng(0)
    places, (left, right) = generator.standard_normal((12, 2)), np.triu_indices(12, 1)
    chosen = generator.random(len(left)) < 0.5
    rows, points = framework(places, left[chosen].tolist(), right[chosen].tolist())
    whole = open_directions(rows, points)
    again, stops = in_parts(lambda: open_directions(rows, points))
    assert stops >= 3 and np.array_equal(again, whole)


def test_a_side_as_long_as_the_way_around_leaves_a_line() -> None:
    """No three points are all neighbors, and yet there is one place for each: on a line."""
    places = np.array([[0.0], [1.0], [2.5], [3.2], [4.0]])
    rows, points = framework(places, [0, 1, 2, 3, 0], [1, 2, 3, 4, 4])
    assert open_directions(rows, points).shape == (4, 1)


def test_an_open_chain_and_a_square_have_no_stress_that_closes() -> None:
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    for pairs in (([0, 1, 2], [1, 2, 3]), ([0, 1, 2, 3], [1, 2, 3, 0])):
        rows, points = framework(square, *pairs)
        assert np.array_equal(open_directions(rows, points), np.eye(3))


def test_a_stress_with_eigenvalues_of_both_signs_closes_nothing() -> None:
    rows = np.eye(3)
    assert closed_directions(rows, np.array([[1.0], [-1.0], [0.5]])).shape == (3, 0)
    assert closed_directions(rows, np.array([[1.0], [2.0], [0.0]])).shape == (3, 2)
    assert closed_directions(rows, np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])).shape == (3, 1)


@pytest.mark.medium
def test_the_open_basis_holds_the_points_and_no_stress_is_left() -> None:
    points = sample("swiss-roll", 100, 0).values
    lists = nearest(points, 6)
    low, high = np.unique(np.sort(np.stack([lists.rows, lists.indices]), axis=0), axis=1)
    pairs = NeighborPairs(100, low, high, squared_norms(points[low] - points[high]))
    with single_threaded_blas():
        basis = open_basis(pairs, centered_basis(np.arange(100)), points)
        again = open_basis(pairs, basis, points)
    centered = points - points.mean(axis=0)
    assert basis.shape[1] < 65  # what groups of neighbors leave
    assert np.abs(centered - basis @ (basis.T @ centered)).max() <= 1e-10 * np.abs(points).max()
    assert again.shape == basis.shape


def test_a_system_that_rounding_left_singular_is_solved() -> None:
    factor = np.random.default_rng(2).standard_normal((30, 20)) * np.logspace(0, -6, 30)[:, None]
    matrix, right = factor @ factor.T, factor @ factor.T @ np.ones(30)
    solver = steady_solver(matrix.copy())
    assert solver is not None
    assert np.linalg.norm(matrix @ solver(right) - right) <= 1e-12 * np.linalg.norm(right)
    assert steady_solver(np.diag([1.0, -1.0])) is None
    assert steady_solver(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
