"""Exact scaling by powers of two, so that squares neither overflow nor vanish."""

import numpy as np

from mlcli.base.types import Array

NORMAL = 1022  # powers of two up to this exponent are normal numbers, and multiplying by them is exact


def exponent_of(values: Array) -> int:
    """The e for which 2**-e * values has its largest size in [0.5, 1); 0 for all zeros."""
    largest = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    return int(np.frexp(largest)[1]) if largest > 0 else 0


def scaled(values: Array, exponent: int) -> Array:
    """2**exponent * values, exact unless it leaves the range of doubles."""
    if exponent == 0:
        return values
    with np.errstate(over="ignore", under="ignore"):
        if abs(exponent) <= NORMAL:
            return values * np.ldexp(1.0, exponent)  # the same, several times faster
        return np.ldexp(values, exponent)
