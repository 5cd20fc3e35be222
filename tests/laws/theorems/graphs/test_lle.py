"""Facts about locally linear embedding: weights, null vector, constraints."""

import numpy as np
import pytest

from mlcli.core.graph.search import nearest
from mlcli.core.graph.weights import barycentric_weights, residual_matrix
from tests.support import EPS, fit

POINTS = np.random.default_rng(11).standard_normal((90, 5))
LISTS = nearest(POINTS, 10)


def weights(points: np.ndarray = POINTS, ridge: float = 1e-3) -> np.ndarray:
    return barycentric_weights(points, points, nearest(points, 10), ridge=ridge)


def test_weights_sum_to_one() -> None:
    table = weights().reshape(90, 10)
    assert np.abs(table.sum(axis=1) - 1).max() <= 100 * EPS * np.abs(table).sum(axis=1).max()


def test_weights_solve_the_local_problem() -> None:
    table = weights().reshape(90, 10)
    for i in range(90):
        differences = POINTS[LISTS.indices[10 * i : 10 * i + 10]] - POINTS[i]
        gram = differences @ differences.T
        gram += 1e-3 * np.trace(gram) * np.eye(10)
        gradient = gram @ table[i]
        assert np.ptp(gradient) <= 1e-9 * np.abs(gradient).max()


def test_weights_do_not_see_shift_rotation_or_scale() -> None:
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((5, 5)))[0]
    assert np.abs(weights() - weights(POINTS @ rotation + 10)).max() < 1e-10
    assert np.array_equal(weights(), weights(POINTS * 2.0**40))


def test_weights_reproduce_points_that_lie_among_their_neighbors() -> None:
    plane = np.random.default_rng(4).standard_normal((60, 2)) @ np.random.default_rng(5).standard_normal((2, 5))
    table = barycentric_weights(plane, plane, nearest(plane, 10), ridge=1e-12)
    rows = residual_matrix(table, nearest(plane, 10)).matrix()
    assert np.abs(rows @ plane).max() < 1e-8


def test_the_constant_vector_is_null() -> None:
    rows = residual_matrix(weights(), LISTS).matrix()
    assert np.abs(rows @ np.ones(90)).max() <= 100 * EPS * np.abs(rows).sum(axis=1).max()


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_coordinates_are_centered_uncorrelated_and_of_unit_variance(solver: str) -> None:
    model = fit("lle", POINTS, neighbors=10, eigensolve={"solver": solver, "components": 3})
    assert np.abs(model.embedding.mean(axis=0)).max() < 1e-10
    assert np.abs(model.embedding.T @ model.embedding / 90 - np.eye(3)).max() < 1e-10


def test_the_cost_of_the_embedding_is_the_sum_of_its_eigenvalues_inverses() -> None:
    model = fit("lle", POINTS, neighbors=10)
    rows = residual_matrix(weights(), LISTS).matrix()
    cost = ((rows @ model.embedding) ** 2).sum() / 90
    assert cost == pytest.approx((1 / model.spectrum.values[:2]).sum(), rel=1e-10)


@pytest.mark.medium
def test_dense_and_krylov_agree() -> None:
    points = np.random.default_rng(0).random((700, 3))
    dense = fit("lle", points, neighbors=8, eigensolve={"solver": "dense"})
    iterated = fit("lle", points, neighbors=8, eigensolve={"solver": "krylov"})
    assert np.allclose(dense.spectrum.values[:2], iterated.spectrum.values[:2], rtol=1e-6)
    assert np.abs(dense.embedding - iterated.embedding).max() < 1e-5


def test_a_training_point_is_placed_exactly_on_itself() -> None:
    model = fit("lle", POINTS, neighbors=10)
    assert np.array_equal(model.project(POINTS), model.embedding)


def test_the_spectrum_ends_with_the_constant_vectors_zero() -> None:
    values = fit("lle", POINTS, neighbors=10).spectrum.values
    assert len(values) == 90
    assert values[-1] == 0
    assert (values[:-1] > 0).all()
