"""New points of a layout: where they are placed, and the small systems that Newton's steps solve."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.core.layouts.new_points import _eliminate, place_by_stress, relative_weights
from mlcli.core.layouts.ranks import Monotone

RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("power", [0.0, -1.0, -2.0])
@pytest.mark.parametrize("axes", [1, 2, 5])
def test_exact_distances_lead_to_the_point_that_has_them(axes: int, power: float) -> None:
    points, new = RANDOM.standard_normal((60, axes)), RANDOM.standard_normal((9, axes))
    lengths = cdist(new, points)
    assert np.allclose(place_by_stress(lengths, points, relative_weights(lengths, power)), new, rtol=0, atol=1e-10)


def test_a_point_alone_has_the_bits_of_one_among_others() -> None:
    points, lengths = RANDOM.standard_normal((60, 2)), 1 + RANDOM.random((7, 60))
    together = place_by_stress(lengths, points, np.ones_like(lengths))
    alone = [place_by_stress(row[None], points, np.ones((1, 60))) for row in lengths]
    assert np.array_equal(together, np.vstack(alone))


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_pivots_are_over_zero_where_all_eigenvalues_are_and_systems_are_solved(size: int) -> None:
    matrices = RANDOM.standard_normal((200, size, size))
    matrices = matrices + matrices.transpose(0, 2, 1) + RANDOM.random((200, 1, 1)) * 3 * size * np.eye(size)
    sides, least = RANDOM.standard_normal((200, size)), np.linalg.eigvalsh(matrices)[:, 0]
    pivots, found = _eliminate(matrices, sides)
    definite = (pivots > 0).all(axis=1)
    assert np.array_equal(definite, least > 0) and 10 < definite.sum() < 190
    errors = np.abs(np.einsum("mpq,mq->mp", matrices, found) - sides).max(axis=1)
    assert (errors[definite] <= 1e-14 * size * (1 + 3 * size / least[definite])).all()


def test_a_monotone_function_is_linear_between_its_numbers_and_constant_beyond() -> None:
    lengths = np.cumsum(RANDOM.random(20))
    function = Monotone(lengths, np.cumsum(RANDOM.random(20)))
    at = np.concatenate([RANDOM.uniform(-1, 15, (50,)), lengths, [lengths[0] - 1, lengths[-1] + 1]]).reshape(2, -1)
    assert np.allclose(function(at), np.interp(at, function.lengths, function.values), rtol=1e-14, atol=0)
    assert np.array_equal(function(lengths), function.values)
    assert Monotone(np.zeros(1), np.full(1, 0.3))(at).tolist() == np.full(at.shape, 0.3).tolist()
