"""The linear-Gaussian latent model with equal noise, y = μ + W x + ε: in closed form, or by EM.

The coordinates are the only hidden variables: a missing cell takes no part in the likelihood, and needs none in
the steps. Source: Tipping and Bishop, 1999; Ilin and Raiko, "Practical approaches to PCA in the presence of
missing values", 2010.
"""

from dataclasses import field, replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import pass_cost, rates
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.scratch import map_blocks
from mlcli.base.stages.stage import note, stage
from mlcli.base.stored import result, stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.base.values.signs import leading_signs
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.euclidean_distances import BLOCK
from mlcli.core.iterate import Iterate, Iterated
from mlcli.core.kernels.row_factor import factor_of
from mlcli.core.linalg import inverse, root_positive, symmetric_eigen
from mlcli.errors import ConfigError

COUNT, FEWER = "method.eigensolve.components", "ask for fewer axes"  # where systems are singular


@stored("latent", mean="d", loadings="dq")
@result("latent")
@frozen
class Latent:
    """The parameters of the model."""

    mean: Array  # d
    loadings: Array  # d x q
    noise: float  # σ²

    @property
    def lengths(self) -> Array:
        """The squared lengths of the loadings (q)."""
        return np.einsum("ij,ij->j", self.loadings, self.loadings)

    @property
    def axes(self) -> Array:
        """W M⁻¹ (d x q) with M = WᵀW + σ² I, of orthogonal loadings: complete rows lie at (y - μ)ᵀ W M⁻¹."""
        sizes = self.lengths + self.noise
        return np.divide(self.loadings, sizes, out=np.zeros_like(self.loadings), where=sizes > 0)

    @property
    def spread(self) -> Array:
        """The posterior covariance σ² M⁻¹ (q x q) of a complete row, of orthogonal loadings."""
        sizes = self.lengths + self.noise
        return np.diag(np.divide(self.noise, sizes, out=np.ones_like(sizes), where=sizes > 0))

    def principal(self) -> "Latent":
        """Return the same distribution with orthogonal loadings, longest first: the basis of the closed form."""
        _, turn = symmetric_eigen(self.loadings.T @ self.loadings)
        return Latent(self.mean, self.loadings @ turn, self.noise)

    def with_signs(self, signs: Array) -> "Latent":
        """Return the same distribution with axes multiplied by signs, a (q,) array."""
        return Latent(self.mean, self.loadings * signs, self.noise)

    def variances(self) -> Array:
        """Return the eigenvalues (d, descending) of the covariance WWᵀ + σ² I, for orthogonal loadings."""
        signal = np.zeros(len(self.loadings))
        signal[: self.loadings.shape[1]] = self.lengths
        return signal + self.noise


@frozen
class Grouped:
    """Points with missing cells, sorted so that rows with the same cells missing are adjacent."""

    values: Array  # n x d, zero where missing
    observed: Array  # g x d, 1 where the cells of a group are observed
    group: Indices  # n, ascending
    order: Indices  # n: the rows' places in the data

    @classmethod
    def of(cls, points: Array) -> "Grouped":
        """Return the groups of points (n x d, NaN where missing); complete points are one group."""
        packed = np.packbits(~np.isnan(points), axis=1)
        _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        return cls(np.nan_to_num(points[order]), (~np.isnan(points[first])).astype(np.float64),
                   group.ravel()[order], order)

    @property
    def counts(self) -> Array:
        """The number of rows in each group (g)."""
        return np.bincount(self.group, minlength=len(self.observed)).astype(np.float64)

    @property
    def cells(self) -> int:
        """The number of observed cells."""
        return int(self.counts @ self.observed.sum(axis=1))

    def blocks(self, width: int) -> list[slice]:
        """Return the rows in blocks of about BLOCK numbers, `width` in each row."""
        return row_blocks(len(self.values), BLOCK, width)


