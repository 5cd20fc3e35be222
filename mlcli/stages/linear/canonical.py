"""Canonical correlations of two views of the same rows."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note, stage
from mlcli.base.types import Array
from mlcli.base.values.inputs import Input, TwoViews
from mlcli.base.values.quantity import Quantity
from mlcli.stages.algebra.linalg import singular
from mlcli.stages.eigen.axes import first_columns
from mlcli.stages.linear.whitening import Whitening

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
    left, sizes, right = singular(first.points.T @ second.points / rows)
    return Canonical(np.minimum(sizes, 1.0), left, right.T)


def posterior_means(variates: Sequence[Array], correlations: Array) -> Array:
    """Return posterior means (n x r) of the shared factors, given canonical variates (n x r) of one view or of both.

    `correlations` is an (r,) array.
    """
    if len(variates) == 1:
        return np.sqrt(correlations) * variates[0]
    return np.sqrt(correlations) / (1 + correlations) * (variates[0] + variates[1])


def posterior_variances(correlations: Array, both: bool) -> Array:
    """Return the variances (r) of the posterior means for canonical correlations, an (r,) array."""
    return 2 * correlations / (1 + correlations) if both else correlations


def log_likelihood(views: Sequence[Whitening], correlations: Array) -> Quantity | None:
    """Return the largest log-likelihood of shared factors with canonical correlations, an (r,) array.

    None where it has no limit: a view has dependent columns, or a correlation is 1.
    """
    dependent = any(view.rank < len(view.means) for view in views)
    if dependent or np.any(1 - correlations**2 <= ALIKE):
        note("W-UNBOUNDED", "the likelihood has no limit: " + (
            "the columns of a view are linearly dependent" if dependent else "a canonical correlation is 1"))
        return None
    rows, ranks = len(views[0].points), [view.rank for view in views]
    spread = sum(2 * float(np.linalg.slogdet(view.back)[1]) for view in views)
    shared = float(np.sum(np.log1p(-(correlations**2))))
    return Quantity(-0.5 * rows * (sum(ranks) * (1 + float(np.log(2 * np.pi))) + spread + shared),
                    cells=[rows * rank for rank in ranks])
