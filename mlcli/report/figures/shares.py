"""Shares above one: their reason, negative eigenvalues, and shares of the positive ones."""

from collections.abc import Sequence
from itertools import accumulate

WHY = "Cumulative shares exceed 100% because they are shares of the trace, which includes negative eigenvalues."


def exceed_one(cumulative: Sequence[float | None], digits: int) -> bool:
    """Whether running sums of shares pass 100% where they are shown with so many decimals."""
    return any(share is not None and round(share, digits + 2) > 1 for share in cumulative)


def positive_shares(values: Sequence[float], cumulative: Sequence[float | None], whole: float | None, *,
                    digits: int) -> list[float]:
    """Return running sums as shares of the positive eigenvalues, whose sum is `whole`, where sums pass 100%.

    Empty otherwise, or where that sum is not known.
    """
    return [summed / whole for summed in accumulate(max(value, 0.0) for value in values)
            ] if whole and exceed_one(cumulative, digits) else []
