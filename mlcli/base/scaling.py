"""Exact scaling by powers of two, so that squares neither overflow nor vanish."""

import numpy as np

from mlcli.base.threads import in_order
from mlcli.base.types import AnyArray, Array

PIECE = 1 << 20  # numbers looked at together
NORMAL = 1022  # powers of two up to this exponent are normal numbers, and multiplying by them is exact


def exponent_of(values: Array) -> int:
    """The e for which 2**-e * values has its largest size in [0.5, 1), NaN left out; 0 for all zeros."""
    largest = largest_of(values)
    return int(np.frexp(largest)[1]) if largest > 0 else 0


def largest_of(values: AnyArray) -> float:
    """The largest absolute value of an array of any size, NaN left out, looked at in pieces by all threads."""
    return max(in_order(largest_size, pieces(values)), default=0.0)


def largest_size(values: AnyArray) -> float:
    """The largest absolute value, NaN left out; 0 where there is none."""
    high, low = float(np.max(values, initial=0.0)), float(np.min(values, initial=0.0))
    if np.isnan(high):  # rare, and slower to look around
        high, low = float(np.fmax.reduce(values, None, initial=0.0)), float(np.fmin.reduce(values, None, initial=0.0))
    return max(high, -low)


def all_finite(values: AnyArray) -> bool:
    """Whether every number is finite, looked at in pieces so that no large array is made."""
    return all(in_order(lambda part: bool(np.isfinite(part).all()), pieces(values)))


def pieces(values: AnyArray) -> list[AnyArray]:
    """An array cut along its first axis into parts of about a million numbers."""
    if values.size <= PIECE:
        return [values]
    rows = max(1, PIECE * len(values) // values.size)
    return [values[start:start + rows] for start in range(0, len(values), rows)]


def shown(value: float, exponent: int) -> str:
    """2**exponent * value in six digits, also where that is no double."""
    with np.errstate(over="ignore", under="ignore"):
        whole = float(np.ldexp(value, exponent))
    return f"{whole:.6g}" if value == 0 or 0 < abs(whole) < np.inf else f"{value:.6g} x 2**{exponent}"


def scaled(values: Array, exponent: int) -> Array:
    """2**exponent * values, exact unless it leaves the range of doubles, on all threads."""
    if exponent == 0:
        return values
    found = np.empty(values.shape)

    def fill(piece: tuple[Array, Array]) -> None:
        with np.errstate(over="ignore", under="ignore"):
            if abs(exponent) <= NORMAL:
                np.multiply(piece[0], np.ldexp(1.0, exponent), out=piece[1])  # the same, several times faster
            else:
                np.ldexp(piece[0], exponent, out=piece[1])

    for _ in in_order(fill, list(zip(pieces(values), pieces(found), strict=True))):
        pass
    return found


def scaled_number(value: float, exponent: int) -> float:
    """2**exponent * value."""
    return float(scaled(np.asarray(value, dtype=np.float64), exponent))
