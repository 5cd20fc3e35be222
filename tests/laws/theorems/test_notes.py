"""Statements of the lecture notes that stand in no other file of theorems (docs/notes.md)."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.inputs import Labeled
from mlcli.checkup.graph import edge_length
from mlcli.core.graph.search import nearest
from mlcli.core.graph.weights import reconstruction_weights
from mlcli.data.samples import sample
from mlcli.errors import GeometryError
from mlcli.findings.quality.measure import quality
from tests.support import dissimilarities, distances, features, fit

POINTS = np.random.default_rng(7).standard_normal((80, 6)) * [5, 3, 2, 1, 0.5, 0.1]
CENTERED = POINTS - POINTS.mean(axis=0)
COVARIANCE = CENTERED.T @ CENTERED / len(POINTS)


def directions(count: int) -> Array:
    """Random directions in the space of the points, each of length one (count x 6)."""
    drawn = np.random.default_rng(3).standard_normal((count, 6))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def roll(rows: int, **options: float) -> tuple[Array, Array]:
    """A rolled-up sheet (rows x 3) and where its points lie on the sheet: along the spiral, and across (rows x 2)."""
    table = sample("swiss-roll", rows, seed=1, truth=True, **options)
    angles, heights = (np.asarray(column, dtype=float) for column in table.labels.values())
    along = (angles * np.hypot(1, angles) + np.arcsinh(angles)) / 2
    return np.asarray(table.values), np.column_stack([along, heights])


def unexplained(truth: Array, axes: Array) -> Array:
    """The share of the variance of each column of the truth that no affine map of the axes explains."""
    design = np.column_stack([np.ones(len(axes)), axes])
    return np.var(truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0], axis=0) / np.var(truth, axis=0)


def test_the_new_origin_is_the_mean() -> None:
    model = fit("pca", POINTS + 5)
    assert np.allclose(model.embedding.mean(axis=0), 0, atol=1e-13)
    assert np.allclose(model.project(POINTS.mean(axis=0, keepdims=True) + 5), 0, atol=1e-13)


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
    variances = np.var(CENTERED @ directions(200).T, axis=0)
    assert np.allclose(variances, np.einsum("ij,jk,ik->i", directions(200), COVARIANCE, directions(200)), rtol=1e-12)
    assert variances.max() <= fit("pca", POINTS).spectrum.eigenvalues[0] * (1 + 1e-12)


def test_no_direction_at_right_angles_to_the_first_axis_has_more_variance_than_the_second() -> None:
    model = fit("pca", POINTS)
    first, second = model.projector.axes.T
    assert abs(first @ second) < 1e-13
    right = directions(200) - np.outer(directions(200) @ first, first)
    variances = np.var(CENTERED @ right.T, axis=0) / np.sum(right**2, axis=1)
    assert variances.max() <= model.spectrum.eigenvalues[1] * (1 + 1e-12)
    assert np.var(CENTERED @ second) == pytest.approx(model.spectrum.eigenvalues[1], rel=1e-12)


def test_the_variance_along_a_line_is_the_sum_of_eigenvalues_by_squared_cosines() -> None:
    model = fit("pca", POINTS, components=6)
    cosines, values = directions(50) @ model.projector.axes, model.spectrum.eigenvalues
    assert np.allclose(np.var(POINTS @ directions(50).T, axis=0), cosines**2 @ values, rtol=1e-12)
    assert np.allclose(model.projector.axes * values @ model.projector.axes.T, COVARIANCE, atol=1e-12)


def test_variance_along_a_line_and_mean_squared_distance_from_it_add_up() -> None:
    """So the line of most variance is the line of least noise."""
    along = CENTERED @ directions(50).T
    away = [np.mean(np.sum((CENTERED - np.outer(one, line)) ** 2, axis=1))
            for one, line in zip(along.T, directions(50), strict=True)]
    total = np.sum(fit("pca", POINTS).spectrum.eigenvalues)
    assert np.allclose(np.var(along, axis=0) + away, total, rtol=1e-12)


def test_no_other_orthonormal_directions_spread_pairs_further_than_principal_axes() -> None:
    """The sum of squared differences of all pairs is twice n times the sum of squares of the scores."""
    spread = np.sum(distances(fit("pca", POINTS).embedding) ** 2)
    generator = np.random.default_rng(5)
    for _ in range(50):
        basis = np.linalg.qr(generator.standard_normal((6, 2)))[0]
        assert np.sum(distances(POINTS @ basis) ** 2) <= spread * (1 + 1e-12)


def test_an_axis_without_variance_is_dropped_at_no_cost() -> None:
    flat = np.column_stack([POINTS, POINTS[:, 0] - POINTS[:, 1]])
    model = fit("pca", flat, components=6)
    assert model.spectrum.eigenvalues[6] < 1e-14 * model.spectrum.trace
    assert np.allclose(model.reconstruct(model.embedding), flat, atol=1e-12)


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


def test_no_direction_separates_classes_better_than_the_first_discriminant() -> None:
    """By the ratio of the variance between classes to that within them, which the eigenvalue states."""
    classes = np.digitize(POINTS[:, 1] + POINTS[:, 5], [-2, 2])
    data = Labeled(POINTS, features(POINTS).ids, features(POINTS).columns, labels=[f"class {name}" for name in classes])
    means = np.array([POINTS[classes == name].mean(axis=0) for name in range(3)])[classes]
    ratios = [np.var(means @ line) / np.var((POINTS - means) @ line) for line in directions(300)]
    model = fit("lda", data, components=1)
    scores = model.embedding[:, 0]
    centers = np.array([scores[classes == name].mean() for name in range(3)])[classes]
    assert np.var(centers) / np.var(scores - centers) >= max(ratios)
    assert model.spectrum.values[0] == pytest.approx(np.var(centers) / np.var(scores - centers) * 77 / 2, rel=1e-9)


def test_kernel_pca_with_a_polynomial_is_pca_of_its_monomials() -> None:
    """K = Φ(X) Φ(X)ᵀ, with Φ = (1, √2 x, √2 y, x², √2 xy, y²) for (1 + xᵀy)²."""
    x, y = POINTS[:, :2].T
    monomials = np.column_stack([np.ones(80), 2**0.5 * x, 2**0.5 * y, x**2, 2**0.5 * x * y, y**2])
    plain = fit("pca", monomials, components=5)
    model = fit("kpca", POINTS[:, :2], kernel={"name": "polynomial", "degree": 2, "gamma": 1, "coef0": 1}, components=5)
    assert np.allclose(model.embedding, plain.embedding, atol=1e-9)


def test_circles_that_no_line_parts_are_parted_by_a_line_in_the_space_of_a_kernel() -> None:
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    circles, outer = np.vstack([circle, 3 * circle]), np.repeat([-1.0, 1.0], 40)
    lifted = fit("kpca", circles, kernel={"name": "polynomial", "degree": 2, "gamma": 1, "coef0": 1}, components=5)
    assert unexplained(outer[:, None], lifted.embedding)[0] < 1e-12
    assert unexplained(outer[:, None], fit("pca", circles).embedding)[0] > 1 - 1e-12


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


@pytest.mark.medium
def test_isomap_unrolls_a_rolled_up_sheet() -> None:
    points, sheet = roll(800)
    assert unexplained(sheet, fit("isomap", points, neighbors=8).embedding).max() < 0.05
    assert unexplained(sheet, fit("pca", points).embedding).min() > 0.5


def test_too_few_neighbors_leave_pieces_and_too_many_a_short_circuit() -> None:
    points, sheet = roll(400)
    with pytest.raises(GeometryError) as caught:
        fit("isomap", points, neighbors=2)
    assert caught.value.code == "E-PIECES"
    assert unexplained(sheet, fit("isomap", points, neighbors=60).embedding).min() > 0.5


def test_the_kernel_of_paths_has_negative_eigenvalues_and_the_positive_ones_alone_give_axes() -> None:
    model = fit("isomap", roll(120)[0], neighbors=8, components="all")
    values = model.spectrum.values
    assert values[-1] < -0.001 * values[0]
    assert model.embedding.shape[1] == np.sum(values > 1e-12 * values[0]) < 119
    assert np.allclose(np.sum(model.embedding**2, axis=0), values[: model.embedding.shape[1]], rtol=1e-9)


@pytest.mark.medium
def test_noise_uneven_samples_and_too_large_neighborhoods_make_locally_linear_embedding_fail() -> None:
    points, sheet = roll(800)
    noisy, _ = roll(800, noise=0.6)
    sparse = (sheet[:, 0] < np.median(sheet[:, 0])) | (np.arange(800) % 8 == 0)
    cases = [(points, sheet, 12), (noisy, sheet, 12), (points[sparse], sheet[sparse], 12), (points, sheet, 60)]
    right, *others = (quality(features(truth), fit("lle", rows, neighbors=count).embedding,
                              generator=np.random.default_rng(0)).figures["trustworthiness"]
                      for rows, truth, count in cases)
    assert right > 0.95 and max(others) < 0.91


@pytest.mark.medium
def test_locally_linear_embedding_flattens_a_curved_surface_and_keeps_its_neighborhoods() -> None:
    sphere = np.asarray(sample("punctured-sphere", 500, seed=1).values)
    found = quality(features(sphere), fit("lle", sphere, neighbors=8).embedding, generator=np.random.default_rng(0))
    assert found.figures["continuity"] > 0.95 and found.figures["trustworthiness"] > 0.8


@pytest.mark.medium
def test_a_back_constraint_maps_rows_to_their_places_and_costs_likelihood() -> None:
    rows = POINTS[:30, :4]
    free, mapped = (fit("gplvm", rows, components=2, constraint=constraint) for constraint in (
        {"name": "none"}, {"name": "kernel"}))
    assert np.allclose(mapped.project(rows), mapped.embedding, atol=1e-9)
    nudged = mapped.project(rows + 1e-6)
    assert np.abs(nudged - mapped.embedding).max() < 1e-4
    assert free.trace[-1] > mapped.trace[-1]


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
