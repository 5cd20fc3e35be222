"""Axes lie as near to the exact ones as their certain digits say, and not much nearer."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.centering import uncentered
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.kernels.factored import Factored
from mlcli.core.kernels.forms import Dense
from tests.support import Notes


def basis(columns: int, size: int = 64) -> Array:
    """Orthonormal columns (n x q) whose numbers are exact: a reflection by a vector of ones and minus ones."""
    signs = np.where(np.arange(size) % 3 == 0, -1.0, 1.0)
    return (np.eye(size) - 2 * np.outer(signs, signs) / size)[:, :columns]


def solved(values: Array, count: int, **options: object) -> tuple[Spectrum, Array]:
    """The spectrum of the matrix with these eigenvalues, and its exact axes."""
    size = 64 if len(values) <= 64 else 256
    axes = basis(len(values), size)
    matrix = axes * values @ axes.T
    eigensolve = Eigensolve(components=count, **options)  # type: ignore[arg-type]
    return eigensolve(Dense((matrix + matrix.T) / 2, uncentered(size)), size, Compute()), axes[:, :count]


def angles(found: Array, exact: Array) -> Array:
    """The sines of the angles between columns of unit length."""
    rest = found - exact * np.einsum("ij,ij->j", found, exact)
    return np.asarray(np.linalg.norm(rest, axis=0))


@pytest.mark.parametrize("gap", [0.5, 1e-3, 1e-6, 1e-9])
def test_a_bound_holds_and_says_something(gap: float) -> None:
    spectrum, exact = solved(np.concatenate([[2.0, 2.0 - gap, 1.0], np.linspace(0.5, 0.1, 57)]), 3)
    turned = angles(spectrum.vectors, exact)
    assert (turned <= spectrum.turns).all()
    assert spectrum.turns[0] == pytest.approx(spectrum.turns[1]) and spectrum.turns[0] <= 1e4 * 1e-15 / gap
    assert spectrum.certain_digits[0] == np.floor(-np.log10(spectrum.turns[0]))


def test_axes_of_equal_eigenvalues_have_no_certain_digit() -> None:
    spectrum, _ = solved(np.array([3.0, 2.0, 2.0, 1.0]), 4)
    assert spectrum.certain_digits.tolist()[1:3] == [0, 0] and spectrum.certain_digits[[0, 3]].min() >= 10


def test_residuals_count() -> None:
    """What an iterative solver may leave turns axes more than rounding does."""
    values = np.concatenate([[4.0, 2.0, 1.9], np.geomspace(1, 0.01, 200)])
    (exactly, _), (loosely, axes) = (solved(values, 2, solver="krylov", tolerance=tolerance)
                                     for tolerance in (1e-13, 1e-4))
    assert (angles(loosely.vectors, axes) <= loosely.turns).all()
    assert loosely.turns[1] >= 1e3 * exactly.turns[1] and exactly.certain_digits.min() >= 10


def test_the_gap_of_a_factor_is_that_of_singular_values() -> None:
    """Singular values keep digits that their squares lose."""
    points = basis(3) * np.array([1.0, 2e-5, 1e-5])
    by_roots, by_squares = (Eigensolve(components=3)(
        Factored(points, route, uncentered(3), digits=route == "svd", centered=False), 3, Compute())
        for route in ("svd", "covariance"))
    assert (angles(by_roots.vectors, basis(3)) <= by_roots.turns).all() and by_roots.certain_digits.min() >= 7
    assert (angles(by_squares.vectors, basis(3)) <= by_squares.turns).all()
    assert by_squares.certain_digits[1:].max() <= 5


def test_entries_before_centering_count() -> None:
    """A kernel of points far from the origin has lost digits where the mean was taken away."""
    points = np.random.default_rng(0).standard_normal((60, 3)) * [3.0, 2.0, 1.0]
    exact = np.linalg.svd(points - points.mean(axis=0))[0][:, :2]
    for far in (0.0, 1e5 / 3):
        moved = points + far
        spectrum = Eigensolve(components=2)(Dense.of(moved @ moved.T), 3, Compute())
        turned = angles(spectrum.vectors, exact)
        assert (turned <= np.maximum(spectrum.turns, 1e-10)).all()
    assert spectrum.certain_digits.max() <= 6 and turned.max() > 1e-9


def test_a_large_negative_eigenvalue_counts() -> None:
    sure, lost = (solved(np.array([4.0, 2.0, 1.0, least]), 2)[0] for least in (-1.0, -1e9))
    assert sure.certain_digits.min() >= 12 and lost.certain_digits.max() <= 5


def test_exactly_equal_eigenvalues_have_no_certain_digit() -> None:
    """The corners of a square."""
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    spectrum = Eigensolve(components=2)(Factored(corners, "auto", uncentered(2), centered=False), 2, Compute())
    assert spectrum.certain_digits.tolist() == [0, 0]


def shared(values: Array, count: int, **options: object) -> tuple[list[list[int]], Notes]:
    """The runs of axes that share an eigenvalue, in the matrix with these eigenvalues."""
    with Notes() as notes:
        spectrum, _ = solved(values, count, **options)
    return spectrum.shared.tolist(), notes


def test_axes_of_equal_eigenvalues_are_named_with_those_that_are_not_kept() -> None:
    values = np.array([3.0, 2.0, 2.0, 1.0, 1.0, 1.0, 0.5])
    assert shared(values, 3)[0] == [[1, 3]] and shared(values, 2)[0] == [[1, 3]] and shared(values, 1)[0] == []
    cut, notes = shared(values, 5)
    assert cut == [[1, 3], [3, 6]] and notes.codes == {"W-UNDETERMINED"}
    assert shared(np.array([3.0, 2.0, 1.0, 1.0]), 2)[1].codes == set()


@pytest.mark.parametrize(("points", "run"), [
    (np.array([[i, j] for i in range(5) for j in range(5)], dtype=float), [0, 2]),  # a square grid
    (np.eye(6), [0, 5]),  # a regular simplex
    (np.vstack([np.eye(3), -np.eye(3)]), [0, 3])])  # an octahedron on a sphere
def test_symmetric_points_have_one_space(points: Array, run: list[int]) -> None:
    centered = points - points.mean(axis=0)
    assert Eigensolve(components=2)(Dense.of(points @ points.T), 5, Compute()).shared.tolist() == [run]
    assert Eigensolve(components=2)(Factored(centered, "svd", uncentered(points.shape[1]), digits=True, centered=False),
                                    5, Compute()).shared.tolist() == [run]


def test_an_equal_eigenvalue_after_the_computed_ones_is_seen_by_its_lower_bound() -> None:
    values = np.concatenate([[4.0, 2.0, 2.0], np.geomspace(1, 0.01, 200)])
    assert shared(values, 2, solver="krylov", tolerance=1e-12)[0] == [[1, 3]]


def test_what_an_iterative_solver_leaves_may_join_axes() -> None:
    values = np.concatenate([[4.0, 2.0, 1.99], np.geomspace(1, 0.01, 200)])
    assert shared(values, 3, solver="krylov", tolerance=1e-12)[0] == []
    spectrum, _ = solved(values, 3, solver="krylov", tolerance=1e-3)
    known = spectrum.certain_digits
    assert (spectrum.shared.tolist() == [[1, 3]]) == (known[1:3].min() == 0)
