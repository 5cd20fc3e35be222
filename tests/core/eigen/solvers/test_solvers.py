"""Eigensolvers on the spectra that LAPACK's own tests use, and their ladders of fallbacks."""

from functools import partial
from typing import Literal

import numpy as np
import pytest
import scipy.linalg

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core import linalg
from mlcli.core.centering import uncentered
from mlcli.core.eigen import solvers
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.kernels.factored import Factored
from mlcli.core.kernels.forms import Dense
from mlcli.core.krylov import krylov
from mlcli.errors import GeometryError, NumericalError
from tests.support import EPS, Notes, fit
from tests.wording import Wording

SPECTRA = {
    "zero": lambda n: np.zeros(n),
    "identity": lambda n: np.ones(n),
    "arithmetic": lambda n: np.linspace(1, 1 / n, n),
    "geometric": lambda n: np.geomspace(1, 1e-14, n),
    "clustered low": lambda n: np.r_[1.0, np.full(n - 1, 1e-14)],
    "clustered high": lambda n: np.r_[np.ones(n - 1), 1e-14],
    "signed": lambda n: np.linspace(1, -1, n),
    "near overflow": lambda n: np.linspace(1, 1 / n, n) * 1e150,
    "near underflow": lambda n: np.linspace(1, 1 / n, n) * 1e-150,
}
COMPUTE = Compute()


def dense(matrix: Array) -> Dense:
    return Dense(matrix, uncentered(len(matrix)))


def with_spectrum(values: Array, seed: int = 0) -> Array:
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    matrix = (basis * values) @ basis.T
    return (matrix + matrix.T) / 2


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 20, 129])
def test_residual_and_orthogonality(name: str, size: int) -> None:
    expected = np.sort(SPECTRA[name](size))[::-1]
    matrix = with_spectrum(expected)
    spectrum = Eigensolve(components=1)(dense(matrix), size, COMPUTE)
    scale = max(np.abs(expected).max(), 1e-300)
    assert np.abs(spectrum.solved - expected).max() <= 10 * size * EPS * scale
    vectors, kept = spectrum.vectors, spectrum.axis_eigenvalues
    assert np.abs(matrix @ vectors - vectors * kept).max() <= 10 * max(size, 5) * EPS * scale
    if expected[0] > 0:
        assert np.abs(np.linalg.norm(vectors, axis=0) - 1).max() <= 10 * max(size, 5) * EPS


def test_the_largest_is_never_the_largest_in_size() -> None:
    matrix = with_spectrum(np.r_[3.0, 2.0, 1.0, np.zeros(20), -10.0])
    for solver in ("dense", "krylov"):
        spectrum = Eigensolve(components=3, solver=solver)(dense(matrix), 23, COMPUTE)
        assert np.allclose(spectrum.solved[:3], [3, 2, 1])


@pytest.mark.parametrize("multiplicity", [2, 3, 5])
def test_krylov_finds_every_copy_of_a_multiple_eigenvalue(multiplicity: int) -> None:
    values = np.r_[np.full(multiplicity, 2.0), np.linspace(1, 0, 200)]
    matrix = with_spectrum(values)
    ritz = krylov(matrix.__matmul__, np.random.default_rng(0).standard_normal((len(matrix), 9)), 5, 1e-10)
    assert np.allclose(ritz.values[:5], np.sort(values)[::-1][:5], atol=1e-12)
    assert np.allclose(ritz.vectors.T @ ritz.vectors, np.eye(ritz.vectors.shape[1]), atol=1e-12)
    assert (ritz.residuals[:5] <= 1e-10).all()


@pytest.mark.parametrize("name", ["arithmetic", "geometric", "signed", "clustered low"])
def test_krylov_agrees_with_lapack_on_hard_spectra(name: str) -> None:
    values = np.sort(SPECTRA[name](300))[::-1] * np.r_[10.0, 7.0, 5.0, np.ones(297)]
    matrix = with_spectrum(values)
    ritz = krylov(matrix.__matmul__, np.random.default_rng(0).standard_normal((300, 7)), 3, 1e-11)
    assert np.abs(ritz.values[:3] - np.linalg.eigvalsh(matrix)[::-1][:3]).max() <= 10 * 300 * EPS * values[0]
    residuals = np.linalg.norm(matrix @ ritz.vectors - ritz.vectors * ritz.values, axis=0)
    assert np.allclose(residuals[:3] / values[0], ritz.residuals[:3], atol=1e-13)


