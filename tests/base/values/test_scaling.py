"""How far numbers reach: found once for an array that cannot change, and anew for one that can."""

import gc

import numpy as np
import pytest

from mlcli.base.values import scaling
from mlcli.base.values.scaling import all_finite, extent_of, largest_of, read_only
from mlcli.data.table.table import Table


@pytest.mark.parametrize(("numbers", "largest", "finite"), [
    ([1.0, -3.0, 2.0], 3.0, True), ([], 0.0, True), ([-1.0, np.nan, 0.5], 1.0, False),
    ([np.nan, np.nan], 0.0, False), ([1.0, -np.inf], np.inf, False), ([np.inf, np.nan], np.inf, False)])
def test_the_extent_is_the_largest_size_and_whether_all_is_finite(
        numbers: list[float], largest: float, finite: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array(numbers)
    for block in (1, 1 << 20):
        monkeypatch.setattr(scaling, "BLOCK", block)
        assert (largest_of(values), all_finite(values)) == (largest, finite)


def test_an_array_that_changes_is_looked_at_again() -> None:
    values = np.ones(3)
    assert all_finite(values)
    values[1] = np.nan
    assert not all_finite(values)


@pytest.mark.medium
def test_a_constant_array_is_looked_at_once_and_forgotten_with_its_life(monkeypatch: pytest.MonkeyPatch) -> None:
    values = read_only(np.arange(5.0))
    with pytest.raises(ValueError, match="read-only"):
        values[0] = np.nan
    found = extent_of(values)
    monkeypatch.setattr(scaling, "_extent", lambda values: pytest.fail("looked at twice"))
    assert extent_of(values) is found
    key = id(values)
    assert key in scaling._known
    del values
    gc.collect()
    assert key not in scaling._known


def test_the_features_of_a_table_cannot_change() -> None:
    table = Table(np.ones((2, 2)), ("a", "b"), ("1", "2"))
    assert not table.values.flags.writeable
    assert read_only(table.values) is table.values
