"""The factor model of data or of a covariance, by likelihood or least squares, and its fit indices.

The formulas are those of R's factanal and psych (fa, KMO, cortest.bartlett); each function names its source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import log, pi, sqrt
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import computed, note, running
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.quantity import Quantity
from mlcli.core.iterate import Iterate, Iterated
from mlcli.core.kernels.row_factor import AnyFactor, RowFactor
from mlcli.core.latent.probabilistic import note_no_noise
from mlcli.core.latent.rotations import Rotation
from mlcli.core.linalg import inverse, symmetric_eigen
from mlcli.errors import GeometryError
from mlcli.methods.factors.factor_analysis import (
    Bounds,
    ColumnCovariance,
    FactorEstimate,
    Moments,
    Thin,
    equal_noise,
    least_squares,
    maximum_likelihood,
    regular,
)

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
                **self.rmsea(), "tli": self.tli(), "cfi": self.cfi(), "bic": self.bic()}

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

    def cfi(self) -> float | None:
        """Return the comparative fit index, 1 - (χ² - f) / (χ₀² - f₀) with differences of zero or more (Bentler, 1990).

        χ₀² and f₀ are those of a model without factors, Bartlett's test of no correlation.
        """
        alone = self.sphericity()
        if self.chi_square is None or alone["bartlett_chi_square"] is None or self.freedom <= 0:
            return None
        excess = max(self.chi_square - self.freedom, 0.0)
        without = max(float(alone["bartlett_chi_square"]) - float(alone["bartlett_degrees_of_freedom"] or 0), excess)
        return 1.0 if without == 0 else 1 - excess / without

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


Scores = Literal["regression", "bartlett"]
Estimator = Literal["ml", "minres"]


@frozen
class Observed:
    """The moments of data that factor analysis needs."""

    moments: Moments  # of the columns that vary, over their deviations
    deviations: Array  # d, 0 for a constant column; equal for all others where the noise is equal
    observations: int | None
    equal: bool  # whether the noise of all columns is equal

    @property
    def columns(self) -> Indices:
        """Indices of the columns that vary."""
        return np.flatnonzero(self.deviations)

    @property
    def size(self) -> int:
        """The number of columns that vary."""
        return len(self.moments.variances)

    @property
    def unit(self) -> float:
        """The common deviation where the noise is equal, else one."""
        return float(self.deviations.max(initial=0.0)) if self.equal else 1.0

    @property
    def variances(self) -> Array:
        """The columns' own variances (d), in the units of the data."""
        variances = np.zeros(len(self.deviations))
        variances[self.columns] = self.moments.variances * self.deviations[self.columns] ** 2
        return variances

    def standardized(self, loadings: Array) -> Array:
        """Return loadings (d x q) over the columns' deviations, zeros for a constant column."""
        deviations = self.deviations[:, None]
        return np.divide(loadings, deviations, out=np.zeros_like(loadings), where=deviations > 0)

    @property
    def total(self) -> float:
        """The total variance that sums of squared loadings are shares of."""
        return float(self.moments.variances.sum()) * self.unit**2


def point_moments(kernel: AnyFactor, equal: bool) -> Observed:
    """Return the moments of centered points (divisor n), stored on their smaller side."""
    rows, columns = kernel.factor.shape
    if columns <= rows:
        return covariance_moments(kernel.side / rows, rows, equal, np.abs(kernel.centering.means))
    factor = kernel.whole() if isinstance(kernel, RowFactor) else kernel.factor
    variances = np.einsum("ij,ij->j", factor, factor) / rows
    deviations = deviations_of(variances, equal, np.abs(kernel.centering.means))
    varying = np.flatnonzero(deviations)
    return Observed(Thin(factor[:, varying] / (deviations[varying] * np.sqrt(rows))), deviations, rows, equal)


def covariance_moments(matrix: Array, observations: int | None, equal: bool, sizes: Array | float = 0.0) -> Observed:
    """Return the moments of a covariance or correlation matrix (d x d).

    `sizes` are the sizes of the columns' means (d or one number): deviations within their rounding are zero.
    """
    deviations = deviations_of(np.diag(matrix), equal, sizes)
    varying = np.flatnonzero(deviations)
    whole = matrix[np.ix_(varying, varying)] / np.outer(deviations[varying], deviations[varying])
    return Observed(ColumnCovariance(whole), deviations, observations, equal)


def deviations_of(variances: Array, equal: bool, sizes: Array | float) -> Array:
    """Return the deviation of every column from its variance, a (d,) array, or their quadratic mean where `equal`.

    It is 0 for a column that is constant but for rounding of a mean with one of the `sizes`.
    """
    deviations = np.sqrt(variances)
    vary = deviations > 8 * EPS * (sizes + np.sqrt(variances.max(initial=0.0)) * EPS)
    common = np.sqrt(variances[vary].mean()) if vary.any() else 0.0
    return np.where(vary, common if equal else deviations, 0.0)