@pytest.mark.parametrize("name", ["arithmetic", "geometric", "signed", "clustered low"])
def test_later_blocks_of_residuals_find_the_same(name: str) -> None:
    values = np.sort(SPECTRA[name](300))[::-1] * np.r_[10.0, 7.0, 5.0, np.ones(297)]
    matrix, widths = with_spectrum(values), []

    def apply(block: Array) -> Array:
        widths.append(block.shape[1])
        product: Array = matrix @ block
        return product

    ritz = krylov(apply, np.random.default_rng(0).standard_normal((300, 9)), 3, 1e-11, later=5)
    assert widths[0] == 9 and max(widths[1:]) <= 5
    assert np.abs(ritz.values[:3] - np.linalg.eigvalsh(matrix)[::-1][:3]).max() <= 10 * 300 * EPS * values[0]
    residuals = np.linalg.norm(matrix @ ritz.vectors - ritz.vectors * ritz.values, axis=0)
    assert np.allclose(residuals[:3] / values[0], ritz.residuals[:3], atol=1e-13)


def test_a_small_space_is_exhausted_without_harm() -> None:
    matrix = with_spectrum(np.r_[3.0, 2.0, np.zeros(10)])
    ritz = krylov(matrix.__matmul__, np.random.default_rng(0).standard_normal((12, 6)), 4, 1e-12)
    assert np.allclose(ritz.values[:4], [3, 2, 0, 0], atol=1e-12)


def test_no_convergence_is_an_error_with_the_number_converged(wording: Wording) -> None:
    """A spectrum without a top: neighbors a millionth apart."""
    matrix = with_spectrum(np.r_[2.0, 1 - 1e-6 * np.arange(400)])
    with pytest.raises(NumericalError) as caught:
        krylov(matrix.__matmul__, np.random.default_rng(0).standard_normal((401, 6)), 2, 1e-13, passes=60)
    assert "E-KRYLOV" in wording(caught.value)


@pytest.mark.medium
@pytest.mark.parametrize("sides", [(1100, 1300), (1300, 1100)])
def test_the_edge_of_noise_is_found(sides: tuple[int, int]) -> None:
    """Nothing separates the leading eigenvalues of noise from the rest: neighbors lie n^(-2/3) apart."""
    points = np.random.default_rng(2).standard_normal(sides)
    matrix = points @ points.T
    spectrum = Eigensolve(components=2, solver="krylov")(dense(matrix), len(matrix), COMPUTE)
    assert not spectrum.complete
    assert np.allclose(spectrum.solved[:2], np.linalg.eigvalsh(matrix)[::-1][:2], rtol=1e-10)


def test_a_search_that_does_not_end_hands_over_to_the_whole_spectrum(monkeypatch: pytest.MonkeyPatch,
                                                                     wording: Wording) -> None:
    matrix = with_spectrum(np.r_[2.0, 1 - 1e-6 * np.arange(400)])
    monkeypatch.setattr(solvers, "krylov", partial(krylov, passes=5))
    demand = Eigensolve(components=2, solver="krylov", tolerance=1e-13)
    with Notes() as notes:
        spectrum = demand(dense(matrix), 401, COMPUTE)
    assert spectrum.complete and np.allclose(spectrum.solved[:2], [2, 1]) and "N-WHOLE-SPECTRUM" in notes.codes
    with wording.raises(NumericalError, "KRYLOV"):  # where memory holds no such matrix
        demand(dense(matrix), 401, Compute(memory_limit="3M"))


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_negative_eigenvalues_are_told_however_far_the_spectrum_is_computed(solver: Literal["dense", "krylov"]) -> None:
    matrix = with_spectrum(np.r_[9.0, 5.0, 4.0, np.linspace(0, -3, 80)])
    with Notes() as notes:
        spectrum = Eigensolve(components=2, solver=solver)(dense(matrix), 83, COMPUTE)
    assert "W-NEGATIVE" in notes.codes and spectrum.complete == (solver == "dense")
    least, most = spectrum.negative_mass
    assert 0 < least <= 120 * (1 + 1e-9) <= most * (1 + 2e-9)


