"""Products of columns and of rows: those of NumPy, at every instruction set, in any layout, beside any other rows."""

import platform
from typing import Any

import numpy as np
import pytest

from mlcli import native
from mlcli.native.library import kernels
from tests.native.support import at_level, levels, needs_native
from tests.support import EPS

pytestmark = needs_native
level = pytest.fixture(params=levels(), autouse=True)(at_level)

SHAPES = [(1, 1), (3, 2), (127, 23), (128, 24), (129, 25), (300, 70), (64, 500), (65, 129)]


def points(rows: int, columns: int) -> Any:
    """Numbers of different scales, away from the origin."""
    return np.random.default_rng(rows).standard_normal((rows, columns)) * np.linspace(3, 0.1, columns) + 2


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_of_columns_are_those_of_numpy(rows: int, columns: int, order: Any) -> None:
    some, shift = points(rows, columns), np.linspace(1.5, 2.5, columns)
    moved = some - shift
    products, sums = native.gram(np.asarray(some, order=order), shift)
    sizes = np.linalg.norm(moved, axis=0)
    assert np.abs(products - moved.T @ moved).max() <= rows * EPS * np.outer(sizes, sizes).max()
    assert np.abs(sums - moved.sum(axis=0)).max() <= rows * EPS * np.abs(moved).max()
    assert np.array_equal(products, products.T)


@pytest.mark.parametrize("columns", [24, 70])
def test_the_layout_of_the_rows_changes_no_bit(columns: int) -> None:
    some, shift = points(300, columns), np.linspace(1.5, 2.5, columns)
    wanted = native.gram(some, shift)
    for other in (np.asfortranarray(some), np.repeat(some, 2, axis=0)[::2], np.repeat(some, 3, axis=1)[:, ::3]):
        for found, same in zip(native.gram(other, shift), wanted, strict=True):
            assert np.array_equal(found, same)


