"""Facts about diffusion maps: the walk by its definition, diffusion distances, densities, and new points."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.errors import ConfigError, GeometryError
from mlcli.methods import METHODS
from mlcli.methods.laplacian.check import WHOLE
from tests.support import Notes, checks_of, dissimilarities, distances, features, fit
from tests.wording import Wording

POINTS = np.random.default_rng(23).standard_normal((90, 3))
WIDTHS = [{"name": "fixed"}, {"name": "fixed", "epsilon": 2.0}, {"name": "adaptive"},
          {"name": "adaptive", "nearest": 4}]


def affinities(points: Array, bandwidth: dict) -> Array:
    """exp(-d² / (σ σ)) of all pairs, by its definition."""
    apart = distances(points)
    if bandwidth["name"] == "adaptive":
        widths = np.sort(apart, axis=1)[:, bandwidth.get("nearest", 8) - 1]
        return np.exp(-apart**2 / np.outer(widths, widths))
    squares = apart[np.triu_indices(len(points), 1)] ** 2
    return np.exp(-apart**2 / bandwidth.get("epsilon", np.median(squares)))


def walk(points: Array, bandwidth: dict, alpha: float) -> tuple[Array, Array]:
    """The affinities without their density (n x n), and their sums (n)."""
    weights = affinities(points, bandwidth)
    density = weights.sum(axis=1) ** alpha
    weights = weights / np.outer(density, density)
    return weights, weights.sum(axis=1)


@pytest.mark.parametrize("bandwidth", WIDTHS, ids=str)
@pytest.mark.parametrize(("alpha", "time"), [(0.0, 0.0), (1.0, 1.0), (0.5, 2.5)])
def test_coordinates_are_those_of_the_random_walk_laplacian_times_powers(bandwidth: dict, alpha: float,
                                                                         time: float) -> None:
    weights, sums = walk(POINTS, bandwidth, alpha)
    costs, vectors = scipy.linalg.eigh(np.diag(sums) - weights, np.diag(sums))  # L y = μ D y with μ = 1 - λ
    functions = vectors[:, 1:5] / np.sqrt((sums / sums.sum()) @ vectors[:, 1:5] ** 2)
    expected = functions * (1 - costs[1:5]) ** time
    model = fit("diffusion", POINTS, bandwidth=bandwidth, alpha=alpha, time=time, components=4)
    expected *= np.sign((expected * model.embedding).sum(axis=0))
    assert np.abs(model.embedding - expected).max() <= 1e-9 * np.abs(expected).max()
    assert np.abs(np.sort(model.spectrum.values)[::-1][:4] - (1 - costs[1:5])).max() <= 1e-12


@pytest.mark.parametrize("time", [1.0, 3.0])
def test_distances_of_all_coordinates_are_diffusion_distances(time: float) -> None:
    weights, sums = walk(POINTS[:40], {"name": "fixed"}, 1.0)
    steps = np.linalg.matrix_power(weights / sums[:, None], int(time))
    scaled = steps / np.sqrt(sums / sums.sum())
    model = fit("diffusion", POINTS[:40], time=time, components=39)
    assert np.abs(distances(model.embedding) - distances(scaled)).max() <= 1e-7


def test_with_alpha_one_the_density_of_points_on_a_circle_does_not_matter() -> None:
    generator = np.random.default_rng(4)
    angles = generator.vonmises(0.0, 1.0, 600)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])

    def roundness(alpha: float) -> float:
        model = fit("diffusion", circle, alpha=alpha, time=0.0, components=2, bandwidth={"name": "fixed",
                                                                                         "epsilon": 0.1})
        around = np.column_stack([circle, np.ones(600)])
        rest = model.embedding - around @ np.linalg.lstsq(around, model.embedding)[0]
        return float(np.linalg.norm(rest) / np.linalg.norm(model.embedding - model.embedding.mean(axis=0)))

    assert roundness(1.0) <= 0.06 and roundness(0.0) >= 0.3


@pytest.mark.parametrize("bandwidth", WIDTHS, ids=str)
def test_new_points_are_means_by_their_probabilities_over_the_eigenvalue(bandwidth: dict) -> None:
    new = np.random.default_rng(5).standard_normal((6, 3))
    model = fit("diffusion", POINTS, bandwidth=bandwidth, alpha=1.0, time=2.0, components=3)
    apart = np.sqrt(((new[:, None] - POINTS[None]) ** 2).sum(axis=2))
    old = affinities(POINTS, bandwidth)
    if bandwidth["name"] == "adaptive":
        nearest = bandwidth.get("nearest", 8) - 1
        weights = np.exp(-apart**2 / np.outer(np.sort(apart, axis=1)[:, nearest],
                                              np.sort(distances(POINTS), axis=1)[:, nearest]))
    else:
        squares = distances(POINTS)[np.triu_indices(90, 1)] ** 2
        weights = np.exp(-apart**2 / bandwidth.get("epsilon", np.median(squares)))
    steps = weights / old.sum(axis=1)
    expected = steps / steps.sum(axis=1, keepdims=True) @ model.embedding / model.spectrum.values[:3]
    assert np.abs(model.projector.project(new) - expected).max() <= 1e-10 * np.abs(expected).max()
    assert np.abs(model.projector.project(POINTS) - model.embedding).max() <= 1e-10


def test_a_point_very_far_away_has_the_coordinates_of_its_nearest() -> None:
    model = fit("diffusion", POINTS, components=2, time=1.0)
    far = model.projector.project(np.array([[1e6, 0.0, 0.0]]))
    nearest = int(np.argmax(POINTS[:, 0]))
    assert np.allclose(far, model.embedding[nearest] / model.spectrum.values[:2], rtol=1e-6)


def test_dissimilarities_give_what_features_give() -> None:
    of_features = fit("diffusion", POINTS, components=3)
    given = fit("diffusion", dissimilarities(distances(POINTS)), components=3)
    assert np.abs(of_features.embedding - given.embedding).max() <= 1e-10


def test_points_that_are_all_equal_have_no_extent() -> None:
    for bandwidth in ({"name": "fixed"}, {"name": "adaptive"}):
        assert not fit("diffusion", np.ones((12, 3)), bandwidth=bandwidth).embedding.any()


def test_the_default_width_is_the_median_and_is_reported() -> None:
    with Notes() as notes:
        fit("diffusion", POINTS, components=2)
    middle = float(np.median(distances(POINTS)[np.triu_indices(90, 1)] ** 2))
    note = next(note for note in notes.notes if note.code == "N-RATE")
    assert note.facts["epsilon"] == pytest.approx(middle, rel=1e-12)


def test_groups_that_the_walk_does_not_leave_are_told(wording: Wording) -> None:
    groups = np.concatenate([POINTS, POINTS + 40, POINTS - 40])
    with Notes() as notes:
        model = fit("diffusion", groups, bandwidth={"name": "fixed", "epsilon": 2.0}, components=2)
    assert [wording(note.message) for note in notes.notes if note.code == "W-WALK"] == [[]]
    for group in range(3):
        assert np.ptp(model.embedding[90 * group : 90 * group + 90], axis=0).max() <= 1e-6


SOLVERS: list[dict[str, Any]] = [{}, *({"nearest": 11, "eigensolve": {"solver": solver}}
                                       for solver in ("auto", "krylov", "filter"))]


@pytest.mark.parametrize("options", SOLVERS, ids=str)
@pytest.mark.parametrize("epsilon", [1e-5, 9.5e-305])  # whose exponents overflow
def test_a_walk_that_leaves_no_point_is_refused(options: dict[str, Any], epsilon: float, wording: Wording) -> None:
    """All eigenvalues are one, and any axes would do."""
    apart = np.concatenate([POINTS[:45] - 40, POINTS[:45] + 40])
    with wording.raises(GeometryError, "NO-WEIGHT") as caught:
        fit("diffusion", apart, bandwidth={"name": "fixed", "epsilon": epsilon}, **options)
    assert caught.value.where == "method.bandwidth.epsilon"


@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_a_walk_that_hardly_leaves_a_point_has_eigenvalues_near_one(options: dict[str, Any]) -> None:
    """The nearest two points step to each other with a probability q: 1 - 2q is least but for the zero of the first."""
    least = distances(POINTS)[np.triu_indices(90, 1)].min()
    width = {"name": "fixed", "epsilon": least**2 / 25}
    values = fit("diffusion", POINTS, bandwidth=width, alpha=0.0, components=2, **options).spectrum.values
    assert np.abs(values[:2] - 1).max() <= 1e-13
    if len(values) == 90:
        assert np.sort(values)[1] == pytest.approx(1 - 2 / (1 + np.exp(25)), abs=1e-13)


@pytest.mark.parametrize("options", [{"coordinates": {"scale": "unit"}}, {"centering": "none"}, {"landmarks": 20},
                                     {"graph": {"neighbors": {"count": 5}}}, {"coordinates": {"divisor": "n"}}])
def test_stages_that_a_walk_has_no_use_for_are_refused(options: dict, wording: Wording) -> None:
    with wording.raises(ConfigError, "CHAIN"):
        fit("chain", POINTS, kernel={"name": "diffusion"}, **options)


@pytest.mark.parametrize("time", [0.0, 1.0])
def test_no_axis_has_a_part_of_the_constant_function_however_small_its_eigenvalue(time: float) -> None:
    """Rounding of the kernel that is without it is as large as the least of these eigenvalues."""
    groups = distances(POINTS[:14]) + 1e6 * (np.arange(14)[:, None] % 2 != np.arange(14) % 2)
    model = fit("diffusion", dissimilarities(groups), components=6, time=time)
    _, sums = walk_of(groups)
    functions = model.embedding / model.spectrum.solved[:6] ** time
    assert model.spectrum.solved[5] < 1e-6
    assert np.abs(sums / sums.sum() @ functions).max() <= 1e-13


def walk_of(apart: Array) -> tuple[Array, Array]:
    """The affinities without their density (n x n), of distances, and their sums (n)."""
    weights = np.exp(-apart**2 / np.median(apart[np.triu_indices(len(apart), 1)] ** 2))
    weights /= np.outer(weights.sum(axis=1), weights.sum(axis=1))
    return weights, weights.sum(axis=1)


def test_a_sample_of_rows_of_many_points_passes_the_certificate() -> None:
    """Above a few hundred points only some rows are computed again."""
    data = features(np.random.default_rng(3).standard_normal((WHOLE + 100, 3)))
    method = METHODS["diffusion"]().resolve(data)
    checks = checks_of(method, data, method.fit(data, Compute()))
    assert {check.verdict for check in checks} <= {"pass", "skipped"} and not all(check.exact for check in checks)


def fit_by(nearest: int | None, data: Any, *, components: int = 2, compute: Compute | None = None,
           **options: Any) -> Any:
    """The model by affinities of the nearest neighbors, or of all pairs."""
    method = METHODS["diffusion"](nearest=nearest, eigensolve={"components": components}, **options)
    return method.fit(data, compute or Compute())


@pytest.mark.medium
@pytest.mark.parametrize("bandwidth", WIDTHS, ids=str)
@pytest.mark.parametrize(("alpha", "time"), [(0.0, 0.0), (1.0, 1.0), (0.5, 2.5)])
def test_a_sparse_kernel_of_all_neighbors_is_that_of_all_pairs(bandwidth: dict, alpha: float, time: float) -> None:
    new = np.random.default_rng(5).standard_normal((7, 3))
    for data in (features(POINTS), dissimilarities(distances(POINTS))):
        dense, sparse = (fit_by(nearest, data, bandwidth=bandwidth, alpha=alpha, time=time, components=4)
                         for nearest in (None, len(POINTS) - 1))
        assert np.abs(dense.embedding - sparse.embedding).max() <= 1e-10 * np.abs(dense.embedding).max()
        assert np.abs(dense.spectrum.values - sparse.spectrum.values).max() <= 1e-12
        assert dense.spectrum.trace == pytest.approx(sparse.spectrum.trace, abs=1e-12)
        assert dense.spectrum.frobenius == pytest.approx(sparse.spectrum.frobenius, abs=1e-12)
    dense, sparse = (fit_by(nearest, features(POINTS), bandwidth=bandwidth, alpha=alpha, time=time)
                     for nearest in (None, len(POINTS) - 1))
    placed = dense.projector.project(new)
    assert np.abs(placed - sparse.projector.project(new)).max() <= 1e-10 * np.abs(placed).max()


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("bandwidth", WIDTHS[1:3], ids=str)
def test_coordinates_of_a_sparse_kernel_are_those_of_its_walk(bandwidth: dict, alpha: float) -> None:
    """Affinities of pairs of which neither is among the 9 nearest of the other are zero."""
    apart = distances(POINTS)
    reach = np.sort(apart, axis=1)[:, 9]
    weights = np.where(apart <= np.maximum(reach[:, None], reach), affinities(POINTS, bandwidth), 0.0)
    density = weights.sum(axis=1) ** alpha
    weights = weights / np.outer(density, density)
    sums = weights.sum(axis=1)
    costs, vectors = scipy.linalg.eigh(np.diag(sums) - weights, np.diag(sums))
    expected = vectors[:, 1:5] / np.sqrt((sums / sums.sum()) @ vectors[:, 1:5] ** 2) * (1 - costs[1:5])
    model = fit_by(9, features(POINTS), bandwidth=bandwidth, alpha=alpha, components=4)
    expected *= np.sign((expected * model.embedding).sum(axis=0))
    assert np.abs(model.embedding - expected).max() <= 1e-9 * np.abs(expected).max()
    assert np.abs(np.sort(1 - costs)[::-1][1:] - model.spectrum.values[model.spectrum.values != 0]).max() <= 1e-12
    assert np.abs(model.projector.project(POINTS) - model.embedding).max() <= 1e-9


@pytest.mark.medium
def test_a_sparse_kernel_recovers_a_circle_of_any_density() -> None:
    """With alpha one the first functions are cosine and sine of the arc, for many points by one factorization."""
    angles = 2 * np.pi * np.random.default_rng(0).beta(2.0, 2.0, 2000) + np.linspace(0, 2 * np.pi, 2000)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    model = fit_by(60, features(circle), time=0.0)
    assert not model.spectrum.complete
    rest = model.embedding - circle @ np.linalg.lstsq(circle, model.embedding)[0]
    assert np.sqrt((rest**2).mean()) <= 0.15 * np.sqrt((model.embedding**2).mean())


@pytest.mark.medium
def test_neighbors_are_taken_where_all_pairs_do_not_fit_into_memory_and_it_says_so() -> None:
    points = np.random.default_rng(0).standard_normal((9000, 3))
    compute = Compute(memory_limit="1200M")
    with Notes() as notes:
        model = fit_by(None, features(points), compute=compute)
    assert "N-SPARSE" in notes.codes
    assert np.array_equal(model.embedding, fit_by(64, features(points)).embedding)
    method = METHODS["diffusion"]()
    assert max(step.memory for step in method.steps(features(points), compute, None)) < 200e6
    assert max(step.memory for step in method.steps(features(points), Compute(), None)) > 1e9


def test_a_sparse_kernel_of_more_neighbors_than_points_is_refused(wording: Wording) -> None:
    with wording.raises(ConfigError, "NEIGHBORS"):
        fit("diffusion", POINTS, nearest=90)
    with wording.raises(ConfigError, "NEAREST"):
        fit("diffusion", POINTS, nearest=6, bandwidth={"name": "adaptive"})
