"""Chains: identities between methods, and kernels and coordinates against dense formulas."""

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from mlcli.base.types import Array
from mlcli.core.kernels import streamed
from tests.support import Notes, dissimilarities, distances, features, fit, gram

POINTS = np.random.default_rng(5).standard_normal((50, 4)) * [3, 2, 1, 0.5]
ALL = {"neighbors": {"count": 49}}


def top(kernel: Array, count: int = 2) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(kernel)
    return values[::-1], vectors[:, ::-1][:, :count]


def centered(kernel: Array) -> Array:
    middle = np.eye(len(kernel)) - 1 / len(kernel)
    return middle @ kernel @ middle


def test_geodesics_of_a_complete_graph_are_distances() -> None:
    chain = fit("chain", POINTS, graph=ALL, paths={"algorithm": "floyd"})
    assert np.allclose(chain.embedding, fit("mds", POINTS).embedding, atol=1e-10)
    assert np.allclose(chain.embedding, fit("chain", POINTS).embedding, atol=1e-10)


@pytest.mark.parametrize(("name", "power"), [("gaussian", 2), ("laplacian", 1)])
@pytest.mark.parametrize("double", [True, False])
def test_a_kernel_of_geodesics_is_the_dense_formula(name: str, power: int, double: bool) -> None:
    kernel = {"name": name, "rate": 0.1}
    model = fit("chain", POINTS, graph={"neighbors": {"count": 8}}, paths={}, kernel=kernel,
                centering="double" if double else "none")
    apart = distances(POINTS)
    near = np.argsort(apart, axis=1)[:, 1:9]
    joined = np.zeros_like(apart)
    np.put_along_axis(joined, near, np.take_along_axis(apart, near, axis=1), axis=1)
    dense = np.exp(-0.1 * dijkstra(np.maximum(joined, joined.T), directed=False) ** power)
    values, vectors = top(centered(dense) if double else dense)
    assert np.allclose(model.spectrum.values, values, atol=1e-10)
    assert np.allclose(gram(model.embedding), vectors * values[:2] @ vectors.T, atol=1e-9)
    assert np.allclose(model.project(POINTS[:6]), model.embedding[:6], atol=1e-9)


def test_kernels_of_points_and_of_their_distances_are_one() -> None:
    given = dissimilarities(distances(POINTS))
    for name in ("gaussian", "laplacian"):
        one, other = (fit("chain", data, kernel={"name": name}) for data in (features(POINTS), given))
        assert np.allclose(one.embedding, other.embedding, atol=1e-9)


@pytest.mark.parametrize(("kernel", "rate"), [("laplacian", 1 / 51.5), ("gaussian", 2 / (3**2 + 100**2))])
def test_a_default_rate_is_one_over_the_median(kernel: str, rate: float) -> None:
    """Of the distances 1, 2, 3, 100, 102 and 103, the two in the middle are 3 and 100."""
    line = np.array([[0.0, 0], [1, 0], [3, 0], [103, 0]])
    for data in (features(line), dissimilarities(distances(line))):
        default, chosen = (fit("chain", data, kernel={"name": kernel, **more}) for more in ({}, {"rate": rate}))
        np.testing.assert_allclose(default.ranks.values, chosen.ranks.values, rtol=1e-13)


@pytest.mark.parametrize("size", [1e307, 1e-307])
def test_points_at_the_ends_of_the_range_are_projected_under_metrics_without_a_unit(size: float) -> None:
    points = size * np.random.default_rng(8).uniform(1, 9, (12, 3))
    for metric in ("gower", "aitchison"):
        model = fit("mds", points, metric=metric)
        assert np.allclose(model.project(points), model.embedding, atol=1e-9)


@pytest.mark.parametrize(("kernel", "formula"), [
    ({"name": "polynomial", "degree": 2, "gamma": 0.1, "coef0": 1.0}, lambda x: (0.1 * x @ x.T + 1) ** 2),
    ({"name": "sigmoid", "gamma": 0.05, "coef0": 0.2}, lambda x: np.tanh(0.05 * x @ x.T + 0.2)),
    ({"name": "cosine"}, lambda x: (x @ x.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(x, axis=1))),
    ({"name": "gaussian", "rate": 0.2}, lambda x: np.exp(-0.2 * distances(x) ** 2)),
    ({"name": "laplacian", "rate": 0.2}, lambda x: np.exp(-0.2 * distances(x)))])
