"""Means and covariance of points with missing cells: by pairs of columns, or by maximum likelihood (EM).

Cells are missing at random: whether one is there may depend on the cells that are. Source: Little and Rubin,
"Statistical analysis with missing data", 2002, chapter 11; Orchard and Woodbury, 1972.
"""

from dataclasses import field, replace
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.stored import result, stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.quantity import Quantity
from mlcli.errors import GeometryError
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.algebra.linalg import EPS, inverse, symmetric_eigen
from mlcli.stages.latent.model import Grouped

Gaps = Literal["likelihood", "pairwise"]
WHERE, REMEDY = "method.gaps", "leave columns out with --columns, or choose prepare.missing: mean"


@stored("normal", mean="d", covariance="dd")
@result("normal")
@frozen
class Normal:
    """A normal distribution of rows."""

    mean: Array  # d
    covariance: Array  # d x d; zero rows of columns that do not vary


@result("expected")
@frozen
class Expected:
    """A distribution, and what it says of rows with missing cells."""

    model: Normal
    values: Array  # n x d, rows as grouped: missing cells at their conditional means
    spread: Array  # d x d, the sum over rows of the conditional covariances of their missing cells
    objective: float  # the log-likelihood of the cells that are there


def expected(model: Normal, data: Grouped) -> Expected:
    """What a distribution says of missing cells given the others of their row; raises NumericalError."""
    values, spread, total = data.values.copy(), np.zeros_like(model.covariance), 0.0
    varies = np.diag(model.covariance) > 0
    edges = np.searchsorted(data.group, np.arange(len(data.observed) + 1))
    for group, pattern in enumerate(data.observed):
        rows, known = slice(edges[group], edges[group + 1]), pattern > 0
        there, gone = known & varies, np.flatnonzero(~known)
        inverted = inverse(model.covariance[np.ix_(there, there)], where=WHERE, hint=REMEDY)
        apart = data.values[rows][:, there] - model.mean[there]
        gain = model.covariance[np.ix_(gone, there)] @ inverted
        values[rows, gone] = model.mean[gone] + apart @ gain.T
        spread[np.ix_(gone, gone)] += len(apart) * (
            model.covariance[np.ix_(gone, gone)] - gain @ model.covariance[np.ix_(there, gone)])
        log = int(there.sum()) * np.log(2 * np.pi) - float(np.linalg.slogdet(inverted)[1])
        total -= 0.5 * (len(apart) * log + float(np.sum((apart @ inverted) * apart)))
    return Expected(model, values, spread, total)


def completed(model: Normal, points: Array) -> Array:
    """Points (n x d; NaN where missing) with missing cells at their conditional means."""
    data = Grouped.of(points)
    values = np.empty_like(points)
    values[data.order] = expected(model, data).values
    return values


@frozen
class Gapped:
    """Points with missing cells and the moments that stand for theirs."""

    points: Array  # n x d
    moments: Normal
    figures: dict[str, Any] = field(default_factory=dict)
    model: Normal | None = None  # under which rows are completed

    @property
    def observations(self) -> int:
        """The rows that have a cell."""
        return int((~np.isnan(self.points)).any(axis=1).sum())

    @property
    def centering(self) -> Centering:
        """Columns less their means."""
        return Centering(self.moments.mean, across=False)

    def under(self, model: Normal) -> "Gapped":
        """The same under a model."""
        return replace(self, model=model)

    def lift(self, axes: Array) -> Array:
        """The coordinates (n x q) of completed rows on axes (d x q)."""
        assert self.model is not None
        return self.centering(completed(self.model, self.points)) @ axes


