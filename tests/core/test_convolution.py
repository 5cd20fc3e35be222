"""Convolution on a grid against sums over pairs of nodes, with and without the kernels."""

from collections.abc import Callable
from math import prod

import numpy as np
import pytest

from mlcli import native
from mlcli.base.context import set_context
from mlcli.base.types import Array
from mlcli.core.convolution import (
    charges_shape,
    convolve,
    measure,
    radices_of,
    smooth_number,
    transform_sizes,
    unit_circle,
)

WHOLES = [*range(1, 130), 1080, 2048, 6561, 15625, 100003, 2**24]


def test_the_unit_circle_is_that_of_longer_numbers() -> None:
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("this machine has no longer numbers")
    turn = 8 * np.arctan(np.longdouble(1))
    for whole in WHOLES:
        parts = np.arange(whole) if whole < 10**6 else np.random.default_rng(0).integers(0, whole, 10**5)
        angles = turn * parts.astype(np.longdouble) / whole
        cosines, sines = unit_circle(parts, whole)
        assert np.abs(cosines - np.cos(angles)).max() <= 1e-16
        assert np.abs(sines - np.sin(angles)).max() <= 1e-16


@pytest.mark.parametrize("whole", [4, 60, 1080, 2**20])
def test_quarters_of_a_turn_are_exact_and_opposite_angles_conjugate(whole: int) -> None:
    quarters = unit_circle(np.arange(4) * whole // 4, whole)
    assert [values.tolist() for values in quarters] == [[1, 0, -1, 0], [0, 1, 0, -1]]
    parts = np.arange(whole // 8)
    cosines, sines = unit_circle(parts, whole)
    for moved, expected in ((whole - parts, (cosines, -sines)), (whole // 2 - parts, (-cosines, sines)),
                            (whole // 4 + parts, (-sines, cosines))):
        assert all(map(np.array_equal, unit_circle(moved, whole), expected))


def test_lengths_are_the_smallest_products_of_two_three_and_five() -> None:
    smooth = sorted(2**i * 3**j * 5**k for i in range(12) for j in range(8) for k in range(6))
    assert [smooth_number(least) for least in range(1, 2000)] == [
        next(number for number in smooth if number >= least) for least in range(1, 2000)]
    assert all(prod(radices_of(number)) == number for number in smooth)
    assert transform_sizes((100, 94), 2) == (216, 192) and transform_sizes((7, 7)) == (16, 32)
    assert transform_sizes((100,), 13) == (256,)


def kernel(squared: Array) -> Array:
    return -squared / (7 + squared)


def sums_over_pairs(charges: Array) -> Array:
    """The sums of charges (one or two axes) with the kernel, pair by pair."""
    nodes = np.stack(np.meshgrid(*map(np.arange, charges.shape), indexing="ij"), axis=-1).reshape(charges.size, -1)
    squared = np.sum((nodes[:, None] - nodes) ** 2.0, axis=2)
    return np.asarray(np.sum(kernel(squared) * charges.ravel(), axis=1).reshape(charges.shape))


def convolved(charges: Array, response: Callable[[Array], Array] = np.ones_like) -> Array:
    """The same by transforms, over squared responses."""
    held = np.zeros(charges_shape(charges.shape))
    held[:, : charges.shape[-1]] = charges
    convolve(held, measure(kernel, response, transform_sizes(charges.shape)))
    return held[:, : charges.shape[-1]].reshape(charges.shape)


@pytest.fixture(params=[True, False], ids=["with kernels", "without"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(native, "available", lambda: False)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("counts", [(1,), (16,), (17,), (700,), (1, 1), (1, 40), (33, 2), (16, 16), (17, 31), (24, 45)])
def test_transforms_give_the_sums_over_pairs_of_nodes(counts: tuple[int, ...]) -> None:
    charges = np.random.default_rng(0).normal(size=counts)
    assert np.allclose(convolved(charges), sums_over_pairs(charges), rtol=0, atol=1e-15 * np.abs(charges).sum())


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("counts", [(150,), (24, 35)])
def test_a_response_undoes_a_filter_of_charges_and_one_of_sums(counts: tuple[int, ...]) -> None:
    charges = np.zeros(counts)
    inside = (slice(2, -2),) * len(counts)
    charges[inside] = np.random.default_rng(1).normal(size=charges[inside].shape)
    twice = charges
    for axis in [*range(len(counts))] * 2:
        twice = 0.6 * twice + 0.2 * (np.roll(twice, 1, axis) + np.roll(twice, -1, axis))
    found = convolved(twice, lambda cosines: 0.6 + 0.4 * cosines)
    assert np.allclose(found, sums_over_pairs(charges), rtol=0, atol=1e-13 * np.abs(charges).sum())


@pytest.mark.parametrize("counts", [(30000,), (300, 280)])
def test_threads_change_no_bit(counts: tuple[int, ...]) -> None:
    charges, results = np.random.default_rng(2).normal(size=counts), []
    for threads in (1, 2, 3):
        with set_context(threads=threads):
            results.append(convolved(charges))
    assert results[0].any()
    assert all(np.array_equal(results[0], other) for other in results[1:])
