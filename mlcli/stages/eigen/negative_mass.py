"""Bounds on the negative part of a spectrum of which only the top was computed, from trace and Frobenius norm."""

import math

import numpy as np

from mlcli.base.types import Array
from mlcli.stages.algebra.linalg import EPS


def mass_of(values: Array) -> float:
    """Return the sum of the sizes of negative eigenvalues among `values` (m values), without those within rounding.

    `values` is an (m,) array.
    """
    rounding = 10 * len(values) * EPS * float(np.abs(values).max(initial=0.0))
    return float(np.abs(values[values < -rounding]).sum())


def bounded_mass(computed: Array, trace: float, frobenius: float, unknown: int, slack: float) -> tuple[float, float]:
    """Return a lower and an upper bound of the negative eigenvalues' sum of sizes, from the largest, an (m,) array.

    `unknown` further eigenvalues x are at most the last computed one; their sum s and sum of squares q are the trace
    and the squared norm less those of the computed ones, each to a relative `slack`. NaN where there is no bound.
    """
    if not (len(computed) and math.isfinite(trace) and math.isfinite(frobenius)):
        return mass_of(computed), float("nan")
    room, squared = slack * (abs(trace) + float(np.abs(computed).sum())), frobenius**2
    rest, squares = trace - float(computed.sum()), squared - float(computed @ computed)
    cap = max(float(computed[-1]), 0.0)
    mass = mass_of(computed)
    least = _least(rest + room, max(squares - slack * squared, 0.0), cap)
    most = _most(rest - room, max(squares, 0.0) + slack * squared, unknown, cap) if unknown else 0.0
    return mass + least, mass + max(most, least)


def _least(rest: float, squares: float, cap: float) -> float:
    """Return the least mass N: with positives P = s + N, q <= cap P + N², and N >= -s."""
    missing = cap**2 - 4 * (cap * rest - squares)
    return max(0.0, -rest, (math.sqrt(max(missing, 0.0)) - cap) / 2)


def _most(rest: float, squares: float, unknown: int, cap: float) -> float:
    """Return the largest mass N: N + P <= √(m q) by Cauchy and Schwarz; tighter where positives would pass the cap.

    Then P / cap positives are at the cap c and negatives all alike: N (q / c + m c - 2 s) = (m - s / c)(q - s c).
    """
    if cap == 0:
        return max(-rest, 0.0)
    if squares <= unknown * cap**2:
        return max((math.sqrt(unknown * squares) - rest) / 2, 0.0)
    return max((unknown - rest / cap) * (squares - rest * cap) / (squares / cap + unknown * cap - 2 * rest), 0.0)


def share_of_sizes(mass: float, trace: float) -> float:
    """Return a negative mass N over the sum of all sizes, trace + 2 N; NaN where that is zero or unknown."""
    if mass == 0 and trace != 0:
        return 0.0
    sizes = trace + 2 * mass
    return mass / sizes if sizes > 0 else float("nan")
