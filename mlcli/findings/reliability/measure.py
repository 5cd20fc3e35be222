"""Coefficients of reliability and statistics of items: alpha, omega total and hierarchical, from a fit and its input.

Source: Cronbach, 1951; McDonald, "Test theory", 1999; Schmid and Leiman, "The development of hierarchical factor
solutions", 1957; Zinbarg and others, 2005; R's psych (`alpha`, `omega`, `schmid`).
"""

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import no_listeners, note
from mlcli.base.types import Array
from mlcli.base.values.naming import listed
from mlcli.base.values.scaling import all_finite
from mlcli.core.iterate import Iterate
from mlcli.core.latent.rotations import Oblimin
from mlcli.core.linalg import inverse
from mlcli.core.similarities.projector import Projector
from mlcli.data.table.table import Table
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.findings.frame.result import Result
from mlcli.findings.reliability import FIGURES, ITEMS
from mlcli.methods.factors.factor_analysis import Bounds, ColumnCovariance, least_squares

SMALLEST = 0.005  # uniqueness of a factor of factors
OBLIQUE = 1e-12  # correlations of factors beyond which they are oblique


def alpha(covariance: Array) -> float:
    """Return Cronbach's alpha of items with a covariance (d x d): d / (d - 1) (1 - tr C / Σ C)."""
    size, total = len(covariance), float(covariance.sum())
    return size / (size - 1) * (1 - float(np.trace(covariance)) / total) if size > 1 and total > 0 else float("nan")


