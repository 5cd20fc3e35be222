"""Quantities: numbers with a power of the data's unit."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.scaling import Unit


@frozen
class Quantity:
    """Numbers in a power of the data's unit; a log-likelihood shifts by the unit's logarithm for each cell."""

    value: Array | float
    power: int = 0
    cells: Sequence[int] = ()  # of each view: numbers that a log-likelihood is of
    names: Sequence[str] = ()  # of the numbers, where each has one
    view: int = 0  # whose unit it has

    def plain(self, units: Sequence[Unit]) -> Array:
        """Return the plain numbers, given the units of the data's views."""
        shift = sum(unit.logarithm(count) for unit, count in zip(units, self.cells, strict=False))
        return (units[self.view] ** self.power).plain(np.asarray(self.value, dtype=np.float64)) - shift

    def figure(self, units: Sequence[Unit]) -> Any:
        """Return the plain numbers as a number or lists, or as a mapping where they have names."""
        plain = self.plain(units).tolist()
        return dict(zip(self.names, plain, strict=True)) if len(self.names) else plain


def plain_figures(figures: Mapping[str, Any], units: Sequence[Unit]) -> dict[str, Any]:
    """Return figures in plain values; None for a single number that is not finite."""
    found = {name: value.figure(units) if isinstance(value, Quantity) else value for name, value in figures.items()}
    return {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in found.items()}
