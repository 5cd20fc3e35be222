"""Identities between the methods: one idea seen from several sides."""

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.core.graph.graph import Graph, graph_of
from mlcli.core.graph.search import nearest
from mlcli.core.paths.paths import Paths
from tests.support import EPS, dissimilarities, distances, features, fit, gram, similarities

POINTS = np.random.default_rng(7).standard_normal((80, 6)) * [5, 3, 2, 1, 0.5, 0.1]


def same(left: np.ndarray, right: np.ndarray, factor: float = 1e3) -> None:
    """Equal to rounding, relative to the largest entry."""
    assert np.abs(left - right).max() <= factor * EPS * np.abs(left).max()


def test_mds_of_euclidean_distances_is_pca() -> None:
    pca, mds = fit("pca", POINTS, components=3), fit("mds", dissimilarities(distances(POINTS)), components=3)
    same(pca.embedding, mds.embedding)
    same(pca.spectrum.values[:6], mds.spectrum.values[:6])


def test_mds_of_features_is_mds_of_their_distances() -> None:
    given, computed = fit("mds", dissimilarities(distances(POINTS))), fit("mds", POINTS)
    same(given.embedding, computed.embedding)


@pytest.mark.parametrize("route", ["covariance", "dual", "svd", "power"])
def test_every_route_of_pca_is_the_same_method(route: str) -> None:
    reference, other = fit("pca", POINTS, components=3, route="svd"), fit("pca", POINTS, components=3, route=route)
    factor = 1e7 if route == "power" else 1e3  # power iteration stops at a residual of 1e-11, over a gap of 0.03
    same(reference.embedding, other.embedding, factor)
    same(reference.projector.axes, other.projector.axes, factor)


def test_dual_pca_of_wide_data_is_pca() -> None:
    wide = np.random.default_rng(1).standard_normal((20, 200))
    same(fit("pca", wide, route="covariance").embedding, fit("pca", wide, route="dual").embedding)


def test_kernel_pca_with_the_linear_kernel_is_pca() -> None:
    same(fit("pca", POINTS).embedding, fit("kpca", POINTS, kernel={"name": "linear"}).embedding)


def test_a_polynomial_of_degree_one_is_linear() -> None:
    polynomial = {"name": "polynomial", "degree": 1, "gamma": 1.0, "coef0": 7.0}
    same(fit("kpca", POINTS, kernel=polynomial).embedding, fit("pca", POINTS).embedding)


def test_a_given_kernel_is_used_as_it_is() -> None:
    kernel = POINTS @ POINTS.T
    same(fit("kpca", similarities((kernel + kernel.T) / 2)).embedding, fit("pca", POINTS).embedding)


def test_minus_half_squared_distances_as_a_kernel_is_mds() -> None:
    kernel = -0.5 * distances(POINTS) ** 2
    same(fit("kpca", similarities(kernel)).embedding, fit("mds", POINTS).embedding)


def test_a_gaussian_of_vanishing_rate_tends_to_the_linear_kernel() -> None:
    rate = 1e-7 / (POINTS**2).sum(axis=1).max()
    gaussian = fit("kpca", POINTS, kernel={"name": "gaussian", "rate": rate}).embedding / np.sqrt(2 * rate)
    assert np.allclose(gaussian, fit("pca", POINTS).embedding, atol=1e-5 * np.abs(POINTS).max())


def test_the_gaussian_kernel_does_not_see_rotation_or_shift() -> None:
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((6, 6)))[0]
    kernel = {"name": "gaussian", "rate": 0.1}
    moved = fit("kpca", POINTS @ rotation + 3, kernel=kernel)
    same(fit("kpca", POINTS, kernel=kernel).embedding, moved.embedding, 1e4)


def test_isomap_with_all_neighbors_is_mds() -> None:
    isomap, mds = fit("isomap", POINTS, neighbors=79, components=3), fit("mds", POINTS, components=3)
    same(isomap.embedding, mds.embedding)
    given = fit("isomap", dissimilarities(distances(POINTS)), neighbors=79, components=3)
    same(given.embedding, mds.embedding)


def test_isomap_of_points_is_isomap_of_their_distances() -> None:
    by_points = fit("isomap", POINTS, neighbors=9)
    same(by_points.embedding, fit("isomap", dissimilarities(distances(POINTS)), neighbors=9).embedding)