@frozen
class Factors:
    """A fitted factor model with rotated factors, those with the largest squared loadings first."""

    loadings: Array  # d x q, in the units of the moments' data
    axes: Array  # d x q: scores are centered columns times these
    squares: Array  # q, sums of squared loadings: of standardized columns, or in their units where noise is equal
    uniquenesses: Array  # d, as shares of the columns' variances; NaN for a constant column
    correlations: Array  # q x q, of the factors
    resting: bool = True  # whether the rotation converged
    fit: dict[str, Any] = field(default_factory=dict)
    trace: Quantity | None = None  # the log-likelihood after each step; without n, twice that of one observation

    def covariance(self, observed: Observed) -> Array:
        """Return the covariance Λ Φ Λᵀ + Ψ (d x d) of the model."""
        noise = np.nan_to_num(self.uniquenesses) * observed.variances
        return np.asarray(self.loadings @ self.correlations @ self.loadings.T + np.diag(noise))

    def with_signs(self, signs: Array) -> "Factors":
        """Return the model with factors multiplied by signs, a (q,) array."""
        correlations = self.correlations * np.outer(signs, signs) + 0.0
        fit = {**self.fit, "factor_correlations": correlations.tolist()} if self.fit else {}
        return replace(self, loadings=self.loadings * signs, axes=self.axes * signs, correlations=correlations, fit=fit)


def fit_factors(observed: Observed, *, count: int, lower: float, rotation: Rotation, scores: Scores, iterate: Iterate,
                names: Sequence[str], estimator: Estimator = "ml") -> Factors:
    """Return the factor model of largest likelihood, or of least squared residuals, with `count` factors at most.

    Raises GeometryError.
    """
    if not observed.size:
        return empty_factors(observed)
    computed("moments", observed)
    count = identifiable_count(count, observed)
    result = estimate_factors(observed, count, lower, iterate, estimator)
    found = rotate_factors(result.state, observed, count, rotation, scores)
    if not observed.equal:
        note_heywood(found, lower, names)
    found = replace(found, fit=figures(result.state, found, observed, names))
    if observed.equal:
        return found
    if estimator == "minres":
        return replace(found, fit=found.fit | result.facts)
    trace = log_likelihood(-result.trace, observed) or Quantity(result.trace)
    return replace(found, fit=found.fit | result.facts, trace=trace)


def most_factors(columns: int, equal: bool) -> int:
    """Return the largest number of factors with no more parameters than the covariance has (Ledermann's bound)."""
    return columns - 1 if equal else int(columns + 0.5 - sqrt(2 * columns + 0.25))


def identifiable_count(count: int, observed: Observed) -> int:
    """Return the number of factors, at most those that the varying columns determine, at least one.

    Raises GeometryError where only one column varies.
    """
    if observed.size < 2:
        raise GeometryError("COLUMNS", "only one column varies, so it shares no factor with another",
                            where="method.name", hint="give three columns or more, or use pca")
    most = most_factors(observed.size, observed.equal)
    if most < 1:
        note("W-NOT-IDENTIFIED", "two columns vary: one factor fits them in many ways, and this is one of them")
        return 1
    if count > most:
        note("W-RANK", f"kept {most} of {count} factors: {observed.size} columns vary")
    return min(count, most)


def estimate_factors(observed: Observed, factors: int, lower: float, iterate: Iterate,
                     estimator: Estimator = "ml") -> Iterated[FactorEstimate]:
    """Return the maximum of the likelihood, or the least squared residuals; notes factors that carry nothing."""
    if observed.equal:
        with running("eigensolve"):
            state = equal_noise(observed.moments, factors)
        result = Iterated(state, np.zeros(0), True)
        if state.noiseless:
            note_no_noise()
    elif estimator == "minres":

        result = least_squares(observed.moments, factors, Bounds.of(observed.moments, lower), iterate)
    else:
        result = maximum_likelihood(observed.moments, factors, Bounds.of(observed.moments, lower), iterate)
    if result.state.active < factors:
        note("W-RANK", f"{factors - result.state.active} of {factors} factors have no effect: their loadings are zero")
    return result


