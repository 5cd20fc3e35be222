"""The accuracy contract: every identity to 10 x size x eps of its scale, on hostile data."""

import numpy as np
import pytest

from mlcli.base.types import Array
from tests.laws.accuracy.families import FAMILIES, SHAPES, make
from tests.support import EPS, dissimilarities, distances, fit, gram

RATIO = 10
cases = pytest.mark.parametrize(("family", "shape"), [(f, s) for f in FAMILIES for s in SHAPES])


def rank(data: Array) -> int:
    centered = data - data.mean(axis=0)
    return int(np.linalg.matrix_rank(centered / np.abs(centered).max()))


def scaled_down(data: Array) -> tuple[Array, float]:
    """Data in a range where the test's own arithmetic is safe, and the factor."""
    factor = 2.0 ** -np.frexp(np.abs(data).max())[1]
    return data * factor, factor


@cases
@pytest.mark.parametrize("route", ["covariance", "dual", "svd"])
def test_pca_invariants(family: str, shape: tuple[int, int], route: str) -> None:
    data, _ = scaled_down(make(family, shape))
    n, d = data.shape
    values = fit("pca", data, components=1, route=route).spectrum.values
    floor = 10 * max(n, d) * EPS
    q = min(rank(data), 3, int((values > (floor**2 if route == "svd" else floor) * values[0]).sum()))
    model = fit("pca", data, components=q, route=route)
    values, scores = model.spectrum.eigenvalues, model.embedding
    directions = model.projector.axes
    size, top, centered = max(n, d), values[0], data - data.mean(axis=0)
    # the data's own rounding when it lies far from the origin: one ulp of its largest entry
    blur = EPS * np.abs(data).max() * np.sqrt(d) * np.sqrt(top)

    def small(error: float, scale: float) -> bool:
        return error <= RATIO * (size * EPS * scale + blur * (scale / top if top else 1))

    assert small(abs(values.sum() - (centered**2).sum() / n), values.sum())
    assert small(np.abs(scores.T @ scores / n - np.diag(values[:q])).max(), top)
    assert np.abs(scores.mean(axis=0)).max() <= RATIO * size * EPS * np.sqrt(top)
    assert np.abs(directions.T @ directions - np.eye(q)).max() <= RATIO * size * EPS
    back = model.reconstruct(scores)
    assert small(abs(((data - back) ** 2).sum() / n - values[q:].sum()), values.sum())
    moved = np.abs(model.project(data) - scores).max()
    assert moved <= RATIO * (size * EPS * np.sqrt(n * top) + EPS * np.abs(data).max() * d)


@cases
def test_pca_routes_agree(family: str, shape: tuple[int, int]) -> None:
    data, _ = scaled_down(make(family, shape))
    size = max(data.shape)
    models = [fit("pca", data, components=1, route=route) for route in ("covariance", "dual", "svd")]
    for model in models[1:]:
        first, other = models[0].spectrum.eigenvalues, model.spectrum.eigenvalues
        count = min(len(first), len(other))
        assert np.abs(first[:count] - other[:count]).max() <= RATIO * size * EPS * first[0]
        gap = first[0] - first[1]
        bound = RATIO * size * EPS * first[0] / gap if gap > 0 else np.inf
        if bound < 1e-3:
            assert np.abs(gram(models[0].spectrum.vectors) - gram(model.spectrum.vectors)).max() <= bound


@cases
def test_mds_keeps_squared_distances(family: str, shape: tuple[int, int]) -> None:
    data, _ = scaled_down(make(family, shape))
    given = distances(data)
    given = (given + given.T) / 2
    n = len(given)
    q = rank(data)
    whole = fit("mds", dissimilarities(given), components=1)
    available = int((whole.spectrum.values > 10 * n * EPS * whole.spectrum.values[0]).sum())
    model = fit("mds", dissimilarities(given), components=min(q, available))
    largest = (given**2).max()
    assert np.abs(distances(model.embedding) ** 2 - given**2).max() <= RATIO * n * EPS * largest
    assert model.spectrum.values[-1] >= -RATIO * n * EPS * model.spectrum.values[0]
    assert abs(model.spectrum.values.sum() - model.spectrum.trace) <= RATIO * n * EPS * model.spectrum.values[0]
    assert abs(model.spectrum.trace - (given**2).sum() / 2 / n) <= RATIO * n * EPS * model.spectrum.trace


@pytest.mark.parametrize("exponent", [-900, -300, -1, 1, 300, 900])
@pytest.mark.parametrize("method", ["pca", "mds", "isomap", "lle"])
def test_scaling_by_a_power_of_two_is_exact(method: str, exponent: int) -> None:
    data = np.random.default_rng(3).standard_normal((40, 4))
    options = {"neighbors": 8} if method in ("isomap", "lle") else {}
    unit, moved = fit(method, data, **options), fit(method, np.ldexp(data, exponent), **options)
    power = 0 if method == "lle" else exponent
    assert np.array_equal(np.ldexp(unit.embedding, power), moved.embedding)
    assert np.array_equal(unit.spectrum.proportions, moved.spectrum.proportions, equal_nan=True)
    assert np.array_equal(np.ldexp(unit.project(data + 0.1), power), moved.project(np.ldexp(data + 0.1, exponent)))


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_scaling_is_exact_for_kernels_too(kernel: str) -> None:
    data = np.random.default_rng(3).standard_normal((40, 4))
    unit = fit("kpca", data, kernel={"name": kernel})
    moved = fit("kpca", np.ldexp(data, 200), kernel={"name": kernel})
    assert np.array_equal(np.ldexp(unit.embedding, 200 if kernel == "linear" else 0), moved.embedding)


def test_a_given_kernel_scales_by_its_root() -> None:
    data = np.random.default_rng(3).standard_normal((30, 4))
    kernel = data @ data.T
    kernel = (kernel + kernel.T) / 2
    from tests.support import similarities

    unit, moved = fit("kpca", similarities(kernel)), fit("kpca", similarities(np.ldexp(kernel, 401)))
    assert np.allclose(moved.embedding, unit.embedding * 2.0**200.5, rtol=1e-12)
