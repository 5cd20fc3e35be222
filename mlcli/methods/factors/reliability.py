"""Reliability of the sum of items: alpha, omega total and hierarchical, and the statistics of each item.

Source: Cronbach, 1951; McDonald, "Test theory", 1999; Schmid and Leiman, "The development of hierarchical factor
solutions", 1957; Zinbarg and others, 2005; R's psych (`alpha`, `omega`, `schmid`).
"""

from math import sqrt

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array
from mlcli.core.iterate import Iterate
from mlcli.core.latent.rotations import Oblimin
from mlcli.core.linalg import inverse
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
