"""Sums over pairs of functions of squared distances and of their derivatives, against formulas, at every level."""

import numpy as np
import pytest

from mlcli.base.types import AnyArray, Array
from mlcli.core.layouts.own_losses import local_of, pair_sums
from mlcli.methods.neighbor_embedding.negative_sampling import NEAR, MembershipCurve
from mlcli.methods.neighbor_embedding.own_losses import membership_push, student_kernel
from mlcli.native.layouts import RadialSums, membership_sums, student_sums, turn_sources
from tests.native.support import at_level, levels, needs_native

pytestmark = needs_native
level = pytest.fixture(params=levels(), autouse=True)(at_level)
CURVE = MembershipCurve(1.6, 0.9)
SIZES = [(1, 2), (9, 1), (64, 2), (141, 2), (70, 3), (23, 11)]


def some(size: int, axes: int) -> tuple[Array, Array, AnyArray]:
    """Points with twins, places of which one is that of a point, and the points that these leave out."""
    generator = np.random.default_rng(size)
    points = generator.normal(size=(size, axes))
    points[size // 2] = points[0]
    own = np.arange(0, size, 3)
    return points, points[own] + 0.1 * (own % 2)[:, None], own


def sums(kind: str, points: Array, places: Array, own: AnyArray, order: int) -> RadialSums:
    sources = turn_sources(points)
    if kind == "push":
        return membership_sums(places, sources, own, form=(CURVE.a, CURVE.b, NEAR), order=order)
    return student_sums(places, sources, own, dof=float(kind), order=order)


@pytest.mark.parametrize("kind", ["1", "0.7", "push"])
@pytest.mark.parametrize(("size", "axes"), SIZES)
def test_sums_are_those_of_the_formula(size: int, axes: int, kind: str) -> None:
    points, places, own = some(size, axes)
    gaps = places[:, None] - points
    squares = np.sum(gaps**2, axis=2).astype(np.longdouble)
    there = np.arange(size) != own[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "push":
            bent = CURVE.a * squares**CURVE.b
            far, near = (CURVE.b * bent / squares / under for under in (1 + bent, bent + NEAR))
            value, first = np.log((1 + bent) / (bent + NEAR)), far - near
            second = first * ((CURVE.b - 1) / squares - far - near)
            first, second = (np.where(squares > 0, numbers, 0) for numbers in (first, second))
        else:
            dof = float(kind)
            value = (1 + squares / dof) ** -dof
            first, second = -value / (1 + squares / dof), (1 + 1 / dof) * value / (1 + squares / dof) ** 2
    found, slopes = (sums(kind, points, places, own, order) for order in (2, 1))
    assert not slopes.bends.size and np.array_equal(found.slopes, slopes.slopes)
    if kind == "push":
        assert not found.values.any()
    lower = np.tril_indices(axes)
    for got, numbers in ((slopes.values, value), (found.even, first), (found.slopes, first[:, :, None] * gaps), (
            found.bends, second[:, :, None] * (gaps[:, :, :, None] * gaps[:, :, None, :])[:, :, *lower])):
        expected = np.sum(np.where(there.reshape(there.shape + (1,) * (numbers.ndim - 2)), numbers, 0), axis=1)
        assert np.allclose(got, expected.astype(float), rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("kind", ["1", "0.7", "push"])
@pytest.mark.parametrize(("size", "axes"), SIZES)
@pytest.mark.parametrize("order", [1, 2])
def test_sums_have_the_bits_of_numpy(size: int, axes: int, kind: str, order: int) -> None:
    points, places, own = some(size, axes)

    def radial(squares: Array, order: int) -> tuple[Array, ...]:
        return (membership_push(squares, order, curve=CURVE) if kind == "push" else
                student_kernel(squares, order, dof=float(kind)))

    found, expected = local_of(sums(kind, points, places, own, order)), pair_sums(places, points, radial, own, order)
    assert np.array_equal(found.values, expected.values) and np.array_equal(found.slopes, expected.slopes)
    assert order == 1 or np.array_equal(found.bends, expected.bends)  # type: ignore[arg-type]


def test_what_does_not_fit_is_refused() -> None:
    points, own = np.zeros((4, 2)), np.arange(4)
    with pytest.raises(ValueError, match="room behind them"):
        student_sums(points, np.zeros((2, 4)), own, dof=1.0, order=2)
    with pytest.raises(ValueError, match="an own point for every place"):
        student_sums(points, turn_sources(points), own[:3], dof=1.0, order=2)
    with pytest.raises(ValueError, match="highest derivative"):
        student_sums(points, turn_sources(points), own, dof=1.0, order=3)
    with pytest.raises(ValueError, match="must be positive"):
        student_sums(points, turn_sources(points), own, dof=0.0, order=1)
