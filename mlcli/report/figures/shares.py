"""Shares above one: their reason, negative eigenvalues, and shares of the positive ones. Shares that overlap."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

UNCORRELATED = 1e-12  # size of a correlation that is rounding
WHY = "Cumulative shares exceed 100% because they are shares of the trace, which includes negative eigenvalues."

OVERLAP = ("The factors are correlated, so what they share is in the squared loadings of each: their proportions of "
           "variance stand with the loadings.")


def shares_overlap(ranked_by: str, fit: Mapping[str, Any]) -> bool:
    """Whether axes are correlated factors ranked by their squared loadings, which are no shares of the variance."""
    correlations = fit.get("factor_correlations") or ()
    return ranked_by == "sums of squared loadings" and any(
        row != column and abs(value) > UNCORRELATED
        for row, values in enumerate(correlations) for column, value in enumerate(values))


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