def test_what_the_kernel_s_own_rounding_leaves_is_enough_where_it_is_known() -> None:
    """A product that is not quite symmetric leaves residuals of its own, however many passes are made."""
    generator = np.random.default_rng(0)
    wrong = 1e-9 * generator.standard_normal((200, 200))
    matrix = with_spectrum(np.geomspace(1, 1e-6, 200)) + wrong
    start = generator.standard_normal((200, 7))
    ritz = krylov(matrix.__matmul__, start, 3, 1e-13, noise=1e-6)
    assert 1e-13 < ritz.residuals.max() <= 2 * np.linalg.norm(wrong, 2) and len(ritz.values) >= 3
    assert np.abs(ritz.values[:3] - np.geomspace(1, 1e-6, 200)[:3]).max() <= 2 * np.linalg.norm(wrong, 2)
    assert ritz.passes < 20


def test_singular_values_fall_back_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    factor = np.random.default_rng(0).standard_normal((20, 4))
    expected = np.linalg.svd(factor, compute_uv=False)

    def failing(*args: object, **kwargs: object) -> None:
        raise np.linalg.LinAlgError("SVD did not converge")

    for library in (np.linalg, scipy.linalg):
        monkeypatch.setattr(library, "svd", failing)
        with Notes() as notes:
            left, sizes, right = linalg.singular(factor)
        assert notes.codes == {"N-FALLBACK"}
        assert np.allclose(sizes, expected)
        assert np.allclose((left * sizes) @ right, factor)
        assert np.allclose(linalg.singular(factor.T)[1], expected)


def test_the_eigensolver_falls_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fragile(*args: object) -> None:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    matrix = with_spectrum(np.linspace(1, 0, 10))
    monkeypatch.setattr(np.linalg, "eigh", fragile)
    with Notes() as notes:
        values, _ = linalg.symmetric_eigen(matrix)
    assert notes.codes == {"N-FALLBACK"}
    assert np.allclose(values, np.linspace(1, 0, 10))


@pytest.mark.parametrize("spectrum", [np.linspace(1, -1, 60), np.r_[5.0, 5.0, 5.0, np.zeros(57)], np.zeros(60),
                                      np.logspace(0, -18, 60)])