@result("posterior")
@frozen
class Posterior:
    """The posterior of each row's coordinates, x | y ~ N(mean, σ² M⁻¹), with one covariance for each group."""

    means: Array  # n x q, rows as grouped
    covariances: Array  # g x q x q
    log_likelihood: float  # of all observed cells


def posterior(model: Latent, data: Grouped) -> Posterior:
    """Return the posterior of each row given its observed cells, and their log-likelihood, constants included.

    Without noise a coordinate that a row's cells do not determine is zero, and the likelihood is unbounded.
    """
    size = model.loadings.shape[1]
    squares = (model.loadings[:, :, None] * model.loadings[:, None, :]).reshape(len(model.loadings), size * size)
    inner = (data.observed @ squares).reshape(-1, size, size) + model.noise * np.eye(size)
    inverses = (inverse(inner, where=COUNT, hint=FEWER) if model.noise > 0
                else np.asarray(np.linalg.pinv(inner, hermitian=True)))
    means, distance = np.empty((len(data.values), size)), 0.0
    for rows in data.blocks(len(model.loadings) + size * size):
        residuals = (data.values[rows] - model.mean) * data.observed[data.group[rows]]
        lowered = residuals @ model.loadings
        means[rows] = np.einsum("nij,nj->ni", inverses[data.group[rows]], lowered)
        unexplained = residuals - (means[rows] @ model.loadings.T) * data.observed[data.group[rows]]
        distance += float(np.sum(unexplained**2)) / (model.noise or 1.0) + float(np.sum(means[rows] ** 2))
    if model.noise == 0:
        return Posterior(means, 0.0 * inverses, np.inf)
    counts, present = data.counts, data.observed.sum(axis=1)
    logs = np.linalg.slogdet(inner)[1] + (present - size) * np.log(model.noise)
    value = -0.5 * float(counts @ (present * np.log(2 * np.pi) + logs) + distance)
    return Posterior(means, model.noise * inverses, value)


def closed_form(mean: Array, directions: Array, variances: Array, noise: float) -> Latent:
    """Return the model of largest likelihood, W = U (Λ - σ²)^½ (Tipping and Bishop, 1999).

    `mean` is (d,), `directions` U (d x q), `variances` Λ (q) and `noise` σ².
    """
    return Latent(mean, directions * np.sqrt(np.maximum(variances - noise, 0.0)), noise)


def mean_of_discarded(spectrum: Spectrum, size: int) -> float:
    """Return σ²: the mean of the d - q discarded eigenvalues, those not computed included; 0 where it is rounding."""
    values, count = spectrum.solved, len(spectrum.axis_eigenvalues)
    rest = values[count:].sum() if spectrum.complete else spectrum.solved_trace - values[:count].sum()
    mean = float(rest) / max(size - count, 1)
    return mean / spectrum.divisor if mean > negligible(values, size) else 0.0


def negligible(variances: Array, size: int) -> float:
    """Return the largest variance that may be rounding, for descending variances (m) of a matrix (size x size)."""
    return 10 * size * EPS * float(variances[:1].max(initial=0.0))


def note_no_noise() -> None:
    """Note that the likelihood has no maximum."""
    note("W-NO-NOISE", "the axes leave no variance to the noise: the likelihood grows without bound")


def closed_log_likelihood(variances: Array, noise: float, rows: int, columns: int) -> float:
    """Return the maximum -n/2 (d ln 2π + Σ ln λ + (d - q) ln σ² + d), from the kept eigenvalues, a (q,) array."""
    logs = float(np.log(variances).sum()) + (columns - len(variances)) * np.log(noise)
    return -0.5 * rows * (columns * np.log(2 * np.pi) + logs + columns)


EXPECTED = 6.5  # arrays of the size of the data at once
USUAL, CALLS = 100, 60  # iterations of most fits, and small calls of each


@result("estimate")
@frozen
class EMState:
    """A model during EM, and the posterior that its last step started from."""

    model: Latent
    posterior: Posterior

    @property
    def objective(self) -> float:
        """The log-likelihood of the observed cells before the last maximization."""
        return self.posterior.log_likelihood


