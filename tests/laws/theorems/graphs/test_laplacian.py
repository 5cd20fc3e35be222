"""Facts about Laplacian eigenmaps: the eigenvalue equation, known spectra, other tools, and new points."""

import numpy as np
import pytest
import scipy.linalg

from mlcli.base.types import Array
from mlcli.errors import ConfigError, GeometryError, NumericalError
from tests.support import Notes, dissimilarities, distances, fit

POINTS = np.random.default_rng(17).standard_normal((120, 3))
GRID = np.array([(i, j) for i in range(7) for j in range(7)], dtype=np.float64)
WEIGHTS = [{"name": "binary"}, {"name": "heat"}, {"name": "heat", "rate": 0.5}, {"name": "adaptive", "nearest": 5}]


def affinities(points: Array, count: int, weights: dict) -> Array:
    """The dense matrix W, by its definition."""
    apart = distances(points)
    np.fill_diagonal(apart, np.inf)
    near = apart <= np.sort(apart, axis=1)[:, count - 1 : count]
    joined = near | near.T
    np.fill_diagonal(apart, 0.0)
    if weights["name"] == "binary":
        return joined.astype(float)
    if weights["name"] == "adaptive":
        scales = np.sort(apart, axis=1)[:, weights["nearest"] - 1]  # the point itself comes first
        return np.where(joined, np.exp(-apart**2 / np.outer(scales, scales)), 0.0)
    edges = apart[joined]
    rate = weights.get("rate", 1 / np.median(edges**2))
    return np.where(joined, np.exp(-rate * apart**2), 0.0)


def costs(matrix: Array, normalized: bool) -> tuple[Array, Array]:
    """All λ and y of L y = λ D y, or of L y = λ y, by LAPACK's generalized solver."""
    degrees = np.diag(matrix.sum(axis=1))
    return scipy.linalg.eigh(degrees - matrix, degrees if normalized else None)


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("normalized", [True, False])
def test_costs_are_those_of_the_dense_formula(weights: dict, normalized: bool) -> None:
    expected, _ = costs(affinities(POINTS, 8, weights), normalized)
    model = fit("laplacian", POINTS, neighbors=8, weights=weights, normalized=normalized, components=3)
    kernel = model.spectrum.values
    assert model.spectrum.complete and len(kernel) == 120 and kernel[-1] == 0
    assert np.abs(kernel[:-1] - 1 / expected[1:]).max() <= 1e-10 * kernel[0]
    assert np.abs(model.spectrum.costs[:-1] - expected[1:]).max() <= 1e-10 * expected[-1]


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_coordinates_solve_the_equation(solver: str, normalized: bool) -> None:
    matrix = affinities(POINTS, 8, {"name": "heat"})
    model = fit("laplacian", POINTS, neighbors=8, weights={"name": "heat"}, normalized=normalized,
                eigensolve={"solver": solver, "components": 3})
    degrees = matrix.sum(axis=1)
    masses = degrees if normalized else np.ones(120)
    y, found = model.embedding, model.spectrum.costs[:3]
    residual = degrees[:, None] * y - matrix @ y - masses[:, None] * y * found
    assert np.abs(residual).max() <= 1e-8 * degrees.max()
    assert np.abs(y.T @ (masses[:, None] * y) / masses.sum() - np.eye(3)).max() <= 1e-8
    assert np.abs(masses @ y).max() <= 1e-8 * masses.sum()


def test_a_ring_has_cosines_and_their_costs() -> None:
    """On a cycle of n vertices λ = 1 - cos(2πk/n), twice each (normalized), and coordinates lie on a circle."""
    size = 60
    angle = 2 * np.pi * np.arange(size) / size
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    with Notes() as notes:
        model = fit("laplacian", ring, neighbors=2)
    expected = np.sort(np.repeat(1 - np.cos(2 * np.pi * np.arange(1, 30) / size), 2))
    assert np.abs(model.spectrum.costs[:58] - expected).max() <= 1e-12
    assert np.abs(np.hypot(*model.embedding.T) - np.sqrt(2)).max() <= 1e-10
    assert "W-UNDETERMINED" in notes.codes


def test_binary_weights_see_no_scale_and_heat_weights_keep_their_unit() -> None:
    plain = fit("laplacian", POINTS, neighbors=8).embedding
    assert np.array_equal(plain, fit("laplacian", POINTS * 2.0**40, neighbors=8).embedding)
    heat = fit("laplacian", POINTS, neighbors=8, weights={"name": "heat", "rate": 0.5}).embedding
    wide = fit("laplacian", POINTS * 8, neighbors=8, weights={"name": "heat", "rate": 0.5 / 64}).embedding
    assert np.array_equal(heat, wide)


def test_distances_give_what_points_give() -> None:
    points = fit("laplacian", POINTS, neighbors=8, weights={"name": "heat"})
    given = fit("laplacian", dissimilarities(distances(POINTS)), neighbors=8, weights={"name": "heat"})
    assert np.abs(points.embedding - given.embedding).max() <= 1e-9
    assert np.abs(points.project(POINTS[:5] + 0.01) - given.project(distances(np.vstack([POINTS[:5] + 0.01, POINTS]))[
        :5, 5:])).max() <= 1e-7


