"""The fit of probabilistic PCA: in closed form, or by expectation and maximization."""

from dataclasses import field, replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import map_blocks
from mlcli.base.stages.stage import stage
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.signs import leading_signs
from mlcli.errors import ConfigError
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.kernels.row_factor import factor_of
from mlcli.stages.latent.em import expectation_maximization, random_start
from mlcli.stages.latent.model import (
    Grouped,
    Latent,
    closed_form,
    closed_log_likelihood,
    mean_of_discarded,
    negligible,
    note_no_noise,
    posterior,
)


@frozen
class Fitted:
    """The result of a fit of probabilistic PCA."""

    latent: Latent  # orthogonal loadings
    means: Array  # n x q, posterior
    spectrum: Spectrum
    log_likelihood: float | None  # None where it has no maximum
    cells: int  # numbers that the likelihood is of
    spreads: Array | None = None  # n x q x q, posterior, where they differ
    trace: Array | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def fit_closed_form(points: Array, eigensolve: Eigensolve, limit: int, compute: Compute) -> Fitted:
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
    return Fitted(latent, means, spectrum, value, points.size)


def fit_em(points: Array, eigensolve: Eigensolve, iterate: Iterate, limit: int, compute: Compute) -> Fitted:
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
                   facts: dict[str, Any]) -> Fitted:
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
    return Fitted(moved, means * signs, spectrum, value, data.cells, spreads, trace, facts)


def note_unbounded(log_likelihood: float | None) -> float | None:
    """Return the log-likelihood; notes where there is none because no noise is left to bound it."""
    if log_likelihood is None:
        note_no_noise()
    return log_likelihood
