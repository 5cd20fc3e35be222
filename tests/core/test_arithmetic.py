"""Arithmetic in a fixed order, against NumPy's, LAPACK's and its own without the kernels."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from mlcli import native
from mlcli.core import arithmetic
from tests.native.library.bits import bits_of, hard
from tests.native.support import needs_native

RANDOM = np.random.default_rng(3)
EXPONENTS = np.r_[RANDOM.uniform(-708, 709, 4000), RANDOM.uniform(-1, 1, 4000), 0.0, -708.0, 709.0, 1e-300]
POSITIVE = np.r_[RANDOM.uniform(0.5, 2, 4000), 2.0 ** RANDOM.uniform(-1074, 1023, 4000), 1.0, 5e-324]
FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray], np.ndarray]] = {
    "exponential": (arithmetic.exponential, np.exp, EXPONENTS),
    "logarithm": (arithmetic.logarithm, np.log, POSITIVE),
    "exponential of two": (arithmetic.exponential_of_two, np.exp2, EXPONENTS[np.abs(EXPONENTS) < 20]),
    "power": (lambda values: arithmetic.power(values, 3.7), lambda values: values**3.7, POSITIVE[:4000]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_numpy(name: str) -> None:
    function, expected, values = FUNCTIONS[name]
    rounding = 3e-13 if name == "exponential of two" else 4e-15
    assert_allclose(function(values), expected(values), rtol=rounding)


@needs_native
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_same_bits_without_kernels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, _, values = FUNCTIONS[name]
    beyond = np.r_[values, hard(3000)] if name in ("exponential", "logarithm") else values
    found, one = function(beyond), function(np.asarray(beyond[7]))  # of one number, too, which is no array
    monkeypatch.setattr(native, "available", lambda: False)
    assert bits_of(found) == bits_of(function(beyond))
    assert bits_of(one) == bits_of(function(np.asarray(beyond[7])))


def test_functions_of_numbers_beyond_their_range() -> None:
    assert arithmetic.exponential(np.array([-np.inf, -709.0])).tolist() == [0.0, 0.0]
    assert arithmetic.exponential(np.array([np.inf]))[0] == pytest.approx(np.exp(709))
    assert arithmetic.logarithm(np.array([0.0, np.inf])).tolist() == [-np.inf, np.inf]
    assert arithmetic.power(np.array([0.0, 1.0]), 2.5).tolist() == [0.0, 1.0]
    for function in (arithmetic.exponential, arithmetic.logarithm):
        assert np.isnan(function(np.array([np.nan]))).all()


@pytest.mark.parametrize("size", [0, 5, 8192, 8193, 22201, 100_001, 600_001])
def test_a_long_sum_is_that_of_its_halves(size: int) -> None:
    numbers = np.random.default_rng(3).random(size)

    def halved(some: np.ndarray) -> float:
        half = len(some) // 16 * 8
        return float(some.sum()) if len(some) <= 8192 else halved(some[:half]) + halved(some[half:])

    assert arithmetic.sum_of_all(numbers) == halved(numbers)
    assert arithmetic.sum_of_parts(lambda some: numbers[some], len(numbers)) == halved(numbers)
    assert arithmetic.inner_products(numbers[:, None], numbers[:, None]) == halved(numbers * numbers)


def test_a_sum_of_numbers_keeps_nothing_of_what_rounding_loses() -> None:
    """Python's own sum gives one from 3.12 on."""
    assert arithmetic.total([1e16, 1.0, -1e16]) == 0.0 and arithmetic.total([]) == 0.0


@pytest.mark.parametrize("size", [1, 2, 3, 7, 30])
def test_eigenpairs_of_small_matrices_are_those_of_lapack(size: int) -> None:
    matrix = RANDOM.standard_normal((size, size))
    matrix = matrix + matrix.T
    values, vectors = arithmetic.symmetric_eigen(matrix)
    assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1], atol=1e-13 * size)
    assert_allclose(matrix @ vectors, vectors * values, atol=1e-13 * size)
    assert_allclose(vectors.T @ vectors, np.eye(size), atol=1e-14 * size)


def test_logarithms_near_one_keep_their_digits() -> None:
    numbers = np.concatenate([10.0 ** np.arange(-300, 300, 7), -(10.0 ** np.arange(-300, 0, 7)), [0.0, 0.5, np.inf]])
    assert_allclose(arithmetic.logarithm_of_successor(numbers), np.log1p(numbers), rtol=1e-15, atol=0)
    assert np.isnan(arithmetic.logarithm_of_successor(np.array([np.nan, 1.0]))).tolist() == [True, False]