@pytest.mark.parametrize("normalized", [True, False])
def test_new_points_follow_nystrom_and_training_points_stay(normalized: bool) -> None:
    model = fit("laplacian", POINTS, neighbors=8, weights={"name": "heat"}, normalized=normalized)
    assert np.abs(model.project(POINTS) - model.embedding).max() <= 1e-8
    new = POINTS[:4] + 0.05
    rate = model.projector.similarity.affinity.rate * 4.0 ** -model.projector.exponent_in
    apart = distances(np.vstack([new, POINTS]))[:4, 4:]
    near = apart <= np.sort(apart, axis=1)[:, 7:8]
    shares = np.where(near, np.exp(-rate * apart**2), 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    over = 1 - model.spectrum.costs[:2] if normalized else 1.0
    assert np.abs(model.project(new) - shares @ model.embedding / over).max() <= 1e-8


@pytest.mark.parametrize("normalized", [True, False])
def test_new_points_have_scales_of_their_own(normalized: bool) -> None:
    """The distance to the training point of the same rank; a training point is itself that of rank 1."""
    model = fit("laplacian", POINTS, neighbors=8, weights={"name": "adaptive", "nearest": 5}, normalized=normalized)
    assert np.abs(model.project(POINTS) - model.embedding).max() <= 1e-8
    new = POINTS[:4] + 0.05
    scales = np.sort(distances(POINTS), axis=1)[:, 4]
    apart = distances(np.vstack([new, POINTS]))[:4, 4:]
    ranked = np.sort(apart, axis=1)
    shares = np.where(apart <= ranked[:, 7:8], np.exp(-apart**2 / (ranked[:, 4:5] * scales)), 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    over = 1 - model.spectrum.costs[:2] if normalized else 1.0
    assert np.abs(model.project(new) - shares @ model.embedding / over).max() <= 1e-8


def test_adaptive_weights_see_no_scale_and_a_rank_beyond_the_neighbors_is_refused_or_clipped() -> None:
    adaptive = {"name": "adaptive"}
    near, far = (fit("laplacian", POINTS * size, neighbors=8, weights=adaptive).embedding for size in (1, 2.0**40))
    assert np.array_equal(near, far)
    with Notes() as notes:
        clipped = fit("laplacian", POINTS, neighbors=5, weights=adaptive)
    assert "N-NEAREST" in notes.codes
    asked = {**adaptive, "nearest": 6}
    assert np.array_equal(clipped.embedding, fit("laplacian", POINTS, neighbors=5, weights=asked).embedding)
    with pytest.raises(ConfigError) as caught:
        fit("laplacian", POINTS, neighbors=5, weights={**adaptive, "nearest": 7})
    assert caught.value.code == "E-NEAREST" and "at most 6" in caught.value.hint


@pytest.mark.parametrize("normalized", [True, False])
def test_weights_that_vanish_are_an_error(normalized: bool) -> None:
    """Those of some points beside others, and those of all where squares of costs underflow."""
    apart = np.vstack([POINTS, POINTS + 50])
    for points, rate in ((apart, 1e5), (GRID, 400.0)):
        with pytest.raises(GeometryError) as caught:
            fit("laplacian", points, neighbors={"count": 4, "pieces": "connect"}, normalized=normalized,
                weights={"name": "heat", "rate": rate})
        assert caught.value.code == "E-NO-WEIGHT" and caught.value.where == "method.weights.rate"


@pytest.mark.parametrize("solver", ["dense", "krylov", "filter"])
@pytest.mark.parametrize("rate", [60.0, 350.0])
def test_costs_have_the_size_of_the_weights_however_small(solver: str, rate: float) -> None:
    """Only sides of a grid count beside the diagonals of its corners: 4 sin²(πk/14) for each side of 7 points."""
    model = fit("laplacian", GRID, neighbors=4, normalized=False, components=3, eigensolve={"solver": solver},
                weights={"name": "heat", "rate": rate})
    sides = np.abs(GRID[:, None] - GRID).sum(axis=2) == 1
    matrix = np.diag(sides.sum(axis=1)) - sides
    one = 4 * np.sin(np.pi / 14) ** 2
    costs = np.exp(rate) / model.spectrum.values[:3]
    assert costs == pytest.approx([one, one, 2 * one], rel=1e-9)
    assert np.abs(matrix @ model.embedding - model.embedding * costs).max() <= 1e-7


def test_a_rate_that_the_data_takes_out_of_range_is_refused() -> None:
    """As a gaussian kernel's is: at zero all weights are equal, at infinity none is a number."""
    with pytest.raises(NumericalError) as caught:
        fit("laplacian", POINTS * 1e200, neighbors=8, weights={"name": "heat", "rate": 1e10})
    assert caught.value.code == "E-KERNEL-RANGE" and caught.value.where == "method.weights.rate"
