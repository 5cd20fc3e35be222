"""A factor centered block by block is the factor centered whole, in a fraction of the memory."""

import tracemalloc

import numpy as np
import pytest

from mlcli.base.machine.threads import limit_threads
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.core.centering import uncentered
from mlcli.core.eigen.options import SpectrumRequest
from mlcli.core.kernels import factored
from mlcli.core.kernels.factor_solver import side_steps
from mlcli.core.kernels.factored import Factored
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.methods.principal.pca import PCA
from tests.support import EPS

COMPUTE = Compute()
POINTS = np.random.default_rng(0).standard_normal((700, 6)) * [5, 4, 3, 2, 1, 0.5] + 7


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factored, "PART", 90)
    monkeypatch.setattr(factored, "PARTS", 3)


@pytest.mark.usefixtures("small_blocks")
def test_blocks_give_the_centered_kernel() -> None:
    kernel = Factored.of(POINTS)
    whole = POINTS - POINTS.mean(axis=0)
    vectors, directions = np.random.default_rng(1).standard_normal((700, 2)), np.eye(6)[:, :2]
    scale = 700 * EPS * np.abs(whole).max() ** 2
    assert kernel.factor is POINTS
    assert np.abs(kernel.side - whole.T @ whole).max() <= 100 * scale
    assert np.abs(kernel.lift(directions) - whole @ directions).max() <= scale
    assert np.abs(kernel.lower(vectors) - whole.T @ vectors).max() <= 100 * scale
    assert np.abs(kernel.apply(vectors) - whole @ (whole.T @ vectors)).max() <= 1e4 * scale
    assert np.allclose(kernel.centering.means, POINTS.mean(axis=0), rtol=10 * EPS)
    assert np.isclose(kernel.trace, (whole**2).sum(), rtol=700 * EPS)


@pytest.mark.usefixtures("small_blocks")
def test_the_result_does_not_depend_on_the_number_of_threads() -> None:
    data = Features(POINTS, RowNumbers.up_to(700))
    models = []
    for threads in (1, 2, 4):
        with limit_threads(threads):
            models.append(PCA().fit(data, COMPUTE))
    for model in models[1:]:
        assert np.array_equal(model.embedding, models[0].embedding)
        assert np.array_equal(model.spectrum.eigenvalues, models[0].spectrum.eigenvalues)


@pytest.mark.parametrize("route", ["dual", "svd", "covariance", "power"])
def test_other_routes_agree(route: str) -> None:
    data = Features(POINTS, RowNumbers.up_to(700))
    first, other = PCA().fit(data, COMPUTE), PCA(route=route).fit(data, COMPUTE)
    assert np.abs(first.embedding - other.embedding).max() <= 1e-9 * np.abs(first.embedding).max()


def test_pca_holds_no_second_copy_of_the_data() -> None:
    points = np.random.default_rng(0).standard_normal((100_000, 60)) + 3
    tracemalloc.start()
    PCA().fit(Features(points, RowNumbers.up_to(len(points))), COMPUTE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * points.nbytes  # the embedding, vectors, and blocks


@pytest.mark.parametrize("exponent", [-101, -100, -7, 7, 100, 101])
def test_data_within_reach_is_not_scaled_and_gives_the_same_bits(exponent: int) -> None:
    unit, moved = (PCA().fit(Features(np.ldexp(POINTS, power), RowNumbers.up_to(700)), COMPUTE)
                   for power in (0, exponent))
    assert np.array_equal(np.ldexp(unit.embedding, exponent), moved.embedding)
    assert np.array_equal(unit.spectrum.proportions, moved.spectrum.proportions)


@pytest.mark.parametrize("kind", ["plain", "far", "drifting", "constant column", "outlier"])
def test_one_pass_from_a_shift_is_as_accurate_as_two(kind: str) -> None:
    generator = np.random.default_rng(2)
    points = generator.standard_normal((3 * factored.SAMPLE, 4)) * [4, 3, 2, 1]
    if kind == "far":
        points = np.round(points, 3) + 1e8
    elif kind == "drifting":
        points[:, 0] += np.linspace(0, 1e6, len(points))
    elif kind == "constant column":
        points[:, 1] = 1.1
    elif kind == "outlier":
        points[5, 2] = 1e12
    kernel = Factored.of(points)
    exact = points.astype(np.longdouble)
    exact -= exact.mean(axis=0)
    wanted = (exact.T @ exact).astype(float)
    sizes = np.sqrt(np.diag(wanted))
    assert np.abs(kernel.side - wanted).max() <= 1e-12 * np.outer(sizes, sizes).max()
    assert np.all(np.abs(np.diag(kernel.side) - np.diag(wanted)) <= 1e-12 * np.diag(wanted) + 1e-25)
    assert np.all(np.abs(kernel.column_means()) <= 1e-12 * sizes / np.sqrt(len(points)) + EPS**2)
    if kind in ("plain", "constant column"):
        at_once = Factored(points, "auto", uncentered(4), digits=True)._centered_at_once()
        assert (at_once is not None) == (kind == "plain")
    assert kernel.means[0].any() == (kind not in ("plain", "outlier"))  # centered rows are used as they are
    directions, vectors = np.eye(4)[:, 1:3], generator.standard_normal((len(points), 2))
    largest = np.abs(points[:, 1:3]).max()
    assert np.abs(kernel.lift(directions) - exact[:, 1:3]).max() <= 4 * EPS * largest
    assert np.abs(kernel.lower(vectors) - exact.T @ vectors).max() <= 1e-12 * sizes.max() * np.linalg.norm(vectors)


@pytest.mark.parametrize(("shape", "route", "smaller"), [
    ((50, 10), "auto", False), ((50, 10), "covariance", False), ((50, 10), "dual", True),
    ((10, 50), "covariance", True), ((10, 50), "dual", False), ((10, 50), "auto", False)])
def test_another_route_is_a_remedy_only_where_it_takes_less(shape: tuple[int, int], route: str, smaller: bool) -> None:
    for step in side_steps(np.ones(shape), route, SpectrumRequest(), threads=1):
        assert ("method.route=auto" in step.remedy) == smaller
        assert "leave rows or columns out" in step.remedy