@frozen
class ItemStatistics:
    """Correlations of items with the sum of all, with the sum of the others, and alpha without each item; (d) each."""

    whole: Array
    others: Array
    alpha_without: Array

    @classmethod
    def of(cls, covariance: Array) -> "ItemStatistics":
        """Return the statistics of items with a covariance (d x d)."""
        sums, variances, total = covariance.sum(axis=1), np.diag(covariance), float(covariance.sum())
        rest = np.maximum(total - 2 * sums + variances, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            whole, others = sums / np.sqrt(variances * total), (sums - variances) / np.sqrt(variances * rest)
        places = np.arange(len(covariance))
        left = [alpha(covariance[np.ix_(places != place, places != place)]) for place in places]
        return cls(whole, others, np.array(left))


@frozen
class SchmidLeiman:
    """A general factor and group factors without correlations, which explain as much as correlated factors."""

    general: Array  # d
    groups: Array  # d x q; none of one factor
    communalities: Array  # d

    @classmethod
    def of(cls, pattern: Array, factors: Array) -> "SchmidLeiman":
        """Return the solution of standardized loadings (d x q) on factors with correlations (q x q).

        Uncorrelated factors are first turned by oblimin. The factors' own factor has the least squared residuals; of
        two factors, whose correlation alone determines no loadings, it loads equally on both.
        """
        communalities = np.einsum("ij,ij->i", pattern @ factors, pattern)
        if pattern.shape[1] == 1:
            return cls(pattern[:, 0], np.zeros((len(pattern), 0)), communalities)
        if np.abs(factors - np.eye(len(factors))).max() <= OBLIQUE:
            turn = Oblimin().turn(pattern).matrix
            back = inverse(turn, where="report.reliability", hint="ask for fewer factors")
            pattern, factors = pattern @ turn, back @ back.T
        shared = factor_of_factors(factors)
        return cls(pattern @ shared, pattern * np.sqrt(1 - shared**2), communalities)

    def omega(self, correlations: Array) -> tuple[float, float]:
        """Return omega total, 1 - Σ u² / Σ R, and hierarchical, (Σ g)² / Σ R, for correlations (d x d).

        One factor has no groups to tell a general one from, so that hierarchical is NaN there, as psych's is left out.
        """
        total = float(correlations.sum())
        if total <= 0:
            return float("nan"), float("nan")
        hierarchical = float(self.general.sum()) ** 2 / total if self.groups.shape[1] else float("nan")
        return 1 - float((1 - self.communalities).sum()) / total, hierarchical


def factor_of_factors(factors: Array) -> Array:
    """Return the loadings (q) of correlated factors (q x q) on one factor, with a sum that is not negative."""
    if len(factors) == 2:
        shared = sqrt(abs(float(factors[0, 1])))
        return np.array([shared, shared if factors[0, 1] >= 0 else -shared])
    whole = ColumnCovariance(factors)
    with no_listeners():
        found = least_squares(whole, 1, Bounds.of(whole, SMALLEST), Iterate(tolerance=1e-12)).state
    loadings = found.loadings[:, 0] if found.active else np.zeros(len(factors))
    return np.asarray(loadings * (-1.0 if loadings.sum() < 0 else 1.0))


def measure_reliability(result: Result) -> Mapping[str, Any] | None:
    """Return reliability.json and items.csv of the columns that vary; None of fewer than two.

    Alpha and the statistics are of the items' covariance (of missing answers the one that the method estimates);
    omega and standardized alpha are of the correlations that were fitted.
    """
    table, fit = items_table(result), result.model.fit
    loadings = result.model.loadings
    if loadings is None or rows_of(table.values) is not None:
        note("N-RELIABILITY", "reliability was not computed: it needs the table in memory, and loadings")
        return None
    means, covariance = moments_of(table, result)
    varying = np.flatnonzero(np.diag(covariance) > 0)
    if len(varying) < 2:
        return None
    covariance = covariance[np.ix_(varying, varying)]
    roots = np.sqrt(np.diag(covariance))
    correlations = fitted_correlations(fit, covariance / np.outer(roots, roots))
    factors = np.array(fit["factor_correlations"], dtype=np.float64)
    solution = SchmidLeiman.of(loadings.values[varying] / roots[:, None], factors)
    total, hierarchical = solution.omega(correlations)
    statistics = ItemStatistics.of(covariance)
    names = tuple(table.columns[place] for place in varying.tolist())
    if turned := [name for name, value in zip(names, statistics.others.tolist(), strict=True) if value < 0]:
        note("W-KEYED", f"items that correlate negatively with the sum of the others: {listed(turned)}; are they "
             "reverse-keyed? give {input.reverse}", columns=turned)
    size = len(names)
    unbiased = table.rows / (table.rows - 1) if table.rows > 1 else 1.0
    figures = {"items": size, "factors": len(factors), "alpha": alpha(covariance),
               "alpha_standardized": alpha(correlations),
               "average_correlation": float(correlations.sum() - size) / (size * (size - 1)),
               "omega_total": total, "omega_hierarchical": hierarchical}
    columns: dict[str, Any] = {
        "item": names, "mean": means[varying], "deviation": np.sqrt(np.diag(covariance) * unbiased),
        "total_correlation": statistics.whole, "corrected_correlation": statistics.others,
        "alpha_without": statistics.alpha_without, "general": solution.general,
        **{f"group{place}": column for place, column in enumerate(solution.groups.T, 1)},
        "communality": solution.communalities, "uniqueness": 1 - solution.communalities}
    return {FIGURES.name: {name: value if np.isfinite(value) else None for name, value in figures.items()},
            ITEMS.name: CsvColumns(columns)}


def items_table(result: Result) -> Table:
    """Return the rows that were embedded, or the covariance, which has none."""
    return result.method_input if result.method_input.kind == "covariance" else result.prepared


def moments_of(table: Table, result: Result) -> tuple[Array, Array]:
    """Return means (d; NaN of a covariance) and covariance (d x d, divisor n) of a table."""
    if table.kind == "covariance":
        return np.full(len(table.columns), np.nan), table.values
    if all_finite(table.values):
        means = table.values.mean(axis=0)
        apart = table.values - means
        return means, apart.T @ apart / len(apart)
    projector = result.model.projector
    assert isinstance(projector, Projector)
    moments, unit = projector.similarity.column_moments, projector.input_unit
    assert moments is not None
    return np.nanmean(table.values, axis=0), (unit**2).plain(moments)


def fitted_correlations(fit: Mapping[str, Any], correlations: Array) -> Array:
    """Return the correlations (d x d) that were fitted: those of the items, or polychoric ones."""
    if not fit.get("polychoric"):
        return correlations
    from mlcli.core.latent.polychoric import definite

    return definite(np.array(fit["polychoric"], dtype=np.float64))
