"""The factor model of data or of a covariance: columns in units of their deviations, loadings, scores, figures."""

from collections.abc import Sequence
from dataclasses import field, replace
from math import log, pi, sqrt
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note, running
from mlcli.base.types import Array, Indices
from mlcli.base.values.quantity import Quantity
from mlcli.errors import GeometryError
from mlcli.stages.algebra.iterate import Iterate, Iterated
from mlcli.stages.algebra.linalg import EPS, inverse
from mlcli.stages.kernels.row_factor import AnyFactor, RowFactor
from mlcli.stages.latent.factor_analysis import Bounds, Estimate, Moments, Thin, Whole, equal_noise, maximum_likelihood
from mlcli.stages.latent.fit_indices import GoodnessOfFit, residual_size, sampling_adequacy
from mlcli.stages.latent.model import note_no_noise
from mlcli.stages.latent.rotations import Rotation

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
    return Observed(Whole(whole), deviations, observations, equal)


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
                     estimator: Estimator = "ml") -> Iterated[Estimate]:
    """Return the maximum of the likelihood, or the least squared residuals; notes factors that carry nothing."""
    if observed.equal:
        with running("eigensolve"):
            state = equal_noise(observed.moments, factors)
        result = Iterated(state, np.zeros(0), True)
        if state.noiseless:
            note_no_noise()
    elif estimator == "minres":
        from mlcli.stages.latent.least_squares import least_squares

        result = least_squares(observed.moments, factors, Bounds.of(observed.moments, lower), iterate)
    else:
        result = maximum_likelihood(observed.moments, factors, Bounds.of(observed.moments, lower), iterate)
    if result.state.active < factors:
        note("W-RANK", f"{factors - result.state.active} of {factors} factors have no effect: their loadings are zero")
    return result


def rotate_factors(state: Estimate, observed: Observed, factors: int, rotation: Rotation, scores: Scores) -> Factors:
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


def figures(state: Estimate, found: Factors, observed: Observed, names: Sequence[str]) -> dict[str, Any]:
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


def indices(state: Estimate, observed: Observed, factors: int, names: Sequence[str]) -> dict[str, Any]:
    """Return the test of the number of factors, the indices of the fit, and the columns' sampling adequacy."""
    if observed.observations is None:
        note("N-OBSERVATIONS", "chi-square with its p-value, RMSEA, TLI, BIC and Bartlett's test need the number of "
             "observations: give input.observations")
    moments, size = observed.moments, observed.size
    if not isinstance(moments, Whole):
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
