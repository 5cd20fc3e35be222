"""What a check of a result says: a figure, its limit, and how it was computed."""

from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array

Verdict = Literal["pass", "warn", "fail", "skipped", "unchecked"]

PASS, FAIL = 10.0, 60.0  # ratios of an error to its rounding: LAPACK's own lines
EPS = 2.0**-52


@frozen
class Check:
    """One statement about a result, and whether it holds."""

    name: str
    value: float
    tolerance: float
    verdict: Verdict
    how: str
    exact: bool = True  # whether everything was checked, or a sample


def ratio(name: str, error: float, scale: float, how: str, *, exact: bool = True) -> Check:
    """An error as a multiple of the rounding that must be allowed for: up to 10 passes, over 60 fails."""
    value = 0.0 if error == 0 else (error / scale if scale > 0 else float("inf"))
    if not value <= FAIL:  # NaN as well
        return Check(name, value, PASS, "fail", how, exact)
    return Check(name, value, PASS, "pass" if value <= PASS else "warn", how, exact)


def count(name: str, wrong: int, how: str, *, exact: bool = True) -> Check:
    """A number of errors, which must be zero."""
    return Check(name, float(wrong), 0.0, "fail" if wrong else "pass", how, exact)


def around_median(ratios: Array, near: Array | float, *, whole: bool) -> tuple[float, bool]:
    """The share of ratios of values to their median (n) that is below one, and whether that is too few or too many.

    Ratios nearer to one than `near` may be either. Of a sample, not the `whole`, the median is about that of all.
    """
    below, upto = float(np.mean(ratios < 1 - near)), float(np.mean(ratios <= 1 + near))
    slack = 1.0 / len(ratios) if whole else 0.1
    return below, not (below <= 0.5 + slack and upto >= 0.5 - slack)


def skipped(name: str, why: str) -> Check:
    """A check that was not made, and why."""
    return Check(name, float("nan"), 0.0, "skipped", why, exact=False)


def later(name: str) -> Check:
    """A check that is made where everything is checked."""
    return skipped(name, "left to mlcli verify --full")