def test_products_of_whole_numbers_are_exact() -> None:
    some = np.random.default_rng(0).integers(-1000, 1000, (500, 30)).astype(float)
    products, sums = native.gram(some, np.full(30, 3.0))
    whole = some.astype(np.int64) - 3
    assert np.array_equal(products, whole.T @ whole)
    assert np.array_equal(sums, whole.sum(axis=0))


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("others", [1, 7, 24, 33])
def test_products_of_rows_are_those_of_numpy(rows: int, columns: int, others: int) -> None:
    some, shift = points(rows, columns), np.linspace(1.5, 2.5, columns)
    right, moved = np.random.default_rng(1).standard_normal((columns, others)), some - shift
    products, norms = native.project(some, shift, right)
    sizes = np.linalg.norm(moved, axis=1)
    assert np.abs(products - moved @ right).max() <= columns * EPS * np.outer(
        sizes, np.linalg.norm(right, axis=0)).max()
    assert np.abs(norms - sizes**2).max() <= columns * EPS * sizes.max() ** 2
    for start in (0, rows // 2):  # a row has the same bits whatever the others
        alone = native.project(some[start : start + 1], shift, right)
        assert np.array_equal(alone[0][0], products[start])
        assert alone[1][0] == norms[start]


@pytest.mark.parametrize(("rows", "columns"), [*SHAPES, (5, 0)])
@pytest.mark.parametrize("others", [1, 7, 24, 33])
def test_products_in_order_are_those_of_numpy_wherever_they_are_written(rows: int, columns: int, others: int) -> None:
    left, right = points(rows, columns), points(others, columns) - 1
    held = np.full((rows, others + 3), 7.0)
    kernels().row_products(left, right, held[:, 1:-2])
    sizes = np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=1))
    assert np.all(np.abs(held[:, 1:-2] - left @ right.T) <= (columns + 1) * EPS * sizes)
    assert np.all(held[:, [0, -2, -1]] == 7)
    alone = np.empty((1, others))
    kernels().row_products(left[rows // 2 : rows // 2 + 1], right, alone)  # has the same bits whatever the other rows
    assert np.array_equal(alone[0], held[rows // 2, 1:-2])


@pytest.mark.parametrize("columns", [1, 3, 4, 17, 500, 1025, 2100])  # the last are packed in several parts
@pytest.mark.parametrize(("rows", "others"), [(1, 1), (7, 49), (8, 48), (9, 95), (6, 16), (97, 9), (530, 97)])
def test_products_of_bytes_are_exact(rows: int, columns: int, others: int) -> None:
    if not native.has_byte_products():
        pytest.skip("no products of bytes at this level, or on this machine")
    some = np.random.default_rng(rows).integers(0, 256, (rows + others, columns), dtype=np.uint8)
    some[0] = some[-1] = 255
    found = native.ByteRows(some).products(slice(0, rows), slice(rows, rows + others))
    whole = some.astype(np.int64)
    assert np.array_equal(found, (whole[:rows] @ whole[rows:].T).astype(np.float32))


def test_products_of_the_widest_bytes_do_not_overflow() -> None:
    if not native.has_byte_products():
        pytest.skip("no products of bytes at this level, or on this machine")
    some = np.full((7, 2**15), 255, dtype=np.uint8)
    assert np.all(native.ByteRows(some).products(slice(0, 7), slice(0, 7)) == np.float32(2**15 * 255**2))


def test_levels_of_x86_without_wide_vectors_have_products_of_bytes(level: str) -> None:
    if level == "v4" or platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("this level has them only where the processor does")
    assert native.has_byte_products()


def test_bytes_that_do_not_fit_are_refused() -> None:
    words, out = np.zeros((3, 2), np.int32), np.zeros((3, 3), np.float32)
    for right, sums in ((words[:, :1].copy(), np.zeros(3, np.int32)), (words, np.zeros(2, np.int32))):
        with pytest.raises(ValueError, match=r"bytes|columns|every row"):
            kernels().products_of_bytes(words, right, sums=sums, out=out)


def test_arrays_that_do_not_fit_are_refused() -> None:
    some = np.zeros((3, 2))
    with pytest.raises(ValueError, match="every column"):
        native.gram(some, np.zeros(3))
    with pytest.raises(ValueError, match="every column"):
        native.project(some, np.zeros(2), np.zeros((3, 1)))


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("others", [1, 15, 48, 49, 100])
def test_products_of_rows_with_other_rows_are_those_of_numpy(rows: int, columns: int, others: int) -> None:
    some, right = points(rows, columns).astype(np.float32), points(others, columns).astype(np.float32)
    found = native.products_of_rows(some, right)
    exact = some.astype(np.float64) @ right.T.astype(np.float64)
    sizes = np.outer(np.linalg.norm(some, axis=1), np.linalg.norm(right, axis=1))
    assert found.dtype == np.float32 and found.shape == (rows, others)
    assert np.all(np.abs(found - exact) <= columns * float(np.finfo(np.float32).eps) * sizes)


def test_rows_that_do_not_fit_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="equally many columns"):
        native.products_of_rows(np.zeros((3, 2), np.float32), np.zeros((3, 4), np.float32))


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_products_with_a_few_vectors_are_those_of_numpy(rows: int, columns: int, count: int) -> None:
    some, shift, generator = points(rows, columns), np.linspace(1.5, 2.5, columns), np.random.default_rng(1)
    moved, less = some - shift, generator.standard_normal(count)
    right, left = generator.standard_normal((columns, count)), generator.standard_normal((rows, count))
    lifted, lowered = np.empty((rows, count)), np.ones((count, columns))
    native.lift_rows(some, shift, directions=right, less=less, out=lifted)
    native.lower_rows(some, shift, vectors=left, out=lowered)
    bound = 2 * (rows + columns) * EPS * np.linalg.norm(moved) * (np.linalg.norm(right) + np.linalg.norm(left))
    assert np.abs(lifted - (moved @ right - less)).max() <= bound
    assert np.abs(lowered - (left.T @ moved + 1)).max() <= bound
    alone = np.empty((1, count))
    native.lift_rows(some[-1:], shift, directions=right, less=less, out=alone)
    assert np.array_equal(alone[0], lifted[-1])


def test_products_of_whole_numbers_with_a_few_vectors_are_exact() -> None:
    generator = np.random.default_rng(0)
    some = generator.integers(-1000, 1000, (501, 37)).astype(float)
    right, left = generator.integers(-9, 9, (37, 2)).astype(float), generator.integers(-9, 9, (501, 2)).astype(float)
    lifted, lowered = np.empty((501, 2)), np.zeros((2, 37))
    native.lift_rows(some, np.full(37, 3.0), directions=right, less=np.array([5.0, 7.0]), out=lifted)
    native.lower_rows(some, np.full(37, 3.0), vectors=left, out=lowered)
    assert np.array_equal(lifted, (some - 3) @ right - [5.0, 7.0])
    assert np.array_equal(lowered, left.T @ (some - 3))
