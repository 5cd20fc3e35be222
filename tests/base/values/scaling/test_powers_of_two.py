"""Units: exact powers of two, numbers and options in them, and figures that carry them."""

from math import log
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.options import Options, option
from mlcli.base.values.quantity import Quantity, plain_figures
from mlcli.base.values.scaling import Unit
from mlcli.errors import NumericalError
from tests.wording import Wording

VALUES = np.array([3.0, -0.1, 0.0])


class Inner(Options):
    """Options with a rate."""

    rate: float | None = option(None, "Per squared length.", power=-2, gt=0)
    count: int = option(3, "Of no unit.", ge=1)


class Outer(Options):
    """Options with a length, and others in them."""

    radius: float = option(1.0, "A length.", power=1, gt=0)
    inner: Inner = Inner()


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("exponent", [-1020, -7, 0, 8, 1023])
def test_the_unit_of_numbers_measures_them_near_one(power: int, exponent: int) -> None:
    values = np.ldexp(VALUES / 4, exponent)
    unit = Unit.of(values, np.full(2, np.nan), power=power)
    measured = (unit**power).measured(values)
    assert 2.0**-power <= np.abs(measured).max() < 1 and np.array_equal((unit**power).plain(measured), values)
    assert (unit**power).root(power) == unit


def test_zeros_have_the_unit_one() -> None:
    assert Unit.of(np.zeros(3)) == Unit.of(np.zeros(0)) == Unit()


def test_units_are_multiplied_and_divided() -> None:
    assert Unit(5) * Unit(-7) == Unit(-2) and Unit(5) / Unit(-7) == Unit(12) and Unit(3) ** -2 == Unit(-6)
    assert Unit(-30).within(30) and not Unit(31).within(30)
    assert Unit(3).logarithm(2) == pytest.approx(6 * log(2), rel=1e-15)


@pytest.mark.parametrize(("exponent", "value", "text"), [
    (0, 0.125, "0.125"), (4, 3.0, "48"), (2000, 3.0, "3 x 2**2000"), (-2000, 0.1, "0.1 x 2**-2000"), (9000, 0.0, "0")])
def test_numbers_are_shown_also_where_they_are_no_doubles(exponent: int, value: float, text: str) -> None:
    assert Unit(exponent).shown(value) == text


def test_options_are_moved_by_the_power_that_they_carry() -> None:
    given = Outer(radius=12.0, inner=Inner(rate=0.5, count=7))
    moved = given.measured_in(Unit(2))
    assert (moved.radius, moved.inner.rate, moved.inner.count) == (3.0, 8.0, 7)
    assert Outer().measured_in(Unit(2)).inner is Outer().inner and given.inner.rate == 0.5


@pytest.mark.parametrize(("exponent", "given", "where"), [
    (1100, {"radius": 1.0}, "method.radius"), (1030, {"radius": 1.0}, "method.radius"),
    (-600, {"inner": {"rate": 1.0}, "radius": 1e-180}, "method.inner.rate")])
def test_an_option_out_of_range_is_named(exponent: int, given: dict[str, Any], where: str, wording: Wording) -> None:
    with wording.raises(NumericalError, "KERNEL-RANGE") as caught:
        Outer(**given).measured_in(Unit(exponent))
    assert caught.value.where == where


def test_figures_lose_the_unit_that_they_carry() -> None:
    units = Unit(3), Unit(-1)
    found = plain_figures({"variance": Quantity(0.5, 2), "loads": Quantity(VALUES, 1), "steps": 4, "unknown": None,
                           "likelihood": Quantity(1.0, cells=(10, 4)), "one": Quantity(1.0, cells=(10,)),
                           "lost": Quantity(2.0, 700)}, units)
    assert found["variance"] == 32.0 and found["loads"] == (8 * VALUES).tolist() and found["steps"] == 4
    assert found["likelihood"] == pytest.approx(1 - 26 * log(2), rel=1e-15)
    assert found["one"] == pytest.approx(1 - 30 * log(2), rel=1e-15)
    assert found["unknown"] is None and found["lost"] is None