def test_a_few_eigenvectors_are_the_first_of_all(spectrum: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = with_spectrum(spectrum)
    values, vectors = linalg.symmetric_eigen(matrix)
    monkeypatch.setattr(linalg, "MANY", 2)
    found, leading = linalg.leading_eigen(matrix)
    assert np.abs(found - values).max() <= 1e-14 * 60 * max(values[0], 1e-300)
    for count in (1, 3, 60):
        first = leading(count)
        assert np.abs(first.T @ first - np.eye(count)).max() < 1e-13
        assert np.abs(matrix @ first - first * found[:count]).max() <= 1e-14 * 60
    several = np.abs(np.diff(values[:4])) > 1e-6  # alone, and so determined but for their signs
    if several.all():
        assert np.abs(np.abs((leading(3) * vectors[:, :3]).sum(axis=0)) - 1).max() < 1e-12


@pytest.mark.parametrize("size", [1e-160, 1e150])
def test_a_few_eigenvectors_of_any_size(size: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Squares of a matrix's entries may be no doubles."""
    matrix = with_spectrum(np.linspace(1, -1, 40))
    monkeypatch.setattr(linalg, "MANY", 2)
    found, leading = linalg.leading_eigen(size * matrix)
    assert np.allclose(found / size, np.linspace(1, -1, 40))
    first = leading(5)
    assert np.abs(matrix @ first - first * (found[:5] / size)).max() <= 1e-13


def test_eigenvectors_that_inverse_iteration_misses_are_found_with_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fragile(*_: object, **__: object) -> None:
        raise np.linalg.LinAlgError

    matrix = with_spectrum(np.linspace(1, 0, 10))
    monkeypatch.setattr(linalg, "MANY", 2)
    monkeypatch.setattr("scipy.linalg.eigh_tridiagonal", fragile)
    found, leading = linalg.leading_eigen(matrix)
    assert np.abs(matrix @ leading(4) - leading(4) * found[:4]).max() < 1e-14


def test_where_no_tridiagonal_form_is_found_the_whole_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fragile(_: object) -> None:
        raise np.linalg.LinAlgError

    monkeypatch.setattr(linalg, "MANY", 2)
    monkeypatch.setattr(linalg, "_tridiagonal_eigen", fragile)
    values, leading = linalg.leading_eigen(with_spectrum(np.linspace(1, 0, 10)))
    assert np.allclose(values, np.linspace(1, 0, 10))
    assert leading(4).shape == (10, 4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_lapack_never_sees_what_is_not_finite(bad: float, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.ones((3, 3))
    matrix[0, 0] = bad
    monkeypatch.setattr(linalg, "MANY", 2)
    for solve in (linalg.symmetric_eigen, linalg.leading_eigen, linalg.singular, linalg.symmetric_eigenvalues):
        with pytest.raises(NumericalError):
            solve(matrix)


def test_wrong_eigenvectors_do_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a BLAS kernel were broken: values right, vectors not."""
    matrix = with_spectrum(np.linspace(1, 0, 30))
    values, vectors = linalg.symmetric_eigen(matrix)
    wrong = np.roll(vectors, 1, axis=1)
    monkeypatch.setattr(solvers, "leading_eigen", lambda _: (values, lambda count: wrong[:, :count]))
    with pytest.raises(NumericalError) as caught:
        Eigensolve()(dense(matrix), 29, COMPUTE)
    assert caught.value.code == "E-RESIDUAL"


@pytest.mark.medium
def test_power_iteration_gives_up_on_a_near_tie() -> None:
    factor = np.diag([1.0, 1 - 1e-9, 0.1, 0.05])
    with pytest.raises(NumericalError) as caught:
        Eigensolve(components=1)(Factored(factor, "power", uncentered(4)), 4, COMPUTE)
    assert caught.value.code == "E-POWER"


def test_power_iteration_stops_at_a_share() -> None:
    spectrum = Eigensolve(components=0.9)(Factored(np.diag([3.0, 2.0, 1.0, 0.5]), "power", uncentered(4)), 4, COMPUTE)
    assert spectrum.vectors.shape[1] == 2


def test_more_axes_than_positive_eigenvalues_is_an_error_when_asked_for(wording: Wording) -> None:
    matrix = dense(with_spectrum(np.r_[3.0, np.zeros(9)]))
    with pytest.raises(GeometryError) as caught:
        Eigensolve(components=2)(matrix, 9, COMPUTE)
    assert "E-AXES" in wording(caught.value)
    with Notes() as notes:
        assert Eigensolve()(matrix, 9, COMPUTE).vectors.shape[1] == 1
    assert notes.codes == {"W-RANK"}


def test_tied_axes_have_a_basis_that_depends_on_the_space_alone() -> None:
    values = np.r_[2.0, 2.0, 2.0, np.linspace(1, 0, 20)]
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((23, 23)))[0]
    rotation = np.eye(23)
    rotation[:3, :3] = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    embeddings = []
    for frame in (basis, basis @ rotation):
        with Notes() as notes:
            matrix = (frame * values) @ frame.T
            embeddings.append(Eigensolve(components=3)(dense((matrix + matrix.T) / 2), 22, COMPUTE).vectors)
        assert "W-UNDETERMINED" in notes.codes
    assert np.abs(embeddings[0] - embeddings[1]).max() < 1e-12


@pytest.mark.medium
def test_large_dense_kernels_are_solved_at_the_top_only() -> None:
    points = np.random.default_rng(0).standard_normal((2100, 3)) * [3, 2, 1]
    top = fit("mds", points, components=3)
    assert not top.spectrum.complete
    pca = fit("pca", points, components=3)
    assert np.abs(top.embedding - pca.embedding).max() <= 1e-9 * np.abs(pca.embedding).max()
    assert top.spectrum.proportions.sum() == pytest.approx(1, abs=1e-9)
    share = fit("mds", points, components=0.9)
    assert share.embedding.shape[1] == 2


def test_report_asks_the_iterative_solver_for_more_eigenvalues_than_axes() -> None:
    matrix = dense(with_spectrum(np.linspace(1, 0, 60)))
    spectrum = Eigensolve(components=2, report=7, solver="krylov")(matrix, 59, COMPUTE)
    assert len(spectrum.solved) >= 7
    assert spectrum.vectors.shape[1] == 2


@pytest.mark.parametrize("method", ["mds", "lle"])
def test_many_axes_of_an_iterative_solver_are_all_found(method: str) -> None:
    points = np.random.default_rng(0).standard_normal((150, 20))
    options = {"neighbors": 25} if method == "lle" else {}
    whole = fit(method, points, eigensolve={"solver": "dense", "components": 12, "report": 15}, **options)
    top = fit(method, points, eigensolve={"solver": "krylov", "components": 12, "report": 15}, **options)
    assert top.embedding.shape == (150, 12)
    assert len(top.spectrum.values) >= 15
    assert np.allclose(top.spectrum.values[:15], whole.spectrum.values[:15], rtol=1e-6)
