"""Sizes and shares as people read them."""

import pytest

from mlcli.base.units import memory, percent


@pytest.mark.parametrize(("count", "text"), [
    (0, "0 MiB"), (2**20, "1 MiB"), (1.5 * 2**20, "1.5 MiB"), (123.4 * 2**20, "123 MiB"), (1000 * 2**20, "1000 MiB"),
    (1023 * 2**20, "1023 MiB"), (2**30, "1 GiB"), (19.53 * 2**30, "19.5 GiB"), (2000 * 2**30, "2000 GiB")])
def test_no_size_has_an_exponent(count: float, text: str) -> None:
    assert memory(count) == text


@pytest.mark.parametrize(("share", "digits", "shown"), [
    (0.4567, 1, "45.7%"), (1.0, 1, "100.0%"), (0.5, 0, "50%"), (0.00032, 1, "0.032%"), (-0.0003, 1, "-0.03%"),
    (0.0006, 1, "0.1%"), (-0.06, 2, "-6.00%"), (0.004, 0, "0.4%"), (3e-7, 1, "<0.001%"), (-3e-7, 2, ">-0.001%"),
    (0.0, 1, "0%"), (-0.0, 2, "0%"), (-1e-17, 1, "0%"), (1e-5, 1, "0.001%")])
def test_a_share_has_its_decimals_or_two_digits(share: float, digits: int, shown: str) -> None:
    assert percent(share, digits) == shown
