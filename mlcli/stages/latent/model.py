"""The linear-Gaussian latent model with equal noise: y = μ + W x + ε, x ~ N(0, I), ε ~ N(0, σ² I)."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.stage import note
from mlcli.base.stored import result, stored
from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.distances import BLOCK
from mlcli.stages.algebra.linalg import EPS, inverse, symmetric_eigen
from mlcli.stages.eigen.spectrum import Spectrum

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