@needs_native
@pytest.mark.parametrize("size", [2, 5, 24])
def test_rotations_have_the_same_bits_with_and_without_kernels(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    matrix = np.exp(3 * RANDOM.standard_normal((size, size)))
    matrix[0, -1] = matrix[-1, 0] = 0.0
    found = arithmetic.symmetric_eigen(matrix)
    monkeypatch.setattr("mlcli.native.available", lambda: False)
    assert [part.tobytes() for part in found] == [part.tobytes() for part in arithmetic.symmetric_eigen(matrix)]


def test_equal_eigenvalues_keep_the_order_of_their_columns() -> None:
    values, vectors = arithmetic.symmetric_eigen(np.diag([1.0, 2.0, 2.0, 0.0]))
    assert values.tolist() == [2.0, 2.0, 1.0, 0.0] and np.array_equal(vectors, np.eye(4)[:, [1, 2, 0, 3]])


@pytest.mark.parametrize("rank", [3, 40])
def test_leading_pairs_are_those_of_lapack(rank: int) -> None:
    root = RANDOM.standard_normal((200, rank)) * np.geomspace(1, 0.01, rank)
    matrix = root @ root.T
    values, vectors, converged = arithmetic.leading_pairs(
        lambda block: matrix @ block, RANDOM.standard_normal((200, 7)), 3, 1e-12, 50)
    assert converged
    assert_allclose(values, np.linalg.eigvalsh(matrix)[:-4:-1], rtol=1e-11)
    assert_allclose(matrix @ vectors, vectors * values, atol=1e-9)


@pytest.mark.parametrize("rank", [9, 25, 70])
def test_a_basis_of_many_columns_is_orthonormal_and_spans_them(rank: int) -> None:
    """Also of columns that a power of a matrix has made nearly the same."""
    block = RANDOM.standard_normal((120, rank)) * np.geomspace(1, 1e-7, rank) @ RANDOM.standard_normal((rank, 70))
    found = arithmetic.orthonormal(block)
    assert found.shape == (120, rank)
    assert_allclose(found.T @ found, np.eye(rank), atol=1e-13)
    assert_allclose(found @ (found.T @ block), block, atol=1e-8)


def test_a_basis_leaves_out_what_earlier_columns_span() -> None:
    block = RANDOM.standard_normal((50, 3))
    found = arithmetic.orthonormal(np.column_stack([block, block @ [1.0, -2.0, 0.5], np.zeros(50)]))
    assert found.shape == (50, 3)
    assert_allclose(found.T @ found, np.eye(3), atol=1e-15 * 50)


def test_products_are_those_of_blas() -> None:
    left, right = RANDOM.standard_normal((90, 5)), RANDOM.standard_normal((90, 4))
    assert_allclose(arithmetic.inner_products(left, right), left.T @ right, atol=1e-12)
    assert_allclose(arithmetic.combine(left, right[:5]), left @ right[:5], atol=1e-12)
    assert arithmetic.length(left) == pytest.approx(np.linalg.norm(left))


@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (300, 7), (257, 300)])
def test_products_in_order_are_those_of_blas(rows: int, columns: int) -> None:
    left, right = RANDOM.standard_normal((rows, columns)), RANDOM.standard_normal((270, columns))
    assert_allclose(arithmetic.row_products(left, right), left @ right.T, atol=1e-13 * columns)
    matrix = left @ left.T
    other = matrix @ matrix + matrix
    for one, two in ((left, left), (matrix, other)):
        found = arithmetic.symmetric_products(one, two)
        assert np.array_equal(found, found.T)
        assert_allclose(found, one @ two.T, atol=1e-13 * np.abs(found).max())


@needs_native
def test_products_in_order_have_the_same_bits_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = RANDOM.standard_normal((40, 300)), RANDOM.standard_normal((30, 300))
    found = arithmetic.row_products(left, right)
    monkeypatch.setattr(native, "available", lambda: False)
    assert found.tobytes() == arithmetic.row_products(left, right).tobytes()


@needs_native
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 1), (300, 1), (1, 40), (7, 8), (300, 70), (90, 2001)])
def test_products_have_the_same_bits_without_kernels(rows: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums have the order of the kernels, in blocks of the same size."""
    matrix, right, left = (RANDOM.standard_normal(shape) for shape in ((rows, columns), (columns, 5), (rows, 5)))
    monkeypatch.setattr(arithmetic, "BLOCK", 40 * columns)
    held = sparse.csr_array(np.where(RANDOM.random(matrix.shape) < 0.3, matrix, 0.0))

    def products() -> list[np.ndarray]:
        return [arithmetic.product(matrix, right), arithmetic.transposed_product(matrix, left),
                arithmetic.sparse_product(held, right), arithmetic.product(matrix, right[:, :0]),
                arithmetic.transposed_product(matrix, left[:, :0]), arithmetic.sparse_product(held, right[:, :0]),
                arithmetic.inner_products(matrix, left), arithmetic.inner_products(matrix, left[:, :0])]

    found = products()
    monkeypatch.setattr(native, "available", lambda: False)
    monkeypatch.setattr(arithmetic, "multiplies", lambda rows: False)
    assert bits_of(found) == bits_of(products())
    for one, expected in zip(found, [matrix @ right, matrix.T @ left, held @ right, np.zeros((rows, 0)),
                                     np.zeros((columns, 0)), np.zeros((rows, 0)), matrix.T @ left,
                                     np.zeros((columns, 0))], strict=True):
        assert_allclose(one, expected, atol=1e-12)
