"""Exact scaling by powers of two, so that squares neither overflow nor vanish."""

import numpy as np

from mlcli.base.types import Array


def exponent_of(values: Array) -> int:
    """The e for which 2**-e * values has its largest size in [0.5, 1); 0 for all zeros."""
    largest = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    return int(np.frexp(largest)[1]) if largest > 0 else 0


def shown(value: float, exponent: int) -> str:
    """2**exponent * value in six digits, also where that is no double."""
    with np.errstate(over="ignore", under="ignore"):
        whole = float(np.ldexp(value, exponent))
    return f"{whole:.6g}" if value == 0 or 0 < abs(whole) < np.inf else f"{value:.6g} x 2**{exponent}"


def scaled(values: Array, exponent: int) -> Array:
    """2**exponent * values, exact unless it leaves the range of doubles."""
    if exponent == 0:
        return values
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(values, exponent)