def expectation_maximization(data: Grouped, start: Latent, iterate: Iterate) -> Iterated[EMState]:
    """Maximize the likelihood of the observed cells by EM from `start`."""
    floor = EPS * float(np.sum(data.values**2)) / max(data.cells, 1)

    def step(state: EMState) -> EMState:
        states = posterior(state.model, data)
        return EMState(maximize(data, states, floor), states)

    return iterate(step, EMState(start, Posterior(np.zeros((0, 0)), np.zeros((0, 0, 0)), -np.inf)), change)


def em_seconds(shape: tuple[int, ...], size: int) -> float:
    """Predict the seconds of one iteration for complete points: a dozen passes over them, and the small calls."""
    rows, columns = shape
    return pass_cost(rows * (12 * columns + 4 * (size + 1) ** 2)) + CALLS * rates().called


def maximize(data: Grouped, states: Posterior, floor: float) -> Latent:
    """Return the M-step: each column regressed on the coordinates of the rows that have it; noise from residuals."""
    size = states.means.shape[1]
    wide = size + 1  # the last coordinate is the constant one: its loading is the mean
    moments = np.zeros((len(data.observed), wide, wide))
    crossed = np.zeros((data.values.shape[1], wide))
    moments[:, :size, :size] = data.counts[:, None, None] * states.covariances
    for block in data.blocks(wide * wide + data.values.shape[1]):
        extended = np.column_stack([states.means[block], np.ones(len(states.means[block]))])
        crossed += data.values[block].T @ extended
        group = data.group[block]
        first = np.flatnonzero(np.diff(group, prepend=-1))
        outer = extended[:, :, None] * extended[:, None, :]
        moments[group[first]] += np.add.reduceat(outer, first, axis=0)
    patterns, kind = np.unique(data.observed, axis=1, return_inverse=True)  # of columns: few, often one
    inverses = inverse(np.tensordot(patterns.T, moments, axes=1), where=COUNT, hint=FEWER)
    fitted = np.einsum("dij,dj->di", inverses[kind.ravel()], crossed)
    noise = (float(np.sum(data.values**2)) - float(np.sum(fitted * crossed))) / data.cells
    return standardize(Latent(fitted[:, size], fitted[:, :size], max(noise, floor)), moments.sum(axis=0))


def standardize(model: Latent, moments: Array) -> Latent:
    """Return the model of the same distribution of data for coordinates of mean zero and covariance one.

    `moments` is the (q + 1, q + 1) array of second moments of the present coordinates, the constant one last.

    Letting the coordinates have a mean and a covariance of their own is the parameter expansion of Liu, Rubin and
    Wu, 1998: no step lowers the likelihood, and far fewer are needed.
    """
    size = model.loadings.shape[1]
    mean = moments[:size, size] / moments[size, size]
    covariance = moments[:size, :size] / moments[size, size] - np.outer(mean, mean)
    return Latent(model.mean + model.loadings @ mean, model.loadings @ root_positive(covariance), model.noise)


def change(before: EMState, after: EMState) -> float:
    """Return the largest relative change of loadings, mean and noise."""
    old, new = before.model, after.model
    size = float(np.sqrt(np.sum(new.loadings**2) + len(new.loadings) * new.noise))
    if size == 0:
        return 0.0
    return max(float(np.linalg.norm(new.loadings - old.loadings)) / size, abs(new.noise - old.noise) / new.noise,
               float(np.linalg.norm(new.mean - old.mean)) / size)


def random_start(data: Grouped, size: int, generator: np.random.Generator) -> Latent:
    """Return a model of random loadings, with the data's variance for the noise."""
    columns = data.values.shape[1]
    variance = float(np.sum(data.values**2)) / max(data.cells, 1)
    directions = generator.standard_normal((columns, size))
    return Latent(np.zeros(columns), directions * np.sqrt(variance), variance)


