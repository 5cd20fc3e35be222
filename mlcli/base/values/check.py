"""Checks of a result: a figure, its limit, the verdict, and how it was computed."""

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
    """Check an error as a multiple of the rounding to be expected: up to 10 passes, over 60 fails."""
    value = 0.0 if error == 0 else (error / scale if scale > 0 else float("inf"))
    if not value <= FAIL:  # NaN as well
        return Check(name, value, PASS, "fail", how, exact)
    return Check(name, value, PASS, "pass" if value <= PASS else "warn", how, exact)


def count(name: str, wrong: int, how: str, *, exact: bool = True) -> Check:
    """Check a number of errors, which must be zero."""
    return Check(name, float(wrong), 0.0, "fail" if wrong else "pass", how, exact)


def around_median(ratios: Array, near: Array | float, *, whole: bool) -> tuple[float, bool]:
    """Return the share of ratios below one, and whether one is not their median; `ratios` is an (n,) array.

    Ratios nearer to one than `near` may be on either side. For a sample, not the `whole`, a tenth more is allowed.
    """
    below, upto = float(np.mean(ratios < 1 - near)), float(np.mean(ratios <= 1 + near))
    slack = 1.0 / len(ratios) if whole else 0.1
    return below, not (below <= 0.5 + slack and upto >= 0.5 - slack)


def skipped(name: str, why: str) -> Check:
    """Return a check that was not made, with the reason."""
    return Check(name, float("nan"), 0.0, "skipped", why, exact=False)


def later(name: str) -> Check:
    """Return a skipped check that `mlcli verify --full` makes."""
    return skipped(name, "left to mlcli verify --full")