def rotate_factors(state: FactorEstimate, observed: Observed, factors: int, rotation: Rotation,
                   scores: Scores) -> Factors:
    """Return rotated factors: loadings Λ T, axes of scores B T⁻ᵀ, and correlations T⁻¹ T⁻ᵀ."""
    theta, deviations = state.values[: state.active], observed.deviations[observed.columns, None]
    turn = rotation.turn(state.loadings)
    back = inverse(turn.matrix, where="method.axes.components", hint="ask for fewer factors").T
    back = back if state.turn is None else state.turn @ back
    whitened = state.vectors[:, : state.active] / np.sqrt(state.uniquenesses)[:, None]
    shrinkage = np.sqrt(theta - 1) / theta if scores == "regression" else 1 / np.sqrt(theta - 1)
    loadings, weights = state.loadings @ turn.matrix, (whitened * shrinkage) @ back
    squares = (loadings**2).sum(axis=0)
    order = np.argsort(-squares, kind="stable")
    correlations = np.eye(factors)
    correlations[: state.active, : state.active] = (back.T @ back)[np.ix_(order, order)]
    uniquenesses = np.full(len(observed.deviations), np.nan)
    uniquenesses[observed.columns] = state.uniquenesses / observed.moments.variances
    return Factors(loadings=widen(loadings[:, order] * deviations, observed, factors),
                   axes=widen(weights[:, order] / deviations, observed, factors),
                   squares=np.pad(squares[order] * observed.unit**2, (0, factors - state.active)),
                   uniquenesses=uniquenesses, correlations=correlations, resting=turn.converged)


def widen(values: Array, observed: Observed, factors: int) -> Array:
    """Return values (m x a) with rows for all columns and columns for all factors (d x q), zeros in the new ones."""
    whole = np.zeros((len(observed.deviations), factors))
    whole[observed.columns, : values.shape[1]] = values
    return whole


def empty_factors(observed: Observed) -> Factors:
    """Return one factor without loadings, for data that does not vary."""
    note("W-RANK", "no column varies: the embedding is zero")
    zeros = np.zeros((len(observed.deviations), 1))
    return Factors(loadings=zeros, axes=zeros, squares=np.zeros(1), uniquenesses=np.full(len(zeros), np.nan),
                   correlations=np.eye(1))


def note_heywood(factors: Factors, lower: float, names: Sequence[str]) -> None:
    """Note the columns whose uniqueness is the smallest allowed."""
    at_bound = [names[column] for column in np.flatnonzero(factors.uniquenesses <= lower * (1 + 1e-9)).tolist()]
    if at_bound:
        more = ", ..." if len(at_bound) > 5 else ""
        note("W-HEYWOOD", f"uniquenesses at their lower bound {lower:g}: {', '.join(at_bound[:5])}{more}; there may be "
             "too many factors or too few points", columns=at_bound[:100])


def log_likelihood(f: Array | float, observed: Observed) -> Quantity | None:
    """Return -n/2 (d ln 2π + log |Σ| + tr Σ⁻¹S) for each f, an (m,) array or a number; None without n."""
    if observed.observations is None:
        return None
    logs = 2 * float(np.log(observed.deviations[observed.columns]).sum())
    return Quantity(-0.5 * observed.observations * (observed.size * log(2 * pi) + logs + f),
                    cells=(observed.observations * observed.size,))


def figures(state: FactorEstimate, found: Factors, observed: Observed, names: Sequence[str]) -> dict[str, Any]:
    """Return the entries of a model's `fit`."""
    factors = len(found.correlations)
    unbounded = observed.equal and state.noiseless
    given: dict[str, Any] = {"log_likelihood": None if unbounded else log_likelihood(state.f, observed)}
    if observed.equal:
        given["noise_variance"] = Quantity(float(state.uniquenesses[0]) * observed.unit**2, 2)
    else:
        given |= indices(state, observed, factors, names)
    if not found.resting:
        given["rotation_converged"] = False
    return given | {"uniquenesses": dict(zip(names, found.uniquenesses.tolist(), strict=True)),
                    "variances": Quantity(observed.variances, 2, names=names)}


def indices(state: FactorEstimate, observed: Observed, factors: int, names: Sequence[str]) -> dict[str, Any]:
    """Return the test of the number of factors, the indices of the fit, and the columns' sampling adequacy."""
    if observed.observations is None:
        note("N-OBSERVATIONS", "chi-square with its p-value, RMSEA, TLI, CFI, BIC and Bartlett's test need the number "
             "of observations: give input.observations")
    moments, size = observed.moments, observed.size
    if not isinstance(moments, ColumnCovariance):
        return {**GoodnessOfFit(columns=size, factors=factors, discrepancy=None, alone=None,
                                observations=observed.observations).figures()}
    determinant, correlations = moments.log_determinant, moments.matrix
    found = GoodnessOfFit(
        columns=size, factors=factors, observations=observed.observations,
        discrepancy=None if determinant is None else max(state.f - determinant - size, 0.0),
        alone=None if determinant is None else max(-determinant, 0.0))
    adequacy = np.full(len(observed.deviations), np.nan)
    if (shared := sampling_adequacy(correlations)) is not None:
        adequacy[observed.columns] = shared[1]
    return {**found.figures(), "rmsr": residual_size(correlations, state.loadings),
            "kmo": None if shared is None else shared[0], **found.sphericity(),
            "sampling_adequacy": dict(zip(names, adequacy.tolist(), strict=True))}
