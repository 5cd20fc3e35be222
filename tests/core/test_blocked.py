"""Products and solutions in blocks of rows: those of the whole matrices, and the same bytes on any threads."""

from typing import Any

import numpy as np
import pytest

from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.core.blocked import TILE, gram_product, product, steady_solver
from tests.support import EPS

SIZES = [3, TILE, 2 * TILE + 5]


def normal(rows: int, columns: int) -> Array:
    return np.random.default_rng([rows, columns]).standard_normal((rows, columns))


def on_threads(compute: Any) -> list[bytes]:
    """The bytes of a result on one, two and three threads."""
    found = []
    for count in (1, 2, 3):
        with limit_threads(count):
            found.append(np.asarray(compute()).tobytes())
    return found


@pytest.mark.parametrize("size", SIZES)
def test_products_are_those_of_whole_matrices(size: int) -> None:
    left, right = normal(size, 40), normal(40, 30)
    assert np.abs(product(left, right) - left @ right).max() <= 100 * EPS * np.abs(left).max() * np.abs(right).max()
    other = normal(size, 50)
    expected = (left @ left.T) * (other @ other.T)
    assert np.abs(np.tril(gram_product(left, other) - expected)).max() <= 1e3 * EPS * np.abs(expected).max()
    assert np.abs(np.tril(gram_product(left) - left @ left.T)).max() <= 1e3 * EPS * np.abs(left @ left.T).max()


@pytest.mark.parametrize("size", SIZES)
def test_a_lower_triangle_is_solved(size: int) -> None:
    factor = normal(size, size)
    matrix, right = factor @ factor.T + np.eye(size), normal(size, 1)[:, 0]
    solver = steady_solver(np.tril(matrix))
    assert solver is not None
    assert np.abs(matrix @ solver(right) - right).max() <= 1e-10 * np.abs(right).max()


@pytest.mark.parametrize("size", SIZES)
def test_a_singular_matrix_is_solved_where_it_can_be_and_an_indefinite_one_is_not(size: int) -> None:
    factor = normal(size, size - 1)
    matrix = factor @ factor.T
    solver = steady_solver(matrix.copy())
    right = matrix @ normal(size, 1)[:, 0]
    assert solver is not None
    assert np.abs(matrix @ solver(right) - right).max() <= 1e-6 * np.abs(right).max()
    indefinite = np.eye(size)
    indefinite[size - 1, 0] = indefinite[0, size - 1] = 2.0
    assert steady_solver(indefinite) is None


def test_threads_change_no_bytes() -> None:
    size = SIZES[-1]
    left = normal(size, size)
    matrix = left @ left.T + np.eye(size)

    def solution() -> Array:
        solver = steady_solver(matrix.copy())
        assert solver is not None
        return solver(left[0])

    for compute in (lambda: product(left, left), lambda: gram_product(left, left + 1), solution):
        found = on_threads(compute)
        assert found[0] == found[1] == found[2]
