"""Shares as percentages: nothing that is not zero is shown as zero."""

import pytest

from mlcli.base.values.percent import percent


@pytest.mark.parametrize(("share", "digits", "shown"), [
    (0.4567, 1, "45.7%"), (1.0, 1, "100.0%"), (0.5, 0, "50%"), (0.00032, 1, "0.032%"), (-0.0003, 1, "-0.03%"),
    (0.0006, 1, "0.1%"), (-0.06, 2, "-6.00%"), (0.004, 0, "0.4%"), (3e-7, 1, "<0.001%"), (-3e-7, 2, ">-0.001%"),
    (0.0, 1, "0%"), (-0.0, 2, "0%"), (-1e-17, 1, "0%"), (1e-5, 1, "0.001%")])
def test_a_share_has_its_decimals_or_two_digits(share: float, digits: int, shown: str) -> None:
    assert percent(share, digits) == shown
