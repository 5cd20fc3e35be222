"""Canonical correlations of two views of the same rows."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate
from mlcli.base.stages.stage import computed, note, stage
from mlcli.base.stages.steps import Step, merge_steps
from mlcli.base.types import Array
from mlcli.base.values.inputs import Input, TwoViews, errors_of_view
from mlcli.base.values.naming import listed
from mlcli.core.eigen.options import first_columns
from mlcli.core.linalg import singular, singular_step
from mlcli.core.whitening import WHITE, Whitening, whiten

SHARED = "what the views share"
ALIKE = 1e-12  # 1 - ρ² below which a correlation is taken for 1


@frozen
class Canonical:
    """Pairs of directions of two white views, and the correlations of the pairs."""

    correlations: Array  # r, descending, in 0..1
    first: Array  # rank of the first view x r, orthonormal columns
    second: Array  # rank of the second view x r, orthonormal columns

    def turns(self, count: int) -> list[Array]:
        """Return the leading directions of each view (rank x count), zero where there are no more."""
        return [first_columns(self.first, count), first_columns(self.second, count)]


def whiten_views(data: TwoViews) -> list[Whitening]:
    """Return the whitening of each view's columns, each column first scaled to one length; warns of constant views."""
    found = []
    for number, part in enumerate(data.views, start=1):
        with errors_of_view(number):
            found.append(whiten(part.values, equal_columns=True))
        if not found[-1].rank:
            note("W-CONST", f"view {number} does not vary: {listed(part.columns)}", columns=[*part.columns[:100]])
    return found


def most_pairs(data: Input) -> int:
    """Return the largest number of canonical pairs: the smaller of n - 1 and the columns of the smaller view.

    Of several views, as many eigenvalues of the sum of projectors may be above one as all but the largest have columns.
    """
    sizes = [part.values.shape[1] for part in data.views] if isinstance(data, TwoViews) else [data.values.shape[1], 1]
    return min(len(data.values) - 1, sum(sizes) - max(sizes))


@stage("correlations")
def canonical(first: Whitening, second: Whitening) -> Canonical:
    """Return the canonical pairs of two views (Hotelling), from the singular values of U₁ᵀU₂ (Björck and Golub)."""
    rows = len(first.points)
    spare = first.rank + second.rank - (rows - 1)
    if spare > 0 and first.rank and second.rank:
        note("W-SATURATED", f"with {first.rank} and {second.rank} independent columns in {rows} rows, {spare} "
             "correlations are 1 for any data", correlations=spare)
    if not first.rank or not second.rank:
        return Canonical(np.zeros(0), np.zeros((first.rank, 0)), np.zeros((second.rank, 0)))
    products = first.points.T @ second.points / rows
    computed("products of views", products)
    left, sizes, right = singular(products)
    return Canonical(np.minimum(sizes, 1.0), left, right.T)


def canonical_steps(data: TwoViews, threads: int) -> list[Step]:
    """Return the steps of the singular values of each view, and of what the views share."""
    shapes = [part.values.shape for part in data.views]
    first, *others = (columns for _, columns in shapes)
    rest = sum(others)
    pairs = 2.0 * len(data.values) * first * rest / product_rate(threads)
    across = 8.0 * first * rest
    if len(shapes) > 2:
        across, pairs = 24.0 * (first + rest) ** 2 + 8.0 * len(data.values) * (first + rest), 2 * pairs
    return [merge_steps([singular_step("whitening", shape, threads, 1.4 * WHITE) for shape in shapes]),
            Step("correlations", f"singular values of {first} x {rest}", pairs, across)]