@frozen
class ProbabilisticFit:
    """The result of a fit of probabilistic PCA."""

    latent: Latent  # orthogonal loadings
    means: Array  # n x q, posterior
    spectrum: Spectrum
    log_likelihood: float | None  # None where it has no maximum
    cells: int  # numbers that the likelihood is of
    spreads: Array | None = None  # n x q x q, posterior, where they differ
    trace: Array | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def fit_closed_form(points: Array, eigensolve: Eigensolve, limit: int, compute: Compute) -> ProbabilisticFit:
    """Fit points (n x d) by W = U (Λ - σ²)^½ from the eigenpairs of the covariance (Tipping and Bishop, 1999)."""
    kernel = factor_of(points).with_products()
    rows, columns = points.shape
    spectrum = replace(eigensolve(kernel, limit, compute), divisor=rows)
    noise, variances = mean_of_discarded(spectrum, columns), spectrum.axis_eigenvalues / rows
    latent = closed_form(kernel.centering.means, spectrum.feature_directions(), variances, noise)
    shrinkage = np.divide(latent.lengths, variances, out=np.zeros_like(variances), where=variances > 0)  # 1 - σ²/λ
    value = note_unbounded(closed_log_likelihood(variances, noise, rows, columns) if noise > 0 else None)
    sizes = np.sqrt(rows * shrinkage)
    means = map_blocks(lambda some: some * sizes, spectrum.vectors)
    return ProbabilisticFit(latent, means, spectrum, value, points.size)


def fit_em(points: Array, eigensolve: Eigensolve, iterate: Iterate, limit: int, compute: Compute) -> ProbabilisticFit:
    """Fit points (n x d; NaN where missing) by EM, from random loadings or, with gaps, the closed form of filled rows.

    Gaps are filled with columns' means for the start. Raises ConfigError for a share of the variance.
    """
    count = eigensolve.components
    if not isinstance(count, int):
        raise ConfigError("SHARE", "em needs a count of axes, not a share of the variance",
                          where="method.eigensolve.components", hint="give a count of axes, such as 2")
    center = np.nanmean(points, axis=0)
    centered = points - center
    filled = np.nan_to_num(centered)
    start = fit_closed_form(filled, eigensolve, limit, compute)
    data = Grouped.of(centered)
    complete = bool(data.observed.all())
    if start.latent.noise == 0 and complete:
        return replace(start, latent=replace(start.latent, mean=start.latent.mean + center))
    if start.latent.noise == 0:
        return orthogonal_fit(start.latent, data, center, complete, None, {})
    first = random_start(data, start.means.shape[1], compute.generator()) if complete else start.latent
    result = expectation_maximization(data, first, iterate)
    return orthogonal_fit(result.state.model.principal(), data, center, complete, result.trace, result.facts)


@stage("coordinates")
def orthogonal_fit(latent: Latent, data: Grouped, center: Array, complete: bool, trace: Array | None,
                   facts: dict[str, Any]) -> ProbabilisticFit:
    """Return the fit of a model with orthogonal loadings, signs by the sign rule; `center` is a (d,) array.

    The model is that of data less its center; `trace` (one number for each step) is that of the iteration, if any.
    """
    states = posterior(latent, data)
    means = np.empty_like(states.means)
    means[data.order] = states.means
    signs = leading_signs(means)
    spreads = None
    if not complete:
        spreads = np.empty((len(means), *states.covariances.shape[1:]))
        spreads[data.order] = states.covariances[data.group]
        spreads *= signs[:, None] * signs
    variances = latent.variances()
    spectrum = Spectrum.of_values(variances, float(variances.sum()), complete=True)
    value = note_unbounded(states.log_likelihood if latent.noise > negligible(variances, len(variances)) else None)
    moved = Latent(latent.mean + center, latent.loadings * signs, latent.noise)
    return ProbabilisticFit(moved, means * signs, spectrum, value, data.cells, spreads, trace, facts)


def note_unbounded(log_likelihood: float | None) -> float | None:
    """Return the log-likelihood; notes where there is none because no noise is left to bound it."""
    if log_likelihood is None:
        note_no_noise()
    return log_likelihood
