"""Products of sparse rows: those of SciPy, at every instruction set, for any number of vectors."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mlcli.native.library import kernels
from mlcli.native.linalg import lower_sparse, multiplies, multiply_sparse
from tests.native.support import at_level, levels, needs_native
from tests.support import EPS

pytestmark = needs_native
level = pytest.fixture(params=levels(), autouse=True)(at_level)

SHAPES = [(1, 1), (3, 40), (50, 7), (200, 300)]


def entries(rows: int, columns: int) -> Any:
    """Sparse rows, some of them empty."""
    return sparse.random_array((rows, columns), density=0.2, format="csr", rng=np.random.default_rng(rows + columns))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 7, 8, 13, 24, 32, 41, 70])
def test_products_are_those_of_scipy(shape: tuple[int, int], count: int) -> None:
    some, random = entries(*shape), np.random.default_rng(count)
    right, less, left = random.normal(size=(shape[1], count)), random.normal(size=count), random.normal(
        size=(shape[0], count))
    products, images = multiply_sparse(some, right, less, images=True)
    expected = some @ right - less
    allowed = 8 * EPS * (abs(some) @ abs(right) + abs(less))
    assert np.all(np.abs(products - expected) <= allowed)
    assert np.all(np.abs(images - some.T @ products) <= 8 * shape[0] * EPS * (abs(some.T) @ abs(products)) + 1e-300)
    assert multiply_sparse(some, right, less, images=False)[0].tobytes() == products.tobytes()
    assert np.all(np.abs(lower_sparse(some, left) - some.T @ left)
                  <= 8 * shape[0] * EPS * (abs(some.T) @ abs(left)) + 1e-300)


def test_a_vector_has_the_same_bits_beside_any_others() -> None:
    some, right = entries(60, 90), np.random.default_rng(0).normal(size=(90, 40))
    whole = multiply_sparse(some, right, np.zeros(40), images=True)
    alone = multiply_sparse(some, right[:, 33:34], np.zeros(1), images=True)
    assert all(np.array_equal(one[:, 33:34], other) for one, other in zip(whole, alone, strict=True))


def test_products_of_whole_numbers_are_exact() -> None:
    some = entries(80, 30)
    some.data = np.rint(some.data * 100)
    right = np.random.default_rng(0).integers(-9, 9, (30, 5)).astype(float)
    products, images = multiply_sparse(some, right, np.full(5, 3.0), images=True)
    assert np.array_equal(products, some @ right - 3) and np.array_equal(images, some.T @ (some @ right - 3))


@pytest.mark.parametrize(("starts", "columns"), [([0, 1], [7]), ([0, 1], [-1]), ([0, 2], [0]), ([1, 1], [0]),
                                                 ([0, 3, 1], [0])])
def test_wrong_entries_are_refused(starts: list[int], columns: list[int]) -> None:
    pattern = np.array(starts, dtype=np.int64), np.array(columns, dtype=np.int32), np.ones(len(columns))
    rows = len(starts) - 1
    with pytest.raises(ValueError, match=r"starts must cut|columns must be those"):
        kernels().multiply_sparse(*pattern, np.zeros((7, 8)), np.zeros(8), np.zeros((rows, 8)), np.zeros((7, 8)))
    with pytest.raises(ValueError, match=r"starts must cut|columns must be those"):
        kernels().lower_sparse(*pattern, np.zeros((rows, 8)), np.zeros((7, 8)))


@pytest.mark.parametrize("sizes", [{"right": 7}, {"less": 9}, {"out": 16}, {"images": 16}, {"rows": 3}])
def test_vectors_of_wrong_sizes_are_refused(sizes: dict[str, int]) -> None:
    pattern = np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int32), np.ones(1)
    width = {name: sizes.get(name, 8) for name in ("right", "less", "out", "images")}
    with pytest.raises(ValueError, match=r"padded|a row for every row"):
        kernels().multiply_sparse(*pattern, np.zeros((7, width["right"])), np.zeros(width["less"]), np.zeros(
            (sizes.get("rows", 1), width["out"])), np.zeros((7, width["images"])))


def test_indices_of_64_bits_are_left_to_scipy() -> None:
    wide = entries(3, 40)
    wide.indices = wide.indices.astype(np.int64)
    assert multiplies(entries(3, 40)) and not multiplies(wide)
