"""Means and covariance of points with missing cells: by pairs of columns, or by maximum likelihood (EM).

Cells are missing at random: whether one is missing may depend on the observed cells. Source: Little and Rubin,
"Statistical analysis with missing data", 2002, chapter 11; Orchard and Woodbury, 1972.
"""

from dataclasses import field, replace
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.stored import result, stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.quantity import Quantity
from mlcli.core.centering import Centering
from mlcli.core.iterate import Iterate
from mlcli.core.latent.probabilistic import Grouped
from mlcli.core.linalg import inverse, symmetric_eigen
from mlcli.errors import GeometryError

Gaps = Literal["likelihood", "pairwise"]
WHERE, REMEDY = "method.gaps", "leave columns out with {input.columns}, or choose prepare.missing: mean"


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
    """A distribution, and the conditional moments of missing cells under it (the E-step)."""

    model: Normal
    values: Array  # n x d, rows as grouped: missing cells at their conditional means
    spread: Array  # d x d, the sum over rows of the conditional covariances of their missing cells
    objective: float  # the log-likelihood of the observed cells


def expectation(model: Normal, data: Grouped) -> Expected:
    """Return the conditional moments of missing cells given the others of their row; raises NumericalError."""
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


def complete_points(model: Normal, points: Array) -> Array:
    """Return points (n x d; NaN where missing) with missing cells at their conditional means."""
    data = Grouped.of(points)
    values = np.empty_like(points)
    values[data.order] = expectation(model, data).values
    return values


@frozen
class GappedPoints:
    """Points with missing cells, and estimates of their moments."""

    points: Array  # n x d
    moments: Normal
    figures: dict[str, Any] = field(default_factory=dict)
    model: Normal | None = None  # the distribution that completes rows

    @property
    def observations(self) -> int:
        """The number of rows with an observed cell."""
        return int((~np.isnan(self.points)).any(axis=1).sum())

    @property
    def centering(self) -> Centering:
        """The centering of columns by their means."""
        return Centering(self.moments.mean, across=False)

    def with_model(self, model: Normal) -> "GappedPoints":
        """Return the points with a model that completes their rows."""
        return replace(self, model=model)

    def lift(self, axes: Array) -> Array:
        """Return the coordinates (n x q) of completed rows on axes (d x q)."""
        assert self.model is not None
        return self.centering(complete_points(self.model, self.points)) @ axes


def estimate_moments(points: Array, how: Gaps, iterate: Iterate) -> GappedPoints:
    """Estimate the moments of points with missing cells (n x d; every column has a cell); raises GeometryError."""
    present = ~np.isnan(points)
    means = np.nanmean(points, axis=0)
    means = means + np.nanmean(points - means, axis=0)
    deviations = np.sqrt(np.nanmean((points - means) ** 2, axis=0))
    varies = deviations > 8 * EPS * np.abs(means)
    deviations = np.where(varies, deviations, 0.0)
    seen = present[:, varies].any(axis=1)
    standard = (points - means)[np.ix_(seen, varies)] / deviations[varies]
    require_common_rows(present[np.ix_(seen, varies)], np.flatnonzero(varies))
    found, figures = (moments_by_pairs(standard), {}) if how == "pairwise" else moments_by_likelihood(standard, iterate)
    moved, whole = np.zeros(len(means)), np.zeros((len(means), len(means)))
    moved[varies], whole[np.ix_(varies, varies)] = found.mean, found.covariance
    if "observed_log_likelihood" in figures:
        cells = present[np.ix_(seen, varies)].sum(axis=0)
        figures["observed_log_likelihood"] = Quantity(
            figures["observed_log_likelihood"] - float(cells @ np.log(deviations[varies])), cells=(int(cells.sum()),))
    return GappedPoints(points, Normal(means + deviations * moved, whole * np.outer(deviations, deviations)), figures)


def require_common_rows(present: AnyArray, places: Indices) -> None:
    """Raise GeometryError for two columns observed together in fewer than two rows, which have no covariance.

    `present` is an (n, d) array of booleans, `places` (d) the columns' indices in the data.
    """
    together = present.T.astype(np.float64) @ present
    if together.size and together.min() < 2:
        one, other = (int(places[i]) + 1 for i in np.unravel_index(int(together.argmin()), together.shape))
        raise GeometryError("PAIRS", f"fewer than two rows have values in both columns {one} and {other} of the data",
                            where="prepare.missing", hint="leave one of them out with {input.columns}")


def moments_by_likelihood(points: Array, iterate: Iterate) -> tuple[Normal, dict[str, Any]]:
    """Return the normal distribution of largest likelihood of the observed cells, by EM, with its entries of `fit`.

    Points (n x d) have standardized columns. No step lowers the likelihood. Raises GeometryError for too few rows.
    """
    rows, columns = points.shape
    if rows <= columns:
        raise GeometryError("FEW-ROWS", f"{rows} rows are too few to estimate the covariance of {columns} columns",
                            where=WHERE, hint="use gaps: pairwise, or ppca, or fewer columns")
    data = Grouped.of(points)

    def step(state: Expected) -> Expected:
        return expectation(completed_moments(state), data)

    ended = iterate(step, expectation(Normal(np.zeros(columns), np.eye(columns)), data), largest_change)
    figures = {"observed_log_likelihood": ended.state.objective, "em_iterations": len(ended.trace),
               "em_converged": ended.converged}
    return completed_moments(ended.state), figures


def completed_moments(state: Expected) -> Normal:
    """Return the M-step: moments of completed rows, with the conditional covariances of missing cells added."""
    mean = state.values.mean(axis=0)
    apart = state.values - mean
    return Normal(mean, (apart.T @ apart + state.spread) / len(apart))


def largest_change(before: Expected, after: Expected) -> float:
    """Return the largest change of a mean or a covariance of standardized columns."""
    return float(max(np.abs(after.model.mean - before.model.mean).max(initial=0.0),
                     np.abs(after.model.covariance - before.model.covariance).max(initial=0.0)))


def moments_by_pairs(points: Array) -> Normal:
    """Return the normal distribution with the correlations of column pairs over the rows that have both.

    Points (n x d) have standardized columns. The correlations may be indefinite: then negative eigenvalues are made
    zero, and the diagonal one again, with a warning.
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
        note("W-INDEFINITE", f"the pairwise correlations have negative eigenvalues, down to {values[-1]:.3g}, which "
             "were set to zero; method.gaps: likelihood avoids this", least=float(values[-1]))
        raised = (vectors * np.maximum(values, 0.0)) @ vectors.T
        scale = np.sqrt(np.diag(raised))
        correlations = raised / np.outer(scale, scale)
    return Normal(np.zeros(len(correlations)), correlations)