def test_isomap_unrolls_a_curve_to_its_length() -> None:
    angles = np.linspace(0, 3, 60)
    curve = np.column_stack([np.cos(angles), np.sin(angles)])
    model = fit("isomap", curve, neighbors=2, components=1)
    steps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    along = np.concatenate([[0], np.cumsum(steps)])
    # k = 2 lets the two ends reach one point further; the path graph itself is exact in one dimension
    path = fit("isomap", curve, neighbors={"radius": float(steps.max() * 1.01)}, components=1)
    same(np.abs(path.embedding[:, 0] - path.embedding[0, 0]), along)
    assert np.abs(np.abs(model.embedding[:, 0] - model.embedding[0, 0]) - along).max() < 0.01


def floyd(graph: Graph) -> np.ndarray:
    return Paths(algorithm="floyd").distances(graph, Compute())


def dijkstra(graph: Graph) -> np.ndarray:
    return Paths(algorithm="dijkstra").distances(graph, Compute())


@pytest.mark.parametrize("seed", range(5))
def test_floyd_is_dijkstra(seed: int) -> None:
    generator = np.random.default_rng(seed)
    points = np.repeat(np.round(generator.standard_normal((40, 3)), 1), 2, axis=0)  # duplicates and ties
    graph = graph_of(nearest(points, 4), "union")
    left, right = floyd(graph), dijkstra(graph)
    assert np.array_equal(np.isinf(left), np.isinf(right))
    finite = np.isfinite(left)
    assert np.abs(left[finite] - right[finite]).max() <= 80 * EPS * right[finite].max()


def test_geodesics_are_a_metric_no_shorter_than_the_chord() -> None:
    paths = dijkstra(graph_of(nearest(POINTS, 8), "union"))
    slack = 10 * EPS * paths.max()
    assert np.allclose(paths, paths.T, rtol=1e-14, atol=0)  # sums along a path differ in their last bit both ways
    assert (paths >= distances(POINTS) - slack).all()
    assert (paths[:, :, None] <= paths[:, None, :] + paths.T[None, :, :] + slack).all()
    assert (dijkstra(graph_of(nearest(POINTS, 12), "union")) <= paths + slack).all()


def test_pca_loses_the_sum_of_the_dropped_eigenvalues() -> None:
    for q in range(1, 7):
        model = fit("pca", POINTS, components=q)
        lost = ((model.reconstruct(model.embedding) - POINTS) ** 2).sum() / len(POINTS)
        assert abs(lost - model.spectrum.eigenvalues[q:].sum()) <= 100 * EPS * model.spectrum.eigenvalues.sum()


def test_no_other_projection_loses_less_than_pca() -> None:
    model = fit("pca", POINTS)
    least = model.spectrum.eigenvalues[2:].sum()
    centered = POINTS - POINTS.mean(axis=0)
    generator = np.random.default_rng(0)
    for _ in range(100):
        basis = np.linalg.qr(generator.standard_normal((6, 2)))[0]
        lost = ((centered - centered @ basis @ basis.T) ** 2).sum() / len(POINTS)
        assert lost >= least * (1 - 1e-12)


def test_strain_is_the_sum_of_squares_of_the_dropped_eigenvalues() -> None:
    model = fit("mds", POINTS)
    centered = POINTS - POINTS.mean(axis=0)
    strain = ((centered @ centered.T - gram(model.embedding)) ** 2).sum()
    assert abs(strain - (model.spectrum.values[2:] ** 2).sum()) <= 1e3 * EPS * (model.spectrum.values**2).sum()


def test_the_divisor_changes_eigenvalues_and_nothing_else() -> None:
    by_n, by_less = fit("pca", POINTS), fit("pca", POINTS, divisor="n-1")
    assert np.array_equal(by_n.embedding, by_less.embedding)
    same(by_n.spectrum.eigenvalues * 80 / 79, by_less.spectrum.eigenvalues)


def test_proportions_do_not_depend_on_how_many_axes_are_asked() -> None:
    assert np.array_equal(fit("mds", POINTS, components=1).spectrum.proportions,
                          fit("mds", POINTS, components=5).spectrum.proportions)


