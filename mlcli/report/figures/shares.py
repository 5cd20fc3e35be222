"""Shares over one: what they mean where eigenvalues are negative, and the shares of the positive ones beside them."""

from collections.abc import Sequence
from itertools import accumulate

ROUNDING = 1e-6  # by which a running sum of shares may pass one
WHY = "Sums of shares pass 100% because negative eigenvalues are subtracted from the trace, of which they are shares."


def passes(cumulative: Sequence[float | None]) -> bool:
    """Whether running sums of shares pass one."""
    return any(share is not None and share > 1 + ROUNDING for share in cumulative)


def of_positive(values: Sequence[float], cumulative: Sequence[float | None], whole: float | None) -> list[float]:
    """The running sums as shares of the positive eigenvalues, which sum to `whole`, where those of the trace pass one.

    None of them otherwise, or where that sum is not known.
    """
    return [summed / whole for summed in accumulate(max(value, 0.0) for value in values)
            ] if whole and passes(cumulative) else []
