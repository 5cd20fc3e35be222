"""Statements of the lecture notes that stand in no other file of theorems (docs/notes.md)."""

import numpy as np
import pytest

from mlcli.checkup.graph import edge_length
from mlcli.core.graph.search import nearest
from mlcli.core.graph.weights import reconstruction_weights
from tests.support import dissimilarities, distances, features, fit

POINTS = np.random.default_rng(7).standard_normal((80, 6)) * [5, 3, 2, 1, 0.5, 0.1]
CENTERED = POINTS - POINTS.mean(axis=0)
COVARIANCE = CENTERED.T @ CENTERED / len(POINTS)


def test_the_covariance_of_principal_components_is_diagonal_with_the_eigenvalues() -> None:
    model = fit("pca", POINTS, components=6)
    assert np.allclose(model.embedding.T @ model.embedding / 80, np.diag(model.spectrum.eigenvalues), atol=1e-12)


def test_trace_determinant_and_rank_follow_from_the_eigenvalues() -> None:
    flat = np.column_stack([POINTS, POINTS[:, 0] - POINTS[:, 1]])
    assert np.sum(fit("pca", POINTS).spectrum.eigenvalues) == pytest.approx(np.trace(COVARIANCE), rel=1e-13)
    assert np.prod(fit("pca", POINTS).spectrum.eigenvalues) == pytest.approx(np.linalg.det(COVARIANCE), rel=1e-10)
    eigenvalues = fit("pca", flat).spectrum.eigenvalues
    assert np.sum(eigenvalues > 1e-12 * eigenvalues[0]) == 6 == np.linalg.matrix_rank(flat)


def test_no_direction_has_more_variance_than_the_first_axis() -> None:
    directions = np.random.default_rng(3).standard_normal((200, 6))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    variances = np.var(CENTERED @ directions.T, axis=0)
    assert np.allclose(variances, np.einsum("ij,jk,ik->i", directions, COVARIANCE, directions), rtol=1e-12)
    assert variances.max() <= fit("pca", POINTS).spectrum.eigenvalues[0] * (1 + 1e-12)


def test_all_axes_are_a_rigid_motion() -> None:
    assert np.allclose(distances(fit("pca", POINTS, components=6).embedding), distances(POINTS), atol=1e-12)


def test_dual_pca_recovers_directions_and_rows_from_inner_products() -> None:
    values, vectors = np.linalg.eigh(CENTERED @ CENTERED.T)
    inner, sizes = vectors[:, :-3:-1], np.sqrt(values[:-3:-1])
    model = fit("pca", POINTS, route="covariance")
    directions = CENTERED.T @ inner / sizes
    signs = np.sign(np.sum(directions * model.projector.axes, axis=0))
    assert np.allclose(directions * signs, model.projector.axes, atol=1e-12)
    assert np.allclose(inner * sizes * signs, model.embedding, atol=1e-11)
    assert np.allclose(inner @ inner.T @ CENTERED + POINTS.mean(axis=0), model.reconstruct(model.embedding), atol=1e-11)


def test_dual_pca_recovers_test_rows_from_inner_products_with_the_training_rows() -> None:
    """x̃ = X V Σ⁻² Vᵀ Xᵀ x, with rows as columns in the notes, and the mean of the training rows besides."""
    values, vectors = np.linalg.eigh(CENTERED @ CENTERED.T)
    inner, squares = vectors[:, :-3:-1], values[:-3:-1]
    rows = np.random.default_rng(8).standard_normal((9, 6)) * 3
    products = (rows - POINTS.mean(axis=0)) @ CENTERED.T
    recovered = products @ inner / squares @ inner.T @ CENTERED + POINTS.mean(axis=0)
    model = fit("pca", POINTS, route="dual")
    assert np.allclose(model.reconstruct(model.project(rows)), recovered, atol=1e-11)


def test_roots_of_hamming_distances_of_bits_are_euclidean_and_the_distances_themselves_are_metric() -> None:
    """The number of bits that differ is the squared Euclidean distance: of its root MDS is dual PCA."""
    bits = np.random.default_rng(9).integers(0, 2, (30, 7)).astype(float)
    counts = np.sum(bits[:, None] != bits[None], axis=2)
    scaled, plain = (fit("mds", dissimilarities(np.sqrt(counts))), fit("pca", bits))
    assert np.allclose(distances(scaled.embedding), distances(plain.embedding), atol=1e-7)
    assert fit("mds", dissimilarities(counts.astype(float))).spectrum.eigenvalues.min() < 0


