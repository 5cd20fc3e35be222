"""Shares above one: their reason, negative eigenvalues, and shares of the positive ones."""

from collections.abc import Sequence
from itertools import accumulate

ROUNDING = 1e-6  # rounding in a running sum of shares
WHY = "Cumulative shares exceed 100% because they are shares of the trace, which includes negative eigenvalues."


def exceed_one(cumulative: Sequence[float | None]) -> bool:
    """Whether running sums of shares pass one."""
    return any(share is not None and share > 1 + ROUNDING for share in cumulative)


def positive_shares(values: Sequence[float], cumulative: Sequence[float | None], whole: float | None) -> list[float]:
    """Return running sums as shares of the positive eigenvalues, whose sum is `whole`, where sums pass one.

    Empty otherwise, or where that sum is not known.
    """
    return [summed / whole for summed in accumulate(max(value, 0.0) for value in values)
            ] if whole and exceed_one(cumulative) else []