def with_gaps(points: Array, how: Gaps, iterate: Iterate) -> Gapped:
    """The moments of points with missing cells (n x d; every column has some); raises GeometryError."""
    present = ~np.isnan(points)
    means = np.nanmean(points, axis=0)
    means = means + np.nanmean(points - means, axis=0)
    deviations = np.sqrt(np.nanmean((points - means) ** 2, axis=0))
    varies = deviations > 8 * EPS * np.abs(means)
    deviations = np.where(varies, deviations, 0.0)
    seen = present[:, varies].any(axis=1)
    standard = (points - means)[np.ix_(seen, varies)] / deviations[varies]
    require_together(present[np.ix_(seen, varies)], np.flatnonzero(varies))
    found, figures = (by_pairs(standard), {}) if how == "pairwise" else by_likelihood(standard, iterate)
    moved, whole = np.zeros(len(means)), np.zeros((len(means), len(means)))
    moved[varies], whole[np.ix_(varies, varies)] = found.mean, found.covariance
    if "observed_log_likelihood" in figures:
        cells = present[np.ix_(seen, varies)].sum(axis=0)
        figures["observed_log_likelihood"] = Quantity(
            figures["observed_log_likelihood"] - float(cells @ np.log(deviations[varies])), cells=(int(cells.sum()),))
    return Gapped(points, Normal(means + deviations * moved, whole * np.outer(deviations, deviations)), figures)


def require_together(present: AnyArray, places: Indices) -> None:
    """Refuses columns that no two rows have together, whose covariance nothing tells; raises GeometryError."""
    together = present.T.astype(np.float64) @ present
    if together.size and together.min() < 2:
        one, other = (int(places[i]) + 1 for i in np.unravel_index(int(together.argmin()), together.shape))
        raise GeometryError("PAIRS", f"columns {one} and {other} of the data are known together in fewer than two rows",
                            where="prepare.missing", hint="leave one of them out with --columns")


def by_likelihood(points: Array, iterate: Iterate) -> tuple[Normal, dict[str, Any]]:
    """The normal distribution under which the cells that are there are most likely, by EM from their own moments.

    Points have standardized columns. No step lowers the likelihood. Raises GeometryError for too few rows.
    """
    rows, columns = points.shape
    if rows <= columns:
        raise GeometryError("FEW-ROWS", f"{rows} rows with cells do not determine the covariance of {columns} columns",
                            where=WHERE, hint="use gaps: pairwise, or ppca, or fewer columns")
    data = Grouped.of(points)

    def step(state: Expected) -> Expected:
        return expected(moments_of(state), data)

    ended = iterate(step, expected(Normal(np.zeros(columns), np.eye(columns)), data), moved)
    figures = {"observed_log_likelihood": ended.state.objective, "em_iterations": len(ended.trace),
               "em_converged": ended.converged}
    return moments_of(ended.state), figures


def moments_of(state: Expected) -> Normal:
    """The moments of completed rows, with what is not known of their missing cells."""
    mean = state.values.mean(axis=0)
    apart = state.values - mean
    return Normal(mean, (apart.T @ apart + state.spread) / len(apart))


def moved(before: Expected, after: Expected) -> float:
    """The largest change of a mean or a covariance of standardized columns."""
    return float(max(np.abs(after.model.mean - before.model.mean).max(initial=0.0),
                     np.abs(after.model.covariance - before.model.covariance).max(initial=0.0)))


def by_pairs(points: Array) -> Normal:
    """Each column's own mean and variance, and the correlation of two over the rows that have both.

    Points have standardized columns. Such correlations may be those of no points at all: then negative eigenvalues
    are made zero, and the diagonal one again, with a warning.
    """
    there = (~np.isnan(points)).astype(np.float64)
    known = np.nan_to_num(points)
    counts, sums = there.T @ there, known.T @ there
    squares, products = (known**2).T @ there, known.T @ known
    sizes = counts * squares - sums**2
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = (counts * products - sums * sums.T) / np.sqrt(sizes * sizes.T)
    correlations = np.where(sizes * sizes.T > 0, correlations, 0.0)
    np.fill_diagonal(correlations, 1.0)
    values, vectors = symmetric_eigen(correlations)
    if len(values) and values[-1] < -len(values) * EPS * values[0]:
        note("W-INDEFINITE", f"the correlations of pairs of columns have eigenvalues down to {values[-1]:.3g}, "
             "which no complete rows have: these were made zero; gaps: likelihood has none", least=float(values[-1]))
        raised = (vectors * np.maximum(values, 0.0)) @ vectors.T
        scale = np.sqrt(np.diag(raised))
        correlations = raised / np.outer(scale, scale)
    return Normal(np.zeros(len(correlations)), correlations)