def test_samples_that_fill_a_neighborhood_grow_exponentially_with_the_dimension() -> None:
    """A ball of a tenth of the radius holds 0.1^d of uniform points: with each dimension ten times as many are needed.
    """
    rng = np.random.default_rng(10)
    for dimension in (1, 2, 3):
        lengths = np.linalg.norm(rng.uniform(-1, 1, (300_000, dimension)), axis=1)
        share = np.sum(lengths < 0.1) / np.sum(lengths < 1)
        assert share == pytest.approx(0.1**dimension, rel=0.25)
        assert edge_length(share, dimension) == pytest.approx(0.1, rel=0.1)


def test_power_iteration_comes_nearer_by_the_ratio_of_two_eigenvalues_in_each_step() -> None:
    model = fit("pca", POINTS, components=1, route="power")
    values = np.linalg.eigvalsh(COVARIANCE)[::-1]
    residuals = np.asarray(model.curves["residual"].value)
    falls = np.divide(residuals[9:20], residuals[8:19])
    assert np.allclose(falls, values[1] / values[0], rtol=0.01)


def test_dissimilarities_are_euclidean_if_and_only_if_no_eigenvalue_is_negative() -> None:
    given = distances(POINTS)
    assert fit("mds", dissimilarities(given)).spectrum.values[-1] >= -1e-10
    given[0, 1] = given[1, 0] = 2 * given[0].max()
    assert given[0, 1] > given[0, 2] + given[2, 1]
    model = fit("mds", dissimilarities(given), components="all")
    assert model.spectrum.values[-1] < -1
    assert np.all(distances(model.embedding) >= given - 1e-9)


def test_a_sphere_has_metric_distances_that_are_not_euclidean() -> None:
    points = np.random.default_rng(4).standard_normal((60, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    along = np.arccos(np.clip(points @ points.T, -1, 1)) * (1 - np.eye(60))
    assert np.all(along[:, :, None] <= along[:, None, :] + along.T[None, :, :] + 1e-12)
    assert fit("mds", dissimilarities(along)).spectrum.values[-1] < -0.01


@pytest.mark.parametrize("turned", [False, True])
def test_weights_of_neighbors_see_no_shift_no_turn_and_no_scale(turned: bool) -> None:
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((6, 6)))[0] if turned else np.eye(6)
    lists = nearest(POINTS, 4)
    one = reconstruction_weights(features(POINTS), lists, 0.0)
    other = reconstruction_weights(features(-3 * POINTS @ turn + 7), lists, 0.0)
    assert np.allclose(one, other, atol=1e-9)
    assert np.allclose(np.sum(one.reshape(80, 4), axis=1), 1, atol=1e-12)


def test_locally_linear_embedding_has_the_leading_axes_of_the_largest_eigenvalue_less_its_matrix() -> None:
    model = fit("lle", POINTS, neighbors=9, components=2)
    lists = nearest(POINTS, 9)
    rows = np.eye(80)
    rows[lists.rows, lists.indices] = -reconstruction_weights(features(POINTS), lists, 1e-3)
    cost = rows.T @ rows
    kernel = np.linalg.eigvalsh(cost)[-1] * (np.eye(80) - 1 / 80) - cost
    leading = np.linalg.eigh(kernel)[1][:, :-3:-1]
    assert np.allclose(np.linalg.svd(leading.T @ model.embedding / np.sqrt(80))[1], 1, atol=1e-8)


def test_squared_distances_of_all_pairs_over_2n_are_the_trace_that_unfolding_makes_largest() -> None:
    angles = np.linspace(0, 4, 24)
    curve = np.column_stack([np.cos(angles), np.sin(angles), 0.1 * angles])
    unfolded = fit("sde", curve, neighbors=3, components=2)
    own = fit("mds", curve).spectrum
    assert np.sum(distances(curve) ** 2) / 48 == pytest.approx(np.sum(own.values), rel=1e-12)
    assert np.sum(unfolded.spectrum.values) > 1.5 * np.sum(own.values)