@pytest.mark.parametrize("double", [True, False])
def test_literal_kernels_are_their_formulas(kernel: dict, formula, double: bool) -> None:
    model = fit("chain", POINTS, kernel=kernel, centering="double" if double else "none")
    values, vectors = top(centered(formula(POINTS)) if double else formula(POINTS))
    assert np.allclose(model.spectrum.values, values, atol=1e-9 * abs(values[0]))
    assert np.allclose(gram(model.embedding), vectors * values[:2] @ vectors.T, atol=1e-9 * values[0])
    assert np.allclose(model.project(POINTS), model.embedding, atol=1e-8)


@pytest.mark.parametrize("route", ["auto", "covariance", "dual", "svd", "power"])
def test_linear_without_centering_is_the_svd_of_the_data(route: str) -> None:
    shifted = POINTS + 3
    model = fit("chain", shifted, kernel={"name": "linear", "route": route}, centering="none", components=2)
    left, roots, right = np.linalg.svd(shifted, full_matrices=False)
    assert np.allclose(model.spectrum.values[:2], roots[:2] ** 2, rtol=1e-9)
    assert np.allclose(gram(model.embedding), left[:, :2] * roots[:2] ** 2 @ left[:, :2].T, atol=1e-7)
    truncated = left[:, :2] * roots[:2] @ right[:2]
    assert np.allclose(model.reconstruct(model.embedding), truncated, atol=1e-7)


@pytest.mark.parametrize("options", [
    {}, {"kernel": {"name": "gaussian"}}, {"kernel": {"name": "linear"}, "centering": "columns"},
    {"kernel": {"name": "linear"}}, {"kernel": {"name": "linear"}, "centering": "none"},
    {"graph": {"neighbors": {"count": 8}}, "kernel": {"name": "reconstruction"}},
    {"graph": {"neighbors": {"count": 8}}, "kernel": {"name": "graph_laplacian", "normalized": False}},
    {"graph": {"neighbors": {"count": 5}}, "kernel": {"name": "unfolding"}}])
def test_scales_differ_by_the_lengths_of_axes(options: dict) -> None:
    roots, unit, variance = (fit("chain", POINTS, **options, coordinates={"scale": scale})
                             for scale in ("roots", "unit", "variance"))
    assert np.allclose(unit.embedding.T @ unit.embedding, np.eye(2), atol=1e-6)
    assert np.allclose(variance.embedding, np.sqrt(len(POINTS)) * unit.embedding)
    assert np.allclose(roots.embedding, unit.embedding * np.sqrt(roots.spectrum.values[:2]))
    new = POINTS[:4] + 0.1
    assert np.allclose(roots.project(new), unit.project(new) * np.sqrt(roots.spectrum.values[:2]))
    if roots.projector.decoder is not None:
        assert np.allclose(roots.reconstruct(roots.embedding), variance.reconstruct(variance.embedding))


@pytest.mark.parametrize("kernel", [{"name": "sigmoid", "gamma": 0.05}, {"name": "cosine"}, {"name": "gaussian"}])
@pytest.mark.parametrize("centering", ["double", "none"])
def test_a_kernel_that_is_never_stored_is_the_same(kernel: dict, centering: str,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(3).standard_normal((700, 4)) * [3, 2, 1, 0.5]
    options = {"kernel": kernel, "centering": centering, "eigensolve": {"tolerance": 1e-11, "solver": "krylov"}}
    whole = fit("chain", points, **options)
    monkeypatch.setattr(streamed, "STORED", 1)
    with Notes() as notes:
        passed = fit("chain", points, **options)
    assert "F-STREAMED" in notes.codes
    assert np.allclose(whole.spectrum.values[:2], passed.spectrum.values[:2], rtol=1e-9)
    assert passed.spectrum.trace == pytest.approx(whole.spectrum.trace, rel=1e-9)
    assert passed.spectrum.frobenius == pytest.approx(whole.spectrum.frobenius, rel=1e-9)
    assert np.allclose(whole.embedding, passed.embedding, atol=1e-6)
    assert np.allclose(whole.project(points[:5]), passed.project(points[:5]), atol=1e-6)


def test_divisors_divide_what_is_written() -> None:
    plain, over = (fit("chain", POINTS, coordinates={"divisor": divisor}) for divisor in ("none", "n-1"))
    assert np.allclose(plain.spectrum.eigenvalues, 49 * over.spectrum.eigenvalues)
    assert np.array_equal(plain.embedding, over.embedding)
