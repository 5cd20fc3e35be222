"""Cholesky's factors in a fixed order: residuals of solutions, and matrices that are not positive definite."""

import numpy as np
import pytest

from mlcli import native
from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.core.cholesky import SIDE, positive_solver
from tests.native.support import choose, levels, needs_native

SIZES = [1, 2, 7, SIDE - 1, SIDE, SIDE + 1, 3 * SIDE + 5]


def spread(size: int, condition: float, seed: int = 0) -> Array:
    """A positive definite matrix (n x n) with eigenvalues spread evenly in their logarithm."""
    generator = np.random.default_rng([size, seed])
    turn = np.linalg.qr(generator.standard_normal((size, size)))[0]
    matrix = (turn * np.geomspace(1.0, condition, size)) @ turn.T
    return (matrix + matrix.T) / 2


def solution(matrix: Array, block: Array) -> Array:
    solve = positive_solver(matrix)
    assert solve is not None
    return solve(block)


@pytest.mark.parametrize("condition", [1e1, 1e6, 1e12])
@pytest.mark.parametrize("size", SIZES)
def test_residuals_are_rounding_of_what_is_added(size: int, condition: float) -> None:
    matrix, block = spread(size, condition), np.random.default_rng(1).standard_normal((size, 3))
    found = solution(matrix, block)
    rounding = EPS * np.linalg.norm(matrix, 2) * np.linalg.norm(found)
    assert np.linalg.norm(matrix @ found - block) <= 10 * size * rounding


def test_whole_numbers_have_the_exact_solution() -> None:
    """A triangle of ones times its transpose: all pivots are one, and no step rounds."""
    size = 2 * SIDE + 9
    matrix = np.minimum.outer(np.arange(1.0, size + 1), np.arange(1.0, size + 1))
    wanted = np.random.default_rng(2).integers(-9, 9, (size, 2)).astype(np.float64)
    assert np.array_equal(solution(matrix, matrix @ wanted), wanted)


@pytest.mark.parametrize("place", [0, SIDE - 1, SIDE, 2 * SIDE + 3])
def test_a_matrix_that_is_not_positive_definite_has_no_factors(place: int) -> None:
    for value in (0.0, -1.0, np.nan, np.inf):
        matrix = np.eye(2 * SIDE + 4)
        matrix[place, place] = value
        assert positive_solver(matrix) is None
    equal = np.eye(2 * SIDE + 5)
    equal[-1, place] = equal[place, -1] = 1.0
    assert positive_solver(equal) is None


def test_neither_threads_nor_other_columns_change_a_bit() -> None:
    matrix, block = spread(5 * SIDE, 1e6), np.random.default_rng(3).standard_normal((5 * SIDE, 3))
    found = []
    for threads in (1, 3):
        with limit_threads(threads):
            found.append(solution(matrix, block))
    assert np.array_equal(*found)
    assert np.array_equal(found[0][:, :2], solution(matrix, block[:, :2]))


@needs_native
def test_every_level_of_the_kernels_has_the_same_bits() -> None:
    matrix, block = spread(3 * SIDE + 5, 1e3), np.random.default_rng(4).standard_normal((3 * SIDE + 5, 2))
    usual, found = native.describe(), []
    try:
        for level in levels():
            choose(level)
            found.append(solution(matrix, block))
    finally:
        choose(usual)
    assert all(np.array_equal(one, found[0]) for one in found)