@pytest.mark.parametrize("rule", ["lingoes", "cailliez"])
def test_a_correction_makes_dissimilarities_euclidean(rule: str) -> None:
    star = 2 - 2 * np.eye(6)  # the star's leaves, two apart, around a center one away from each but too far to fit
    star[0, 1:] = star[1:, 0] = 1.0
    assert fit("mds", dissimilarities(star)).spectrum.values[-1] < -0.01
    model = fit("mds", dissimilarities(star), correction=rule, components=2)
    assert model.spectrum.values[-1] >= -100 * EPS * model.spectrum.values[0]


def test_lingoes_shifts_every_other_eigenvalue_by_its_constant() -> None:
    generator = np.random.default_rng(5)
    upper = np.triu(generator.random((12, 12)) + 0.5, 1)
    plain = fit("mds", dissimilarities(upper + upper.T)).spectrum.values
    shifted = fit("mds", dissimilarities(upper + upper.T), correction="lingoes").spectrum.values
    zero = np.abs(plain).argmin()
    expected = np.sort(np.append(np.delete(plain, zero) - plain[-1], 0.0))[::-1]
    same(expected, shifted)


@pytest.mark.parametrize(("method", "options"), [
    ("pca", {}), ("mds", {}), ("kpca", {}), ("kpca", {"kernel": {"name": "polynomial", "degree": 2}}),
    ("isomap", {"neighbors": 9}), ("lle", {"neighbors": 9})])
def test_projecting_the_training_points_returns_the_embedding(method: str, options: dict) -> None:
    model = fit(method, POINTS, components=3, **options)
    same(model.embedding, model.project(POINTS), 1e4)


@pytest.mark.parametrize("correction", ["none", "lingoes", "cailliez"])
def test_projecting_the_training_dissimilarities_returns_the_embedding(correction: str) -> None:
    generator = np.random.default_rng(5)
    upper = np.triu(generator.random((12, 12)) + 0.5, 1)
    given = upper + upper.T
    model = fit("mds", dissimilarities(given), correction=correction)
    same(model.embedding, model.project(given), 1e5)


def test_gower_places_a_new_point_where_it_is() -> None:
    plane = np.random.default_rng(0).standard_normal((30, 2))
    model = fit("mds", plane)
    new = np.random.default_rng(1).standard_normal((5, 2))
    moved = np.vstack([model.embedding, model.project(new)])
    same(distances(np.vstack([plane, new])), distances(moved), 1e5)


@pytest.mark.parametrize(("method", "options"), [("pca", {}), ("mds", {}), ("kpca", {"kernel": {"name": "linear"}})])
def test_reconstruction_inverts_projection_when_all_axes_are_kept(method: str, options: dict) -> None:
    model = fit(method, POINTS, components=6, **options)
    new = np.random.default_rng(1).standard_normal((5, 6))
    same(new, model.reconstruct(model.project(new)), 1e6)


def test_isomap_joins_new_points_through_their_neighbors() -> None:
    model = fit("isomap", POINTS, neighbors=9)
    new = POINTS[:5] + 1e-9
    assert np.abs(model.project(new) - model.embedding[:5]).max() < 1e-6


def test_a_flat_grid_keeps_every_distance() -> None:
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
    same(distances(grid), distances(fit("mds", features(grid)).embedding))


@pytest.mark.parametrize("method", ["mds", "isomap"])
def test_all_points_as_landmarks_are_the_full_method(method: str) -> None:
    options = {"neighbors": 9} if method == "isomap" else {}
    whole, by_landmarks = fit(method, POINTS, **options), fit(method, POINTS, landmarks=80, **options)
    same(whole.embedding, by_landmarks.embedding, 1e4)
    given = dissimilarities(distances(POINTS))
    same(whole.embedding, fit(method, given, landmarks=80, **options).embedding, 1e5)


def test_landmarks_place_the_points_of_a_plane_where_they_are() -> None:
    plane = np.random.default_rng(0).standard_normal((200, 2))
    model = fit("mds", plane, landmarks=20)
    same(distances(plane), distances(model.embedding), 1e5)
    same(model.embedding, model.project(plane), 1e5)
    given = fit("mds", dissimilarities(distances(plane)), landmarks=20)
    same(given.embedding, given.project(distances(plane)), 1e5)


def test_landmarks_of_isomap_project_the_training_points_onto_themselves() -> None:
    model = fit("isomap", POINTS, neighbors=9, landmarks=30)
    same(model.embedding, model.project(POINTS), 1e5)
