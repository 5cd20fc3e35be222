"""Fit indices of a factor model: likelihood-ratio test, RMSEA, TLI, RMSR, BIC, sampling adequacy and sphericity.

The formulas are those of R's factanal and psych (fa, KMO, cortest.bartlett); each function names its source.
"""

from collections.abc import Mapping
from math import log, sqrt

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.stages.algebra.linalg import symmetric_eigen
from mlcli.stages.latent.factor_analysis import regular

OUTSIDE = 0.05  # of the probability, on either side of an interval of 90%

Figures = Mapping[str, float | None]


@frozen
class GoodnessOfFit:
    """The discrepancy of a model of d columns with q factors, and the indices that follow from it."""

    columns: int
    factors: int
    discrepancy: float | None  # log |Σ| - log |S| + tr Σ⁻¹S - d; None where S is singular
    alone: float | None  # the discrepancy of a model without factors
    observations: int | None

    @property
    def freedom(self) -> int:
        """Degrees of freedom; below zero where the model is not determined."""
        return int((self.columns - self.factors) ** 2 - self.columns - self.factors) // 2

    @property
    def weight(self) -> float | None:
        """The factor from a discrepancy to a chi-square: n - 1 with Bartlett's correction."""
        return None if self.observations is None else (
            self.observations - 1 - (2 * self.columns + 5) / 6 - 2 * self.factors / 3)

    @property
    def chi_square(self) -> float | None:
        """The likelihood ratio against any covariance at all, with Bartlett's correction."""
        weight, discrepancy = self.weight, self.discrepancy
        return None if weight is None or discrepancy is None or self.freedom < 0 else weight * discrepancy

    def figures(self) -> Figures:
        """Return the test that the number of factors is sufficient, and the indices that follow from it."""
        chi_square, freedom = self.chi_square, self.freedom
        return {"discrepancy": self.discrepancy, "chi_square": chi_square, "degrees_of_freedom": freedom,
                "p_value": None if chi_square is None else p_value(chi_square, freedom),
                **self.rmsea(), "tli": self.tli(), "bic": self.bic()}

    def rmsea(self) -> Figures:
        """Return the root mean square error of approximation with its 90% interval (Steiger, 1990; psych).

        √(χ² / (n f) - 1 / (n - 1)), f the degrees of freedom; 0 where the root is not real.
        """
        chi_square, freedom, count = self.chi_square, self.freedom, self.observations
        if chi_square is None or count is None or freedom <= 0 or count < 2:
            return {"rmsea": None, "rmsea_lower": None, "rmsea_upper": None}
        lower, upper = (sqrt(noncentrality(chi_square, freedom, share) / (count - 1) / freedom)
                        for share in (1 - OUTSIDE, OUTSIDE))
        found = sqrt(max(chi_square / (freedom * count) - 1 / (count - 1), 0.0))
        return {"rmsea": found, "rmsea_lower": lower, "rmsea_upper": upper}

    def tli(self) -> float | None:
        """Return the Tucker-Lewis index (1973), the reliability of the model: 1 where residuals are chance alone."""
        if self.discrepancy is None or self.alone is None or not self.weight or self.freedom <= 0:
            return None
        without = self.alone / (self.columns * (self.columns - 1) / 2)
        return (without - self.discrepancy / self.freedom) / (without - 1 / self.weight)

    def bic(self) -> float | None:
        """Return χ² less ln n for each degree of freedom: the model with the least is preferred (Schwarz, 1978)."""
        if self.chi_square is None or self.observations is None:
            return None
        return self.chi_square - self.freedom * log(self.observations)

    def sphericity(self) -> Figures:
        """Return Bartlett's test of no correlation: -ln |R| (n - 1 - (2 d + 5) / 6), d (d - 1) / 2 degrees (1951)."""
        size, count, freedom = self.columns, self.observations, self.columns * (self.columns - 1) // 2
        weighed = None if count is None or self.alone is None else self.alone * (count - 1 - (2 * size + 5) / 6)
        return {"bartlett_chi_square": weighed, "bartlett_degrees_of_freedom": freedom,
                "bartlett_p_value": None if weighed is None else p_value(weighed, freedom)}


def p_value(chi_square: float, freedom: int) -> float | None:
    """Return the probability of a chi-square at least as large by chance; None without a degree of freedom."""
    if freedom <= 0:
        return None
    from scipy.special import gammaincc

    return float(gammaincc(freedom / 2, max(chi_square, 0.0) / 2))


def noncentrality(chi_square: float, freedom: int, share: float) -> float:
    """Return the noncentrality at which a `share` of chi-squares is no larger; 0 if it is less for a central one."""
    from scipy.special import chndtr, chndtrinc

    if chndtr(chi_square, freedom, 0.0) <= share:
        return 0.0
    return float(chndtrinc(chi_square, freedom, share))


def sampling_adequacy(correlations: Array) -> tuple[float, Array] | None:
    """Return Kaiser's, Meyer's and Olkin's measure for R (d x d), of all columns and of each (d).

    It is the sum of squared correlations over that of squared correlations and squared partial correlations given all
    other columns (Kaiser, 1974). None where R is singular.
    """
    values, vectors = symmetric_eigen(correlations)
    if not regular(values):
        return None
    inverse = (vectors / values) @ vectors.T
    scale = np.sqrt(np.diag(inverse))
    apart = ~np.eye(len(correlations), dtype=bool)
    squares, partial = correlations**2 * apart, (inverse / np.outer(scale, scale)) ** 2 * apart
    of_all, of_each = squares.sum(), squares.sum(axis=0)
    both = of_each + partial.sum(axis=0)
    each = np.divide(of_each, both, out=np.full(len(both), np.nan), where=both > 0)
    whole = float(of_all + partial.sum())
    return (float(of_all) / whole if whole > 0 else float("nan")), each


def residual_size(correlations: Array, loadings: Array) -> float:
    """Return the root mean square residual of correlations (d x d) off the diagonal; loadings (d x q), orthogonal."""
    rest = correlations - loadings @ loadings.T
    size = len(rest)
    return sqrt(float(np.sum(rest**2) - np.sum(np.diag(rest) ** 2)) / (size * (size - 1)))
